"""Boots, energy and waits of `plan` with nodes that sleep: ``python benches/python/plan_sleep.py [SEEDS]``.

300 jobs of 1 to 16 nodes on 64 nodes; walltimes are runtimes, or half as long again. Means over the seeds.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import polars as pl

import hetsched as hs

NODES, JOBS = 64, 300
POLICIES = {
    "plan, no sleep": hs.Policy("fcfs", "plan"),
    "plan": hs.Policy("fcfs", "plan", sleep="planned"),
    "EASY": hs.Policy("fcfs", {"name": "reservations", "depth": 1}, sleep="planned"),
}


def workload(load: float, over: float, seed: int) -> hs.Workload:
    """Jobs at a load, with walltimes `over` times their runtimes."""
    rng = np.random.default_rng(seed)
    size, run = 2 ** rng.integers(0, 5, JOBS), np.ceil(rng.exponential(3000, JOBS))
    gaps = rng.exponential((size * run).mean() / NODES / load, JOBS)
    columns = {"submit_s": np.floor(np.cumsum(gaps)), "runtime_s": run, "walltime_s": run * over, "node_count": size}
    return hs.Workload.from_polars(pl.DataFrame({"job_id": range(1, JOBS + 1), **columns}))


def in_vain(result: hs.Result) -> int:
    """Number of boots after which the node served no job before it went to sleep again."""
    rank = {"wake": 0, "serve": 1, "sleep": 2}
    steps = result.events.filter(pl.col("kind").is_in(["wake", "sleep"])).select("time_s", "kind", "node")
    served = result.jobs.select(pl.col("start_s").alias("time_s"), pl.lit("serve").alias("kind"), node="nodes")
    served = served.explode("node").with_columns(pl.col("node").cast(steps["node"].dtype))
    both = pl.concat([steps, served]).sort("node", "time_s", pl.col("kind").replace_strict(rank))
    following = pl.col("kind").shift(-1).over("node")
    return both.filter(pl.col("kind") == "wake", following == "sleep").height


def measure(name: str, load: float, boot_s: float, over: float, seeds: int) -> list[float]:
    """Boots, boots in vain, energy in GJ, mean wait in s."""
    rows = []
    for seed in range(seeds):
        machine = hs.Platform.homogeneous(
            NODES, idle_w=600, tdp_w=2100, boot_s=boot_s, shutdown_s=boot_s, boot_w=600, shutdown_w=600, off_w=10
        )
        result = hs.simulate(workload(load, over, seed), machine, POLICIES[name])
        wait = (result.jobs["start_s"] - result.jobs["submit_s"]).mean()
        rows.append([result.nodes["boots"].sum(), in_vain(result), result.summary()["energy_j"] / 1e9, wait])
    return np.mean(np.array(rows, dtype=float), axis=0).tolist()


def main() -> None:
    """The table."""
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("| walltimes | load | boot, s | policy | boots | in vain | energy, GJ | mean wait, s |")
    print("|---|---|---|---|---|---|---|---|")
    for over in (1.0, 1.5):
        for load in (0.5, 0.8, 0.95):
            for boot_s in (1, 10, 60, 300, 600):
                for name in POLICIES:
                    boots, vain, energy, wait = measure(name, load, boot_s, over, seeds)
                    numbers = f"{boots:,.0f} | {vain:.1f} | {energy:.2f} | {wait:,.0f}"
                    print(f"| {over} | {load} | {boot_s} | {name} | {numbers} |")


if __name__ == "__main__":
    main()
