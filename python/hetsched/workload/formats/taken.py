"""Columns of jobs taken from a log that the engine has read, one by one: what is not used of each goes at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core


class Taker(Protocol):
    """A log that has been read."""

    def take_texts(self) -> list[str]:
        """All texts by number, the first being none."""
        ...

    def take_column(self, name: str, rank: npt.NDArray[np.uint32], /) -> _core.Frame | None:
        """A column by itself, texts by number; None where no job has it."""
        ...


def taken(log: Taker, names: Iterable[str], rank: npt.NDArray[np.uint32]) -> dict[str, pl.Series]:
    """The columns that some job has, by name, and `device` of jobs with GPUs; `rank` numbers the names of nodes."""
    texts = pl.Series(log.take_texts(), dtype=pl.String)
    found: dict[str, pl.Series] = {}
    for name in names:
        column = log.take_column(name, rank)
        if column is not None:
            values = pl.DataFrame(column).to_series()
            found[name] = texts.gather(values).alias(name) if values.dtype == pl.UInt32 else values
    gpus = found.get("gpus")
    if gpus is not None and (gpus > 0).any():
        found["device"] = pl.select(pl.when(gpus > 0).then(pl.lit("gpu")).alias("device")).to_series()
    return found
