"""Laws of restarts from the observed state: a policy repeats a log that it made, and the future plays no part."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_successions import forgetful

import hetsched as hs
from hetsched.testing import platforms, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

horizons = st.sampled_from([1.0, 2.0, 3.5, 1e6])
jobs = workloads(min_jobs=2, apps=())
machines = platforms(max_slots=1, tables=False)


def own_log(workload: hs.Workload, platform: hs.Platform, policy: str | hs.Policy) -> hs.Workload:
    """The same jobs with the starts, ends and nodes that they have under a policy."""
    ran = hs.simulate(workload, platform, policy, kill_at_walltime=False).jobs
    seen = workload.to_polars().with_columns(
        ran["start_s"].alias("observed_start_s"), ran["end_s"].alias("observed_end_s")
    )
    return hs.Workload.from_polars(seen.with_columns(ran["nodes"].alias("observed_nodes")))


def ahead(log: hs.Workload, platform: hs.Platform, policy: str | hs.Policy, horizon_s: float) -> hs.Validation:
    submits = log.to_polars().filter(pl.col("runtime_s") > 0, pl.col("observed_start_s").is_not_null())["submit_s"]
    assume(any(submit_s > log.to_polars()["submit_s"][0] for submit_s in submits))
    return hs.validate(log, platform, policy, horizon_s=horizon_s, warmup_s=0, cooldown_s=0, baseline=None)


@given(jobs, machines, horizons)
def test_in_order_of_arrival_no_later_job_matters(
    workload: hs.Workload, platform: hs.Platform, horizon_s: float
) -> None:
    """Under FCFS every restart goes on as the run did, however short it is."""
    found = ahead(own_log(workload, platform, "fcfs"), platform, "fcfs", horizon_s)
    assert found.jobs["start_s"].equals(found.jobs["observed_start_s"], check_names=False)
    assert (found.scores["log_error"], found.scores["overfull"], found.scores["unstarted"]) == (0.0, 0, 0)


@given(workloads(min_jobs=2, max_slots=3), platforms(max_slots=3), forgetful)
def test_a_policy_that_goes_on_from_its_own_state_does_what_it_did(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy
) -> None:
    """Facts that follow from the machine and the queue are in the state: budgets, speeds, shared nodes."""
    found = ahead(own_log(workload, platform, policy), platform, policy, 1e6)
    assert found.jobs["start_s"].equals(found.jobs["observed_start_s"], check_names=False)


@given(jobs, machines, st.sampled_from([1.0, 2.5]), st.integers(1, 5))
def test_what_is_submitted_after_a_restart_is_over_changes_nothing(
    workload: hs.Workload, platform: hs.Platform, horizon_s: float, number: int
) -> None:
    log = own_log(workload, platform, "fcfs")
    assume(len(log))
    cut_s = log.to_polars()["submit_s"][0] + number * horizon_s
    first = log.filter(pl.col("submit_s") <= cut_s)
    part = ahead(first, platform, "easy", horizon_s)
    whole = ahead(log, platform, "easy", horizon_s).jobs.filter(pl.col("submit_s") <= cut_s)
    assert part.jobs.select("job_id", "start_s").equals(whole.select("job_id", "start_s"))
