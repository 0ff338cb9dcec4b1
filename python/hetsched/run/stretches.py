"""Stretches of attempts, and what happened on the way: the frames `Result.segments` and `Result.events`."""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.run.result_files import OPTIONAL_FRAMES


def framed(name: str, columns: Any) -> pl.DataFrame:
    """The engine's columns of a frame that only some runs have, in order and of their types."""
    wanted = OPTIONAL_FRAMES[name]
    return pl.DataFrame(columns).select(pl.col(column).cast(dtype) for column, dtype in wanted.items())


def empty(name: str) -> pl.DataFrame:
    """The frame of a run in which there was nothing to tell."""
    return pl.DataFrame(schema=OPTIONAL_FRAMES[name])


def segments_of_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    """A row a started job, of a run in which every attempt is one stretch."""
    comm = _ticks("comm_s").fill_null(0) if "comm_s" in jobs.columns else pl.lit(0)
    computed = _ticks("end_s") - _ticks("start_s") - comm
    # A job that was killed does not tell how fast it was.
    speed = pl.when(pl.col("state") == "completed", computed > 0).then(_ticks("nominal_runtime_s") / computed)
    made = {
        "attempt": pl.lit(1),
        "cap_w": pl.lit(None),
        "speed_ratio": speed,
        "power_w": pl.col("mean_power_w"),
        "state": pl.lit("running"),
    }
    return jobs.filter(pl.col("start_s").is_not_null()).select(
        made.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in OPTIONAL_FRAMES["segments"].items()
    )


def _ticks(name: str) -> pl.Expr:
    """Seconds as whole microseconds, which the engine counts in."""
    return (pl.col(name) * 1e6).round()
