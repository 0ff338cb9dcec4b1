"""The same inputs and the same seed give the same bytes, alone or among other runs; another seed moves only chance."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.policy import PRESETS, parts
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning", "ignore::hetsched.errors.ReplayWarning")
POLICIES = {
    **{name: hs.Policy.preset(name) for name in PRESETS},
    **{f"{role}={name}": hs.Policy(**{role: name}) for role, name in parts()},
    "budget": hs.Policy.preset("vu-fcfs-b", pcr=0.7),
    "first runs": hs.Policy.preset("vahrm", pcr=0.8, first_run=True),
}


def busy_week(seed: int = 5, jobs: int = 1_000, nodes: int = 48) -> tuple[hs.Workload, hs.Platform]:
    """A load of about one on nodes that differ, with everything a workload can say."""
    rng = np.random.default_rng(seed)
    runtime = np.ceil(rng.lognormal(6.0, 1.5, jobs))
    size = 2 ** rng.integers(0, 5, jobs)
    submit = np.sort(np.floor(rng.uniform(0, (runtime * size).sum() / nodes, jobs)))
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": submit,
            "observed_start_s": submit + np.random.default_rng(6).integers(0, 1_000, jobs),
            "runtime_s": runtime,
            "node_count": size,
            "walltime_s": np.where(rng.random(jobs) < 0.8, np.ceil(runtime * rng.uniform(0.9, 6.0, jobs)), 0.0),
            "app": rng.choice(["heat", "flow"], jobs),
            "device": rng.choice(["cpu", "gpu"], jobs),
        }
    )
    table = hs.VariationTable(
        ["heat", "flow"],
        power_w=rng.uniform(80.0, 400.0, (2, nodes)),
        time_ratio=rng.uniform(0.9, 1.2, (2, nodes)),
    )
    sleep = {"off_w": 10.0, "boot_s": 120.0, "shutdown_s": 60.0}
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=rng.uniform(60.0, 100.0, nodes), tdp_w=400.0, **sleep)
    return hs.Workload.from_polars(frame), platform.with_tables(actual=table)


def bytes_of(result: hs.Result, folder: Path) -> dict[str, bytes]:
    """Files of a result, without what its run took."""
    result.write(folder, csv=True)
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    summary = json.loads(contents["summary.json"])
    assert set(summary.pop("timing")) == {"wall_s", "jobs_per_s"}
    return {**contents, "summary.json": json.dumps(summary).encode()}


@pytest.mark.parametrize("name", POLICIES)
def test_one_thread_and_four_write_the_same_bytes(name: str, tmp_path: Path) -> None:
    # `newsvendor` weighs every gap of every node at each pass.
    workload, platform = busy_week(jobs=300 if name == "sleep=newsvendor" else 1_000)

    def run(number: int) -> dict[str, bytes]:
        return bytes_of(hs.simulate(workload, platform, POLICIES[name], seed=7), tmp_path / str(number))

    alone = run(0)
    with ThreadPoolExecutor(max_workers=4) as pool:
        together = list(pool.map(run, range(1, 5)))
    files = {"jobs.csv", "jobs.parquet", "nodes.parquet", "summary.json", "timeline.parquet"}
    assert files <= set(alone) <= files | {"segments.parquet", "events.parquet"}
    for other in together:
        differing = [file for file in alone if alone[file] != other[file]]
        assert not differing


@given(workloads(max_slots=3), platforms(max_slots=3), policies())
def test_twice_is_the_same(workload: hs.Workload, platform: hs.Platform, policy: hs.Policy) -> None:
    assert hs.simulate(workload, platform, policy, seed=3) == hs.simulate(workload, platform, policy, seed=3)


def test_a_seed_moves_what_draws_lots_and_nothing_else() -> None:
    workload, platform = busy_week(jobs=400)
    for name, policy in POLICIES.items():
        one, other = (hs.simulate(workload, platform, policy, seed=seed).jobs for seed in (1, 2))
        assert one["nodes"].equals(other["nodes"]) != policy.uses_chance, name


def test_random_placement_uses_every_node_alike() -> None:
    # 4,000 single jobs, one at a time, on 8 nodes: 500 expected on each, standard deviation about 21.
    count = 4_000
    frame = pl.DataFrame(
        {
            "job_id": np.arange(count),
            "submit_s": np.arange(count) * 10.0,
            "runtime_s": [5.0] * count,
            "node_count": [1] * count,
        }
    )
    platform = hs.Platform.homogeneous(nodes=8, idle_w=50.0, tdp_w=100.0)
    nodes = hs.simulate(hs.Workload.from_polars(frame), platform, "random", seed=11).nodes
    assert ((nodes["busy_s"] / 5.0).is_between(400, 600)).all()
