"""Logs in comma-separated values, with a site's own column names; errors name the line."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import polars as pl

from hetsched.config import reason_of, shown
from hetsched.errors import TraceError
from hetsched.trace.raw import Format, RawTrace, Source, contents
from hetsched.trace.renaming import renamed
from hetsched.unreadable import UNREADABLE

__all__ = ["FORMAT", "read"]

_EXPECTED = "a CSV file with a line of column names"


def read(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str = ",",
    text_columns: Iterable[str] = (),
) -> RawTrace:
    """Read a log in CSV: plain, gzip or zstd; the first line names the columns.

    Parameters
    ----------
    source
        Path or content.
    columns
        From the file's column names to hetsched's; columns that are not named keep their name.
    separator
        One character between fields.
    text_columns
        Columns, by hetsched's names, that stay text even where every value is a number.

    Raises
    ------
    TraceError
        If the file cannot be read, a line has too few or too many fields, or a column that `columns` names is missing.
    """
    data, name, sha256 = contents(source, _EXPECTED)
    wanted = set(text_columns)
    theirs = {k for k, ours in (columns or {}).items() if ours in wanted} | (wanted - set((columns or {}).values()))
    try:
        frame = pl.read_csv(
            data,
            separator=separator,
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(theirs, pl.String),
        )
    except UNREADABLE as error:
        raise _unreadable(error, data, name, separator) from None
    _refuse_repeated_names(frame.columns, name)
    is_blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    _refuse_ragged_lines(data, name, separator, records=len(frame) - int(is_blank.sum()), width=frame.width)
    rows = np.flatnonzero(~is_blank.to_numpy())
    frame = renamed(frame if len(rows) == len(frame) else frame.filter(~is_blank), columns, name)
    settings = {"columns": dict(columns)} if columns else {}
    line_of = _line_finder(data, rows, separator)
    return RawTrace(frame, source=name, sha256=sha256, settings=settings, line_of=line_of)


def _unreadable(error: BaseException, data: bytes, name: str, separator: str) -> TraceError:
    """What to raise for a file that polars refused."""
    if isinstance(error, pl.exceptions.NoDataError):
        return TraceError(file=name, found="an empty file", expected=_EXPECTED)
    if (ragged := _first_ragged(data, separator)) is not None:
        return _ragged_error(name, *ragged)
    return TraceError(file=name, found=f"no CSV ({reason_of(error)})", expected=_EXPECTED)


def _refuse_repeated_names(names: list[str], file: str) -> None:
    for name in names:
        stem = re.sub(r"_duplicated_\d+$", "", name)
        if stem != name and stem in names:
            raise TraceError(file=file, line=1, found=f"column {shown(stem)} twice", expected="each column name once")


def _refuse_ragged_lines(data: bytes, name: str, separator: str, *, records: int, width: int) -> None:
    """Raise at a line with too few fields, which polars would fill up with nulls."""
    # Where no field is quoted, counting separators proves all lines whole without looking at each.
    if b'"' not in data and _is_text(data) and data.count(separator.encode()) == (records + 1) * (width - 1):
        return
    if (ragged := _first_ragged(data, separator)) is not None:
        raise _ragged_error(name, *ragged)


def _ragged_error(name: str, line: int, found: int, expected: int) -> TraceError:
    return TraceError(
        file=name, line=line, found=f"{found} fields", expected=f"{expected} fields, as the first line has"
    )


def _first_ragged(data: bytes, separator: str) -> tuple[int, int, int] | None:
    """The first record with a number of fields of its own: its line, that number, and the header's."""
    width = None
    for line, fields in _records(data, separator):
        if width is None:
            width = len(fields)
        elif fields and len(fields) != width:
            return line, len(fields), width
    return None


def _line_finder(data: bytes, rows: np.ndarray, separator: str) -> Callable[[int], int]:
    """A function from a row of the frame to its line in the file; it costs something only when it is asked."""

    def line_of(row: int) -> int:
        record = int(rows[row])
        lines = (line for line, _ in _records(data, separator))
        next(lines, None)
        return next((line for k, line in enumerate(lines) if k == record), record + 2)

    return line_of


def _is_text(data: bytes) -> bool:
    return not data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))


def _records(data: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Every record from the header on, with the line it begins at; none where the text cannot be had."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return
    elif not _is_text(data):
        return
    reader = csv.reader(io.StringIO(data.decode("utf-8", errors="replace"), newline=""), delimiter=separator)
    begun, line = False, 1
    try:
        for fields in reader:
            begun = begun or bool(fields)
            if begun:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error:
        return


FORMAT = Format(
    name="csv",
    suffixes=(".csv", ".csv.gz", ".csv.zst"),
    doc="comma-separated values with hetsched's column names, or with a mapping to them",
    read=read,
    options=("columns", "separator"),
)
