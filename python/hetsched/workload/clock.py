"""The clock of a log: the date of its second 0, and the zone whose hours people keep there, as far as the log says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.workload.describe import Log
from hetsched.zones import DAY_S, changes, zone_or_offset

_DATES_S = (1e9, 4.1e9)
"""Range of instants that are certainly seconds since 1970: from 2001 to 2099."""

_MOVES_CLOCK = ("shift_to_zero", "scale_arrivals")
"""Steps of a workload's history that make its header's dates invalid."""


def unix_zero(log: Log) -> float | None:
    """Time of second 0 of the log's clock, in seconds since 1970, UTC; None if the log does not say."""
    if str(log.report.get("read_from", {}).get("submit_s", "")).startswith("dates"):
        return 0.0
    submit_s = log.to_polars()["submit_s"]
    return zero_said(log.report, log.history, float(submit_s[0]) if len(submit_s) else 0.0)


def zero_said(report: Mapping[str, Any], history: Iterable[str], first_s: float) -> float | None:
    """The same of what is recorded of a log, and of the first instant that is known on its clock."""
    if _DATES_S[0] <= first_s <= _DATES_S[1]:
        return 0.0
    said = (report.get("header") or {}).get("unix_start_time")
    is_moved = any(step.startswith(_MOVES_CLOCK) for step in history)
    return None if said is None or said <= 0 or is_moved else float(said)


def date_text(seconds: float, epoch_s: float | None) -> str:
    """An instant of a log's clock as a date, in UTC, or as seconds where that of its second 0 is not known."""
    if epoch_s is None:
        return f"{seconds:,.6g} s" if seconds < 1e6 else f"{seconds:,.0f} s"
    date = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=epoch_s + seconds)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class WallClock:
    """A clock that people read where a log was written."""

    zone: str
    """Its zone, as a message names it."""
    zero_s: float
    """Second 0 of the log, in seconds since 1970, UTC."""
    since_s: tuple[int, ...]
    """Instants from which on it is ahead of UTC by another number of seconds; that before all of them comes first."""
    ahead_s: tuple[int, ...]

    def ahead(self, unix_s: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Seconds that it is ahead of UTC at instants since 1970."""
        return np.array(self.ahead_s)[np.searchsorted(self.since_s, unix_s, side="right")]


_NEWER = {
    "US/Eastern": "America/New_York",
    "US/Central": "America/Chicago",
    "US/Mountain": "America/Denver",
    "US/Pacific": "America/Los_Angeles",
}
"""Names that headers have and some systems' databases of zones do not have any more."""


def wall_clock(log: Log) -> WallClock | None:
    """The clock by the zone that a log's header names, or that its times were read in; None if it has no such zone."""
    report, zero_s = log.report, unix_zero(log)
    header: Mapping[str, Any] = report.get("header") or {}
    for name in (header.get("time_zone_name"), report.get("time_zone")):
        faults = Faults()
        zone = zone_or_offset("time_zone", _NEWER.get(str(name), name), faults)
        if zero_s is not None and name is not None and not faults.found:
            since_s, ahead_s = changes(zone)
            return WallClock(str(name), zero_s, tuple(since_s), tuple(ahead_s))
    offset_s = header.get("time_zone")
    if zero_s is None or not isinstance(offset_s, int) or abs(offset_s) >= DAY_S:
        return None
    return WallClock(f"UTC{offset_s / 3600:+g} h", zero_s, (), (offset_s,))
