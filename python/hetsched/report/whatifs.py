"""Table and picture of a machine under other settings, against today."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.console import Group
from rich.table import Table
from rich.text import Text

from hetsched.analysis import METRICS
from hetsched.report.canvas import COLOURS, interval, length_ticks, new_figure, write_ticks
from hetsched.report.comparisons import ENERGY_WAIT_IN, is_wide, set_energies
from hetsched.report.lettering import WIDTH_IN, legend, named, width_in
from hetsched.report.tables import folded, new_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["setting_figure"]

MOST_SHOWN = 20
"""Rows of a table on a terminal; files and JSON have all."""

_GAP = 3
_NAME_LEAST = 18
AXES = ("mean_wait_s", "energy_j")
"""Metrics of the picture, if they were asked for."""

_HEIGHT_IN = ENERGY_WAIT_IN + 0.9
_OFFSETS = tuple((right, up) for up in (2.0, -11.0, 11.0, -20.0, 20.0) for right in (4.0, -4.0))
"""Places of a number next to its dot, in points: right of it or left, and up; the best first."""
_TEXT_PT = 9.0
_AXES_IN = np.array([0.86 * WIDTH_IN, 0.72 * _HEIGHT_IN])
"""About the size of the axes; their layout is settled when all is drawn."""

_TODAY, _BEST, _OTHERS = "today", "not dominated, by row", "dominated"


def keys_table(rows: Sequence[tuple[str, str]], *, width: int = 80) -> Table:
    """Every key of settings with its values."""
    table = new_table("key", "values")
    table.columns[0].no_wrap = True
    room = (width - _GAP) // 2
    for name, form in rows:
        table.add_row(Text("\n".join(folded(name, room, indent="  ")), style="bold"), Text(form))
    return table


def setting_table(table: pl.DataFrame, changes: pl.DataFrame, *, width: int = 80) -> Group:
    """Settings below each other and metrics side by side: the value, its change against today, and the interval.

    Parameters
    ----------
    table, changes
        As `WhatIf` has them. Of many settings those that no other dominates come first.
    width
        Most characters a line.
    """
    best = table.filter((pl.col("row") == 0) | pl.col("pareto"))
    others = table.filter((pl.col("row") != 0) & ~pl.col("pareto"))
    shown = pl.concat([best, others]).head(MOST_SHOWN).sort("row")
    columns = [
        _column(changes.filter(metric=key), key, shown["row"]) for key in changes["metric"].unique(maintain_order=True)
    ]
    marks = [f"{'*' if is_best else ' '}{row:>4}" for row, is_best in shown.select("row", "pareto").iter_rows()]
    titles = [title.replace(", ", "\n") for title in shown["setting"]]
    blocks = [_block(marks, titles, own, width) for own in _side_by_side(columns, width - 5 - 2 * _GAP - _NAME_LEAST)]
    lines = ["* no other row is better in one of these and no worse in the others"]
    lines += (
        ["? the 95 % interval over weeks, in brackets, holds 0"]
        if changes["certain"].any() is not None and changes["certain"].null_count() < len(changes)
        else []
    )
    left = len(table) - len(shown)
    lines += [f"and {left:,} more rows, dominated or behind these; --out and --json have all"] if left else []
    return Group(*blocks, *(Text(line, style="dim") for line in lines))


_Column = tuple[list[str], list[list[str]]]
"""Lines of a head, and lines of each cell."""


def _column(own: pl.DataFrame, key: str, rows: pl.Series) -> _Column:
    metric = METRICS[key]
    by_row = {row["row"]: row for row in own.iter_rows(named=True)}
    kept = [by_row[row] for row in rows]
    texts = metric.texts([row["value"] for row in kept])
    cells = [[text, *(change_lines(row) if row["row"] else [])] for text, row in zip(texts, kept, strict=True)]
    unit = metric.unit_for([row["value"] for row in kept]).name
    return [*folded(metric.title, 12), *([unit] if unit else [])], cells


def change_lines(row: Mapping[str, Any]) -> list[str]:
    """A row's change against today and, where it has one, the interval."""
    ratio = row["change_ratio"]
    if ratio is None:
        change = row["change"]
        return [] if change is None else [f"{'+' if change > 0 else ''}{METRICS[row['metric']].text(change)}"]
    unsure = " ?" if row["certain"] is False and row["change"] else ""
    lines = [f"{percent_text(ratio)} %{unsure}"]
    ends = [row["change_ratio_low"], row["change_ratio_high"]]
    if None not in ends:
        lines.append(f"({percent_text(ends[0])}, {percent_text(ends[1])})")
    return lines


def percent_text(ratio: float) -> str:
    """A share in percent with its sign and three digits."""
    percent = 100 * ratio
    if percent == 0 or not math.isfinite(percent):
        return f"{percent:.0f}"
    decimals = min(max(2 - math.floor(math.log10(abs(percent))), 0), 4)
    return f"{percent:+,.{decimals}f}"


def _width(column: _Column) -> int:
    head, cells = column
    return max(map(len, [*head, *(line for cell in cells for line in cell)]))


def _side_by_side(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Columns that fit side by side, at least one."""
    blocks: list[list[_Column]] = [[]]
    for column in columns:
        if blocks[-1] and sum(_GAP + _width(one) for one in (*blocks[-1], column)) > width:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


def _block(marks: Sequence[str], titles: Sequence[str], columns: Sequence[_Column], width: int) -> Table:
    table = new_table("row", "setting", numbers=["\n".join(head) for head, _ in columns], vertical="top")
    for column in table.columns:
        column.no_wrap = True
    room = max(width - 7 - _GAP - sum(_GAP + _width(column) for column in columns), 8)
    for place, (mark, title) in enumerate(zip(marks, titles, strict=True)):
        lines = [part for line in title.split("\n") for part in folded(line, room, indent="  ")]
        cells = ["\n".join(cells[place]) for _, cells in columns]
        table.add_row(mark, "\n".join(lines), *cells)
    return table


def setting_figure(table: pl.DataFrame, metrics: Sequence[str], *, title: str = "") -> Figure:
    """Energy against wait, a dot a setting with 95 % intervals of its change; those that no other dominates by number.

    Parameters
    ----------
    table
        As `WhatIf` has it.
    metrics
        Its metrics; the first two where energy and mean wait are not among them.
    title
        Text above the picture.
    """
    x, y = AXES if set(AXES) <= set(metrics) else (metrics[0], metrics[1])
    with new_figure([_HEIGHT_IN], title=title) as (figure, (axes,)):
        _draw(axes, table, x, y)
        legend(figure, named(axes), columns=3)
    return figure


def _draw(axes: Axes, table: pl.DataFrame, x: str, y: str) -> None:
    known = table.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    units = {key: METRICS[key].unit_for(known[key].to_list()) for key in (x, y)}
    groups = {
        _OTHERS: known.filter(~pl.col("pareto") & (pl.col("row") != 0)),
        _BEST: known.filter(pl.col("pareto") & (pl.col("row") != 0)),
        _TODAY: known.filter(pl.col("row") == 0),
    }
    scales = {key: units[key].scale for key in (x, y)}
    for name, own in groups.items():
        if len(own):
            _dots(axes, own, scales, name, has_intervals=name != _OTHERS or len(own) <= MOST_SHOWN)
    for key, axis, label in ((x, axes.xaxis, axes.set_xlabel), (y, axes.yaxis, axes.set_ylabel)):
        values = known[key].to_numpy() / units[key].scale
        name = f"{METRICS[key].title} ({units[key].name})" if units[key].name else METRICS[key].title
        label(name)
        if axis is axes.xaxis and key.endswith("_s") and is_wide(values):
            axes.set_xscale("log")
            scale = units[key].scale
            write_ticks(
                axis,
                [(at / scale, text) for at, text in length_ticks(values.min() / 3 * scale, values.max() * 3 * scale)],
            )
            axes.minorticks_off()
            label(METRICS[key].title)
    axes.margins(x=0.1, y=0.14)
    if y == "energy_j":
        set_energies(axes, known[y].to_numpy() / units[y].scale)
    if groups[_BEST].height <= MOST_SHOWN:
        _write_numbers(axes, groups[_BEST], scales)


_LOOKS: Mapping[str, Mapping[str, Any]] = {
    _OTHERS: {
        "color": "#8C8C8C",
        "marker": "o",
        "fillstyle": "none",
        "markersize": 3.5,
        "elinewidth": 0.4,
        "zorder": 2,
    },
    _BEST: {"color": COLOURS["blue"], "marker": "o", "markersize": 4.5, "elinewidth": 0.8, "zorder": 3},
    _TODAY: {"color": COLOURS["vermilion"], "marker": "D", "markersize": 5.5, "zorder": 4},
}


def _dots(axes: Axes, own: pl.DataFrame, scales: Mapping[str, float], name: str, *, has_intervals: bool) -> None:
    at, reach = [], []
    for key, scale in scales.items():
        change, low, high = (own[f"{key}_change{end}"].fill_null(np.nan).to_numpy() for end in ("", "_low", "_high"))
        at.append(own[key].to_numpy() / scale)
        down, up = np.nan_to_num(np.clip(np.array([change - low, high - change]), 0.0, None)) / scale
        # No wait and no energy is below 0, whatever an interval of its change says.
        reach.append(np.stack([np.minimum(down, at[-1]) if (at[-1] >= 0).all() else down, up]))
    own_reach: Sequence[Any] = reach if has_intervals else (None, None)
    style = {**_LOOKS[name], "label": name, "linestyle": "none"}
    interval(axes, at[0], at[1], xerr=own_reach[0], yerr=own_reach[1], **style)


def _write_numbers(axes: Axes, own: pl.DataFrame, scales: Mapping[str, float]) -> None:
    """Write the rows' numbers next to their dots, each where it covers no other; those without room are left out."""
    x, y = (own[key].to_numpy() / scale for key, scale in scales.items())
    size = 72 * _AXES_IN
    at = axes.transAxes.inverted().transform(axes.transData.transform(np.column_stack((x, y)))) * size
    taken: list[tuple[float, float, float]] = []
    for place, row in enumerate(own["row"]):
        width = 72 * width_in(str(row))
        for right, up in _OFFSETS:
            shift = right if right > 0 else right - width
            left, bottom = at[place] + (shift, up)
            if not any(
                left < other + wide + 1 and other < left + width + 1 and abs(bottom - low) < _TEXT_PT
                for other, low, wide in taken
            ):
                taken.append((left, bottom, width))
                style: dict[str, Any] = {"textcoords": "offset points", "color": COLOURS["blue"], "va": "bottom"}
                axes.annotate(str(row), (x[place], y[place]), (shift, up), **style)
                break


def __dir__() -> list[str]:
    return sorted(__all__)
