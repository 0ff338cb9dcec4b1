"""Job energy of the same starts on nodes chosen blindly: the mean over all sets of nodes that a job may use."""

from __future__ import annotations

import numpy as np

from hetsched.bound.alike import alike_rows
from hetsched.bound.given import Cell, Given, in_whole
from hetsched.bound.rates import Floats

_PAIRS_AT_ONCE = 2**17
"""Pairs of jobs and nodes that are worked out at once: so few that they stay in a core's cache."""


def energy_blind(given: Given) -> float:
    """Mean energy of the jobs, each on nodes drawn from those that it may use, every set of them alike; joules.

    Sorted by length, the m-th node (from 0) is the slowest of n drawn from M with chance C(m, n-1) / C(M, n), and the
    others are then any n - 1 of those before it. So no set is looked at.
    """
    return float(sum(_of_cell(cell) for cell in given.cells))


def _of_cell(cell: Cell) -> float:
    order = np.argsort(cell.time, kind="stable")
    return sum(
        _of_size(cell, order, np.flatnonzero(cell.given.size == size), size)
        for size in np.unique(cell.given.size).tolist()
    )


def _of_size(cell: Cell, order: np.ndarray, jobs: np.ndarray, size: int) -> float:
    """Energy of jobs of one size: a sum over nodes of the length that each makes, times the watts that go with it."""
    watts = (cell.factor if cell.is_own else cell.fixed_w)[order]
    before, ahead = np.cumsum(watts) - watts, np.maximum(np.arange(len(order)), 1)
    rate = _slowest(len(order), size) * (watts + (size - 1) * before / ahead)
    scale = in_whole(cell.given.own_w) if cell.is_own else np.ones(len(cell.given))
    alike, others = jobs[cell.is_alike_for[jobs]], jobs[~cell.is_alike_for[jobs]]
    length_s = cell.given.some(alike).lengths(np.full(len(alike), cell.time[order[size - 1]])) / 1e6
    found = float((length_s * scale[alike]).sum() * rate.sum())
    given, scale = _different(cell.given.some(others), scale[others])
    at_once = max(_PAIRS_AT_ONCE // len(order), 1)
    for first in range(0, len(given), at_once):
        some = slice(first, first + at_once)
        part = given.some(np.arange(len(given))[some])
        lengths_s = part.lengths(np.broadcast_to(cell.time[order], (len(part), len(order)))) / 1e6
        # No product of matrices: its last bits depend on the number of threads, and where arrays lie in memory.
        found += float((scale[some] * (lengths_s * rate).sum(axis=1)).sum())
    return found


def _different(given: Given, scale: Floats) -> tuple[Given, Floats]:
    """The jobs that differ in lengths, and the sum of the factors of those that do not."""
    columns = (given.runtime, given.pace, given.comm, given.walltime, given.walltime_pace, given.left, given.fixed)
    first, place = alike_rows(*columns)
    sums = np.zeros(len(first))
    np.add.at(sums, place, scale)
    return given.some(first), sums


def _slowest(nodes: int, size: int) -> Floats:
    """Chance of each node, the fastest first, to be the slowest of so many drawn."""
    place = np.arange(size, nodes, dtype=np.float64)
    # C(m - 1, n - 1) / C(m, n - 1) = (m - n + 1) / m, from the last node down.
    down = np.cumprod(np.append(size / nodes, ((place - size + 1.0) / place)[::-1]))[::-1]
    return np.append(np.zeros(size - 1), down)
