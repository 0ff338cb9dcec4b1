"""A published experiment on a terminal: the table of quantities, and why some are not as the paper says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

_STYLES = {"yes": "green", "shape": "yellow", "uncertain": "yellow", "no": "red"}
_OF_CLAIMS = {"yes": "claim holds", "no": "claim fails"}


def experiment_table(rows: pl.DataFrame, *, title: str = "") -> Table:
    """Quantities below each other: the paper's value, ours with its 95 % interval, and whether it was reproduced.

    `rows` are as `hetsched.experiments.Report.table` gives them.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("quantity")
    table.add_column("paper", justify="right", no_wrap=True)
    table.add_column("here ± (95 %)", justify="right", no_wrap=True)
    table.add_column("reproduced", no_wrap=True)
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        found = Text(verdict(row["reproduced"], row["paper"]), style=_STYLES.get(row["reproduced"], ""))
        table.add_row(str(number), Text(row["quantity"]), _paper(row["paper"]), _here(row), found)
    return table


def verdict(reproduced: str | None, paper: float | None) -> str:
    """A row's verdict as a table shows it; what stands beside no value of a paper is a claim, not a reproduction."""
    if reproduced is None:
        return ""
    return reproduced if paper is not None else _OF_CLAIMS.get(reproduced, reproduced)


def _paper(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _here(row: Mapping[str, Any]) -> str:
    """A mean and half the width of its interval, with as many decimals as the latter deserves."""
    half_width = (row["high"] - row["low"]) / 2
    decimals = 3 if half_width < 1 else 1
    return f"{row['here']:.{decimals}f} ± {half_width:.{decimals}f}"


def reasons(rows: pl.DataFrame) -> Iterable[str]:
    """Why something is not simply ``yes``: a line for each reason, with the numbers of its rows.

    What stands behind a reason's first semicolon may be common to several.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for number, row in enumerate(rows.select("reproduced", "paper", "reason").iter_rows(named=True), start=1):
        own, _, common = row["reason"].partition("; ")
        if row["reproduced"] not in (None, "yes"):
            told = verdict(row["reproduced"], row["paper"])
            found.setdefault((told, common or own), []).append(f"{number}: {own}" if common else str(number))
    return (f"{told}: {reason} ({'; '.join(places)})" for (told, reason), places in found.items())


def settings(parameters: Mapping[str, Any]) -> str:
    """Parameters with their values, in one line."""
    return ", ".join(f"{name} {_setting(value)}" for name, value in parameters.items())


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({settings(value)})"
    if isinstance(value, list):
        return (" to " if len(value) == 2 else "/").join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
