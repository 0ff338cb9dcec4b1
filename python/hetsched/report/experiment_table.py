"""A published experiment on a terminal: the table of quantities, and why some are not as the paper says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

__all__ = ["experiment_table", "reasons", "settings"]

_STYLES = {"yes": "green", "shape": "yellow", "no": "red"}


def experiment_table(rows: pl.DataFrame, *, title: str = "") -> Table:
    """Quantities below each other: the paper's value, ours with its 95 % interval, and whether it was reproduced.

    Parameters
    ----------
    rows
        ``quantity, paper, here, low, high, reproduced``.
    title
        What stands above it.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("quantity")
    table.add_column("paper", justify="right", no_wrap=True)
    table.add_column("here ± (95 %)", justify="right", no_wrap=True)
    table.add_column("reproduced", no_wrap=True)
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        verdict = Text(row["reproduced"], style=_STYLES[row["reproduced"]])
        table.add_row(str(number), Text(row["quantity"]), _paper(row["paper"]), _here(row), verdict)
    return table


def _paper(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _here(row: Mapping[str, Any]) -> str:
    """A mean and half the width of its interval, with as many decimals as the latter deserves.

    Examples
    --------
    >>> _here({"here": 2.0853, "low": 2.039, "high": 2.131}), _here({"here": 124.34, "low": 116.4, "high": 132.28})
    ('2.085 ± 0.046', '124.3 ± 7.9')
    """
    half_width = (row["high"] - row["low"]) / 2
    decimals = 3 if half_width < 1 else 1
    return f"{row['here']:.{decimals}f} ± {half_width:.{decimals}f}"


def reasons(rows: pl.DataFrame) -> Iterable[str]:
    """Why something is not simply ``yes``: a line for each reason, with the numbers of its rows.

    Parameters
    ----------
    rows
        ``reproduced, reason``; what stands behind a reason's first semicolon may be common to several.

    Examples
    --------
    >>> why = ["a", "half the paper; no watts", "twice the paper; no watts", "it saves: not certain"]
    >>> frame = pl.DataFrame({"reproduced": ["yes", "shape", "shape", "no"], "reason": why})
    >>> list(reasons(frame))
    ['shape: no watts (2: half the paper; 3: twice the paper)', 'no: it saves: not certain (4)']
    """
    found: dict[tuple[str, str], list[str]] = {}
    for number, (verdict, reason) in enumerate(rows.select("reproduced", "reason").iter_rows(), start=1):
        own, _, common = reason.partition("; ")
        if verdict != "yes":
            found.setdefault((verdict, common or own), []).append(f"{number}: {own}" if common else str(number))
    return (f"{verdict}: {reason} ({'; '.join(places)})" for (verdict, reason), places in found.items())


def settings(parameters: Mapping[str, Any]) -> str:
    """Parameters with their values, in one line.

    Parameters
    ----------
    parameters
        By name.

    Examples
    --------
    >>> settings({"nodes": 1990, "utilization": {"busy": 0.8}, "time_range_s": [130.0, 151.0]})
    'nodes 1990, utilization (busy 0.8), time_range_s 130 to 151'
    """
    return ", ".join(f"{name} {_setting(value)}" for name, value in parameters.items())


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({settings(value)})"
    if isinstance(value, list):
        return (" to " if len(value) == 2 else "/").join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
