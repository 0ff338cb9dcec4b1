"""Runs side by side, whose decisions come from outside: what both environments are made of."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import few, plain
from hetsched.errors import ConfigError, SimulationError
from hetsched.gym.rendering import Frame, rendered
from hetsched.gym.spaces import Board, Observation
from hetsched.gym.task import Task
from hetsched.run.result import Result
from hetsched.run.simulation import Begun
from hetsched.workload import Workload


class Runs:
    """Some runs of a task, each in a row of the arrays."""

    def __init__(self, count: int, task: Task) -> None:
        self.task = task
        self.board = Board(count, task.shape)
        self.decisions = np.zeros(count, np.int64)
        self._engine = self.board.engine()
        self._paid = np.zeros((count, 3))
        self._scale = np.zeros((count, 3))
        self._begun: list[Begun | None] = [None] * count
        self._since_s = [0.0] * count
        self._results: list[Result | None] = [None] * count
        self._last: list[dict[str, Any] | None] = [None] * count

    def begin(self, row: int, workload: Workload, seed: int) -> None:
        """Put an episode into a row, and let it come to its first decision."""
        begun = self.task.begin(workload, seed)
        self._since_s[row] = time.perf_counter()
        self._engine.put(row, begun.core)
        self._begun[row], self._results[row] = begun, None
        self._scale[row] = self.task.reward.scale(len(workload))
        self._paid[row], self.decisions[row] = 0.0, 0
        if self.board.is_over[row]:
            raise ConfigError(
                [("workload", "an episode in which nothing can be decided", "a job that fits the platform")]
            )

    def step(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """Carry out an action in each of these rows; raises if one is illegal, and then nothing has happened."""
        self._engine.step(rows, actions)
        self.decisions[rows] += 1

    def is_illegal(self, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """True where a row's action, one of the space's, is illegal now."""
        illegal: npt.NDArray[np.bool_] = self.board.mask[np.arange(len(actions)), actions] != 1
        return illegal

    def noops(self) -> npt.NDArray[np.int64]:
        """Actions in place of illegal ones: nothing more, or the first legal one where nothing more is illegal too."""
        nothing = self.task.shape.actions - 1
        return np.where(self.board.mask[:, nothing] == 1, nothing, self.board.mask.argmax(axis=1))

    def rewards(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Rewards of these rows since they were paid last; 0 in the others."""
        earned = np.zeros(len(self.decisions))
        earned[rows] = ((self.board.sums[rows] - self._paid[rows]) * self._scale[rows]).sum(axis=1)
        self._paid[rows] = self.board.sums[rows]
        return earned

    @property
    def truncations(self) -> npt.NDArray[np.bool_]:
        """Rows that have made the most decisions allowed, and are not at their end."""
        most = self.task.max_decisions
        return ~self.board.is_over & (most is not None and self.decisions >= (most or 0))

    def observation(self, *, copy: bool) -> Observation:
        """Observations of all rows."""
        seen = {"queue": self.board.queue, "machine": self.board.machine}
        return {name: array.copy() for name, array in seen.items()} if copy else seen

    def render(self, row: int, mode: str) -> Frame | None:
        """A row as it stands, or stood at its end, as text or as a picture; None before its first episode."""
        seen = self._last[row] if self._begun[row] is None else self._engine.glance(row)
        return None if seen is None else rendered(mode, seen, self.task.tdp_w)

    def result(self, row: int) -> Result:
        """The result of a row whose episode is over or was cut off."""
        done = self._results[row]
        if done is not None:
            return done
        begun = self._begun[row]
        if begun is None:
            raise SimulationError("there is no result before the first episode: call reset, then step to its end")
        if not self.board.is_over[row]:
            begun = _cut(begun, float(self.board.now_s[row]))
        self._last[row] = self._engine.glance(row)
        wall_s = time.perf_counter() - self._since_s[row]
        more = {"agent": {**self.task.agent, "decisions": int(self.decisions[row])}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = begun.result(self._engine.take(row), wall_s=wall_s, more=more)
        self._results[row], self._begun[row] = result, None
        return result

    def refused(self, row: int, action: Any, parameter: str) -> ConfigError:
        """The error of an illegal action."""
        legal = np.flatnonzero(self.board.mask[row])
        shown = few(list(map(str, legal)), most=20)
        known = isinstance(action, int | np.integer) and 0 <= action < self.task.shape.actions
        found = f"{action} ({self.task.described(int(action))})" if known else repr(plain(action))
        hint = ' (agents without masks: illegal="noop")' if known else ""
        return ConfigError([(parameter, found, f"a legal one, of which info['action_mask'] tells{hint}: {shown}")])


def _cut(begun: Begun, until_s: float) -> Begun:
    """A run as if it had been meant to end there."""
    options = replace(begun.setting.options, until_s=until_s)
    return replace(begun, setting=replace(begun.setting, options=options))
