"""Brings a user's columns into the job table's types, or says which value does not fit.

Numbers of any width, dates, spans and categories are taken for what they mean; letters are never read as numbers,
except in a file of text, where nothing else can hold them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from hetsched.checks import shown
from hetsched.errors import TraceError
from hetsched.workload import node_lists
from hetsched.workload.schema import Column
from hetsched.workload.times import date_seconds, has_offset, span_seconds

__all__ = ["BadRows", "Origin", "converted"]

DATES_UTC = "dates (UTC)"
"""What is said of dates that do not say themselves how far from UTC they are."""


class BadRows(Exception):  # noqa: N818 -- says what it carries; it never reaches a user
    """Rows that cannot be, raised in place of the first one's error where such rows are skipped.

    Parameters
    ----------
    rows
        Which, ascending.
    fault_of
        From a row to what is wrong with it.
    """

    def __init__(self, rows: list[int], fault_of: Callable[[int], TraceError]) -> None:
        super().__init__(rows)
        self.rows = rows
        self.fault_of = fault_of


@dataclass(frozen=True)
class Origin:
    """Where a frame came from, for messages.

    Parameters
    ----------
    source
        The file's name, or what else the frame came from.
    line_of
        From a row to its line, if the source is a text file.
    skips_bad_rows
        Whether rows that cannot be are to be left out.
    read_from
        What columns were converted from, column by column; filled in on the way.
    """

    source: str
    line_of: Callable[[int], int] | None = None
    skips_bad_rows: bool = False
    read_from: dict[str, str] = field(default_factory=dict)

    def fault(self, column: str, row: int, found: str, expected: str) -> TraceError:
        """The error for one cell."""
        line, counted = (row, "row") if self.line_of is None else (self.line_of(row), "line")
        return TraceError(
            file=self.source, line=line, counted=counted, field=f"column `{column}`", found=found, expected=expected
        )

    def refuse(self, values: pl.Series, bad: pl.Series, expected: str) -> None:
        """Raise at the first row where `bad` is true, showing its value."""
        rows = bad.fill_null(value=False).arg_true()
        if not len(rows):
            return

        def fault_of(row: int, more: str = "") -> TraceError:
            found = "nothing" if values[row] is None else shown(values[row])
            return self.fault(values.name, row, found + more, expected)

        if self.skips_bad_rows:
            raise BadRows(rows.to_list(), fault_of)
        raise fault_of(int(rows[0]), f" (and {len(rows) - 1:,} more)" if len(rows) > 1 else "")


def converted(values: pl.Series, column: Column, origin: Origin) -> pl.Series:
    """The values in the column's type.

    Parameters
    ----------
    values
        As the user has them; bears the column's name.
    column
        What it should become.
    origin
        For messages.

    Raises
    ------
    TraceError
        If the type does not fit, or a value is no number or out of the type's range.
    """
    if values.dtype == column.dtype:
        return values
    if values.dtype == pl.Null:
        return values.cast(column.dtype)
    if isinstance(column.dtype, pl.List):
        return _to_nodes(values, column, origin)
    if column.dtype is pl.String:
        return _to_text(values, column, origin)
    if column.dtype is pl.Boolean:
        return _to_truth(values, column, origin)
    if column.dtype is pl.Float64:
        return _to_float(values, column, origin)
    return _to_whole(values, column, origin)


def _wrong_type(values: pl.Series, expected: str, origin: Origin) -> TraceError:
    return TraceError(
        file=origin.source,
        field=f"column `{values.name}`",
        found=f"values of type {values.dtype} such as {shown(values.drop_nulls().first())}",
        expected=expected,
    )


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
    lists = None if is_text and origin.line_of is None else node_lists.as_lists(values)
    if lists is None:
        raise _wrong_type(values, column.expected, origin)
    origin.refuse(values if is_text else node_lists.text_of(values), lists[1], column.expected)
    return lists[0]


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


def _zone(dates: pl.Series) -> str:
    """What is to be said of dates: whether they were taken as UTC."""
    known = has_offset(dates.drop_nulls())
    if not known.any():
        return DATES_UTC
    return "dates" if known.all() else "dates (UTC where they have no offset)"
