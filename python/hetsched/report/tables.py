"""Tables for a terminal: a run's summary, a comparison, the presets and parts of policies.

As rich's tables: coloured and as wide as needed on a terminal, plain text of at most 80 columns in a pipe.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from hetsched.analysis import METRICS, Metric
from hetsched.policy import PRESETS, parts, presets

__all__ = ["comparison_table", "parts_table", "presets_table", "summary_table"]

_STATES = ("completed", "timeout", "failed", "rejected", "cancelled", "running", "pending")
_SECTIONS = (
    ("makespan_s", "throughput_jobs_per_hour", "utilization_ratio", "offered_load_ratio"),
    ("mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s", "mean_turnaround_s", "mean_bounded_slowdown"),
    (
        "energy_j",
        "job_energy_j",
        "energy_bound_j",
        "idle_energy_j",
        "transition_energy_j",
        "off_energy_j",
        "down_energy_j",
    ),
    ("mean_power_w", "peak_power_w", "energy_delay_product_js"),
)
_WHERE_ANY = frozenset((*_STATES[1:], "energy_bound_j", "transition_energy_j", "off_energy_j", "down_energy_j"))
_PARTS_OF_A_WHOLE = frozenset(
    (*_STATES, "job_energy_j", "idle_energy_j", "transition_energy_j", "off_energy_j", "down_energy_j")
)
_PARTS_OF_A_PART = frozenset(("energy_bound_j",))


def summary_table(summary: Mapping[str, float | None], *, title: str = "") -> Table:
    """A run's metrics below each other, parts of a sum indented; states and energies that did not occur left out.

    Parameters
    ----------
    summary
        As `Result.summary` gives it.
    title
        What stands above it.
    """
    table = Table(title=title or None, show_header=False, **_LOOK)
    table.add_column()
    table.add_column(justify="right")
    for section in (("jobs", *_STATES), *_SECTIONS):
        keys = [key for key in section if summary.get(key) or key not in _WHERE_ANY]
        for key in keys:
            indent = "  " if key in _PARTS_OF_A_WHOLE else "    " if key in _PARTS_OF_A_PART else ""
            table.add_row(indent + METRICS[key].title, METRICS[key].text(summary[key]), end_section=key == keys[-1])
    return table


def comparison_table(comparison: pl.DataFrame, *, baseline: str) -> Table:
    """Policies below each other and metrics beside each other: values first, then ratios to the baseline.

    Parameters
    ----------
    comparison
        As `hetsched.analysis.compare` gives it.
    baseline
        The policy whose ratios are 1.
    """
    policies = comparison["policy"].unique(maintain_order=True).to_list()
    metrics = [METRICS[key] for key in comparison["metric"].unique(maintain_order=True)]
    cells = {(row["policy"], row["metric"]): row for row in comparison.iter_rows(named=True)}
    columns = [_column([cells[policy, metric.key] for policy in policies], metric) for metric in metrics]
    table = Table(**_LOOK)
    table.add_column("policy", overflow="fold", vertical="bottom")
    for metric, column in zip(metrics, columns, strict=True):
        header = "\n".join([*textwrap.wrap(metric.title, 12), *([column.unit] if column.unit else [])])
        table.add_column(header, justify="right", no_wrap=True, vertical="bottom")
    for place, policy in enumerate(policies):
        _add_rows(table, policy, cells[policy, metrics[0].key]["runs"], [column.lines[place] for column in columns])
    if len(policies) == 1:
        return table
    table.add_section()
    table.add_row(Text(f"ratio to {baseline}", style="italic"))
    for place, policy in enumerate(policies):
        if policy != baseline:
            _add_rows(table, policy, None, [column.ratios[place] for column in columns])
    return table


_LOOK: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "title_justify": "left", "title_style": "bold"}

Cell = tuple[str, str]


class _Column:
    """A metric's values in one unit, each with the text of its interval, and the same of its ratios."""

    def __init__(self, unit: str, lines: list[Cell], ratios: list[Cell]) -> None:
        self.unit = unit
        self.lines = lines
        self.ratios = ratios


def _column(rows: Sequence[Mapping[str, Any]], metric: Metric) -> _Column:
    means, half_widths = ([row[name] for row in rows] for name in ("mean", "half_width_95"))
    lines = list(zip(metric.texts(means), metric.texts(half_widths, like=means), strict=True))
    ratios, ratio_half_widths = ([row[name] for row in rows] for name in ("ratio", "ratio_half_width_95"))
    decimals = _ratio_decimals(ratios)
    texts = [[_ratio_text(ratio, decimals) for ratio in column] for column in (ratios, ratio_half_widths)]
    return _Column(metric.unit_for(means).name, lines, list(zip(*texts, strict=True)))


def _ratio_decimals(ratios: Sequence[float | None]) -> int:
    """Three, and up to two more where a ratio would be left with less than three digits.

    Examples
    --------
    >>> _ratio_decimals([1.0, 0.928]), _ratio_decimals([1.0, 0.0643, None])
    (3, 4)
    """
    smallest = min((abs(ratio) for ratio in ratios if ratio), default=1.0)
    return min(max(2 - math.floor(math.log10(smallest)), 3), 5)


def _ratio_text(ratio: float | None, decimals: int) -> str:
    return "–" if ratio is None else f"{ratio:.{decimals}f}"


def _add_rows(table: Table, policy: str, runs: int | None, cells: Sequence[Cell]) -> None:
    """A row of values and, where chance played a part, one of how far they can be trusted."""
    table.add_row(policy, *(text for text, _ in cells))
    if any(half_width != "–" for _, half_width in cells):
        note = "  ± (95 %)" if runs is None else f"  ± (95 %, {runs} seeds)"
        table.add_row(Text(note, style="dim"), *(Text(half_width, style="dim") for _, half_width in cells))


def presets_table() -> Table:
    """Every preset: what it does and what it is composed of."""
    table = Table("preset", "what it does", **_LOOK)
    for row in presets().iter_rows(named=True):
        composition = f"{row['order']} / {row['backfill']} / {row['placement']}"
        settings = f" ({row['parameters']})" if row["parameters"] else ""
        table.add_row(Text(row["name"], style="bold"), PRESETS[row["name"]].doc)
        table.add_row("", Text(composition + settings, style="dim"))
    return table


def parts_table() -> Table:
    """Every part by role, with its parameters."""
    table = Table("role", "part", "what it does", **_LOOK)
    last_role = ""
    for (role, name), part in parts().items():
        table.add_row(role if role != last_role else "", Text(name, style="bold"), part["doc"])
        for lines in _parameter_lines(part["parameters"]):
            table.add_row("", *lines)
        last_role = role
    return table


def _parameter_lines(parameters: Iterable[Mapping[str, str]]) -> Iterable[tuple[Text, Text]]:
    for parameter in parameters:
        setting = f"  {parameter['name']}={parameter['default'].strip(chr(34))}"
        yield Text(setting), Text(f"{parameter['doc']} ({parameter['range']})", style="dim")
