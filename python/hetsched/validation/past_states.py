"""States of a machine in its past, from what is known of its jobs at an instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from hetsched.run.restarts import Snapshot
from hetsched.units import instant, ticks
from hetsched.validation.jobs import observed_ends, reason_left_out
from hetsched.workload.schema import COLUMNS

_LATER = ("runtime_s", "depends_on", "cancel_s", "observed_nodes")
"""Columns of jobs that say more than was known at their submit, or name jobs that may be gone."""


@dataclass(frozen=True)
class Before:
    """The machine just before a job that has started since was submitted."""

    state: Snapshot
    """Its jobs that ran or waited; the job itself is the last of them."""
    job_id: int
    wait_s: float


def states_before(now: Snapshot, history: pl.DataFrame, last: int) -> Iterator[Before]:
    """States at the submits of the jobs that started last by an instant, in order of their starts.

    They are made of the jobs of the log that had ended by the instant, and of those that run or wait at it.
    """
    known = _known(now, history)
    started = known.filter(pl.col("observed_start_s").is_not_null()).sort("observed_start_s", "job_id").tail(last)
    for job in started.iter_rows(named=True):
        at_s, start, submit = job["submit_s"], pl.col("observed_start_s"), pl.col("submit_s")
        earlier = known.filter((submit < at_s) | ((submit == at_s) & (pl.col("job_id") < job["job_id"])))
        there = earlier.filter(~(pl.col("end_s") <= at_s).fill_null(value=False))
        own = pl.concat([there, known.filter(pl.col("job_id") == job["job_id"])]).drop("end_s")
        own = own.with_columns(pl.when(start < at_s).then(start).alias("observed_start_s"))
        yield Before(replace(now, time_s=at_s, jobs=own), job["job_id"], job["observed_start_s"] - at_s)


def _known(now: Snapshot, history: pl.DataFrame) -> pl.DataFrame:
    """Jobs that have ended, run or wait at an instant, with ``end_s`` of those that have ended."""
    end = observed_ends(history.columns, "runtime_s").alias("end_s")
    whole = history.filter(reason_left_out("runtime_s").is_null()).with_columns(end)
    ended = whole.filter(ticks("end_s") <= instant(now.time_s))
    names = COLUMNS.keys() - set(_LATER)
    here = now.jobs.filter(~pl.col("job_id").is_in(ended["job_id"].implode()))
    parts = [one.select([name for name in one.columns if name in names or name == "end_s"]) for one in (ended, here)]
    return pl.concat(parts, how="diagonal_relaxed").with_columns(runtime_s=pl.lit(0.0))
