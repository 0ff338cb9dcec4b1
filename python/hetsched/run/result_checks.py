"""What a result's files must hold to be taken for one: `read_result` refuses all else before anybody reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import listed, shown
from hetsched.errors import TraceError
from hetsched.run.frames import JOB_COLUMNS, NODE_COLUMNS, TIMELINE_COLUMNS

__all__ = ["FRAMES", "check_frame", "check_numbers"]

FRAMES: Mapping[str, Mapping[str, pl.DataType | type[pl.DataType]]] = {
    "jobs": JOB_COLUMNS,
    "timeline": TIMELINE_COLUMNS,
    "nodes": NODE_COLUMNS,
}
"""The frames of a result, a file each, and the columns that each begins with."""

_OBJECTS = {
    "summary": "metrics by their names",
    "policy": "a policy's name and parts",
    "platform": "what the platform is like",
    "timing": "seconds and jobs per second",
    "files": "the sha256 of each file",
}


def check_numbers(numbers: Any, path: Path) -> None:
    """Refuse what no ``summary.json`` of `Result.write` holds.

    Parameters
    ----------
    numbers
        Its content.
    path
        The file, for messages.

    Raises
    ------
    TraceError
        At the first thing that is missing or of another kind.

    Examples
    --------
    >>> check_numbers({"jobs": 1}, Path("summary.json"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.TraceError: summary.json: found an object of jobs, expected an object with summary, policy, ...
    """
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
    """Refuse a frame that is not the one a result has under its name.

    Parameters
    ----------
    name
        One of `FRAMES`.
    frame
        What its file holds.
    numbers
        What ``summary.json`` holds, checked.
    path
        The frame's file, for messages.

    Raises
    ------
    TraceError
        At the first column that is missing or of another type, and where rows are missing.
    """
    columns = FRAMES[name]
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
