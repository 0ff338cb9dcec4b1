"""Picture and tables of a workload before any run: demand over time, kinds of jobs, and the generators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.table import Table
from rich.text import Text

from hetsched.analysis import METRICS
from hetsched.analysis.timeline import binned
from hetsched.report.canvas import COLOURS, DASHES, TimeAxis, bin_edges, new_figure, step, step_area, write_lengths
from hetsched.report.lettering import legend, named
from hetsched.report.tables import new_table
from hetsched.workload import Workload
from hetsched.workload.generators import Generator, Parameter
from hetsched.workload.generators.parameters import shown_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

_BINS = 300
_BARS = 60
_JOBS, _WORK = "blue", "orange"
_TITLES = {
    "runtime_s": "run length",
    "walltime_s": "requested time",
    "node_count": "nodes",
    "area_node_s": "node-seconds",
    "interarrival_s": "submission gap",
}


def workload_overview(jobs: pl.DataFrame, *, nodes: int, title: str = "") -> Figure:
    """A workload in one picture: demand and submissions over time, sizes and run lengths of its jobs.

    Demand is the share of nodes that would be busy if every job started when it is submitted; a machine cannot follow
    above 100 %.
    """
    with new_figure([1.45, 1.15, 1.5, 1.4], title=title) as (figure, axes):
        demand = _demand(jobs)
        axis = TimeAxis(float(jobs["submit_s"].min()), float(demand["time_s"][-1]))  # type: ignore[arg-type]
        _draw_demand(axes[0], demand, axis, nodes)
        _draw_submissions(axes[1], jobs["submit_s"].to_numpy(), axis)
        work = (jobs["node_count"] * jobs["runtime_s"]).to_numpy()
        _draw_sizes(axes[2], jobs["node_count"].to_numpy(), work)
        _draw_runtimes(axes[3], jobs["runtime_s"].to_numpy(), work)
        legend(figure, named(axes[3]), columns=2)
    return figure


def _demand(jobs: pl.DataFrame) -> pl.DataFrame:
    """Busy nodes if every job started at once, as a timeline: values hold until the next row."""
    ends = pl.col("submit_s") + pl.col("runtime_s")
    size = pl.col("node_count").cast(pl.Int64)
    events = pl.concat(
        [jobs.select(time_s=pl.col("submit_s"), change=size), jobs.select(time_s=ends, change=-size)],
    )
    steps = events.group_by("time_s").agg(pl.col("change").sum()).sort("time_s")
    return steps.select("time_s", busy_nodes=pl.col("change").cum_sum())


def _draw_demand(axes: Axes, demand: pl.DataFrame, axis: TimeAxis, nodes: int) -> None:
    bins = binned(demand, ["busy_nodes"], bins=_BINS)
    edges = bin_edges(bins, axis)
    low, mean, high = (100 / nodes * bins[f"busy_nodes_{kind}"].to_numpy() for kind in ("min", "mean", "max"))
    step_area(axes, edges, low, high, color=COLOURS["blue"], alpha=0.4)
    step(axes, edges, mean, color=COLOURS["blue"], linewidth=0.9)
    axes.axhline(100.0, color=COLOURS["black"], linewidth=0.8, linestyle=DASHES[2])
    axes.set_xlim(axis.limits)
    axes.set_ylim(0, max(104.0, 1.05 * float(np.max(high, initial=0.0))))
    axes.locator_params(axis="y", nbins=5)
    axes.set_ylabel("demand\n(% of nodes)")
    axes.tick_params(labelbottom=False)


def _draw_submissions(axes: Axes, submit_s: Floats, axis: TimeAxis) -> None:
    counts, edges = np.histogram(axis.shown(submit_s), bins=_BARS, range=axis.limits)
    axes.stairs(counts / len(submit_s) * 100, edges, fill=True, color=COLOURS[_JOBS])
    axes.set_xlim(axis.limits)
    axes.locator_params(axis="y", nbins=4)
    axes.set_ylabel("submitted\n(% of jobs)")
    axes.set_xlabel(axis.label)


def _draw_sizes(axes: Axes, node_count: npt.NDArray[np.int32], work: Floats) -> None:
    """Shares by node count, in classes that end at powers of two."""
    power = np.ceil(np.log2(node_count)).astype(np.int64)
    classes = np.arange(int(power.max()) + 1)
    for side, colour, weights in ((-0.2, _JOBS, np.ones(len(power))), (0.2, _WORK, work)):
        share = np.bincount(power, weights=weights, minlength=len(classes)) / max(float(weights.sum()), 1e-300)
        axes.bar(classes + side, 100 * share, width=0.4, color=COLOURS[colour])
    shown = classes[:: -(-len(classes) // 6)]
    axes.set_xticks(shown, [_size_class(int(k)) for k in shown])
    middle, width = (len(classes) - 1) / 2, max(len(classes), 4)
    axes.set_xlim(middle - width / 2, middle + width / 2)
    axes.grid(visible=False, axis="x")
    axes.locator_params(axis="y", nbins=4)
    axes.set_xlabel("nodes of a job")
    axes.set_ylabel("% of jobs,\nof work")


def _size_class(power: int) -> str:
    """The node counts whose binary logarithm, rounded up, is this."""
    low, high = (2**power // 2) + 1, 2**power
    return f"{high}" if low >= high else f"{low}–{high}"


def _draw_runtimes(axes: Axes, runtime_s: Floats, work: Floats) -> None:
    """Draw the share of jobs, and of their work, in runs up to a length."""
    order = np.argsort(runtime_s, kind="stable")
    lengths = np.clip(runtime_s[order], 1e-3, None)
    low, high = max(float(lengths[0]), 0.5), max(float(lengths[-1]), 2.0)
    # Lengths that lie close together get room, so that there are ticks around them.
    room = 1.3 if high > 10 * low else 2.5
    write_lengths(axes, low / room, high * room)
    for place, (name, weights) in enumerate((("jobs", np.ones(len(order))), ("work (node-seconds)", work[order]))):
        share = np.cumsum(weights) / max(float(weights.sum()), 1e-300)
        # A few hundred points are enough to see, and a picture of a million would be slow to show.
        last = len(share) - 1
        kept = np.unique(np.append(np.minimum(np.searchsorted(share, np.linspace(0, 1, 400)), last), last))
        x, y = np.append(1e-6, lengths[kept]), np.append(0.0, share[kept])
        colour = COLOURS[(_JOBS, _WORK)[place]]
        step(axes, x, 100 * y, color=colour, linestyle=DASHES[place], label=name)
    axes.set_ylim(0, 103)
    axes.set_yticks([0, 50, 100])
    axes.set_xlabel("run length up to")
    axes.set_ylabel("% of jobs,\nof work")


def workload_table(workload: Workload, *, title: str = "") -> Table:
    """Distributions of a workload below each other: mean, percentiles, largest."""
    table = new_table("", numbers=("mean", "5 %", "median", "95 %", "largest"), title=title)
    for row in workload.describe().iter_rows(named=True):
        if row["quantity"] in _TITLES and row["count"]:
            values = [row[name] for name in ("mean", "p5", "median", "p95", "max")]
            table.add_row(_TITLES[row["quantity"]], *(_shown(row["quantity"], value) for value in values))
    return table


def _shown(quantity: str, value: float) -> str:
    if quantity.endswith("node_s") or not quantity.endswith("_s"):
        return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:,.4g}"
    return METRICS["mean_wait_s"].text(value)


def apps_table(jobs: pl.DataFrame, *, most: int = 12) -> Table | None:
    """Applications with their jobs and their share of the work; None where no application is known."""
    if "app" not in jobs.columns or not jobs["app"].count():
        return None
    area = pl.col("node_count") * pl.col("runtime_s")
    shares = (
        jobs.group_by("app")
        .agg(jobs=pl.len(), mean_s=pl.col("runtime_s").mean(), area=area.sum())
        .sort("jobs", "app", descending=[True, False], nulls_last=True)
    )
    total = max(float(shares["area"].sum()), 1e-300)
    table = new_table("application", numbers=("jobs", "mean run length", "of the work"))
    for row in shares.head(most).iter_rows(named=True):
        length = METRICS["mean_wait_s"].text(row["mean_s"])
        table.add_row(row["app"] or "unknown", f"{row['jobs']:,}", length, f"{100 * row['area'] / total:.2f} %")
    if len(shares) > most:
        table.add_row(f"and {len(shares) - most:,} more", "", "", "")
    return table


def generators_table(generators: Sequence[Generator]) -> Table:
    """Every generator with its parameters and their defaults; parameters of several are explained once, at the end."""
    uses = Counter(parameter for generator in generators for parameter in generator.parameters)
    table = new_table("generator", "what it makes")
    for generator in generators:
        table.add_row(Text(generator.name, style="bold"), generator.doc)
        table.add_row("", Text(generator.source, style="dim"))
        shared = [one for one in generator.parameters if uses[one] > 1]
        table.add_row("", " ".join(_setting(generator, one) for one in shared))
        for parameter in generator.parameters:
            if parameter not in shared:
                default = shown_text(generator.default(parameter.name))
                table.add_row(Text(f"  {parameter.name}"), _about(parameter, f"{default}: "))
    table.add_section()
    for parameter in (one for one in uses if uses[one] > 1):
        table.add_row(Text(f"  {parameter.name}"), _about(parameter))
    return table


def _setting(generator: Generator, parameter: Parameter) -> str:
    return f"{parameter.name}={shown_text(generator.default(parameter.name))}"


def _about(parameter: Parameter, default: str = "") -> Text:
    unit = f", in {parameter.unit}" if parameter.unit and parameter.unit not in parameter.doc else ""
    text = Text(default)
    text.append(f"{parameter.doc}{unit} ({parameter.range})", style="dim")
    return text
