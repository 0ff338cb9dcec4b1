"""Laws of holds: times in which no job starts, and what runs goes on."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import check_schedule, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

POLICIES = ("fcfs", "easy", "conservative", "sjf", "easy:order=wfp3", hs.Policy("fcfs", "plan"))
HOLDS = st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 900)), min_size=1, max_size=4)


def holds_of(spans: list[tuple[int, int]]) -> hs.Events:
    rows = [(float(begin), "hold", float(begin + length)) for begin, length in spans]
    return hs.Events.from_polars(pl.DataFrame(rows, ["time_s", "kind", "until_s"], orient="row"))


@given(workloads(), platforms(), st.sampled_from(POLICIES), HOLDS)
def test_nothing_starts_in_a_hold(
    workload: hs.Workload, platform: hs.Platform, policy: str | hs.Policy, spans: list[tuple[int, int]]
) -> None:
    result = hs.simulate(workload, platform, policy, events=holds_of(spans), on_unknown_app="nominal")
    check_schedule(result, workload, platform)
    starts = result.jobs["start_s"].drop_nulls()
    for begin, length in spans:
        assert not ((starts >= begin) & (starts < begin + length)).any()
    free = hs.simulate(workload, platform, policy, on_unknown_app="nominal").jobs
    assert result.jobs["start_s"].null_count() == free["start_s"].null_count(), "a hold keeps none for good"


@given(workloads(), platforms(), st.sampled_from(POLICIES))
def test_a_hold_in_which_nothing_would_be_decided_changes_nothing(
    workload: hs.Workload, platform: hs.Platform, policy: str | hs.Policy
) -> None:
    free = hs.simulate(workload, platform, policy, on_unknown_app="nominal")
    after_s = float(free.timeline["time_s"][-1]) + 1 if len(free.timeline) else 1.0
    held = hs.simulate(workload, platform, policy, on_unknown_app="nominal", events=holds_of([(int(after_s), 60)]))
    assert held.jobs.equals(free.jobs)


def test_ends_go_on_in_a_hold_and_its_end_has_a_pass() -> None:
    jobs = {"job_id": [1, 2, 3], "submit_s": [0, 1, 30], "runtime_s": [20, 10, 5], "node_count": [2, 2, 1]}
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    platform = hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)
    result = hs.simulate(workload, platform, "easy", events=holds_of([(5, 20), (25, 15)]))
    # The first ends in the hold; nothing is decided before 40, when the two holds that meet are over.
    assert result.jobs["end_s"].to_list() == [20.0, 50.0, 55.0]
    assert result.jobs["start_s"].to_list() == [0.0, 40.0, 50.0]


def test_a_session_keeps_its_holds_under_another_policy_and_when_it_is_forked() -> None:
    jobs = {"job_id": [1, 2], "submit_s": [0, 10], "runtime_s": [5, 5], "node_count": [1, 1]}
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    session = hs.Session(workload, hs.Platform.homogeneous(2, idle_w=100, tdp_w=300), "fcfs")
    session.step_until(1)
    session.inject(holds_of([(5, 20)]))
    other = session.fork(policy="easy")
    for one in (session, other):
        one.run()
        assert one.result().jobs["start_s"].to_list() == [0.0, 25.0]


def test_a_hold_needs_its_end_and_goes_with_no_power_part() -> None:
    with pytest.raises(hs.ConfigError, match="until_s"):
        hs.Events.from_polars(pl.DataFrame({"time_s": [1.0], "kind": ["hold"]}))
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "node_count": [1]})
    workload, machine = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)
    with pytest.raises(hs.ConfigError, match="only budgets"):
        hs.simulate(workload, machine, "vahrm", events=holds_of([(5, 20)]))
