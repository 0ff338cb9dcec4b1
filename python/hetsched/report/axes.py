"""Axes of time: from when on, in which unit, and where ticks are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TimeAxis", "label_waits"]

Instants = TypeVar("Instants", float, npt.NDArray[np.float64])

_WAIT_TICKS = (
    *((1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h")),
    *((86400.0, "1 d"), (864000.0, "10 d"), (8640000.0, "100 d"), (86400000.0, "1000 d")),
)


class TimeAxis:
    """Seconds shown from a run's beginning, in the unit that fits its length.

    Parameters
    ----------
    start_s, end_s
        The run's window.

    Examples
    --------
    >>> axis = TimeAxis(1000.0, 1000.0 + 6 * 86400)
    >>> axis.label, axis.shown(1000.0 + 86400)
    ('days since the first submission', 1.0)
    """

    _UNITS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

    def __init__(self, start_s: float, end_s: float) -> None:
        self.start_s = start_s
        fitting = [(scale, name) for least_s, scale, name in self._UNITS if end_s - start_s >= least_s]
        self.scale, unit = fitting[0]
        self.label = f"{unit} since the first submission"
        self.limits = (0.0, max((end_s - start_s) / self.scale, 1e-9))

    def shown(self, seconds: Instants) -> Instants:
        """Where an instant, or an array of them, stands on the axis."""
        return (seconds - self.start_s) / self.scale


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
