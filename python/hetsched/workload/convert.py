"""Brings a user's columns into the job table's types, or says which value does not fit.

Numbers of any width, dates, spans and categories are taken for what they mean; letters are never read as numbers,
except in a file of text, where nothing else can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import more_in_brackets, shown
from hetsched.errors import TraceError
from hetsched.workload.schema import Column

DATES_UTC = "dates (UTC)"
"""Note on dates that do not say themselves how far from UTC they are."""


class BadRows(Exception):  # noqa: N818 -- says what it carries; it never reaches a user
    """Invalid rows, raised in place of the first one's error where such rows are skipped."""

    def __init__(self, rows: list[int], fault_of: Callable[[int], TraceError]) -> None:
        super().__init__(rows)
        self.rows = rows
        self.fault_of = fault_of


@dataclass(frozen=True)
class Origin:
    """Source of a frame, for messages.

    `line_of` goes from a row to its line in a text file, `row_of` to its row in the frame that was given; columns of a
    file may be mapped as it is read; `read_from` fills with what columns were converted from.
    """

    source: str
    line_of: Callable[[int], int] | None = None
    row_of: Callable[[int], int] = int
    skips_bad_rows: bool = False
    is_file: bool = False
    read_from: dict[str, str] = field(default_factory=dict)

    def fault(self, column: str, row: int, found: str, expected: str) -> TraceError:
        """The error for one cell."""
        line, counted = (self.row_of(row), "row") if self.line_of is None else (self.line_of(row), "line")
        return TraceError(
            file=self.source, line=line, counted=counted, field=f"column `{column}`", found=found, expected=expected
        )

    def misfit(self, column: str, found: str, expected: str) -> TraceError:
        """The error for a whole column."""
        return TraceError(file=self.source, field=f"column `{column}`", found=found, expected=expected)

    def refuse(self, values: pl.Series, bad: pl.Series, expected: str) -> None:
        """Raise at the first row where `bad` is true, showing its value."""
        if not bad.any():
            return
        rows = bad.fill_null(value=False).arg_true()

        def fault_of(row: int, more: str = "") -> TraceError:
            found = "nothing" if values[row] is None else shown(values[row])
            return self.fault(values.name, row, found + more, expected)

        if self.skips_bad_rows:
            raise BadRows(rows.to_list(), fault_of)
        raise fault_of(int(rows[0]), more_in_brackets(len(rows) - 1))


_Converter = Callable[[pl.Series, Column, Origin], pl.Series]


def converted(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    """The values in the column's type; a `TraceError` at the first that does not fit."""
    if values.dtype == column.dtype:
        return values
    if values.dtype == pl.Null:
        return values.cast(column.dtype)
    if isinstance(column.dtype, pl.List):
        is_numbers = column.dtype.inner == pl.Float64
        return (_to_numbers if is_numbers else _to_nodes)(values, column, origin)
    kinds: dict[object, _Converter] = {pl.String: _to_text, pl.Boolean: _to_truth, pl.Float64: _to_float}
    return kinds.get(column.dtype, _to_whole)(values, column, origin)


def _wrong_type(values: pl.Series, expected: str, origin: Origin) -> TraceError:
    found = f"values of type {values.dtype} such as {shown(values.drop_nulls().first())}"
    return origin.misfit(values.name, found, expected)


def _to_text(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    if values.dtype.is_float() and _is_whole(values).all():
        values = values.cast(pl.Int64)
    if values.dtype.is_integer():
        # The archive's format writes an unknown user, queue or application as -1.
        text = values.cast(pl.String)
        return text.set(values == -1, None) if (values == -1).any() else text
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        return values.cast(pl.String)
    raise _wrong_type(values, f"text or whole numbers ({column.meaning})", origin)


def _to_nodes(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    is_text = values.dtype == pl.String
    lists = None if is_text and origin.line_of is None else node_lists(values)
    if lists is None:
        raise _wrong_type(values, column.expected, origin)
    origin.refuse(values if is_text else nodes_text(values), lists[1], column.expected)
    return lists[0]


def _to_numbers(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    """Lists of numbers, of a file of text with blanks between them."""
    if values.dtype == pl.String and origin.line_of is not None:
        words = values.str.strip_chars().str.split(" ")
        words = words.set(values.str.strip_chars() == "", None)
        lists = words.cast(pl.List(pl.Float64), strict=False)
        is_number = pl.element().cast(pl.Float64, strict=False).is_not_null() | (pl.element() == "null")
        origin.refuse(values, ~words.list.eval(is_number).list.all(), column.expected)
        return lists
    if isinstance(values.dtype, pl.List) and (values.dtype.inner.is_numeric() or values.dtype.inner == pl.Null):
        return values.cast(column.dtype)
    raise _wrong_type(values, column.expected, origin)


def _to_float(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    dtype = values.dtype
    if isinstance(dtype, pl.Duration) and column.unit == "seconds" and not column.is_instant:
        return values.dt.total_microseconds().cast(pl.Float64) / 1e6
    if isinstance(dtype, pl.Duration | pl.Datetime) and column.is_instant:
        if isinstance(dtype, pl.Datetime):
            origin.read_from[column.name] = "dates" if dtype.time_zone else DATES_UTC
        micros = values.dt.total_microseconds() if isinstance(dtype, pl.Duration) else values.dt.epoch("us")
        return micros.cast(pl.Float64) / 1e6
    if dtype.is_numeric():
        return values.cast(pl.Float64)
    if dtype == pl.String and origin.line_of is not None:
        return _parsed(values, column, origin)
    raise _wrong_type(values, column.expected, origin)


def _to_truth(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    if values.dtype == pl.String and origin.line_of is not None:
        words = values.str.strip_chars().str.to_lowercase()
        words = words.set(words == "", None)
        origin.refuse(values, ~words.is_in(["true", "false", "1", "0"]), column.expected)
        return words.is_in(["true", "1"])
    if not values.dtype.is_integer():
        raise _wrong_type(values, column.expected, origin)
    origin.refuse(values, ~values.is_in([0, 1]), column.expected)
    return values == 1


def _to_whole(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    if values.dtype == pl.String and origin.line_of is not None:
        values = _parsed(values, column, origin)
    if values.dtype.is_decimal():
        values = values.cast(pl.Float64)
    if not values.dtype.is_numeric():
        raise _wrong_type(values, column.expected, origin)
    if values.dtype.is_float():
        origin.refuse(values, ~_is_whole(values), column.expected)
    whole = values.cast(column.dtype, strict=False)
    origin.refuse(values, whole.is_null() & values.is_not_null(), column.expected)
    return whole


def _is_whole(values: pl.Series) -> pl.Series:
    return values.is_finite() & (values.floor() == values)


def _parsed(text: pl.Series, column: Column, origin: Origin) -> pl.Series:
    """Numbers (or dates, or spans) out of the fields of a text file; an empty field is null."""
    text = text.str.strip_chars()
    text = text.set(text == "", None)
    values, expected = text.cast(pl.Float64, strict=False), column.expected
    if column.unit == "seconds" and values.null_count() > text.null_count():
        written = date_seconds(text) if column.is_instant else span_seconds(text)
        example = "date such as 2024-05-01T12:00:00" if column.is_instant else "span such as 1-02:03:04 or 01:00:00"
        # Dates among seconds are of two clocks: what most rows hold is what all must hold.
        if written.count() > values.count():
            values, expected = written, f"a {example}, as in other rows"
            origin.read_from[column.name] = _zone(text) if column.is_instant else "spans"
        else:
            expected = f"{expected}, or a {example}"
    origin.refuse(text, values.is_null() & text.is_not_null(), expected)
    return values


# Spans and dates as people and batch systems write them.

_SPAN = r"^(?:(\d{1,8})-)?(\d{1,8}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)$"
_DATE = (
    r"^(\d{4}-\d{2}-\d{2})"
    r"(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?)?"
    r"\s?(?:[Zz]|([+-])(0\d|1[0-4]):?([0-5]\d)?)?$"
)
_OFFSET = r"(?:[Zz]|[T ].*[+-]\d{2}:?(?:\d{2})?)$"


def span_seconds(text: pl.Series) -> pl.Series:
    """Seconds of spans written ``HH:MM:SS`` or, as Slurm has them, ``D-HH:MM:SS``; null for anything else."""
    days, hours, minutes, seconds = map(_number, _groups(text, _SPAN))
    return (days.fill_null(0.0) * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds).alias(text.name)


def date_seconds(text: pl.Series) -> pl.Series:
    """Seconds since 1970 of dates in ISO 8601, UTC where they have no offset; null for anything else."""
    day, *clock, sign, offset_h, offset_min = _groups(text, _DATE)
    hours, minutes, seconds = (_number(part).fill_null(0.0) for part in clock)
    east = 1.0 - 2.0 * (sign == "-").fill_null(value=False).cast(pl.Float64)
    offset_s = _number(offset_h).fill_null(0.0) * 3600.0 + _number(offset_min).fill_null(0.0) * 60.0
    midnight_s = _number(day.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32)) * 86400.0
    return (midnight_s + hours * 3600.0 + minutes * 60.0 + seconds - east * offset_s).alias(text.name)


def _zone(dates: pl.Series) -> str:
    """Note on dates: whether they were taken as UTC."""
    known = dates.drop_nulls().str.contains(_OFFSET)
    if not known.any():
        return DATES_UTC
    return "dates" if known.all() else "dates (UTC where they have no offset)"


def _groups(text: pl.Series, pattern: str) -> list[pl.Series]:
    return text.str.extract_groups(pattern).struct.unnest().get_columns()


def _number(values: pl.Series) -> pl.Series:
    return values.cast(pl.Float64, strict=False)


# Lists of node numbers, one a job: out of lists, or out of the text of a file, and as the engine takes them.

_PIECE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")
_LAST_NODE = 2**32 - 2
MOST_OF_A_LIST, _MOST_OF_ALL = 10_000_000, 250_000_000
"""Node numbers that a field, and all fields of a column, may name: ranges are counted before they are written out."""


def node_numbers(text: str, most: int = MOST_OF_A_LIST) -> list[int] | None:
    """The numbers in a field of a file, such as ``0-2, 7``, ranges with both their ends; None for anything else."""
    ranges: list[tuple[int, int]] = []
    for word in re.split(r"[\s,]+", text.strip()):
        piece = _PIECE.fullmatch(word)
        if piece is None:
            return None
        low, high = int(piece[1]), int(piece[2] or piece[1])
        most -= high - low + 1
        if not low <= high <= _LAST_NODE or most < 0:
            return None
        ranges.append((low, high))
    return [node for low, high in ranges for node in range(low, high + 1)]


def node_lists(values: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """The values as lists of node numbers, and which of them are invalid; None if the whole type is."""
    dtype = values.dtype
    if dtype == pl.String:
        read, left = [], _MOST_OF_ALL
        for text in values:
            is_empty = text is None or not text.strip()
            read.append(None if is_empty else (node_numbers(text, min(MOST_OF_A_LIST, left)), text))
            left -= len(read[-1][0] or ()) if read[-1] is not None else 0
        lists = pl.Series(values.name, [pair and pair[0] for pair in read], dtype=pl.List(pl.UInt32))
        return lists, pl.Series([pair is not None and pair[0] is None for pair in read], dtype=pl.Boolean)
    if not isinstance(dtype, pl.List | pl.Array) or not (dtype.inner.is_integer() or dtype.inner == pl.Null):
        return None
    whole = values.cast(pl.List(dtype.inner)).cast(pl.List(pl.Int64), strict=False)
    fits = pl.element().is_between(0, _LAST_NODE).fill_null(value=False).all()
    good = whole.list.eval(fits).list.first().fill_null(value=True)
    return whole.set(~good, None).cast(pl.List(pl.UInt32)) if not good.all() else whole.cast(pl.List(pl.UInt32)), ~good


def other_nodes(nodes: pl.Series, node_count: pl.Series) -> pl.Series:
    """Mask of jobs whose nodes are invalid: a node twice, or not as many as the job asks for."""
    distinct = nodes.list.drop_nulls().list.n_unique()
    return ((distinct != node_count) | (nodes.list.len() != node_count)).fill_null(value=False)


def nodes_text(nodes: pl.Series) -> pl.Series:
    """The lists as messages show them: ``3 null``."""
    return nodes.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("null")).list.join(" ")


def node_offsets(nodes: pl.Series) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets of each job's nodes in the list of all, and one more; and that list. Null: no nodes."""
    length = nodes.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    flat = nodes.explode(empty_as_null=False, keep_nulls=False).cast(pl.Int64).to_numpy()
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64), flat
