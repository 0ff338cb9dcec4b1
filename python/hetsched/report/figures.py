"""Pictures of runs: power, occupancy and jobs over time, waits, and comparisons with a baseline.

One function a figure, from frames of `hetsched.analysis` to a matplotlib figure; `hetsched.report.canvas.save` writes
it. Made for half a page: 3.6 inches wide, no type below 8 points, colours that stay apart in every kind of colour
vision and lines that differ without colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report import canvas
from hetsched.report.canvas import COLOURS, DASHES, TimeAxis
from hetsched.report.charts import boxes_can_be_read, check_count, new_chart, ran_of, window_of
from hetsched.report.comparisons import (
    ENERGY_WAIT_IN,
    FRONT,
    WAITS_IN,
    draw_energy_against_wait,
    draw_waits,
    wait_names,
)
from hetsched.report.lettering import legend, legend_height_in, named, swatch
from hetsched.report.ratios import draw_ratios, ratios_height_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

__all__ = [
    "comparison",
    "energy_against_wait",
    "gantt",
    "gantt_can_be_read",
    "occupancy",
    "overview",
    "power",
    "ratios",
    "waits",
]


_MOST_BINS = 150
"""Most steps of a line: more are thinner than the line itself, and read as dirt."""

_STARTED_BY = {"immediate": "sky", "reservation": "green", "backfill": "orange"}


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
    panels: dict[Callable[..., None], float] = {
        partial(_draw_power, budget_w=budget_w): 1.5,
        partial(_draw_utilization, nodes=nodes): 0.95,
        _draw_queue: 1.1,
    }
    return _over_time(bins, panels, title, unix_zero_s)


def _over_time(
    bins: pl.DataFrame, panels: Mapping[Callable[..., None], float], title: str, unix_zero_s: float | None
) -> Figure:
    """Panels below each other, each drawer with its height, over one axis of time; one legend names what all show."""
    bins = coarser(bins)
    with canvas.new_figure([*panels.values()], title=title, share_x=True) as (figure, axes):
        axis = TimeAxis(*canvas.extent(bins["start_s"], bins["end_s"]), unix_zero_s=unix_zero_s)
        for own, draw in zip(axes, panels, strict=True):
            draw(own, bins, axis)
        axis.write_on(axes[-1])
        legend(figure, named(*axes), columns=2)
    return figure


def power(
    bins: pl.DataFrame,
    *,
    title: str = "",
    budget_w: float | pl.DataFrame | None = None,
    unix_zero_s: float | None = None,
) -> Figure:
    """System power over time, split into nodes at work and idle nodes; parameters as in `overview`."""
    return _over_time(bins, {partial(_draw_power, budget_w=budget_w): 2.1}, title, unix_zero_s)


def occupancy(bins: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """Utilization and queue length over time; parameters as in `overview`."""
    return _over_time(bins, {partial(_draw_utilization, nodes=nodes): 1.1, _draw_queue: 1.4}, title, unix_zero_s)


def coarser(bins: pl.DataFrame, *, most: int = _MOST_BINS) -> pl.DataFrame:
    """At most so many bins, neighbours taken together: the mean of their means, the lowest and highest of all."""
    group = -(-len(bins) // most)
    if group <= 1:
        return bins
    reduced = {"mean": pl.Expr.mean, "min": pl.Expr.min, "max": pl.Expr.max, "start_s": pl.Expr.first}
    return (
        bins.group_by(pl.int_range(pl.len()).floordiv(group).alias("group"), maintain_order=True)
        .agg(
            reduced.get(name.rpartition("_")[2], reduced.get(name, pl.Expr.last))(pl.col(name)) for name in bins.columns
        )
        .drop("group")
    )


def waits(curves: Mapping[str, pl.DataFrame]) -> Figure:
    """Share of the jobs that wait longer than a time, a curve for each policy; the legend says how many do not wait.

    Parameters
    ----------
    curves
        From each policy's name to what `hetsched.analysis.waiting_curve` gives.
    """
    return _one_panel(WAITS_IN, draw_waits, curves)


def _one_panel(height_in: float, draw: Callable[..., None], *what: Any) -> Figure:
    with canvas.new_figure([height_in]) as (figure, (axes,)):
        _draw(figure, axes, draw, *what)
    return figure


def _draw(figure: FigureBase, axes: Axes, draw: Callable[..., None], *what: Any) -> None:
    """A panel with the names of its policies above it, and the line along the best of them last."""
    draw(axes, *what)
    legend(figure, named(axes, last=FRONT), at="upper left", columns=2)


def ratios(table: pl.DataFrame, *, baseline: str) -> Figure:
    """Each policy's metrics as ratios to a baseline's.

    Parameters
    ----------
    table
        As `hetsched.analysis.ratios_to_baseline` gives it.
    baseline
        The policy whose ratios are 1, drawn as a line.
    """
    return _one_panel(ratios_height_in(table, baseline), draw_ratios, table, baseline)


def comparison(
    table: pl.DataFrame, curves: Mapping[str, pl.DataFrame], *, baseline: str, runs: pl.DataFrame | None = None
) -> Figure:
    """Ratios to a baseline next to the waits behind them, on a page's width; parameters as in `ratios` and `waits`.

    With `runs`, as in `energy_against_wait`, energy against wait stands above the waits. Every panel names the
    policies. Of one policy there are only its waits.
    """
    if table["policy"].n_unique() == 1:
        return waits(curves)
    others = [policy for policy in curves if policy != baseline]
    panels: list[tuple[Callable[..., None], tuple[Any, ...], float, list[str]]] = [
        (draw_ratios, (table, baseline), ratios_height_in(table, baseline), others),
        (draw_energy_against_wait, (runs,), ENERGY_WAIT_IN, [*curves, FRONT]),
        (draw_waits, (curves,), WAITS_IN, wait_names(curves)),
    ]
    if runs is None:
        del panels[1]
    heights = [own_in + legend_height_in(names, columns=2) for _, _, own_in, names in panels]
    with canvas.new_page(heights[0], heights[1:]) as (figure, parts):
        for part, (draw, what, *_) in zip(parts, panels, strict=True):
            _draw(part, part.subplots(), draw, *what)
    return figure


def energy_against_wait(runs: pl.DataFrame) -> Figure:
    """A dot a policy with 95 % intervals over its repetitions, and a line along those that no other beats in both.

    Parameters
    ----------
    runs
        One row a run: ``policy``, ``mean_wait_s`` and ``energy_j``, as `hetsched.analysis.runs_frame` or
        `hetsched.sweep` gives it; policies are in the order in which they first come. Repetitions are what
        `hetsched.analysis.ratios_to_baseline` takes for them.

    Raises
    ------
    ConfigError
        If runs of one policy are on workloads or platforms of different load.
    """
    return _one_panel(ENERGY_WAIT_IN, draw_energy_against_wait, runs)


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
    check_count(len(jobs))
    ran = ran_of(jobs)
    with new_chart(window_of(jobs), nodes, title=title, unix_zero_s=unix_zero_s) as (figure, chart):
        colours = [COLOURS[_STARTED_BY[kind]] for kind in ran["started_by"]]
        edges = chart.outlines(ran)
        chart.add(ran, facecolors=colours, edgecolors=["black"] * len(ran), linewidths=edges)
        for row in ran.iter_rows(named=True):
            chart.write(row, [str(row["job_id"])])
        kinds = [kind for kind in _STARTED_BY if kind in ran["started_by"]]
        legend(figure, [(swatch(COLOURS[_STARTED_BY[kind]]), kind) for kind in kinds], at="lower left", columns=3)
    return figure


def gantt_can_be_read(jobs: pl.DataFrame, *, nodes: int) -> bool:
    """True if `gantt` shows something: few enough jobs, at least half of them with boxes that can be seen."""
    return boxes_can_be_read(jobs, nodes=nodes)


def _draw_power(axes: Axes, bins: pl.DataFrame, axis: TimeAxis, budget_w: float | pl.DataFrame | None) -> None:
    """Means as areas on top of each other, and a line along the highest power."""
    highest_w = max(bins["power_w_max"].to_numpy().max(initial=0.0), _highest(budget_w))
    unit = METRICS["peak_power_w"].unit_for([highest_w])
    edges = canvas.bin_edges(bins, axis)
    jobs, total, most = (bins[name] / unit.scale for name in ("job_power_w_mean", "power_w_mean", "power_w_max"))
    canvas.step_area(axes, edges, np.zeros(len(edges)), jobs, color=COLOURS["blue"], label="nodes at work, mean")
    canvas.step_area(axes, edges, jobs, total, color=COLOURS["grey"], label="idle nodes, mean")
    canvas.step(axes, edges, most, color=COLOURS["black"], linewidth=0.5, label=f"highest in each {bin_text(bins)}")
    _draw_budget(axes, axis, budget_w, scale=unit.scale)
    axes.set_ylabel(f"power ({unit.name})")
    axes.set_ylim(0, 1.05 * max(highest_w / unit.scale, 1e-9))


def bin_text(bins: pl.DataFrame) -> str:
    """Length of a bin, to two digits."""
    length_s = float(bins["end_s"][0] - bins["start_s"][0]) if len(bins) else 0.0
    unit = METRICS["mean_wait_s"].unit_for([length_s])
    return f"{length_s / unit.scale:.2g} {unit.name}"


def _highest(budget_w: float | pl.DataFrame | None) -> float:
    return budget_w["budget_w"].to_numpy().max(initial=0.0) if isinstance(budget_w, pl.DataFrame) else budget_w or 0.0


def _draw_budget(axes: Axes, axis: TimeAxis, budget_w: float | pl.DataFrame | None, *, scale: float) -> None:
    look: dict[str, Any] = {"color": COLOURS["vermilion"], "linestyle": DASHES[1], "linewidth": 0.9}
    if isinstance(budget_w, pl.DataFrame):
        times, values = (budget_w[name].to_numpy() for name in ("time_s", "budget_w"))
        look |= {"linestyle": "-", "linewidth": 0.6}
        canvas.step(axes, axis.shown(times), values / scale, label="power budget", **look)
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
    axes.set_ylim(0, max(bins["queued_jobs_max"].to_numpy().max(initial=0.0) * 1.05, 1.0))
    axes.locator_params(axis="y", nbins=4, integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _draw_line(axes: Axes, bins: pl.DataFrame, name: str, axis: TimeAxis, *, scale: float, colour: str) -> None:
    """The mean over each bin, in front of a pale band from the lowest to the highest value in it."""
    edges = canvas.bin_edges(bins, axis)
    low, mean, high = (bins[f"{name}_{kind}"] / scale for kind in ("min", "mean", "max"))
    canvas.step(axes, edges, mean, color=colour, linewidth=1.0, label=f"mean of each {bin_text(bins)}")
    canvas.step_area(
        axes, edges, low, high, color=colour, alpha=0.25, zorder=1, label=f"range in each {bin_text(bins)}"
    )


def __dir__() -> list[str]:
    return sorted(__all__)
