"""Pools that sleep beside their twin in plain Python: every start, end, node and step, and the energy (machine page, rules
2 to 6, 14 to 22, 29 and 30)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_pools import Asked, Queue
from plain_scheduler import ORDERS, Job
from plain_sleep import Numbers
from plain_sleepy_pools import Outage, SleepyPools
from test_plain_pools import queues
from test_plain_sleep import numbers

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
WATTS = {"busy": 300, "on": 100, "booting": 100, "stopping": 100, "off": 0, "down": 7}
STEPS = ("wake", "ready", "sleep", "off", "failed", "repaired", "out", "back")


@st.composite
def outages(draw: st.DrawFn, nodes: int, begin: int) -> list[Outage]:
    """Failures and windows of maintenance, those of one node one after the other."""
    made = []
    for node in range(nodes):
        at = begin
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            start = at + draw(st.integers(1, 120)) * SECOND
            at = start + draw(st.integers(1, 60)) * SECOND
            made.append(Outage(node, start, at, draw(st.booleans())))
    return made


@st.composite
def jobs(draw: st.DrawFn, known: list[Queue], begin: int) -> list[Asked]:
    """Jobs that their queues take."""
    submit, asked = begin, []
    for _ in range(draw(st.integers(1, 14))):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11, 40, 100])) * SECOND
        queue = draw(st.sampled_from(known))
        longest = 60 if queue.max_walltime is None else queue.max_walltime // SECOND
        walltime = draw(st.none() | st.integers(1, longest).map(lambda seconds: seconds * SECOND))
        need = draw(st.integers(1, min(4, len(queue.nodes))))
        job = Job(submit, draw(st.integers(0, 40)) * SECOND, need, walltime, 1)
        asked.append(Asked(job, queue, draw(st.sampled_from([None, "ann", "bo"]))))
    return asked


Case = tuple[SleepyPools, list[Queue], list[Asked], dict[str, Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes, boot, shutdown = draw(st.integers(1, 8)), draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([0, 2, 9]))
    known = draw(queues(nodes))
    twin, part = draw(numbers(nodes, boot, shutdown))
    # Some runs pass midnight, where a day's shutdowns begin anew.
    begin = draw(st.sampled_from([0, 3, 86_350])) * SECOND
    asked = draw(jobs(known, begin))
    machine = SleepyPools(
        nodes,
        boot * SECOND,
        shutdown * SECOND,
        twin,
        draw(st.sampled_from(["none", "first-fit", "reservations", "reservations"])),
        draw(st.sampled_from([inf, 1, 1, 2])),
        draw(st.sampled_from([*ORDERS, "fcfs", "fcfs"])),
        draw(st.booleans()),
        draw(outages(nodes, asked[0].job.submit)) if draw(st.booleans()) else [],
        watts=WATTS,
    )
    return machine, known, asked, part


def _told(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND


def _queue(queue: Queue) -> hs.Queue:
    limits = [None if limit == inf else int(limit) for limit in (queue.max_running, queue.max_running_per_user)]
    return hs.Queue(
        queue.name,
        queue.nodes,
        priority=queue.priority,
        order=queue.order,
        max_running=limits[0],
        max_running_per_user=limits[1],
        max_walltime_s=_told(queue.max_walltime),
        default_walltime_s=_told(queue.default_walltime),
    )


def _workload(asked: list[Asked]) -> hs.Workload:
    columns = {
        "job_id": list(range(len(asked))),
        "submit_s": [one.job.submit / SECOND for one in asked],
        "runtime_s": [one.job.runtime / SECOND for one in asked],
        "node_count": [one.job.node_count for one in asked],
        "walltime_s": pl.Series([_told(one.job.walltime) for one in asked], dtype=pl.Float64),
        "queue": [one.queue.name for one in asked],
        "user": pl.Series([one.user for one in asked], dtype=pl.String),
    }
    return hs.Workload.from_polars(pl.DataFrame(columns))


def _events(outages: list[Outage]) -> hs.Events | None:
    rows: list[tuple[float, str, int, float | None]] = []
    for one in outages:
        if one.is_known:
            rows.append((one.start / SECOND, "maintenance", one.node, one.end / SECOND))
        else:
            rows.append((one.start / SECOND, "node_failed", one.node, None))
            rows.append((one.end / SECOND, "node_repaired", one.node, None))
    if not rows:
        return None
    frame = pl.DataFrame(
        rows, {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64, "until_s": pl.Float64}, orient="row"
    )
    return hs.Events.from_polars(
        frame.with_columns(announced_s=pl.when(pl.col("kind") == "maintenance").then("time_s")).sort("time_s")
    )


def run(case: Case, platform_queues: bool = True) -> hs.Result:
    """The same in the engine, held to the laws of a run."""
    machine, known, asked, part = case
    platform = hs.Platform.homogeneous(
        machine.nodes,
        idle_w=WATTS["on"],
        tdp_w=WATTS["busy"],
        down_w=WATTS["down"],
        boot_s=machine.boot / SECOND,
        shutdown_s=machine.shutdown / SECOND,
        queues=[_queue(queue) for queue in known] if platform_queues else None,
    )
    backfill: dict[str, Any] = {"name": machine.backfill}
    if machine.backfill == "reservations":
        backfill["depth"] = "unbounded" if machine.depth == inf else machine.depth
    policy = hs.Policy(machine.order, backfill, sleep={"name": "timeout", **part})
    events, workload = _events(machine.outages), _workload(asked)
    result = hs.simulate(
        workload, platform, policy, events=events, on_failure="requeue" if machine.requeues else "fail"
    )
    check_schedule(result, workload, platform, events=events)
    return result


@given(cases())
def test_pools_that_sleep_agree_with_their_twin(case: Case) -> None:
    machine, _, asked, _ = case
    result = run(case)
    runs = machine.run(asked)
    told = [(one.row, one.state, one.start / SECOND, one.end / SECOND, one.nodes) for one in runs]
    assert result.jobs.select("job_id", "state", "start_s", "end_s", "nodes").rows() == told
    expected = sorted(((at / SECOND, node, kind) for at, kind, node in machine.events), key=lambda row: row[:2])
    rows = result.events.filter(pl.col("kind").is_in(STEPS)).select("time_s", "node", "kind").rows()
    assert sorted(rows, key=lambda row: row[:2]) == expected
    assert result.summary()["energy_j"] == pytest.approx(machine.energy / SECOND, rel=1e-12)
