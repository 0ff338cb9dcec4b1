"""Observations and actions: their numbers and spaces, and the arrays in which the engine writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from hetsched import _core

Observation = dict[str, npt.NDArray[np.float32]]

_HORIZONS_S = _core.Agents.features()[2]

JOB_FEATURES = (
    "present",
    "nodes",
    "planned",
    "wait",
    "mean_power",
    "least_power",
    "can_start",
    "delays_head",
)
"""Numbers of each job in an observation's ``queue``, all from 0 to 1; a row without a job is zeros.

``present``: 1. ``nodes``: its share of the machine's nodes (slots where nodes are shared). ``planned``: the length it
is planned with, ``wait``: how long it has waited; both as ln(1 + seconds) / ln(1 + 604,800). ``mean_power``,
``least_power``: predicted watts beyond idle on average over all nodes and on the best ones, as a share of the machine's
TDP less its idle draw. ``can_start``: whether an action starts it now. ``delays_head``: whether starting it now would,
by the planned ends of what runs, delay the first job that cannot start, if that is ahead of it in the queue.
"""

MACHINE_FEATURES = (
    "free",
    "queued",
    "running",
    "draw",
    "budget",
    "cap_level",
    *(f"released_{seconds}s" for seconds in _HORIZONS_S),
)
"""Numbers of an observation's ``machine``, all from 0 to 1.

``free``: the share of free nodes (slots where nodes are shared). ``queued``, ``running``: numbers of jobs, as
ln(1 + n) / ln(1 + 10,000). ``draw``, ``budget``: what the machine draws and may draw, as shares of its TDP; without a
budget 1. ``cap_level``: the cap set last, 0 none and 1 the lowest. ``released_60s`` and so on: the share of nodes that
is planned to be released within that time.
"""


@dataclass(frozen=True)
class Shape:
    """Sizes of what an agent sees and chooses from."""

    queue: int
    placements: int
    levels: int

    @property
    def actions(self) -> int:
        """Number of actions: starts, levels of the cap, and nothing."""
        return self.queue * self.placements + self.levels + 1

    @property
    def space(self) -> spaces.Dict:
        """The space of one run's observations."""
        boxes = {"queue": (self.queue, len(JOB_FEATURES)), "machine": (len(MACHINE_FEATURES),)}
        return spaces.Dict({name: spaces.Box(0.0, 1.0, shape, np.float32) for name, shape in boxes.items()})


class Board:
    """The arrays of some runs side by side, a row a run; the engine writes into them."""

    def __init__(self, runs: int, shape: Shape) -> None:
        self.queue = np.zeros((runs, shape.queue, len(JOB_FEATURES)), np.float32)
        self.machine = np.zeros((runs, len(MACHINE_FEATURES)), np.float32)
        self.mask = np.zeros((runs, shape.actions), np.int8)
        self.mask[:, -1] = 1
        self.sums = np.zeros((runs, 3))
        self.now_s = np.zeros(runs)
        self.is_over = np.ones(runs, np.bool_)

    def engine(self) -> _core.Agents:
        """An engine that writes here."""
        return _core.Agents(
            queue=self.queue,
            machine=self.machine,
            mask=self.mask,
            sums=self.sums,
            now_s=self.now_s,
            is_over=self.is_over,
        )


Mask = npt.NDArray[np.int8]


class LegalActions(spaces.Discrete):
    """Actions of one run; a sample without a mask is one of those that are legal now."""

    def __init__(self, legal: Mask) -> None:
        super().__init__(legal.shape[-1])
        self._legal = legal

    def sample(self, mask: Mask | None = None, probability: Any = None) -> np.int64:
        """A random action: of the legal ones, unless a mask or probabilities are given."""
        own = self._legal if mask is None and probability is None else mask
        return np.int64(super().sample(mask=own, probability=probability))

    def __reduce__(self) -> tuple[Any, ...]:
        return (LegalActions, (self._legal,))


class LegalActionsOfMany(spaces.MultiDiscrete):
    """An action for each of several runs; a sample without a mask holds legal ones only."""

    def __init__(self, legal: Mask) -> None:
        super().__init__(np.full(len(legal), legal.shape[1], np.int64))
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int64]:
        """A random action a run: of the legal ones, unless masks or probabilities are given."""
        if mask is not None or probability is not None:
            return np.asarray(super().sample(mask=mask, probability=probability))
        chances = self.np_random.random(self._legal.shape)
        return np.asarray(np.argmax(np.where(self._legal == 1, chances, -1.0), axis=1))

    def __reduce__(self) -> tuple[Any, ...]:
        return (LegalActionsOfMany, (self._legal,))
