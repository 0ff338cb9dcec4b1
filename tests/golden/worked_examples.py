"""Workloads, machines and runs of the worked examples, and what is read off their results."""

from __future__ import annotations

from typing import Any

import polars as pl

import hetsched as hs
from hetsched.testing import check_schedule

Row = tuple[float, float, float | None, int, str]
TYPES = {
    "submit_s": pl.Float64,
    "runtime_s": pl.Float64,
    "walltime_s": pl.Float64,
    "node_count": pl.Int64,
    "queue": pl.String,
}


def jobs(*rows: tuple[Any, ...], **columns: list[Any]) -> hs.Workload:
    """Jobs 1, 2, … as (submit, runtime, walltime, nodes), and the queue where there are any."""
    frame = pl.DataFrame(rows, schema=list(TYPES.items())[: len(rows[0])], orient="row")
    more = [pl.Series(name, values) for name, values in columns.items()]
    return hs.Workload.from_polars(frame.with_row_index("job_id", offset=1).with_columns(*more))


def machine(nodes: int, *queues: hs.Queue, slots: int = 1, **values: Any) -> hs.Platform:
    """Nodes of 600 W idle and 2100 W busy that boot in 60 s and shut down in 120 s."""
    watts = {"idle_w": 600.0, "tdp_w": 2100.0, "off_w": 0.0, "boot_s": 60.0, "shutdown_s": 120.0}
    given = {**watts, "slots": slots, "exclusive": slots == 1, "queues": queues or None, **values}
    return hs.Platform.homogeneous(nodes=nodes, **given)


def run(
    workload: hs.Workload,
    platform: hs.Platform,
    backfill: Any = "plan",
    order: Any = "fcfs",
    sleep: Any = None,
    **options: Any,
) -> hs.Result:
    """A run that keeps the laws."""
    result = hs.simulate(workload, platform, hs.Policy(order, backfill, sleep=sleep), **options)
    check_schedule(result, workload, platform, events=options.get("events"))
    return result


def column(result: hs.Result, name: str) -> list[Any]:
    """Values of the jobs."""
    return result.jobs[name].to_list()


def starts(result: hs.Result) -> list[float | None]:
    return column(result, "start_s")


def nodes(result: hs.Result) -> list[list[int] | None]:
    return column(result, "nodes")


def steps(result: hs.Result, *kinds: str) -> list[tuple[float, str, int | None]]:
    """Events of nodes: when, what, to which; of these kinds, or of all."""
    rows = result.events.filter(pl.col("kind").is_in(kinds)) if kinds else result.events
    return rows.select("time_s", "kind", "node").rows()
