"""Queues whose sets of nodes share nodes or a budget, next to runs in which they share neither (rule 6)."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

BACKFILLS: list[Any] = ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
ORDERS = ["fcfs", "smallest", "longest"]
PLACEMENTS = ["lowest-id", "lowest-power", "best-rank"]
IDLE_W, BUSY_W, NODES = 100.0, 300.0, 8


@st.composite
def logs(draw: st.DrawFn, queues: list[hs.Queue]) -> pl.DataFrame:
    """Jobs of random queues that fit into these."""
    sizes = {queue.name: len(queue.nodes) for queue in queues}
    count = draw(st.integers(1, 25))
    names = draw(st.lists(st.sampled_from(sorted(sizes)), min_size=count, max_size=count))
    seconds = st.integers(0, 30)
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=count, max_size=count))
    return pl.DataFrame(
        {
            "job_id": range(count),
            "submit_s": [float(sum(gaps[: row + 1])) for row in range(count)],
            "runtime_s": [float(draw(seconds)) for _ in names],
            "walltime_s": [float(draw(seconds) + 1) for _ in names],
            "node_count": [draw(st.integers(1, sizes[name])) for name in names],
            "queue": names,
        }
    )


def run(log: pl.DataFrame, queues: list[hs.Queue], policy: hs.Policy) -> hs.Result:
    platform = hs.Platform.homogeneous(nodes=NODES, idle_w=IDLE_W, tdp_w=BUSY_W, queues=queues)
    workload = hs.Workload.from_polars(log)
    result = hs.simulate(workload, platform, policy)
    check_schedule(result, workload, platform)
    return result


def policy_of(data: st.DataObject, backfills: list[Any], **more: Any) -> hs.Policy:
    order, backfill, placement = [data.draw(st.sampled_from(some)) for some in (ORDERS, backfills, PLACEMENTS)]
    return hs.Policy(order, backfill, placement, **more)


APART = [hs.Queue("a", [0, 2, 4]), hs.Queue("b", [1, 3], priority=1), hs.Queue("c", [0, 2, 4], priority=2)]


@given(st.data(), logs(APART))
def test_a_budget_that_never_binds_leaves_each_pool_to_itself(data: st.DataObject, log: pl.DataFrame) -> None:
    """Without a budget pools are scheduled one by one; under one they are counted together."""
    policy = policy_of(data, BACKFILLS)
    ample = {"name": "system-budget", "budget_w": NODES * BUSY_W + 1}
    budget = hs.Policy.from_dict({**policy.parts, "power": ample})
    one, other = run(log, APART, policy), run(log, APART, budget)
    columns = ["job_id", "state", "start_s", "end_s", "nodes", "started_by", "energy_j"]
    assert one.jobs.select(columns).equals(other.jobs.select(columns))


@given(st.data(), logs(APART), st.integers(1, NODES - 1))
def test_pools_under_a_budget_keep_within_it_together(data: st.DataObject, log: pl.DataFrame, busy: int) -> None:
    budget_w = NODES * IDLE_W + busy * (BUSY_W - IDLE_W)
    result = run(log, APART, policy_of(data, BACKFILLS, power={"name": "system-budget", "budget_w": budget_w}))
    assert result.timeline["busy_nodes"].max() <= busy
    rejected = result.jobs.filter(pl.col("state") == "rejected")["job_id"].to_list()
    assert rejected == log.filter(pl.col("node_count") > busy)["job_id"].to_list()


@given(st.data(), logs(APART))
def test_a_queue_without_jobs_changes_no_start(data: st.DataObject, log: pl.DataFrame) -> None:
    """Without reservations, as these hold nodes by cell: the others are a pool without it, which it shares."""
    policy, log = policy_of(data, BACKFILLS[:2]), log.filter(pl.col("queue") != "b")
    bridge = hs.Queue("bridge", data.draw(st.lists(st.integers(0, NODES - 1), min_size=1, unique=True)))
    if log.is_empty():
        return
    columns = ["job_id", "state", "start_s", "end_s", "started_by"]
    one, other = run(log, [APART[0], APART[2]], policy), run(log, [APART[0], APART[2], bridge], policy)
    assert one.jobs.select(columns).equals(other.jobs.select(columns))


@given(st.data(), logs(APART), st.integers(2, NODES))
def test_jobs_that_come_in_their_time_were_always_there(data: st.DataObject, log: pl.DataFrame, busy: int) -> None:
    """The first job of a queue may come on the way."""
    power = {"name": "system-budget", "budget_w": NODES * IDLE_W + busy * (BUSY_W - IDLE_W)}
    policy, first = policy_of(data, BACKFILLS, power=power), data.draw(st.integers(1, len(log)))
    platform = hs.Platform.homogeneous(nodes=NODES, idle_w=IDLE_W, tdp_w=BUSY_W, queues=APART)
    session = hs.Session(hs.Workload.from_polars(log[:first]), platform, policy)
    if first < len(log):
        session.inject(log[first:])
    columns = ["job_id", "state", "start_s", "end_s", "nodes", "started_by"]
    assert session.run().jobs.select(columns).equals(run(log, APART, policy).jobs.select(columns))


def test_each_set_has_a_head_with_a_reservation() -> None:
    queues = [hs.Queue("a", "0-3"), hs.Queue("b", "2-7")]
    # Jobs 0 and 1 take nodes 0-1 until 10, and 4-5 until 20. Then 2 waits for all nodes of a, and 3 for all of b.
    log = pl.DataFrame(
        {
            "job_id": range(6),
            "submit_s": [0.0, 0.0, 1.0, 1.0, 1.0, 1.0],
            "runtime_s": [10.0, 20.0, 5.0, 5.0, 9.0, 25.0],
            "walltime_s": [10.0, 20.0, 5.0, 5.0, 9.0, 25.0],
            "node_count": [2, 2, 4, 6, 2, 2],
            "queue": ["a", "b", "a", "b", "b", "b"],
        }
    )
    result = run(log, queues, hs.Policy("fcfs", "reservations"))
    starts = dict(zip(result.jobs["job_id"], result.jobs["start_s"], strict=True))
    # Job 4 delays neither; 5 would delay 3, which is not the head of the queue, but of its set.
    assert starts == {0: 0.0, 1: 0.0, 2: 10.0, 3: 20.0, 4: 1.0, 5: 25.0}
    assert result.jobs["nodes"].to_list()[:5] == [[0, 1], [4, 5], [0, 1, 2, 3], [2, 3, 4, 5, 6, 7], [6, 7]]
