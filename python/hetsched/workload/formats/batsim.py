"""Batsim's workloads: JSON with jobs and the profiles that say how long they run.

The engine's reader reads jobs one by one and works out the lengths of profiles (`rust/core/src/trace/batsim`).
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.checks import Faults
from hetsched.typing import OnBadLine
from hetsched.workload.conform import conformed, first_bad_lines
from hetsched.workload.convert import Origin
from hetsched.workload.formats.blocks import opened
from hetsched.workload.formats.raw import Format, Source, as_workload, check_on_bad_line
from hetsched.workload.jobs import Workload

_EXPECTED = "a workload of Batsim's: JSON with `jobs` and `profiles`"
_LARGEST_NUMBER = 10**18


def read_batsim(source: Source, *, flops_per_s: float | None = None, on_bad_line: OnBadLine = "error") -> Workload:
    r"""Read a workload of Batsim's from JSON.

    A job's length comes from its profile. ``delay`` is seconds; ``composed`` is the sum of its sequence, as often as
    it repeats. Work (``parallel``, ``parallel_homogeneous``, ``parallel_homogeneous_total``) needs `flops_per_s`; what
    such profiles communicate is left out, and counted by job. ``app`` and ``profile`` are the profile's name,
    ``log_id`` is the id as it stands; ids that are no numbers get numbers above the largest.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content. It is read job by job: a long file needs no
        more memory than its jobs.
    flops_per_s
        Speed of a node in floating-point operations a second, for profiles of work.
    on_bad_line
        ``"error"``: an invalid job is an error. ``"skip"``: it is left out and counted.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        If the file is no such JSON, or a job or its profile is invalid: names ``jobs[K]``, counted from 0.
    ConfigError
        If an option is invalid.

    Examples
    --------
    >>> text = b'{"nb_res": 4, "jobs": [{"id": "w0!7", "subtime": 5, "res": 2, "profile": "p"}], "profiles":'
    >>> jobs = read_batsim(text + b' {"p": {"type": "delay", "delay": 60}}}').to_polars()
    >>> jobs.select("job_id", "log_id", "submit_s", "runtime_s", "node_count", "app").rows()
    [(7, 'w0!7', 5.0, 60.0, 2, 'p')]
    """
    faults = Faults()
    if flops_per_s is not None:
        faults.number("flops_per_s", flops_per_s, low=0.0)
        if not faults.found and not flops_per_s > 0:
            faults.add("flops_per_s", flops_per_s, "a number above 0")
    check_on_bad_line(faults, on_bad_line)
    faults.check()
    speed = None if flops_per_s is None else float(flops_per_s)
    with opened(source, _EXPECTED) as blocks:
        columns, counts = _core.read_batsim(
            blocks.read, file=blocks.name, flops_per_s=speed, skip_bad_lines=on_bad_line == "skip"
        )
    table, checked = conformed(_jobs(columns, counts), Origin(blocks.name))
    settings: dict[str, object] = {} if flops_per_s is None else {"flops_per_s": flops_per_s}
    settings |= {"on_bad_line": on_bad_line} if on_bad_line == "skip" else {}
    return as_workload(
        table, source=blocks.name, sha256=blocks.sha256, settings=settings, checked_counts=checked | _counted(counts)
    )


def _jobs(columns: _core.Frame, counts: dict[str, Any]) -> pl.DataFrame:
    """The frame of the jobs, numbered, without columns that no job has; jobs with the number of another are counted."""
    frame = pl.DataFrame(columns)
    numbers, counts["reused_ids"] = numbered(_plain_numbers(frame["log_id"]))
    empty = [name for name in ("user", "queue") if frame[name].null_count() == len(frame)]
    return frame.drop(empty).with_columns(numbers, app=pl.col("profile"))


def _plain_numbers(log_ids: pl.Series) -> pl.Series:
    """The numbers of ids, behind the workload's name if they have one; null for those that are none."""
    numbers = log_ids.str.extract(r"(?:^|!)([0-9]{1,19})$").cast(pl.Int64, strict=False)
    return numbers.set((numbers >= _LARGEST_NUMBER).fill_null(value=False), None)


def _counted(counts: dict[str, Any]) -> dict[str, Any]:
    """Counts above zero, and the machine's size, as logs with a header have it."""
    found = {name: counts[name] for name in ("comm_ignored", "reused_ids", "bad_lines") if counts[name]}
    if faults := counts["first_bad_lines"]:
        found["first_bad_lines"] = first_bad_lines(faults)
    if (nodes := counts["nodes"]) is not None:
        found["header"] = {"max_nodes": nodes, "max_procs": nodes}
    return found


def numbered(numbers: pl.Series) -> tuple[pl.Series, int]:
    """Numbers of all jobs: names without one, and those of a number that an earlier job has, get larger ones.

    Also how many jobs had the number of another.
    """
    is_second = numbers.is_not_null() & ~numbers.is_first_distinct()
    needs_one = numbers.is_null() | is_second
    largest = numbers.max()
    first = 1 if largest is None else int(largest) + 1  # type: ignore[arg-type]
    given = needs_one.cast(pl.Int64).cum_sum() + (first - 1)
    return numbers.set(needs_one, None).fill_null(given).alias("job_id"), int(is_second.sum())


_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_OF_BATSIM = re.compile(rb'"(?:profiles|nb_res|subtime)"\s*:')

FORMAT = Format(
    name="batsim",
    suffixes=(".json", ".json.gz", ".json.zst"),
    doc="workloads of Batsim's, in JSON",
    read=read_batsim,
    recognizes=lambda head: _BEGINNING.match(head) is not None and _OF_BATSIM.search(head) is not None,
    origins={
        "job_id": "id",
        "log_id": "id",
        "submit_s": "subtime",
        "runtime_s": "profile",
        "node_count": "res",
        "walltime_s": "walltime",
        "app": "profile",
        "profile": "profile",
        "user": "user",
        "queue": "queue",
    },
)
