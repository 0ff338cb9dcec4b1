"""The backfill part `patience`: first fit without patience, reservations with none to spare, and an end to waiting."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import hetsched as hs
from hetsched.policy import parts
from hetsched.testing import platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
ORDERS = st.sampled_from(sorted(name for role, name in parts() if role == "order" and name != "observed"))
PLACEMENTS = st.sampled_from(sorted(name for role, name in parts() if role == "placement"))
DEPTHS = st.sampled_from([1, 2, 3, "unbounded"])
SEEDS = st.integers(0, 99)


def patience(patience_s: float | str, *, depth: int | str = 1, suited_first: bool = False) -> dict[str, object]:
    return {"name": "patience", "patience_s": patience_s, "depth": depth, "suited_first": suited_first}


def in_ticks(result: hs.Result) -> pl.DataFrame:
    """Jobs that started; times in microseconds."""
    jobs = result.jobs.with_row_index("row").drop_nulls("start_s")
    ticks = (pl.col("submit_s", "start_s", "end_s", "walltime_s") * 1e6).round(mode="half_away_from_zero")
    return jobs.with_columns(ticks.cast(pl.Int64).name.replace("_s$", ""))


@given(workloads(max_slots=2), platforms(max_slots=2), ORDERS, PLACEMENTS, DEPTHS, SEEDS)
def test_who_is_never_patient_is_served_first_fit(
    workload: hs.Workload, platform: hs.Platform, order: str, placement: str, depth: int | str, seed: int
) -> None:
    """Start by start and node by node, whatever the order, the placement and the depth."""
    endless, plain = (
        hs.simulate(workload, platform, hs.Policy(order=order, backfill=part, placement=placement), seed=seed)
        for part in (patience("none", depth=depth), "first-fit")
    )
    assert endless.jobs.equals(plain.jobs, null_equal=True)


@given(workloads(), platforms(), PLACEMENTS, DEPTHS, SEEDS)
def test_without_patience_it_backfills_under_reservations(
    workload: hs.Workload, platform: hs.Platform, placement: str, depth: int | str, seed: int
) -> None:
    """EASY for a depth of 1, conservative without a limit.

    Who was submitted this instant has not waited yet: of several, the first would have no reservation before the next.
    """
    frame = workload.to_polars().with_row_index("row").with_columns(submit_s=pl.col("submit_s") + pl.col("row") * 1e-6)
    assume(frame["submit_s"].n_unique() == len(frame))
    distinct = hs.Workload.from_polars(frame.drop("row"))
    eager, plain = (
        hs.simulate(distinct, platform, hs.Policy(order="fcfs", backfill=part, placement=placement), seed=seed)
        for part in (patience(0, depth=depth), {"name": "reservations", "depth": depth})
    )
    assert eager.jobs.equals(plain.jobs, null_equal=True)


@given(
    workloads(walltimes=True, max_jobs=14),
    platforms(),
    ORDERS,
    PLACEMENTS,
    DEPTHS,
    st.sampled_from([0.0, 1.0, 5.0, 20.0]),
    st.booleans(),
)
def test_waits_have_an_end(
    workload: hs.Workload,
    platform: hs.Platform,
    order: str,
    placement: str,
    depth: int | str,
    patience_s: float,
    suited_first: bool,
) -> None:
    """No job waits longer than its patience, the next end, and a longest walltime for each that waited before it.

    At the first end after he has lost patience, only those submitted before him who still wait are ahead of him. Each
    of them starts no later than everybody who was running then may have ended, the longest walltime; then he does.
    """
    part = patience(patience_s, depth=depth, suited_first=suited_first)
    jobs = in_ticks(hs.simulate(workload, platform, hs.Policy(order=order, backfill=part, placement=placement)))
    assume(len(jobs) > 0)
    longest = jobs["walltime"].max()
    for job in jobs.iter_rows(named=True):
        lost_at = job["submit"] + round(patience_s * 1e6)
        if job["start"] <= lost_at:
            continue
        next_end = jobs.filter(pl.col("end") > lost_at)["end"].min()
        is_older = (pl.col("submit") < job["submit"]) | (
            (pl.col("submit") == job["submit"]) & (pl.col("row") < job["row"])
        )
        ahead = len(jobs.filter(is_older & (pl.col("start") > lost_at)))
        assert job["start"] <= next_end + (ahead + 1) * longest, f"job {job['job_id']}, {ahead} ahead"


@given(workloads(walltimes=True, max_jobs=14), platforms(time_ratios=False), ORDERS, PLACEMENTS, st.booleans())
def test_the_longest_wait_is_not_delayed_beyond_its_shadow_time(
    workload: hs.Workload, platform: hs.Platform, order: str, placement: str, suited_first: bool
) -> None:
    """The job that has waited longest, and long enough, starts once running jobs gave back its nodes."""
    part = patience(2.0, suited_first=suited_first)
    jobs = in_ticks(hs.simulate(workload, platform, hs.Policy(order=order, backfill=part, placement=placement)))
    jobs = jobs.with_columns(planned=pl.col("start") + pl.col("walltime"))
    several_rounds = jobs.filter(pl.col("start") == pl.col("end"))["start"].to_list()
    for now in np.unique(jobs["end"].to_numpy()).tolist():
        waiting = jobs.filter((pl.col("submit") < now - 2_000_000) & (pl.col("start") > now)).sort("submit", "row")
        if now in several_rounds or not len(waiting):
            continue
        oldest = waiting.row(0, named=True)
        # Those who went before him because they had waited longer; who started after him in this instant may not count.
        served = (pl.col("start") == now) & (pl.col("submit") > oldest["submit"])
        running = jobs.filter((pl.col("start") <= now) & (pl.col("end") > now) & ~served).sort("planned")
        free = platform.nodes - (running["node_count"].sum() or 0)
        shadow_time = now
        for planned_end, count in running.select("planned", "node_count").iter_rows():
            if free >= oldest["node_count"]:
                break
            shadow_time, free = planned_end, free + count
        assert oldest["start"] <= shadow_time, f"job {oldest['job_id']}: promised {shadow_time} us at {now} us"


def stream_of_small_jobs() -> hs.Workload:
    """On two nodes: a job of one node and 10 s every 5 s, and from 1 s on one that needs both."""
    submits = [0.0, 1.0, *(5.0 * place for place in range(1, 20))]
    return hs.Workload.from_polars(
        pl.DataFrame(
            {
                "job_id": range(len(submits)),
                "submit_s": submits,
                "runtime_s": [10.0] * len(submits),
                "node_count": [1, 2] + [1] * 19,
            }
        )
    )


def test_first_fit_lets_the_wide_job_wait_for_the_end_of_the_stream() -> None:
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400)
    jobs = hs.simulate(stream_of_small_jobs(), platform, "fcfs:backfill=first-fit").jobs
    # One node is free at every multiple of 5 s, never both, until the job submitted at 95 s ends.
    assert jobs["start_s"][1] == 105.0


def test_with_patience_it_holds_the_nodes_and_starts() -> None:
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=400)
    policy = hs.Policy(order="fcfs", backfill=patience(20.0, suited_first=True))
    jobs = hs.simulate(stream_of_small_jobs(), platform, policy).jobs
    # At 20 s it has waited for 19 s: the job submitted then starts, until 30 s. At 25 s it has waited for 24 s and is
    # promised both nodes at 30 s; the job submitted at 25 s would run until 35 s and has to wait.
    assert jobs["start_s"].to_list()[:8] == [0.0, 30.0, 5.0, 10.0, 15.0, 20.0, 40.0, 40.0]
    assert jobs["started_by"][1] == "reservation"
