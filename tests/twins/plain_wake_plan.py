"""The plan of jobs, nodes and watts where nodes sleep under a budget: 4 to 6 of the page on sleep under a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from plain_draws import microwatts_down, microwatts_up


@dataclass
class Down:
    """A node that is off or shutting down, as a plan has it."""

    number: int
    is_off: bool
    back: int
    idle: int
    excess: int
    boot: int
    is_taken: bool = False


@dataclass(frozen=True)
class Fit:
    """Start of a job, the time from which nodes are woken for it, and what it takes."""

    at: int
    is_for_now: bool
    is_sure: bool
    wake_at: int
    woken: list[Down]
    own: int
    idle: int


@dataclass
class Wake:
    """Nodes that are woken for a job, and what they may draw beyond idle, in microwatts."""

    at: int
    woken: list[Down]
    grant: int


@dataclass
class Plan:
    """Nodes that are on and free, and microwatts, at every time from now on: 4 to 6."""

    now: int
    budget: dict[int, int]
    """Microwatts from each of these times on, the first of which is now."""
    down: list[Down]
    margin: int
    soon: int | None
    most: int
    """Picowatts once all that runs has ended, at the best of all times."""
    falls: bool
    nodes: list[tuple[int, float, int]] = field(default_factory=list)
    """From when until when how many more."""
    microwatts: list[tuple[int, float, int]] = field(default_factory=list)
    wakes: list[Wake] = field(default_factory=list)
    is_bare: bool = True
    late: int = 0
    """Nodes that count as on and free now and still boot."""
    overdue: tuple[int, int] = (0, 0)
    """Nodes and microwatts of runs that are past their planned end: they count as free now."""
    left: tuple[int, int] = (0, 0)
    """Nodes and microwatts left now after the starts."""
    awaited: tuple[int, int] = (0, 0)
    """Part of these that jobs would take for which nodes are being woken."""

    def instants(self) -> list[int]:
        ends = {end for changes in (self.nodes, self.microwatts) for one in changes for end in one[:2]}
        return sorted({self.now, *self.budget, *(int(end) for end in ends if self.now < end < inf)})

    def nodes_at(self, time: int) -> int:
        return sum(by for start, end, by in self.nodes if start <= time < end)

    def microwatts_at(self, time: int) -> int:
        base = self.budget[max(at for at in self.budget if at <= time)]
        return base + sum(by for start, end, by in self.microwatts if start <= time < end)

    def during(self, start: int, end: float) -> list[int]:
        return [start, *(at for at in self.instants() if start < at < end)]

    def least_nodes(self, start: int, end: float) -> int:
        return min(self.nodes_at(at) for at in self.during(start, end))

    def least_microwatts(self, start: int, end: float) -> int:
        return min(self.microwatts_at(at) for at in self.during(start, end))

    def fit(self, count: int, mean: int, least: int, length: int, earliest: int) -> Fit | None:
        """5: the first instant that will do of all at which anything may change, and some more."""
        length = max(length, 1)
        changes = {*self.instants(), *(one.back for one in self.down)}
        shifts = (0, self.margin, -length, self.margin - length, 1)
        for at in sorted({earliest, *(change + shift for change in changes for shift in shifts)}):
            if at >= earliest and (found := self._fit_at(count, mean, least, length, at)) is not None:
                return found
        return None

    def _fit_at(self, count: int, mean: int, least: int, length: int, at: int) -> Fit | None:
        """Without what is overdue, or else with it."""
        for late in [self.overdue, (0, 0)]:
            nodes = self.least_nodes(at, at + length) - late[0]
            watts = self.least_microwatts(at, at + length) - late[1]
            lack = max(0, count - nodes)
            woken = [one for one in self.down if not one.is_taken and one.back <= at][:lack]
            idle = sum(one.idle for one in woken)
            if len(woken) < lack or least > self.most - idle:
                continue
            own = min(mean, microwatts_down(self.most) - microwatts_down(idle))
            if watts < own + microwatts_down(idle):
                continue
            wake_at = max(self.now, at - self.margin) if lack else at
            if idle > 0 and self.least_microwatts(wake_at, inf) < microwatts_down(idle):
                continue
            is_sure = late == self.overdue
            on = self.nodes_at(at) - self.late - self.overdue[0]
            is_for_now = at == self.now and not lack and on >= count and is_sure
            return Fit(at, is_for_now, is_sure, wake_at, woken, own, microwatts_down(idle))
        return None

    def take(self, count: int, length: int, fit: Fit) -> None:
        """6."""
        self.is_bare = False
        end = fit.at + max(length, 1)
        if fit.woken:
            for one in fit.woken:
                one.is_taken = True
            self.microwatts.append((fit.wake_at, inf, -fit.idle))
            booted = fit.wake_at + max(one.boot for one in fit.woken)
            excess = microwatts_up(sum(one.excess for one in fit.woken))
            grant = min(excess, max(0, self.least_microwatts(fit.wake_at, booted)))
            self.microwatts.append((fit.wake_at, booted, -grant))
            self.nodes.append((end, inf, len(fit.woken)))
            self.wakes.append(Wake(fit.wake_at, fit.woken, grant))
        self.nodes.append((fit.at, end, len(fit.woken) - count))
        self.microwatts.append((fit.at, end, -fit.own))
        if fit.at == self.now and self.is_woken_for(fit):
            nodes, microwatts = self.awaited
            self.awaited = nodes + count - len(fit.woken), microwatts + fit.own + fit.idle

    def is_woken_for(self, fit: Fit) -> bool:
        """7."""
        return self.soon is not None and fit.at <= self.soon and fit.is_sure and not fit.is_for_now
