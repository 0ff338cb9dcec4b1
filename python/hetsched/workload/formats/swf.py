"""Logs in the Parallel Workloads Archive's Standard Workload Format, parsed by the engine's strict reader."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from hetsched import _core
from hetsched.checks import Faults
from hetsched.workload.formats.raw import Format, RawTrace, Source, check_on_bad_line, contents

__all__ = ["FORMAT", "read"]


def read(
    source: Source,
    *,
    procs_per_node: int | None = None,
    on_bad_line: str = "error",
    progress: Callable[[int, int], object] | None = None,
) -> RawTrace:
    """Read a log in SWF: plain, gzip or zstd.

    Parameters
    ----------
    source
        Path or content.
    procs_per_node
        Processors that make one node; sizes are rounded up to whole nodes. None: a processor is a node.
    on_bad_line
        ``"skip"``: job lines that are not as the format defines them are left out and counted.
    progress
        Called now and then with (bytes read, bytes in all).

    Raises
    ------
    TraceError
        At the first malformed line, with its number, unless such lines are skipped and at most half of all; or if the
        file cannot be read.
    ConfigError
        If `procs_per_node` is below 1, or `on_bad_line` is none of its words.
    """
    faults = Faults()
    if procs_per_node is not None:
        faults.whole("procs_per_node", procs_per_node, low=1, high=2**31 - 1)
    check_on_bad_line(faults, on_bad_line)
    faults.check()
    skips = on_bad_line == "skip"
    data, name, sha256 = contents(source, "a log in SWF (.swf, .swf.gz, .swf.zst)")
    columns, counts = _core.read_swf(
        data, file=name, procs_per_node=procs_per_node, skip_bad_lines=skips, progress=progress
    )
    del data
    faulty = tuple(counts.pop("first_bad_lines"))
    settings: dict[str, object] = {} if procs_per_node is None else {"procs_per_node": procs_per_node}
    settings |= {"on_bad_line": on_bad_line} if skips else {}
    frame = pl.DataFrame(columns)
    return RawTrace(
        frame, source=name, sha256=sha256, counts=counts, is_checked=True, settings=settings, bad_lines=faulty
    )


FORMAT = Format(
    name="swf",
    suffixes=(".swf", ".swf.gz", ".swf.zst"),
    doc="Standard Workload Format of the Parallel Workloads Archive",
    read=read,
    options=("procs_per_node", "on_bad_line", "progress"),
)
