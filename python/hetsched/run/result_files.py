"""A result as files: written whole or not at all, and read back."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from hetsched.checks import reason_of
from hetsched.errors import OutputError, TraceError
from hetsched.files import UNREADABLE, for_csv, temporary_beside, turn_in
from hetsched.run.result_checks import FRAMES, check_frame, check_numbers
from hetsched.tables import read_parquet

__all__ = ["read_files", "write_files"]

Writer = Callable[[Any], object]

_SUMMARY = "summary.json"
_EXPECTED = "a file written by Result.write"
_OF_ONE_WRITE = (
    "the file that was written with summary.json: a write was cut short over an older result, or the file was changed "
    "since; write the result again"
)
_READS = 5
_BETWEEN_READS_S = 0.05


def write_files(folder: Path, frames: dict[str, pl.DataFrame], numbers: dict[str, Any], *, csv: bool) -> None:
    """Write a result's files; see `Result.write`.

    Parameters
    ----------
    folder
        Made if it is not there.
    frames
        ``jobs``, ``timeline`` and ``nodes``.
    numbers
        What ``summary.json`` holds; what names the other files is added.
    csv
        Whether to write ``jobs.csv`` as well.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    writers: dict[str, Writer] = {f"{name}.parquet": frames[name].write_parquet for name in FRAMES}
    if csv:
        writers["jobs.csv"] = for_csv(frames["jobs"]).write_csv
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(str(folder), "not a folder") from None
    except UNREADABLE as error:
        raise OutputError(str(folder), reason_of(error)) from None
    _write_all(folder, writers, numbers)


class _Sink:
    """A file with its sha256, and with what the system refused: polars tells it in its own words, or not at all."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.refusal: OSError | None = None

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        try:
            return self._file.write(data)
        except OSError as error:
            self.refusal = error
            raise

    def flush(self) -> None:
        self._file.flush()


def _write(path: Path, write: Writer) -> str:
    """Write a file; gives its sha256."""
    with path.open("wb") as file:
        sink = _Sink(file)
        try:
            write(sink)
        except pl.exceptions.PolarsError:
            if sink.refusal is None:
                raise
            raise sink.refusal from None
    return sink.sha256.hexdigest()


def _write_all(folder: Path, writers: dict[str, Writer], numbers: dict[str, Any]) -> None:
    """Write every file under a temporary name, then rename them all; on any failure remove what was written."""
    temporary = {name: temporary_beside(folder / name) for name in (*writers, _SUMMARY)}
    name, sha256 = "", {}
    try:
        try:
            for name, write in writers.items():
                sha256[name] = _write(temporary[name], write)
            # Names the others' bytes: whoever finds it beside files of another run can tell.
            text = json.dumps({**numbers, "files": sha256}, indent=2, allow_nan=False) + "\n"
            name = _SUMMARY
            temporary[name].write_bytes(text.encode())
            with turn_in(folder):
                for name, path in temporary.items():
                    path.replace(folder / name)
        except UNREADABLE as error:
            raise OutputError(str(folder / name), reason_of(error)) from None
        finally:
            _remove(temporary.values())
    finally:
        # Ctrl-C while polars writes is raised twice, by polars and then by Python: that may stop the first removal.
        _remove(temporary.values())


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


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
    for left in reversed(range(_READS)):
        contents = _contents(folder)
        numbers = _numbers(contents.pop(_SUMMARY), folder / _SUMMARY)
        odd = [name for name in contents if hashlib.sha256(contents[name]).hexdigest() != numbers["files"].get(name)]
        if not odd:
            break
        if not left:
            found = "bytes that summary.json does not name"
            raise TraceError(file=str(folder / odd[0]), found=found, expected=_OF_ONE_WRITE)
        # Where nobody can be kept waiting, a writer may be between two of its files.
        time.sleep(_BETWEEN_READS_S)
    frames = {name: _frame(name, contents[f"{name}.parquet"], numbers, folder) for name in FRAMES}
    return frames, {key: value for key, value in numbers.items() if key != "files"}


def _contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, by name; all are opened before the first is read, so that no writer waits for long."""
    with ExitStack() as stack:
        with turn_in(folder, reads=True):
            opened = {
                name: stack.enter_context(_read(folder / name, partial(open, folder / name, "rb")))
                for name in (_SUMMARY, *(f"{name}.parquet" for name in FRAMES))
            }
        return {name: _read(folder / name, file.read) for name, file in opened.items()}


def _numbers(content: bytes, path: Path) -> dict[str, Any]:
    numbers: dict[str, Any] = _read(path, lambda: json.loads(content.decode()))
    check_numbers(numbers, path)
    return numbers


def _frame(name: str, content: bytes, numbers: dict[str, Any], folder: Path) -> pl.DataFrame:
    # From its bytes: a frame mapped to the file would change when the file is written again.
    path = folder / f"{name}.parquet"
    frame: pl.DataFrame = _read(path, lambda: read_parquet(content))
    check_frame(name, frame, numbers, path)
    return frame


def _read(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RecursionError:
        raise TraceError(file=str(path), found="objects too deep in one another", expected=_EXPECTED) from None
    except (ValueError, *UNREADABLE) as error:
        raise TraceError(file=str(path), found=reason_of(error), expected=_EXPECTED) from None
