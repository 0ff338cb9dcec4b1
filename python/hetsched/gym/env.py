"""One run as an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from hetsched.errors import ConfigError, SimulationError
from hetsched.gym.rendering import FPS, MODES, Frame
from hetsched.gym.runs import Runs
from hetsched.gym.spaces import LegalActions, Observation
from hetsched.gym.task import Task, TaskKeywords, TaskOptions
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.resources import check_threads
from hetsched.run.options import keywords_given, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack


@named_in("hetsched.gym")
class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """A run in which an agent decides, job by job, what starts.

    The run goes on until its scheduler makes a pass in which something can start; then the agent is asked, and again
    until it chooses nothing more or nothing else fits. A job that is chosen starts at once. Where nothing runs and
    nothing is to come, "nothing more" is illegal: waiting would never end. The episode is terminated when the run is
    over, and truncated after `max_decisions`.

    **Actions** (`Discrete`): ``row × len(placements) + placement`` starts the job in this row of the observed queue on
    nodes that this placement chooses; then, with `caps`, one action a level of the cap (none, then from the highest
    down), at most one of them a pass; the last action is "nothing more now". ``info["action_mask"]`` (int8) holds 1 for
    each legal action. The action space samples legal ones; an illegal one is a `ConfigError`,
    or does nothing (`illegal`).

    **Observations** (`Dict` of float32 from 0 to 1): ``queue``, the first `queue` jobs in policy order, a row of
    `JOB_FEATURES` each; ``machine``, the `MACHINE_FEATURES`. After the end of an episode both are zeros.

    **Info** at the end of an episode: ``summary``, the run's metrics. `result` gives all of the run.

    Parameters
    ----------
    workload
        The jobs; or a function that makes a `Workload` from a whole number, called with a random one for each episode.
    platform
        The machine.
    jobs
        Episodes of so many jobs, submitted one after the other from a random one on. None: all jobs of the workload.
    queue
        Number of jobs at the front of the queue that the agent sees and can choose from.
    order
        The order of the queue, a part as in `Policy`. It has no say in what starts: a limit on starvation is the
        agent's to keep.
    placements
        One or several placements, parts as in `Policy`; the agent chooses one for each job. A placement that matches
        jobs jointly places each by itself.
    power
        A limit on the machine's predicted draw, a part as in `Policy`; a job that would exceed it cannot be chosen.
    caps
        Whether the agent sets the highest cap of all that runs. Then `power` has the allocator ``uniform``, which goes
        below that cap only where the budget demands it.
    sleep
        None: an agent neither sees nor wakes nodes that are switched off.
    reward
        A name of `REWARDS`, or a dictionary of names and weights, from 0: their weighted sum. With `wait`, the
        reward between two decisions is -∫ (queued jobs) dt / (3600 s × N), N jobs in the episode.
    max_decisions
        Decisions after which an episode is truncated. None: never.
    illegal
        ``"error"``: an illegal action is an error. ``"noop"``: it is taken as "nothing more now", for agents that know
        no masks; where that is illegal too, as the first legal action, so every episode ends. It has no penalty of its
        own: what is put off is paid for in the reward. ``info["was_illegal"]`` says so, for a penalty of your own.
    render_mode
        What `render` gives: ``"ansi"``, a text of three lines; ``"rgb_array"``, a small picture. None: nothing.
    **options
        As in `hetsched.simulate`; the seed is drawn for each episode.

    Raises
    ------
    ConfigError
        If any value is invalid; if a part needs a run before or besides it; if `caps` and the platform or `power` has
        none.

    Examples
    --------
    >>> from hetsched.workload.generators import poisson
    >>> platform = hs.Platform.homogeneous(nodes=32, idle_w=100, tdp_w=300)
    >>> env = SchedulingEnv(poisson(nodes=32, jobs=200, load=0.9, seed=1), platform, jobs=50)
    >>> observation, info = env.reset(seed=7)
    >>> observation["queue"].shape, int(info["action_mask"].sum())
    ((16, 8), 2)
    >>> terminated = False
    >>> while not terminated:
    ...     action = int(info["action_mask"].argmax())  # the first job that fits
    ...     observation, reward, terminated, truncated, info = env.step(action)
    >>> info["summary"]["completed"], env.result().jobs.height
    (50, 50)
    """

    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": FPS}  # noqa: RUF012 -- gymnasium's own declaration

    @takes_run_options(TaskOptions, without=("seed", "bound", "until_s"))
    def __init__(
        self,
        workload: Workload | Callable[[int], Workload],
        platform: Platform,
        **options: Unpack[TaskKeywords],
    ) -> None:
        own = SchedulingEnv.__init__
        self._task = Task(workload, platform, keywords_given(own, options, TaskOptions), options_given(own, options))
        self.render_mode = self._task.render_mode
        self._runs = Runs(1, self._task)
        self._is_done = True
        self.observation_space = self._task.shape.space
        self.action_space = LegalActions(self._runs.board.mask[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Of this episode's jobs and chance, and of all episodes after it. None: the next episode of the last seed.
        options
            ``{"workload": …}``: the episode has these jobs and no others. None: they are drawn.

        Returns
        -------
        tuple
            The observation, and info with ``action_mask`` and ``now_s``.

        Raises
        ------
        ConfigError
            If an option is unknown, or if no job of the episode can be started.
        SimulationError
            If the process was forked from one in which polars had been at work: use ``spawn`` or ``forkserver``.
        """
        check_threads()
        super().reset(seed=seed)
        workload, run_seed = _drawn(self._task, self.np_random, options)
        self._runs.begin(0, workload, run_seed)
        self._is_done = False
        return self._observed(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action, and go on to the next decision.

        Parameters
        ----------
        action
            A legal one.

        Returns
        -------
        tuple
            Observation, reward, whether the run is over, whether it was cut off, and info.

        Raises
        ------
        ConfigError
            If the action is none of the space, or illegal (unless `illegal` is ``"noop"``); then nothing has happened.
        SimulationError
            If the episode is over, the run cannot go on, or the process was forked as in `reset`.
        """
        check_threads()
        if self._is_done:
            raise SimulationError("the episode is over, or none has begun: call reset")
        is_known = self.action_space.contains(action)
        was_illegal = not is_known or bool(self._runs.is_illegal(np.array([action], np.int64))[0])
        if not is_known or (was_illegal and not self._task.is_lenient):
            raise self._runs.refused(0, action, "action")
        row = np.zeros(1, np.int64)
        self._runs.step(row, self._runs.noops() if was_illegal else np.array([action], np.int64))
        terminated, truncated = bool(self._runs.board.is_over[0]), bool(self._runs.truncations[0])
        self._is_done = terminated or truncated
        info = self._info()
        if self._task.is_lenient:
            info["was_illegal"] = was_illegal
        reward = float(self._runs.rewards(row)[0])
        if self._is_done:
            info["summary"] = self.result().summary()
        return self._observed(), reward, terminated, truncated, info

    def render(self) -> Frame | None:
        """The run as it stands, by `render_mode`.

        Returns
        -------
        str, array of uint8 (height, width, 3) or None
            Of ``"ansi"``: when, jobs, nodes and power, and the first job of the queue. Of ``"rgb_array"``: a square a
            node (blue busy, light idle, dark off, yellow booting or shutting down, red down), and below them bars of
            ln(1 + waiting jobs) / ln(1 + 10,000) and of the draw's share of the TDP. None without a mode, or before the
            first episode. After the end of an episode its last state is shown.

        Examples
        --------
        >>> from hetsched.workload.generators import poisson
        >>> platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)
        >>> env = SchedulingEnv(poisson(nodes=8, jobs=9, load=0.9), platform, render_mode="ansi")
        >>> observation, info = env.reset(seed=1)
        >>> print(env.render().splitlines()[1])
        8 nodes: 8 idle; 800 W
        """
        return None if self.render_mode is None else self._runs.render(0, self.render_mode)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions, by the name and type that maskable agents ask for."""
        mask: npt.NDArray[np.bool_] = self._runs.board.mask[0] == 1
        return mask

    def describe(self, action: int) -> str:
        """An action in words.

        Examples
        --------
        >>> from hetsched.workload.generators import poisson
        >>> platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300)
        >>> env = SchedulingEnv(poisson(nodes=8, jobs=9), platform, queue=2, placements=["lowest-id", "random"])
        >>> [env.describe(action) for action in (1, 2, 4)]
        ['start job 0 of the queue, random', 'start job 1 of the queue, lowest-id', 'nothing more now']
        """
        if not 0 <= action < self._task.shape.actions:
            raise ConfigError([("action", str(action), f"a whole number from 0 to {self._task.shape.actions - 1}")])
        return self._task.described(action)

    def result(self) -> Result:
        """The result of the last episode, as `hetsched.simulate` returns it; only once the episode is over."""
        if not self._is_done:
            raise SimulationError("the episode is not over: step to its end, or set max_decisions")
        return self._runs.result(0)

    def _observed(self) -> Observation:
        return {name: array[0] for name, array in self._runs.observation(copy=True).items()}

    def _info(self) -> dict[str, Any]:
        board = self._runs.board
        return {"action_mask": board.mask[0].copy(), "now_s": float(board.now_s[0])}


def _drawn(task: Task, chance: np.random.Generator, options: Mapping[str, Any] | None) -> tuple[Workload, int]:
    """The jobs and the seed of an episode, the jobs as `options` say if they do."""
    given = dict(options or {})
    own = given.pop("workload", None)
    if given or (own is not None and not isinstance(own, Workload)):
        found = ", ".join(map(str, given)) or type(own).__name__
        raise ConfigError([("options", found, "nothing but `workload`, a Workload")])
    if own is None:
        return task.draw(chance)
    return own, int(chance.integers(2**32))
