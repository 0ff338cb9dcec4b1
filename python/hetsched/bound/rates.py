"""Draws of nodes and times that they take, by table row; and grids of values with the shares of jobs between them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.platform import VariationTable

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NO_ROW = -1
_ANY_APP = "*"


def on_the_clock(seconds: pl.Series) -> Floats:
    """Seconds as the engine counts them, in whole microseconds; NaN for null."""
    values = seconds.cast(pl.Float64).fill_null(math.nan).to_numpy()
    return np.asarray(np.floor(values * 1e6 + 0.5) / 1e6)


def measured(jobs: pl.DataFrame) -> Floats:
    """Watts that jobs bring along; 0 where they bring none."""
    if "power_w" not in jobs.columns:
        return np.zeros(len(jobs))
    return jobs["power_w"].cast(pl.Float64).fill_null(0.0).fill_nan(0.0).to_numpy()


def rows_of(app: pl.Series, table: VariationTable | None) -> Whole:
    """The table's row that serves each job; `NO_ROW` where none does."""
    if table is None:
        return np.full(len(app), NO_ROW, dtype=np.int64)
    rows = {name: row for row, name in enumerate(table.apps)}
    named = app.replace_strict(rows, default=rows.get(_ANY_APP, NO_ROW), return_dtype=pl.Int64)
    return pl.select(pl.when(app.is_null()).then(NO_ROW).otherwise(named)).to_series().to_numpy()


def row_rates(table: VariationTable | None, row: int, busy_w: Floats, *, is_own: bool) -> tuple[Floats, ...]:
    """Time ratio, fixed watts and factor on the job's own watts, by node; the engine's order of what is known first."""
    ones, zeros = np.ones_like(busy_w), np.zeros_like(busy_w)
    if table is None or row == NO_ROW:
        return (ones, zeros, ones) if is_own else (ones, busy_w, zeros)
    time_ratio = ones if table.time_ratio is None else table.time_ratio[row]
    if table.power_w is not None:
        return time_ratio, table.power_w[row], zeros
    assert table.power_ratio is not None
    ratio = table.power_ratio[row]
    return (time_ratio, zeros, ratio) if is_own else (time_ratio, ratio * busy_w, zeros)


def levels_of(values: Floats, weights: Floats, most: int, *, last: float = -math.inf) -> Floats:
    """At most `most` values that span `values`, denser where there is more weight; `last` is kept apart."""
    inside = values != last
    distinct = np.unique(values[inside])
    if len(distinct) > most:
        order = np.argsort(values[inside], kind="stable")
        below = np.cumsum(weights[inside][order])
        marks = np.searchsorted(below, np.linspace(0.0, below[-1], most)).clip(max=len(order) - 1)
        distinct = np.unique(np.append(values[inside][order[marks]], distinct[[0, -1]]))
    return distinct if inside.all() else np.append(distinct, last)


def shares_of(values: Floats, levels: Floats) -> list[tuple[Whole, Floats]]:
    """Levels, for each value, below and above it, and its share of each."""
    above = np.searchsorted(levels, values).clip(max=len(levels) - 1)
    below = np.maximum(above - 1, 0)
    gap = levels[above] - levels[below]
    safe = np.where(gap > 0, gap, 1.0)
    # Each share by its own subtraction: neither loses digits to the other.
    low = np.where(gap > 0, (levels[above] - values) / safe, 0.0)
    high = np.where(gap > 0, (values - levels[below]) / safe, 1.0)
    return [(below, low), (above, high)]
