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
    # By numpy: for the few values of most runs a query takes longer than the work.
    instants = seconds.cast(pl.Float64).to_numpy() * TICKS_S
    whole: npt.NDArray[np.float64] = np.trunc(instants)
    whole += np.where(np.abs(instants - whole) >= 0.5, np.sign(instants), 0.0)
    if seconds.null_count():
        whole[seconds.is_null().to_numpy()] = null
    return whole.astype(np.int64)
