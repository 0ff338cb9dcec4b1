"""Files: written whole or not at all, by one writer at a time where several belong together."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from hetsched.checks import can_name_a_file, reason_of, shown
from hetsched.errors import OutputError

UNREADABLE = (
    OSError,
    ValueError,
    OverflowError,
    RecursionError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
"""Errors of the system, parsers and polars: a name that no file can have is a ValueError, a number beyond all types an
OverflowError, brackets in thousands of brackets a RecursionError, and a damaged file can make polars panic."""

MALFORMED = (*UNREADABLE, TypeError, LookupError, AttributeError, EOFError, MemoryError, RuntimeError)
"""The same of a file whose content is taken apart here: parts of it are missing, or of another type than they were."""


def write_whole(path: Path, content: bytes | Callable[[Path], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no half of it is ever found."""
    if not can_name_a_file(str(path)):
        what = "a zero byte" if "\0" in str(path) else "half a character"
        raise OutputError(shown(str(path)), f"no file has {what} in its name")
    temporary = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            temporary.write_bytes(content)
        else:
            content(temporary)
        temporary.replace(path)
    except FileExistsError:
        raise OutputError(str(path), f"{path.parent} is not a folder") from None
    except UNREADABLE as error:
        raise OutputError(str(path), reason_of(error)) from None
    finally:
        # Where nothing could be written there may be nothing to remove either.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_beside(path: Path) -> Path:
    """A hidden name beside a file's, for writing it: none that another writer of the same file has."""
    # Cut, so that a name as long as names may be has a temporary one too.
    return path.with_name(f".{path.name[:50]}.{uuid.uuid4().hex[:12]}.partial")


@contextmanager
def turn_in(folder: Path, *, reads: bool = False) -> Iterator[None]:
    """Wait until no other process renames files in a folder, and keep others from it meanwhile.

    The system lets go of it when a process ends, however that happens. File systems without locks let all pass.
    """
    handle = None
    # No folder, or no name of one: opening its files will say so.
    with suppress(OSError, ValueError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(handle, fcntl.LOCK_SH if reads else fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            # A child that was forked meanwhile has the handle too, and would keep the lock.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def for_csv(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with lists and structs as text, as CSV has neither."""
    columns = []
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.List | pl.Array) and not dtype.inner.is_nested():
            columns.append(pl.col(name).cast(pl.List(pl.String)).list.join(" "))
        elif dtype.is_nested():
            columns.append(pl.struct(name).struct.json_encode().alias(name))
    return frame.with_columns(columns)
