"""What every reader of a trace hands back, and how a file becomes bytes."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import Faults, did_you_mean
from hetsched.errors import TraceError
from hetsched.forks import check_threads

__all__ = ["Format", "Piped", "RawTrace", "Source", "check_on_bad_line", "contents", "piped"]

Source = str | os.PathLike[str] | bytes
"""A file's path, ``"-"`` for standard input, or the content."""


@dataclass(frozen=True)
class RawTrace:
    """A log as it was read: columns, and what reading them met.

    Parameters
    ----------
    frame
        The columns.
    source
        The file's name as it was given, for messages.
    sha256
        Of the file's bytes, before any decompression.
    counts
        What the reader kept, changed, dropped and counted.
    is_checked
        Whether the reader has already held the columns to the workload's schema.
    settings
        The reader's options that were given and change what is read.
    line_of
        From a row (from 0) of a text file to its line (from 1); None where rows have no lines.
    skips_bad_rows
        Whether rows that do not fit the schema are to be skipped and counted.
    bad_lines
        What is wrong with lines that were skipped already.
    """

    frame: pl.DataFrame
    source: str
    sha256: str
    counts: dict[str, Any] = field(default_factory=dict)
    is_checked: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    line_of: Callable[[int], int] | None = None
    skips_bad_rows: bool = False
    bad_lines: tuple[TraceError, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format of job logs.

    Parameters
    ----------
    name
        As in ``read_trace(format=name)``.
    suffixes
        Endings of its files' names.
    doc
        What it is, in a line.
    read
        From a path or bytes to a `RawTrace`; keyword options are the format's own.
    options
        The names of these options.
    """

    name: str
    suffixes: tuple[str, ...]
    doc: str
    read: Callable[..., RawTrace]
    options: tuple[str, ...] = ()


class Piped(bytes):
    """What came through standard input, which is what messages call it."""


def piped() -> Piped:
    """All of standard input, as it is packed."""
    return Piped(sys.stdin.buffer.read())


def check_on_bad_line(faults: Faults, value: object) -> None:
    """Note a fault unless `value` is one of the two things to do with a bad line."""
    known = ("error", "skip")
    if value not in known:
        faults.add("on_bad_line", value, f"`error` or `skip`{did_you_mean(str(value), known)}")


def contents(source: Source, expected: str) -> tuple[bytes, str, str]:
    """A file's bytes, its name for messages, and the sha256 of its bytes.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or the bytes themselves.
    expected
        What the file should be, for messages: ``"an SWF log"``.

    Raises
    ------
    TraceError
        If there is no such file, or it cannot be read.
    """
    check_threads()
    if isinstance(source, str) and source == "-":
        source = piped()
    if isinstance(source, bytes):
        name = "standard input" if isinstance(source, Piped) else "bytes"
        return source, name, hashlib.sha256(source).hexdigest()
    name = os.fspath(source)
    try:
        data = Path(name).read_bytes()
    except FileNotFoundError:
        raise TraceError(file=name, found="no such file", expected=expected) from None
    except IsADirectoryError:
        raise TraceError(file=name, found="a directory", expected=expected) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(file=name, found=f"a file that cannot be read ({reason})", expected=expected) from None
    return data, name, hashlib.sha256(data).hexdigest()
