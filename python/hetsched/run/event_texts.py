"""Rows of events as people write them: dates in place of seconds, spans, ranges of nodes, racks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timezone, tzinfo

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults
from hetsched.workload.convert import date_seconds, node_lists, span_seconds

TIMES = ("time_s", "until_s", "announced_s")
"""Columns of instants: seconds on the log's clock, or dates."""

WRITTEN = ("for_s", "nodes", "rack")
"""Columns that replace others: of ``until_s``, and of ``node``."""

WORDS = ("kind", *TIMES, *WRITTEN)
"""Columns that are read from separated text as they stand."""

_OFFSET = r"(?:[Zz]|[T ].*[+-]\d{2}:?(?:\d{2})?)\s*$"

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Instants:
    """Numbers of a column of instants, NaN where there is none, and which of them count from 1970."""

    seconds: npt.NDArray[np.float64]
    is_date: _Mask


def instants_of(column: pl.Series, zone: tzinfo) -> Instants | None:
    """The instants of a column of numbers, dates or text of either; None if it is of another type.

    Dates that do not say how far they are from UTC are of `zone`.
    """
    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Null:
        return Instants(_floats(column), np.zeros(len(column), np.bool_))
    if dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        unix_s = column.dt.epoch("us").cast(pl.Float64) / 1e6
        seconds = _floats(unix_s if column.dtype.time_zone else _of_zone(unix_s, zone))
        return Instants(seconds, ~np.isnan(seconds))
    if dtype != pl.String:
        return None
    text = column.str.strip_chars()
    numbers, unix_s = text.cast(pl.Float64, strict=False), date_seconds(text)
    has_offset = text.str.contains(_OFFSET).fill_null(value=False)
    unix_s = pl.select(pl.when(has_offset).then(unix_s).otherwise(_of_zone(unix_s, zone))).to_series()
    is_date = numbers.is_null().to_numpy()
    seconds = np.where(is_date, _floats(unix_s), _floats(numbers))
    return Instants(seconds, is_date & ~np.isnan(seconds))


def spans_of(column: pl.Series) -> npt.NDArray[np.float64] | None:
    """Seconds of a column of numbers, durations or text such as ``04:00:00``; None if it is of another type."""
    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return _floats(column)
    if isinstance(column.dtype, pl.Duration):
        return _floats(column.dt.total_microseconds().cast(pl.Float64) / 1e6)
    if column.dtype != pl.String:
        return None
    text = column.str.strip_chars()
    return _floats(text.cast(pl.Float64, strict=False).fill_null(span_seconds(text)))


def nodes_of(column: pl.Series, faults: Faults) -> pl.Series:
    """Lists of node numbers; notes what is none."""
    expected = "nodes such as `0-71` or `3,7-9` (ends included)"
    lists = node_lists(column) if column.dtype != pl.Null else (column.cast(pl.List(pl.UInt32)), column.is_not_null())
    if lists is None:
        faults.note("events.nodes", f"values of type {column.dtype}", expected)
        return pl.Series("nodes", [None] * len(column), dtype=pl.List(pl.UInt32))
    for row in lists[1].arg_true()[:10].to_list():
        faults.add("events.nodes", column[row], expected, row=row)
    return lists[0].alias("nodes")


def _of_zone(local_s: pl.Series, zone: tzinfo) -> pl.Series:
    """Seconds since 1970 of what a zone's clock shows, given as if it were UTC's."""
    if zone is timezone.utc:
        return local_s
    naive = (local_s * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    # An hour that the clock shows twice is the first of the two; one that it leaves out is taken as an hour later.
    known = naive.dt.replace_time_zone(str(zone), ambiguous="earliest", non_existent="null")
    known = known.fill_null(
        naive.dt.offset_by("1h").dt.replace_time_zone(str(zone), ambiguous="earliest", non_existent="null")
    )
    return known.dt.epoch("us").cast(pl.Float64) / 1e6


def _floats(column: pl.Series) -> npt.NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
