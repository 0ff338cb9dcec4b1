"""Jobs in the Parallel Workloads Archive's Standard Workload Format, version 2.2.

Names have no place in the format: they become numbers, and a comment says which is which.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from hetsched.checks import one_line
from hetsched.params import plain_text
from hetsched.workload.convert import Origin
from hetsched.workload.describe import Log
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


def _header(log: Log) -> Iterator[tuple[str, Any]]:
    """Lines of an SWF file on the machine and on how its jobs came to be."""
    known, notes = in_nodes(log)
    for name in ("computer", "max_nodes", "max_procs", "unix_start_time"):
        if known.get(name) is not None:
            yield name.title().replace("_", ""), known[name]
    yield from notes
    if "generator" in log.report:
        yield "Note", f"generator {log.report['generator']}"
        for name, value in log.report["parameters"].items():
            yield "Note", f"{name} = {plain_text(value)}"
    for step in log.history if "generator" not in log.report else log.history[1:]:
        yield "Note", step


def in_nodes(log: Log) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """The report's machine, its processors being the nodes of this file, and a note on the processors it had."""
    known: dict[str, Any] = dict(log.report.get("header") or {})
    per_node, procs = log.report.get("procs_per_node"), known.get("max_procs")
    if per_node is None or per_node == 1:
        return known, []
    nodes = known.get("max_nodes") or (-(-procs // per_node) if procs else None)
    known |= {"max_nodes": nodes, "max_procs": nodes}
    return known, [("Note", f"MaxProcs was {procs}, {per_node} processors a node")] if procs else []


def plain(log: Log) -> Iterator[bytes]:
    """The content of a file in SWF."""
    return (part.encode() for part in swf_parts(log.to_polars(), header=_header(log)))


def packed(log: Log) -> Iterator[bytes]:
    """The same, compressed."""
    # As gzip frames it, without a name and a time of day in it, so that the same jobs give the same file.
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16)
    yield from map(packer.compress, plain(log))
    yield packer.flush()
