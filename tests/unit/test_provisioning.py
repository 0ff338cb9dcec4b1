"""Number of nodes that a budget feeds: the published numbers, the mix of caps, and the trial's arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import mean_and_half_width
from hetsched.provisioning import parse_mix
from hetsched.provisioning.budget import Budget

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MIX = {85: 3, 70: 2, 55: 1}


def log(jobs: int = 40, **more: Any) -> hs.Workload:
    rng = np.random.default_rng(3)
    frame = {
        "job_id": np.arange(1, jobs + 1),
        "submit_s": np.sort(rng.integers(0, 2000, jobs)).astype(float),
        "runtime_s": rng.integers(10, 400, jobs).astype(float),
        "node_count": rng.integers(1, 4, jobs),
        **more,
    }
    return hs.Workload.from_polars(pl.DataFrame(frame))


def test_the_papers_numbers_and_the_steady_state() -> None:
    found = hs.provision(100e3, 25, {85: 1, 70: 1, 55: 1}, nodes=[680], sockets=2)
    (row,) = found.guideline.iter_rows(named=True)
    assert (row["cpus"], row["effective_w"], row["mean_w"]) == (1360, 66_000, 70)
    assert row["available_cpus"] == row["effective_cpus"] == pytest.approx(942.9, abs=0.05)
    mean_w = (85 + 70 * 4 / 3 + 55 * 2) / (1 + 4 / 3 + 2)
    assert row["steady_mean_w"] == pytest.approx(mean_w)
    assert row["steady_available_cpus"] == pytest.approx((100_000 - 25 * 1360) / (mean_w - 25))
    assert round(row["steady_available_cpus"]) == 1589
    assert row["steady_effective_cpus"] == 1360
    text = str(found)
    # Lines are as wide as they come.
    assert "P_eff = 100,000 - 25 x 1,360 = 66,000 W; CPU_available = 66,000 / 70 = 942.9" in text
    assert "CPU_eff = min(942.9, 1,360) = 942.9" in text
    assert "(100,000 - 25 x 1,360) / (66.54 - 25) = 1,589, so 1,360 CPUs run" in text


def test_the_best_number_of_cpus_is_where_all_of_them_just_run() -> None:
    found = hs.provision(100e3, 25, MIX, nodes=[1000])
    for name, cpus in found.best_cpus.items():
        row = Budget(100e3, 25, MIX).row(1)
        per_cpu_w = {"guideline": row["mean_w"], "steady": row["steady_mean_w"] - 25}[name]
        assert (100e3 - 25 * cpus) / per_cpu_w == pytest.approx(cpus)


def test_caps_are_assigned_in_exact_shares_by_the_seed() -> None:
    asked = Budget(100e3, 25, MIX, sockets=2)
    capped = [asked.capped(log(60), seed).to_polars()["cap_w"] for seed in (0, 0, 1)]
    counts = dict(capped[0].value_counts().rows())
    assert counts == {None: 30, 140.0: 20, 110.0: 10}
    assert capped[0].equals(capped[1])
    assert not capped[0].equals(capped[2])
    assert dict(asked.capped(log(7), 0).to_polars()["cap_w"].value_counts().rows()) == {None: 4, 140.0: 2, 110.0: 1}


def test_walltimes_grow_as_the_cap_slows_jobs() -> None:
    jobs = log(60, walltime_s=np.full(60, 100.0), power_w=np.full(60, 900.0), app=["a"] * 60)
    found = Budget(100e3, 25, MIX).capped(jobs, 0).to_polars()
    assert not {"power_w", "app"} & set(found.columns)
    assert set(found.select("cap_w", "walltime_s").rows()) == {(None, 100.0), (70.0, 134.0), (55.0, 201.0)}


def test_the_trial_measures_what_simulate_does() -> None:
    jobs = log()
    found = hs.provision(900, 25, MIX, nodes=[4, 8], sockets=2, workload=jobs, seeds=2, progress=None)
    assert found.runs is not None
    assert found.table is not None
    assert found.runs.select("nodes", "seed").rows() == [(4, 0), (4, 1), (8, 0), (8, 1)]
    asked = Budget(900.0, 25, MIX, sockets=2)
    for row in found.runs.iter_rows(named=True):
        result = hs.simulate(
            asked.capped(jobs, row["seed"]), asked.platform(row["nodes"]), asked.policy(), seed=row["seed"]
        )
        summary = result.summary()
        whole_j = 900 * summary["makespan_s"]
        assert row["mean_turnaround_s"] == summary["mean_turnaround_s"]
        assert row["idle_energy_j"] == summary["idle_energy_j"]
        assert row["power_utilization_ratio"] == summary["job_energy_j"] / whole_j
        assert row["drawn_ratio"] == summary["energy_j"] / whole_j <= 1 + 1e-9
        assert row["completed"] == 40
        assert summary["timeout"] == row["timeout"] == 0
        # Both sockets under the model: 170 W, 140 W at 4/3 of the time, 110 W at twice the time.
        told = result.jobs.select("cap_w", pl.col("mean_power_w") / pl.col("node_count"))
        assert {(cap_w, round(watts)) for cap_w, watts in told.rows()} <= {(None, 170), (140.0, 140), (110.0, 110)}
        stretch = result.jobs["runtime_s"] / result.jobs["nominal_runtime_s"]
        factors = result.jobs["cap_w"].replace_strict({None: 1.0, 140.0: 4 / 3, 110.0: 2.0})
        assert stretch.to_numpy() == pytest.approx(factors.to_numpy(), rel=1e-6)
    own = found.runs.filter(nodes=8)["mean_turnaround_s"].to_numpy()
    (mean, half_width) = found.table.filter(nodes=8, metric="mean_turnaround_s").select("mean", "half_width_95").row(0)
    assert (mean, half_width) == mean_and_half_width(own)


def test_jobs_that_need_more_nodes_than_there_are_are_reported() -> None:
    found = hs.provision(600, 25, MIX, nodes=[2, 4], workload=log(), progress=None)
    assert found.runs is not None
    rejected = found.runs["rejected"].to_list()
    assert rejected[0] > 0 == rejected[1]
    assert f"rejected, as they need more nodes or watts than there are: {rejected[0]} on 2 nodes" in found.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget_w": -1}, "budget_w: found `-1`, expected a number between 0 and 1e"),
        ({"base_w": math.nan}, "base_w: found `NaN`, expected a number"),
        ({"mix": {}}, "mix: found"),
        ({"mix": [85]}, "mix: found"),
        ({"mix": {85: 1, 70: 0}}, "mix: found `0` for `70`, expected a share above 0"),
        ({"mix": {85: 1, 70: -1}}, "mix: found `-1` for `70`, expected a share above 0"),
        ({"mix": {20: 1}}, "mix: found `20`, expected watts above base_w, 25"),
        ({"mix": {85: 1, 30: 1}}, "mix: found `30`, expected at least 37 W"),
        ({"nodes": [0]}, "nodes: found"),
        ({"nodes": [4, 4]}, "nodes: found `4`, expected each number of nodes once"),
        ({"nodes": [41]}, "budget_w: found 1000, below the base of 41 nodes, expected at least 1025 W: 41 CPUs"),
        ({"sockets": 0}, "sockets: found"),
        ({"workload": "log.swf"}, "workload: found `str`"),
        ({"workload": log(), "nodes": []}, "nodes: found none, expected the numbers of nodes"),
        ({"seeds": 0}, "seeds: found"),
        ({"progress": "dots"}, "progress: found"),
    ],
)
def test_what_is_invalid_is_refused(change: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"budget_w": 1000, "base_w": 25, "mix": MIX, "nodes": [10], **change}
    with pytest.raises(hs.ConfigError) as caught:
        hs.provision(**asked)
    assert message in str(caught.value)


def test_a_mix_is_read_from_text() -> None:
    assert parse_mix("85:3, 70:2,55:1") == MIX
    for text, message in [
        ("85", "found `85`, expected WATTS:SHARE"),
        ("85:3,,", "expected WATTS:SHARE"),
        ("85:3,85:1", "twice, expected each cap once"),
        ("85:inf", "expected finite numbers"),
    ]:
        with pytest.raises(hs.ConfigError, match=message):
            parse_mix(text)
