"""Hours of the day in which jobs of some walltimes do not start (rule 32), by the clock on the wall if it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.units import TICKS_S
from hetsched.validation.finding import Finding
from hetsched.validation.hours import Spans
from hetsched.validation.observed import Observed
from hetsched.workload.clock import WallClock

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_BOUNDS_S = (900, 3600, 14_400, 43_200)
_CLASSES = ("up to 15 min", "15 min to 1 h", "1 to 4 h", "4 to 12 h", "over 12 h")
_HOUR_S = 3600
_HOUR = _HOUR_S * TICKS_S
_DAYS = ("weekdays", "weekends")
_FEWEST_STARTS = 200
_FEWEST_HOURS = 4
_FEW_STARTS = 0.1
_MUCH_WAITING = 0.5
_OTHERS_START = 0.3
_MOST_HOURS = 72
_FIRST_DAY = 3
"""The weekday of second 0, Monday being 0: 1 January 1970 was a Thursday."""


@dataclass(frozen=True)
class _Day:
    """Starts after a wait and waiting time by class of walltime and hour, on weekdays or at weekends."""

    starts: Floats
    waiting: Floats


_LOGS_OWN = WallClock("the log's clock", 0.0, (), (0,))


class _Hours:
    """Whole hours as a clock on the wall shows them, numbered from 1970 as they go by, and instants in them."""

    def __init__(self, clock: WallClock, first: int) -> None:
        """Hours of a clock; `first` is an instant of the log, whose offset from UTC says where they begin."""
        self._clock = clock
        zero = round(clock.zero_s * TICKS_S)
        first_s = np.array([(first + zero) // TICKS_S])
        # Zones are ahead by whole hours and a part of one, which stays when clocks are put forward or back.
        self._part_s = int(clock.ahead(first_s)[0]) % _HOUR_S
        self._shift = zero + self._part_s * TICKS_S

    def instants(self, log: Ints) -> Ints:
        """Instants of the log, from the beginning of hour 0."""
        return log + self._shift

    def begins(self, hours: Ints) -> Ints:
        """Instants of the log at which hours begin."""
        return hours * _HOUR - self._shift

    def kinds(self, hours: Ints) -> tuple[Ints, Ints]:
        """Kind and hour of the day of each: 1 at weekends, else 0."""
        begins_s = hours * _HOUR_S - self._part_s
        shown = (begins_s + self._clock.ahead(begins_s)) // _HOUR_S
        is_weekend = (shown // 24 + _FIRST_DAY) % 7 >= 5
        return is_weekend.astype(np.int64), shown % 24


def window_findings(jobs: Observed, clock: WallClock | None = None) -> Iterator[Finding]:
    """Rule 32, by the hours of a clock; None: of the log's, its second 0 being 1 January 1970."""
    hours = _Hours(clock or _LOGS_OWN, int(jobs.submit.min()))
    classes = np.searchsorted(np.array(_BOUNDS_S) * TICKS_S, jobs.walltime, side="left")
    for place, name in enumerate(_DAYS):
        day = _day(jobs, hours, classes, place)
        for walltimes, own in enumerate(_CLASSES):
            if day.starts[walltimes].sum() >= _FEWEST_STARTS:
                yield _window(day, walltimes, f"walltimes {own}, {name}")


def after_windows(at: Ints, planned: Ints, windows: Iterable[Mapping[str, Any]], clock: WallClock | None) -> Ints:
    """Instants moved to the end of the windows that they lie in, of jobs of these planned lengths; microseconds."""
    if not len(at):
        return at
    own, found = _Hours(clock or _LOGS_OWN, int(at.min())), at.copy()
    classes = np.searchsorted(np.array(_BOUNDS_S) * TICKS_S, planned, side="left")
    for _ in range(_MOST_HOURS):
        hours = own.instants(found) // _HOUR
        kind, hour = own.kinds(hours)
        is_inside = np.zeros(len(found), np.bool_)
        for one in windows:
            walltimes, days = one["jobs"].removeprefix("walltimes ").rsplit(", ", 1)
            is_own = (classes == _CLASSES.index(walltimes)) & (kind == _DAYS.index(days))
            length = (one["until_hour"] - one["from_hour"]) % 24
            is_inside |= is_own & ((hour - one["from_hour"]) % 24 < length)
        if not is_inside.any():
            break
        found[is_inside] = own.begins(hours[is_inside] + 1)
    return found


def _day(jobs: Observed, clock: _Hours, classes: Ints, place: int) -> _Day:
    submit, start = clock.instants(jobs.submit), clock.instants(jobs.start)
    kind, hour = clock.kinds(start // _HOUR)
    is_counted = jobs.waited & (kind == place)
    starts, waiting = np.zeros((len(_CLASSES), 24)), np.zeros((len(_CLASSES), 24))
    np.add.at(starts, (classes[is_counted], hour[is_counted]), 1)
    hours = np.arange(int(submit.min()) // _HOUR, int(start.max()) // _HOUR + 1)
    kinds, of_day = clock.kinds(hours)
    # From its first hour on, so that nothing of a microsecond is lost in the sums.
    first = int(hours[0])
    for walltimes in range(len(_CLASSES)):
        own = classes == walltimes
        if own.any():
            begins, ends = ((one[own] - first * _HOUR) / _HOUR for one in (submit, start))
            queued = Spans(begins, ends, np.ones(int(own.sum())))
            each = queued.means((hours - first).astype(np.float64), 1.0)
            waiting[walltimes] = np.bincount(of_day[kinds == place], each[kinds == place], minlength=24)
    return _Day(starts, waiting)


def _window(day: _Day, walltimes: int, subject: str) -> Finding:
    """The longest window of a class; if it has none, the four hours with the fewest of its starts."""
    own = _ratios(day.starts[walltimes])
    waiting = _ratios(day.waiting[walltimes])
    others = _ratios(day.starts.sum(axis=0) - day.starts[walltimes])
    is_window = (own <= _FEW_STARTS) & (waiting >= _MUCH_WAITING) & (others >= _OTHERS_START)
    lengths, firsts = np.nonzero(is_window)
    if len(lengths):
        longest = int(lengths.max())
        length, first = longest + _FEWEST_HOURS, int(firsts[lengths == longest][0])
    else:
        longest, length, first = 0, _FEWEST_HOURS, int(np.argmin(own[0]))
    ratio, total = float(own[longest, first]), day.starts[walltimes].sum()
    found = Finding("window", subject, length, "h", None, None, int(total), ratio)
    until = (first + length) % 24
    if not len(lengths):
        return found
    setting = {"windows": [{"jobs": subject, "from_hour": first, "until_hour": until}]}
    return found._replace(suggestion=f"no starts from {first}:00 to {until}:00", setting=setting)


def _ratios(counts: Floats) -> Floats:
    """Share of each run of 4 to 23 hours, by its first hour, over that of an even spread; 0 of nothing."""
    total = counts.sum()
    sums = np.concatenate([[0.0], np.cumsum(np.tile(counts, 2))])
    lengths = np.arange(_FEWEST_HOURS, 24)[:, None]
    firsts = np.arange(24)[None, :]
    inside = sums[firsts + lengths] - sums[firsts]
    found: Floats = inside / (total * lengths / 24) if total else np.zeros(inside.shape)
    return found
