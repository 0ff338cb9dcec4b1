"""The backfill `plan` beside its twin in plain Python: each start, end and node (machine page, rules 2-4, 8-12)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_plan import ORDERS, Machine, Queue, Task

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000


def _seconds(draw: st.DrawFn, most: int) -> int | None:
    return draw(st.none() | st.integers(5, most).map(lambda seconds: seconds * SECOND))


def _limit(draw: st.DrawFn) -> float:
    return draw(st.sampled_from([inf, inf, 1, 2, 3]))


@st.composite
def queues(draw: st.DrawFn, nodes: int, slots: int) -> list[Queue]:
    """Queues whose nodes overlap as they like; those of one priority have one order."""
    orders = {priority: draw(st.sampled_from([None, None, *ORDERS])) for priority in (-1, 0, 3)}
    made = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        own = sorted(draw(st.sets(st.integers(0, nodes - 1), min_size=1)))
        priority, longest = draw(st.sampled_from([0, 0, 3, -1])), _seconds(draw, 60)
        default = _seconds(draw, 60 if longest is None else longest // SECOND)
        made.append(
            Queue(
                name,
                own,
                priority,
                max_nodes=draw(st.sampled_from([inf, inf, 1, len(own)])),
                max_slots=draw(st.sampled_from([inf, inf, slots, 2 * slots])),
                max_walltime=longest,
                default_walltime=default,
                max_running=_limit(draw),
                max_running_per_user=_limit(draw),
                users=draw(st.sampled_from([None, None, ["ann", "bo"]])),
                order=orders[priority],
                spreads=draw(st.booleans()),
            )
        )
    return made


@st.composite
def cases_with_queues(draw: st.DrawFn) -> tuple[Machine, list[Task]]:
    machine, tasks = draw(cases())
    machine.queues = draw(queues(machine.nodes, machine.slots))
    machine.order = draw(st.sampled_from(list(ORDERS)))
    for task in tasks:
        task.queue = draw(st.sampled_from(machine.queues)).name
        task.user = draw(st.sampled_from([None, "ann", "bo", "cy"]))
    return machine, tasks


@st.composite
def cases(draw: st.DrawFn) -> tuple[Machine, list[Task]]:
    slots = draw(st.sampled_from([1, 1, 2, 4]))
    machine = Machine(
        nodes=draw(st.integers(1, 5)),
        slots=slots,
        depth=draw(st.sampled_from([inf, inf, 1, 2])),
        horizon=draw(st.sampled_from([2_592_000, 60, 7, 0])) * SECOND,
        interval=draw(st.sampled_from([0, 0, 5, 30])) * SECOND,
        candidates=draw(st.sampled_from([None, *ORDERS])),
    )
    lengths = st.integers(0, 40).map(lambda seconds: seconds * SECOND)
    tasks = []
    submit = draw(st.sampled_from([0, 3])) * SECOND
    for row in range(draw(st.integers(1, 14))):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11])) * SECOND
        runtime = draw(lengths)
        walltime = draw(st.none() | st.integers(1, 60).map(lambda seconds: seconds * SECOND))
        tasks.append(
            Task(row, submit, runtime, walltime, draw(st.integers(1, machine.nodes + 1)), draw(st.integers(1, slots)))
        )
    return machine, tasks


def run(machine: Machine, tasks: list[Task]) -> pl.DataFrame:
    """The same in the engine."""
    rows = [
        (
            t.row,
            t.submit / SECOND,
            t.runtime / SECOND,
            t.node_count,
            None if t.walltime is None else t.walltime / SECOND,
        )
        for t in tasks
    ]
    frame = pl.DataFrame(
        rows, ["job_id", "submit_s", "runtime_s", "node_count", "walltime_s"], orient="row"
    ).with_columns(
        pl.col("walltime_s").cast(pl.Float64),
        slots=pl.Series([t.slots for t in tasks]),
        queue=pl.Series([t.queue for t in tasks], dtype=pl.String),
        user=pl.Series([t.user for t in tasks], dtype=pl.String),
    )
    platform = hs.Platform.homogeneous(
        nodes=machine.nodes,
        idle_w=100.0,
        tdp_w=300.0,
        slots=machine.slots,
        exclusive=machine.slots == 1,
        queues=[_public(queue) for queue in machine.queues] or None,
    )
    plan: dict[str, Any] = {
        "name": "plan",
        "depth": "unbounded" if machine.depth == inf else machine.depth,
        "horizon_s": machine.horizon // SECOND,
        "interval_s": machine.interval // SECOND,
        "order": machine.candidates or "policy",
    }
    return hs.simulate(hs.Workload.from_polars(frame), platform, hs.Policy(machine.order, plan)).jobs


def _public(queue: Queue) -> hs.Queue:
    def limit(value: float) -> int | None:
        return None if value == inf else int(value)

    return hs.Queue(
        queue.name,
        queue.nodes,
        priority=queue.priority,
        max_nodes=limit(queue.max_nodes),
        max_slots=limit(queue.max_slots),
        max_walltime_s=told(queue.max_walltime),
        default_walltime_s=told(queue.default_walltime),
        max_running=limit(queue.max_running),
        max_running_per_user=limit(queue.max_running_per_user),
        users=queue.users,
        order=queue.order,
        allocation="spread" if queue.spreads else "concentrate",
    )


def told(seconds: int | None) -> float | None:
    return None if seconds is None else seconds / SECOND


@given(cases() | cases_with_queues())
def test_plan_agrees_with_its_twin(case: tuple[Machine, list[Task]]) -> None:
    machine, tasks = case
    jobs = run(machine, tasks)
    machine.run(tasks)
    expected = [(t.row, told(t.start), told(t.end), t.nodes if t.start is not None else None) for t in tasks]
    assert jobs.select("job_id", "start_s", "end_s", "nodes").rows() == expected
    # Rule 2: a job without a walltime shows that of its queue.
    assert jobs["walltime_s"].to_list() == [told(t.walltime) for t in tasks]


def test_small_jobs_pass_a_whole_node_job_where_they_do_not_delay_it() -> None:
    # Half of both nodes is taken until 100. Job 1 wants one of them whole: node 0, at 100. Jobs of one slot and 60 s
    # come at 10, 11, ...: four fit before, and two that would last beyond 100 follow on node 1.
    tasks = [
        Task(0, 0, 100, 100, 2, 2),
        Task(1, 10, 50, 50, 1, 4),
        *(Task(2 + k, 10 + k, 60, 60, 1, 1) for k in range(20)),
    ]
    for task in tasks:
        task.submit, task.runtime, task.walltime = task.submit * SECOND, task.runtime * SECOND, task.planned * SECOND
    jobs = run(Machine(2, 4), tasks).select("start_s", pl.col("nodes").list.get(0)).rows()
    assert jobs[1] == (100.0, 0)
    assert jobs[2:8] == [(10.0, 0), (11.0, 0), (12.0, 1), (13.0, 1), (72.0, 1), (73.0, 1)]
    assert all(start_s >= 100.0 for start_s, _ in jobs[8:])


class Lowest:
    """A placement."""

    def choose(self, job: Any, free: Any, view: Any, /) -> Any:
        return free[: job.node_count]


def test_a_plan_lets_no_other_part_choose_nodes_or_count_watts() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.placement: found `random`, expected lowest-id"):
        hs.Policy("fcfs", "plan", "random")
    with pytest.raises(hs.ConfigError, match=r"policy\.power: found `system-budget`, expected none"):
        hs.Policy("fcfs", "plan", power={"name": "system-budget", "budget_w": 500})
    with pytest.raises(hs.ConfigError, match=r"policy\.placement: found `Lowest`, expected nothing"):
        hs.Policy("fcfs", "plan", Lowest())
    with pytest.raises(hs.ConfigError, match=r"policy\.order\.first_run"):
        hs.Policy({"name": "vahrm", "first_run": True}, "plan")
