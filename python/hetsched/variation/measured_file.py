"""The file of measured runs: read strictly, and what is wrong in it told by its line."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import polars as pl

from hetsched.checks import did_you_mean, listed, one_line, shown
from hetsched.errors import ConfigError, Fault
from hetsched.parquet import read_parquet
from hetsched.variation.csv_rows import CsvTextError, check_csv_text, unpacked_text
from hetsched.variation.frame import read_frame

__all__ = ["RunsFile"]

_SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".parquet")
_NO_VALUE = ["", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "null", "NULL", "None", "-"]


class RunsFile:
    """Measured runs of a file, and the places of its rows.

    Parameters
    ----------
    path
        Ends in ``.csv``, ``.csv.gz``, ``.csv.zst`` or ``.parquet``.
    words
        The column that holds text whatever it looks like.

    Raises
    ------
    ConfigError
        If it cannot be read, or is no table with each column's name once and as many fields on each line; names the
        line.
    """

    def __init__(self, path: str | os.PathLike[str], *, words: object) -> None:
        self._path = _checked_name(path)
        self._text: bytes | None = None
        self._words = {words: pl.String} if isinstance(words, str) else {}
        is_csv = not self._path.lower().endswith(".parquet")
        self.frame = read_frame(self._path, self._csv if is_csv else read_parquet, "a file of one row a run")

    def located(self, error: ConfigError) -> ConfigError:
        """The same faults, those in the runs by the file's name, the line and the column.

        Parameters
        ----------
        error
            As `Measurements` raises it for a frame: ``runs``, ``runs.COLUMN``, ``runs.COLUMN, row NUMBER``.
        """
        return error.mapped(self._located)

    def _located(self, fault: Fault) -> Fault:
        if not fault.is_of("runs"):
            return fault
        place = self._path
        if fault.row is not None:
            line = None if self._text is None else _line_of(self._text, fault.row)
            place += f", row {fault.row}" if line is None else f", line {line}"
        return fault.at(fault.moved("runs", "").under(place, ", ").path)

    def _csv(self, data: bytes) -> pl.DataFrame:
        text = unpacked_text(data)
        check_csv_text(text)
        _check_header(text)
        _check_letters(text)
        self._text = text = text.rstrip(b"\r\n")
        try:
            return pl.read_csv(text, schema_overrides=self._words, null_values=_NO_VALUE, infer_schema_length=None)
        except pl.exceptions.PolarsError:
            _check_quotes(text)
            raise


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


def _check_header(text: bytes) -> None:
    """Refuse a column's name that stands twice: which of them was meant is not known."""
    names = next(csv.reader(io.StringIO(text.partition(b"\n")[0].decode("utf-8-sig", "replace"))), [])
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if twice:
        raise CsvTextError(f"column {shown(twice[0])} {names.count(twice[0])} times", "each column once", line=1)


def _check_letters(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        found = f"bytes that are no UTF-8 text, {shown(text[error.start : error.start + 8])}"
        raise CsvTextError(found, "a text file in UTF-8", line=text.count(b"\n", 0, error.start) + 1) from None


def _check_quotes(text: bytes) -> None:
    reader, line = csv.reader(io.StringIO(text.decode("utf-8-sig", "replace"), newline=""), strict=True), 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        found = f"quotes that do not match ({one_line(str(error))})"
        raise CsvTextError(found, "quotes in pairs around a whole field", line=line) from None


def _line_of(text: bytes, row: int) -> int | None:
    """The line on which a row of the table begins, counted from 1 with the header."""
    reader, line = csv.reader(io.StringIO(text.decode("utf-8-sig", "replace"), newline="")), 1
    for number, _ in enumerate(reader):
        if number == row + 1:
            return line
        line = reader.line_num + 1
    return None
