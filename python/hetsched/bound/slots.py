"""Schedules with other starts: jobs of one size exchange when and where they start.

A *slot* is a job's start and its nodes, with room until the next thing on any of these. Which of the jobs of a size has
which slot is free as long as each fits in the room, has been submitted, and waits no longer than it may: an assignment
problem, as no slot's room depends on who has the others. Starts are only passed on, so that the mean wait stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hetsched.assignment import assign
from hetsched.bound.rates import Floats, Mask, Whole
from hetsched.bound.search import Nodes, Search
from hetsched.units import TICKS_S

_ROUNDS = 3
"""Times that slots are assigned again and pairs of nodes made cheapest again."""

_AT_ONCE = 400
"""Slots assigned at once, those that follow each other in time; the next ones begin with half of them."""

_LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class StartLimits:
    """Rules that other starts keep; instants in whole microseconds.

    Parameters
    ----------
    submit
        First instant at which each job may start.
    longest_wait
        Longest wait that each may have.
    window_end
        Instant by which all have ended.
    """

    submit: Whole
    longest_wait: Whole
    window_end: int


def exchanged_starts(
    search: Search, own: Nodes, nodes: Nodes, limits: StartLimits, *, seed: int
) -> tuple[Search, Nodes]:
    """The jobs at other starts and on other nodes, for no more energy, at the same mean wait.

    All of them together last no longer than on their own nodes, so that the mean turnaround is no longer either.

    Parameters
    ----------
    search
        The jobs at their own starts.
    own
        Their own nodes, job by job.
    nodes
        Nodes at the same starts that cost less.
    limits
        Rules that starts keep.
    seed
        Of the exchanges between nodes that follow.
    """
    most = int(search.lengths(own).sum())
    search = search.until(limits.window_end)
    if search.lengths(nodes).sum() > most or (search.given.start + search.lengths(nodes)).max() > limits.window_end:
        nodes = own
    for _ in range(_ROUNDS):
        before_j = search.energy_j(nodes)
        start, nodes = _assigned(search, nodes, limits)
        search = Search.of(replace(search.given, start=start), search.closed)
        other = search.exchanged(nodes, rounds=0, seed=seed)
        if search.lengths(other).sum() <= most:
            nodes = other
        if search.energy_j(nodes) > before_j * (1.0 - _LEAST_GAIN):
            break
    return search, nodes


def _assigned(search: Search, nodes: Nodes, limits: StartLimits) -> tuple[Whole, Nodes]:
    """Starts and nodes after the slots of each size are assigned again."""
    given = search.given
    first = np.cumsum(given.size) - given.size
    until, moves = _rooms(search, nodes, limits.window_end)
    start, nodes = given.start.copy(), nodes.copy()
    for size in np.unique(given.size).tolist():
        own = np.flatnonzero((given.size == size) & moves)
        places = first[:, np.newaxis] + np.arange(size)
        # Slots stay where they are in `slot`; jobs change places in it.
        slot = own[np.argsort(given.start[own], kind="stable")]
        slots = _Slots(search, start[slot], until[slot], nodes[places[slot]], limits)
        job = slot.copy()
        for some in _stretches(len(job)):
            job[some] = slots.assigned(job[some], some)
        start[job], nodes[places[job]] = slots.start, slots.nodes
    return start, nodes


def _stretches(count: int) -> Iterator[Whole]:
    """Places of slots that are assigned at once."""
    for begin in range(0, max(count - _AT_ONCE // 2, 1), _AT_ONCE // 2):
        yield np.arange(begin, min(begin + _AT_ONCE, count))


def _rooms(search: Search, nodes: Nodes, window_end: int) -> tuple[Whole, Mask]:
    """Instant up to which each job's nodes are free for it, and which jobs have such a slot to give."""
    given = search.given
    first = np.cumsum(given.size) - given.size
    closed_node, closed_start, closed_end = search.closed
    node = np.append(nodes.astype(np.int64), closed_node)
    start = np.append(np.repeat(given.start, given.size), closed_start)
    # Ends of closed spans; a job's own are no matter here.
    end = np.append(np.full(len(nodes), np.iinfo(np.int64).min), closed_end)
    order = np.lexsort((start, node))
    follows = node[order][1:] == node[order][:-1]
    after = np.full(len(order), window_end)
    after[order[:-1][follows]] = start[order[1:][follows]]
    before = np.full(len(order), np.iinfo(np.int64).min)
    before[order[1:][follows]] = end[order[:-1][follows]]
    until = np.minimum.reduceat(after[: len(nodes)], first)
    is_open = np.maximum.reduceat(before[: len(nodes)], first) <= given.start
    return until, is_open & (given.start + search.lengths(nodes) <= until)


@dataclass(frozen=True)
class _Slots:
    """Slots of one size, in order of start."""

    search: Search
    start: Whole
    until: Whole
    nodes: Nodes
    limits: StartLimits

    def assigned(self, job: Whole, some: Whole) -> Whole:
        """The jobs of some slots, each in the place of the slot that it gets."""
        cost, length = self._costs(job, some)
        own = np.arange(len(job))
        found = np.asarray(assign(cost).columns)
        before, after = cost[own, own], cost[own, found]
        is_less = after.sum() < before.sum() * (1.0 - _LEAST_GAIN)
        # Turnaround is wait and length: waits are the same in all.
        if not is_less or length[own, found].sum() > length[own, own].sum():
            return job
        taken = np.empty_like(job)
        taken[found] = job
        return taken

    def _costs(self, job: Whole, some: Whole) -> tuple[Floats, Whole]:
        """Joules and lengths of jobs in slots, shape (jobs, slots); inf where one may not be."""
        row, scale, *_ = self.search.intervals
        watts, slowest = self._rows(row[job].astype(np.int64), some)
        length = self.search.given.some(job).lengths(slowest)
        limits, start = self.limits, self.start[some]
        wait = start - limits.submit[job][:, np.newaxis]
        fits = (wait >= 0) & (wait <= limits.longest_wait[job][:, np.newaxis])
        fits &= start + length <= self.until[some]
        return np.where(fits, watts * scale[job][:, np.newaxis] * length / TICKS_S, np.inf), length

    def _rows(self, row: Whole, some: Whole) -> tuple[Floats, Floats]:
        """Watts, or factors on own ones, and largest time factors of the slots' nodes: shape (jobs, slots)."""
        rows, of_job = np.unique(row, return_inverse=True)
        nodes = self.nodes[some]
        watts = np.stack([self.search.cost[one][nodes].sum(axis=1) for one in rows.tolist()])
        slowest = np.stack([self.search.factor[one][nodes].max(axis=1) for one in rows.tolist()])
        return watts[of_job.reshape(-1)], slowest[of_job.reshape(-1)]
