"""The budget in time, and what a pass plans: the second part of the twin of power in time.

A plan is asked instant by instant what is free. It changes only at the instants that it lists, so it is enough to ask
at those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import NamedTuple

from plain_power_machine import ceiling, microwatts_down


class BudgetRow(NamedTuple):
    """So many watts from `time` until `until` (None: for good), known from `announced` on (None: always)."""

    time: int
    value_w: float
    until: int | None = None
    announced: int | None = None

    def holds(self, time: float) -> bool:
        return self.time <= time and (self.until is None or time < self.until)

    def ends(self) -> list[int]:
        return [self.time] if self.until is None else [self.time, self.until]


@dataclass(frozen=True)
class Budget:
    """What the rows say of any time; the policy's own budget where none holds."""

    own_w: float
    rows: Sequence[BudgetRow] = ()

    def watts(self, time: float, known_at: float = inf) -> float:
        """The budget in force; with `known_at` only rows announced by then count: rules 9 and 10."""
        holding = [
            (row.time, place, row.value_w)
            for place, row in enumerate(self.rows)
            if row.holds(time) and (row.announced is None or row.announced <= known_at)
        ]
        return max(holding)[2] if holding else self.own_w

    def ends(self) -> list[int]:
        """The two ends of each row, in order of time and row; an instant is there as often as ends lie at it."""
        return sorted(end for row in self.rows for end in row.ends())

    def highest_from(self, now: int) -> int:
        """The highest of all budgets from now on, in picowatts, whatever is known of them: rule 11."""
        return max(ceiling(self.watts(time)) for time in [now, *self.ends()] if time >= now)

    def believed(self, now: int, time: float, foresight: float) -> int:
        """What the policy believes at `now` of a time, in picowatts: rule 10."""
        return ceiling(self.watts(min(time, now + foresight), known_at=now))

    def believed_changes(self, now: int, foresight: float) -> list[int]:
        """The instants to come at which what is believed may change."""
        return sorted({end for end in self.ends() if now < end <= now + foresight})


class Hold(NamedTuple):
    """Nodes and microwatts from one instant until before another."""

    start: int
    end: int
    nodes: int
    microwatts: int

    def covers(self, time: int) -> bool:
        return self.start <= time < self.end


class Release(NamedTuple):
    """When a running job gives back its nodes and its least watts, in picowatts."""

    time: int
    nodes: int
    picowatts: int


@dataclass
class Plan:
    """Free nodes and microwatts at every time from now on: rule 16."""

    now: int
    free_nodes: int
    budget: dict[int, int]
    """What may be drawn beyond idle, in picowatts, from each of these times on; the first is now."""
    running: list[Release]
    holds: list[Hold] = field(default_factory=list)

    def changes(self) -> list[int]:
        """The instants at which what is free may change, now first."""
        at: Iterable[int] = [
            *self.budget,
            *(release.time for release in self.running),
            *(hold.start for hold in self.holds),
            *(hold.end for hold in self.holds),
        ]
        return sorted({max(time, self.now) for time in at})

    def nodes_at(self, time: int) -> int:
        back = sum(release.nodes for release in self.running if release.time <= time)
        return self.free_nodes + back - sum(hold.nodes for hold in self.holds if hold.covers(time))

    def microwatts_at(self, time: int) -> int:
        budget = self.budget[max(change for change in self.budget if change <= time)]
        in_use = sum(release.picowatts for release in self.running if release.time > time)
        return microwatts_down(budget - in_use) - sum(hold.microwatts for hold in self.holds if hold.covers(time))

    def has_room(self, start: int, nodes: int, microwatts: int, length: int) -> bool:
        """Whether so much is free at `start` and until `length` is over."""
        during = [time for time in self.changes() if start < time < start + length]
        return all(self.nodes_at(time) >= nodes and self.microwatts_at(time) >= microwatts for time in [start, *during])

    def earliest(self, nodes: int, microwatts: int, length: int) -> int | None:
        """The first instant from which so much is free; None if there is none."""
        return next((time for time in self.changes() if self.has_room(time, nodes, microwatts, length)), None)

    def reserve(self, start: int, nodes: int, microwatts: int, length: int) -> None:
        """A job of length zero holds its instant."""
        self.holds.append(Hold(start, start + max(length, 1), nodes, microwatts))

    @property
    def most_microwatts(self) -> int:
        """The most that it has at any instant once all that runs has ended: rule 18."""
        return microwatts_down(self.most_picowatts)

    @property
    def most_picowatts(self) -> int:
        """The same before it is rounded: no rounding keeps a job from a reservation."""
        return max(self.budget.values())

    @property
    def falls(self) -> bool:
        """Whether a fall of the budget is known."""
        values = [self.budget[time] for time in sorted(self.budget)]
        return any(later < earlier for earlier, later in pairwise(values))
