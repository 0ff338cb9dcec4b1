"""Times in which the machine was smaller, down, or started nothing (rules 25 and 27)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.units import TICKS_S
from hetsched.validation.finding import Finding, part, seconds
from hetsched.validation.observed import Observed
from hetsched.validation.use import least_over

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_HOUR = 3600 * TICKS_S
_WEEK = 168 * _HOUR
_LONG_QUEUED = 600 * TICKS_S
_FEWEST_SHORT = 84
_SMALLER = 0.95
_LARGEST = np.iinfo(np.int64).max

_SHORTEST_GAP = 600 * TICKS_S
_BEFORE_ITS_END = 300 * TICKS_S
_FEWEST_JOBS = 5
_FEWEST_USERS = 3
_DOWN = 0.05
_PROMPT = 300 * TICKS_S
_BY_CHANCE = 0.001


def size_findings(jobs: Observed, machine: int) -> Iterator[Finding]:
    """Weeks in which jobs waited at most hours though they would have fitted on the machine, not on what was used."""
    first = int(jobs.submit.min()) // _WEEK
    weeks = np.arange(first, int(jobs.start.max()) // _WEEK + 1)
    most = jobs.use.most(np.append(weeks, weeks[-1] + 1) * _WEEK)
    short = _short_hours(jobs, most, first, machine)
    is_smaller = (short >= _FEWEST_SHORT) & (most < _SMALLER * machine)
    nearest = np.argmax(np.where(most < _SMALLER * machine, short, -1))
    for place in np.flatnonzero(is_smaller) if is_smaller.any() else [nearest] if short[nearest] else []:
        week, nodes = int(weeks[place]), int(most[place])
        found = Finding(
            "size over time",
            f"week {week}",
            jobs.nodes(nodes),
            "nodes",
            seconds(week * _WEEK),
            seconds((week + 1) * _WEEK),
            evidence=int(short[place]),
            evidence_ratio=int(short[place]) / 168,
        )
        if is_smaller[place]:
            last = -(-machine // jobs.whole) - 1
            up = -(-nodes // jobs.whole)
            found = found._replace(suggestion=f"maintenance of nodes {up}-{last}")
        yield found


def _short_hours(jobs: Observed, most: Ints, first: int, machine: int) -> Ints:
    """Hours, by week, at which the smallest of the long waiting jobs fits the machine, but not what was used."""
    queued = jobs.wait > _LONG_QUEUED
    hours = first * 168 + np.arange(len(most) * 168)
    begins, ends = (-(-instants[queued] // _HOUR) - hours[0] for instants in (jobs.submit, jobs.start))
    smallest = least_over(begins, ends, jobs.held[queued], len(hours), _LARGEST)
    needed = jobs.use.at(hours * _HOUR) + np.where(smallest < _LARGEST, smallest, 0)
    is_short = (smallest < _LARGEST) & (np.repeat(most, 168) < needed) & (needed <= machine)
    counts: Ints = is_short.reshape(-1, 168).sum(axis=1)
    return counts


@dataclass(frozen=True)
class Gaps:
    """Times without a start, though enough jobs of enough users were submitted in them that had room."""

    begins: Ints
    ends: Ints
    jobs: Ints
    """Jobs with room by gap."""
    kinds: list[str]
    """``down``, ``hold``, ``drain`` (a job waited for nodes) or ``chance``."""

    @classmethod
    def of(cls, jobs: Observed, machine: int) -> Gaps:
        """Gaps of a log."""
        starts = np.unique(jobs.start)
        room = jobs.room(machine)
        gap = np.searchsorted(starts, jobs.submit, side="left") - 1
        inside = room & (gap >= 0) & (gap < len(starts) - 1)
        begin, end = starts[np.maximum(gap, 0)], starts[np.minimum(gap + 1, len(starts) - 1)]
        inside &= (end - begin >= _SHORTEST_GAP) & (jobs.submit < end - _BEFORE_ITS_END)
        found, place, counts = np.unique(gap[inside], return_inverse=True, return_counts=True)
        users = _users(jobs, inside, place, counts)
        firsts = np.full(len(found), _LARGEST)
        np.minimum.at(firsts, place, jobs.submit[inside])
        enough = (counts >= _FEWEST_JOBS) & (users >= _FEWEST_USERS)
        found, counts, users, firsts = (one[enough] for one in (found, counts, users, firsts))
        begins, ends = starts[found], starts[found + 1]
        prompt = part(int((room & (jobs.wait <= _PROMPT)).sum()), int(room.sum())) or 0.0
        return cls(begins, ends, counts, _kinds(jobs, machine, (firsts, ends), np.power(1 - prompt, users)))

    def findings(self) -> Iterator[Finding]:
        """Those that were outages."""
        for begin, end, count, kind in zip(self.begins, self.ends, self.jobs, self.kinds, strict=True):
            if kind in ("down", "hold"):
                span = (seconds(begin), seconds(end))
                suggestion = "maintenance of all nodes" if kind == "down" else "no starts in this time"
                yield Finding("outage", kind, span[1] - span[0], "s", *span, int(count), suggestion=suggestion)

    def count(self, kind: str) -> int:
        """Number of those of a kind."""
        return self.kinds.count(kind)


def _users(jobs: Observed, inside: Bools, place: Ints, counts: Ints) -> Ints:
    """Different users of the jobs of each gap; where the log has none, its jobs."""
    names, code = jobs.coded("user")
    if len(names) == 1:
        return counts
    pairs = np.unique(np.stack([place, code[inside]], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=len(counts))


def _kinds(jobs: Observed, machine: int, gaps: tuple[Ints, Ints], by_chance: npt.NDArray[Any]) -> list[str]:
    firsts, ends = gaps
    # Nothing starts in a gap: use falls, and is least at its end.
    least = jobs.use.values[np.searchsorted(jobs.use.times, ends, side="left") - 1]
    covered = (np.searchsorted(firsts, jobs.submit, side="left"), np.searchsorted(ends, jobs.start, side="right"))
    largest = -least_over(*covered, -jobs.held, len(ends), 0)
    kinds = np.where(by_chance <= _BY_CHANCE, "hold", "chance")
    kinds = np.where(least <= _DOWN * machine, "down", kinds)
    kinds = np.where(least + largest > machine, "drain", kinds)
    found: list[str] = kinds.tolist()
    return found
