"""Pictures of machines whose nodes sleep or fail, and of machines with queues: states of nodes, waits by queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis.node_states import NODE_STATES, state_grid
from hetsched.analysis.timeline import binned
from hetsched.report.canvas import COLOURS, TimeAxis, new_figure
from hetsched.report.comparisons import WAIT_TICKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    "off": ("off", "#4A4A4A"),
    "down": ("down", COLOURS["vermilion"]),
}
_BINS = 600
_AREA_IN, _MAP_IN, _LEAST_MAP_IN, _NODE_IN = 2.2, 3.4, 1.6, 0.05
_ROW_IN, _FOOT_IN = 0.2, 1.05
_LINEAR_S = 1.0


def states_over_time(timeline: pl.DataFrame, *, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """How many nodes work, are idle, boot or shut down, are off and are down over time: areas on top of each other.

    Parameters
    ----------
    timeline
        `Result.timeline`.
    title
        Text above the picture.
    unix_zero_s
        Date of second 0 of the run's clock, in seconds since 1970, UTC, for an axis of dates; None: not known.
    """
    times = timeline["time_s"].to_numpy()
    axis = TimeAxis(*(times[[0, -1]].tolist() if len(times) else (0.0, 0.0)), unix_zero_s=unix_zero_s)
    bins = binned(timeline, list(_COLUMNS.values()), bins=_BINS)
    with new_figure([_AREA_IN]) as (figure, (axes,)):
        edges = axis.shown(np.append(bins["start_s"].to_numpy(), bins["end_s"].tail(1).to_numpy()))
        below = np.zeros(len(edges))
        for state, column in _COLUMNS.items():
            means = bins[f"{column}_mean"].to_numpy()
            above = below + np.append(means, means[-1:])
            axes.fill_between(edges, below, above, step="post", color=_LOOKS[state][1], linewidth=0)
            below = above
        axes.set_ylabel("nodes")
        axes.set_ylim(0, max(below.max(initial=0.0), 1.0))
        axes.locator_params(axis="y", integer=True)
        _finish(figure, axes, axis, title, [state for state, name in _COLUMNS.items() if (timeline[name] > 0).any()])
    return figure


def node_map(states: pl.DataFrame, *, nodes: int, title: str = "", unix_zero_s: float | None = None) -> Figure:
    """What every node is when: time to the right, nodes upwards, a colour a state.

    Parameters
    ----------
    states
        As `hetsched.analysis.node_states` gives it.
    nodes
        Number of nodes of the platform. Of more than `MOST_ROWS`, neighbours share a row.
    title, unix_zero_s
        As in `states_over_time`.
    """
    from matplotlib.colors import ListedColormap  # noqa: PLC0415 -- slow to import

    ends = (states["start_s"].min(), states["end_s"].max()) if len(states) else (0.0, 0.0)
    axis = TimeAxis(*ends, unix_zero_s=unix_zero_s)  # type: ignore[arg-type]
    height_in = min(max(_NODE_IN * nodes, _LEAST_MAP_IN), _MAP_IN)
    with new_figure([height_in + _FOOT_IN]) as (figure, (axes,)):
        if len(states):
            grid = state_grid(states, nodes=nodes, rows=min(nodes, MOST_ROWS), bins=_BINS)
            axes.imshow(
                grid,
                cmap=ListedColormap([colour for _, colour in _LOOKS.values()]),
                vmin=-0.5,
                vmax=len(NODE_STATES) - 0.5,
                extent=(*axis.limits, -0.5, nodes - 0.5),
                origin="lower",
                aspect="auto",
                interpolation="none",
            )
        axes.set_ylabel("node")
        axes.locator_params(axis="y", integer=True)
        axes.grid(visible=False)
        _finish(figure, axes, axis, title, [state for state in NODE_STATES if state in states["state"]])
    return figure


def queue_waits(jobs: pl.DataFrame, *, title: str = "") -> Figure:
    """Waits of the jobs of each queue: median, half of the jobs in the box, nine in ten on the line, and the mean.

    Parameters
    ----------
    jobs
        `Result.jobs`; those that never started and those without a queue are left out. Queues stand in alphabetical
        order.
    title
        Text above the picture.
    """
    started = jobs.drop_nulls(["queue", "wait_s"]).sort("queue")
    queues = started["queue"].unique(maintain_order=True).to_list()
    with new_figure([_FOOT_IN + _ROW_IN * max(len(queues), 1)]) as (figure, (axes,)):
        waits = [started.filter(queue=queue)["wait_s"].to_numpy() for queue in queues]
        for place, own in enumerate(waits):
            _draw_waits(axes, place, own)
        longest = max((float(np.quantile(own, 0.95)) for own in waits), default=0.0)
        longest = max([longest, *(float(own.mean()) for own in waits), 1.0])
        axes.set_xscale("symlog", linthresh=_LINEAR_S, linscale=0.5)
        axes.set_xlim(-0.05, longest * 1.3)
        ticks = [(0.0, "0"), *((at, text) for at, text in WAIT_TICKS if at <= longest * 1.3)]
        axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
        axes.minorticks_off()
        axes.set_yticks(
            range(len(queues)), [f"{queue} ({len(own):,})" for queue, own in zip(queues, waits, strict=True)]
        )
        axes.set_ylim(len(queues) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("wait")
        axes.set_title(title)
        if queues:
            _explain_waits(figure)
    return figure


def _draw_waits(axes: Axes, place: int, waits: np.ndarray) -> None:
    low, lower, median, upper, high = np.quantile(waits, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.plot([low, high], [place, place], color=COLOURS["black"], linewidth=0.8, zorder=2)
    axes.barh(place, upper - lower, left=lower, height=0.62, color=COLOURS["sky"], linewidth=0, zorder=3)
    axes.plot([median] * 2, [place - 0.31, place + 0.31], color=COLOURS["black"], linewidth=1.4, zorder=4)
    axes.plot(waits.mean(), place, "D", color=COLOURS["vermilion"], markersize=3.5, zorder=5, clip_on=False)


def _explain_waits(figure: Figure) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 -- slow to import
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles: list[Any] = [
        Line2D([], [], color=COLOURS["black"], linewidth=0.8, label="90 %"),
        Patch(color=COLOURS["sky"], linewidth=0, label="half of the jobs"),
        Line2D(
            [], [], color=COLOURS["black"], linewidth=0, marker="|", markersize=7, markeredgewidth=1.4, label="median"
        ),
        Line2D([], [], color=COLOURS["vermilion"], linewidth=0, marker="D", markersize=3.5, label="mean"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, columnspacing=1.0, handletextpad=0.5)


def _finish(figure: Figure, axes: Axes, axis: TimeAxis, title: str, states: Iterable[str]) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415 -- slow to import

    axes.set_title(title)
    axis.write_on(axes)
    handles = [Patch(color=_LOOKS[state][1], linewidth=0, label=_LOOKS[state][0]) for state in states]
    if handles:
        look: dict[str, Any] = {"ncols": len(handles), "columnspacing": 0.9, "handlelength": 1.2, "handletextpad": 0.5}
        figure.legend(handles=handles, loc="outside lower center", borderaxespad=0.0, **look)
