"""Strategies that share out watts, and shares of watts, nodes and sizes up to a total for all strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


_Places = npt.NDArray[np.intp]


class DemandAware:
    """Each job's demanded speed, the more important jobs first; what is left raises the others in the same order.

    Cao, He, Kondo, Demand-Aware Power Management for Power-Constrained HPC Systems, CCGrid 2016. Users say how much
    slower a job may get; the manager predicts what each job draws and how fast it runs under every cap, keeps each at
    the speed that was asked for, and moves watts from jobs of low priority to those of high priority.

    Here the priority of a job is that of its queue. A look begins with all jobs at their lowest caps. Priority by
    priority, highest first, jobs are raised to the slowdown that their priority allows, all of one by the same
    slowdown where the watts do not suffice. What is left raises them, in the same order, to full speed.

    Parameters
    ----------
    caps_w
        The caps that may be set, W a node. With the lowest of them jobs count when they start.
    slowdowns
        The slowdown that each queue allows, from 1, the most important queue first. Jobs of other queues, and of none,
        come last and allow any.

    Examples
    --------
    >>> DemandAware(caps_w=[150.0, 110.0], slowdowns={"high": 1.0}).least_cap_w
    110.0
    """

    def __init__(self, *, caps_w: Sequence[float], slowdowns: Mapping[str, float] | None = None) -> None:
        self.caps_w = sorted(float(cap) for cap in caps_w)
        self.slowdowns = dict(slowdowns or {})
        self.least_cap_w = self.caps_w[0]

    def allot(self, runs: Running, watts: float, view: View) -> Floats:
        """A cap for each job that runs."""
        choices_w = np.array([*self.caps_w, np.inf])
        draws_w = np.array([runs.draw_w(cap) for cap in choices_w])
        slowed = np.array([runs.slowdown(cap) for cap in choices_w])
        chosen = np.zeros(len(runs), dtype=np.intp)
        jobs, groups = np.arange(len(runs)), self._groups(runs, view)
        for allowed in (True, False):
            for of_group, slowdown in groups:
                least = slowdown if allowed else 1.0
                if least < np.inf:
                    spent_w = float(draws_w[chosen, jobs].sum())
                    room_w = watts - spent_w
                    chosen[of_group] = _raised(
                        draws_w[:, of_group], slowed[:, of_group], chosen[of_group], room_w, least
                    )
        return choices_w[chosen]

    def _groups(self, runs: Running, view: View) -> list[tuple[_Places, float]]:
        """The jobs of each priority, highest first, and the slowdown that it allows."""
        places = {name: place for place, name in enumerate(view.queues)}
        codes = [places.get(name, -2) for name in self.slowdowns]
        named = [
            (np.flatnonzero(runs.queue == code), allowed)
            for code, allowed in zip(codes, self.slowdowns.values(), strict=True)
        ]
        others = (np.flatnonzero(~np.isin(runs.queue, codes)), np.inf)
        return [group for group in [*named, others] if len(group[0])]


def _raised(draws_w: Floats, slowed: Floats, chosen: _Places, room_w: float, least: float) -> _Places:
    """Each job's choice at the least common slowdown, from `least`, that takes no more than the room."""
    jobs = np.arange(len(chosen))
    spent_w = draws_w[chosen, jobs].sum()

    def choice(slowdown: float) -> _Places:
        # The lowest cap within the slowdown; the last, which is none, slows nothing.
        within: _Places = np.maximum(np.argmax(slowed <= slowdown, axis=0), chosen)
        return within

    levels = np.unique(np.append(slowed[slowed >= least], least))
    low, high = 0, len(levels) - 1
    if draws_w[choice(levels[high]), jobs].sum() - spent_w > room_w:
        return chosen
    while low < high:
        middle = (low + high) // 2
        fits = draws_w[choice(levels[middle]), jobs].sum() - spent_w <= room_w
        low, high = (low, middle) if fits else (middle + 1, high)
    return choice(levels[low])


class DynamicSharing:
    """Equal caps at first; what a node leaves of its cap goes to the nodes that draw all of theirs.

    Ellsworth, Malony, Rountree, Schulz, Dynamic Power Sharing for Higher Job Throughput, SC 2015. A scheduler of watts
    that knows neither jobs nor applications: it reads what each processor draws, lowers the caps of those that leave
    watts unused to a margin above their draw, and shares out what that frees between those at their caps.

    The paper's scheduler looks about every second. Passes are further apart, so a look here repeats the step, from
    equal caps, until nothing moves or `steps` are done.

    Parameters
    ----------
    least_cap_w
        The lowest cap, W a node, with which jobs count when they start.
    margin_w
        What a cap is left above the draw of a node that does not need it, W.
    steps
        The most steps of a look.

    Examples
    --------
    >>> DynamicSharing(least_cap_w=110.0).margin_w
    0.5
    """

    def __init__(self, *, least_cap_w: float, margin_w: float = 0.5, steps: int = 100) -> None:
        self.least_cap_w = least_cap_w
        self.margin_w = margin_w
        self.steps = steps

    def allot(self, runs: Running, watts: float, view: View) -> Floats:
        """A cap for each node of what runs."""
        idle_w = view.idle_w[runs.nodes]
        floor_w = np.maximum(idle_w, self.least_cap_w)
        pool_w = watts * (1.0 - SLACK_RATIO) - (floor_w - idle_w).sum()
        if pool_w <= 0.0:
            return np.full(len(idle_w), self.least_cap_w)
        caps_w: Floats = floor_w + pool_w / len(idle_w)
        for _ in range(self.steps):
            draws_w = np.maximum(runs.node_draw_w(caps_w), idle_w)
            at_cap = draws_w > caps_w - self.margin_w
            kept_w = np.where(at_cap, caps_w, np.maximum(draws_w + self.margin_w, floor_w))
            freed_w = float((caps_w - kept_w).sum())
            if not at_cap.any() or freed_w <= SLACK_RATIO * watts:
                break
            caps_w = kept_w + np.where(at_cap, freed_w / at_cap.sum(), 0.0)
        return caps_w
