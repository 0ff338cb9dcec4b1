"""Tables in files, read strictly: separated text whose rows know their lines, and Parquet held to what it claims.

Polars takes memory for as many values as a Parquet file says it has. Where damage has made that a number beyond all
memory the interpreter ends, without an error that could be caught. So the numbers of values in the footer and before
each page are read here first, by the field numbers of Parquet's thrift definition; all else is for polars to report.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from hetsched import _core
from hetsched.checks import did_you_mean, listed, many, one_line, reason_of, shown
from hetsched.errors import ConfigError, Fault, TraceError
from hetsched.files import UNREADABLE, write_whole
from hetsched.resources import available_bytes, check_threads

_Read = TypeVar("_Read")

ENDINGS = {"csv": (".csv", ".csv.gz", ".csv.zst"), "parquet": (".parquet",), "toml": (".toml",)}
"""Ends of files' names by kind."""

_SUFFIXES = (*ENDINGS["csv"], *ENDINGS["parquet"])
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_NO_VALUE = ["", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "-"]


class TableError(ValueError):
    """A file is no table; `line` is counted from 1, None: not on one line."""

    def __init__(self, found: str, expected: str, *, line: int | None = None) -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected
        self.line = line


class Record(NamedTuple):
    """A row of separated text, with the lines it begins and ends on."""

    first: int
    last: int
    fields: Sequence[str]


@dataclass(frozen=True)
class CsvText:
    """Separated text as records that know their lines, counted from 1."""

    data: bytes
    separator: str = ","

    def records(self, *, strict: bool = False) -> Iterator[Record]:
        """Every record from the header on, up to what is no CSV."""
        reader = csv.reader(self._opened(), delimiter=self.separator, strict=strict)
        has_begun, line = False, 1
        with suppress(csv.Error):
            for fields in reader:
                has_begun = has_begun or bool(fields)
                if has_begun:
                    yield Record(line, reader.line_num, fields)
                line = reader.line_num + 1

    @property
    def header(self) -> Sequence[str]:
        """The columns' names."""
        return next((record.fields for record in self.records()), ())

    def ragged(self, *, strict: bool = False) -> Iterator[Record]:
        """The records with another number of fields than the header; those that hold nothing at all are none."""
        width = len(self.header)
        return (one for one in self.records(strict=strict) if any(one.fields) and len(one.fields) != width)

    @property
    def is_plainly_even(self) -> bool:
        """True if counting separators is proof enough that no record is ragged: no field is quoted."""
        mark = self.separator.encode()
        lines = (line for line in io.BytesIO(self.data) if line.strip(mark + b" \t\r\n"))
        return b'"' not in self.data and len({line.count(mark) for line in lines}) <= 1

    def without(self, records: Iterable[Record]) -> CsvText:
        """The text with blank lines in place of these records, so that all others keep their lines."""
        lines = list(self._opened())
        for one in records:
            lines[one.first - 1 : one.last] = ["\n"] * (one.last - one.first + 1)
        return CsvText("".join(lines).encode(), self.separator)

    def line_of(self, row: int) -> int:
        """The line on which a row of the table begins; only the first answer costs something."""
        return self._begins[row] if row < len(self._begins) else row + 2

    @cached_property
    def _begins(self) -> Sequence[int]:
        """The lines on which the rows begin."""
        return [record.first for record in self.records()][1:]

    def frame(self, *, words: Iterable[str] = (), no_value: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows; columns among `words` are text whatever they look like, fields among `no_value` are missing.

        Raises a `TableError` if memory cannot hold a value for each field of each line.
        """
        self._check_size()
        return pl.read_csv(
            self.data,
            separator=self.separator,
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(words, pl.String),
            null_values=None if no_value is None else list(no_value),
        )

    def _check_size(self) -> None:
        """Raise if there are more lines than memory can hold: a small compressed file may be made of line ends."""
        lines = self.data.count(b"\n")
        # Two numbers a field: what is read is checked and, where types differ, converted.
        if 16 * lines * len(self.header) > _memory():
            raise TableError(f"{lines:,} lines, more than memory can hold", "lines with a value in each field")

    def _opened(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8-sig", errors="replace", newline="")


@dataclass(frozen=True, eq=False)
class Table:
    """A file's rows, and where they are in it; a Parquet file has no text, and its rows no lines."""

    path: str
    frame: pl.DataFrame
    text: CsvText | None = None

    def located(self, error: ConfigError, *, rows: bool = True) -> ConfigError:
        """The same faults, those in ``runs`` (the frame) by the file's name, line and column.

        Without `rows` their rows are left out, as they are not the file's.
        """
        return error.mapped(lambda fault: self._located(fault, rows=rows) if fault.is_of("runs") else fault)

    def _located(self, fault: Fault, *, rows: bool) -> Fault:
        place = self.path
        if rows and fault.row is not None:
            place += f", row {fault.row}" if self.text is None else f", line {self.text.line_of(fault.row)}"
        return fault.at(fault.moved("runs", "").under(place, ", ").path)


def kind_of(path: str | os.PathLike[str]) -> str:
    """``csv`` (also packed), ``parquet`` or ``toml``, by a file's name; nothing for another."""
    name = os.path.basename(path).lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), "")


def read_table(path: object, expected: str, *, words: Iterable[str] = ()) -> Table:
    """The table of a file whose name ends in ``.csv`` (also packed) or ``.parquet``; words for no value are missing.

    Raises a `ConfigError` if it cannot be read, or is no table with each column's name once and as many fields on each
    line; `expected` says what the file should be.
    """
    name = _checked_name(path)
    if kind_of(name) == "parquet":
        return read_parquet_table(name, expected)
    return read_csv_table(name, expected, words=words, no_value=_NO_VALUE)


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame to a file whose name ends in ``.csv`` or ``.parquet``, whole or not at all; every digit is kept.

    Raises a `ConfigError` if the name ends otherwise, and an `OutputError` if the file cannot be written.
    """
    writers: dict[str, Callable[[Path], object]] = {".csv": frame.write_csv, ".parquet": frame.write_parquet}
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise ConfigError([("path", shown(os.fspath(path)), f"a name ending in {listed(writers)}")])
    write_whole(Path(path), writers[suffix])


def refuse_other_frames(frame: object, parameter: str = "frame") -> None:
    """Raise unless it is a polars DataFrame, saying how to make it one."""
    if not isinstance(frame, pl.DataFrame):
        expected = "a polars DataFrame (LazyFrame: .collect(), pandas: pl.from_pandas(frame))"
        raise ConfigError([(parameter, type(frame).__name__, expected)])


def read_parquet_table(path: str, expected: str) -> Table:
    """Same as `read_table`, whatever the file's name."""
    return Table(path, _read(path, expected, read_parquet))


def read_csv_table(
    path: str, expected: str, *, words: Iterable[str] = (), no_value: Sequence[str] | None = None
) -> Table:
    """Same as `read_table`, whatever the file's name."""
    return _read(path, expected, lambda data: _csv_table(path, data, words, no_value))


def _checked_name(path: object) -> str:
    if not isinstance(path, str | os.PathLike):
        raise ConfigError([("path", shown(path), f"the name of a file ending in {listed(_SUFFIXES)}")])
    name = os.fspath(path)
    if not isinstance(name, str) or not name.lower().endswith(_SUFFIXES):
        hint = did_you_mean("".join(Path(os.fsdecode(name)).suffixes[-2:]).lower(), _SUFFIXES)
        raise ConfigError([("path", shown(os.fsdecode(name)), f"a name ending in {listed(_SUFFIXES)}{hint}")])
    if "\0" in name:
        raise ConfigError([("path", shown(name), "a name without a zero byte")])
    return name


def _read(path: str, expected: str, read: Callable[[bytes], _Read]) -> _Read:
    check_threads()
    where = path
    try:
        with open(path, "rb") as file:
            return read(file.read())
    except TableError as error:
        found, expected = one_line(error.found, limit=100), error.expected
        where = path if error.line is None else f"{path}, line {error.line}"
    except UNREADABLE as error:
        found = reason_of(error).removeprefix("found ")
    raise ConfigError([(one_line(where), found, expected)])


def _csv_table(path: str, data: bytes, words: Iterable[str], no_value: Sequence[str] | None) -> Table:
    try:
        data = _core.unpacked(data, file="")
    except TraceError as error:
        raise TableError(error.found, error.expected) from None
    # Blank lines at the end are no rows.
    text = CsvText(data.rstrip(b"\r\n"))
    _check_head(text.data)
    _check_records(text)
    _check_letters(text.data)
    try:
        return Table(path, text.frame(words=words, no_value=no_value), text)
    except pl.exceptions.PolarsError:
        _check_quotes(text)
        raise


def _check_head(data: bytes) -> None:
    """Raise the faults that the first lines show; polars would report them in its own terms."""
    if b"\0" in data[:4096]:
        raise TableError("binary data", "a text file with commas between the fields")
    head, _, rest = data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    names = head.decode("utf-8", "replace").strip()
    if not names:
        found = "an empty first line" if data.strip() else "an empty file"
        raise TableError(found, "a line with the columns' names")
    for mark, word in _OTHER_SEPARATORS.items():
        if mark in names and "," not in names:
            raise TableError(f"{word} between the fields", "commas between the fields, and points in numbers", line=1)
    if not rest.strip():
        raise TableError("no rows", f"rows below the header: {listed(names.split(','))}")


def _check_records(text: CsvText) -> None:
    """Raise the first record that has not as many fields as the header, or a column's name that stands twice."""
    # Text that the reader of records refuses is for polars to report.
    ragged = None if text.is_plainly_even else next(text.ragged(strict=True), None)
    if ragged is not None:
        found = f"{many(len(ragged.fields), 'field')} in `{','.join(ragged.fields)}`"
        expected = f"{len(text.header)} fields, as the header has, with commas between"
        raise TableError(found, expected, line=ragged.last)
    for name in text.header:
        if (count := text.header.count(name)) > 1:
            raise TableError(f"column {shown(name)} {count} times", "each column once", line=1)


def _check_letters(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        found = f"bytes that are no UTF-8 text, {shown(data[error.start : error.start + 8])}"
        raise TableError(found, "a text file in UTF-8", line=data.count(b"\n", 0, error.start) + 1) from None


def _check_quotes(text: CsvText) -> None:
    reader, line = csv.reader(text._opened(), strict=True), 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        found = f"quotes that do not match ({one_line(str(error))})"
        raise TableError(found, "quotes in pairs around a whole field", line=line) from None


def misfit(values: pl.Series) -> tuple[int | None, str]:
    """The row of the first word in a column of numbers, and the word; no row and the column's type if there is none."""
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        rows = ((numbers.is_null() | numbers.is_nan()) & values.is_not_null()).arg_true()
        if len(rows):
            return rows[0], values[rows[0]]
    return None, f"values of type {values.dtype}"


_MARK = b"PAR1"
_BYTES_OF_TYPE = {0: 0.125, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 16, 7: 1}

# Thrift's compact types; the fields of Parquet's structs are looked at by their numbers.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _, _, _STRUCT = range(1, 13)
_DEEPEST = 40


class DamagedParquetError(ValueError):
    """A file's claims about itself are false."""


def read_parquet(data: bytes) -> pl.DataFrame:
    """A frame of a Parquet file's rows; raises a `DamagedParquetError` if it claims to hold what it cannot."""
    # A file that does not look like one at all is for polars to report.
    if len(data) >= 12 and data[-4:] == _MARK:
        try:
            _check(memoryview(data))
        except (LookupError, TypeError, AttributeError):
            raise DamagedParquetError("damaged inside") from None
    return pl.read_parquet(data)


def _check(data: memoryview) -> None:
    """Hold the values that a file claims to have to memory, and those of its pages to their columns."""
    end = len(data) - 8
    start = end - int.from_bytes(data[end : end + 4], "little")
    _hold(start >= 4, "a footer longer than the file")
    footer, _ = _value(data[:end], start, _STRUCT)
    rows, groups = footer[3], footer[4]
    columns = [column[3] for group in groups for column in group[1]]
    _hold(min([rows, *(group[3] for group in groups), *(column[5] for column in columns)]) >= 0, "fewer than no values")
    unpacked = sum(_BYTES_OF_TYPE[column[1]] * column[5] for column in columns)
    # Twice: what is read is checked and, where types differ, converted.
    _hold(2 * max(unpacked, rows * 0.125) <= _memory(), "more values than memory can hold")
    for column in columns:
        first = column.get(11, column[9])
        _check_pages(data[:start], first, first + column[7], column[5])


def _check_pages(data: memoryview, place: int, end: int, most: int) -> None:
    """Hold the pages from a place to an end to so many values, the number that their column claims."""
    _hold(0 <= place <= end <= len(data), "columns outside of the file")
    seen = 0
    while place < end and (seen < most or not seen):
        page, place = _value(data, place, _STRUCT)
        _hold(page[3] >= 0, "pages outside of their columns")
        place += page[3]
        # Pages of data, in two versions; a page of neither is a dictionary.
        counted = [page[kind][1] for kind in (5, 8) if kind in page] or [0]
        _hold(min(counted) >= 0 and max(counted) <= most - seen, "pages of more values than their columns")
        seen += max(counted)


def _hold(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise DamagedParquetError(f"damaged inside: it claims {otherwise}")


def _memory() -> int:
    """Bytes of memory that are left to this process, or those that the machine has where nothing says."""
    left_b = available_bytes()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if left_b is None else left_b


def _value(data: memoryview, place: int, kind: int, depth: int = 0) -> tuple[Any, int]:
    """A value in Thrift's compact protocol and where it ends; a struct is its fields by their numbers."""
    _hold(depth < _DEEPEST, "a struct in a struct without end")
    if kind == _STRUCT:
        return _struct(data, place, depth)
    if kind == _LIST:
        size, kind, place = data[place] >> 4, data[place] & 15, place + 1
        if size == 15:
            size, place = _varint(data, place)
        found = []
        for _ in range(size):
            value, place = _value(data, place, kind, depth + 1)
            found.append(value)
        return found, place
    if kind in (_I16, _I32, _I64):
        number, place = _varint(data, place)
        return number >> 1 ^ -(number & 1), place
    size, place = _varint(data, place) if kind == _BINARY else (8 if kind == _DOUBLE else 1, place)
    return data[place : place + size], place + size


def _struct(data: memoryview, place: int, depth: int) -> tuple[dict[int, Any], int]:
    found: dict[int, Any] = {}
    field = 0
    while head := data[place]:
        place += 1
        kind, step = head & 15, head >> 4
        field, place = (field + step, place) if step else _value(data, place, _I16)
        # A truth value is its type, and takes no byte of its own.
        found[field], place = (kind, place) if kind in (_TRUE, _FALSE) else _value(data, place, kind, depth + 1)
    return found, place + 1


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        number |= (data[place] & 127) << shift
        place += 1
        if data[place - 1] < 128:
            return number, place
        shift += 7
    raise DamagedParquetError("damaged inside: it claims a number without end")
