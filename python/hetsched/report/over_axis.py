"""A metric over an axis of a sweep, such as the load: a curve a policy, with the intervals of its repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS
from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.report.canvas import COLOURS, interval, look, new_figure, write_names
from hetsched.report.lettering import WIDTH_IN, legend, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["over_axis"]

Floats = npt.NDArray[np.float64]

_AXES_IN, _BESIDE_IN = 2.2, 0.6
_INTERVALS = {"ratio": "ratio_half_width_95", "mean": "half_width_95"}


def over_axis(
    table: pl.DataFrame, metric: str, *, axis: str, at: Mapping[str, float] | None = None, show: str = "ratio"
) -> Figure:
    """A curve a policy over the values of a column, each point with its 95 % interval.

    Parameters
    ----------
    table
        As `hetsched.analysis.ratios_to_baseline` gives it with ``by=axis``: pairs make the intervals of its ratios.
    metric
        A metric of the table.
    axis
        The column, such as ``"workload"``.
    at
        Where each of its values stands, such as ``{"load 0.6": 0.6}``. None: at its number if it is one, else side by
        side in the table's order.
    show
        ``"ratio"``: to the baseline, whose line is at 1. ``"mean"``: the metric itself.

    Raises
    ------
    ConfigError
        If the table has no such column or metric, or more than one row for a policy and value; if a value has no place.

    Examples
    --------
    >>> rows = {"load": [0.6, 0.8] * 2, "policy": ["fcfs"] * 2 + ["easy"] * 2, "mean_wait_s": [40.0, 90.0, 10.0, 60.0]}
    >>> from hetsched.analysis import ratios_to_baseline
    >>> table = ratios_to_baseline(pl.DataFrame(rows), baseline="fcfs", metrics=["mean_wait_s"], by="load")
    >>> [line.get_ydata().tolist() for line in over_axis(table, "mean_wait_s", axis="load").axes[0].lines[1:3]]
    [[1.0, 1.0], [0.25, 0.666...]]
    """
    own, places = _checked(table, metric, axis, at, show)
    policies = own["policy"].unique(maintain_order=True).to_list()
    unit = METRICS[metric].unit_for(own["mean"].to_list())
    scale = 1.0 if show == "ratio" else unit.scale
    with new_figure([_AXES_IN]) as (figure, (axes,)):
        if show == "ratio":
            axes.axhline(1.0, color=COLOURS["black"], linewidth=0.8, zorder=1)
        for place, policy in enumerate(policies):
            rows = own.filter(pl.col("policy") == policy)
            x = np.array([places[value] for value in rows[axis].to_list()])
            y, reach = (rows[name].cast(pl.Float64).to_numpy() / scale for name in (show, _INTERVALS[show]))
            order = np.argsort(x, kind="stable")
            ends = _reach(y[order], np.nan_to_num(reach[order]))
            interval(axes, x[order], y[order], yerr=ends, label=policy, **look(place))
        _name_axes(axes, metric, axis, own, show)
        if not _has_numbers(own[axis], at):
            ticks = [(at, str(name)) for name, at in places.items()]
            more_in = write_names(axes, ticks, width_in=WIDTH_IN - _BESIDE_IN)
            figure.set_figheight(figure.get_figheight() + more_in)
        legend(figure, named(axes), at="upper left", columns=2)
    return figure


def _reach(y: Floats, half: Floats) -> Floats:
    """Reach of intervals down and up: of what is not negative not below 0, whatever the mean's interval says."""
    return np.stack([np.where(y >= 0, np.minimum(half, y), half), half])


def _name_axes(axes: Axes, metric: str, axis: str, own: pl.DataFrame, show: str) -> None:
    title, unit = METRICS[metric].title, METRICS[metric].unit_for(own["mean"].to_list()).name
    axes.set_xlabel(axis)
    axes.set_ylabel(f"{title}, ratio" if show == "ratio" else f"{title} ({unit})" if unit else title)
    axes.set_ylim(bottom=0.0 if (own[show].drop_nulls() >= 0).all() else None)


def _has_numbers(values: pl.Series, at: Mapping[str, float] | None) -> bool:
    return at is not None or values.dtype.is_numeric()


def _checked(
    table: pl.DataFrame, metric: str, axis: str, at: Mapping[str, float] | None, show: str
) -> tuple[pl.DataFrame, dict[object, float]]:
    """The metric's rows, and where each value of the axis stands."""
    faults = Faults()
    faults.choice("show", show, list(_INTERVALS))
    known = table["metric"].unique(maintain_order=True).to_list() if "metric" in table.columns else []
    faults.choice("metric", metric, known)
    if axis not in table.columns:
        hint = did_you_mean(axis, table.columns)
        expected = f"a column of the table, which ratios_to_baseline(..., by={axis!r}) makes{hint}"
        faults.add("axis", axis, expected)
    faults.check()
    own = table.filter(pl.col("metric") == metric)
    if own.select("policy", axis).is_duplicated().any():
        others = listed(name for name in table.columns[: table.columns.index("policy")] if name != axis)
        faults.note(
            "table", "several rows of a policy and value", f"one; filter the table by {others or 'its columns'}"
        )
    values = own[axis].unique(maintain_order=True).to_list()
    if at is not None:
        for value in values:
            if value not in at:
                faults.note("at", f"no {shown(value)}", "a place for each value of the axis")
    faults.check()
    if at is not None:
        return own, {value: float(at[value]) for value in values}
    numbers = own[axis].dtype.is_numeric()
    return own, {value: float(value) if numbers else float(place) for place, value in enumerate(values)}


def __dir__() -> list[str]:
    return sorted(__all__)
