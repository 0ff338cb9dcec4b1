"""The sleep part `newsvendor` in plain Python, as an object in its role: it keeps all windows, and sorts them anew."""

from __future__ import annotations

import math
from typing import Any

from hetsched.roles import Rest

DAY = 86_400e6


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


def faded(recent: tuple[int, int, float], at: int, window: int) -> float:
    """How many nodes were asked for of late, seen from then."""
    begun, _, nodes = recent
    return nodes * (window / (window + float(at - begun)))


def level_of(recent: tuple[int, int, float], at: int, window: int) -> int:
    return int(2.0 * faded(recent, at, window)).bit_length()


class PlainNewsvendor:
    """Asked at every pass, like the engine's part."""

    def __init__(self, boot_s: float, shutdown_s: float, ratio: float = 0.08) -> None:
        # A node that is woken takes a microsecond at least.
        self.both = max(1, micros(boot_s)) + micros(shutdown_s)
        self.ratio = ratio
        self._windows: list[tuple[int, int]] = []
        self._open: tuple[int, int, int, int] | None = None
        self._recent: tuple[int, int, float] | None = None
        self._last: tuple[int, int, int] | None = None
        self._threshold, self._spare, self._free = 0.2, 0.0, 0.0

    def rest(self, nodes: Any, view: Any) -> Rest:
        now, window = micros(view.now_s), max(self.both, 1_000_000)
        level = self._see(now, window, nodes.free)
        self._spend(now, window, nodes.spare, max(nodes.free, nodes.spare))
        hold = int(12e6 / self._threshold)
        idle = zip(nodes.idle, nodes.idle_since_s, nodes.next_start_s, nodes.break_even_s, strict=True)
        spared = [
            (node, micros(since_s) + hold)
            for node, since_s, next_s, even_s in reversed(list(idle))
            if next_s == math.inf or (micros(next_s) - now >= micros(even_s) and micros(next_s) - now > self.both)
            if even_s < math.inf
        ]
        if self.both <= 1:
            return Rest(sleep=[node for node, _ in spared])
        excess = spared[: max(0, nodes.spare - self._exceeded(level, self._threshold))]
        go = [node for node, ripe in excess if ripe <= now]
        lack = max(0, self._exceeded(level, 3.0 * self._threshold) - nodes.spare)
        wake = nodes.off[:lack]
        again = math.inf
        if len(spared) > len(go) or len(wake):
            again = min([now + window, *(ripe for _, ripe in excess if ripe > now)]) / 1e6
        return Rest(sleep=go, wake=wake, again_s=again)

    def _see(self, now: int, window: int, free: int) -> int:
        before = self._recent or (now, free, 0.0)
        self._recent = (now, free, faded(before, now, window) + max(0, before[1] - free))
        level = level_of(self._recent, now, window)
        if self._open is not None:
            begun, own, most, least = self._open
            if (count := (now - begun) // window) < 1:
                self._open = (begun, own, most, min(least, free))
                return level
            quiet = [begun + window * later for later in range(1, min(count, 20))]
            self._windows += [(own, most - least), *((level_of(before, at, window), 0) for at in quiet)]
        self._open = (now, level, free, free)
        return level

    def _exceeded(self, level: int, share: float) -> int:
        own = [drop for one, drop in self._windows if one == level]
        known = sorted((own if len(own) >= 30 else [drop for _, drop in self._windows])[-500:])
        beyond = int(min(share, 1.0) * len(known))
        return known[-1 - beyond] if beyond < len(known) else 0

    def _spend(self, now: int, window: int, spare: int, free: int) -> None:
        if self._last is not None:
            begun, was_spare, was_free = self._last
            lasted = float(now - begun)
            kept = DAY / (DAY + lasted)
            self._spare = self._spare * kept + was_spare * lasted
            self._free = self._free * kept + was_free * lasted
            may = self.ratio * self._free
            excess = min(self._spare / may - 1.0, 1.0) if may > 0.0 else 1.0
            change = min(max(0.002 * excess * lasted / window, -0.5), 1.0)
            self._threshold = min(max(self._threshold * (1.0 + change), 1e-4), 0.5)
        self._last = (now, spare, free)
