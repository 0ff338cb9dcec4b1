"""Logs in the Parallel Workloads Archive's Standard Workload Format, parsed by the engine's strict reader."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from hetsched import _core
from hetsched.config import Faults
from hetsched.trace.raw import Format, RawTrace, Source, contents

__all__ = ["FORMAT", "read"]


def read(
    source: Source,
    *,
    procs_per_node: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> RawTrace:
    """Read a log in SWF: plain, gzip or zstd.

    Parameters
    ----------
    source
        Path or content.
    procs_per_node
        Processors that make one node; sizes are rounded up to whole nodes. None: a processor is a node.
    progress
        Called now and then with (bytes read, bytes in all).

    Raises
    ------
    TraceError
        At the first malformed line, with its number; or if the file cannot be read.
    ConfigError
        If `procs_per_node` is below 1.
    """
    if procs_per_node is not None:
        faults = Faults()
        faults.whole("procs_per_node", procs_per_node, low=1, high=2**31 - 1)
        faults.check()
    data, name, sha256 = contents(source, "a log in SWF (.swf, .swf.gz, .swf.zst)")
    columns, counts = _core.read_swf(data, file=name, procs_per_node=procs_per_node, progress=progress)
    del data
    settings = {} if procs_per_node is None else {"procs_per_node": procs_per_node}
    frame = pl.DataFrame(columns)
    return RawTrace(frame, source=name, sha256=sha256, counts=counts, is_checked=True, settings=settings)


FORMAT = Format(
    name="swf",
    suffixes=(".swf", ".swf.gz", ".swf.zst"),
    doc="Standard Workload Format of the Parallel Workloads Archive",
    read=read,
    options=("procs_per_node", "progress"),
)
