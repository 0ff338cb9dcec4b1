"""Pictures of machines whose nodes sleep or fail, and of machines with queues: states of nodes, waits by queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis.timeline import NODE_STATES, binned, state_grid
from hetsched.report import canvas
from hetsched.report.canvas import COLOURS, TimeAxis
from hetsched.report.lettering import legend, named, rows_in, swatch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["node_map", "node_use", "queue_waits", "states_over_time"]

MOST_ROWS = 320
"""Most rows of a map; of more nodes, several share a row, which shows what most of them are."""

_COLUMNS = {
    "busy": "busy_nodes",
    "idle": "idle_nodes",
    "changing": "transition_nodes",
    "off": "sleeping_nodes",
    "down": "down_nodes",
}
_LOOKS = {
    "busy": ("working", COLOURS["blue"]),
    "idle": ("idle", COLOURS["grey"]),
    "changing": ("boot, shutdown", COLOURS["orange"]),
    "off": ("off", "#2F2F2F"),
    "down": ("down", COLOURS["vermilion"]),
}
MAP_BINS = 600
_AREA_BINS = 200
_AREA_IN, _MAP_IN, _LEAST_MAP_IN, _NODE_IN = 2.0, 3.0, 1.6, 0.05
_ROW_IN, _FOOT_IN = 0.2, 0.85
_LINEAR_S = 1.0


def states_over_time(timeline: pl.DataFrame, *, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """Numbers of nodes at work, idle, booting or shutting down, off and down over time, as stacked areas.

    Parameters
    ----------
    timeline
        `Result.timeline`.
    title
        Text above the picture.
    unix_zero_s
        Date of second 0 of the run's clock, in seconds since 1970, UTC, for an axis of dates; None: not known.
    """
    axis = TimeAxis(*canvas.extent(timeline["time_s"]), unix_zero_s=unix_zero_s)
    bins = binned(timeline, list(_COLUMNS.values()), bins=_AREA_BINS)
    with canvas.new_figure([_AREA_IN], title=title) as (figure, (axes,)):
        edges = canvas.bin_edges(bins, axis)
        below = np.zeros(len(bins))
        for state, column in _COLUMNS.items():
            above = below + bins[f"{column}_mean"].to_numpy()
            canvas.step_area(axes, edges, below, above, color=_LOOKS[state][1])
            below = above
        axes.set_ylabel("nodes")
        axes.set_ylim(0, max(below.max(initial=0.0), 1.0))
        axes.locator_params(axis="y", integer=True)
        axis.write_on(axes)
        _name_states(figure, [state for state, name in _COLUMNS.items() if (timeline[name] > 0).any()])
    return figure


def node_map(states: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """States of every node: time to the right, nodes upwards, a colour a state.

    Parameters
    ----------
    states
        As `hetsched.analysis.timeline` gives it.
    nodes
        Number of nodes of the platform. Of more than `MOST_ROWS`, neighbours share a row.
    title, unix_zero_s
        As in `states_over_time`.
    """
    from matplotlib.colors import ListedColormap  # noqa: PLC0415 -- slow to import

    axis = TimeAxis(*canvas.extent(states["start_s"], states["end_s"]), unix_zero_s=unix_zero_s)
    with canvas.new_figure([_map_height_in(nodes)], title=title) as (figure, (axes,)):
        grid = state_grid(states, nodes=nodes, rows=map_rows(nodes), bins=MAP_BINS) if len(states) else None
        colours = ListedColormap([colour for _, colour in _LOOKS.values()])
        _draw_map(axes, grid, axis, nodes, cmap=colours, vmin=-0.5, vmax=len(NODE_STATES) - 0.5)
        _name_states(figure, [state for state in NODE_STATES if state in states["state"]])
    return figure


def node_use(
    busy: np.ndarray,
    *,
    nodes: int,
    window: tuple[float, float],
    title: str = "",
    unix_zero_s: float | None = None,
) -> Figure:
    """Share of the time in which each node works: time to the right, nodes upwards, grey (idle) to blue (at work).

    Parameters
    ----------
    busy
        As `hetsched.analysis.busy_grid` gives it.
    nodes
        Number of nodes of the platform.
    window
        The first and the last instant of `busy`.
    title, unix_zero_s
        As in `states_over_time`.
    """
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415 -- slow to import

    axis = TimeAxis(*window, unix_zero_s=unix_zero_s)
    with canvas.new_figure([_map_height_in(nodes)], title=title) as (figure, (axes,)):
        shades = LinearSegmentedColormap.from_list("use", [_LOOKS[state][1] for state in ("idle", "busy")])
        _draw_map(axes, busy, axis, nodes, cmap=shades, vmin=0.0, vmax=1.0)
        names = {0.0: "idle", 0.5: "working half of the time", 1.0: "working"}
        legend(figure, [(swatch(shades(share)), name) for share, name in names.items()], **_TIGHT)
    return figure


def map_rows(nodes: int) -> int:
    """Rows of a map of so many nodes."""
    return min(nodes, MOST_ROWS)


def _map_height_in(nodes: int) -> float:
    return min(max(_NODE_IN * nodes, _LEAST_MAP_IN), _MAP_IN) + _FOOT_IN


def _draw_map(axes: Axes, grid: np.ndarray | None, axis: TimeAxis, nodes: int, **look: Any) -> None:
    if grid is not None:
        look |= {"origin": "lower", "aspect": "auto", "interpolation": "none"}
        axes.imshow(grid, extent=(*axis.limits, -0.5, nodes - 0.5), **look)
    canvas.write_nodes(axes, nodes)
    axis.write_on(axes)


def queue_waits(jobs: pl.DataFrame, *, title: str = "") -> Figure:
    """Waits of the jobs of each queue: median, half of the jobs in the box, nine in ten on the line, and the mean.

    Parameters
    ----------
    jobs
        `Result.jobs`; those that never started and those without a queue are left out. Queues are in alphabetical
        order.
    title
        Text above the picture.
    """
    started = jobs.drop_nulls(["queue", "wait_s"]).sort("queue")
    queues = started["queue"].unique(maintain_order=True).to_list()
    waits = [started.filter(queue=queue)["wait_s"].to_numpy() for queue in queues]
    names = [f"{queue} ({len(own):,})" for queue, own in zip(queues, waits, strict=True)]
    with canvas.new_figure([_FOOT_IN + max(rows_in(names, _ROW_IN), _ROW_IN)], title=title) as (figure, (axes,)):
        for place, own in enumerate(waits):
            _draw_waits(axes, place, own)
        longest = max((float(np.quantile(own, 0.95)) for own in waits), default=0.0)
        longest = max([longest, *(float(own.mean()) for own in waits), 1.0])
        axes.set_xscale("symlog", linthresh=_LINEAR_S, linscale=0.5)
        axes.set_xlim(-0.05, longest * 1.3)
        canvas.write_ticks(axes.xaxis, [(0.0, "0"), *canvas.length_ticks(1.0, longest * 1.3)])
        axes.minorticks_off()
        canvas.write_rows(axes, names)
        axes.set_xlabel("wait")
        legend(figure, named(axes), columns=4, columnspacing=1.0, handletextpad=0.5)
    return figure


def _draw_waits(axes: Axes, place: int, waits: np.ndarray) -> None:
    low, lower, median, upper, high = np.quantile(waits, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.plot([low, high], [place, place], color=COLOURS["black"], linewidth=0.8, zorder=2, label="90 %")
    look: dict[str, Any] = {"color": COLOURS["sky"], "linewidth": 0, "zorder": 3, "label": "half of the jobs"}
    axes.barh(place, upper - lower, left=lower, height=0.62, **look)
    black: dict[str, Any] = {"color": COLOURS["black"], "markersize": 9, "markeredgewidth": 1.4}
    axes.plot(median, place, "|", **black, zorder=4, label="median")
    axes.plot(
        waits.mean(), place, "D", color=COLOURS["vermilion"], markersize=3.5, zorder=5, clip_on=False, label="mean"
    )


_TIGHT: dict[str, Any] = {"columnspacing": 0.9, "handlelength": 1.2, "handletextpad": 0.5}


def _name_states(figure: Figure, states: Iterable[str]) -> None:
    looks = [_LOOKS[state] for state in states]
    legend(figure, [(swatch(colour), name) for name, colour in looks], columns=5, **_TIGHT)


def __dir__() -> list[str]:
    return sorted(__all__)
