"""Windows as files have them: ``from="17:00" until="20:00" days="mon-fri" months="nov-feb"``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timezone, tzinfo
from typing import Any

from hetsched.checks import Faults, listed
from hetsched.contract.calendar import DAY_S, zone_named
from hetsched.contract.windows import HOLIDAY, Window

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

WINDOW_KEYS = ("from", "until", "days", "months", "first_date", "last_date", "timezone")
"""Keys that say when a clause holds; without any of them it always does."""

_HOLIDAYS = "holidays"
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")
_A_CLOCK = "a time of day such as 17:00, up to 24:00"
_A_DATE = "a date such as 2007-02-28"


def window_of(given: Mapping[str, Any], zone: tzinfo, holidays: frozenset[date], faults: Faults) -> Window:
    """The window of a clause; notes what is invalid."""
    own = zone_named("timezone", given["timezone"], faults) if "timezone" in given else zone
    start_s = clock_s("from", given.get("from", "00:00"), faults)
    stop_s = clock_s("until", given.get("until", "24:00"), faults)
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


def clock_s(parameter: str, given: object, faults: Faults) -> int:
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


_UNITS = (3600, 60, 1)


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
