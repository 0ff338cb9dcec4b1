"""Ticks of an axis of dates: the month stands at the first tick and wherever it changes, the year likewise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

UTC = timezone.utc

MOST_TICKS = 6
"""Most ticks that fit next to each other."""

_DAY_S = 86400
_SECONDS = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)), *(3600 * n for n in (1, 2, 3, 6, 12)))
_DAYS = (1, 2, 3, 5, 7)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = (1, 2, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50)))


def date_ticks(first_s: float, last_s: float) -> list[tuple[float, str]]:
    r"""Instants between two, in seconds since 1970, and the text below each, at most `MOST_TICKS`.

    Examples
    --------
    >>> day_s = 86400.0
    >>> for _, text in date_ticks(1172448000.0, 1172448000.0 + 5 * day_s):
    ...     print(repr(text))
    '26\nFeb'
    '27'
    '28'
    '1\nMar'
    '2'
    '3'
    """
    for step_s in (*_SECONDS, *(_DAY_S * days for days in _DAYS)):
        # Days in steps are counted from the first, so that a month's end is no odd step.
        start_s = math.ceil(first_s / min(step_s, _DAY_S)) * min(step_s, _DAY_S)
        count = math.floor((last_s - start_s) / step_s) + 1
        if count <= MOST_TICKS:
            finest = _day if step_s >= _DAY_S else _minute if step_s >= 60 else _second
            return _written([float(start_s + place * step_s) for place in range(count)], finest, first_s, last_s)
    halves = [*_starts_of_months(first_s, last_s, 1, days=(1, 15))]
    if len(halves) <= MOST_TICKS:
        return _written(halves, _day, first_s, last_s)
    found: list[float] = []
    for months in _MONTHS:
        found = [*_starts_of_months(first_s, last_s, months)]
        if len(found) <= MOST_TICKS:
            break
    return _written(found, _month if months < 12 else _year, first_s, last_s)


def year_of(first_s: float, last_s: float) -> int | None:
    """The year in which all of a time lies; None: it lies in several."""
    years = {datetime.fromtimestamp(instant, UTC).year for instant in (first_s, last_s)}
    return years.pop() if len(years) == 1 else None


_Text = Callable[[datetime], str]


def _second(date: datetime) -> str:
    return f"{date:%H:%M:%S}"


def _minute(date: datetime) -> str:
    return f"{date:%H:%M}"


def _day(date: datetime) -> str:
    return str(date.day)


def _day_of_month(date: datetime) -> str:
    return f"{date.day} {_month(date)}"


def _month(date: datetime) -> str:
    return _NAMES[date.month - 1]


def _year(date: datetime) -> str:
    return str(date.year)


_COARSER: dict[_Text, _Text | None] = {
    _second: _day_of_month,
    _minute: _day_of_month,
    _day: _month,
    _day_of_month: _year,
    _month: _year,
    _year: None,
}
"""The line below each: written at the first tick and where it changes."""


def _written(instants: list[float], finest: _Text, first_s: float, last_s: float) -> list[tuple[float, str]]:
    """Texts of one to three lines; the year is left out where the axis is of one."""
    is_of_one_year = year_of(first_s, last_s) is not None
    before: dict[_Text, str] = {}
    ticks = []
    for instant in instants:
        date = datetime.fromtimestamp(instant, UTC)
        lines = [finest(date)]
        coarser = _COARSER[finest]
        while coarser is not None and not (coarser is _year and is_of_one_year):
            text = coarser(date)
            lines.append("" if before.get(coarser) == text else text)
            before[coarser] = text
            coarser = _COARSER[coarser]
        ticks.append((instant, "\n".join(lines).rstrip("\n")))
    return ticks


def _starts_of_months(first_s: float, last_s: float, months: int, *, days: tuple[int, ...] = (1,)) -> Iterator[float]:
    """Days of every so many months, counted from January, that lie between two instants."""
    first, last = (datetime.fromtimestamp(instant, UTC) for instant in (first_s, last_s))
    begin = first.year * 12 + first.month - 1
    for month in range(begin - begin % months, last.year * 12 + last.month, months):
        for day in days:
            instant = datetime(month // 12, month % 12 + 1, day, tzinfo=UTC).timestamp()
            if first_s <= instant <= last_s:
                yield instant
