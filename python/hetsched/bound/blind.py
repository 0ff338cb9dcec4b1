"""Job energy of the same starts on nodes chosen blindly: the mean over all sets of nodes that a job may use."""

from __future__ import annotations

import numpy as np

from hetsched.bound.given import Cell, Given
from hetsched.bound.rates import Floats

_JOBS_AT_ONCE = 2**22
"""Pairs of jobs and nodes that are worked out at once."""


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
    chance = _slowest(len(order), size)
    at_once = max(_JOBS_AT_ONCE // len(order), 1)
    found = 0.0
    for some in np.split(jobs, range(at_once, len(jobs), at_once)):
        given = cell.given.some(some)
        lengths_s = given.lengths(np.broadcast_to(cell.time[order], (len(some), len(order)))) / 1e6
        draws = cell.draws(given.own_w)[:, order]
        before = np.cumsum(draws, axis=1) - draws
        ahead = np.maximum(np.arange(len(order)), 1)
        found += float((chance * lengths_s * (draws + (size - 1) * before / ahead)).sum())
    return found


def _slowest(nodes: int, size: int) -> Floats:
    """Chance of each node, the fastest first, to be the slowest of so many drawn."""
    place = np.arange(size, nodes, dtype=np.float64)
    # C(m - 1, n - 1) / C(m, n - 1) = (m - n + 1) / m, from the last node down.
    down = np.cumprod(np.append(size / nodes, ((place - size + 1.0) / place)[::-1]))[::-1]
    return np.append(np.zeros(size - 1), down)
