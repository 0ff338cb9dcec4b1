"""Windows of the wall clock: from 17:00 until 20:00, mon-fri, nov-feb, in Europe/Berlin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, tzinfo

import numpy as np
import numpy.typing as npt

from hetsched.contract.calendar import DAY_S, even_stretches

HOLIDAY = 7
"""The kind of day that holidays are; 0 to 6 are monday to sunday."""

_MONTHS = 12
_THURSDAY = 3
"""The first of January 1970."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """All instants at which the clock shows a time from `start_s` on and before `stop_s`, on the days that it begins.

    The clock is that of the wall: an hour that it shows twice is in the window twice, one that it leaves out is not.

    Parameters
    ----------
    start_s, stop_s
        Seconds after midnight; `stop_s` may lie on the next day.
    days
        Kinds of days on which it begins: 0 to 6, and `HOLIDAY`.
    months
        Months in which it begins, from 1.
    first, last
        First and last date on which it begins; None: no such.
    zone
        Whose clock and calendar count.
    holidays
        Dates that are of the kind `HOLIDAY` and of no other.
    """

    start_s: int
    stop_s: int
    days: frozenset[int]
    months: frozenset[int]
    first: date | None
    last: date | None
    zone: tzinfo
    holidays: frozenset[date] = frozenset()

    @property
    def is_weekly(self) -> bool:
        """True if the window is the same every week."""
        is_dated = self.first is not None or self.last is not None
        return len(self.months) == _MONTHS and not is_dated and not self.holidays

    def spans(self, from_s: float, until_s: float) -> tuple[Floats, Floats]:
        """Starts and ends of the window between two instants, all in seconds since 1970; in order, and apart."""
        low, high = math.floor(from_s), math.ceil(until_s)
        begins, ends = [], []
        for since, until, offset in even_stretches(self.zone, low, high):
            # Yesterday's may last until today.
            days = self._days(np.arange((since + offset) // DAY_S - 1, (until + offset) // DAY_S + 1, dtype=np.int64))
            begin = np.maximum(days * DAY_S + (self.start_s - offset), since)
            end = np.minimum(days * DAY_S + (self.stop_s - offset), until)
            begins.append(begin[end > begin])
            ends.append(end[end > begin])
        begin_s, end_s = np.concatenate(begins).astype(np.float64), np.concatenate(ends).astype(np.float64)
        begin_s, end_s = np.maximum(begin_s, from_s), np.minimum(end_s, until_s)
        return _joined(begin_s[end_s > begin_s], end_s[end_s > begin_s])

    def _days(self, days: Ints) -> Ints:
        """Those of the days (numbered from 1970 on) on which it begins."""
        dates = days.astype("datetime64[D]")
        kind = (days + _THURSDAY) % 7
        if self.holidays:
            kind[np.isin(dates, np.array(sorted(self.holidays), dtype="datetime64[D]"))] = HOLIDAY
        month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
        begins = np.isin(kind, sorted(self.days)) & np.isin(month, sorted(self.months))
        if self.first is not None:
            begins &= dates >= np.datetime64(self.first)
        if self.last is not None:
            begins &= dates <= np.datetime64(self.last)
        return days[begins]


def _joined(begin_s: Floats, end_s: Floats) -> tuple[Floats, Floats]:
    """The same spans, those that touch as one."""
    apart = begin_s[1:] > end_s[:-1]
    return begin_s[np.append(True, apart)[: len(begin_s)]], end_s[np.append(apart, True)[: len(end_s)]]
