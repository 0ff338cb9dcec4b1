"""A schedule is worth the same whoever made it: metered or replayed, every run's own starts give its own books."""

from __future__ import annotations

import warnings
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.policy import PRESETS
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LIMITS = st.fixed_dictionaries(
    {
        "kill_at_walltime": st.booleans(),
        "kill_grace_s": st.sampled_from([0.0, 0.0, 2.5]),
        "walltimes": st.sampled_from(["fixed", "stretch"]),
    }
)
OF_THE_RUN = ("start_s", "end_s", "nodes", "energy_j", "mean_power_w", "state", "runtime_s", "wait_s")
TOTALS = (
    *("energy_j", "job_energy_j", "idle_energy_j", "makespan_s", "peak_power_w", "utilization_ratio"),
    *("work_lost_node_s", "completed_work_ratio", "energy_per_work_j_per_node_s"),
)


def schedule_of(result: hs.Result, *, ends: bool) -> pl.DataFrame:
    """Starts of jobs: which, when and where."""
    names = ["job_id", "start_s", "nodes", *(["end_s"] if ends else [])]
    return result.jobs.filter(pl.col("start_s").is_not_null()).select(names)


def same_books(one: hs.Result, other: hs.Result) -> None:
    """The same energy, bit for bit, by job, node and instant."""
    assert one.timeline.equals(other.timeline)
    assert one.nodes.equals(other.nodes)
    started = pl.col("start_s").is_not_null()
    mine, theirs = (result.jobs.filter(started).select("job_id", *OF_THE_RUN) for result in (one, other))
    assert mine.equals(theirs)
    assert [one.summary()[name] for name in TOTALS] == [other.summary()[name] for name in TOTALS]


@given(st.data(), st.sampled_from([1, 3]), LIMITS, st.booleans())
def test_a_metered_schedule_has_the_books_of_its_run(
    data: st.DataObject, slots: int, limits: dict[str, Any], ends: bool
) -> None:
    workload = data.draw(workloads(max_slots=slots, max_nodes=4))
    platform = data.draw(platforms(max_slots=slots, max_nodes=4))
    # What an emergency killed ended earlier than its nodes would have it, and what slept drew less.
    policy = data.draw(
        st.sampled_from([name for name in PRESETS if name not in ("replay", "power-slurm", "nqsv", "slurm")])
    )
    run = hs.simulate(workload, platform, policy, **limits)
    metered = hs.meter(workload, platform, schedule_of(run, ends=ends), **limits)
    same_books(run, metered)
    check_schedule(metered, workload, platform)


@given(st.data(), st.sampled_from([1, 3]))
def test_a_replayed_schedule_has_the_starts_of_its_run(data: st.DataObject, slots: int) -> None:
    workload = data.draw(workloads(max_slots=slots, max_nodes=4))
    platform = data.draw(platforms(max_slots=slots, max_nodes=4))
    # A log's jobs ran as long as it says: where some were killed before their runtime, theirs is no log.
    run = hs.simulate(workload, platform, data.draw(policies(power=False)), kill_at_walltime=False)
    observed = {"observed_start_s": run.jobs["start_s"], "observed_nodes": run.jobs["nodes"]}
    log = hs.Workload.from_polars(workload.to_polars().with_columns(**observed))
    if run.jobs["start_s"].null_count() == len(run.jobs):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hs.errors.ReplayWarning)
        replayed = hs.simulate(log, platform, "replay")
    assert replayed.provenance["replay"]["late_starts"] == 0
    assert replayed.provenance["replay"]["left_out_jobs"] == 0
    check_schedule(replayed, log, platform)
    if not run.summary()["profiled_jobs"]:
        same_books(run, replayed)


@given(workloads(observed=True), platforms(), policies(observed=True), st.none() | st.integers(0, 20).map(float))
@pytest.mark.filterwarnings("ignore::hetsched.errors.ReplayWarning")
def test_policies_that_repeat_a_log_keep_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, until_s: float | None
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, until_s=until_s), workload, platform)


@given(
    workloads(observed=True, max_slots=3), platforms(max_slots=3), st.sampled_from(["lowest-id", "observed", "random"])
)
@pytest.mark.filterwarnings("ignore::hetsched.errors.ReplayWarning")
def test_replay_starts_feasible_jobs_at_recorded_times(
    workload: hs.Workload, platform: hs.Platform, placement: str
) -> None:
    """Alone on the machine, nobody is late."""
    policy = hs.Policy.preset("replay", placement=placement)
    result = hs.simulate(workload, platform, policy)
    check_schedule(result, workload, platform)
    for row in result.jobs.filter(pl.col("start_s").is_not_null()).iter_rows(named=True):
        alone = hs.Workload.from_polars(workload.to_polars().filter(pl.col("job_id") == row["job_id"]))
        assert hs.simulate(alone, platform, policy).jobs["start_s"].item() == pytest.approx(
            row["observed_start_s"], abs=1e-6
        )
