"""A result as Batsim writes it: tables of jobs, of the schedule and of machines' states, which evalys reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import Faults
from hetsched.files import write_whole

STATES = {
    "completed": "COMPLETED_SUCCESSFULLY",
    "timeout": "COMPLETED_WALLTIME_REACHED",
    "failed": "COMPLETED_FAILED",
    "cancelled": "COMPLETED_KILLED",
    "rejected": "REJECTED",
}
"""Batsim's words for how jobs end. Jobs that have not ended, or were cancelled while they waited, have none."""


def write_batsim(prefix: str | os.PathLike[str], frames: Mapping[str, pl.DataFrame], *, energy_j: float) -> None:
    """Write PREFIX_jobs.csv, _schedule.csv and _machine_states.csv of a result's frames; see `Result.to_batsim_csv`."""
    faults = Faults()
    faults.folder("prefix", prefix)
    faults.check()
    told = jobs_table(frames["jobs"])
    schedule = pl.DataFrame([schedule_row(told, nodes=len(frames["nodes"]), energy_j=energy_j)])
    states = states_table(frames["timeline"], frames["events"])
    for name, frame in {"jobs": told, "schedule": schedule, "machine_states": states}.items():
        write_whole(Path(f"{os.fspath(prefix)}_{name}.csv"), frame.write_csv().encode())


def jobs_table(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs that ended, in Batsim's columns."""
    is_rejected = pl.col("state") == "rejected"
    ended = jobs.filter(is_rejected | (pl.col("end_s").is_not_null() & pl.col("start_s").is_not_null()))
    log_id = pl.col("log_id").cast(pl.String) if "log_id" in jobs.columns else pl.lit(None, pl.String)
    parts = log_id.str.extract_groups("^(.*)!([^!]*)$").struct
    number = pl.col("job_id").cast(pl.String)
    names = [pl.col(name).cast(pl.String) for name in ("profile", "app") if name in jobs.columns]
    times = {
        "starting_time": "start_s",
        "execution_time": "runtime_s",
        "finish_time": "end_s",
        "waiting_time": "wait_s",
        "turnaround_time": "turnaround_s",
    }
    stretch = pl.when(pl.col("runtime_s") > 0).then(pl.col("turnaround_s") / pl.col("runtime_s"))
    own = {name: pl.when(~is_rejected).then(pl.col(column)) for name, column in times.items()}
    return ended.select(
        job_id=pl.coalesce(parts.field("2"), number),
        workload_name=pl.coalesce(parts.field("1"), pl.lit("w0")),
        profile=pl.coalesce(*names, number),
        submission_time="submit_s",
        requested_number_of_resources="node_count",
        requested_time=pl.col("walltime_s").fill_null(-1.0),
        success=(pl.col("state") == "completed").cast(pl.Int8),
        final_state=pl.col("state").replace_strict(STATES, default=None, return_dtype=pl.String),
        **own,
        stretch=pl.when(~is_rejected).then(stretch),
        allocated_resources=pl.when(~is_rejected).then(_intervals(ended["nodes"])),
        consumed_energy=pl.when(~is_rejected).then(pl.col("energy_j")),
        metadata=pl.lit("", pl.String),
    )


def _intervals(nodes: pl.Series) -> pl.Series:
    """Node numbers as ``0-3 7``, ascending lists."""
    own = pl.DataFrame({"row": pl.int_range(len(nodes), eager=True), "node": nodes}).explode("node").drop_nulls("node")
    number = pl.col("node").cast(pl.Int64)
    begins = (number.diff().over("row") != 1).fill_null(value=True)
    runs = own.sort("row", "node").with_columns(run=begins.cum_sum()).group_by("row", "run", maintain_order=True)
    ends = runs.agg(first=number.first(), last=number.last())
    first, last = pl.col("first").cast(pl.String), pl.col("last").cast(pl.String)
    text = pl.when(pl.col("first") == pl.col("last")).then(first).otherwise(pl.concat_str(first, last, separator="-"))
    lists = ends.group_by("row", maintain_order=True).agg(text.str.join(" ").alias("text"))
    rows = pl.DataFrame({"row": pl.int_range(len(nodes), eager=True)})
    return rows.join(lists, on="row", how="left", maintain_order="left")["text"]


def schedule_row(jobs: pl.DataFrame, *, nodes: int, energy_j: float) -> dict[str, Any]:
    """Totals and means over the jobs that ended, as in Batsim's schedule file."""
    ran = jobs.filter(pl.col("final_state") != "REJECTED")
    succeeded = int(ran["success"].sum())

    def mean(name: str) -> float:
        value = ran[name].mean()
        return float(value) if isinstance(value, int | float) else 0.0

    def largest(name: str) -> float:
        value = ran[name].max()
        return float(value) if isinstance(value, int | float) else 0.0

    return {
        "nb_jobs": len(jobs),
        "nb_jobs_finished": len(ran),
        "nb_jobs_success": succeeded,
        "nb_jobs_killed": len(ran) - succeeded,
        "nb_jobs_rejected": len(jobs) - len(ran),
        "success_rate": succeeded / len(jobs) if len(jobs) else 0.0,
        "makespan": largest("finish_time"),
        "mean_waiting_time": mean("waiting_time"),
        "mean_turnaround_time": mean("turnaround_time"),
        "mean_slowdown": mean("stretch"),
        "max_waiting_time": largest("waiting_time"),
        "max_turnaround_time": largest("turnaround_time"),
        "max_slowdown": largest("stretch"),
        "consumed_joules": energy_j,
        "nb_computing_machines": nodes,
    }


_TURNS = ("wake", "ready", "sleep", "off", "failed", "repaired", "out", "back")
"""Kinds of events that begin or end a node's boot."""


def states_table(timeline: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Numbers of machines in each of Batsim's states, a row an instant; those that are down count as asleep."""
    turns = events.filter(pl.col("kind").is_in(_TURNS))
    boots = (pl.col("kind") == "wake").cast(pl.Int64)
    changes = turns.select("time_s", change=boots - boots.shift(1, fill_value=0).over("node"))
    at_once = changes.group_by("time_s").agg(pl.col("change").sum()).sort("time_s")
    booting = at_once.select("time_s", nb_switching_on=pl.col("change").cum_sum())
    rows = timeline.join_asof(booting, on="time_s").with_columns(pl.col("nb_switching_on").fill_null(0))
    return rows.select(
        time="time_s",
        nb_sleeping=pl.col("sleeping_nodes") + pl.col("down_nodes"),
        nb_switching_on="nb_switching_on",
        nb_switching_off=pl.col("transition_nodes") - pl.col("nb_switching_on"),
        nb_idle="idle_nodes",
        nb_computing="busy_nodes",
    )
