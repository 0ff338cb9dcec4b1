"""Many runs as one environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hetsched.checks import Faults, plain
from hetsched.errors import ConfigError, SimulationError
from hetsched.gym.rendering import FPS, MODES, Frame
from hetsched.gym.runs import Runs
from hetsched.gym.spaces import LegalActions, LegalActionsOfMany, Observation
from hetsched.gym.task import Task, TaskKeywords, TaskOptions
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.resources import check_threads
from hetsched.run.options import keywords_given, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Flags = npt.NDArray[np.bool_]


@named_in("hetsched.gym")
class SchedulingVectorEnv(VectorEnv[Observation, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Runs side by side, stepped in one call: `SchedulingEnv`, many times.

    Each run is what a `SchedulingEnv` of the same seed would be. Actions are an array of one action a run;
    observations, rewards and ``info["action_mask"]`` have a row a run. Runs begin again by themselves as gymnasium's
    ``AutoresetMode.NEXT_STEP`` says: the step after the one that ended an episode ignores this run's action and returns
    the next episode's first observation, with reward 0. With ``AutoresetMode.DISABLED`` they do not: the caller resets
    them, with ``options={"reset_mask": …}``.

    **Info** of the runs whose episode has ended (``info["_summary"]``): ``info["summary"]``, an array of their metrics,
    if `summaries`; `result` gives all of a run.

    Parameters
    ----------
    workload, platform, **options
        As in `SchedulingEnv`, with all of its other parameters.
    num_envs
        Number of runs.
    copy
        Whether observations are copies. False: every call returns the same arrays, filled again.
    summaries
        Whether the metrics of runs that have ended are worked out.
    autoreset_mode
        ``AutoresetMode.NEXT_STEP`` or ``AutoresetMode.DISABLED``, or their values.

    Raises
    ------
    ConfigError
        As `SchedulingEnv`.

    Examples
    --------
    >>> from hetsched.workload.generators import poisson
    >>> platform = hs.Platform.homogeneous(nodes=32, idle_w=100, tdp_w=300)
    >>> envs = SchedulingVectorEnv(poisson(nodes=32, jobs=200, load=0.9, seed=1), platform, num_envs=4, jobs=50)
    >>> observations, infos = envs.reset(seed=7)
    >>> observations["queue"].shape, infos["action_mask"].shape
    ((4, 16, 8), (4, 17))
    >>> observations, rewards, terminations, truncations, infos = envs.step(infos["action_mask"].argmax(axis=1))
    >>> rewards.shape, terminations.tolist()
    ((4,), [False, False, False, False])
    """

    @takes_run_options(TaskOptions, without=("seed", "bound", "until_s"))
    def __init__(
        self,
        workload: Workload | Callable[[int], Workload],
        platform: Platform,
        *,
        num_envs: int = 1,
        copy: bool = True,
        summaries: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Unpack[TaskKeywords],
    ) -> None:
        own = SchedulingVectorEnv.__init__
        self._task = Task(workload, platform, keywords_given(own, options, TaskOptions), options_given(own, options))
        self._mode = _checked(num_envs, copy, summaries, autoreset_mode)
        self.num_envs, self._copy, self._summaries = num_envs, copy, summaries
        self.metadata = {"render_modes": list(MODES), "render_fps": FPS, "autoreset_mode": self._mode}
        self.render_mode = self._task.render_mode
        self._runs = Runs(num_envs, self._task)
        self._chances: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.ones(num_envs, np.bool_)
        self.single_observation_space = self._task.shape.space
        self.single_action_space = LegalActions(np.ones(self._task.shape.actions, np.int8))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = LegalActionsOfMany(self._runs.board.mask)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin episodes.

        Parameters
        ----------
        seed
            A seed a run; of a whole number, run i has ``seed + i``. None: the next episodes of the last seeds.
        options
            ``{"reset_mask": …}``: only the runs whose entry in this array of flags is true. None: all.

        Returns
        -------
        tuple
            The observations, and infos with ``action_mask`` and ``now_s``.

        Raises
        ------
        ConfigError
            If an option is unknown, or seeds or flags are not one a run.
        SimulationError
            If the process was forked from one in which polars had been at work: use ``spawn`` or ``forkserver``.
        """
        check_threads()
        rows = self._masked(options)
        for row, one in zip(rows, self._seeds(seed)[rows], strict=True):
            if one is not None or self._chances[row] is None:
                self._chances[row] = seeding.np_random(None if one is None else int(one))[0]
        self._begin(rows)
        return self._runs.observation(copy=self._copy), self._infos()

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observation, npt.NDArray[np.float64], _Flags, _Flags, dict[str, Any]]:
        """Carry out an action in each run, and go on to the next decisions.

        Parameters
        ----------
        actions
            A legal one a run; those of runs that begin again are ignored.

        Returns
        -------
        tuple
            Observations, rewards, which runs are over, which were cut off, and infos.

        Raises
        ------
        ConfigError
            If an action is none of the space, or illegal (unless `illegal` is ``"noop"``); then nothing has happened.
        SimulationError
            If an episode is over that does not begin again by itself, a run cannot go on, or the process was forked as
            in `reset`.
        """
        check_threads()
        actions = self._checked(actions)
        was_illegal = self._runs.is_illegal(actions) & ~self._ended
        actions = np.where(was_illegal, self._runs.noops(), actions)
        rows, over = np.flatnonzero(~self._ended), np.flatnonzero(self._ended)
        if len(over) and (self._mode == AutoresetMode.DISABLED or any(self._chances[row] is None for row in over)):
            raise SimulationError(f"the episode of run {over[0]} is over, or none has begun: call reset")
        self._runs.step(rows, actions[rows])
        if len(over):
            self._begin(over)
        terminations, truncations = self._runs.board.is_over.copy(), self._runs.truncations
        self._ended = terminations | truncations
        infos = self._infos()
        if self._task.is_lenient:
            infos |= {"was_illegal": was_illegal, "_was_illegal": np.ones(self.num_envs, np.bool_)}
        if self._summaries and self._ended.any():
            infos |= self._summaries_of(np.flatnonzero(self._ended))
        return self._runs.observation(copy=self._copy), self._runs.rewards(rows), terminations, truncations, infos

    def render(self) -> tuple[Frame | None, ...] | None:
        """Each run as it stands, as `SchedulingEnv.render` gives it; None without a mode."""
        mode = self.render_mode
        return None if mode is None else tuple(self._runs.render(row, mode) for row in range(self.num_envs))

    def action_masks(self) -> _Flags:
        """The legal actions of each run, by the name and type that maskable agents ask for."""
        mask: _Flags = self._runs.board.mask == 1
        return mask

    def result(self, row: int) -> Result:
        """The result of a run whose episode has ended and that has not begun again, as `simulate` returns it."""
        if not 0 <= row < self.num_envs or not self._ended[row]:
            raise SimulationError(f"run {row} has no result: it is under way, or there is no such run")
        return self._runs.result(row)

    def _begin(self, rows: npt.NDArray[np.int64]) -> None:
        for row in rows.tolist():
            chance = self._chances[row]
            assert chance is not None
            self._runs.begin(row, *self._task.draw(chance))
        self._ended[rows] = False

    def _checked(self, actions: Any) -> npt.NDArray[np.int64]:
        """The actions as an array, ignored ones included; raises if one cannot be carried out."""
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            found = f"{given.dtype} of shape {given.shape}"
            raise ConfigError([("actions", found, f"{self.num_envs} whole numbers, one a run")])
        given = given.astype(np.int64)
        inside = (given >= 0) & (given < self._task.shape.actions)
        known = np.where(inside, given, 0)
        refused = ~inside if self._task.is_lenient else ~inside | self._runs.is_illegal(known)
        for row in np.flatnonzero(refused & ~self._ended):
            raise self._runs.refused(int(row), given[row], f"actions[{row}]")
        return known

    def _infos(self) -> dict[str, Any]:
        board, all_of_them = self._runs.board, np.ones(self.num_envs, np.bool_)
        own = {"action_mask": board.mask.copy(), "now_s": board.now_s.copy()}
        return own | {f"_{name}": all_of_them.copy() for name in own}

    def _summaries_of(self, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        summaries, has = np.full(self.num_envs, None, object), np.zeros(self.num_envs, np.bool_)
        for row in rows.tolist():
            summaries[row], has[row] = self._runs.result(row).summary(), True
        return {"summary": summaries, "_summary": has}

    def _seeds(self, seed: int | Sequence[int | None] | None) -> npt.NDArray[Any]:
        """A seed a run, None where there is none."""
        whole = plain(seed)
        if isinstance(whole, int):
            return np.array([whole + row for row in range(self.num_envs)], object)
        seeds = [None] * self.num_envs if whole is None else list(whole)
        if len(seeds) != self.num_envs:
            raise ConfigError([("seed", f"{len(seeds)} seeds", f"{self.num_envs}, one a run, or a whole number")])
        return np.array(seeds, object)

    def _masked(self, options: Mapping[str, Any] | None) -> npt.NDArray[np.int64]:
        """The runs that are to begin."""
        given = dict(options or {})
        mask = np.asarray(given.pop("reset_mask", np.ones(self.num_envs, np.bool_)))
        if given:
            raise ConfigError([("options", ", ".join(map(str, given)), "nothing but `reset_mask`")])
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            found = f"{mask.dtype} of shape {mask.shape}"
            raise ConfigError([("options.reset_mask", found, f"{self.num_envs} flags, one a run")])
        return np.flatnonzero(mask)


def _checked(num_envs: object, copy: object, summaries: object, mode: object) -> AutoresetMode:
    """The mode of autoreset; raises if any of these is invalid."""
    faults = Faults()
    faults.whole("num_envs", plain(num_envs), low=1, high=2**20)
    faults.flag("copy", copy)
    faults.flag("summaries", summaries)
    known = {one.value: one for one in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)}
    name = mode.value if isinstance(mode, AutoresetMode) else str(mode)
    if name not in known:
        faults.add("autoreset_mode", name, f"one of {', '.join(known)}")
    faults.check()
    return known[name]
