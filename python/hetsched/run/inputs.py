"""Workloads and platforms as files, so that each crosses to another process once and not with every run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import reason_of
from hetsched.digest import json_sha256
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE, write_whole
from hetsched.platform import Platform
from hetsched.workload import Workload
from hetsched.workload.describe import Report
from hetsched.workload.schema import COLUMNS

__all__ = [
    "clear",
    "platform_sha256",
    "read_platform",
    "read_workload",
    "write_platform",
    "write_workload",
]


def write_workload(workload: Workload, folder: Path) -> str:
    """Write what a run needs of a workload, unless it is there already; gives the file's path.

    Parameters
    ----------
    workload
        Its known columns are written: the user's own decide nothing.
    folder
        Made if it is not there.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    path = folder / f"{workload.sha256}.arrow"
    frame = workload.to_polars()
    known = frame.select(name for name in frame.columns if name in COLUMNS)
    if not path.exists():
        write_whole(path, lambda temporary: known.write_ipc(temporary, compression="uncompressed"))
    return str(path)


def write_platform(platform: Platform, folder: Path) -> str:
    """Write a platform with the content of its tables, unless it is there already; gives the file's path.

    Parameters
    ----------
    platform
        Any.
    folder
        Made if it is not there.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    path = folder / f"{platform_sha256(platform)}.json"
    tables = {"actual": platform.actual, "predicted": platform.predicted}
    content = platform.to_dict() | {name: table.to_dict() for name, table in tables.items() if table is not None}
    if not path.exists():
        write_whole(path, lambda temporary: temporary.write_text(json.dumps(content), encoding="utf-8"))
    return str(path)


def platform_sha256(platform: Platform) -> str:
    """Sha256 over the nodes and the tables.

    Examples
    --------
    >>> from hetsched.platform import VariationTable
    >>> nodes = Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250)
    >>> measured = nodes.with_tables(actual=VariationTable(["hpcg"], power_w=[[200.0, 220.0]]))
    >>> platform_sha256(nodes) == platform_sha256(measured)
    False
    """
    tables = [None if table is None else table.sha256 for table in (platform.actual, platform.predicted)]
    return json_sha256([platform.sha256, *tables])


# Two of each: runs of one workload come one after the other, and at the seam every process needs the next one.
@lru_cache(maxsize=2)
def read_workload(path: str, name: str) -> Workload:
    """What `write_workload` wrote; held for the next run on it.

    Parameters
    ----------
    path
        The file.
    name
        What to call it in messages.

    Raises
    ------
    TraceError
        If it is not there any more, or damaged.
    """
    with _unless_gone(path, "the jobs"):
        frame = pl.read_ipc(path).rechunk()
    return Workload(frame, source=name, report=Report(name, {"jobs": len(frame)}), history=[f"read {name}"])


@lru_cache(maxsize=2)
def read_platform(path: str) -> Platform:
    """What `write_platform` wrote; held for the next run on it.

    Raises
    ------
    TraceError
        If it is not there any more, or damaged.
    """
    with _unless_gone(path, "the platform"):
        content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return Platform.from_dict(content)


@contextmanager
def _unless_gone(path: str, what: str) -> Iterator[None]:
    try:
        yield
    except (*UNREADABLE, ValueError) as error:
        expected = f"{what} that `specs` wrote there; keep its folder until all runs are done"
        raise TraceError(file=path, found=reason_of(error), expected=expected) from None


def clear() -> None:
    """Let go of what is held for next runs."""
    read_workload.cache_clear()
    read_platform.cache_clear()
