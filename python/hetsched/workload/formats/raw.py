"""Parts that all formats share: a file's bytes, its names of columns, and the workload made of its columns."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, did_you_mean, reason_of, whole_text
from hetsched.errors import TraceError
from hetsched.resources import check_threads
from hetsched.typing import OnBadLine
from hetsched.workload.conform import conformed, conformed_rows, first_bad_lines
from hetsched.workload.convert import Origin
from hetsched.workload.describe import Report, coarse_clock
from hetsched.workload.jobs import Workload
from hetsched.workload.states import unread_states, with_states
from hetsched.workload.waits import check_references, cleared

Source = str | os.PathLike[str] | bytes
"""A file's path, ``"-"`` for standard input, or the content."""


@dataclass(frozen=True)
class Format:
    """A format of job logs: its name, the endings of its files' names, and what reads them.

    `read` takes a path or content and options by keyword. Formats may share an ending: then the content decides, by
    `magic`, which is what every file begins with, if anything, or else by `recognizes`, which is true of the first
    bytes, unpacked, of a text that is in it. `origins` are the names that a format has of its own for what becomes a
    column, several with blanks between.
    """

    name: str
    suffixes: tuple[str, ...]
    doc: str
    read: Callable[..., Workload]
    magic: bytes = b""
    recognizes: Callable[[bytes], bool] = field(default=lambda _head: False)
    origins: Mapping[str, str] = field(default_factory=dict)

    def fits(self, head: bytes) -> bool:
        """True if a log that begins so is in this format."""
        return head.startswith(self.magic) if self.magic else self.recognizes(head)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that `read` takes."""
        return tuple(inspect.signature(self.read).parameters)[1:]


def as_workload(
    frame: pl.DataFrame,
    *,
    source: str,
    sha256: str,
    settings: Mapping[str, object],
    checked_counts: dict[str, Any] | None = None,
    line_of: Callable[[int], int] | None = None,
    skips_bad_rows: bool = False,
    bad_lines: Sequence[TraceError] = (),
    counts: Mapping[str, Any] | None = None,
) -> Workload:
    """The jobs of a log, held to the schema; a `TraceError` at the first value that does not fit.

    `settings` are the reader's options that change what is read; `checked_counts` are the counts of a reader that has
    held its columns to the schema itself; `line_of` goes from a row (from 0) of a text file to its line (from 1);
    `bad_lines` are the faults of lines that were skipped already, `counts` those of a reader for the report.
    """
    origin = Origin(source, line_of, skips_bad_rows=skips_bad_rows, is_file=True)
    if checked_counts is not None:
        found = checked_counts | ({"first_bad_lines": first_bad_lines(bad_lines)} if bad_lines else {})
        frame, gone = cleared(frame)
        found |= {"depends_on": found["depends_on"] - gone, "depends_on_cleared": gone} if gone else {}
        check_references(frame, source)
    else:
        unread = unread_states(frame)
        frame, origin, ended = with_states(frame, origin)
        frame, found = conformed_rows(frame, origin, bad_lines) if skips_bad_rows else conformed(frame, origin)
        found |= {**ended, **unread}
    if counts is not None:
        found |= {**counts, **({"first_bad_lines": first_bad_lines(bad_lines)} if bad_lines else {})}
    name = os.path.basename(source)
    given = ", ".join(f"{option}={value}" for option, value in settings.items())
    return Workload(
        frame,
        source=source,
        report=Report(name, {**found, **coarse_clock(frame["submit_s"])}),
        history=[f"read {name}{f' with {given}' if given else ''}"],
        source_sha256=sha256,
    )


class Piped(bytes):
    """Content of standard input; messages call it that."""


def piped() -> Piped:
    """All of standard input, as it is packed."""
    return Piped(sys.stdin.buffer.read())


def check_on_bad_line(faults: Faults, value: object) -> None:
    """Note a fault unless `value` is one of the two things to do with a bad line."""
    known = get_args(OnBadLine)
    if value not in known:
        faults.add("on_bad_line", value, f"`error` or `skip`{did_you_mean(str(value), known)}")


def contents(source: Source, expected: str) -> tuple[bytes, str, str]:
    """A file's bytes, its name for messages, and the sha256 of its bytes; `expected` is for messages: "an SWF log"."""
    check_threads()
    if isinstance(source, str) and source == "-":
        source = piped()
    if isinstance(source, bytes):
        name = "standard input" if isinstance(source, Piped) else "bytes"
        return source, name, hashlib.sha256(source).hexdigest()
    path = os.fspath(source)
    name = whole_text(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        is_known = isinstance(error, FileNotFoundError | IsADirectoryError)
        found = reason_of(error) if is_known else f"a file that cannot be read ({reason_of(error)})"
        raise TraceError(file=name, found=found, expected=expected) from None
    return data, name, hashlib.sha256(data).hexdigest()


_HEAD_BYTES = 2**16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def head_of(source: Source) -> bytes:
    """The first bytes of a log, unpacked; none of one that is damaged or not there, of which its reader says so."""
    packed = source
    if not isinstance(packed, bytes):
        try:
            with Path(packed).open("rb") as file:
                packed = file.read(_HEAD_BYTES)
                packed += file.read() if packed.startswith(_ZSTD) else b""
        except (OSError, ValueError):
            return b""
    try:
        if packed.startswith(_GZIP):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, _HEAD_BYTES)
        if packed.startswith(_ZSTD):
            return _core.unpacked(packed, file="log")[:_HEAD_BYTES]
    except (zlib.error, TraceError):
        return b""
    return packed[:_HEAD_BYTES]
