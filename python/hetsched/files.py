"""Files: written whole or not at all, by one writer at a time; and fingerprints of what is in them."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

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


Content = bytes | Callable[[Path], object]
"""The bytes of a file, or what writes it to a path."""


def write_whole(path: Path, content: Content) -> None:
    """Write a file under a temporary name, then rename it, so that no half of it is ever found."""
    if not can_name_a_file(str(path)):
        what = "a zero byte" if "\0" in str(path) else "half a character"
        raise OutputError(shown(str(path)), f"no file has {what} in its name")
    if not path.name:
        raise OutputError(shown(str(path)), "no file has this name")
    temporary = path
    try:
        path = _regular(path)
        temporary = temporary_path(path)
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
        if temporary is not path:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_files(folder: str | os.PathLike[str], files: Mapping[str, Content]) -> list[str]:
    """Write files of a folder, from their names to their contents, each as `write_whole`; gives their paths."""
    paths = {Path(folder) / name: content for name, content in files.items()}
    for path, content in paths.items():
        write_whole(path, content)
    return [str(path) for path in paths]


def _regular(path: Path) -> Path:
    """The file that a name leads to, through links; devices, pipes and sockets are not written over."""
    found = Path(os.path.realpath(path)) if path.is_symlink() else path
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise OutputError(str(path), "it is a device, a pipe or a socket, expected a file or a free name")
    return found


def temporary_path(path: Path) -> Path:
    """A hidden name next to a file's, for writing it: none that another writer of the same file has."""
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
            texts = pl.col(name).cast(pl.List(pl.String)).list.eval(pl.element().fill_null("null"))
            columns.append(texts.list.join(" "))
        elif dtype.is_nested():
            columns.append(pl.struct(name).struct.json_encode().alias(name))
    return frame.with_columns(columns)


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


def frame_sha256(frame: pl.DataFrame) -> str:
    """Sha256 over a frame's column names, types and values, in order; chunks and paths play no part."""
    digest = hashlib.sha256()
    for series in frame.get_columns():
        digest.update(f"{series.name}\0{series.dtype}\0{len(series)}\0".encode())
        _add_values(digest, series)
    return digest.hexdigest()


def json_sha256(value: object) -> str:
    """Sha256 of a value's canonical JSON: keys sorted, no spaces, numbers in their shortest exact form."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _add_values(digest: _Hash, series: pl.Series) -> None:
    has_nulls = series.null_count() > 0
    if has_nulls:
        digest.update(series.is_null().cast(pl.UInt8).to_numpy())
    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        lists = series.cast(pl.List(dtype.inner))
        digest.update(lists.list.len().fill_null(0).cast(pl.UInt32).to_numpy())
        _add_values(digest, lists.explode(empty_as_null=False, keep_nulls=False))
    elif isinstance(dtype, pl.Struct):
        for field in series.struct.fields:
            _add_values(digest, series.struct.field(field))
    elif dtype == pl.Binary:
        digest.update(series.fill_null(b"").bin.size().cast(pl.UInt32).to_numpy())
        digest.update(b"".join(series.drop_nulls().to_list()))
    elif isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Decimal):
        text = series.cast(pl.String)
        text = text.fill_null("") if has_nulls else text
        digest.update(text.str.len_bytes().cast(pl.UInt32).to_numpy())
        digest.update(text.str.join("").item().encode() if len(text) else b"")
    elif dtype != pl.Null:
        numbers = series.cast(pl.UInt8) if dtype == pl.Boolean else series.to_physical()
        digest.update((numbers.fill_null(0) if has_nulls else numbers).rechunk().to_numpy())


_ONE_AT_A_TIME = Lock()


@contextmanager
def unheard() -> Iterator[None]:
    """Discard what C code prints meanwhile: HiGHS 1.8 reports a repaired solution whatever it is asked."""
    if os.name != "posix":
        yield
        return
    library = ctypes.CDLL(None)
    with _ONE_AT_A_TIME:
        library.fflush(None)
        try:
            kept = os.dup(1)
        except OSError:  # closed: nothing can be heard
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            yield
        finally:
            library.fflush(None)
            os.dup2(kept, 1)
            os.close(nowhere)
            os.close(kept)
