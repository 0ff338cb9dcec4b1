"""Jobs whose starts and sizes are given: what they draw on each node, and how long they last there.

Lengths are the engine's whole microseconds, and draws its whole picowatts, shown in watts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from hetsched.bound.alike import alike_rows
from hetsched.bound.rates import NO_ROW, Floats, Mask, Whole, row_rates
from hetsched.platform import Platform

FOREVER = 2**62
"""A length that nothing reaches, in microseconds."""

_PICOWATTS = 1e12


def stretched(length: Whole, ratio: Floats) -> Whole:
    """Whole microseconds times a factor, rounded up once, as the engine does."""
    # In place: arrays of jobs by nodes are large, and copies of them take most of the time.
    longer = np.asarray(length.astype(np.float64) * ratio)
    np.minimum(np.ceil(longer, out=longer), FOREVER, out=longer)
    found = longer.astype(np.int64)
    np.copyto(found, length, where=ratio == 1.0)
    return found


@dataclass(frozen=True)
class Given:
    """The jobs of a bound, a row each; times in whole microseconds.

    Parameters
    ----------
    row
        Row of the table, or `NO_ROW`.
    own_w
        Measured watts where they count, else 0.
    start, size
        Instants of starts, and numbers of nodes.
    runtime, pace
        Nominal length, and what it is to be multiplied by next to the node's own factor.
    comm
        Communication, which no node makes longer.
    walltime
        Length at which a job is killed, `FOREVER` without a kill; multiplied by `walltime_pace` and, if walltimes
        stretch, by the node's factor; `grace` comes on top.
    left
        From the start to the instant that stops the run; `FOREVER` if nothing does.
    fixed
        Length on whichever nodes, where it was given from outside; -1: by the rules.
    may_use
        Row of `sets`.
    sets
        Sets of nodes that jobs may use, shape (sets, nodes).
    """

    row: Whole
    own_w: Floats
    start: Whole
    size: Whole
    runtime: Whole
    pace: Floats
    comm: Whole
    walltime: Whole
    walltime_pace: Floats
    left: Whole
    fixed: Whole
    may_use: Whole
    sets: Mask
    platform: Platform
    grace: int = 0
    stretches: bool = False

    def __len__(self) -> int:
        return len(self.row)

    def some(self, jobs: Mask | Whole) -> Given:
        """Some of the jobs."""
        shared = ("sets", "platform", "grace", "stretches")
        own = {one.name: getattr(self, one.name)[jobs] for one in fields(self) if one.name not in shared}
        return replace(self, **own)

    def lengths(self, factor: Floats) -> Whole:
        """Length of each job on nodes the slowest of which has this time factor: shape (jobs,) or (jobs, factors)."""
        by_job = (slice(None),) + (np.newaxis,) * (np.ndim(factor) - 1)
        walltime, fixed = self.walltime[by_job], self.fixed[by_job]
        runs = stretched(self.runtime[by_job], factor * self.pace[by_job])
        runs += self.comm[by_job]
        # By job alone where walltimes do not stretch: nodes are not looked at.
        walltime_pace = self.walltime_pace[by_job] * (factor if self.stretches else 1.0)
        killed = np.where(walltime >= FOREVER, FOREVER, stretched(walltime, walltime_pace) + self.grace)
        np.minimum(runs, killed, out=runs)
        np.copyto(runs, fixed, where=fixed >= 0)
        return np.minimum(runs, self.left[by_job], out=runs)

    @cached_property
    def cells(self) -> list[Cell]:
        """The jobs by table row, own watts or none, and set of nodes."""
        keys = (self.row, self.own_w > 0, self.may_use)
        first, cell_of = alike_rows(*keys)
        order = np.argsort(cell_of, kind="stable")
        jobs = np.split(order, np.cumsum(np.bincount(cell_of, minlength=len(first)))[:-1]) if len(first) else []
        found = zip(*(key[first].tolist() for key in keys), strict=True)
        return [Cell.of(self, key, own) for key, own in zip(found, jobs, strict=True)]

    @cached_property
    def least(self) -> Whole:
        """Length that each job has on the nodes that suit it best: it cannot be shorter on any."""
        found = np.zeros(len(self), dtype=np.int64)
        for cell in self.cells:
            found[cell.jobs] = cell.given.lengths(cell.sorted_time[cell.given.size - 1])
        return found


@dataclass(frozen=True)
class Cell:
    """Jobs of one table row and one set of nodes, all of them with measured watts of their own or none."""

    jobs: Whole
    given: Given
    nodes: Whole
    """Nodes of the set."""
    time: Floats
    """Time factors of these nodes."""
    fixed_w: Floats
    """Draws on these nodes, of jobs without watts of their own."""
    factor: Floats
    """Factors on the jobs' own watts."""
    is_own: bool

    @classmethod
    def of(cls, given: Given, key: Sequence[int], jobs: Whole) -> Cell:
        """The jobs in these places."""
        row, is_own, may_use = key
        busy_w = np.concatenate([one.per_node("busy_w") for one in given.platform.classes])
        nodes = np.flatnonzero(given.sets[may_use])
        time, fixed_w, factor = row_rates(given.platform.actual, row, busy_w, is_own=bool(is_own))
        return cls(jobs, given.some(jobs), nodes, time[nodes], in_whole(fixed_w[nodes]), factor[nodes], bool(is_own))

    @cached_property
    def sorted_time(self) -> Floats:
        """Time factors, the fastest node first."""
        return np.sort(self.time)

    @cached_property
    def is_alike_for(self) -> Mask:
        """Jobs that last as long on any of the nodes."""
        slowest = np.full(len(self.jobs), self.sorted_time[-1])
        return np.asarray(self.given.lengths(slowest) == self.given.lengths(self.sorted_time[self.given.size - 1]))

    def draws(self, own_w: Floats) -> Floats:
        """Watts of jobs with these watts of their own on each node, shape (jobs, nodes)."""
        if not self.is_own:
            return np.broadcast_to(self.fixed_w, (len(own_w), len(self.nodes)))
        return in_whole(in_whole(own_w)[:, np.newaxis] * self.factor)


def in_whole(watts: Floats) -> Floats:
    """Watts to the nearest picowatt."""
    return np.asarray(np.floor(watts * _PICOWATTS + 0.5) / _PICOWATTS)


def is_own(row: Whole, measured_w: Floats, platform: Platform) -> Mask:
    """Jobs whose own watts decide what they draw."""
    table = platform.actual
    return np.asarray((measured_w > 0) & ((row == NO_ROW) | (table is not None and table.power_w is None)))
