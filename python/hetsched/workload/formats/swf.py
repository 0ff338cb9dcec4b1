"""Logs in the Parallel Workloads Archive's Standard Workload Format, version 2.2.

The engine's strict reader parses them. One line a job, 18 numbers: what is not known is -1. Names have no place in the
format: they become numbers, and a comment says which is which.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, one_line
from hetsched.typing import OnBadLine
from hetsched.workload.convert import Origin
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line, contents
from hetsched.workload.generators.parameters import shown_text
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import COLUMNS

LOST_COLUMNS = (
    "slots",
    "device",
    "power_w",
    "power_profile",
    "power_profile_s",
    "comm_s",
    "observed_nodes",
    "start_at_s",
    "depends_how",
    "cancel_s",
    "array_id",
    "array_limit",
    "observed_end_s",
    "observed_energy_j",
    "observed_segments",
    "suspended_s",
    "restarts",
    "cpus",
    "log_id",
    "trace_state",
    "het_id",
    "qos",
    "reservation",
    "priority",
    "profile",
)
"""Columns of the job table that the format has no field for."""

_NAMED = {"user": "user", "queue": "queue", "app": "executable"}
_OPTIONAL = ("walltime_s", "trace_status", "user", "app", "queue", "depends_on", "think_s", "observed_start_s")
_JOBS_A_PART = 50_000

_GZIP_LEVEL = 6
"""Level 9 takes six times as long for a file that is 2 % smaller."""


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
    frame = pl.DataFrame(columns)
    if frame["think_s"].null_count() == len(frame):
        frame = frame.drop("think_s")
    return as_workload(frame, source=name, sha256=sha256, settings=settings, checked_counts=counts, bad_lines=faulty)


def swf_parts(jobs: pl.DataFrame, *, header: Iterable[tuple[str, object]] = ()) -> Iterator[str]:
    """The jobs as text in SWF, part by part: the comments, then some lines at a time.

    A node is written as one processor, requested and allocated alike. Times are written in full: whole seconds as whole
    numbers, others with up to six decimals, as the format allows. `header` are keys and values, such as
    ``("MaxNodes", 128)``. A `TraceError` before the first part if a job's number is below 0.
    """
    _refuse_negative(jobs["job_id"])
    jobs = jobs.with_columns(pl.lit(None, COLUMNS[name].dtype).alias(name) for name in _OPTIONAL if name not in jobs)
    notes: list[tuple[str, object]] = []
    # Once for all parts: a dictionary of names is as long as there are names.
    numbered = jobs.with_columns(**{column: _numbered(jobs[column], noun, notes) for column, noun in _NAMED.items()})
    lines = [("Version", "2.2"), ("MaxJobs", len(jobs)), ("MaxRecords", len(jobs)), *header, *notes]
    yield "".join(f"; {key}: {one_line(str(value), limit=10_000)}\n" for key, value in lines)
    line = pl.concat_str(_fields(), separator=" ").alias("line")
    for part in numbered.iter_slices(_JOBS_A_PART):
        yield f"{part.select(line)['line'].str.join(chr(10)).item()}\n"


def _fields() -> list[pl.Expr]:
    """The 18 fields of a line, in order, as text; names are numbers by now."""
    times = ("submit_s", "runtime_s", "walltime_s", "think_s")
    submit, runtime, walltime, think = (_seconds(pl.col(name)) for name in times)
    waited = pl.col("observed_start_s") - pl.col("submit_s")
    wait = _seconds(pl.when(waited >= 0).then(waited))
    whole = ("job_id", "node_count", "trace_status", "user", "app", "queue", "depends_on")
    job, size, status, user, app, queue, before = (pl.col(name).cast(pl.String).fill_null("-1") for name in whole)
    none = pl.lit("-1")
    return [
        *(job, submit, wait, runtime, size, none, none, size, walltime),
        *(none, status, user, none, app, queue, none, before, think),
    ]


def _seconds(values: pl.Expr) -> pl.Expr:
    """Seconds as digits, exact to the microsecond, without an exponent."""
    micros = (values * 1e6).round().cast(pl.Int64)
    whole, rest = (micros // 1_000_000).cast(pl.String), micros % 1_000_000
    decimals = rest.cast(pl.String).str.zfill(6).str.strip_chars_end("0")
    text = pl.when(rest == 0).then(whole).otherwise(pl.concat_str([whole, pl.lit("."), decimals]))
    return text.fill_null("-1")


def _numbered(names: pl.Series, noun: str, notes: list[tuple[str, object]]) -> pl.Expr:
    """Names as numbers: if all are numbers they stay, else all are counted from 1 in alphabetical order and noted."""
    known: Sequence[str] = names.drop_nulls().unique().sort().to_list()
    if all(_is_number(name) for name in known):
        return pl.col(names.name).fill_null("-1")
    codes = {name: str(number) for number, name in enumerate(known, start=1)}
    notes.extend(("Note", f"{noun} {number} is {name}") for name, number in codes.items())
    return pl.col(names.name).replace_strict(codes, default="-1", return_dtype=pl.String)


def _is_number(name: str) -> bool:
    """True if a name is a number as a reader gives it back: `007` would come back as `7`, which may be another's."""
    is_digits = name.isascii() and name.isdigit() and len(name) < 18
    return is_digits and (name == "0" or not name.startswith("0"))


def _refuse_negative(job_id: pl.Series) -> None:
    rows = (job_id < 0).arg_true()
    if len(rows):
        row = int(rows[0])
        raise Origin("SWF").fault("job_id", row, f"`{job_id[row]}`", "at least 0")


def _header(workload: Workload) -> Iterator[tuple[str, Any]]:
    """Lines of an SWF file on the machine and on how its jobs came to be."""
    known, notes = in_nodes(workload)
    for name in ("computer", "max_nodes", "max_procs", "unix_start_time"):
        if known.get(name) is not None:
            yield name.title().replace("_", ""), known[name]
    yield from notes
    if "generator" in workload.report:
        yield "Note", f"generator {workload.report['generator']}"
        for name, value in workload.report["parameters"].items():
            yield "Note", f"{name} = {shown_text(value)}"
    for step in workload.history if "generator" not in workload.report else workload.history[1:]:
        yield "Note", step


def in_nodes(workload: Workload) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """The report's machine, its processors being the nodes of this file, and a note on the processors it had."""
    known: dict[str, Any] = dict(workload.report.get("header") or {})
    per_node, procs = workload.report.get("procs_per_node"), known.get("max_procs")
    if per_node is None or per_node == 1:
        return known, []
    nodes = known.get("max_nodes") or (-(-procs // per_node) if procs else None)
    known |= {"max_nodes": nodes, "max_procs": nodes}
    return known, [("Note", f"MaxProcs was {procs}, {per_node} processors a node")] if procs else []


def _plain(workload: Workload) -> Iterator[bytes]:
    return (part.encode() for part in swf_parts(workload.to_polars(), header=_header(workload)))


def _packed(workload: Workload) -> Iterator[bytes]:
    # As gzip frames it, without a name and a time of day in it, so that the same jobs give the same file.
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16)
    yield from map(packer.compress, _plain(workload))
    yield packer.flush()


_BEGINNING = re.compile(rb"\s*(?:;|-?[\d.]+(?:[ \t]+-?[\d.]+){17}[ \t]*(?:\r?\n|$))")
"""A comment, or a line of 18 numbers."""

FORMAT = Format(
    name="swf",
    suffixes=(".swf", ".swf.gz", ".swf.zst"),
    doc="Standard Workload Format of the Parallel Workloads Archive",
    read=read_swf,
    write={".swf": _plain, ".swf.gz": _packed},
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
