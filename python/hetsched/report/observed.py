"""Pictures of a validation: what a log observed, and what a simulation made of it.

One function a figure, from frames of `hetsched.Validation` to a matplotlib figure, as in `hetsched.report.figures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.analysis import waiting_curve
from hetsched.report import canvas, figures
from hetsched.report.canvas import COLOURS, TimeAxis
from hetsched.report.lettering import legend, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["errors", "over_time", "waits"]

OBSERVED = "observed"
_RIVALS = {"naive_median_s": "median of the week before"}
_MOST_STEPS = 150
"""More are thinner than a line, and read as dirt."""
_PANELS_IN = (1.4, 1.6)
_ERRORS_IN = 2.9


def waits(jobs: pl.DataFrame, *, policy: str) -> Figure:
    """Share of the jobs that wait longer than a time: observed, simulated, and predicted from the past.

    Parameters
    ----------
    jobs
        `hetsched.Validation.jobs`.
    policy
        Name of the policy that was simulated.
    """
    names = {"observed_s": OBSERVED, "simulated_s": policy, **_RIVALS}
    return figures.waits({name: waiting_curve(jobs[column]) for column, name in names.items()})


def over_time(
    series: pl.DataFrame, *, nodes: int, policy: str, title: str = "", unix_zero_s: float | None = None
) -> Figure:
    """Busy nodes and queued jobs over time, the observed ones as an area behind the simulated ones.

    Parameters
    ----------
    series
        `hetsched.Validation.series`, of at least one hour.
    nodes
        Number of nodes of the platform.
    policy
        Name of the policy that was simulated.
    title
        Text above the picture.
    unix_zero_s
        As in `hetsched.report.figures.overview`.
    """
    hour_s = float(series["time_s"][1] - series["time_s"][0]) if len(series) > 1 else 3600.0
    steps = _coarser(series.with_columns(pl.col("busy_observed", "busy_simulated") * (100 / nodes)))
    end_s = float(series["time_s"][-1]) + hour_s
    with canvas.new_figure(_PANELS_IN, title=title, share_x=True) as (figure, (busy, queue)):
        axis = TimeAxis(float(series["time_s"][0]), end_s, unix_zero_s=unix_zero_s)
        edges = axis.shown(np.append(steps["time_s"].to_numpy(), end_s))
        _draw_both(busy, edges, steps, "busy", policy)
        busy.set_ylabel("busy (%)")
        # Records of a log may overlap, so that more was busy than there is.
        busy.set_ylim(0, max(104.0, 1.05 * steps["busy_observed"].to_numpy().max()))
        _draw_both(queue, edges, steps, "queued", policy)
        queue.set_ylabel("queued jobs")
        queue.set_ylim(bottom=0)
        queue.yaxis.set_major_formatter("{x:,.0f}")
        axis.write_on(queue)
        if not axis.is_of_dates:
            queue.set_xlabel(axis.label.replace("the first submission", "the first hour shown"))
        legend(figure, named(busy, queue), columns=2)
    return figure


def errors(histogram: pl.DataFrame, *, policy: str, title: str = "") -> Figure:
    """Shares of jobs by how much later they started in reality, next to those if every job started at once.

    Parameters
    ----------
    histogram
        `hetsched.Validation.histogram`.
    policy
        Name of the policy that was simulated.
    title
        Text above the picture.
    """
    places, height = np.arange(len(histogram)), 0.38
    with canvas.new_figure([_ERRORS_IN], title=title) as (figure, (axes,)):
        bars = (("ratio", policy, COLOURS["blue"]), ("null_ratio", "every job at once", COLOURS["grey"]))
        for number, (column, name, colour) in enumerate(bars):
            at = places + (number - 0.5) * height
            axes.barh(at, 100 * histogram[column], height=height, color=colour, linewidth=0, label=name)
        canvas.write_rows(axes, histogram["class"].to_list())
        axes.set_xlabel("jobs (%)")
        axes.set_ylabel("real start after the simulated one")
        axes.set_xlim(left=0)
        legend(figure, named(axes), columns=2)
    return figure


def _draw_both(axes: Axes, edges: np.ndarray, steps: pl.DataFrame, kind: str, policy: str) -> None:
    observed, simulated = (steps[f"{kind}_{side}"].to_numpy() for side in ("observed", "simulated"))
    canvas.step_area(axes, edges, np.zeros(len(observed)), observed, color=COLOURS["sky"], label=OBSERVED)
    canvas.step(axes, edges, simulated, color=COLOURS["vermilion"], linewidth=0.9, label=policy)


def _coarser(series: pl.DataFrame) -> pl.DataFrame:
    """At most so many steps, the means of neighbouring hours."""
    group = -(-len(series) // _MOST_STEPS)
    number = pl.int_range(pl.len()).floordiv(group).alias("group")
    means = [pl.col("time_s").first(), pl.all().exclude("time_s").mean()]
    return series.group_by(number, maintain_order=True).agg(means).drop("group")


def __dir__() -> list[str]:
    return sorted(__all__)
