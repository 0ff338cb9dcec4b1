"""Time zones: their names, and the stretches of time in which a zone's clock runs evenly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hetsched.checks import Faults

DAY_S = 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_YEARS_S = 4_102_444_800
"""From 1970 to 2100."""
_A_ZONE = (
    "the name of a time zone such as Europe/Berlin, from the system's database of them; where a system has none, "
    "`pip install tzdata` brings it"
)
_OFFSET = re.compile(r"([+-])(\d\d):?([0-5]\d)")


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


def zone_or_offset(parameter: str, name: object, faults: Faults) -> tzinfo:
    """The zone of that name or of an offset such as ``+01:00``; notes a fault and gives UTC if there is none."""
    found = _OFFSET.fullmatch(name) if isinstance(name, str) else None
    if found is None or int(found[2]) > 23:
        return zone_named(parameter, name, faults)
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(ahead if found[1] == "+" else -ahead)


def local_date(unix_s: float, zone: tzinfo) -> datetime:
    """Date and time at an instant by the zone's calendar and clock."""
    return (_EPOCH + timedelta(seconds=unix_s)).astimezone(zone)


@lru_cache(maxsize=16)
def changes(zone: tzinfo) -> tuple[list[int], list[int]]:
    """Instants from 1970 to 2100 at which the zone's clock changes; seconds ahead of UTC before, between and after.

    >>> changes(timezone(timedelta(hours=1)))
    ([], [3600])
    """
    stretches = list(even_stretches(zone, 0, _YEARS_S))
    return [begin for begin, _, _ in stretches[1:]], [offset for _, _, offset in stretches]


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
