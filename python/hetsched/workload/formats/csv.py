"""Logs in comma-separated values, with a site's own column names; errors name the line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, reason_of, shown
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE, for_csv
from hetsched.workload.formats.raw import Format, RawTrace, Source, check_on_bad_line, contents, renamed
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import TEXT_COLUMNS

_EXPECTED = "a CSV file with a line of column names"


def read(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str = ",",
    on_bad_line: str = "error",
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
    on_bad_line
        ``"skip"``: lines with too few or too many fields are left out, and so are rows that do not fit the schema.
    text_columns
        Columns, by hetsched's names, that stay text even where every value is a number.

    Raises
    ------
    TraceError
        If the file cannot be read, a line has too few or too many fields, or a column that `columns` names is missing.
    ConfigError
        If `separator` or `on_bad_line` cannot be.
    """
    _check(separator, on_bad_line)
    packed, name, sha256 = contents(source, _EXPECTED)
    data = _core.unpacked(packed, file=name)
    skips = on_bad_line == "skip"
    ragged = list(_ragged(data, separator)) if skips else []
    text = _without(ragged, data) if ragged else data
    frame = _frame(text, name, separator, _text_columns(columns or {}, text_columns))
    is_blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    rows = np.flatnonzero(~is_blank.to_numpy())
    frame = frame if len(rows) == len(frame) else frame.filter(~is_blank)
    if not skips:
        _refuse_short_lines(frame, data, name, separator)
    return RawTrace(
        renamed(frame, columns, name),
        source=name,
        sha256=sha256,
        settings=_settings(columns, separator, on_bad_line),
        line_of=_line_finder(text, rows, separator),
        skips_bad_rows=skips,
        bad_lines=tuple(_ragged_error(name, one) for one in ragged),
    )


def _check(separator: object, on_bad_line: object) -> None:
    faults = Faults()
    if not isinstance(separator, str) or len(separator.encode()) != 1 or separator in '"\r\n':
        faults.add("separator", separator, "one character, such as `;`")
    check_on_bad_line(faults, on_bad_line)
    faults.check()


def _settings(columns: Mapping[str, str] | None, separator: str, on_bad_line: str) -> dict[str, object]:
    given = {"columns": dict(columns or {}), "separator": separator, "on_bad_line": on_bad_line}
    usual = {"columns": {}, "separator": ",", "on_bad_line": "error"}
    return {name: value for name, value in given.items() if value != usual[name]}


def _text_columns(columns: Mapping[str, str], wanted: Iterable[str]) -> list[str]:
    """The file's names of the columns that are text, whatever they look like."""
    ours = set(wanted)
    return [theirs for theirs, name in columns.items() if name in ours] + sorted(ours - set(columns.values()))


def _frame(data: bytes, name: str, separator: str, text_columns: list[str]) -> pl.DataFrame:
    try:
        frame = pl.read_csv(
            data,
            separator=separator,
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(text_columns, pl.String),
        )
    except UNREADABLE as error:
        raise _unreadable(error, data, name, separator) from None
    _refuse_repeated_names(frame.columns, name)
    return frame


def _unreadable(error: BaseException, data: bytes, name: str, separator: str) -> TraceError:
    """What to raise for a file that polars refused."""
    if isinstance(error, pl.exceptions.NoDataError):
        return TraceError(file=name, found="an empty file", expected=_EXPECTED)
    if (ragged := next(_ragged(data, separator), None)) is not None:
        return _ragged_error(name, ragged)
    return TraceError(file=name, found=f"no CSV ({reason_of(error)})", expected=_EXPECTED)


def _refuse_repeated_names(names: list[str], file: str) -> None:
    for name in names:
        stem = re.sub(r"_duplicated_\d+$", "", name)
        if stem != name and stem in names:
            raise TraceError(file=file, line=1, found=f"column {shown(stem)} twice", expected="each column name once")


def _refuse_short_lines(rows: pl.DataFrame, data: bytes, name: str, separator: str) -> None:
    """Raise at a line with too few fields, which polars fills up with nulls: never without one in the last column."""
    if not rows.width or not rows.to_series(-1).null_count():
        return
    mark = separator.encode()
    # Where no field is quoted, counting the separators of each line is a fast proof that all are whole.
    counts = {line.count(mark) for line in io.BytesIO(data) if line.strip(mark + b" \t\r\n")}
    if b'"' in data or counts != {rows.width - 1}:
        for ragged in _ragged(data, separator):
            raise _ragged_error(name, ragged)


@dataclass(frozen=True)
class _Ragged:
    """A record with more or fewer fields than the header: its lines, and the two numbers."""

    first: int
    last: int
    found: int
    expected: int


def _ragged_error(name: str, ragged: _Ragged) -> TraceError:
    expected = f"{ragged.expected} fields, as the first line has"
    return TraceError(file=name, line=ragged.first, found=f"{ragged.found} fields", expected=expected)


def _ragged(data: bytes, separator: str) -> Iterator[_Ragged]:
    """The records with a number of fields of their own; those that hold nothing at all are none."""
    width = None
    for first, last, fields in _records(data, separator):
        if width is None:
            width = len(fields)
        elif any(fields) and len(fields) != width:
            yield _Ragged(first, last, len(fields), width)


def _without(ragged: list[_Ragged], data: bytes) -> bytes:
    """The text without these records; blank lines stand for them, so that all others keep their lines."""
    lines = list(_text(data))
    for one in ragged:
        lines[one.first - 1 : one.last] = ["\n"] * (one.last - one.first + 1)
    return "".join(lines).encode()


def _line_finder(data: bytes, rows: np.ndarray, separator: str) -> Callable[[int], int]:
    """A function from a row of the frame to its line in the file; it costs something only when it is asked."""

    def line_of(row: int) -> int:
        record = int(rows[row])
        lines = (line for line, _, _ in _records(data, separator))
        next(lines, None)
        return next((line for k, line in enumerate(lines) if k == record), record + 2)

    return line_of


def _text(data: bytes) -> io.StringIO:
    return io.StringIO(data.decode("utf-8", errors="replace"), newline="")


def _records(data: bytes, separator: str) -> Iterator[tuple[int, int, list[str]]]:
    """Every record from the header on, with the lines it begins and ends on, up to what is no CSV."""
    reader = csv.reader(_text(data), delimiter=separator)
    begun, line = False, 1
    try:
        for fields in reader:
            begun = begun or bool(fields)
            if begun:
                yield line, reader.line_num, fields
            line = reader.line_num + 1
    except csv.Error:
        return


def read_csv(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str = ",",
    on_bad_line: str = "error",
) -> Workload:
    r"""Read a site's own log from comma-separated values; the first line names the columns.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content.
    columns
        From the file's column names to hetsched's, such as ``{"nodes": "node_count"}``; columns that are not named
        keep their name. Instants may be dates in ISO 8601 (``2024-08-30T12:00:00``, ``2024-08-30 12:00:00+02:00``),
        which become seconds since 1970, UTC unless an offset says otherwise; spans may be written ``01:00:00`` or
        ``1-02:03:04``. One column holds one of these or plain seconds, and the report says which.
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
    return read(
        source, columns=columns, separator=separator, on_bad_line=on_bad_line, text_columns=TEXT_COLUMNS
    ).workload()


_ROWS_A_PART = 50_000


def _parts(workload: Workload) -> Iterator[bytes]:
    frame = for_csv(workload.to_polars())
    yield frame.clear().write_csv().encode()
    yield from (part.write_csv(include_header=False).encode() for part in frame.iter_slices(_ROWS_A_PART))


FORMAT = Format(
    name="csv",
    suffixes=(".csv", ".csv.gz", ".csv.zst"),
    doc="comma-separated values with hetsched's column names, or with a mapping to them",
    read=read_csv,
    write={".csv": _parts},
)
