"""Pictures of runs: power and occupancy over time, waits, ratios to a baseline.

One function a figure, from frames of `hetsched.analysis` to a matplotlib figure; `hetsched.report.canvas.save` writes
it. Made for half a page: 3.6 inches wide, no type below 8 points, colours that stay apart in every kind of colour
vision and lines that differ without colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.axes import TimeAxis, label_waits
from hetsched.report.canvas import COLOURS, DASHES, look, new_figure
from hetsched.report.energy_wait_figure import FRONT, HEIGHT_IN, draw_energy_against_wait
from hetsched.report.ratio_rows import draw_ratios, ratios_height_in

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["comparison", "occupancy", "overview", "power", "ratios", "waits"]

_LEGEND_LINE_IN = 0.17


def overview(
    bins: pl.DataFrame,
    *,
    nodes: int,
    title: str = "",
    budget_w: float | None = None,
    unix_zero_s: float | None = None,
) -> Figure:
    """A run in one picture: power, utilization and queue length over time.

    Parameters
    ----------
    bins
        As `hetsched.analysis.run_bins` gives it.
    nodes
        How many the platform has.
    title
        What stands above it.
    budget_w
        The most that the system may draw, as a line across the power; None: it has no budget.
    unix_zero_s
        When second 0 of the run's clock was, in seconds since 1970, UTC, for dates below; None: not known.
    """
    with new_figure([1.55, 1.0, 1.2], share_x=True) as (figure, axes):
        axis = _time_axis(bins, unix_zero_s)
        _draw_power(axes[0], bins, axis, budget_w)
        _draw_utilization(axes[1], bins, axis, nodes)
        _draw_queue(axes[2], bins, axis)
        _finish(figure, axes, axis, title)
    return figure


def power(
    bins: pl.DataFrame, *, title: str = "", budget_w: float | None = None, unix_zero_s: float | None = None
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
    """Which share of the jobs waits longer than a time, a curve a policy; who does not wait is told in the legend.

    Parameters
    ----------
    curves
        From each policy's name to what `hetsched.analysis.waiting_curve` gives.
    """
    with new_figure([1.8 + _LEGEND_LINE_IN * len(curves)]) as (figure, (axes,)):
        _draw_waits(axes, curves)
        figure.legend(loc="outside upper left")
    return figure


def ratios(table: pl.DataFrame, *, baseline: str) -> Figure:
    """Each policy's metrics as ratios to a baseline's.

    Parameters
    ----------
    table
        As `hetsched.analysis.compare` gives it.
    baseline
        The policy whose ratios are 1; it is the line the others are seen against.
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

    With `runs`, as `hetsched.report.energy_wait_figure` takes it, energy against wait stands between the two.
    """
    shown = _policies_shown(table, baseline)
    heights = [ratios_height_in(table, shown), 1.8 + _LEGEND_LINE_IN * len(curves)]
    if runs is not None:
        heights.insert(1, HEIGHT_IN)
    with new_figure(heights) as (figure, (above, *between, below)):
        draw_ratios(above, table, shown, baseline)
        for axes in between:
            assert runs is not None
            draw_energy_against_wait(axes, runs)
            handles, labels = _labelled(axes, FRONT)
            if handles:
                axes.legend(handles, labels, loc="best")
        _draw_waits(below, curves)
        figure.legend(handles=below.get_legend_handles_labels()[0], loc="outside lower left")
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


def _draw_power(axes: Axes, bins: pl.DataFrame, axis: TimeAxis, budget_w: float | None) -> None:
    highest_w = max(float(np.max(_steps(bins["power_w_max"]), initial=0.0)), budget_w or 0.0)
    unit = METRICS["peak_power_w"].unit_for([highest_w])
    edges = _edges(bins, axis)
    jobs, total = (_steps(bins[name]) / unit.scale for name in ("job_power_w_mean", "power_w_mean"))
    axes.fill_between(edges, jobs, step="post", color=COLOURS["blue"], linewidth=0, label="nodes at work")
    axes.fill_between(edges, jobs, total, step="post", color=COLOURS["grey"], linewidth=0, label="idle nodes")
    _draw_band(axes, bins, "power_w", axis, scale=unit.scale, colour=COLOURS["black"])
    if budget_w is not None:
        axes.axhline(
            budget_w / unit.scale, color=COLOURS["vermilion"], linestyle=DASHES[1], linewidth=0.9, label="power budget"
        )
    axes.set_ylabel(f"power ({unit.name})")
    axes.set_ylim(0, 1.05 * max(highest_w / unit.scale, 1e-9))


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


def _draw_waits(axes: Axes, curves: Mapping[str, pl.DataFrame]) -> None:
    longest_s = max((float(curve["wait_s"][-1]) for curve in curves.values() if len(curve)), default=0.0)
    if longest_s <= 0:
        has_started = any(len(curve) for curve in curves.values())
        _write_instead(axes, "no job waited" if has_started else "no job started")
    label_waits(axes, longest_s)
    for place, (policy, curve) in enumerate(curves.items()):
        no_wait = f"{100 * (1 - curve['longer_ratio'][0]):.0f} % did not wait" if len(curve) else "no job started"
        # The step at wait 0 lies left of a logarithmic axis; from there to a second its value holds.
        axes.step(
            curve["wait_s"].clip(1e-3).to_numpy(),
            100 * curve["longer_ratio"].to_numpy(),
            where="post",
            markersize=3.5,
            # Apart from each other, so that equal curves show all their marks.
            markevery=((0.05 + 0.03 * place) % 0.25, 0.25),
            label=f"{policy}: {no_wait}",
            **look(place),
        )
    axes.set_ylim(bottom=0)
    if longest_s <= 0:
        axes.set_ylim(0, 100)
    axes.set_xlabel("wait")
    axes.set_ylabel("jobs that wait longer (%)")


def _write_instead(axes: Axes, sentence: str) -> None:
    """A sentence in the middle of axes that would show nothing."""
    axes.grid(visible=False)
    axes.text(0.5, 0.5, sentence, transform=axes.transAxes, ha="center", va="center_baseline")


def _labelled(axes: Axes, wanted: str) -> tuple[list[Artist], list[str]]:
    """What of the axes has that label, and the label, as a legend takes them."""
    found = [handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True) if label == wanted]
    return found, [wanted] * len(found)


def _policies_shown(table: pl.DataFrame, baseline: str) -> list[str]:
    return [policy for policy in table["policy"].unique(maintain_order=True) if policy != baseline]
