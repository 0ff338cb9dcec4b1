"""Axes of time: from when on, in which unit or as dates, and where ticks are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timezone
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TimeAxis", "label_waits", "unix_zero"]

UTC = timezone.utc

Instants = TypeVar("Instants", float, npt.NDArray[np.float64])

_WAIT_TICKS = (
    *((1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h")),
    *((86400.0, "1 d"), (864000.0, "10 d"), (8640000.0, "100 d"), (86400000.0, "1000 d")),
)


_DAY_S = 86400.0
_DAYS = (3.0, 60.0)
_MOST_DATES = 5
_DATES_S = (1e9, 4.1e9)
"""What can only be a date as seconds since 1970: from 2001 to 2099."""


def unix_zero(provenance: Mapping[str, Any], first_s: float) -> float | None:
    """When second 0 of a log's clock was, if that is known: seconds since 1970, UTC.

    Parameters
    ----------
    provenance
        Of a `Result`.
    first_s
        The first instant of the run on the log's clock; if that can only be a date, the clock counts from 1970.

    Examples
    --------
    >>> said = {"report": {"header": {"unix_start_time": 843480031}}, "trace": {"history": ["read a.swf"]}}
    >>> unix_zero(said, 0.0), unix_zero(said, 1.7e9), unix_zero({**said, "report": {}}, 0.0)
    (843480031.0, 0.0, None)
    """
    if _DATES_S[0] <= first_s <= _DATES_S[1]:
        return 0.0
    said = (provenance["report"].get("header") or {}).get("unix_start_time")
    is_moved = any(step.startswith(_MOVES_CLOCK) for step in provenance["trace"]["history"])
    return None if said is None or said <= 0 or is_moved else float(said)


_MOVES_CLOCK = ("shift_to_zero", "scale_arrivals")
"""Steps of a workload's history after which its header's dates hold no more."""


class TimeAxis:
    """Seconds shown from a run's beginning in the unit that fits its length, or as dates.

    Parameters
    ----------
    start_s, end_s
        The run's window.
    unix_zero_s
        When second 0 was, in seconds since 1970, UTC. None: not known, no dates.

    Examples
    --------
    >>> axis = TimeAxis(1000.0, 1000.0 + 6 * 86400)
    >>> axis.label, axis.shown(1000.0 + 86400)
    ('days since the first submission', 1.0)
    """

    _UNITS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

    def __init__(self, start_s: float, end_s: float, *, unix_zero_s: float | None = None) -> None:
        self.start_s = start_s
        self.is_of_dates = unix_zero_s is not None
        if unix_zero_s is not None:
            # As matplotlib counts them: days since 1970.
            self.start_s, self.scale, self.label = -unix_zero_s, _DAY_S, "date (UTC)"
            first = self.shown(start_s)
            self.limits = (first, max(self.shown(end_s), first + 1e-9))
            return
        fitting = [(scale, name) for least_s, scale, name in self._UNITS if end_s - start_s >= least_s]
        self.scale, unit = fitting[0]
        self.label = f"{unit} since the first submission"
        self.limits = (0.0, max((end_s - start_s) / self.scale, 1e-9))

    def shown(self, seconds: Instants) -> Instants:
        """Where an instant, or an array of them, stands on the axis."""
        return (seconds - self.start_s) / self.scale

    def write_on(self, axes: Axes) -> None:
        """Make x this axis: its limits, what stands below it and, of dates, the ticks."""
        axes.set_xlim(self.limits)
        axes.set_xlabel(self.label)
        if not self.is_of_dates:
            return
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, DayLocator  # noqa: PLC0415 -- slow to import

        days = self.limits[1] - self.limits[0]
        # Of days the automatic one skips one at the end of a month.
        is_of_days = _DAYS[0] <= days <= _DAYS[1]
        locator = (
            DayLocator(interval=math.ceil(days / _MOST_DATES), tz=UTC)  # type: ignore[no-untyped-call]
            if is_of_days
            else AutoDateLocator(minticks=3, maxticks=_MOST_DATES, tz=UTC)  # type: ignore[no-untyped-call]
        )
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]


def label_waits(axes: Axes, longest_s: float) -> None:
    """Make x a logarithmic axis of waits, from a second to `longest_s`, with ticks people count in.

    Parameters
    ----------
    axes
        Whose x axis.
    longest_s
        The longest wait, seconds.
    """
    end_s = max(longest_s, 10.0) * 1.1
    axes.set_xscale("log")
    axes.set_xlim(1.0, end_s)
    ticks = [(seconds, text) for seconds, text in _WAIT_TICKS if seconds <= end_s]
    # At most six labels fit beside each other: of close neighbours the longer wait gives way.
    kept = ticks if len(ticks) <= 6 else ticks[::2]
    axes.set_xticks([seconds for seconds, _ in kept], [text for _, text in kept])
    axes.set_xticks([seconds for seconds, _ in ticks], minor=True)
    axes.xaxis.set_minor_formatter("")
