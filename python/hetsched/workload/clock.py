"""The clock of a log: the date of its second 0, as far as the log says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched.workload.jobs import Workload

_DATES_S = (1e9, 4.1e9)
"""Range of instants that are certainly seconds since 1970: from 2001 to 2099."""

_MOVES_CLOCK = ("shift_to_zero", "scale_arrivals")
"""Steps of a workload's history that make its header's dates invalid."""


def unix_zero(workload: Workload) -> float | None:
    """Time of second 0 of the log's clock, in seconds since 1970, UTC; None if the log does not say."""
    if str(workload.report.get("read_from", {}).get("submit_s", "")).startswith("dates"):
        return 0.0
    submit_s = workload.to_polars()["submit_s"]
    return zero_said(workload.report, workload.history, float(submit_s[0]) if len(submit_s) else 0.0)


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
