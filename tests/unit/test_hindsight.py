"""`hs.hindsight`: its energy is what `hs.meter` says, from the bounds to the run's; what it leaves out and refuses."""

from __future__ import annotations

import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning", "ignore::hetsched.errors.ResultWarning")


def log(count: int, seed: int, **columns: Any) -> hs.Workload:
    """Jobs of two applications and several sizes; some have no length."""
    rng = np.random.default_rng(seed)
    frame = {
        "job_id": np.arange(count) + 7,
        "submit_s": np.sort(rng.uniform(0.0, 300.0, count)).round(3),
        "runtime_s": rng.uniform(-5.0, 100.0, count).clip(0.0).round(3),
        "node_count": rng.integers(1, 4, count),
        "app": rng.choice(["heat", "flow"], count),
    }
    return hs.Workload.from_polars(pl.DataFrame(frame | columns))


def machine(seed: int, *, paces: bool = False, **more: Any) -> hs.Platform:
    """Eight nodes that are all different."""
    rng = np.random.default_rng(seed)
    power_w = rng.uniform(200.0, 350.0, (2, 8)).round(2)
    time_ratio = rng.uniform(0.9, 1.2, (2, 8)) if paces else None
    table = hs.VariationTable(["heat", "flow"], power_w=power_w, time_ratio=time_ratio)
    return hs.Platform.homogeneous(nodes=8, idle_w=60.0, tdp_w=500.0, actual=table, **more)


def confirmed(workload: hs.Workload, platform: hs.Platform, result: hs.Result, **options: Any) -> hs.Hindsight:
    """The schedule, confirmed by the meter, which works the ends out for itself; its order of energies holds."""
    found = hs.hindsight(result)
    ends = [] if result.jobs["state"].is_in(["running"]).any() else ["end_s"]
    metered = hs.meter(workload, platform, found.jobs.drop(ends), **options).jobs
    rows = metered.join(found.jobs.select("job_id", "nodes", start="start_s", end="end_s"), on="job_id")
    assert rows["energy_j"].sum() == pytest.approx(found.energy_j, rel=1e-9)
    assert rows["start_s"].equals(rows["start"])
    assert rows["end_s"].equals(rows["end"])
    assert found.moving_bound_j <= found.bound_j <= found.energy_j <= found.run_energy_j * (1 + 1e-12)
    own = result.jobs.filter(pl.col("job_id").is_in(found.jobs["job_id"].implode()))
    assert own.select("job_id", "start_s", "node_count").equals(
        found.jobs.select("job_id", "start_s", node_count=pl.col("nodes").list.n_unique().cast(own["node_count"].dtype))
    )
    assert own["energy_j"].sum() == pytest.approx(found.run_energy_j, rel=1e-9)
    return found


@given(st.integers(0, 2**32 - 1))
def test_the_meter_confirms_the_energy(seed: int) -> None:
    workload, platform = log(40, seed), machine(seed)
    result = hs.simulate(workload, platform, "easy", bound="starts")
    found = confirmed(workload, platform, result)
    assert found.moving_bound_j == pytest.approx(result.summary()["energy_bound_starts_j"], rel=1e-12)
    assert found.left_out_energy_j == 0.0
    assert found.jobs.equals(hs.hindsight(result).jobs)


@given(seed=st.integers(0, 2**32 - 1), stretches=st.booleans())
def test_nodes_that_differ_in_speed_keep_the_starts(seed: int, *, stretches: bool) -> None:
    rng = np.random.default_rng(seed)
    workload, platform = log(40, seed, walltime_s=rng.uniform(20.0, 130.0, 40).round(3)), machine(seed, paces=True)
    options: dict[str, Any] = {"walltimes": "stretch" if stretches else "fixed", "kill_grace_s": 2.0}
    confirmed(workload, platform, hs.simulate(workload, platform, "easy", **options), **options)


def test_nodes_that_differ_in_speed_leave_something_to_save() -> None:
    workload, platform = log(40, 1), machine(1, paces=True)
    assert confirmed(workload, platform, hs.simulate(workload, platform, "easy")).saved_ratio > 0.01


@given(seed=st.integers(0, 2**32 - 1), paces=st.booleans())
def test_prices_begin_at_the_bound_with_moves_and_rise(seed: int, *, paces: bool) -> None:
    result = hs.simulate(log(40, seed), machine(seed, paces=paces), "easy")
    first, some, more = (hs.hindsight(result, steps=steps) for steps in (0, 20, 200))
    assert first.moving_bound_j == some.moving_bound_j == more.moving_bound_j
    assert first.moving_bound_j <= first.bound_j <= min(some.bound_j, more.bound_j)
    assert max(some.bound_j, more.bound_j) <= min(first.energy_j, some.energy_j, more.energy_j)


def test_prices_can_prove_a_schedule_to_be_the_best() -> None:
    result = hs.simulate(log(40, 19), machine(19), "easy")
    assert hs.hindsight(result, steps=0).gap_ratio > 5e-3
    assert hs.hindsight(result, steps=200).gap_ratio < 1e-9


@given(seed=st.integers(0, 2**32 - 1), paces=st.booleans())
def test_starts_that_are_exchanged_keep_to_submits_waits_and_the_window(seed: int, *, paces: bool) -> None:
    rng = np.random.default_rng(seed)
    workload, platform = log(60, seed, node_count=rng.choice([1, 2, 6], 60)), machine(seed, paces=paces)
    result = hs.simulate(workload, platform, "easy", bound=True)
    found, plain = hs.hindsight(result, starts=True), hs.hindsight(result, steps=0)
    summary, own = result.summary(), result.jobs
    metered = hs.meter(workload, platform, found.jobs.drop("end_s"))
    rows = metered.jobs.join(found.jobs.select("job_id", start="start_s", end="end_s"), on="job_id")
    assert rows["start_s"].equals(rows["start"])
    assert rows["end_s"].equals(rows["end"])
    assert rows["energy_j"].sum() == pytest.approx(found.energy_j, rel=1e-9)
    assert (rows["wait_s"] >= 0.0).all()
    before = own.filter(pl.col("job_id").is_in(found.jobs["job_id"].implode()))
    for size in (1, 2, 6):
        sizes = [jobs.filter(node_count=size)["start_s"].sort().to_list() for jobs in (before, rows)]
        assert sizes[0] == sizes[1]
    assert rows["wait_s"].sum() == pytest.approx(before["wait_s"].sum())
    assert rows["turnaround_s"].sum() <= before["turnaround_s"].sum() * (1 + 1e-12)
    assert rows["end_s"].max() <= own["end_s"].max()
    assert found.energy_j <= (plain.run_energy_j if paces else plain.energy_j) * (1 + 1e-12)
    assert found.bound_j == pytest.approx(summary["energy_bound_j"], rel=1e-9)
    assert found.bound_j <= found.energy_j
    assert found.jobs.equals(hs.hindsight(result, starts=True).jobs)


def test_a_start_goes_to_the_job_that_gains_by_it() -> None:
    """The good node is there until 10, and the job that gains most by it came last."""
    times = {"submit_s": [0.0, 0.0, 0.0], "runtime_s": [10.0, 10.0, 10.0], "node_count": [1, 1, 1]}
    workload = hs.Workload.from_polars(pl.DataFrame({"job_id": [1, 2, 3], "app": ["cold", "cold", "flow"]} | times))
    table = hs.VariationTable(["cold", "flow"], power_w=[[100.0, 101.0], [100.0, 200.0]])
    platform = hs.Platform.homogeneous(nodes=2, idle_w=50.0, tdp_w=500.0, actual=table)
    events = pl.DataFrame({"time_s": [10.0], "kind": ["node_failed"], "node": [0], "until_s": [30.0]})
    result = hs.simulate(workload, platform, "fcfs", events=hs.Events.from_polars(events))
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 10.0]
    # At its own start there is only the other node.
    assert hs.hindsight(result).energy_j == hs.hindsight(result).run_energy_j == 10 * (100 + 101 + 200)
    found = hs.hindsight(result, starts=True)
    assert found.energy_j == 10 * (101 + 101 + 100)
    flow = found.jobs.filter(job_id=3).row(0, named=True)
    assert (flow["start_s"], flow["end_s"], flow["nodes"]) == (0.0, 10.0, [0])
    assert sorted(found.jobs["start_s"]) == [0.0, 0.0, 10.0]


def test_longest_waits_of_large_jobs_get_no_longer() -> None:
    rng = np.random.default_rng(8)
    frame = log(120, 8, node_count=rng.choice([1, 2, 16], 120, p=[0.6, 0.2, 0.2])).to_polars()
    workload = hs.Workload.from_polars(frame)
    power_w = rng.uniform(200.0, 350.0, (2, 24)).round(2)
    platform = hs.Platform.homogeneous(
        nodes=24, idle_w=60.0, tdp_w=500.0, actual=hs.VariationTable(["heat", "flow"], power_w=power_w)
    )
    result = hs.simulate(workload, platform, "hetsched")
    found = hs.hindsight(result, starts=True)
    waits = [
        jobs.filter(pl.col("node_count") > 15)["wait_s"].max()
        for jobs in (result.jobs, hs.meter(workload, platform, found.jobs).jobs)
    ]
    assert waits[1] <= waits[0]
    assert (found.jobs["start_s"] != result.jobs.filter(pl.col("runtime_s") > 0)["start_s"]).any()


def test_measured_watts_and_a_run_that_is_stopped() -> None:
    rng = np.random.default_rng(3)
    workload = log(40, 3, power_w=rng.uniform(100.0, 300.0, 40).round(2))
    table = hs.VariationTable(["heat", "flow"], power_ratio=rng.uniform(0.8, 1.2, (2, 8)))
    platform = hs.Platform.homogeneous(nodes=8, idle_w=60.0, tdp_w=500.0, actual=table)
    found = confirmed(workload, platform, hs.simulate(workload, platform, "easy", until_s=200.0))
    assert found.saved_ratio > 0.0
    assert found.jobs["end_s"].max() == 200.0


def test_nodes_out_of_service_and_jobs_that_failed_stay() -> None:
    rows = {"time_s": [50.0, 120.0], "kind": ["node_failed"] * 2, "node": [2, 5], "until_s": [200.0, 180.0]}
    events = hs.Events.from_polars(pl.DataFrame(rows))
    workload, platform = log(60, 5), machine(5)
    result = hs.simulate(workload, platform, "easy", events=events)
    found = confirmed(workload, platform, result, events=events)
    assert found.left_out_energy_j > 0
    assert found.saved_ratio > 0.0
    # The jobs that are left out still hold the nodes that they had.
    moved = found.jobs.explode("nodes").rename({"start_s": "from", "end_s": "until"})
    stays = result.segments.filter(~pl.col("job_id").is_in(found.jobs["job_id"].implode())).explode("nodes")
    both = (
        stays.filter(pl.col("end_s") > pl.col("start_s"))
        .join(moved, on="nodes")
        .filter((pl.col("from") < pl.col("end_s")) & (pl.col("until") > pl.col("start_s")))
    )
    assert len(both) == 0


def test_alike_nodes_leave_every_job_where_it_was() -> None:
    workload, platform = log(40, 1), hs.Platform.homogeneous(nodes=8, idle_w=60.0, tdp_w=500.0)
    result = hs.simulate(workload, platform, "easy")
    found = confirmed(workload, platform, result)
    assert found.jobs["nodes"].equals(result.jobs.filter(pl.col("runtime_s") > 0)["nodes"])
    assert found.gap_ratio == pytest.approx(0.0, abs=1e-9)


def test_an_empty_run_has_an_empty_schedule() -> None:
    found = hs.hindsight(hs.simulate(log(1, 0, runtime_s=[0.0]), machine(0), "easy"))
    assert (len(found.jobs), found.energy_j, found.gap_ratio, found.saved_ratio) == (0, 0.0, 0.0, 0.0)


def test_what_is_refused_is_named() -> None:
    workload = log(20, 2)
    result = hs.simulate(workload, machine(2), "easy")
    with pytest.raises(hs.ConfigError, match=r"result: found a run that was read from files"):
        hs.hindsight(pickle.loads(pickle.dumps(result)))
    with pytest.raises(hs.ConfigError, match=r"starts: found [0-9]+ jobs? that had not ended when the run was stopped"):
        hs.hindsight(hs.simulate(workload, machine(2), "easy", until_s=100.0), starts=True)
    after = pl.when(pl.col("job_id") == 8).then(7)
    waiting = hs.Workload.from_polars(workload.to_polars().with_columns(depends_on=after))
    with pytest.raises(hs.ConfigError, match=r"starts: found 1 job that wait"):
        hs.hindsight(hs.simulate(waiting, machine(2), "easy"), starts=True)
    with pytest.raises(hs.ConfigError, match=r"steps: .*\n?.*seed"):
        hs.hindsight(result, steps=-1, seed=-1)
    with pytest.raises(hs.ConfigError, match=r"result: .*expected a Result"):
        hs.hindsight(result.jobs)  # type: ignore[arg-type]
