"""Schedules with given starts: jobs on nodes, and exchanges between nodes that cost less.

docs/background/bounds.md says what exchanges find, and how.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.bound.given import FOREVER, Given
from hetsched.bound.kinds import Demand
from hetsched.bound.prices import Closed, Intervals, closed_spans, intervals_of
from hetsched.bound.rates import Floats, Whole
from hetsched.bound.starts import Outages
from hetsched.units import TICKS_S

_MOST_PRICED = 2**24
"""Jobs times nodes up to which a schedule is made from prices, too: each pair takes some bytes."""

Nodes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Search:
    """Jobs on nodes, as the engine takes them.

    Parameters
    ----------
    given
        The jobs.
    cost, factor
        Watts, or factors on own watts, and time factors, by row and node; a job may not be where the watts are inf.
    intervals
        Rows, factors on the costs, and times of the jobs, as long as they are on the nodes that suit them best.
    closed
        When which nodes take none of the jobs.
    is_alike
        True if every job lasts as long on any node.
    """

    given: Given
    cost: Floats
    factor: Floats
    intervals: Intervals
    closed: Outages
    is_alike: bool

    @classmethod
    def of(cls, given: Given, closed: Outages) -> Search:
        """Jobs on the nodes that they may use."""
        cost, factor, row, scale = _costs(given)
        intervals = intervals_of(row, scale, given.start, given.least)
        return cls(given, cost, factor, intervals, closed, all(bool(cell.is_alike_for.all()) for cell in given.cells))

    def until(self, instant: int) -> Search:
        """The same with all nodes closed from an instant on."""
        node, start, end = self.closed
        count = self.cost.shape[1]
        closed = (
            np.append(node, np.arange(count)),
            np.append(start, np.full(count, instant)),
            np.append(end, np.full(count, FOREVER)),
        )
        return replace(self, closed=closed)

    @property
    def spans(self) -> Closed:
        """Closed spans as the engine takes them."""
        return closed_spans(self.closed)

    def exchanged(self, nodes: Nodes, *, rounds: int, seed: int) -> Nodes:
        """Nodes after exchanges, job by job; where lengths differ, none are forced."""
        places = np.repeat(np.arange(len(self.given), dtype=np.uint32), self.given.size), nodes
        if self.is_alike:
            return _core.cheaper_placement(self.cost, self.intervals, places, self.spans, rounds=rounds, seed=seed)[1]
        given, is_fixed = self.given, self.given.fixed >= 0
        lengths = (
            np.where(is_fixed, 0, given.runtime),
            given.pace,
            np.where(is_fixed, given.fixed, given.comm),
            np.where(is_fixed, FOREVER, given.walltime),
            given.walltime_pace,
            given.left,
        )
        return _core.cheaper_paced_placement(
            self.cost,
            self.factor,
            self.intervals[:3],
            lengths,
            places,
            self.spans,
            grace=given.grace,
            stretches=given.stretches,
        )[1]

    def by_prices(self, demand: Demand, price: Floats) -> Nodes | None:
        """Nodes of jobs placed one after another by prices; None if some find none, or it would take too much room."""
        if len(self.given) * self.given.sets.shape[1] > _MOST_PRICED:
            return None
        price = self._in_full(demand, price)
        size = self.given.size.astype(np.uint32)
        found = _core.placed_by_prices(self.cost, self.intervals, size, self.spans, price)
        return found[1] if found is not None else None

    def _in_full(self, demand: Demand, price: Floats) -> Floats:
        """Prices of the jobs, with what the demand leaves out of its costs on the node where that is least."""
        row, scale, start, end = self.intervals
        job, kind = demand.job, demand.kind
        cost = self.cost[row[job]] * scale[job, np.newaxis]
        kinds = demand.cost[demand.row[kind]] * demand.scale[kind, np.newaxis]
        least = np.where(np.isfinite(cost), cost, np.inf) - np.where(np.isfinite(kinds), kinds, 0.0)
        found = np.zeros(len(self.given))
        found[job] = price + least.min(axis=1) * (end - start)[job]
        return found

    def lengths(self, nodes: Nodes) -> Whole:
        """Lengths of the jobs on these nodes, in whole microseconds."""
        first = np.cumsum(self.given.size) - self.given.size
        row = np.repeat(self.intervals[0], self.given.size)
        return self.given.lengths(np.maximum.reduceat(self.factor[row, nodes], first))

    def energy_j(self, nodes: Nodes) -> float:
        """Joules of the jobs on these nodes."""
        row, scale, *_ = self.intervals
        first = np.cumsum(self.given.size) - self.given.size
        watts = np.add.reduceat(self.cost[np.repeat(row, self.given.size), nodes], first) * scale
        return float((watts * self.lengths(nodes) / TICKS_S).sum())

    def column(self, nodes: Nodes, dtype: pl.DataType) -> pl.Series:
        """Nodes of each job, in ascending order."""
        job = np.repeat(np.arange(len(self.given)), self.given.size)
        of_job = pl.DataFrame({"job": job, "node": nodes}, schema={"job": pl.Int64, "node": pl.UInt32})
        return of_job.group_by("job", maintain_order=True).agg("node")["node"].cast(dtype)


def _costs(given: Given) -> tuple[Floats, Floats, Whole, Floats]:
    """Watts, or factors on own watts, and time factors by row and node; row and factor of each job."""
    cells = given.cells
    cost = np.full((len(cells), given.sets.shape[1]), np.inf)
    factor = np.ones_like(cost)
    row, scale = np.zeros(len(given), dtype=np.int64), np.ones(len(given))
    for place, cell in enumerate(cells):
        cost[place, cell.nodes] = cell.factor if cell.is_own else cell.fixed_w
        factor[place, cell.nodes] = cell.time
        row[cell.jobs] = place
        if cell.is_own:
            scale[cell.jobs] = cell.given.own_w
    return cost, factor, row, scale
