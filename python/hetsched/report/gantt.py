"""The Gantt chart: which job is on which nodes when, and how it came to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.report.axes import TimeAxis
from hetsched.report.canvas import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_JOBS", "gantt"]

MOST_JOBS = 300
"""With more jobs than this a chart shows nothing any more."""

_STARTED_BY = {"immediate": "sky", "reservation": "green", "backfill": "orange"}
_AXES_IN = (2.9, 1.7)
_DIGIT_IN = (0.072, 0.11)
_HEIGHT_IN = 2.6


def gantt(jobs: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """Jobs as boxes of time and nodes, coloured by how they started, with their job_id where it fits in.

    Parameters
    ----------
    jobs
        `Result.jobs`; at most `MOST_JOBS` rows.
    nodes
        How many the platform has.
    title
        What stands above it.
    unix_zero_s
        As in `hetsched.report.axes.TimeAxis`, for dates.

    Raises
    ------
    ValueError
        If there are more jobs than can be told apart.
    """
    if len(jobs) > MOST_JOBS:
        raise ValueError(f"{len(jobs)} jobs, a chart shows at most {MOST_JOBS}")
    ran = jobs.filter(pl.col("start_s").is_not_null() & pl.col("end_s").is_not_null())
    first_s = jobs["submit_s"].min() if len(jobs) else 0.0
    last_s = ran["end_s"].max() if len(ran) else first_s
    axis = TimeAxis(float(first_s), float(last_s), unix_zero_s=unix_zero_s)  # type: ignore[arg-type]
    with new_figure([_HEIGHT_IN]) as (figure, (axes,)):
        axis.write_on(axes)
        axes.set_ylim(-0.5, nodes - 0.5)
        axes.locator_params(axis="y", integer=True)
        for job in ran.iter_rows(named=True):
            _draw_job(axes, job, axis, nodes)
        for kind in (kind for kind in _STARTED_BY if kind in ran["started_by"]):
            axes.bar(
                [axis.limits[0]],
                [0],
                bottom=-1,
                color=COLOURS[_STARTED_BY[kind]],
                edgecolor="black",
                linewidth=0.4,
                label=kind,
            )
        axes.set_title(title)
        axes.set_ylabel("node")
        axes.grid(visible=False)
        if len(ran):
            figure.legend(loc="outside lower left", ncols=3, columnspacing=1.0)
    return figure


def _draw_job(axes: Axes, job: dict[str, object], axis: TimeAxis, nodes: int) -> None:
    start, end = (axis.shown(float(job[name])) for name in ("start_s", "end_s"))  # type: ignore[arg-type]
    boxes = _runs(np.asarray(job["nodes"]))
    colour = COLOURS[_STARTED_BY[str(job["started_by"])]]
    for first, count in boxes:
        place = (first - 0.5, count)
        axes.broken_barh([(start, end - start)], place, facecolor=colour, edgecolor="black", linewidth=0.4)
    # The number goes into the tallest box, if that holds it.
    first, count = max(boxes, key=lambda box: box[1])
    width_in, height_in = (end - start) / (axis.limits[1] - axis.limits[0]) * _AXES_IN[0], count / nodes * _AXES_IN[1]
    text = str(job["job_id"])
    if width_in > _DIGIT_IN[0] * len(text) + 0.03 and height_in > _DIGIT_IN[1]:
        axes.text((start + end) / 2, first - 0.5 + count / 2, text, ha="center", va="center_baseline")


def _runs(nodes: np.ndarray) -> list[tuple[int, int]]:
    """Ascending node numbers as (first, how many) of each unbroken run.

    Examples
    --------
    >>> _runs(np.array([0, 1, 2, 7]))
    [(0, 3), (7, 1)]
    """
    breaks = np.flatnonzero(np.diff(nodes.astype(np.int64)) != 1) + 1
    return [(int(run[0]), len(run)) for run in np.split(nodes, breaks)]
