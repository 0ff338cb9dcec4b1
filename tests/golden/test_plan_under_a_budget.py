"""The backfill `plan` under a budget, worked out by hand (rules 48 to 51 of power in time). Seconds and watts.

Four nodes that idle at 50 W, so 200 W in all. `cpu` draws 200 W on a node, 150 W beyond idle; `mem` draws 90 W, 40 W
beyond. FCFS; a job's walltime is what it runs, unless said otherwise.
"""

from __future__ import annotations

from math import inf
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Row = dict[str, Any]
Starts = list[tuple[float | None, list[int] | None]]

IDLE_W = 50.0


def job(submit: float, runtime: float, nodes: int, app: str = "cpu", walltime: float | None = None, **more: Any) -> Row:
    walltime = runtime if walltime is None else walltime
    return {"submit_s": submit, "runtime_s": runtime, "walltime_s": walltime, "node_count": nodes, "app": app, **more}


def rows(*each: tuple[float, float, float | None]) -> hs.Events:
    """Budgets: from when on, watts, until when."""
    times, values, ends = zip(*each, strict=True)
    columns = {"time_s": times, "kind": ["budget"] * len(each), "value": values, "until_s": ends}
    return hs.Events.from_polars(pl.DataFrame(columns, schema_overrides={"until_s": pl.Float64}))


def like(watts: list[float]) -> hs.Platform:
    """Nodes on which `cpu` draws so much, and `mem` 90 W."""
    both = hs.VariationTable(["cpu", "mem"], power_w=[watts, [90.0] * len(watts)])
    return hs.Platform.homogeneous(len(watts), IDLE_W, 400.0).with_tables(actual=both)


EVEN = like([200.0] * 4)


def run(
    jobs: list[Row],
    budget_w: float,
    events: hs.Events | None = None,
    *,
    platform: hs.Platform = EVEN,
    plan: Row | None = None,
    **rules: Any,
) -> hs.Result:
    """A run of jobs numbered from 1, whose schedule keeps every law."""
    frame = pl.DataFrame([{"job_id": number, **one} for number, one in enumerate(jobs, start=1)])
    workload = hs.Workload.from_polars(frame.with_columns(pl.col("submit_s", "runtime_s", "walltime_s").cast(float)))
    power = {"name": "system-budget", "budget_w": budget_w, **rules}
    result = hs.simulate(
        workload, platform, hs.Policy("fcfs", {"name": "plan", **(plan or {})}, power=power), events=events
    )
    check_schedule(result, workload, platform, events=events)
    return result


def starts(result: hs.Result) -> Starts:
    return result.jobs.select("start_s", "nodes").rows()


# Rule 44: the plan has watts next to nodes.


def test_a_job_waits_for_watts_although_nodes_are_free() -> None:
    # 500 W leave 300 W, which job 1 takes until 100. Two nodes are free all the time.
    assert starts(run([job(0, 100, 2), job(1, 50, 1)], 500)) == [(0, [0, 1]), (100, [0])]


def test_the_watts_of_a_promise_are_not_touched() -> None:
    # Job 1 takes 150 of 300 W until 100. Job 2 needs all 300 W: at 100. Job 3 has a node and 150 W now, but not for
    # 200 s: after job 2. Job 4 is over in time.
    found = run([job(0, 100, 1), job(1, 50, 2), job(2, 200, 1), job(3, 90, 1)], 500)
    assert starts(found) == [(0, [0]), (100, [0, 1]), (150, [0]), (3, [1])]


def test_an_early_end_gives_watts_back() -> None:
    # Planned until 100, job 1 ends at 30.
    found = run([job(0, 30, 1, walltime=100), job(1, 50, 2)], 500)
    assert starts(found) == [(0, [0]), (30, [0, 1])]


def test_a_plan_follows_the_budget_that_is_known_to_come() -> None:
    # From 50 until 100 the budget leaves nothing. With foresight job 1, of 60 s, waits for it to be back, and job 2, of
    # 50 s, is over in time. Without, job 1 starts, and what is left at 50 lasts for ever: job 3 has no place until 100.
    jobs, fall = [job(0, 60, 1), job(0, 50, 1), job(60, 10, 1)], rows((50, 200, 100))
    assert starts(run(jobs, 500, fall, foresight_s="all")) == [(100, [0]), (0, [0]), (100, [1])]
    assert starts(run(jobs, 500, fall)) == [(0, [0]), (0, [1]), (100, [0])]


# Rule 45: watts are those of the nodes, not a mean.


def test_a_job_gets_the_cheapest_nodes_where_the_first_take_too_much() -> None:
    # On nodes 0 and 1 a job takes 250 W, on the others 100 W. Of 350 W job 1 takes 250 on node 0. Node 1 would take as
    # much again: job 2 gets node 2, for the 100 W that are left. Nothing is left for job 3 until 50.
    found = run([job(0, 100, 1), job(1, 49, 1), job(2, 10, 1)], 550, platform=like([300.0, 300.0, 150.0, 150.0]))
    assert starts(found) == [(0, [0]), (1, [2]), (50, [2])]


def test_a_job_that_fits_on_some_nodes_only_gets_them_on_an_idle_machine() -> None:
    # 100 W are left beyond idle. Node 0 would take 250 W, at any time.
    assert starts(run([job(0, 100, 1)], 300, platform=like([300.0, 300.0, 150.0, 150.0]))) == [(0, [2])]


def test_a_plan_counts_the_very_nodes_it_names() -> None:
    # Node 0 takes 250 W, the others 100 W; 350 W are left.
    nodes = like([300.0, 150.0, 150.0, 150.0])
    found = run([job(0, 100, 2), job(1, 50, 3), job(2, 98, 1, "mem")], 550, platform=nodes)
    # Job 1: nodes 0 and 1 for 350 W. Job 2: 450 W on nodes 0 to 2 are too much, 300 W on 1 to 3 are not: at 100.
    # Job 3 takes 40 W, of which nothing is left until job 1 is over, and 50 W beside job 2.
    assert starts(found) == [(0, [0, 1]), (100, [1, 2, 3]), (100, [0])]


# Rule 46: who fits at no instant.


def test_a_job_that_fits_at_no_instant_is_passed_over() -> None:
    # Until 1000 only 50 W are left, and without foresight that is believed for ever: job 1, of 150 W, has no place and
    # holds up no job. Job 2 takes 40 W. With a depth of 1 job 3 is planned for 50, and job 4 starts after it.
    low = rows((0, 250, 1000))
    jobs = [job(0, 10, 1), job(1, 49, 1, "mem"), job(2, 100, 1, "mem"), job(3, 10, 1, "mem")]
    found = run(jobs, 500, low, plan={"depth": 1})
    assert starts(found) == [(1000, [0]), (1, [0]), (50, [0]), (150, [0])]


# Rules that hold for all plans.


def test_a_length_of_zero_needs_its_instant_only() -> None:
    # At 10 there are 150 W left, for a job of no length as for any, and none of them is promised for that instant.
    found = run([job(0, 100, 1), job(1, 50, 2), job(10, 0, 1), job(11, 0, 2)], 500)
    assert starts(found) == [(0, [0]), (100, [0, 1]), (10, [1]), (150, [0, 1])]


def capped() -> hs.Platform:
    """Under 150 W `cpu` takes 1.25 times as long, under 100 W twice."""
    tables = {
        cap: hs.VariationTable(["cpu", "mem"], power_w=[[watts] * 4, [90.0] * 4], time_ratio=[[factor] * 4, [1.0] * 4])
        for cap, watts, factor in ((100.0, 100.0, 2.0), (150.0, 150.0, 1.25), (inf, 200.0, 1.0))
    }
    return hs.Platform.homogeneous(4, IDLE_W, 400.0).with_tables(actual=tables)


def test_a_plan_counts_with_the_worst_that_an_allocator_may_do() -> None:
    # At 10, 90 s of job 1 are left, 180 s under 100 W: job 2 is planned for 190. Job 3 would take 2 * 85 = 170 s, until
    # 181: it starts. The watts suffice for all, nobody is capped, and job 1 is over at 100.
    jobs = [job(0, 100, 2), job(10, 50, 3), job(11, 85, 2)]
    assert starts(run(jobs, 1000, platform=capped(), allocator="uniform")) == [
        (0, [0, 1]),
        (100, [0, 1, 2]),
        (11, [2, 3]),
    ]


def test_a_suspended_job_keeps_its_nodes_and_no_watts() -> None:
    # At 20 the budget leaves 190 W beyond idle: job 2 is suspended, and while it waits for watts no job starts (22).
    # At 60 the budget is back, job 2 resumes on its nodes and ends at 10 + 50 + 40. Job 3 has node 3, job 4 after it.
    jobs = [job(0, 100, 1), job(10, 50, 2), job(30, 30, 1, "mem"), job(31, 20, 1)]
    found = run(jobs, 800, rows((20, 390, 60)), on_excess=["suspend"])
    assert found.jobs["end_s"].to_list()[:2] == [100, 100]
    assert starts(found) == [(0, [0]), (10, [1, 2]), (60, [3]), (90, [3])]


def test_slots_of_a_node_take_their_share_of_its_watts() -> None:
    # A node of four slots draws 150 W beyond idle: two slots take 75 W. 150 W are left: job 3 waits.
    nodes = hs.Platform.homogeneous(2, IDLE_W, 400.0, slots=4, exclusive=False)
    nodes = nodes.with_tables(actual=hs.VariationTable(["cpu", "mem"], power_w=[[200.0] * 2, [90.0] * 2]))
    found = run([job(0, 100, 1, slots=2), job(0, 50, 1, slots=2), job(1, 10, 1, slots=2)], 250, platform=nodes)
    assert starts(found) == [(0, [0]), (0, [0]), (50, [0])]


# What does not go together yet.


@pytest.mark.parametrize(
    ("queues", "backfill", "sleep", "message"),
    [
        (None, "slurm", None, r"policy\.power: found `system-budget`, expected none: backfill `slurm` counts no watts"),
        (
            None,
            "plan",
            "timeout",
            r"policy\.sleep: found a part, expected none, first-fit or reservations with a power",
        ),
        ("preempting", "plan", None, r"queues\.preempts: found queues that make way, expected nothing: .* share watts"),
    ],
)
def test_what_plans_no_watts_is_refused(queues: Any, backfill: str, sleep: str | None, message: str) -> None:
    urgent = [hs.Queue("low", range(4)), hs.Queue("urgent", range(4), priority=1, preempts=["low"])]
    platform = hs.Platform.homogeneous(
        4, IDLE_W, 400.0, boot_s=1.0, shutdown_s=1.0, off_w=0.0, queues=urgent if queues else None
    )
    workload = hs.Workload.from_polars(
        pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1], "queue": ["low"]})
    )
    power = {"name": "system-budget", "budget_w": 900.0}
    with pytest.raises(hs.ConfigError, match=message):
        hs.simulate(workload, platform, hs.Policy("fcfs", backfill, power=power, sleep=sleep))
