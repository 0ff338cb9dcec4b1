"""Wall clocks: time zones, and the stretches of time in which a zone's clock runs evenly."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

DAY_S = 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_A_ZONE = (
    "the name of a time zone such as Europe/Berlin, from the system's database of them; where a system has none, "
    "`pip install tzdata` brings it"
)


def zone_named(parameter: str, name: object, faults: Faults) -> tzinfo:
    """The zone of that name; notes a fault and gives UTC if there is none."""
    if name == "UTC":
        return timezone.utc
    if isinstance(name, str):
        try:
            return ZoneInfo(name)
        # Of names with odd characters, and of those that are folders of the database.
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    faults.add(parameter, name, _A_ZONE)
    return timezone.utc


def local_date(unix_s: float, zone: tzinfo) -> datetime:
    """Date and time at an instant by the zone's calendar and clock."""
    return (_EPOCH + timedelta(seconds=unix_s)).astimezone(zone)


def even_stretches(zone: tzinfo, from_s: int, until_s: int) -> Iterator[tuple[int, int, int]]:
    """Stretches in which the clock runs evenly: from, until (seconds since 1970), seconds ahead of UTC."""
    begin, offset, at = from_s, _offset_s(zone, from_s), from_s
    while at < until_s:
        # A zone's clock changes at most once a day.
        after = min(at + DAY_S, until_s)
        other = _offset_s(zone, after)
        if other != offset:
            change = _change(zone, at, after)
            yield begin, change, offset
            begin, offset = change, other
        at = after
    yield begin, until_s, offset


def _offset_s(zone: tzinfo, unix_s: int) -> int:
    offset = local_date(unix_s, zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def _change(zone: tzinfo, before: int, after: int) -> int:
    """The first second at which the clock shows what it does at `after`."""
    offset = _offset_s(zone, after)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if _offset_s(zone, middle) == offset else (middle, after)
    return after


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
