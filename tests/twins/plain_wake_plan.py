"""The plan of jobs, nodes and watts where nodes sleep under a budget: 4 to 6 of the page on sleep under a budget.

Nodes are those of cells, where they differ or queues share them; nodes that are alike are one cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from plain_draws import microwatts_down, microwatts_up
from plain_nodes import Place

Thing = Place | str
"""A cell, a licence, or watts."""
MICROWATTS = "microwatts"


@dataclass
class Down:
    """A node that is off or shutting down, as a plan has it."""

    number: int
    cell: Place
    is_off: bool
    back: int
    idle: int
    excess: int
    boot: int
    is_taken: bool = False


@dataclass(frozen=True)
class Need:
    """Need of a job: nodes of these cells, the plainest first, licences, watts on average and at best, and a length."""

    cells: Sequence[Place]
    count: int
    licences: dict[str, int]
    mean: int
    least: int
    length: int


@dataclass(frozen=True)
class Part:
    """Nodes of a cell that a job takes: how many, those among them that are woken, when, and what these take idle."""

    cell: Place
    count: int
    woken: list[Down]
    wake_at: int
    idle: int


@dataclass(frozen=True)
class Fit:
    """Start of a job, and what it takes."""

    at: int
    is_for_now: bool
    is_sure: bool
    parts: list[Part]
    own: int


@dataclass
class Wake:
    """Nodes of a cell that are woken for a job, and what they may draw beyond idle, in microwatts."""

    at: int
    woken: list[Down]
    grant: int


@dataclass
class Plan:
    """Nodes that are on and free, licences, and microwatts, at every time from now on: 4 to 6."""

    now: int
    budget: dict[int, int]
    """Microwatts from each of these times on, the first of which is now."""
    down: list[Down]
    margins: dict[Place, int]
    """The longest start of any node of a cell that is off or shutting down."""
    soon: dict[Place, int]
    """Time at which the last of a cell is back that is off or in transition."""
    most: int
    """Picowatts once all that runs has ended, at the best of all times."""
    falls: bool
    changes: list[tuple[int, float, Thing, int]] = field(default_factory=list)
    """From when until when there are how many more of what."""
    wakes: list[Wake] = field(default_factory=list)
    is_bare: bool = True
    late: Counter[Thing] = field(default_factory=Counter)
    """Nodes that count as on and free now and still boot."""
    overdue: Counter[Thing] = field(default_factory=Counter)
    """Amounts of runs past their planned end, which count as free now."""
    left: Counter[Thing] = field(default_factory=Counter)
    """Amounts left now after the starts."""
    awaited: Counter[Thing] = field(default_factory=Counter)
    """Part of this that jobs would take for which nodes are being woken."""

    def instants(self) -> list[int]:
        ends = {end for change in self.changes for end in change[:2]}
        return sorted({self.now, *self.budget, *(int(end) for end in ends if self.now < end < inf)})

    def at(self, time: int, thing: Thing) -> int:
        base = self.budget[max(at for at in self.budget if at <= time)] if thing == MICROWATTS else 0
        return base + sum(by for start, end, what, by in self.changes if what == thing and start <= time < end)

    def least(self, thing: Thing, start: int, end: float) -> int:
        return min(self.at(at, thing) for at in [start, *(at for at in self.instants() if start < at < end)])

    def fit(self, need: Need, earliest: int) -> Fit | None:
        """5: the first instant that will do of all at which anything may change, and some more."""
        length = max(need.length, 1)
        changes = {*self.instants(), *(one.back for one in self.down)}
        shifts = {0, 1, -length, 1 - length}
        for margin in self.margins.values():
            shifts |= {margin, margin - length}
        for at in sorted({earliest, *(change + shift for change in changes for shift in shifts)}):
            if at >= earliest and (found := self._fit_at(need, at, length)) is not None:
                return found
        return None

    def _fit_at(self, need: Need, at: int, length: int) -> Fit | None:
        """Without what is overdue, or else with it; now on nodes that are on, or else with others."""
        things: list[Thing] = [*need.cells, *need.licences, MICROWATTS]
        least = {thing: self.least(thing, at, at + length) for thing in things}
        for late in [self.overdue, Counter[Thing]()]:
            free = {thing: least[thing] - late[thing] for thing in things}
            if any(free[name] < count for name, count in need.licences.items()):
                continue
            for wakes in [False, True] if at == self.now else [True]:
                parts = self._parts(need, free, at, wakes=wakes)
                if parts is None or (own := self._own(need, parts, free[MICROWATTS])) is None:
                    continue
                is_sure = late == self.overdue
                really = {part.cell: self.at(at, part.cell) - self.late[part.cell] for part in parts}
                is_on = all(part.count <= really[part.cell] - self.overdue[part.cell] for part in parts)
                is_for_now = at == self.now and is_sure and is_on and not any(part.woken for part in parts)
                return Fit(at, is_for_now, is_sure, parts, own)
        return None

    def _parts(self, need: Need, free: dict[Thing, int], at: int, *, wakes: bool) -> list[Part] | None:
        """Nodes of each cell, the plainest first; those that are lacking are woken, the lowest first."""
        parts, left = list[Part](), need.count
        for cell in need.cells:
            on, down = free[cell], [one for one in self.down if one.cell == cell and not one.is_taken]
            there = [one for one in down if one.back <= at] if wakes else []
            count = min(left, on + len(there))
            if count <= 0:
                continue
            woken = there[: max(0, count - on)]
            wake_at = max(self.now, at - self.margins[cell]) if woken else at
            parts.append(Part(cell, count, woken, wake_at, microwatts_down(sum(one.idle for one in woken))))
            left -= count
        return None if left else parts

    def _own(self, need: Need, parts: list[Part], free: int) -> int | None:
        """Microwatts that a job takes itself on these nodes; None if they are lacking, for it or for who is woken."""
        idle, exact = sum(part.idle for part in parts), sum(one.idle for part in parts for one in part.woken)
        if need.least > self.most - exact:
            return None
        own = min(need.mean, microwatts_down(self.most) - idle)
        if free < own + idle:
            return None
        for part in parts:
            by_then = sum(other.idle for other in parts if other.woken and other.wake_at <= part.wake_at)
            if part.woken and by_then > 0 and self.least(MICROWATTS, part.wake_at, inf) < by_then:
                return None
        return own

    def take(self, need: Need, fit: Fit) -> None:
        """6."""
        self.is_bare = False
        end, woken = fit.at + max(need.length, 1), [part for part in fit.parts if part.woken]
        for part in woken:
            for one in part.woken:
                one.is_taken = True
            self.changes.append((part.wake_at, inf, MICROWATTS, -part.idle))
            self.changes.append((end, inf, part.cell, len(part.woken)))
        for part in woken:
            booted = part.wake_at + max(one.boot for one in part.woken)
            excess = microwatts_up(sum(one.excess for one in part.woken))
            grant = min(excess, max(0, self.least(MICROWATTS, part.wake_at, booted)))
            self.changes.append((part.wake_at, booted, MICROWATTS, -grant))
            self.wakes.append(Wake(part.wake_at, part.woken, grant))
        taken = {part.cell: part.count - len(part.woken) for part in fit.parts}
        both: dict[Thing, int] = {**taken, **need.licences, MICROWATTS: fit.own}
        self.changes += [(fit.at, end, thing, -amount) for thing, amount in both.items()]
        if fit.at == self.now and self.is_woken_for(need, fit):
            both[MICROWATTS] += sum(part.idle for part in fit.parts)
            self.awaited.update(both)

    def is_woken_for(self, need: Need, fit: Fit) -> bool:
        """7."""
        soon = max((self.soon[cell] for cell in need.cells if cell in self.soon), default=-inf)
        return fit.at <= soon and fit.is_sure and not fit.is_for_now
