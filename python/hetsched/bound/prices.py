"""The bound given the starts, raised: jobs that stay where they start.

Prices of jobs prove that no placement without moves draws less (docs/background/bounds.md). The labels of the bound
that lets jobs move are prices to begin with, so that this bound is no lower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.bound.given import Given
from hetsched.bound.rates import Floats, Whole
from hetsched.bound.starts import Outages, Prices
from hetsched.units import TICKS_S

_ROUNDING = 2.0**-52
_ROUNDINGS = 64
"""More roundings than any one product goes through, in the engine or here."""

_U32 = npt.NDArray[np.uint32]

Intervals = tuple[_U32, Floats, Whole, Whole]
Closed = tuple[_U32, Whole, Whole]


@dataclass(frozen=True)
class RaisedBound:
    """Lower bound of the job energy of jobs that stay on the nodes on which they start."""

    energy_j: float
    at_first_j: float
    """Bound of the prices to begin with."""
    price: Floats
    """Prices of the demand's jobs, in watts times microseconds."""
    passes: int
    """Work done: passes over all nodes."""


def raised_bound(given: Given, prices: Prices, closed: Outages, *, steps: int, target_j: float) -> RaisedBound:
    """The bound of prices that are raised in so many steps.

    Parameters
    ----------
    given
        The jobs.
    prices
        Prices to begin with, and the jobs as they see them.
    closed
        When which nodes take none of these jobs.
    steps
        Steps up.
    target_j
        Energy of a schedule: a bound that comes up to it need not be raised.

    Returns
    -------
    RaisedBound
        Joules, >= 0: never above the job energy of a schedule in which each job starts when it did, on as many nodes
        that are open throughout, and has them to itself to its end.
    """
    demand = prices.demand
    job = demand.job
    price, least, at_first, terms, passes = _core.raised_prices(
        demand.cost,
        intervals_of(demand.row[demand.kind], demand.scale[demand.kind], given.start[job], given.least[job]),
        given.size[job].astype(np.uint32),
        closed_spans(closed),
        prices.price,
        steps=steps,
        target=(target_j - demand.base_j) * TICKS_S,
    )
    count = len(given) + given.sets.shape[1] + _ROUNDINGS
    off_j = count * _ROUNDING * (terms / TICKS_S + demand.base_j) + demand.allowance_j
    energy_j, at_first_j = (max(found / TICKS_S + demand.base_j - off_j, 0.0) for found in (least, at_first))
    return RaisedBound(energy_j, at_first_j, price, passes)


def intervals_of(row: Whole, scale: Floats, start: Whole, length: Whole) -> Intervals:
    """Intervals as the engine takes them."""
    return row.astype(np.uint32), scale, start, start + length


def closed_spans(spans: Outages) -> Closed:
    """Spans of nodes as the engine takes them."""
    node, start, end = spans
    return node.astype(np.uint32), start, end
