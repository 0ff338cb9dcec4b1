"""Pictures of runs: power, occupancy and jobs over time, waits, and comparisons with a baseline.

One function a figure, from frames of `hetsched.analysis` to a matplotlib figure; `hetsched.report.canvas.save` writes
it. Made for half a page: 3.6 inches wide, no type below 8 points, colours that stay apart in every kind of colour
vision and lines that differ without colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.canvas import COLOURS, DASHES, TimeAxis, new_figure
from hetsched.report.comparisons import (
    ENERGY_WAIT_IN,
    FRONT,
    draw_energy_against_wait,
    draw_ratios,
    draw_waits,
    ratios_height_in,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEGEND_LINE_IN = 0.17

MOST_JOBS = 300
"""Most jobs of a Gantt chart; boxes of more cannot be told apart."""

_STARTED_BY = {"immediate": "sky", "reservation": "green", "backfill": "orange"}
_AXES_IN = (2.9, 1.7)
_DIGIT_IN = (0.072, 0.11)
_HEIGHT_IN = 2.6


def overview(
    bins: pl.DataFrame,
    *,
    nodes: int,
    title: str = "",
    budget_w: float | pl.DataFrame | None = None,
    unix_zero_s: float | None = None,
) -> Figure:
    """A run in one picture: power, utilization and queue length over time.

    Parameters
    ----------
    bins
        As `hetsched.analysis.run_bins` gives it.
    nodes
        Number of nodes of the platform.
    title
        Text above the picture.
    budget_w
        The system's power budget, drawn as a line; a frame of ``time_s, budget_w``, such as a timeline with budgets in
        time: that from each instant on; None: it has no budget.
    unix_zero_s
        Date of second 0 of the run's clock, in seconds since 1970, UTC, for an axis of dates; None: not known.
    """
    with new_figure([1.55, 1.0, 1.2], share_x=True) as (figure, axes):
        axis = _time_axis(bins, unix_zero_s)
        _draw_power(axes[0], bins, axis, budget_w)
        _draw_utilization(axes[1], bins, axis, nodes)
        _draw_queue(axes[2], bins, axis)
        _finish(figure, axes, axis, title)
    return figure


def power(
    bins: pl.DataFrame,
    *,
    title: str = "",
    budget_w: float | pl.DataFrame | None = None,
    unix_zero_s: float | None = None,
) -> Figure:
    """System power over time, split into nodes at work and idle nodes; parameters as in `overview`."""
    with new_figure([2.3]) as (figure, axes):
        axis = _time_axis(bins, unix_zero_s)
        _draw_power(axes[0], bins, axis, budget_w)
        _finish(figure, axes, axis, title)
    return figure


def occupancy(bins: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """Utilization and queue length over time; parameters as in `overview`."""
    with new_figure([1.2, 1.5], share_x=True) as (figure, axes):
        axis = _time_axis(bins, unix_zero_s)
        _draw_utilization(axes[0], bins, axis, nodes)
        _draw_queue(axes[1], bins, axis)
        _finish(figure, axes, axis, title)
    return figure


def waits(curves: Mapping[str, pl.DataFrame]) -> Figure:
    """Which share of the jobs waits longer than a time, a curve a policy; the legend tells how many do not wait.

    Parameters
    ----------
    curves
        From each policy's name to what `hetsched.analysis.waiting_curve` gives.
    """
    with new_figure([1.8 + _LEGEND_LINE_IN * len(curves)]) as (figure, (axes,)):
        draw_waits(axes, curves)
        figure.legend(loc="outside upper left")
    return figure


def ratios(table: pl.DataFrame, *, baseline: str) -> Figure:
    """Each policy's metrics as ratios to a baseline's.

    Parameters
    ----------
    table
        As `hetsched.analysis.compare` gives it.
    baseline
        The policy whose ratios are 1, drawn as a line.
    """
    shown = _policies_shown(table, baseline)
    with new_figure([ratios_height_in(table, shown) + _LEGEND_LINE_IN * len(shown)]) as (figure, (axes,)):
        draw_ratios(axes, table, shown, baseline)
        figure.legend(loc="outside upper left")
    return figure


def comparison(
    table: pl.DataFrame, curves: Mapping[str, pl.DataFrame], *, baseline: str, runs: pl.DataFrame | None = None
) -> Figure:
    """Ratios to a baseline above the waits behind them, in one picture; parameters as in `ratios` and `waits`.

    With `runs`, as in `energy_against_wait`, energy against wait stands between the two.
    """
    shown = _policies_shown(table, baseline)
    heights = [ratios_height_in(table, shown), 1.8 + _LEGEND_LINE_IN * len(curves)]
    if runs is not None:
        heights.insert(1, ENERGY_WAIT_IN)
    with new_figure(heights) as (figure, (above, *between, below)):
        draw_ratios(above, table, shown, baseline)
        for axes in between:
            assert runs is not None
            draw_energy_against_wait(axes, runs)
            handles, labels = _labelled(axes, FRONT)
            if handles:
                axes.legend(handles, labels, loc="best")
        draw_waits(below, curves)
        figure.legend(handles=below.get_legend_handles_labels()[0], loc="outside lower left")
    return figure


def energy_against_wait(runs: pl.DataFrame) -> Figure:
    """A dot a policy with 95 % intervals over its repetitions, and a line along those that no other beats in both.

    Parameters
    ----------
    runs
        One row a run: ``policy``, ``mean_wait_s`` and ``energy_j``, as `hetsched.analysis.runs_frame` or
        `hetsched.sweep` gives it; policies stand in the order in which they first come. Repetitions are what
        `hetsched.analysis.compare` takes for them.

    Raises
    ------
    ConfigError
        If runs of one policy are on workloads or platforms of different load.
    """
    policies = runs["policy"].n_unique()
    with new_figure([ENERGY_WAIT_IN + _LEGEND_LINE_IN * (policies + 1)]) as (figure, (axes,)):
        draw_energy_against_wait(axes, runs)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda place: labels[place] == FRONT)
        shown = ([handles[place] for place in order], [labels[place] for place in order])
        figure.legend(*shown, loc="outside upper left")
    return figure


def gantt(jobs: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """Jobs as boxes of time and nodes, coloured by how they started, with their job_id where it fits.

    Parameters
    ----------
    jobs
        `Result.jobs`; at most `MOST_JOBS` rows.
    nodes
        Number of nodes of the platform.
    title
        Text above the picture.
    unix_zero_s
        As in `overview`.

    Raises
    ------
    ValueError
        If there are more than `MOST_JOBS` jobs.
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


def _time_axis(bins: pl.DataFrame, unix_zero_s: float | None) -> TimeAxis:
    if bins.is_empty():
        return TimeAxis(0.0, 0.0)
    return TimeAxis(bins["start_s"][0], bins["end_s"][-1], unix_zero_s=unix_zero_s)


def _finish(figure: Figure, axes: Sequence[Axes], axis: TimeAxis, title: str) -> None:
    axes[0].set_title(title)
    axis.write_on(axes[-1])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, columnspacing=1.2, borderaxespad=0.0)


def _draw_power(axes: Axes, bins: pl.DataFrame, axis: TimeAxis, budget_w: float | pl.DataFrame | None) -> None:
    highest_w = max(float(np.max(_steps(bins["power_w_max"]), initial=0.0)), _highest(budget_w))
    unit = METRICS["peak_power_w"].unit_for([highest_w])
    edges = _edges(bins, axis)
    jobs, total = (_steps(bins[name]) / unit.scale for name in ("job_power_w_mean", "power_w_mean"))
    axes.fill_between(edges, jobs, step="post", color=COLOURS["blue"], linewidth=0, label="nodes at work")
    axes.fill_between(edges, jobs, total, step="post", color=COLOURS["grey"], linewidth=0, label="idle nodes")
    _draw_band(axes, bins, "power_w", axis, scale=unit.scale, colour=COLOURS["black"])
    _draw_budget(axes, axis, budget_w, scale=unit.scale)
    axes.set_ylabel(f"power ({unit.name})")
    axes.set_ylim(0, 1.05 * max(highest_w / unit.scale, 1e-9))


def _highest(budget_w: float | pl.DataFrame | None) -> float:
    return budget_w["budget_w"].to_numpy().max(initial=0.0) if isinstance(budget_w, pl.DataFrame) else budget_w or 0.0


def _draw_budget(axes: Axes, axis: TimeAxis, budget_w: float | pl.DataFrame | None, *, scale: float) -> None:
    look: dict[str, Any] = {"color": COLOURS["vermilion"], "linestyle": DASHES[1], "linewidth": 0.9}
    if isinstance(budget_w, pl.DataFrame):
        times, values = (budget_w[name].to_numpy() for name in ("time_s", "budget_w"))
        axes.step(axis.shown(times), values / scale, where="post", label="power budget", **look)
    elif budget_w is not None:
        axes.axhline(budget_w / scale, label="power budget", **look)


def _draw_utilization(axes: Axes, bins: pl.DataFrame, axis: TimeAxis, nodes: int) -> None:
    _draw_line(axes, bins, "busy_nodes", axis, scale=nodes / 100, colour=COLOURS["blue"])
    axes.set_ylabel("busy (%)")
    axes.set_ylim(0, 104)
    axes.set_yticks([0, 50, 100])


def _draw_queue(axes: Axes, bins: pl.DataFrame, axis: TimeAxis) -> None:
    _draw_line(axes, bins, "queued_jobs", axis, scale=1.0, colour=COLOURS["vermilion"])
    axes.set_ylabel("queued jobs")
    axes.set_ylim(0, max(float(np.max(_steps(bins["queued_jobs_max"]), initial=0.0)) * 1.05, 1.0))
    axes.locator_params(axis="y", nbins=4, integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _draw_line(axes: Axes, bins: pl.DataFrame, name: str, axis: TimeAxis, *, scale: float, colour: str) -> None:
    """The mean over each bin, with a band from the lowest to the highest value in it."""
    _draw_band(axes, bins, name, axis, scale=scale, colour=colour)
    axes.step(
        _edges(bins, axis),
        _steps(bins[f"{name}_mean"]) / scale,
        where="post",
        color=colour,
        linewidth=0.9,
        label="mean",
    )


def _draw_band(axes: Axes, bins: pl.DataFrame, name: str, axis: TimeAxis, *, scale: float, colour: str) -> None:
    low, high = (_steps(bins[f"{name}_{kind}"]) / scale for kind in ("min", "max"))
    axes.fill_between(
        _edges(bins, axis), low, high, step="post", color=colour, alpha=0.4, linewidth=0, label="lowest to highest"
    )


def _edges(bins: pl.DataFrame, axis: TimeAxis) -> np.ndarray:
    ends = bins["end_s"].tail(1).to_numpy()
    return axis.shown(np.append(bins["start_s"].to_numpy(), ends))


def _steps(values: pl.Series) -> np.ndarray:
    """Values over bins for drawing between their edges: the last holds to the last edge."""
    return np.append(values.to_numpy(), values.tail(1).to_numpy())


def _labelled(axes: Axes, wanted: str) -> tuple[list[Artist], list[str]]:
    """Artists with that label, and the label for each, as a legend takes them."""
    found = [handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True) if label == wanted]
    return found, [wanted] * len(found)


def _policies_shown(table: pl.DataFrame, baseline: str) -> list[str]:
    return [policy for policy in table["policy"].unique(maintain_order=True) if policy != baseline]


def _draw_job(axes: Axes, job: dict[str, object], axis: TimeAxis, nodes: int) -> None:
    start, end = (axis.shown(float(job[name])) for name in ("start_s", "end_s"))  # type: ignore[arg-type]
    boxes = unbroken(np.asarray(job["nodes"]))
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


def unbroken(nodes: np.ndarray) -> list[tuple[int, int]]:
    """Ascending node numbers as (first, how many) of each unbroken run."""
    breaks = np.flatnonzero(np.diff(nodes.astype(np.int64)) != 1) + 1
    return [(int(run[0]), len(run)) for run in np.split(nodes, breaks)]
