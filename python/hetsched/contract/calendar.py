"""Calendars by a zone's clock."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo

import numpy as np
import numpy.typing as npt

from hetsched.zones import local_date


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
