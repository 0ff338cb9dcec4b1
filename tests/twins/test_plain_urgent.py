"""Urgent jobs beside their twin in plain Python: each start, end, node, stretch and event (machine page, rules 33-37)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_urgent import ORDERS, Machine, Outage, Queue, Task

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
STATES = {"ended": ("completed", "timeout"), "queued": ("pending",)}


def seconds(values: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    return values.map(lambda value: value * SECOND)


@st.composite
def queues(draw: st.DrawFn, nodes: int) -> list[Queue]:
    """Two or three queues of ordinary jobs and one or two of urgent ones, of which one may preempt the other, too."""

    def own(name: str, priority: int, preempts: list[str]) -> Queue:
        numbers = sorted(draw(st.sets(st.integers(0, nodes - 1), min_size=1)) | draw(st.just({0}) | st.just({1})))
        limit = draw(st.sampled_from([inf, inf, inf, 1, 2]))
        return Queue(name, [n for n in numbers if n < nodes], priority, preempts, draw(st.booleans()), limit)

    low = ["a", "b", "c"][: draw(st.integers(1, 3))]
    made = [own(name, draw(st.sampled_from([0, 0, 2, -1])), []) for name in low]
    some = st.lists(st.sampled_from(low), min_size=1, unique=True)
    made.append(own("u", 5, draw(some)))
    if draw(st.booleans()):
        more = ["u"] if draw(st.booleans()) else []
        made.append(own("v", draw(st.sampled_from([5, 7])) if not more else 7, [*draw(some), *more]))
    return made


@st.composite
def outages_of(draw: st.DrawFn, nodes: int, first: int) -> list[Outage]:
    """Failures and maintenances, of which no two on one node touch."""
    made = []
    for node in range(nodes):
        at = first
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            at += draw(seconds(st.integers(1, 40)))
            end = at + draw(seconds(st.integers(1, 20)))
            made.append(Outage(node, at, end, draw(st.booleans())))
            at = end
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[Machine, list[Task]]:
    slots, nodes = draw(st.sampled_from([1, 1, 2, 4])), draw(st.integers(1, 4))
    machine = Machine(
        nodes,
        slots,
        draw(queues(nodes)),
        order=draw(st.sampled_from(list(ORDERS))),
        depth=draw(st.sampled_from([inf, inf, 1, 2])),
        horizon=draw(st.sampled_from([2_592_000, 60, 7, 0])) * SECOND,
        interval=draw(st.sampled_from([0, 0, 5, 30])) * SECOND,
        requeues=draw(st.booleans()),
    )
    tasks, submit = [], draw(st.sampled_from([0, 3])) * SECOND
    count, crowded = draw(st.integers(1, 14)), draw(st.booleans())
    low = [queue for queue in machine.queues if not queue.preempts]
    high = [queue for queue in machine.queues if queue.preempts]
    for row in range(count):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11])) * SECOND
        # A crowd of ordinary jobs that run long, then many urgent ones.
        is_early = crowded and row < count // 2
        queue = draw(st.sampled_from(low if is_early else [*low, *high, *high] if crowded else machine.queues))
        task = Task(
            row,
            submit,
            draw(seconds(st.integers(30 if is_early else 0, 40))),
            draw(st.none() | seconds(st.integers(50 if is_early else 1, 60))),
            draw(st.integers(1, len(queue.nodes) + (row % 7 == 6))),
            draw(st.integers(1, slots)),
            queue.name,
            draw(st.none() | st.none() | seconds(st.integers(0, 80))),
        )
        tasks.append(task)
    machine.outages = draw(st.just([]) | outages_of(nodes, tasks[0].submit))
    return machine, tasks


def told(ticks: float | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def workload_of(tasks: list[Task]) -> hs.Workload:
    rows = [
        (
            task.row,
            told(task.submit),
            told(task.runtime),
            task.node_count,
            told(task.walltime),
            task.slots,
            task.queue,
            told(task.cancel),
        )
        for task in tasks
    ]
    schema: dict[str, Any] = {
        "job_id": pl.Int64,
        "submit_s": pl.Float64,
        "runtime_s": pl.Float64,
        "node_count": pl.Int64,
        "walltime_s": pl.Float64,
        "slots": pl.Int64,
        "queue": pl.String,
        "cancel_s": pl.Float64,
    }
    return hs.Workload.from_polars(pl.DataFrame(rows, schema, orient="row"))


def platform_of(machine: Machine) -> hs.Platform:
    queues = [
        hs.Queue(
            queue.name,
            queue.nodes,
            priority=queue.priority,
            preempts=queue.preempts,
            max_running=None if queue.max_running == inf else int(queue.max_running),
            allocation="spread" if queue.spreads else "concentrate",
        )
        for queue in machine.queues
    ]
    return hs.Platform.homogeneous(
        nodes=machine.nodes,
        idle_w=100.0,
        tdp_w=300.0,
        slots=machine.slots,
        exclusive=machine.slots == 1,
        queues=queues,
    )


def events_of(machine: Machine) -> hs.Events | None:
    rows: list[dict[str, Any]] = []
    for one in machine.outages:
        begin, end = told(one.start), told(one.end)
        if one.is_failure:
            rows.append({"time_s": begin, "kind": "node_failed", "node": one.node})
            rows.append({"time_s": end, "kind": "node_repaired", "node": one.node})
        else:
            rows.append({"time_s": begin, "kind": "maintenance", "node": one.node, "until_s": end})
    schema = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64, "until_s": pl.Float64}
    return hs.Events.from_polars(pl.DataFrame(rows, schema)) if rows else None


def policy_of(machine: Machine) -> hs.Policy:
    plan: dict[str, Any] = {
        "name": "plan",
        "depth": "unbounded" if machine.depth == inf else machine.depth,
        "horizon_s": machine.horizon // SECOND,
        "interval_s": machine.interval // SECOND,
    }
    return hs.Policy(machine.order, plan)


@given(cases())
def test_urgent_jobs_agree_with_their_twin(case: tuple[Machine, list[Task]]) -> None:
    machine, tasks = case
    workload, platform, events = workload_of(tasks), platform_of(machine), events_of(machine)
    on_failure = "requeue" if machine.requeues else "fail"
    result = hs.simulate(workload, platform, policy_of(machine), events=events, on_failure=on_failure)
    machine.run(tasks)
    for row, task in zip(result.jobs.iter_rows(named=True), tasks, strict=True):
        has_times = task.state in ("ended", "failed")
        expected = (told(task.start), told(task.end), task.nodes) if has_times else (None, None, None)
        assert (row["start_s"], row["end_s"], row["nodes"]) == expected, task
        assert row["state"] in STATES.get(task.state, (task.state,)), task
        if has_times:
            still = [t[2] - t[1] for t in task.stretches if (t[0], t[3]) == (task.attempts, "suspended")]
            assert row["suspended_s"] == pytest.approx(sum(still) / SECOND), task
    stretches = [
        (task.row, attempt, told(since), told(until), how)
        for task in tasks
        for attempt, since, until, how in task.stretches
    ]
    segments = result.segments.filter(pl.col("end_s") > pl.col("start_s"))
    assert segments.select("job_id", "attempt", "start_s", "end_s", "state").rows() == stretches
    happened = result.events.filter(pl.col("kind").is_in(["suspend", "resume", "requeue"]))
    assert sorted(happened.select("time_s", "kind", "job_id").rows()) == sorted(
        (told(at), kind, row) for at, kind, row in machine.told
    )
    check_schedule(result, workload, platform, events=events)
