"""Summaries of many runs as columns: what a sweep holds of its runs, the same from the first run to the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.run.metrics import METRICS

_NONE, _WHOLE, _REAL = range(3)


class Summaries:
    """Summaries by key; a run takes nine bytes a number, reserved for all runs at the first."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._row = {key: row for row, key in enumerate(dict.fromkeys(keys))}
        self._known = np.zeros(len(self._row), np.bool_)
        self._columns: dict[str, _Column] = {}

    def __contains__(self, key: str) -> bool:
        return bool(self._known[self._row[key]])

    def add(self, key: str, summary: Mapping[str, object]) -> None:
        """Take the numbers of a run."""
        row = self._row[key]
        self._known[row] = True
        for name, value in summary.items():
            if name not in self._columns:
                self._columns[name] = _Column(len(self._row))
            self._columns[name].put(row, value)

    def columns(self, keys: Sequence[str]) -> dict[str, pl.Series]:
        """A column a metric with the values of these runs: null where a metric does not apply to one."""
        rows = np.array([self._row[key] for key in keys], np.int64)
        order = [*(name for name in METRICS if name in self._columns), *sorted(set(self._columns) - set(METRICS))]
        return {name: self._columns[name].series(rows) for name in order}


class _Column:
    """Numbers of one name, with the kind of each: whole ones stay whole."""

    def __init__(self, length: int) -> None:
        self._numbers: npt.NDArray[Any] = np.zeros(length, np.float64)
        self._kinds = np.full(length, _NONE, np.uint8)

    def put(self, row: int, value: object) -> None:
        """Take a number."""
        if isinstance(value, int):
            self._numbers.view(np.int64)[row], self._kinds[row] = value, _WHOLE
        elif isinstance(value, float):
            self._numbers[row], self._kinds[row] = value, _REAL

    def series(self, rows: npt.NDArray[np.int64]) -> pl.Series:
        """The values of these rows: whole numbers if all are."""
        numbers, kinds = self._numbers[rows], self._kinds[rows]
        is_known, whole = kinds != _NONE, numbers.view(np.int64)
        if is_known.any() and not (kinds == _REAL).any():
            return pl.select(pl.when(pl.Series(is_known)).then(pl.Series(whole))).to_series()
        reals = np.where(kinds == _WHOLE, whole.astype(np.float64), numbers)
        return pl.select(pl.when(pl.Series(is_known)).then(pl.Series(reals))).to_series()
