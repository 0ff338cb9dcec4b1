"""The budget in time: rules 9 to 12 of the page on power in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from plain_draws import ceiling


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
    """Budget of the rows at any time; the policy's own where none holds."""

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

    def believed(self, now: int, foresight: float) -> dict[int, int]:
        """Picowatts that the policy believes in at `now`, from each of these times on: rule 10."""
        times = sorted({now, *(end for end in self.ends() if now < end <= now + foresight)})
        return {time: ceiling(self.watts(min(time, now + foresight), known_at=now)) for time in times}
