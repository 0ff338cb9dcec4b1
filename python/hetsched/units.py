"""Columns as numbers: seconds, and the whole microseconds in which the engine counts them.

By numpy: most runs have few jobs, and each query of polars takes a tenth of a millisecond.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

TICKS_S = 1_000_000
"""Microseconds in a second."""
Ints = npt.NDArray[np.int64]


def floats(column: pl.Series, missing: float = 0.0) -> npt.NDArray[np.float64]:
    """A column of numbers, true or false being 1 or 0; `missing` for null."""
    known = column.cast(pl.Float64).to_numpy()
    return np.where(np.isnan(known), missing, known) if column.null_count() else known


def instant(seconds: float) -> int:
    """A number of seconds as whole microseconds."""
    return round(seconds * TICKS_S)


def ticks(name: str) -> pl.Expr:
    """A column of seconds as whole microseconds; null for null."""
    return (pl.col(name).cast(pl.Float64) * TICKS_S).round(mode="half_away_from_zero")


def micros(seconds: pl.Series, null: int = -1) -> Ints:
    """Seconds as whole microseconds; `null` for null."""
    instants = seconds.cast(pl.Float64).to_numpy() * TICKS_S  # NaN for null
    whole: npt.NDArray[np.float64] = np.trunc(instants)
    whole += np.where(np.abs(instants - whole) >= 0.5, np.sign(instants), 0.0)
    if seconds.null_count():
        whole[np.isnan(whole)] = null
    return whole.astype(np.int64)
