"""Strategies that share out watts: by what jobs demand, or by what nodes leave of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hetsched.roles import Running, View
from hetsched.strategies.shares import SLACK_RATIO, Floats

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
