"""Every kind of file that jobs are written to, by the endings of its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hetsched.checks import listed, shown
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.workload.describe import Log
from hetsched.workload.writers import swf, tables

WRITERS: dict[str, Callable[[Log], Iterator[bytes]]] = {
    ".swf": swf.plain,
    ".swf.gz": swf.packed,
    ".parquet": tables.parquet,
    ".csv": tables.csv,
}
"""Makers of a file's content, part by part, by the endings of its name."""


def write_jobs(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a workload as a job log, in the format that the file's name says; as `Workload.write`."""
    if not isinstance(path, str | os.PathLike):
        raise ConfigError([("path", shown(path), f"a name ending in {listed(WRITERS)}")])
    target = Path(path)
    parts_of = next((own for suffix, own in WRITERS.items() if target.name.lower().endswith(suffix)), None)
    if parts_of is None:
        raise ConfigError([("path", shown(str(target)), f"a name ending in {listed(WRITERS)}")])
    write_whole(target, lambda temporary: _write_parts(temporary, parts_of(log)))


def _write_parts(path: Path, parts: Iterator[bytes]) -> None:
    # Ctrl-C is answered between two parts; compressing the whole of a log in one call may take half a minute.
    with path.open("wb") as file:
        file.writelines(parts)
