"""The sleep part `newsvendor` in plain Python (page on sleeping nodes). It keeps all windows, and sorts them each time.

It is told nothing by the engine: what is spare and free, and when idle nodes are needed, follows from the plans of the
reference machine (`plain_rest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

DAY = 86_400e6


class Idle(NamedTuple):
    """A node that idles, and when its next planned job begins, or it would be lacking if those above it slept."""

    number: int
    since: int
    next_start: float
    far: float
    """Least time to its next job for which it sleeps."""
    may_sleep: bool


class Choice(NamedTuple):
    """Nodes that are put to sleep and woken, in this order, and when to ask again."""

    sleep: list[int]
    wake: list[int]
    again: float = inf


class Recent(NamedTuple):
    """Numbers of nodes that were asked for of late, seen from an instant at which so many were free."""

    at: int
    free: int
    nodes: float

    def faded(self, at: int, window: int) -> float:
        return self.nodes * (window / (window + float(at - self.at)))

    def level(self, at: int, window: int) -> int:
        return int(2.0 * self.faded(at, window)).bit_length()


class Reserve:
    """Idle nodes that stay on for jobs to come, for a share of the time of free nodes."""

    def __init__(self, ratio: float, both: int) -> None:
        self.both, self.ratio = both, ratio
        self._windows: list[tuple[int, int]] = []
        self._open: tuple[int, int, int, int] | None = None
        self._recent: Recent | None = None
        self._last: tuple[int, int, int] | None = None
        self._threshold, self._spare, self._free = 0.2, 0.0, 0.0

    def choose(self, now: int, counts: tuple[int, int], idle: Sequence[Idle], off: Sequence[int]) -> Choice:
        """At the end of a pass; `counts`: of spare and of free nodes, `idle`: the highest first."""
        spared = [
            one
            for one in idle
            if one.may_sleep and one.next_start - now >= one.far and one.next_start - now > self.both
        ]
        if self.both <= 1:
            # No job waits for a node that is off.
            return Choice([one.number for one in spared], [])
        (spare, free), window = counts, max(self.both, 1_000_000)
        level = self._see(now, window, free)
        self._spend(now, window, spare, max(free, spare))
        hold = int(12e6 / self._threshold)
        excess = spared[: max(0, spare - self._exceeded(level, self._threshold))]
        go = [one.number for one in excess if one.since + hold <= now]
        lack = max(0, self._exceeded(level, 3.0 * self._threshold) - spare)
        wake, again = list(off[:lack]), inf
        if len(spared) > len(go) or wake:
            again = min([now + window, *(one.since + hold for one in excess if one.since + hold > now)])
        return Choice(go, wake, again)

    def _see(self, now: int, window: int, free: int) -> int:
        before = self._recent or Recent(now, free, 0.0)
        self._recent = Recent(now, free, before.faded(now, window) + max(0, before.free - free))
        level = self._recent.level(now, window)
        if self._open is not None:
            begun, own, most, least = self._open
            if (count := (now - begun) // window) < 1:
                self._open = (begun, own, most, min(least, free))
                return level
            quiet = [begun + window * later for later in range(1, min(count, 20))]
            self._windows += [(own, most - least), *((before.level(at, window), 0) for at in quiet)]
        self._open = (now, level, free, free)
        return level

    def _exceeded(self, level: int, share: float) -> int:
        """Number of nodes that were asked for in no more than this share of the windows."""
        own = [drop for one, drop in self._windows if one == level]
        known = sorted((own if len(own) >= 30 else [drop for _, drop in self._windows])[-500:])
        beyond = int(min(share, 1.0) * len(known))
        return known[-1 - beyond] if beyond < len(known) else 0

    def _spend(self, now: int, window: int, spare: int, free: int) -> None:
        """The threshold rises as long as the reserve costs more than its share."""
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
