"""A result's columns, and its files: written whole or not at all, and read back."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from hetsched.checks import listed, reason_of, shown
from hetsched.errors import OutputError, TraceError
from hetsched.files import UNREADABLE, for_csv, temporary_path, turn_in
from hetsched.tables import read_parquet

JOB_COLUMNS: dict[str, type[pl.DataType] | pl.DataType] = {
    "job_id": pl.Int64,
    "user": pl.String,
    "queue": pl.String,
    "app": pl.String,
    "submit_s": pl.Float64,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "runtime_s": pl.Float64,
    "walltime_s": pl.Float64,
    "wait_s": pl.Float64,
    "turnaround_s": pl.Float64,
    "bounded_slowdown": pl.Float64,
    "node_count": pl.Int32,
    "slots": pl.Int32,
    "nodes": pl.List(pl.UInt32),
    "energy_j": pl.Float64,
    "mean_power_w": pl.Float64,
    "started_by": pl.String,
    "state": pl.String,
    "reason": pl.String,
    "nominal_runtime_s": pl.Float64,
}
"""The columns of `Result.jobs` that every run has, in order; the workload's other columns stand behind them."""

TIMELINE_COLUMNS: dict[str, type[pl.DataType]] = {
    "time_s": pl.Float64,
    "power_w": pl.Float64,
    "busy_nodes": pl.Int32,
    "idle_nodes": pl.Int32,
    "sleeping_nodes": pl.Int32,
    "transition_nodes": pl.Int32,
    "down_nodes": pl.Int32,
    "queued_jobs": pl.Int32,
    "running_jobs": pl.Int32,
}
"""The columns of `Result.timeline`."""

NODE_COLUMNS: dict[str, type[pl.DataType]] = {
    "node": pl.Int32,
    "busy_s": pl.Float64,
    "idle_s": pl.Float64,
    "off_s": pl.Float64,
    "transition_s": pl.Float64,
    "down_s": pl.Float64,
    "energy_j": pl.Float64,
    "boots": pl.Int32,
    "shutdowns": pl.Int32,
}
"""The columns of `Result.nodes`."""

FRAMES: Mapping[str, Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "jobs": JOB_COLUMNS,
    "timeline": TIMELINE_COLUMNS,
    "nodes": NODE_COLUMNS,
}
"""The frames of a result, a file each, and the columns that each begins with."""

OPTIONAL_FRAMES: Mapping[str, Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "segments": {
        "job_id": pl.Int64,
        "attempt": pl.Int32,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "nodes": pl.List(pl.UInt32),
        "cap_w": pl.Float64,
        "speed_ratio": pl.Float64,
        "power_w": pl.Float64,
        "energy_j": pl.Float64,
        "state": pl.String,
    },
    "events": {
        "time_s": pl.Float64,
        "kind": pl.String,
        "job_id": pl.Int64,
        "node": pl.Int32,
        "value": pl.Float64,
        "power_before_w": pl.Float64,
        "power_after_w": pl.Float64,
    },
}
"""Frames that have a file only where the others do not say it all."""

Writer = Callable[[Any], object]

_SUMMARY = "summary.json"
_OPTIONAL = tuple(f"{name}.parquet" for name in OPTIONAL_FRAMES)
_EXPECTED = "a file written by Result.write"
_OF_ONE_WRITE = (
    "the file that was written with summary.json: a write was cut short over an older result, or the file was changed "
    "since; write the result again"
)
_READS = 5
_BETWEEN_READS_S = 0.05


def write_files(folder: Path, frames: dict[str, pl.DataFrame], numbers: dict[str, Any], *, csv: bool) -> None:
    """Write a result's files; see `Result.write`."""
    writers: dict[str, Writer] = {f"{name}.parquet": frame.write_parquet for name, frame in frames.items()}
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
    """A file with its sha256, and with what the system refused: polars shows it in its own words, or not at all."""

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
    temporary = {name: temporary_path(folder / name) for name in (*writers, _SUMMARY)}
    name, sha256 = "", {}
    try:
        try:
            for name, write in writers.items():
                sha256[name] = _write(temporary[name], write)
            # Names the others' bytes: among files of another run that shows.
            text = json.dumps({**numbers, "files": sha256}, indent=2, allow_nan=False) + "\n"
            name = _SUMMARY
            temporary[name].write_bytes(text.encode())
            with turn_in(folder):
                left_over = _optional_files(folder) - set(writers)
                for name, path in temporary.items():
                    path.replace(folder / name)
                _remove(folder / name for name in left_over)
        except UNREADABLE as error:
            raise OutputError(str(folder / name), reason_of(error)) from None
        finally:
            _remove(temporary.values())
    finally:
        # Ctrl-C while polars writes is raised twice, by polars and then by Python: that may stop the first removal.
        _remove(temporary.values())


def _optional_files(folder: Path) -> set[str]:
    """Files of optional frames that an earlier result in the folder names as its own."""
    try:
        named = json.loads((folder / _SUMMARY).read_bytes())["files"]
        return {name for name in _OPTIONAL if hashlib.sha256((folder / name).read_bytes()).hexdigest() == named[name]}
    except (*UNREADABLE, ValueError, LookupError, TypeError, RecursionError):
        return set()


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def read_files(folder: Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """The frames and the numbers that `write_files` wrote."""
    for left in reversed(range(_READS)):
        contents = _contents(folder)
        numbers = _numbers(contents.pop(_SUMMARY), folder / _SUMMARY)
        contents = {name: held for name, held in contents.items() if name not in _OPTIONAL or name in numbers["files"]}
        odd = [name for name in contents if hashlib.sha256(contents[name]).hexdigest() != numbers["files"].get(name)]
        odd += [name for name in _OPTIONAL if name in numbers["files"] and name not in contents]
        if not odd:
            break
        if not left:
            found = "bytes that summary.json does not name"
            raise TraceError(file=str(folder / odd[0]), found=found, expected=_OF_ONE_WRITE)
        # Where the system has no locks, a writer may be between two of its files.
        time.sleep(_BETWEEN_READS_S)
    held = {name.removesuffix(".parquet"): content for name, content in contents.items()}
    frames = {name: _frame(name, content, numbers, folder) for name, content in held.items()}
    return frames, {key: value for key, value in numbers.items() if key != "files"}


def _contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, by name; all are opened before the first is read, so that no writer waits for long."""
    with ExitStack() as stack:
        with turn_in(folder, reads=True):
            opened = {
                name: stack.enter_context(_read(folder / name, partial(open, folder / name, "rb")))
                for name in (_SUMMARY, *(f"{name}.parquet" for name in FRAMES), *_there(folder))
            }
        return {name: _read(folder / name, file.read) for name, file in opened.items()}


def _there(folder: Path) -> list[str]:
    return [name for name in _OPTIONAL if os.path.exists(folder / name)]  # noqa: PTH110 -- no error for a name too long


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


_OBJECTS = {
    "summary": "metrics by their names",
    "policy": "a policy's name and parts",
    "platform": "what the platform is like",
    "timing": "seconds and jobs per second",
    "files": "the sha256 of each file",
}


def check_numbers(numbers: Any, path: Path) -> None:
    """Refuse what no ``summary.json`` of `Result.write` holds."""
    if not isinstance(numbers, dict) or not set(_OBJECTS) <= set(numbers):
        found = f"an object of {listed(numbers) or 'nothing'}" if isinstance(numbers, dict) else _kind(numbers)
        raise _fault(path, None, found, f"an object with {listed(_OBJECTS)}")
    for key, content in _OBJECTS.items():
        if not isinstance(numbers[key], dict):
            raise _fault(path, key, _kind(numbers[key]), f"an object: {content}")
    _check_values(numbers["summary"], "summary", path, may_lack=True)
    _check_values(numbers["timing"], "timing", path, may_lack=False)
    for key, name in (("summary", "jobs"), ("platform", "nodes")):
        value = numbers[key].get(name)
        if not isinstance(value, int):
            raise _fault(path, f"{key}.{name}", _kind(value), "a whole number")
    if not isinstance(numbers["policy"].get("name"), str):
        raise _fault(path, "policy.name", _kind(numbers["policy"].get("name")), "a name")


def check_frame(name: str, frame: pl.DataFrame, numbers: dict[str, Any], path: Path) -> None:
    """Refuse a frame that is not the one a result has under its name."""
    columns = {**FRAMES, **OPTIONAL_FRAMES}[name]
    if frame.columns[: len(columns)] != list(columns):
        found = f"columns {listed(frame.columns)}" if frame.width else "no columns"
        raise TraceError(file=str(path), found=found, expected=f"the columns of `{name}`: {listed(columns)}")
    for column, dtype in columns.items():
        if frame.schema[column] != dtype:
            found, expected = f"the type {frame.schema[column]}", f"{pl.Series(dtype=dtype).dtype}"
            raise TraceError(file=str(path), field=f"column `{column}`", found=found, expected=expected)
    rows = {"jobs": numbers["summary"]["jobs"], "nodes": numbers["platform"]["nodes"]}.get(name, len(frame))
    if len(frame) != rows:
        raise TraceError(file=str(path), found=f"{len(frame):,} rows", expected=f"{rows:,}, as summary.json says")


def _check_values(values: dict[str, Any], key: str, path: Path, *, may_lack: bool) -> None:
    for name, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number and not (may_lack and value is None):
            raise _fault(path, f"{key}.{name}", _kind(value), "a number or null" if may_lack else "a number")


def _fault(path: Path, key: str | None, found: str, expected: str) -> TraceError:
    return TraceError(file=str(path), field=None if key is None else f"`{key}`", found=found, expected=expected)


def _kind(value: object) -> str:
    """A JSON value as a message shows it."""
    if value is None:
        return "null"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else shown(value)
