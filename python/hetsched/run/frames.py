"""The engine's records beside the workload's columns: `Result.jobs`, one row a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

JOB_COLUMNS: dict[str, type[pl.DataType] | pl.DataType] = {
    "job_id": pl.Int64,
    "user": pl.String,
    "queue": pl.String,
    "app": pl.String,
    "submit_s": pl.Float64,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "runtime_s": pl.Float64,
    "walltime_s": pl.Float64,
    "wait_s": pl.Float64,
    "turnaround_s": pl.Float64,
    "bounded_slowdown": pl.Float64,
    "node_count": pl.Int32,
    "slots": pl.Int32,
    "nodes": pl.List(pl.UInt32),
    "energy_j": pl.Float64,
    "mean_power_w": pl.Float64,
    "started_by": pl.String,
    "state": pl.String,
    "reason": pl.String,
    "nominal_runtime_s": pl.Float64,
}
"""The columns of `Result.jobs` that every run has, in order; the workload's other columns stand behind them."""

TIMELINE_COLUMNS: dict[str, type[pl.DataType]] = {
    "time_s": pl.Float64,
    "power_w": pl.Float64,
    "busy_nodes": pl.Int32,
    "idle_nodes": pl.Int32,
    "sleeping_nodes": pl.Int32,
    "transition_nodes": pl.Int32,
    "down_nodes": pl.Int32,
    "queued_jobs": pl.Int32,
    "running_jobs": pl.Int32,
}
"""The columns of `Result.timeline`."""

NODE_COLUMNS: dict[str, type[pl.DataType]] = {
    "node": pl.Int32,
    "busy_s": pl.Float64,
    "idle_s": pl.Float64,
    "off_s": pl.Float64,
    "transition_s": pl.Float64,
    "down_s": pl.Float64,
    "energy_j": pl.Float64,
    "boots": pl.Int32,
    "shutdowns": pl.Int32,
}
"""The columns of `Result.nodes`."""

_SLOWDOWN_FLOOR_S = 10.0


def jobs_frame(workload: pl.DataFrame, run: pl.DataFrame) -> pl.DataFrame:
    """One row a job, in the workload's order."""
    more = [name for name in run.columns if name not in JOB_COLUMNS]
    names = names_in_result(workload.columns, more)
    own = [series.alias(names.get(series.name, series.name)) for series in workload.get_columns()]
    joined = pl.DataFrame([*own, *run.get_columns()])
    schema = joined.schema
    others = [series.name for series in own if series.name not in JOB_COLUMNS]
    runtime_s, turnaround_s = pl.col("end_s") - pl.col("start_s"), pl.col("end_s") - pl.col("submit_s")
    made = {
        "runtime_s": runtime_s,
        "wait_s": pl.col("start_s") - pl.col("submit_s"),
        "turnaround_s": turnaround_s,
        "bounded_slowdown": (turnaround_s / runtime_s.clip(_SLOWDOWN_FLOOR_S)).clip(1.0),
        "mean_power_w": pl.when(runtime_s > 0).then(pl.col("energy_j") / runtime_s),
    }
    # One query: where a run has a few thousand jobs, queries cost more than the work in them.
    columns = [
        made[name].alias(name) if name in made else pl.col(name) if name in schema else pl.lit(None).alias(name)
        for name in JOB_COLUMNS
    ]
    typed = [
        one if schema.get(name) == dtype else one.cast(dtype)
        for one, (name, dtype) in zip(columns, JOB_COLUMNS.items(), strict=True)
    ]
    return joined.select(*typed, *more, *others)


def names_in_result(columns: Sequence[str], recorded: Iterable[str] = ()) -> dict[str, str]:
    """Names of a workload's columns in `Result.jobs`.

    The runtime is ``nominal_runtime_s`` there. One of the user's own whose name is a column of the run's has ``trace_``
    put before it, and once more as long as the workload has a column of that name too: what a run recorded is kept
    when its result is the next workload, and so is what the runs before it did.
    """
    taken = {*JOB_COLUMNS, *recorded} - set(_FROM_WORKLOAD)
    names = {}
    for column in columns:
        name = column
        while name in taken or (name != column and name in columns):
            name = f"trace_{name}"
        names[column] = name
    return names | {"runtime_s": "nominal_runtime_s"}


_FROM_WORKLOAD = (
    "job_id",
    "user",
    "queue",
    "app",
    "submit_s",
    "walltime_s",
    "node_count",
    "slots",
)
