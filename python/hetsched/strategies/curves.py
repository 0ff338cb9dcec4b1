"""What jobs are predicted to draw and how much slower they run under caps, by application."""

from __future__ import annotations

import numpy as np

from hetsched.roles import Jobs, View
from hetsched.strategies.shares import Floats

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
        """How many times longer it takes than without a cap."""
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
