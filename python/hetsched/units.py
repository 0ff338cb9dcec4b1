"""Seconds, and the whole microseconds in which the engine counts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

TICKS_S = 1_000_000
"""Microseconds in a second."""

Ints = npt.NDArray[np.int64]


def ticks(name: str) -> pl.Expr:
    """A column of seconds as whole microseconds; null for null."""
    return (pl.col(name).cast(pl.Float64) * TICKS_S).round(mode="half_away_from_zero")


def micros(seconds: pl.Series, null: int = -1) -> Ints:
    """Seconds as whole microseconds; `null` for null."""
    whole = seconds.to_frame("seconds").select(ticks("seconds")).to_series()
    return whole.cast(pl.Int64).fill_null(null).to_numpy()
