"""`hs.hindsight`: its energy is what `hs.meter` says, from the bound to the run's; what it leaves out and refuses."""

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
    """The schedule, confirmed by the meter; its order of energies holds."""
    found = hs.hindsight(result)
    metered = hs.meter(workload, platform, found.jobs, **options).jobs
    rows = metered.join(found.jobs.select("job_id", "nodes", start="start_s", end="end_s"), on="job_id")
    assert rows["energy_j"].sum() == pytest.approx(found.energy_j, rel=1e-9)
    assert rows["start_s"].equals(rows["start"])
    assert rows["end_s"].equals(rows["end"])
    assert found.bound_j <= found.energy_j <= found.run_energy_j * (1 + 1e-12)
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
    assert found.bound_j == pytest.approx(result.summary()["energy_bound_starts_j"], rel=1e-12)
    assert found.left_out_energy_j == 0.0
    assert found.jobs.equals(hs.hindsight(result).jobs)


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
    with pytest.raises(hs.ConfigError, match=r"jobs whose length depends on the nodes"):
        hs.hindsight(hs.simulate(workload, machine(2, paces=True), "easy"))
    result = hs.simulate(workload, machine(2), "easy")
    with pytest.raises(hs.ConfigError, match=r"result: found a run that was read from files"):
        hs.hindsight(pickle.loads(pickle.dumps(result)))
    with pytest.raises(hs.ConfigError, match=r"seed"):
        hs.hindsight(result, seed=-1)
    with pytest.raises(hs.ConfigError, match=r"result: .*expected a Result"):
        hs.hindsight(result.jobs)  # type: ignore[arg-type]
