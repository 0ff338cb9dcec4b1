"""From a `Workload` to a file, format by format."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hetsched.checks import Faults, listed, shown
from hetsched.errors import ConfigError
from hetsched.files import for_csv, write_whole
from hetsched.workload.formats.write_swf import swf_parts
from hetsched.workload.generators.parameters import shown_text
from hetsched.workload.table import Workload

__all__ = ["WRITERS", "write_trace"]

_GZIP_LEVEL = 6
"""Level 9 takes six times as long for a file that is 2 % smaller."""

_ROWS_A_PART = 50_000


def write_trace(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload as a job log, in the format that the file's name says; whole or not at all.

    Parquet keeps everything but the header. CSV keeps the same, as text. SWF keeps job number, submission, run length,
    nodes, requested time, status, observed wait and dependency; names of users, queues and applications become numbers,
    with comments that say which is which; `power_w`, `slots`, `device`, `comm_s`, `observed_nodes` and columns of the
    user's own are lost. Its header says how many nodes there are, if the workload's report does (a node is a processor
    in this file, also where the log it was read from counted several to a node), and how a generated workload was made.
    The same workload gives the same bytes.

    Parameters
    ----------
    workload
        What to write.
    path
        Ends in ``.swf``, ``.swf.gz``, ``.parquet`` or ``.csv``; its folder is made if it is not there.

    Raises
    ------
    ConfigError
        If the name ends otherwise, or `workload` is none.
    TraceError
        If a job's number is below 0, which SWF does not allow.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from hetsched.workload import poisson, read_swf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trace(poisson(nodes=8, jobs=3, seed=1), f"{folder}/jobs.swf")
    ...     workload = read_swf(f"{folder}/jobs.swf")
    >>> len(workload), workload.report["header"]["max_nodes"]
    (3, 8)
    """
    _check(workload, path)
    target = Path(path)
    parts_of = next((own for suffix, own in WRITERS.items() if target.name.lower().endswith(suffix)), None)
    if parts_of is None:
        raise ConfigError([("path", shown(str(target)), f"a name ending in {listed(WRITERS)}")])
    write_whole(target, lambda temporary: _write_parts(temporary, parts_of(workload)))


def _check(workload: object, path: object) -> None:
    faults = Faults()
    if not isinstance(workload, Workload):
        faults.note("workload", f"a {type(workload).__name__}", "a Workload; Workload.from_polars makes one")
    if not isinstance(path, str | os.PathLike):
        faults.add("path", path, f"a name ending in {listed(WRITERS)}")
    faults.check()


def _write_parts(path: Path, parts: Iterator[bytes]) -> None:
    # Ctrl-C is answered between two parts; compressing the whole of a log in one call may take half a minute.
    with path.open("wb") as file:
        file.writelines(parts)


def _swf(workload: Workload) -> Iterator[bytes]:
    return (part.encode() for part in swf_parts(workload.to_polars(), header=_header(workload)))


def _packed_swf(workload: Workload) -> Iterator[bytes]:
    # As gzip frames it, without a name and a time of day in it, so that the same jobs give the same file.
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16)
    yield from map(packer.compress, _swf(workload))
    yield packer.flush()


def _parquet(workload: Workload) -> Iterator[bytes]:
    file = io.BytesIO()
    workload.to_polars().write_parquet(file)
    yield file.getvalue()


def _csv(workload: Workload) -> Iterator[bytes]:
    frame = for_csv(workload.to_polars())
    yield frame.clear().write_csv().encode()
    yield from (part.write_csv(include_header=False).encode() for part in frame.iter_slices(_ROWS_A_PART))


WRITERS: dict[str, Callable[[Workload], Iterator[bytes]]] = {
    ".swf": _swf,
    ".swf.gz": _packed_swf,
    ".parquet": _parquet,
    ".csv": _csv,
}
"""What makes a file's content, part by part, by the endings of its name."""


def _header(workload: Workload) -> Iterator[tuple[str, Any]]:
    """What an SWF file says of the machine and of how its jobs came to be."""
    known, notes = _in_nodes(workload)
    for key, name in (
        ("Computer", "computer"),
        ("MaxNodes", "max_nodes"),
        ("MaxProcs", "max_procs"),
        ("UnixStartTime", "unix_start_time"),
    ):
        if known.get(name) is not None:
            yield key, known[name]
    yield from notes
    if "generator" in workload.report:
        yield "Note", f"generator {workload.report['generator']}"
        for name, value in workload.report["parameters"].items():
            yield "Note", f"{name} = {shown_text(value)}"
    for step in workload.history if "generator" not in workload.report else workload.history[1:]:
        yield "Note", step


def _in_nodes(workload: Workload) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """What the report says of the machine, its processors being the nodes of this file; and what was said before."""
    known: dict[str, Any] = dict(workload.report.get("header") or {})
    per_node, procs = workload.report.get("procs_per_node"), known.get("max_procs")
    if per_node is None or per_node == 1:
        return known, []
    nodes = known.get("max_nodes") or (-(-procs // per_node) if procs else None)
    known |= {"max_nodes": nodes, "max_procs": nodes}
    return known, [("Note", f"MaxProcs was {procs}, {per_node} processors a node")] if procs else []
