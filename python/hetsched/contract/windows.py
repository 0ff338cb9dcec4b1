"""Windows of the wall clock: time zones, dates, and the stretches of time in which a clause is in force."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timezone, tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, listed
from hetsched.zones import DAY_S, even_stretches, local_date, zone_named


def month_starts(zone: tzinfo, from_s: float, until_s: float) -> npt.NDArray[np.float64]:
    """Starts of calendar months between two instants, by the zone's clock; all in seconds since 1970."""
    date = local_date(from_s, zone)
    year, month = date.year, date.month
    found: list[float] = []
    while True:
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        begins_s = datetime(year, month, 1, tzinfo=zone).astimezone(timezone.utc).timestamp()
        if begins_s >= until_s:
            return np.array(found, dtype=np.float64)
        found.append(begins_s)


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

WINDOW_KEYS = ("from", "until", "days", "months", "first_date", "last_date", "timezone")
"""Keys that say when a clause holds; without any of them it always does."""

_HOLIDAYS = "holidays"
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")
_A_CLOCK = "a time of day such as 17:00, up to 24:00"
_A_DATE = "a date such as 2007-02-28"
_UNITS = (3600, 60, 1)

HOLIDAY = 7
"""The kind of day that holidays are; 0 to 6 are monday to sunday."""

_MONTHS = 12
_THURSDAY = 3
"""The first of January 1970."""

NONE = -1
"""In place of a clause: none holds."""

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


@dataclass(frozen=True)
class Series:
    """The clause in force from each instant until the next; the last instant is the end of the series."""

    at_s: Floats
    clause: Ints

    @staticmethod
    def of(windows: Sequence[Window], rank: Sequence[int], from_s: float, until_s: float) -> Series:
        """The series of clauses with these windows between two instants; `rank` lists them, the first counts most."""
        spans = [window.spans(from_s, until_s) for window in windows]
        at_s = np.unique(np.concatenate([[from_s, until_s], *(ends for span in spans for ends in span)]))
        clause = np.full(len(at_s) - 1, NONE, dtype=np.int64)
        for own in reversed(rank):
            begin_s, end_s = spans[own]
            inside = np.searchsorted(begin_s, at_s[:-1], side="right") > np.searchsorted(end_s, at_s[:-1], side="right")
            clause[inside] = own
        changes = np.append(True, clause[1:] != clause[:-1])
        return Series(np.append(at_s[:-1][changes], at_s[-1]), clause[changes])

    def at(self, unix_s: Floats) -> Ints:
        """The clause in force at each instant of the series."""
        return self.clause[np.clip(np.searchsorted(self.at_s, unix_s, side="right") - 1, 0, len(self.clause) - 1)]


def window_of(given: Mapping[str, Any], zone: tzinfo, holidays: frozenset[date], faults: Faults) -> Window:
    """The window of a clause; notes what is invalid."""
    own = zone_named("timezone", given["timezone"], faults) if "timezone" in given else zone
    start_s = _clock_s("from", given.get("from", "00:00"), faults)
    stop_s = _clock_s("until", given.get("until", "24:00"), faults)
    if start_s == stop_s:
        faults.add("until", given.get("until", "24:00"), "another time of day than from")
    if start_s == DAY_S:
        faults.add("from", given["from"], "a time of day before 24:00")
    days = _names("days", given.get("days"), (*DAYS, _HOLIDAYS), faults)
    first, last = (date_of(name, given.get(name), faults) for name in ("first_date", "last_date"))
    if first is not None and last is not None and last < first:
        faults.add("last_date", str(last), f"a date from first_date on, {first}")
    return Window(
        start_s=start_s,
        stop_s=stop_s if stop_s > start_s else stop_s + DAY_S,
        days=frozenset(range(HOLIDAY + 1)) if days is None else days,
        months=frozenset(
            1 + month for month in _names("months", given.get("months"), MONTHS, faults) or range(len(MONTHS))
        ),
        first=first,
        last=last,
        zone=own,
        holidays=holidays,
    )


def _clock_s(parameter: str, given: object, faults: Faults) -> int:
    """Seconds after midnight; notes what is no time of day."""
    if isinstance(given, time) and given.tzinfo is None and not given.microsecond:
        return given.hour * 3600 + given.minute * 60 + given.second
    found = _CLOCK.fullmatch(given.strip()) if isinstance(given, str) else None
    parts = [] if found is None else [int(part or 0) for part in found.groups()]
    seconds = sum(part * unit for part, unit in zip(parts, _UNITS, strict=False))
    if found is None or seconds > DAY_S:
        faults.add(parameter, str(given) if isinstance(given, time) else given, _A_CLOCK)
        return -1
    return seconds


def date_of(parameter: str, given: object, faults: Faults) -> date | None:
    """A date, if there is one; notes what is none."""
    if given is None or (isinstance(given, date) and not isinstance(given, datetime)):
        return given
    try:
        return date.fromisoformat(given if isinstance(given, str) else "")
    except ValueError:
        faults.add(parameter, str(given) if isinstance(given, datetime) else given, _A_DATE)
        return None


def instant_s(parameter: str, given: object, zone: tzinfo, faults: Faults) -> float | None:
    """Seconds since 1970 of a date with a time; one that does not say how far it is from UTC is the zone's."""
    found = given if isinstance(given, datetime) else None
    if isinstance(given, str):
        try:
            found = datetime.fromisoformat(given.strip().replace("Z", "+00:00"))
        except ValueError:
            found = None
    elif isinstance(given, date) and found is None:
        found = datetime(given.year, given.month, given.day)  # noqa: DTZ001 -- its zone is put in below
    if found is None:
        faults.add(parameter, given, "a date with a time such as 2007-02-01T00:00")
        return None
    return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).astimezone(timezone.utc).timestamp()


def _names(parameter: str, given: object, known: Sequence[str], faults: Faults) -> frozenset[int] | None:
    """Places of the names in ``mon-fri,sun``, which may go round the end; None if nothing is given."""
    if given is None:
        return None
    words = given.split(",") if isinstance(given, str) else given
    found: set[int] = set()
    circle = [name for name in known if name != _HOLIDAYS]
    for word in words if isinstance(words, list | tuple) else [None]:
        ends = [part.strip().lower() for part in word.split("-")] if isinstance(word, str) else []
        if isinstance(word, str) and word.strip().lower() in known:
            found.add(known.index(word.strip().lower()))
        elif 1 <= len(ends) <= 2 and all(end in circle for end in ends):
            low, high = circle.index(ends[0]), circle.index(ends[-1])
            found |= {(low + step) % len(circle) for step in range((high - low) % len(circle) + 1)}
        else:
            faults.add(parameter, given, f"some of {listed(known)}, such as {known[0]}-{known[4]},{known[6]}")
            break
    return frozenset(found)
