"""Logs in the Parallel Workloads Archive's Standard Workload Format, version 2.2.

The engine's strict reader parses them. One line a job, 18 numbers: what is not known is -1.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hetsched import _core
from hetsched.checks import Faults
from hetsched.resources import frame_of
from hetsched.typing import OnBadLine
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line, contents
from hetsched.workload.jobs import Workload


def read_swf(
    source: Source,
    *,
    procs_per_node: int | None = None,
    on_bad_line: OnBadLine = "error",
    progress: Callable[[int, int], object] | None = None,
) -> Workload:
    r"""Read a log in the Standard Workload Format.

    Strict by the Parallel Workloads Archive's definition: 18 fields a line, header lines begin with ``;``, -1 is
    unknown. What was kept, dropped or counted is in the workload's ``report``. A job with a preceding job (fields 17
    and 18) waits for its end; where that job is not in the log, or was dropped, it waits for none.

    Parameters
    ----------
    source
        Path (``.swf``, ``.swf.gz``, ``.swf.zst``), ``"-"`` for standard input, or content; compression is known by the
        content.
    procs_per_node
        Processors that make one node; sizes are rounded up to whole nodes. None: a processor is a node.
    on_bad_line
        ``"error"``: a malformed line is an error. ``"skip"``: it is left out and counted, and the report names the
        first few, unless more than half of all job lines are malformed.
    progress
        Called now and then with (bytes read, bytes in all).

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        At the first malformed line, with its number, field and value; or if the file cannot be read.
    ConfigError
        If `procs_per_node` is below 1, or `on_bad_line` is none of its words.

    Examples
    --------
    >>> log = b"; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 7 1 -1 -1 -1\n"
    >>> workload = read_swf(log, procs_per_node=4)
    >>> workload.to_polars().select("job_id", "runtime_s", "node_count", "walltime_s", "app").rows()
    [(1, 60.0, 1, 120.0, '7')]
    >>> read_swf(log + b"2 0 -1 1h 4\n", on_bad_line="skip").report["first_bad_lines"]
    ['line 3, field 4 (run time): found `1h`, expected seconds from 0 to 1e12, or -1 for unknown']
    """
    faults = Faults()
    if procs_per_node is not None:
        faults.whole("procs_per_node", procs_per_node, low=1, high=2**31 - 1)
    check_on_bad_line(faults, on_bad_line)
    faults.function("progress", progress, "bytes read", "bytes in all")
    faults.check()
    skips = on_bad_line == "skip"
    data, name, sha256 = contents(source, "a log in SWF (.swf, .swf.gz, .swf.zst)")
    columns, counts = _core.read_swf(
        data, file=name, procs_per_node=procs_per_node, skip_bad_lines=skips, progress=progress
    )
    del data
    faulty = counts.pop("first_bad_lines")
    settings: dict[str, object] = {} if procs_per_node is None else {"procs_per_node": procs_per_node}
    settings |= {"on_bad_line": on_bad_line} if skips else {}
    frame = frame_of(columns)
    del columns
    return as_workload(frame, source=name, sha256=sha256, settings=settings, checked_counts=counts, bad_lines=faulty)


_BEGINNING = re.compile(rb"\s*(?:;|-?[\d.]+(?:[ \t]+-?[\d.]+){17}[ \t]*(?:\r?\n|$))")
"""A comment, or a line of 18 numbers."""

FORMAT = Format(
    name="swf",
    suffixes=(".swf", ".swf.gz", ".swf.zst"),
    doc="Standard Workload Format of the Parallel Workloads Archive",
    read=read_swf,
    recognizes=lambda head: _BEGINNING.match(head) is not None,
    origins={
        "job_id": "1",
        "submit_s": "2",
        "observed_start_s": "2+3",
        "runtime_s": "4",
        "node_count": "8 5",
        "walltime_s": "9",
        "trace_status": "11",
        "user": "12",
        "app": "14",
        "queue": "15",
        "depends_on": "17",
        "think_s": "18",
    },
)
