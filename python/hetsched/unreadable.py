"""What reading and writing a table's file can raise."""

from __future__ import annotations

import polars as pl

__all__ = ["UNREADABLE"]

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What the system and polars raise; a damaged file can make polars panic."""
