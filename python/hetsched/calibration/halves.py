"""A log cut in two: the first half as it was known at its end, and what a run of it is compared with (rule 35)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.errors import ConfigError
from hetsched.validation.jobs import check_observed, observed_ends, reason_left_out
from hetsched.workload import Workload

_MOST_CUT_S = 7 * 86_400.0
_FEWEST_JOBS = 4
_SECOND_S = 1.0
_KNOWN_AT_SUBMIT = (
    *("job_id", "submit_s", "runtime_s", "node_count", "min_nodes", "max_nodes", "speedup", "serial_ratio"),
    *("downey_a", "downey_sigma", "speedup_table", "malleable", "resize_s", "walltime_s", "comm_s", "slots", "user"),
    *("account", "queue", "app", "device", "constraint", "gpus", "memory_gb", "licences", "first_run", "start_at_s"),
    *("depends_on", "depends_how", "think_s", "array_id", "array_limit", "cap_w"),
)
"""Columns that a job brings when it is submitted, and its run time."""


@dataclass(frozen=True)
class Cut:
    """The window of submits that count, and the instant that cuts it in two."""

    from_s: float
    until_s: float
    at_s: float
    """The last submit of the first half."""
    jobs: int
    """Jobs that count, of both halves."""

    @classmethod
    def of(cls, workload: Workload) -> Cut:
        """The cut of a log by the submits of the jobs that count (rules 2 and 35)."""
        check_observed(workload.columns)
        jobs = workload.to_polars()
        submits = jobs["submit_s"]
        first_s, last_s = (float(submits[0]), float(submits[-1])) if len(jobs) else (0.0, 0.0)
        cut_s = min(_MOST_CUT_S, (last_s - first_s) / 10)
        from_s, until_s = first_s + cut_s, last_s - cut_s
        counted = jobs.filter(reason_left_out("runtime_s").is_null() & pl.col("submit_s").is_between(from_s, until_s))
        if len(counted) < _FEWEST_JOBS:
            expected = f"at least {_FEWEST_JOBS} with an observed start and a run, between warm-up and cool-down"
            raise ConfigError([("workload", f"{len(counted)} jobs that count", expected)])
        submit_s = counted["submit_s"].to_numpy()
        at_s = middle(submit_s)
        if not (submit_s > at_s).any():
            found = f"{len(counted)} jobs that count, the later half of them submitted at {at_s:g} s"
            raise ConfigError([("workload", found, "jobs that are submitted after half of them were")])
        return cls(from_s, until_s, at_s, len(counted))


def middle(submits: npt.NDArray[np.float64]) -> float:
    """The last submit of the first half of jobs."""
    return float(np.sort(submits)[(len(submits) - 1) // 2])


def first_half(workload: Workload, at_s: float) -> Workload:
    """The jobs submitted up to an instant, with nothing that was not known then.

    A job that had not started has its observed start a second after the instant, whenever it was; one that had not
    ended runs as long as `_lengths` expects. Nothing else of the log after the instant is in it.
    """
    jobs = workload.to_polars().filter(pl.col("submit_s") <= at_s)
    start, end = pl.col("observed_start_s"), observed_ends(jobs.columns, "runtime_s")
    kept = [name for name in _KNOWN_AT_SUBMIT if name in jobs.columns]
    known = jobs.select(*kept, "observed_start_s", end.alias("observed_end_s"), *_nodes(jobs), *_cancels(jobs, at_s))
    is_over = (start <= at_s) & (pl.col("observed_end_s") <= at_s)
    known = known.with_columns(_lengths(known, at_s).alias("runtime_s"))
    known = known.with_columns(
        pl.when(start > at_s).then(at_s + _SECOND_S).otherwise(start).alias("observed_start_s"),
        pl.when(is_over).then("observed_end_s").alias("observed_end_s"),
    )
    if "depends_on" in kept:
        is_there = pl.col("depends_on").is_in(known["job_id"].implode())
        known = known.with_columns(pl.when(is_there).then("depends_on").alias("depends_on"))
    return Workload(
        known, source=workload.source, report=workload.report, history=[*workload.history, "cut after its first half"]
    )


def _nodes(jobs: pl.DataFrame) -> list[str]:
    return ["observed_nodes"] if "observed_nodes" in jobs.columns else []


def _cancels(jobs: pl.DataFrame, at_s: float) -> list[pl.Expr]:
    """Withdrawals that had happened."""
    if "cancel_s" not in jobs.columns:
        return []
    return [pl.when(pl.col("cancel_s") <= at_s).then("cancel_s").alias("cancel_s")]


def _lengths(jobs: pl.DataFrame, at_s: float) -> pl.Series:
    """Run times: of jobs that had not ended, the median of those that ended later than it had run, by its walltime.

    Where there is none such: the walltime, and at least a second more than it had run.
    """
    start, end, runtime = (jobs[name].to_numpy() for name in ("observed_start_s", "observed_end_s", "runtime_s"))
    is_open = (start > at_s) | (end > at_s)
    if not is_open.any():
        return jobs["runtime_s"]
    ended = np.sort(runtime[(end <= at_s) & (runtime > 0)])
    ran = np.maximum(at_s - start[is_open], 0.0)
    limit = jobs["walltime_s"].to_numpy()[is_open] if "walltime_s" in jobs.columns else np.full(len(ran), np.nan)
    first = np.searchsorted(ended, ran, side="right")
    last = np.where(np.isnan(limit), len(ended), np.searchsorted(ended, limit, side="right"))
    place = (first + last - 1) // 2
    alike = ended[np.minimum(place, len(ended) - 1)] if len(ended) else np.full(len(ran), np.nan)
    length = np.where(last > first, alike, limit)
    found = runtime.copy()
    found[is_open] = np.fmax(length, ran + _SECOND_S)
    return pl.Series("runtime_s", found)
