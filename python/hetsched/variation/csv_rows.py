"""The text of a CSV file as a frame, and what keeps it from being one in the words of who wrote it."""

from __future__ import annotations

import csv
import io
from contextlib import suppress

import polars as pl

from hetsched import _core
from hetsched.checks import listed
from hetsched.errors import TraceError
from hetsched.text import many

__all__ = ["CsvTextError", "check_csv_text", "read_csv_rows", "unpacked_text"]

_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


class CsvTextError(ValueError):
    """What is wrong with the text of a file.

    Parameters
    ----------
    found, expected
        As in a `ConfigError`.
    line
        Where, counted from 1; None: not on one line.
    """

    def __init__(self, found: str, expected: str, *, line: int | None = None) -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected
        self.line = line


def read_csv_rows(data: bytes) -> pl.DataFrame:
    r"""A frame of a CSV file's rows; a column ``app`` is text, whatever it looks like.

    Parameters
    ----------
    data
        The file, plain or packed by gzip or zstd.

    Raises
    ------
    CsvTextError
        If it is empty, binary, has no rows, is separated by something else than commas, or has more or fewer fields
        on a line than the header.
    polars.exceptions.PolarsError
        If it is no CSV file in another way.

    Examples
    --------
    >>> read_csv_rows(b"app,node,power_w\n7,0,200\n").rows()
    [('7', 0, 200)]
    >>> read_csv_rows(b"app,node,power_w\n7,0\n")
    Traceback (most recent call last):
    hetsched.variation.csv_rows.CsvTextError: 2 fields in `7,0`
    """
    data = unpacked_text(data)
    check_csv_text(data)
    # A blank line at the end is no row.
    data = data.rstrip(b"\r\n")
    # Applications of a log in Standard Workload Format are numbers, and words all the same.
    return pl.read_csv(data, schema_overrides={"app": pl.String})


def unpacked_text(data: bytes) -> bytes:
    """What gzip or zstd packed, or the text itself.

    Raises
    ------
    CsvTextError
        If it is cut short or damaged, or would fill the memory.
    """
    try:
        return _core.unpacked(data, file="")
    except TraceError as error:
        raise CsvTextError(error.found, error.expected) from None


def check_csv_text(data: bytes) -> None:
    """Raise what a look at the text tells; polars would tell it in terms of its own."""
    if b"\0" in data[:4096]:
        raise CsvTextError("binary data", "a text file with commas between the fields")
    head, _, rest = data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    names = head.decode("utf-8", "replace").strip()
    if not names:
        raise CsvTextError(
            "an empty file" if not data.strip() else "an empty first line", "a line with the columns' names"
        )
    for mark, word in _OTHER_SEPARATORS.items():
        if mark in names and "," not in names:
            raise CsvTextError(f"{word} between the fields", "commas between the fields, and points in numbers", line=1)
    if not rest.strip():
        raise CsvTextError("no rows", f"rows below the header: {listed(names.split(','))}")
    _check_widths(data)


def _check_widths(data: bytes) -> None:
    """Raise the first line that has not as many fields as the header."""
    # Where every line has as many commas as the header there is nothing to look for.
    lines = data.rstrip(b"\r\n").split(b"\n")
    if b'"' not in data and len({line.count(b",") for line in lines if line.strip()}) == 1:
        return
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""), strict=True)
    # What the reader itself does not take is for polars to tell.
    with suppress(csv.Error):
        width = len(next(reader))
        for fields in reader:
            if fields and len(fields) != width:
                expected = f"{width} fields, as the header has, with commas between"
                found = f"{many(len(fields), 'field')} in `{','.join(fields)}`"
                raise CsvTextError(found, expected, line=reader.line_num)
