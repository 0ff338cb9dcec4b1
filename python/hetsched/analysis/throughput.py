"""The most work that any schedule could have done in a window under a power budget.

A linear program over shares of node time, one for each group of jobs, node and level of its watts;
docs/background/bounds.md states it and proves that no schedule gets beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]

_TANGENTS = 16
_ALIKE = 1e-9
_KINDS = 32
"""Prices are found for so many kinds of nodes; the bound itself is worked out for each node."""


@dataclass(frozen=True)
class Levels:
    """Watts beyond those of the idle node, and speed, of shape (groups, nodes, levels)."""

    power_w: Floats
    speed: Floats


def cap_levels(
    power_w: Floats,
    *,
    idle_w: Floats,
    static_w: Floats,
    bound_ratio: Floats,
    exponent: float = 1.0,
    least_speed_ratio: float = 0.2,
) -> Levels:
    """Levels of the cap model, between which lie all of its caps, or below the line from one to the next.

    `power_w` is without a cap, of shape (groups, nodes); `idle_w` and `static_w` are one a node, `bound_ratio` one a
    group.
    """
    curves = [_outer_curve(float(bound), exponent, least_speed_ratio) for bound in bound_ratio]
    dynamic, speed = (np.array(columns) for columns in zip(*curves, strict=True))
    static = np.minimum(static_w, power_w)[:, :, np.newaxis]
    watts = static + (power_w[:, :, np.newaxis] - static) * dynamic[:, np.newaxis, :] - idle_w[:, np.newaxis]
    return Levels(watts, np.broadcast_to(speed[:, np.newaxis, :], watts.shape))


def _outer_curve(bound: float, exponent: float, least: float) -> tuple[Floats, Floats]:
    """Dynamic watts, as a share, and speed: the ends of the curve, and corners of its tangents.

    The speed is concave in the watts, so every point of the curve lies below the tangents.
    """
    clock = np.linspace(least, 1.0, _TANGENTS)
    share = clock**exponent
    speed = clock / (clock + bound * (1.0 - clock))
    slope = bound / (clock + bound * (1.0 - clock)) ** 2 * clock ** (1.0 - exponent) / exponent
    fall = slope[:-1] - slope[1:]
    crossed = (speed[1:] - speed[:-1] + slope[:-1] * share[:-1] - slope[1:] * share[1:]) / np.where(fall > 0, fall, 1.0)
    # Where the curve is a line its tangents cross anywhere.
    corner = np.where(fall > _ALIKE, np.clip(crossed, share[:-1], share[1:]), share[:-1])
    above = speed[:-1] + slope[:-1] * (corner - share[:-1])
    return np.concatenate([share[:1], corner, share[-1:]]), np.concatenate([speed[:1], above, speed[-1:]])


def most_work_ratio(work: Floats, levels: Levels, *, idle_w: Floats, budget_w: float) -> float:
    """Number of times that the work could have been done in its window, with the same mix, under a budget.

    `work` is of each group the nominal node-seconds done per second of the window, not all 0; `idle_w` one a node. Not
    below 1 for any run whose draw averages no more than the budget.
    """
    left_w = budget_w - float(idle_w.sum())
    if left_w <= 0:
        raise ValueError(f"no throughput bound: {budget_w:g} W feed no more than the idle machine")
    worth, price = _prices(work, levels, left_w)
    return certified(work, levels, left_w=left_w, worth=worth, price=price)


def certified(work: Floats, levels: Levels, *, left_w: float, worth: Floats, price: float) -> float:
    """Bound on the ratio by prices, none negative: the worth of each group's work, and the price of a watt.

    `left_w` are the watts that the idle machine leaves.
    """
    gain = worth[:, np.newaxis, np.newaxis] * levels.speed - price * levels.power_w
    most = price * left_w + float(np.maximum(gain.max(axis=(0, 2)), 0.0).sum())
    return most / float(worth @ work)


def _prices(work: Floats, levels: Levels, left_w: float) -> tuple[Floats, float]:
    """Dual values of the linear program, nodes that are nearly alike taken together: they may be a little off."""
    from scipy.optimize import linprog  # noqa: PLC0415 -- slow to load, and only bounds need it

    order = np.argsort(levels.power_w.mean(axis=(0, 2)), kind="stable")
    parts = np.array_split(order, min(len(order), _KINDS))
    alike = Levels(*(np.stack([own[:, part].mean(axis=1) for part in parts], axis=1) for own in _both(levels)))
    matrix, most = _constraints(work / work.sum(), alike, np.array([len(part) for part in parts]), left_w)
    found: Any = linprog(np.append(np.zeros(alike.speed.size), -1.0), A_ub=matrix, b_ub=most, method="highs-ds")
    if found.status != 0:
        raise ValueError(f"no throughput bound: {found.message}")
    duals = np.maximum(-found.ineqlin.marginals, 0.0)
    return duals[: len(work)], float(duals[-1]) / left_w


def work_done(
    segments: pl.DataFrame, jobs: pl.DataFrame, apps: Sequence[str], *, from_s: float, until_s: float
) -> Floats:
    """Nominal node-seconds of each application's jobs done a second of a window of a run."""
    shown = segments.select("job_id", "start_s", "end_s", "speed_ratio").join(
        jobs.select("job_id", "app", "node_count"), on="job_id"
    )
    held_s = (pl.min_horizontal("end_s", pl.lit(until_s)) - pl.max_horizontal("start_s", pl.lit(from_s))).clip(0.0)
    done = shown.group_by("app").agg((held_s * pl.col("speed_ratio") * pl.col("node_count")).sum() / (until_s - from_s))
    found = dict(done.iter_rows())
    return np.array([found.get(app, 0.0) for app in apps])


def _both(levels: Levels) -> tuple[Floats, Floats]:
    return levels.power_w, levels.speed


def _constraints(work: Floats, levels: Levels, counts: npt.NDArray[np.int64], left_w: float) -> tuple[Any, Floats]:
    """Rows: the work of each group, the time of each kind of node, the watts in units of what is left of them."""
    from scipy.sparse import csc_array  # noqa: PLC0415

    groups, kinds, many = levels.speed.shape
    group, kind = (np.repeat(index.ravel(), many) for index in np.indices((groups, kinds)))
    share, last = np.arange(levels.speed.size), groups + kinds
    values = [-levels.speed.ravel(), np.ones(len(share)), levels.power_w.ravel() / left_w, work]
    rows = [group, groups + kind, np.full_like(share, last), np.arange(groups)]
    columns = [share, share, share, np.full(groups, len(share))]
    cells = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    most = np.concatenate([np.zeros(groups), counts, [1.0]])
    return csc_array(cells, shape=(last + 1, len(share) + 1)), most
