"""A result as files: written whole or not at all, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from hetsched.config import reason_of
from hetsched.errors import OutputError, TraceError
from hetsched.unreadable import UNREADABLE

__all__ = ["FRAMES", "read_files", "write_files"]

FRAMES = ("jobs", "timeline", "nodes")
"""The frames of a result, a file each."""

Writer = Callable[[Any], object]

_TEMPORARY = ".partial"
_EXPECTED = "a file written by Result.write"


def write_files(folder: Path, frames: dict[str, pl.DataFrame], numbers: dict[str, Any], *, csv: bool) -> None:
    """Write a result's files; see `Result.write`.

    Parameters
    ----------
    folder
        Made if it is not there.
    frames
        ``jobs``, ``timeline`` and ``nodes``.
    numbers
        What ``summary.json`` holds.
    csv
        Whether to write ``jobs.csv`` as well.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    text = json.dumps(numbers, indent=2, allow_nan=False) + "\n"
    writers: dict[str, Writer] = {f"{name}.parquet": frames[name].write_parquet for name in FRAMES}
    if csv:
        writers["jobs.csv"] = _for_csv(frames["jobs"]).write_csv
    # Last, so that a summary stands only beside frames that are whole.
    writers["summary.json"] = lambda file: file.write(text.encode())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(str(folder), "not a folder") from None
    except OSError as error:
        raise OutputError(str(folder), reason_of(error)) from None
    _write_all(folder, writers)


class _Sink:
    """A file that remembers what the system refused: polars tells it in its own words, or not at all."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.refusal: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.refusal = error
            raise

    def flush(self) -> None:
        self._file.flush()


def _write(path: Path, write: Writer) -> None:
    with path.open("wb") as file:
        sink = _Sink(file)
        try:
            write(sink)
        except pl.exceptions.PolarsError:
            if sink.refusal is None:
                raise
            raise sink.refusal from None


def _write_all(folder: Path, writers: dict[str, Writer]) -> None:
    """Write every file under a temporary name, then rename them all; on any failure remove what was written."""
    temporary = {name: folder / f".{name}{_TEMPORARY}" for name in writers}
    name = ""
    try:
        try:
            for name, write in writers.items():
                _write(temporary[name], write)
            for name in writers:
                temporary[name].replace(folder / name)
        except UNREADABLE as error:
            raise OutputError(str(folder / name), reason_of(error)) from None
        finally:
            _remove(temporary)
    finally:
        # Ctrl-C while polars writes is raised twice, by polars and then by Python: that may stop the first removal.
        _remove(temporary)


def _remove(paths: dict[str, Path]) -> None:
    for path in paths.values():
        path.unlink(missing_ok=True)


def _for_csv(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with lists and structs as text, as CSV has neither."""
    columns = []
    for name, dtype in jobs.schema.items():
        if isinstance(dtype, pl.List | pl.Array) and not dtype.inner.is_nested():
            columns.append(pl.col(name).cast(pl.List(pl.String)).list.join(" "))
        elif dtype.is_nested():
            columns.append(pl.struct(name).struct.json_encode().alias(name))
    return jobs.with_columns(columns)


def read_files(folder: Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """The frames and the numbers that `write_files` wrote.

    Parameters
    ----------
    folder
        Where they were written to.

    Raises
    ------
    TraceError
        If a file is missing or holds something else.
    """
    numbers = _read(folder / "summary.json", lambda path: json.loads(path.read_text(encoding="utf-8")))
    if not isinstance(numbers, dict) or not {"summary", "policy", "timing"} <= set(numbers):
        found = "no objects summary, policy and timing"
        raise TraceError(file=str(folder / "summary.json"), found=found, expected=_EXPECTED)
    return {name: _read(folder / f"{name}.parquet", _read_frame) for name in FRAMES}, numbers


def _read_frame(path: Path) -> pl.DataFrame:
    # From its bytes: a frame mapped to the file would change when the file is written again.
    return pl.read_parquet(path.read_bytes())


def _read(path: Path, read: Callable[[Path], Any]) -> Any:
    try:
        return read(path)
    except (ValueError, *UNREADABLE) as error:
        raise TraceError(file=str(path), found=reason_of(error), expected=_EXPECTED) from None
