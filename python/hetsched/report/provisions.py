"""Tables and the picture of how many nodes a power budget feeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from hetsched.analysis import METRICS as OF_RUNS
from hetsched.analysis import Metric, Unit
from hetsched.report.canvas import COLOURS, DASHES, interval, look, new_figure
from hetsched.report.lettering import legend, named
from hetsched.report.page.document import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["provision_figure"]

_SHARE = (Unit("%", 0.01),)

METRICS = {
    metric.key: metric
    for metric in (
        OF_RUNS["throughput_jobs_per_hour"],
        OF_RUNS["mean_turnaround_s"],
        replace(OF_RUNS["utilization_ratio"], title="nodes at work"),
        Metric("power_utilization_ratio", "budget used at work", _SHARE, "higher"),
        Metric("drawn_ratio", "budget drawn", _SHARE, "higher"),
        replace(OF_RUNS["idle_energy_j"], title="wasted energy"),
    )
}
"""Measures of a trial, in the order of its columns."""


class Asked(Protocol):
    """Values that the lines on a guideline need."""

    @property
    def budget_w(self) -> float:
        """Watts of the machine."""

    @property
    def base_w(self) -> float:
        """Watts of a CPU that serves no job."""

    @property
    def best_cpus(self) -> Mapping[str, float]:
        """CPUs of which all can just run."""

    @property
    def guideline(self) -> pl.DataFrame:
        """Both readings, a row a number of nodes."""


class Tried(Asked, Protocol):
    """A guideline, and what was tried."""

    @property
    def table(self) -> pl.DataFrame | None:
        """A row a number of nodes and metric; None without a trial."""


def guideline_lines(asked: Asked) -> list[str]:
    """Both readings in full: the formulas with their numbers."""
    return [*_formulas(asked), _best(asked)]


def _formulas(asked: Asked) -> Iterator[str]:
    budget, base = f"{asked.budget_w:,.12g}", f"{asked.base_w:g}"
    for row in asked.guideline.iter_rows(named=True):
        cpus, effective = f"{row['cpus']:,}", f"{row['effective_w']:,.12g}"
        yield (
            f"{row['nodes']:,} nodes, guideline: P_eff = {budget} - {base} x {cpus} = {effective} W; CPU_available = "
            f"{effective} / {row['mean_w']:.4g} = {row['available_cpus']:,.1f}; CPU_eff = "
            f"min({row['available_cpus']:,.1f}, {cpus}) = {row['effective_cpus']:,.1f}"
        )
        mean = f"{row['steady_mean_w']:.4g}"
        yield (
            f"{row['nodes']:,} nodes, steady state: ({budget} - {base} x {cpus}) / ({mean} - {base}) = "
            f"{row['steady_available_cpus']:,.0f}, so {row['steady_effective_cpus']:,.0f} CPUs run"
        )


def _best(asked: Asked) -> str:
    best = asked.best_cpus
    by_guideline, steady = (f"{int(best[name]):,}" for name in ("guideline", "steady"))
    return f"all CPUs run up to {by_guideline} of them by the guideline, up to {steady} in the steady state"


def tables(found: Tried) -> list[Grid]:
    """Both readings, and the trial if there was one."""
    first = [guideline_table(found.guideline)] if len(found.guideline) else []
    return first + ([] if found.table is None else [trial_table(found.table)])


def guideline_table(guideline: pl.DataFrame) -> Grid:
    """A row a number of nodes: how many CPUs run, by the guideline and in the steady state."""
    names = ("nodes", "CPUs", "P_eff\nkW", "P_avg\nW", "CPU_eff", "steady\nP_avg W", "steady\nCPUs")
    rows = [
        [
            f"{row['nodes']:,}",
            f"{row['cpus']:,}",
            f"{row['effective_w'] / 1e3:,.4g}",
            f"{row['mean_w']:.4g}",
            f"{row['effective_cpus']:,.1f}",
            f"{row['steady_mean_w']:.4g}",
            f"{row['steady_effective_cpus']:,.1f}",
        ]
        for row in guideline.iter_rows(named=True)
    ]
    return Grid("CPUs that the budget feeds", names, rows, words=0)


def trial_table(table: pl.DataFrame) -> Grid:
    """A row a number of nodes and below it, over several seeds, half the width of the intervals."""
    columns, names = [], []
    for key, metric in METRICS.items():
        own = table.filter(metric=key)
        means, half_widths = own["mean"].to_list(), own["half_width_95"].to_list()
        names.append("\n".join([*metric.title.split(" "), metric.unit_for(means).name]))
        columns.append((metric.texts(means), metric.texts(half_widths, like=means), half_widths))
    rows = []
    counts = table.filter(metric=next(iter(METRICS))).select("nodes", "runs").rows()
    for place, (nodes, runs) in enumerate(counts):
        rows.append([f"{nodes:,}", *(means[place] for means, _, _ in columns)])
        if runs > 1:
            rows.append([f"± ({runs} seeds)", *(texts[place] for _, texts, _ in columns)])
    return Grid("tried by simulation", ["nodes", *names], rows)


_PANELS = (
    ("throughput_jobs_per_hour",),
    ("mean_turnaround_s",),
    ("utilization_ratio", "power_utilization_ratio", "drawn_ratio"),
    ("idle_energy_j",),
)
_PANEL_IN = 1.1
_LABELS = ("throughput", "turnaround", "share", "wasted")


def provision_figure(table: pl.DataFrame, *, best_nodes: Mapping[str, float], title: str = "") -> Figure:
    """A panel a metric over numbers of nodes, with 95 % intervals over seeds; lines where each reading is at its best.

    Parameters
    ----------
    table
        As `Provision.table` has it.
    best_nodes
        Numbers of nodes by the name of the reading, drawn where they lie among those tried.
    title
        Text above the picture.
    """
    with new_figure([_PANEL_IN] * len(_PANELS), title=title, share_x=True) as (figure, panels):
        for axes, keys, label in zip(panels, _PANELS, _LABELS, strict=True):
            _draw_panel(axes, table, keys, label)
            _draw_best(axes, table["nodes"].to_numpy(), best_nodes)
        panels[-1].set_xlabel("nodes")
        legend(figure, named(*panels), columns=2, columnspacing=1.0)
    return figure


def _draw_panel(axes: Axes, table: pl.DataFrame, keys: tuple[str, ...], label: str) -> None:
    means = table.filter(pl.col("metric").is_in(keys))["mean"].to_list()
    unit = METRICS[keys[0]].unit_for(means)
    for place, key in enumerate(keys):
        own = table.filter(metric=key).sort("nodes")
        reach = own["half_width_95"].fill_null(0.0).to_numpy() / unit.scale
        at, name = (own["nodes"].to_numpy(), own["mean"].to_numpy() / unit.scale), METRICS[key].title
        interval(axes, *at, yerr=reach, label=name if len(keys) > 1 else None, **look(place))
    axes.set_ylabel(f"{label}\n({unit.name})")
    axes.set_ylim(0, 1.05 * max(axes.get_ylim()[1], 1e-9))
    axes.locator_params(axis="y", nbins=4)
    axes.yaxis.set_major_formatter("{x:,g}")


def _draw_best(axes: Axes, tried: np.ndarray, best_nodes: Mapping[str, float]) -> None:
    for place, (name, nodes) in enumerate(best_nodes.items(), start=1):
        if tried.min() <= nodes <= tried.max():
            axes.axvline(nodes, color=COLOURS["black"], linestyle=DASHES[place], linewidth=0.8, label=f"best, {name}")


def __dir__() -> list[str]:
    return sorted(__all__)
