"""Order of starts: FCFS, no backfill, first fit, EASY's promise to the queue-head job, and what is not known yet."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import hetsched as hs
from hetsched.policy import parts
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
ORDERS = sorted(name for role, name in parts() if role == "order" and name != "observed")
# Those of `vahrm` and `fair-share` depend on predicted draws and on what has run; they have twins of their own.
STATIC_ORDERS = sorted(set(ORDERS) - {"wfp3", "vahrm", "fair-share"})
PLACEMENTS = sorted(name for role, name in parts() if role == "placement")


def started(result: hs.Result) -> pl.DataFrame:
    """Jobs that started, in the order of their submits; times in microseconds."""
    columns = ("submit_s", "start_s", "end_s", "walltime_s", "nominal_runtime_s")
    jobs = result.jobs.with_row_index("row").drop_nulls("start_s")
    ticks = (pl.col(columns) * 1e6).round(mode="half_away_from_zero").cast(pl.Int64)
    return jobs.with_columns(ticks.name.replace("_s$", ""))


@given(workloads(max_slots=2), platforms(max_slots=2), policies(order="fcfs", backfill="none"))
def test_fcfs_never_overtakes(workload: hs.Workload, platform: hs.Platform, policy: hs.Policy) -> None:
    jobs = started(hs.simulate(workload, platform, policy))
    assert jobs["start"].is_sorted()


@given(workloads(), platforms(), st.sampled_from(ORDERS), st.sampled_from(PLACEMENTS))
def test_without_backfill_no_job_overtakes_in_policy_order(
    workload: hs.Workload, platform: hs.Platform, order: str, placement: str
) -> None:
    result = hs.simulate(workload, platform, hs.Policy(order=order, backfill="none", placement=placement))
    assert "backfill" not in result.jobs["started_by"].to_list()


@given(workloads(), platforms(tables=False), st.sampled_from(STATIC_ORDERS))
def test_of_two_jobs_that_wait_without_backfill_the_first_in_order_starts_first(
    workload: hs.Workload, platform: hs.Platform, order: str
) -> None:
    jobs = started(hs.simulate(workload, platform, hs.Policy(order=order, backfill="none")))
    comm = (pl.col("comm_s").fill_null(0.0) * 1e6).round().cast(pl.Int64) if "comm_s" in jobs.columns else pl.lit(0)
    planned = pl.coalesce("walltime", pl.col("nominal_runtime") + comm)
    key = {
        "fcfs": pl.lit(0),
        "shortest": planned,
        "longest": -planned,
        "smallest": pl.col("node_count"),
        "largest": -pl.col("node_count"),
        "smallest-area": planned * pl.col("node_count"),
    }[order]
    rows = jobs.select(key.alias("key"), "submit", "row", "start").rows()
    for first in rows:
        for second in rows:
            # Both are in the queue when the second one starts, and the first is ahead.
            if first[:3] < second[:3] and first[1] <= second[3]:
                assert first[3] <= second[3], f"{order}: {second} starts before {first}"


@given(workloads(), platforms(), st.sampled_from(ORDERS), st.sampled_from(PLACEMENTS))
def test_first_fit_leaves_no_job_waiting_that_fits(
    workload: hs.Workload, platform: hs.Platform, order: str, placement: str
) -> None:
    result = hs.simulate(workload, platform, hs.Policy(order=order, backfill="first-fit", placement=placement))
    jobs = started(result)
    for now in np.unique(np.concatenate([jobs["submit"].to_numpy(), jobs["end"].to_numpy()])).tolist():
        running = jobs.filter((pl.col("start") <= now) & (pl.col("end") > now))
        waiting = jobs.filter((pl.col("submit") <= now) & (pl.col("start") > now))
        free = platform.nodes - (running["node_count"].sum() or 0)
        assert (waiting["node_count"] > free).all(), f"at {now} us {free} nodes are free"


@given(
    workloads(walltimes=True, max_jobs=14),
    platforms(time_ratios=False),
    st.sampled_from([1, 2, "unbounded"]),
    st.sampled_from(PLACEMENTS),
)
def test_backfilling_never_delays_the_head_beyond_its_shadow_time(
    workload: hs.Workload, platform: hs.Platform, depth: int | str, placement: str
) -> None:
    """The head's shadow time is worked out at every instant from the jobs that were running before anyone overtook.

    Instants of several rounds are left out: who overtook in one round may have done so under another head.
    """
    policy = hs.Policy(order="fcfs", backfill={"name": "reservations", "depth": depth}, placement=placement)
    jobs = started(hs.simulate(workload, platform, policy)).with_columns(planned=pl.col("start") + pl.col("walltime"))
    several_rounds = jobs.filter(pl.col("start") == pl.col("end"))["start"].to_list()
    for now in np.unique(np.concatenate([jobs["submit"].to_numpy(), jobs["end"].to_numpy()])).tolist():
        waiting = jobs.filter((pl.col("submit") <= now) & (pl.col("start") > now)).sort("submit", "row")
        if now in several_rounds or not len(waiting):
            continue
        head = waiting.row(0, named=True)
        overtook = (pl.col("start") == now) & (pl.col("started_by") == "backfill")
        running = jobs.filter((pl.col("start") <= now) & (pl.col("end") > now) & ~overtook).sort("planned")
        free = platform.nodes - (running["node_count"].sum() or 0)
        shadow_time = now
        for planned_end, count in running.select("planned", "node_count").iter_rows():
            if free >= head["node_count"]:
                break
            shadow_time, free = planned_end, free + count
        assert head["start"] <= shadow_time, f"job {head['job_id']}: promised {shadow_time} us at {now} us"


@given(workloads(walltimes=True, apps=()), platforms(tables=False), st.data())
def test_with_conservative_a_later_job_delays_no_job(
    workload: hs.Workload, platform: hs.Platform, data: st.DataObject
) -> None:
    """No job starts later because of one that came after it, if every job ends exactly as planned."""
    frame = workload.to_polars().with_columns(runtime_s=pl.col("walltime_s"))
    assume(len(frame) > 0)
    count = data.draw(st.integers(1, len(frame)))
    starts = [
        hs.simulate(hs.Workload.from_polars(frame.head(n)), platform, "conservative").jobs["start_s"].head(count)
        for n in (count, len(frame))
    ]
    assert starts[0].equals(starts[1], null_equal=True)


@given(workloads(min_jobs=1), platforms(), policies(), st.integers(1, 6), st.sampled_from([None, 3.0]))
def test_a_job_changes_nothing_before_it_is_submitted(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, node_count: int, walltime_s: float | None
) -> None:
    frame = workload.to_polars()
    last_s = frame["submit_s"].max()
    late = {"job_id": 99, "submit_s": last_s + 1.5, "runtime_s": 4.0, "node_count": node_count}
    late |= {"walltime_s": walltime_s} if "walltime_s" in frame.columns else {}
    longer = pl.concat([frame, pl.DataFrame([late], schema_overrides=frame.schema)], how="diagonal")
    before = hs.simulate(workload, platform, policy).jobs
    after = hs.simulate(hs.Workload.from_polars(longer), platform, policy).jobs.head(len(frame))
    earlier = (before["start_s"] < late["submit_s"]).fill_null(value=False)
    for name in ("start_s", "end_s", "nodes", "started_by", "state"):
        assert before[name].filter(earlier).equals(after[name].filter(earlier), null_equal=True)
    if policy.parts["order"] == {"name": "fcfs"} and policy.parts["backfill"] == {"name": "none"}:
        assert before["start_s"].equals(after["start_s"], null_equal=True)


@given(workloads(), platforms(), policies(), st.sampled_from([0.5, 86_400.0, 1e9]))
def test_the_clock_has_no_meaning(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, shift_s: float
) -> None:
    """The same jobs some time later are scheduled the same, that time later."""
    # Instants of a plan that is made every so often, and days of its nodes, are those of the log's clock.
    if policy.parts["backfill"].get("interval_s"):
        shift_s = 86_400.0
    later = hs.Workload.from_polars(workload.to_polars().with_columns(pl.col("submit_s") + shift_s))
    here, there = started(hs.simulate(workload, platform, policy)), started(hs.simulate(later, platform, policy))
    assert (here["start"] + round(shift_s * 1e6)).equals(there["start"])
    assert here["nodes"].equals(there["nodes"])
    assert here["energy_j"].equals(there["energy_j"])
