"""Pictures of power in time: the draw under budgets that rise and fall, and the speed at which jobs run under caps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis import METRICS
from hetsched.analysis.timeline import binned
from hetsched.report.canvas import COLOURS, TimeAxis, bin_edges, extent, new_figure, step, step_area, write_rows
from hetsched.report.charts import Chart, add_boxes, box, check_count, new_chart
from hetsched.report.figures import bin_text
from hetsched.report.lettering import legend, named, swatch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["power_and_budget", "speeds"]

MOST_STEPS = 600
"""Most rows of a timeline that are drawn as they are; of more, the means of so many bins."""

_BILLIONTH = 1e-9

_MARKS = {
    "alert": ("X", "vermilion"),
    "lower-cap": ("v", "blue"),
    "raise-cap": ("^", "sky"),
    "suspend": ("s", "orange"),
    "resume": (">", "green"),
    "requeue": ("D", "purple"),
    "kill": ("o", "black"),
}
"""Mark and colour of each kind of event, in the order of the lines they stand on."""

_POWER_IN, _MARK_IN, _FOOT_IN = 2.0, 0.17, 0.45
_FORBIDDEN = "#EBEBEB"
_MANY = 2000
"""Marks on a line from which on they are dots of a picture even in a drawing of lines."""

_FEW = 80
"""Up to so many boxes are framed by stronger lines."""

_BAR_IN = 0.5
_PALEST = 0.12
_DARK = 0.55
"""From this share of the colours' range on, letters are white."""


def power_and_budget(
    timeline: pl.DataFrame,
    events: pl.DataFrame,
    *,
    title: str = "",
    budget_w: float | None = None,
    unix_zero_s: float | None = None,
) -> Figure:
    """The draw under the budget in force, all that lies beyond it filled, and when caps changed and jobs were stopped.

    The legend says for how long the draw was beyond the budget, and with how much energy.

    Parameters
    ----------
    timeline
        `Result.timeline`; its ``budget_w`` is drawn where it has that column. Of more than `MOST_STEPS` rows the curve
        is the mean of each of so many bins of time; what lies beyond the budget is the largest excess in each.
    events
        `Result.events`; a line of marks for each kind of them but ``budget``, with their number.
    title
        Text above the picture.
    budget_w
        The budget where the timeline has none of its own. None: there is none.
    unix_zero_s
        As in `hetsched.report.figures.overview`.
    """
    marked = [kind for kind in _MARKS if kind in events["kind"]]
    heights = [_POWER_IN, *([_FOOT_IN + _MARK_IN * len(marked)] if marked else [])]
    axis = TimeAxis(*extent(timeline["time_s"]), unix_zero_s=unix_zero_s)
    with new_figure(heights, title=title, share_x=True) as (figure, axes):
        _draw_draw(axes[0], timeline, axis, budget_w)
        if marked:
            _draw_marks(axes[1], events, marked, axis)
        axis.write_on(axes[-1])
        legend(figure, named(axes[0]), columns=2)
    return figure


def speeds(
    segments: pl.DataFrame, *, nodes: int, first_s: float = 0.0, title: str = "", unix_zero_s: float | None = None
) -> Figure:
    """Jobs as boxes of time and nodes, darker where they run slower, hatched while they are suspended.

    A box has its job_id, and the cap in force, where they fit.

    Parameters
    ----------
    segments
        `Result.segments`; of at most `MOST_JOBS` jobs.
    nodes
        Number of nodes of the platform.
    first_s
        The first submit, where the picture begins.
    title, unix_zero_s
        As in `hetsched.report.figures.overview`.

    Raises
    ------
    ValueError
        If there are more than `MOST_JOBS` jobs.
    """
    check_count(segments["job_id"].n_unique())
    ended = segments.filter(pl.col("end_s").is_not_null(), pl.col("end_s") > pl.col("start_s"))
    window = first_s, max(extent(ended["end_s"])[1], first_s)
    with new_chart(window, nodes, title=title, unix_zero_s=unix_zero_s, foot_in=_BAR_IN) as (figure, chart):
        _draw_speeds(figure, chart, ended)
    return figure


def _draw_draw(axes: Axes, timeline: pl.DataFrame, axis: TimeAxis, budget_w: float | None) -> None:
    """The draw as a line, what no budget allows as a pale area, and the draw in that as a strong one."""
    rows = timeline.select("time_s", "power_w", budget_w=_budget(timeline, budget_w))
    beyond = rows.select("time_s", beyond_w=_excess())
    is_binned = len(rows) > MOST_STEPS
    highest_w = rows.select(pl.max_horizontal("power_w", "budget_w").max()).item() or 0.0
    unit = METRICS["peak_power_w"].unit_for([highest_w])
    x, draw_w, name = axis.shown(rows["time_s"].to_numpy()), rows["power_w"], "draw"
    if is_binned:
        bins = binned(rows, ["power_w"], bins=MOST_STEPS)
        x, draw_w, name = bin_edges(bins, axis), bins["power_w_mean"], f"draw, mean of each {bin_text(bins)}"
    top = 1.05 * max(highest_w / unit.scale, 1e-9)
    step(axes, x, draw_w / unit.scale, color=COLOURS["blue"], linewidth=0.8, label=name, zorder=3)
    if rows["budget_w"].count():
        at, budget = axis.shown(rows["time_s"].to_numpy()), (rows["budget_w"] / unit.scale).to_numpy()
        step_area(axes, at, budget, np.full(len(at), top), color=_FORBIDDEN, zorder=0.5)
        step(axes, at, budget, color=COLOURS["black"], linewidth=0.5, label="power budget", zorder=2)
        over = (beyond["beyond_w"] / unit.scale).to_numpy()
        places = np.flatnonzero(over[:-1] > 0)
        if len(places):
            # The outline keeps minutes of a month visible.
            look: dict[str, Any] = {"color": COLOURS["vermilion"], "linewidths": 0.7, "zorder": 4}
            boxes = [box(at[k], at[k + 1], budget[k], budget[k] + over[k]) for k in places]
            add_boxes(axes, boxes, label=_beyond_text(beyond), **look)
    axes.set_ylabel(f"power ({unit.name})")
    axes.set_ylim(0, top)


def _budget(timeline: pl.DataFrame, budget_w: float | None) -> pl.Expr:
    return pl.col("budget_w") if "budget_w" in timeline.columns else pl.lit(budget_w, dtype=pl.Float64)


def _excess() -> pl.Expr:
    """Watts beyond the budget, of which a billionth is rounding."""
    above = pl.col("power_w") - pl.col("budget_w")
    return pl.when(above > _BILLIONTH * pl.col("budget_w")).then(above).otherwise(0.0)


def _beyond_text(beyond: pl.DataFrame) -> str:
    """Time for which the draw was beyond the budget, and the energy beyond it, as text."""
    times, watts = (beyond[name].to_numpy() for name in ("time_s", "beyond_w"))
    lengths = np.diff(times)
    long = METRICS["over_budget_s"].text(float(lengths[watts[:-1] > 0].sum()))
    return f"beyond the budget: {long}, {METRICS['energy_j'].text(float((lengths * watts[:-1]).sum()))}"


def _draw_marks(axes: Axes, events: pl.DataFrame, marked: Sequence[str], axis: TimeAxis) -> None:
    names = []
    for place, kind in enumerate(marked):
        times = events.filter(kind=kind)["time_s"].to_numpy()
        mark, colour = _MARKS[kind]
        axes.plot(
            axis.shown(times), np.full(len(times), place), mark, color=COLOURS[colour], markersize=4,
            markeredgecolor="black", markeredgewidth=0.3, clip_on=False, rasterized=len(times) > _MANY,
        )  # fmt: skip
        names.append(f"{kind} ({len(times):,})")
    write_rows(axes, names)
    axes.grid(visible=True, axis="y")


def _draw_speeds(figure: Figure, chart: Chart, segments: pl.DataFrame) -> None:
    """Draw a box for each stretch, a frame around attempts, and a bar of speeds."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415 -- slow to import
    from matplotlib.colors import Normalize  # noqa: PLC0415

    runs, stands = segments.filter(state="running"), segments.filter(state="suspended")
    known = runs["speed_ratio"].drop_nulls().to_numpy()
    low, high = known.min(initial=1.0), known.max(initial=1.0)
    colours: Any = ScalarMappable(Normalize(low if low < high else high - 1.0, high), _shades())
    chart.add(runs, facecolors=colours.to_rgba(runs["speed_ratio"].fill_null(1.0).to_numpy()), linewidths=0.0)
    chart.add(stands, **_SUSPENDED)
    spans = segments.group_by(pl.struct("job_id", "attempt", "nodes").rle_id(), maintain_order=True)
    frames = spans.agg(pl.col("start_s").min(), pl.col("end_s").max(), pl.col("nodes").first())
    widths = chart.outlines(frames, 0.4 if len(frames) <= _FEW else 0.2)
    chart.add(frames, facecolors="none", edgecolors=["black"] * len(frames), linewidths=widths)
    for row in segments.iter_rows(named=True):
        running = row["state"] == "running"
        is_dark = running and colours.norm(row["speed_ratio"]) < 1 - _DARK
        ground = None if running else {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        chart.write(row, _labels(row), color="white" if is_dark else "black", bbox=ground)
    if low < high:
        look: dict[str, Any] = {"orientation": "horizontal", "aspect": 40, "pad": 0.02}
        bar = figure.colorbar(colours, ax=chart.axes, label="speed (1: nominal)", **look)
        bar.outline.set_linewidth(0.4)
        bar.ax.locator_params(nbins=6)
    if len(stands):
        suspended = swatch("white", hatch=_SUSPENDED["hatch"])
        legend(figure, [(suspended, "suspended")], at="lower left")


_SUSPENDED: dict[str, Any] = {"facecolors": "white", "edgecolors": "#777777", "hatch": "//////", "linewidths": 0.0}


def _shades() -> Any:
    """Blues that grow darker towards the slow end; their greys are apart in print, too."""
    from matplotlib import colormaps  # noqa: PLC0415 -- slow to import
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    return ListedColormap(colormaps["Blues"](np.linspace(0.95, _PALEST, 256)))


def _labels(row: dict[str, Any]) -> Iterator[str]:
    """Labels that may go in a box, the fullest first."""
    if row["cap_w"] is not None and row["state"] == "running":
        yield f"{row['job_id']}: {row['cap_w']:.4g} W"
        yield f"{row['job_id']}\n{row['cap_w']:.4g} W"
    yield str(row["job_id"])


def __dir__() -> list[str]:
    return sorted(__all__)
