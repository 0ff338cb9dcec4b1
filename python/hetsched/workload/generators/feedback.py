"""The controller behind utilization-targeted workloads: when to submit the next jobs of a row.

It goes through time in steps; within a step all jobs are handled at once. Counts are exact: run lengths and steps are
whole microseconds, so a job that ends at a step has freed its nodes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Control:
    """Aim of the controller; times in steps of `interval_us` microseconds."""

    nodes: int
    utilization: float
    """Mean share of busy nodes to reach."""
    fluctuation: float
    """Range of the target to both sides, at most to 0 or 1."""
    wander_steps: float
    """Correlation time of that."""
    ramp_steps: float
    """Until the target is reached for the first time, rising steadily."""
    horizon_steps: float
    """Over which what was missed is made up for."""
    expected_steps: int
    """Until all jobs are submitted, about."""
    interval_us: int


def wandering(count: int, correlation: float, rng: np.random.Generator) -> Floats:
    """A stationary AR(1) process of standard deviation 1/2, clipped to ±1, its mean over all steps taken out."""
    keep = float(np.exp(-1.0 / correlation))
    shocks = rng.normal(0.0, 0.5 * np.sqrt(1 - keep**2), count)
    shocks[:1] = rng.normal(0.0, 0.5, min(count, 1))
    wave = np.clip(np.fromiter(accumulate(shocks, lambda last, shock: keep * last + shock), np.float64, count), -1, 1)
    return wave - wave.mean() if count else wave


def submits(node_count: Whole, runtime_us: Whole, control: Control, rng: np.random.Generator) -> Whole:
    """Submission of each job, in microseconds from 0; the jobs keep their order.

    At step k the jobs go out that bring the busy nodes to ``target(k) × nodes + missed / horizon``, where ``missed``
    is the integral of target minus busy nodes so far: what is lost between steps, to large jobs and to rounding comes
    back, and the mean is the target's. A job goes out if that comes nearer to the mark than leaving it, and if the
    nodes for it are free.
    """
    targets = _targets(control, rng)
    row = _Row(node_count, runtime_us, control)
    missed, step = 0.0, 0
    while row.sent < len(node_count):
        target = targets[step] if step < len(targets) else control.utilization * control.nodes
        mark = min(target + missed / control.horizon_steps, control.nodes)
        missed += target - row.advance(step, mark)
        step += 1
    return row.submit_us


def _targets(control: Control, rng: np.random.Generator) -> list[float]:
    """Busy nodes to reach, step by step as long as jobs are expected to last."""
    steps = control.expected_steps
    wave = control.fluctuation * wandering(steps, max(control.wander_steps, 1e-3), rng)
    # Its mean taken out, a wave may pass its ends. Cut off at 0 or 1, the target would have another mean.
    room, reach = min(control.utilization, 1.0 - control.utilization), float(np.abs(wave).max(initial=0.0))
    wave *= min(1.0, room / reach) if reach > 0 else 1.0
    rise = np.minimum(np.arange(1, steps + 1) / max(control.ramp_steps, 1.0), 1.0)
    shares = (control.utilization + wave) * rise
    return (shares * control.nodes).tolist()  # type: ignore[no-any-return]


class _Row:
    """Jobs waiting to go out, and what those that went out occupy."""

    def __init__(self, node_count: Whole, runtime_us: Whole, control: Control) -> None:
        self.submit_us = np.zeros(len(node_count), dtype=np.int64)
        self.sent = 0
        self._nodes = control.nodes
        self._interval_us = control.interval_us
        self._node_count = node_count
        # Before, with and halfway through each job.
        self._filled = np.concatenate([[0], np.cumsum(node_count)])
        self._halfway = (self._filled[1:] + self._filled[:-1]) / 2
        # A job that goes out at step k ends in the step k + `_last`, and leaves `_unused` node-steps of that.
        self._last = -(-runtime_us // control.interval_us) - 1
        self._unused = node_count * ((self._last + 1) * control.interval_us - runtime_us) / control.interval_us
        self._freed = 0
        length = max(control.expected_steps, 1)
        self._ending_nodes = np.zeros(length, dtype=np.int64)
        self._ending_unused = np.zeros(length)

    def advance(self, step: int, mark: float) -> float:
        """Send jobs out at `step` to bring the busy nodes near to `mark`; gives their mean until the next step."""
        busy = int(self._filled[self.sent]) - self._freed
        if busy < mark:
            busy = self._send(step, busy, mark)
        if step >= len(self._ending_nodes):
            return float(busy)
        self._freed += int(self._ending_nodes[step])
        return busy - float(self._ending_unused[step])

    def _send(self, step: int, busy: int, mark: float) -> int:
        gone = int(self._filled[self.sent])
        nearest = int(np.searchsorted(self._halfway, gone + mark - busy, side="right"))
        fitting = int(np.searchsorted(self._filled, gone + self._nodes - busy, side="right")) - 1
        end = max(min(nearest, fitting), self.sent)
        rows = slice(self.sent, end)
        self.submit_us[rows] = step * self._interval_us
        last = self._last[rows] + step
        if end > self.sent:
            self._make_room(int(last.max()) + 1)
            np.add.at(self._ending_nodes, last, self._node_count[rows])
            np.add.at(self._ending_unused, last, self._unused[rows])
        self.sent = end
        return busy + int(self._filled[end]) - gone

    def _make_room(self, length: int) -> None:
        if length > len(self._ending_nodes):
            more = max(length, 2 * len(self._ending_nodes)) - len(self._ending_nodes)
            self._ending_nodes = np.concatenate([self._ending_nodes, np.zeros(more, dtype=np.int64)])
            self._ending_unused = np.concatenate([self._ending_unused, np.zeros(more)])
