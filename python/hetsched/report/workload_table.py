"""Tables about workloads for a terminal: what one is like, and the generators that make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from hetsched.analysis import METRICS
from hetsched.workload import Workload
from hetsched.workload.generators import Generator, Parameter
from hetsched.workload.generators.parameters import shown_text

__all__ = ["apps_table", "generators_table", "workload_table"]

_LOOK: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "title_justify": "left", "title_style": "bold"}
_TITLES = {
    "runtime_s": "run length",
    "walltime_s": "requested time",
    "node_count": "nodes",
    "area_node_s": "node-seconds",
    "interarrival_s": "submission gap",
}


def workload_table(workload: Workload, *, title: str = "") -> Table:
    """Distributions of a workload below each other: mean, percentiles, largest.

    Parameters
    ----------
    workload
        What to describe.
    title
        What stands above it.
    """
    table = Table(title=title or None, **_LOOK)
    table.add_column("")
    for name in ("mean", "5 %", "median", "95 %", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
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
    """Applications with their jobs and their share of the work; None where no application is known.

    Parameters
    ----------
    jobs
        A job table.
    most
        At most so many, those with most jobs; how many there are beside them is said.
    """
    if "app" not in jobs.columns or not jobs["app"].count():
        return None
    area = pl.col("node_count") * pl.col("runtime_s")
    shares = (
        jobs.group_by("app")
        .agg(jobs=pl.len(), mean_s=pl.col("runtime_s").mean(), area=area.sum())
        .sort("jobs", "app", descending=[True, False], nulls_last=True)
    )
    total = max(float(shares["area"].sum()), 1e-300)
    table = Table(**_LOOK)
    table.add_column("application", overflow="fold")
    for name in ("jobs", "mean run length", "of the work"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in shares.head(most).iter_rows(named=True):
        length = METRICS["mean_wait_s"].text(row["mean_s"])
        table.add_row(row["app"] or "unknown", f"{row['jobs']:,}", length, f"{100 * row['area'] / total:.2f} %")
    if len(shares) > most:
        table.add_row(f"and {len(shares) - most:,} more", "", "", "")
    return table


def generators_table(generators: Sequence[Generator]) -> Table:
    """Every generator with its parameters and their defaults; parameters of several are explained once, at the end.

    Parameters
    ----------
    generators
        Which to show.
    """
    uses = Counter(parameter for generator in generators for parameter in generator.parameters)
    table = Table("generator", "what it makes", **_LOOK)
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
