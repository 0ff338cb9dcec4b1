"""Watts that a node does not draw, moved to nodes that could use them."""

from __future__ import annotations

import numpy as np

from hetsched.roles import Running, View
from hetsched.strategies.shares import SLACK_RATIO, Floats


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
