"""The least job energy of all placements of jobs whose starts are given.

At each instant the jobs that must be running then hold nodes; what they draw at least is a transportation problem, and
its integral over time the bound. docs/background/bounds.md states and proves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.bound.given import Given
from hetsched.bound.kinds import Demand, demand_of
from hetsched.bound.rates import Floats, Whole
from hetsched.units import TICKS_S

_ROUNDING = 2.0**-52
_STEPS = 64
"""More roundings than any one product goes through, in the engine or here."""

_Spans = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], Whole, Whole]

Outages = tuple[Whole, Whole, Whole]
"""Nodes out of service: their numbers, and the instants from and until, in whole microseconds."""


@dataclass(frozen=True)
class Proof:
    """Certificate of a bound: between changes, the labels of the kinds that are there.

    The price of a node of kind `k` is the largest of 0 and ``label - cost[kind, k]`` over the kinds that are there, and
    the draw at least ``sum(label * units) - sum(price * nodes in service)``.
    """

    cost: Floats
    """W by kind of job and kind of node."""
    capacity: Whole
    """Nodes of each kind, with all in service."""
    node_kind: Whole
    """Kind of each node."""
    base_j: float
    """Energy that is the same on whichever nodes."""
    start: Whole
    end: Whole
    least_w: Floats
    """Watts of each stretch; its instants are microseconds."""
    offsets: Whole
    """Begins of the rows of each stretch in `kind`, `units` and `label`."""
    kind: Whole
    units: Whole
    label: Floats


@dataclass(frozen=True)
class Prices:
    """Jobs as the bound sees them, and a price of a node of each: its label, integrated over the time it must run."""

    demand: Demand
    price: Floats
    """Prices of the demand's jobs, in watts times microseconds."""


@dataclass(frozen=True)
class StartsBound:
    """Lower bound of the job energy of jobs whose starts are given."""

    energy_j: float
    changes: int
    searches: int
    """Work done: searches for a chain of moves between kinds."""
    unplaced: int
    """Nodes asked for that found no room: 0 unless the starts fit no placement."""
    proof: Proof | None = None
    prices: Prices | None = None


def energy_bound_starts(
    given: Given, outages: Outages, *, certified: bool = False, priced: bool = False
) -> StartsBound:
    """The least job energy of these jobs, each started when it was and on as many nodes, over all placements.

    Parameters
    ----------
    given
        The jobs.
    outages
        When which nodes are out of service; spans of one node do not overlap.
    certified
        Whether to give the certificate, too: it holds a row for each kind that is there between two changes.
    priced
        Whether to give prices of the jobs, too.

    Returns
    -------
    StartsBound
        Joules, >= 0: never above the job energy of a schedule in which each job keeps nodes in service to itself.
    """
    demand = demand_of(given)
    nodes, kind_of_node, first = _kinds_of_nodes(demand.cost, outages[0])
    capacity = np.bincount(kind_of_node, minlength=nodes)
    rows = np.ascontiguousarray(demand.cost[:, first])
    total, terms, changes, unplaced, searches, proof, price = _core.least_cost_over_time(
        rows,
        (demand.row.astype(np.uint32), demand.scale),
        capacity.astype(np.uint64),
        _supplies(demand, given),
        _out(kind_of_node, outages),
        certified=certified,
        priced=priced,
    )
    steps = 2 * changes + len(given) + given.sets.shape[1] + _STEPS
    off_j = steps * _ROUNDING * (terms / TICKS_S + demand.base_j)
    energy_j = max(total / TICKS_S + demand.base_j - off_j - demand.allowance_j, 0.0)
    certificate = None
    if proof is not None:
        cost = rows[demand.row] * demand.scale[:, np.newaxis]
        certificate = Proof(cost, capacity, kind_of_node, demand.base_j, *proof)
    prices = Prices(demand, price) if price is not None else None
    return StartsBound(energy_j, changes, searches, unplaced, certificate, prices)


def _kinds_of_nodes(cost: Floats, out: Whole) -> tuple[int, Whole, Whole]:
    """Nodes that cost the same for every kind, taken together: their number, the kind of each, a node of each.

    A node that is ever out of service is a kind of its own.
    """
    own = np.zeros(cost.shape[1])
    own[np.unique(out)] = 1.0 + np.unique(out)
    _, first, kind = np.unique(np.vstack([cost, own]), axis=1, return_index=True, return_inverse=True)
    return len(first), kind.reshape(-1).astype(np.int64), first


def _supplies(demand: Demand, given: Given) -> _Spans:
    start, size = given.start[demand.job], given.size[demand.job]
    return demand.kind.astype(np.uint32), size.astype(np.uint64), start, start + given.least[demand.job]


def _out(kind_of_node: Whole, outages: Outages) -> _Spans:
    node, start, end = outages
    return kind_of_node[node].astype(np.uint32), np.ones(len(node), dtype=np.uint64), start, end
