"""Job tables written in the Standard Workload Format, version 2.2 of the Parallel Workloads Archive.

One line a job, 18 numbers: what is not known is -1. Names have no place in the format: they become numbers, and a
comment says which is which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from hetsched.checks import one_line
from hetsched.errors import TraceError

__all__ = ["LOST_COLUMNS", "swf_parts", "swf_text"]

LOST_COLUMNS = ("slots", "device", "power_w", "comm_s", "observed_nodes")
"""Columns of the job table that the format has no field for."""

_NAMED = {"user": "user", "queue": "queue", "app": "executable"}
_UNKNOWN = pl.lit("-1")
_JOBS_A_PART = 50_000


def swf_text(jobs: pl.DataFrame, *, header: Iterable[tuple[str, object]] = ()) -> str:
    r"""The jobs as text in SWF.

    A node is written as one processor, requested and allocated alike. Times are written in full: whole seconds as
    whole numbers, others with up to six decimals, as the format allows.

    Parameters
    ----------
    jobs
        A job table: ``job_id`` from 0 on, ``submit_s``, ``runtime_s``, ``node_count``, and any of ``walltime_s``,
        ``user``, ``queue``, ``app``, ``depends_on``, ``trace_status``, ``observed_start_s``; others are left out.
    header
        Lines of the header, keys and values, such as ``("MaxNodes", 128)``. ``Version``, ``MaxJobs``, ``MaxRecords``
        and a ``Note`` for each name that becomes a number come by themselves.

    Raises
    ------
    TraceError
        If a job's number is below 0.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.5], "runtime_s": [60.0], "node_count": [4], "app": ["hpcg"]})
    >>> print(swf_text(jobs, header=[("MaxNodes", 16)]), end="")
    ; Version: 2.2
    ; MaxJobs: 1
    ; MaxRecords: 1
    ; MaxNodes: 16
    ; Note: executable 1 is hpcg
    1 0.5 -1 60 4 -1 -1 4 -1 -1 -1 -1 -1 1 -1 -1 -1 -1
    """
    return "".join(swf_parts(jobs, header=header))


def swf_parts(jobs: pl.DataFrame, *, header: Iterable[tuple[str, object]] = ()) -> Iterator[str]:
    """The text of `swf_text` part by part, none of which takes long: the comments, then some lines at a time.

    Parameters
    ----------
    jobs, header
        As in `swf_text`.

    Raises
    ------
    TraceError
        As `swf_text`, before the first part.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [60.0], "node_count": [4]})
    >>> "".join(swf_parts(jobs)) == swf_text(jobs)
    True
    """
    _refuse_negative(jobs["job_id"])
    notes: list[tuple[str, object]] = []
    # Once for all parts: a dictionary of names is as long as there are names.
    numbers = {column: _numbered(jobs, column, notes) for column in _NAMED}
    numbered = jobs.with_columns(**{column: own for column, own in numbers.items() if column in jobs.columns})
    lines = [("Version", "2.2"), ("MaxJobs", len(jobs)), ("MaxRecords", len(jobs)), *header, *notes]
    yield "".join(f"; {key}: {one_line(str(value), limit=10_000)}\n" for key, value in lines)
    line = pl.concat_str(_fields(jobs), separator=" ").alias("line")
    for part in numbered.iter_slices(_JOBS_A_PART):
        yield f"{part.select(line)['line'].str.join(chr(10)).item()}\n"


def _fields(jobs: pl.DataFrame) -> list[pl.Expr]:
    """The 18 fields of a line, in order, as text; names are numbers by now."""
    waited = pl.col("observed_start_s") - pl.col("submit_s") if "observed_start_s" in jobs.columns else None
    size = pl.col("node_count").cast(pl.String)
    return [
        pl.col("job_id").cast(pl.String),
        _seconds(pl.col("submit_s")),
        _UNKNOWN if waited is None else _seconds(pl.when(waited >= 0).then(waited)),
        _seconds(pl.col("runtime_s")),
        size,
        _UNKNOWN,
        _UNKNOWN,
        size,
        _seconds(pl.col("walltime_s")) if "walltime_s" in jobs.columns else _UNKNOWN,
        _UNKNOWN,
        _whole(jobs, "trace_status"),
        _whole(jobs, "user"),
        _UNKNOWN,
        _whole(jobs, "app"),
        _whole(jobs, "queue"),
        _UNKNOWN,
        _whole(jobs, "depends_on"),
        _UNKNOWN,
    ]


def _seconds(values: pl.Expr) -> pl.Expr:
    """Seconds as digits, exact to the microsecond, without an exponent."""
    micros = (values * 1e6).round().cast(pl.Int64)
    whole, rest = (micros // 1_000_000).cast(pl.String), micros % 1_000_000
    decimals = rest.cast(pl.String).str.zfill(6).str.strip_chars_end("0")
    text = pl.when(rest == 0).then(whole).otherwise(pl.concat_str([whole, pl.lit("."), decimals]))
    return text.fill_null("-1")


def _whole(jobs: pl.DataFrame, column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("-1") if column in jobs.columns else _UNKNOWN


def _numbered(jobs: pl.DataFrame, column: str, notes: list[tuple[str, object]]) -> pl.Expr:
    """Names as numbers: if all are numbers they stay, else all are counted from 1 in alphabetical order and noted."""
    if column not in jobs.columns:
        return _UNKNOWN
    names: Sequence[str] = jobs[column].drop_nulls().unique().sort().to_list()
    if all(_is_number(name) for name in names):
        return pl.col(column).fill_null("-1")
    codes = {name: str(number) for number, name in enumerate(names, start=1)}
    notes.extend(("Note", f"{_NAMED[column]} {number} is {name}") for name, number in codes.items())
    return pl.col(column).replace_strict(codes, default="-1", return_dtype=pl.String)


def _is_number(name: str) -> bool:
    """Whether a name is a number as a reader gives it back: `007` would come back as `7`, which may be another's."""
    is_digits = name.isascii() and name.isdigit() and len(name) < 18
    return is_digits and (name == "0" or not name.startswith("0"))


def _refuse_negative(job_id: pl.Series) -> None:
    rows = (job_id < 0).arg_true()
    if len(rows):
        row = int(rows[0])
        raise TraceError(
            file="SWF",
            line=row,
            counted="row",
            field="column `job_id`",
            found=f"`{job_id[row]}`",
            expected="at least 0",
        )
