"""Queues of some nodes: runs that begin with jobs under way, and sessions that go on under another policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_live_pools import BACKFILLS, SETS, SLEEPS, log_of, machine

import hetsched as hs
from hetsched.resources import frame_of
from hetsched.run.options import RunOptions
from hetsched.run.simulation import Run, engine_of
from hetsched.testing import check_schedule

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

RUN = ["start_s", "end_s", "state", "nodes"]
EVERY_KIND = pytest.mark.parametrize("sets", SETS.values(), ids=SETS)


def budgets(platform: hs.Platform) -> st.SearchStrategy[Any]:
    """None, or a budget for the idle machine and some nodes at work."""
    idle_w = float(platform.idle_w.sum())
    of = st.integers(1, 6).map(lambda busy: {"name": "system-budget", "budget_w": idle_w + busy * 250.0})
    return st.none() | of


@EVERY_KIND
@settings(max_examples=3 * settings().max_examples)
@given(data=st.data())
def test_a_run_under_way_goes_on_as_the_run_of_its_log(sets: dict[str, tuple[int, ...]], data: st.DataObject) -> None:
    # A log does not say in which order jobs of no length came one after the other within an instant.
    frame, platform = log_of(sets, data).to_polars(), machine(sets, data)
    workload = hs.Workload.from_polars(frame.with_columns(pl.col("runtime_s", "walltime_s").clip(lower_bound=0.25)))
    order = data.draw(st.sampled_from(["fcfs", "smallest", "fair-share"]))
    policy = hs.Policy(order, data.draw(st.sampled_from(BACKFILLS)), power=data.draw(budgets(platform)))
    setting = Run(workload, platform, policy, RunOptions()).settled()
    whole = engine_of(setting)
    whole.step_until(None)
    seen = frame_of(whole.take_records().take_jobs())
    instants = sorted({*seen["start_s"].drop_nulls(), *seen["end_s"].drop_nulls(), *workload.to_polars()["submit_s"]})
    from_s = data.draw(st.sampled_from(instants)) + data.draw(st.sampled_from([0.0, 0.0, 0.5]))
    jobs = setting.workload.to_polars().with_columns(
        seen["start_s"].alias("observed_start_s"), seen["nodes"].alias("observed_nodes")
    )
    began = engine_of(replace(setting, workload=hs.Workload.from_polars(jobs)), from_s=from_s)
    began.step_until(None)
    ours = frame_of(began.take_records().take_jobs())
    assert ours.select(RUN).equals(seen.select(RUN))


def renamed(policy: hs.Policy) -> hs.Policy:
    return hs.Policy.from_dict({**policy.to_dict(), "name": "another"})


@EVERY_KIND
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_a_fork_to_equal_parts_is_the_session_itself(sets: dict[str, tuple[int, ...]], data: st.DataObject) -> None:
    workload, platform = log_of(sets, data), machine(sets, data)
    sleep = data.draw(st.sampled_from(SLEEPS))
    power = None if sleep is not None else data.draw(budgets(platform))
    order, backfill = data.draw(st.sampled_from(["fcfs", "smallest"])), data.draw(st.sampled_from(BACKFILLS))
    policy = hs.Policy(order, backfill, sleep=sleep, power=power)
    session = hs.Session(workload, platform, policy)
    session.step_until(data.draw(st.integers(0, 25).map(float)))
    fork = session.fork(policy=renamed(policy))
    assert fork.run().jobs.select(RUN).equals(session.run().jobs.select(RUN))
    assert fork.result().nodes.equals(session.result().nodes)


@EVERY_KIND
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_a_fork_to_another_policy_keeps_what_has_happened_and_the_laws(
    sets: dict[str, tuple[int, ...]], data: st.DataObject
) -> None:
    """From one way of counting nodes to another: set by set, by cell, or by name."""
    workload, platform = log_of(sets, data), machine(sets, data)
    ample = {"name": "system-budget", "budget_w": 5 * 300.0 + 1.0}
    sleep = data.draw(st.sampled_from(SLEEPS))
    powers = [None] if sleep is not None else [None, ample]
    one, other = (
        hs.Policy("fcfs", data.draw(st.sampled_from([*BACKFILLS, "plan"])), power=data.draw(st.sampled_from(powers)))
        for _ in range(2)
    )
    one, other = (hs.Policy.from_dict({**policy.to_dict(), "sleep": sleep}) for policy in (one, other))
    session, stop = hs.Session(workload, platform, one), data.draw(st.integers(0, 25).map(float))
    session.step_until(stop)
    before = session.result().jobs
    result = session.fork(policy=other).run()
    has_run = before["start_s"].is_not_null()
    assert (
        result.jobs.filter(has_run).select("start_s", "nodes").equals(before.filter(has_run).select("start_s", "nodes"))
    )
    assert (result.jobs.filter(~has_run)["start_s"].drop_nulls() >= stop - 1e-6).all()
    check_schedule(result, workload, platform)


def test_licences_of_running_jobs_are_held_under_another_policy() -> None:
    jobs = pl.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_s": [0.0, 5.0, 6.0],
            "runtime_s": [60.0, 60.0, 60.0],
            "walltime_s": [60.0, 60.0, 60.0],
            "node_count": [1, 1, 1],
            "licences": ["tool:2", "tool:1", None],
        }
    )
    nodes = hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300, licences={"tool": 2})
    session = hs.Session(hs.Workload.from_polars(jobs), nodes, "easy")
    session.step_until(1)
    for policy in (renamed(hs.Policy.preset("easy")), hs.Policy("fcfs", "first-fit")):
        assert session.fork(policy=policy).run().jobs["start_s"].to_list() == [0.0, 60.0, 6.0]
