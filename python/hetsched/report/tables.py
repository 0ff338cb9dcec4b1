"""Tables for a terminal: a run's summary, a comparison, the presets and parts of policies, the machines.

Rich tables for the width of the terminal, 80 columns in a pipe. Names are folded at their marks; columns that do not
fit side by side are in tables below each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hetsched.analysis import METRICS, Metric
from hetsched.policy import PRESETS, parts, presets
from hetsched.report.page.document import Grid
from hetsched.report.shares import MISSING, experiment_grids, shares_grids
from hetsched.run.metric import SECTIONS
from hetsched.run.metrics import in_section

if TYPE_CHECKING:
    from rich.align import VerticalAlignMethod

__all__ = ["comparison_table", "summary_table"]


def new_table(
    *first: str,
    numbers: Iterable[str] = (),
    words: Iterable[str] = (),
    title: str = "",
    vertical: VerticalAlignMethod = "top",
    **options: Any,
) -> Table:
    """A table in the common style, without rows: columns of words, of numbers, to the right, and of words again."""
    look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "title_justify": "left", "title_style": "bold"}
    table = Table(title=title or None, **look, **options)
    for name in first:
        table.add_column(name, vertical=vertical, overflow="fold")
    for name in numbers:
        table.add_column(name, vertical=vertical, justify="right", no_wrap=True)
    for name in words:
        table.add_column(name, vertical=vertical)
    return table


_SHORT = 14
"""Letters of a first column that is never broken."""


def console_table(grid: Grid) -> Table:
    """A table of a page for a terminal; its note stands below it."""
    names = grid.header
    vertical: VerticalAlignMethod = "bottom" if any("\n" in name for name in names) else "top"
    table = new_table(*names[: grid.words], numbers=names[grid.words :], title=grid.label, vertical=vertical)
    table.columns[0].no_wrap = all(len(row[0]) <= _SHORT for row in grid.rows)
    for row in grid.rows:
        table.add_row(*row, style="dim" if row[0].startswith("±") else "")
    table.caption, table.caption_justify = grid.note or None, "left"
    return table


_SHARED_WIDTH = 16
"""Letters of a policy's name next to its shares."""


def shares_tables(shares: pl.DataFrame) -> Group:
    """Tables of savings by placement and timing, with the waits; from `hetsched.analysis.placement_and_timing`."""
    return Group(*(_narrow(grid) for grid in shares_grids(shares)))


_NARROW_WIDTH = 13
"""The same next to shares with intervals."""


def experiment_shares_tables(shares: pl.DataFrame) -> Group:
    """The same of an experiment, from `hetsched.experiments.Report.shares`; waits of large jobs in their own tables."""
    grids = experiment_grids(shares).values()
    return Group(*(_narrow(part, _NARROW_WIDTH) for grid in grids for part in _waits_apart(grid)))


def _waits_apart(grid: Grid) -> Iterable[Grid]:
    """The waits of large jobs, the last two columns, in a table of their own if there are any."""
    last = len(grid.header) - 2
    yield replace(grid, header=grid.header[:last], rows=[row[:last] for row in grid.rows])
    if any(cell != MISSING for row in grid.rows for cell in row[last:]):
        rows = [[row[0], *row[last:]] for row in grid.rows]
        yield replace(grid, label="", header=[grid.header[0], *grid.header[last:]], rows=rows)


def _narrow(grid: Grid, width: int = _SHARED_WIDTH) -> Table:
    rows = [[_name(_title(policy), width), *numbers] for policy, *numbers in grid.rows]
    table = console_table(replace(grid, rows=rows))
    table.columns[0].no_wrap = True
    return table


def summary_table(
    summary: Mapping[str, float | None], *, with_work: bool = False, currency: str | None = None
) -> Table:
    """A run's metrics below each other, parts of a sum indented, without what did not occur or is not set.

    Parameters
    ----------
    summary
        As `Result.summary` or `hetsched.analysis.measured` gives it.
    with_work
        Whether to show the metrics of completed and lost work.
    currency
        The unit of costs.
    """
    table = new_table("", numbers=[""], show_header=False)
    for section in SECTIONS:
        if section == "work" and not with_work:
            continue
        rows = [
            (depth, metric)
            for depth, metric in in_section(section)
            if summary.get(metric.key) or (metric.key in summary and not metric.is_rare)
        ]
        for depth, metric in rows:
            is_part = depth > 0 and metric.part_of in summary
            title = "  " * depth + metric.short_title if is_part else metric.title
            table.add_row(
                title, metric.in_currency(currency).text(summary[metric.key]), end_section=metric is rows[-1][1]
            )
    return table


def comparison_table(comparison: pl.DataFrame, *, baseline: str, width: int = 80, currency: str | None = None) -> Group:
    """Policies below each other and metrics side by side: values first, then ratios to the baseline.

    Parameters
    ----------
    comparison
        As `hetsched.analysis.ratios_to_baseline` gives it.
    baseline
        The policy whose ratios are 1.
    width
        Most characters a line.
    currency
        The unit of costs.
    """
    policies = comparison["policy"].unique(maintain_order=True).to_list()
    metrics = [METRICS[key].in_currency(currency) for key in comparison["metric"].unique(maintain_order=True)]
    cells = {(row["policy"], row["metric"]): row for row in comparison.iter_rows(named=True)}
    runs = [cells[policy, metrics[0].key]["runs"] for policy in policies]
    columns = [_column([cells[policy, metric.key] for policy in policies], metric) for metric in metrics]
    names = _Names(policies, runs, baseline)
    return Group(*(_block(names, own, width) for own in _side_by_side(columns, width - _GAP - names.least_width)))


_GAP = 3
"""Between two columns."""
_NAME_LEAST = 24
"""Least width of policies' names, as long as a number fits next to them."""

Cell = tuple[str, str]


class _Names:
    """The column on the left: policies, the number of runs of each, and the baseline."""

    def __init__(self, policies: list[str], runs: list[int], baseline: str) -> None:
        self.policies = policies
        self.runs = runs
        self.baseline = baseline
        titles = [_title(policy) for policy in policies]
        self.longest = max(map(len, [*titles, f"ratio to {_title(baseline)}" if len(policies) > 1 else ""]))
        self.least_width = min(self.longest, _NAME_LEAST)


class _Column:
    """A metric's values in one unit, each with the text of its interval, and the same of its ratios."""

    def __init__(self, title: str, unit: str, lines: list[Cell], ratios: list[Cell]) -> None:
        self.title = title
        self.unit = unit
        self.lines = lines
        self.ratios = ratios
        words = [*title.split(), unit, *(text for cell in (*lines, *ratios) for text in cell)]
        self.least_width = max(map(len, words))

    def header(self, width: int) -> list[str]:
        """Its title in lines, and its unit."""
        return [*folded(self.title, max(width, self.least_width)), *([self.unit] if self.unit else [])]


def _side_by_side(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Columns that fit side by side, at least one."""
    blocks: list[list[_Column]] = [[]]
    for column in columns:
        taken = sum(_GAP + other.least_width for other in (*blocks[-1], column))
        if blocks[-1] and taken > width:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


def _block(names: _Names, columns: Sequence[_Column], width: int) -> Table:
    """A table of some of the metrics; titles are wrapped as far as names need the room."""
    for title_width in (12, 9, 0):
        headers = [column.header(title_width) for column in columns]
        taken = [max(column.least_width, *map(len, lines)) for column, lines in zip(columns, headers, strict=True)]
        room = max(width - 2 - sum(_GAP + own for own in taken), 1)
        if room >= (names.longest if title_width > 9 else names.least_width):
            break
    table = new_table("policy", numbers=map("\n".join, headers), vertical="bottom")
    table.columns[0].no_wrap = True
    for place, policy in enumerate(names.policies):
        _add_rows(table, _name(_title(policy), room), names.runs[place], [column.lines[place] for column in columns])
    if len(names.policies) == 1:
        return table
    table.add_section()
    table.add_row(Text(_name(f"ratio to {_title(names.baseline)}", room), style="italic"))
    for place, policy in enumerate(names.policies):
        if policy != names.baseline:
            _add_rows(table, _name(_title(policy), room), None, [column.ratios[place] for column in columns])
    return table


def _title(policy: str) -> str:
    """A policy's name, with a note that a replayed log was observed."""
    return f"{policy} (observed)" if policy == "replay" else policy


def _name(policy: str, width: int) -> str:
    return "\n".join(folded(policy, width, indent="  "))


def _column(rows: Sequence[Mapping[str, Any]], metric: Metric) -> _Column:
    means, half_widths = ([row[name] for row in rows] for name in ("mean", "half_width_95"))
    lines = list(zip(metric.texts(means), metric.texts(half_widths, like=means), strict=True))
    ratios, ratio_half_widths = ([row[name] for row in rows] for name in ("ratio", "ratio_half_width_95"))
    decimals = _ratio_decimals(ratios)
    texts = [[_ratio_text(ratio, decimals) for ratio in column] for column in (ratios, ratio_half_widths)]
    return _Column(metric.title, metric.unit_for(means).name, lines, list(zip(*texts, strict=True)))


def _ratio_decimals(ratios: Sequence[float | None]) -> int:
    """Three, and up to two more where a ratio would have fewer than three digits."""
    smallest = min((abs(ratio) for ratio in ratios if ratio), default=1.0)
    return min(max(2 - math.floor(math.log10(smallest)), 3), 5)


def _ratio_text(ratio: float | None, decimals: int) -> str:
    return "–" if ratio is None else f"{ratio:.{decimals}f}"


def _add_rows(table: Table, policy: str, runs: int | None, cells: Sequence[Cell]) -> None:
    """A row of values and, for several seeds, one of half the widths of their intervals."""
    table.add_row(policy, *(text for text, _ in cells))
    if any(half_width != "–" for _, half_width in cells):
        note = "  ± (95 %)" if runs is None else f"  ± (95 %, {runs} seeds)"
        table.add_row(Text(note, style="dim"), *(Text(half_width, style="dim") for _, half_width in cells))


def presets_table(*, width: int = 80) -> Table:
    """Every preset with its purpose and its parts; `width` as in `comparison_table`."""
    table = new_table("preset", "what it does")
    room = width - 2 - _GAP - max(map(len, PRESETS))
    for row in presets().iter_rows(named=True):
        composition = " / ".join(row[role] for role in ("order", "backfill", "placement", "power") if row[role])
        settings = f" ({row['parameters']})" if row["parameters"] else ""
        table.add_row(Text(row["name"], style="bold"), PRESETS[row["name"]].doc)
        table.add_row("", Text("\n".join(folded(composition + settings, room)), style="dim"))
    return table


def parts_table(*, width: int = 80) -> Table:
    """Every part by role, with its parameters; `width` as in `comparison_table`."""
    table = new_table("role", "part", "what it does")
    # Names have no more than half of what the role leaves.
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    room = max((width - 2 - 2 * _GAP - len("placement")) // 2, len("sliding-window"))
    last_role = ""
    for (role, name), part in parts().items():
        table.add_row(role if role != last_role else "", Text(name, style="bold"), part["doc"])
        if "package" in part:
            table.add_row("", "", Text(f"from {part['package']}", style="dim"))
        for lines in _parameter_lines(part["parameters"], room):
            table.add_row("", *lines)
        last_role = role
    return table


def _parameter_lines(parameters: Iterable[Mapping[str, str]], width: int) -> Iterable[tuple[Text, Text]]:
    for parameter in parameters:
        setting = f"  {parameter['name']}={parameter['default'].strip(chr(34))}"
        name = "\n".join(folded(setting, width, indent="    "))
        yield Text(name), Text(f"{parameter['doc']} ({parameter['range']})", style="dim")


def machines_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Every machine with its nodes, what all of them draw when idle and at most, and where that is from."""
    source = "what it is, and the source of its numbers"
    table = new_table("machine", numbers=("nodes", "idle kW", "TDP kW"), words=[source])
    for row in rows:
        kilowatts = (f"{row[name] / 1000:,.1f}" for name in ("idle_w", "tdp_w"))
        table.add_row(Text(row["name"], style="bold"), f"{row['nodes']:,}", *kilowatts, row["about"])
        parts = ", ".join(f"{count:,} {name}" for name, count in row["classes"].items())
        queues = f"; queues {', '.join(row['queues'])}" if row["queues"] else ""
        table.add_row("", "", "", "", Text(f"classes: {parts}{queues}", style="dim"))
        table.add_row("", "", "", "", Text(row["source"], style="dim"))
    return table


_PIECES = tuple(re.compile(rf"[^{marks}]*[{marks}]+|[^{marks}]+") for marks in (r"\s:/", "=,(", "._-"))
"""Pieces of a name, each with the marks behind it; coarse ones first."""


def folded(text: str, width: int, *, indent: str = "") -> list[str]:
    """Text in lines, broken at spaces and behind ``:`` and ``/``, else behind ``=``, then ``-``; words are cut last."""
    room = max(width - len(indent), 1)
    pieces = _fitting(text, room)
    lines, line = [], ""
    for piece in pieces:
        if len((line + piece).rstrip()) > width:
            if line.strip():  # a line of nothing but spaces is left out
                lines.append(line.rstrip())
            line = indent if lines else ""
        line += piece
    return [*lines, line.rstrip()]


def _fitting(text: str, width: int) -> list[str]:
    """Text in pieces that fit on a line, no finer than needed."""
    pieces = _PIECES[0].findall(text)
    for finer in _PIECES[1:]:
        own = [[piece] if len(piece.rstrip()) <= width else finer.findall(piece) for piece in pieces]
        pieces = [part for parts in own for part in parts]
    # A space behind a piece that fills the width stays: the line may be wider.
    return [
        piece[at:] if at + width >= len(piece.rstrip()) else piece[at : at + width]
        for piece in pieces
        for at in range(0, max(len(piece.rstrip()), 1), width)
    ]


def __dir__() -> list[str]:
    return sorted(__all__)
