"""Watts and nodes that jobs may be given: sums and fills up to a total, draws and slowdowns by cap, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.roles import Jobs, Running, View

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

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
    """Amount that each is given: its least, and the rest by weight up to its most, as long as any is left."""
    if most_w.sum() <= watts:
        return most_w

    def given(level: Floats) -> Floats:
        return np.clip(least_w + level * weight, least_w, most_w)

    return given(_largest(lambda level: given(level).sum() <= watts, np.asarray((most_w / weight).max())))


def _largest(fits: Callable[[Floats], Any], high: Floats) -> Floats:
    """The largest numbers from 0 on that fit, each below one that does not."""
    low = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_fit = fits(middle)
        low, high = np.where(is_fit, middle, low), np.where(is_fit, high, middle)
    return low


def mixed(runs: Running, low_w: Floats, high_w: Floats, floor_w: float, given_w: Floats) -> tuple[Floats, Floats]:
    """Caps from `low_w` to `high_w` on a job's nodes, at the same share of the way, that sum up to what it is given.

    Also that share: 1 where all of a job's nodes have their highest. No cap is below `floor_w`.
    """

    def caps(share: Floats) -> Floats:
        return np.maximum(low_w + by_node(runs, share) * (high_w - low_w), floor_w)

    whole = np.ones(len(runs))
    # Sums of the same numbers in another order differ by a rounding.
    full = by_job(runs, caps(whole)) <= given_w * (1.0 + _ROUNDING)
    share = np.where(full, 1.0, _largest(lambda share: by_job(runs, caps(share)) <= given_w, whole))
    return caps(share), share


_POINTS = 24
"""Caps at which an application is looked at, the lowest and none among them."""


class Curve:
    """One application's mean draw beyond idle and its slowdown on the slowest node, by cap."""

    def __init__(self, view: View, app: int, own_w: float, least_cap_w: float) -> None:
        known_w = None if np.isnan(own_w) else own_w
        most_w = float(np.max(view.predicted_w(app, own_w=known_w)))
        self.caps_w = np.linspace(min(least_cap_w, most_w), most_w, _POINTS)
        idle_w = view.idle_w
        draws = [np.maximum(view.predicted_w(app, own_w=known_w, cap_w=cap), idle_w) - idle_w for cap in self.caps_w]
        paces = [view.predicted_time_ratio(app, own_w=known_w, cap_w=cap) for cap in self.caps_w]
        full = np.asarray(view.predicted_time_ratio(app))
        self._draws_w = np.array([float(np.mean(draw)) for draw in draws])
        self._slowdowns = np.array([float(np.max(pace / full)) for pace in paces])

    def draw_w(self, cap_w: float | Floats) -> Floats:
        """Watts a node beyond idle."""
        return np.asarray(np.interp(cap_w, self.caps_w, self._draws_w), dtype=np.float64)

    def slowdown(self, cap_w: float | Floats) -> Floats:
        """Slowdown in relation to no cap."""
        return np.asarray(np.interp(cap_w, self.caps_w, self._slowdowns), dtype=np.float64)


class Curves:
    """Curves of the applications met so far."""

    def __init__(self, least_cap_w: float) -> None:
        self._least_cap_w = least_cap_w
        self._known: dict[tuple[int, float | None], Curve] = {}

    def of(self, queue: Jobs, view: View) -> list[Curve]:
        """A curve a job."""
        found = []
        for app, own_w in zip(queue.app.tolist(), queue.power_w.tolist(), strict=True):
            key = app, None if np.isnan(own_w) else own_w
            if key not in self._known:
                self._known[key] = Curve(view, app, own_w, self._least_cap_w)
            found.append(self._known[key])
        return found


def affordable(runs: Running, wanted: Whole, watts: float, least_cap_w: float, view: View) -> Whole:
    """Sizes as wanted, those that grow less so where nodes or watts are short; jobs count under the least cap.

    Which nodes a job gets is not known here, so each counts with the most that any would draw.
    """
    had, sizes = runs.node_count, wanted.copy()
    idle_w, ends = view.idle_w, runs.node_offsets[1:]
    beyond_w = np.maximum(runs.node_draw_w(least_cap_w) - idle_w[runs.nodes], 0.0)
    room_w, free = watts, len(view.free)
    for place in np.flatnonzero(sizes < had).tolist():
        given = int(had[place] - sizes[place])
        room_w, free = room_w + float(beyond_w[ends[place] - given : ends[place]].sum()), free + given
    room_w *= 1.0 - SLACK_RATIO
    for place in np.flatnonzero(sizes > had).tolist():
        app = int(runs.app[place])
        own_w = float(beyond_w[ends[place] - had[place] : ends[place]].max())
        each_w = max(float((view.predicted_w(app, cap_w=least_cap_w) - idle_w).max()), own_w)
        more = min(int(sizes[place] - had[place]), free)
        more = more if each_w <= 0.0 or np.isinf(room_w) else min(more, int(max(room_w, 0.0) // each_w))
        sizes[place] = had[place] + more
        room_w, free = room_w - more * each_w, free - more
    return sizes
