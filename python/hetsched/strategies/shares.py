"""What running jobs may be given of the watts: sums by job of numbers by node, and fills up to a total."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hetsched.roles import Running

Floats = npt.NDArray[np.float64]

SLACK_RATIO = 1e-9
"""Left of the watts, so that a sum of rounded draws stays within them."""

LOWEST_SPEED_W = 1e-6
"""A cap under which every node runs as slowly as it can."""

_HALVINGS, _ROUNDING = 60, 1e-12


def by_job(runs: Running, of_nodes: Floats) -> Floats:
    """Sums over each job's nodes."""
    sums: Floats = np.add.reduceat(of_nodes, runs.node_offsets[:-1])
    return sums


def by_node(runs: Running, of_jobs: Floats) -> Floats:
    """Each job's number at each of its nodes."""
    return np.repeat(of_jobs, runs.node_count)


def spread(watts: float, least_w: Floats, most_w: Floats, weight: Floats) -> Floats:
    """What each is given: its least, and the rest by weight up to its most, until all is given or all have that."""
    if most_w.sum() <= watts:
        return most_w
    level = _largest(lambda level: np.clip(least_w + level * weight, least_w, most_w).sum() <= watts, most_w, weight)
    return np.clip(least_w + level * weight, least_w, most_w)


def _largest(fits: Callable[[float], bool], most_w: Floats, weight: Floats) -> float:
    low, high = 0.0, float((most_w / weight).max())
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def mixed(runs: Running, low_w: Floats, high_w: Floats, floor_w: float, given_w: Floats) -> tuple[Floats, Floats]:
    """Caps from `low_w` to `high_w` on a job's nodes, at the same share of the way, that sum up to what it is given.

    Also that share: 1 where all of a job's nodes have their highest. No cap is below `floor_w`.
    """

    def caps(share: Floats) -> Floats:
        return np.maximum(low_w + by_node(runs, share) * (high_w - low_w), floor_w)

    low, high = np.zeros(len(runs)), np.ones(len(runs))
    # Sums of the same numbers in another order differ by a rounding.
    full = by_job(runs, caps(high)) <= given_w * (1.0 + _ROUNDING)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        fits = by_job(runs, caps(middle)) <= given_w
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    share = np.where(full, 1.0, low)
    return caps(share), share
