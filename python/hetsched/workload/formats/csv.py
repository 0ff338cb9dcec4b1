"""Logs in comma-separated values, with a site's own column names; errors name the line."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, reason_of, shown
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE
from hetsched.tables import ENDINGS, CsvText, Record, TableError
from hetsched.typing import OnBadLine
from hetsched.workload.formats.mappings import Columns, check_columns, mapped, text_columns
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line, contents
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import COLUMNS

_EXPECTED = "a CSV file with a line of column names"


def read_csv(
    source: Source,
    *,
    columns: Columns = None,
    separator: str = ",",
    on_bad_line: OnBadLine = "error",
) -> Workload:
    r"""Read a site's own log from comma-separated values; the first line names the columns.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content.
    columns
        From the file's column names to hetsched's, such as ``{"nodes": "node_count"}``; columns that are not named keep
        their name. ``"#row"`` is the number of a row, from 1: ``{"#row": "job_id"}`` numbers the jobs, and a column
        ``job_id`` of the file's own is ``log_id``. Or the name of a published table of jobs, such as ``"philly"``,
        whose columns are known. Instants may be dates in ISO 8601 (``2024-08-30T12:00:00``, ``2024-08-30
        12:00:00+02:00``), which become seconds since 1970, UTC unless an offset says otherwise; spans may be written
        ``01:00:00`` or ``1-02:03:04``. One column holds one of these or plain seconds, and the report says which.
    separator
        One character between fields.
    on_bad_line
        ``"error"``: a line that does not fit is an error. ``"skip"``: it is left out and counted, and the report names
        the first few, unless more than half of all lines do not fit.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        If the file cannot be read, or its columns are not those of a workload; names the line.
    ConfigError
        If `separator` is no single character, or `on_bad_line` is none of its words.

    Examples
    --------
    >>> log = b"id,submit_s,runtime_s,node_count\n1,0,60,2\n2,5,nan,1\n"
    >>> read_csv(log, columns={"id": "job_id"})
    Traceback (most recent call last):
    hetsched.errors.TraceError: bytes, line 3, column `runtime_s`: found `NaN`, expected seconds from 0 to 1e+12
    """
    _check(columns, separator, on_bad_line)
    packed, name, sha256 = contents(source, _EXPECTED)
    text = CsvText(_core.unpacked(packed, file=name), separator)
    skips = on_bad_line == "skip"
    ragged = list(text.ragged()) if skips else []
    errors = tuple(_ragged_error(name, one, text) for one in ragged)
    text = text.without(ragged) if ragged else text
    frame = _frame(text, name, text_columns(columns))
    is_blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    rows = np.flatnonzero(~is_blank.to_numpy())
    frame = frame if len(rows) == len(frame) else frame.filter(~is_blank)
    if not skips:
        _refuse_short_lines(frame, text, name)
    return as_workload(
        mapped(frame, columns, name),
        source=name,
        sha256=sha256,
        settings=_settings(columns, separator, on_bad_line),
        line_of=lambda row: text.line_of(int(rows[row])),
        skips_bad_rows=skips,
        bad_lines=errors,
    )


def _check(columns: object, separator: object, on_bad_line: object) -> None:
    faults = Faults()
    check_columns(faults, columns)
    if not isinstance(separator, str) or len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        faults.add("separator", separator, "one character, such as `;`")
    check_on_bad_line(faults, on_bad_line)
    faults.check()


def _settings(columns: Columns, separator: str, on_bad_line: str) -> dict[str, object]:
    named = columns if isinstance(columns, str) else dict(columns or {})
    given = {"columns": named, "separator": separator, "on_bad_line": on_bad_line}
    usual = {"columns": {}, "separator": ",", "on_bad_line": "error"}
    return {name: value for name, value in given.items() if value != usual[name]}


def _frame(text: CsvText, name: str, words: list[str]) -> pl.DataFrame:
    try:
        frame = text.frame(words=words)
    except UNREADABLE as error:
        raise _unreadable(error, text, name) from None
    for column in frame.columns:
        stem = re.sub(r"_duplicated_\d+$", "", column)
        if stem != column and stem in frame.columns:
            raise TraceError(file=name, line=1, found=f"column {shown(stem)} twice", expected="each column name once")
    return frame


def _unreadable(error: BaseException, text: CsvText, name: str) -> TraceError:
    """The error of a file that polars refused."""
    if isinstance(error, pl.exceptions.NoDataError):
        return TraceError(file=name, found="an empty file", expected=_EXPECTED)
    if isinstance(error, TableError):
        return TraceError(file=name, found=error.found, expected=error.expected)
    if (ragged := next(text.ragged(), None)) is not None:
        return _ragged_error(name, ragged, text)
    return TraceError(file=name, found=f"no CSV ({reason_of(error)})", expected=_EXPECTED)


def _refuse_short_lines(rows: pl.DataFrame, text: CsvText, name: str) -> None:
    """Raise at a line with too few fields, which polars fills up with nulls: never without one in the last column."""
    if not rows.width or not rows.to_series(-1).null_count() or text.is_plainly_even:
        return
    for ragged in text.ragged():
        raise _ragged_error(name, ragged, text)


def _ragged_error(name: str, ragged: Record, text: CsvText) -> TraceError:
    expected = f"{len(text.header)} fields, as the first line has"
    return TraceError(file=name, line=ragged.first, found=f"{len(ragged.fields)} fields", expected=expected)


def _names_columns(head: bytes) -> bool:
    """True if the first line names a column that every workload has; JSON may name one of them, too."""
    names = {column.name.encode() for column in COLUMNS.values() if column.is_required}
    line = head.lstrip().partition(b"\n")[0]
    return not line.startswith((b"{", b"[")) and not names.isdisjoint(re.findall(rb"\w+", line))


FORMAT = Format(
    name="csv",
    suffixes=ENDINGS["csv"],
    doc="comma-separated values with hetsched's column names, or with a mapping to them",
    read=read_csv,
    recognizes=_names_columns,
)
