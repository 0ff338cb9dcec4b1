"""Runs of the engine that show the compiler which ways are taken: the training of a build that is optimised by profile.

    python tools/train_extension.py

`make optimised-wheel` builds the extension twice: with counters, under which these runs are made, and then with what
they counted. The logs are drawn here, by seeds, sizes and loads of their own: those of the benches are not among them.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import hetsched as hs

SEED = 20_261_127
IDLE_W, TDP_W = 90.0, 350.0
APPS = ("cfd", "md", "ml", "qc")
QUEUES = {"all": "0-799", "low": "0-599", "high": "250-799", "middle": "150-649"}


class Logs:
    """Logs of jobs with lognormal runtimes on a power of two of nodes, one after the other from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.Generator(np.random.PCG64(seed))

    def drawn(self, jobs: int, nodes: int, load: float, *, at_once: bool = False) -> hs.Workload:
        """Jobs at a load, submitted over time or at one instant; walltimes are up to four times the runtime."""
        rng = self.rng
        node_count = 2 ** rng.integers(0, 8, jobs)
        runtime_s = np.clip(rng.lognormal(7.5, 1.5, jobs), 10.0, 86_400.0)
        span_s = 0.0 if at_once else float((node_count * runtime_s).sum()) / (load * nodes)
        frame = {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.uniform(0.0, span_s, jobs)),
            "runtime_s": runtime_s,
            "walltime_s": np.ceil(runtime_s * rng.uniform(1.0, 4.0, jobs) / 60.0) * 60.0,
            "node_count": node_count,
            "app": rng.choice(APPS, jobs),
            "queue": rng.choice(list(QUEUES), jobs),
        }
        return hs.Workload.from_polars(pl.DataFrame(frame))


def run(workload: hs.Workload, platform: hs.Platform, *policies: str | hs.Policy) -> None:
    """Schedules the jobs under each policy, and makes all frames."""
    for policy in policies:
        result = hs.simulate(workload, platform, policy)
        _ = (result.jobs, result.timeline, result.nodes, result.summary())


def without_queues(workload: hs.Workload) -> hs.Workload:
    """The same jobs for a machine without queues."""
    return hs.Workload.from_polars(workload.to_polars().drop("queue"))


def differing(nodes: int, rng: np.random.Generator) -> hs.Platform:
    """Nodes with draws of their own for each application, which can be switched off."""
    platform = hs.Platform.homogeneous(nodes, IDLE_W, TDP_W, boot_s=150.0, shutdown_s=90.0, off_w=8.0)
    watts = 250.0 * np.linspace(0.8, 1.2, len(APPS))[:, None] * rng.normal(1.0, 0.06, (len(APPS), nodes))
    return platform.with_tables(actual=hs.VariationTable(list(APPS), power_w=watts))


def read_and_backfill(logs: Logs) -> None:
    """Logs from the disk on equal nodes: the commonest use."""
    with tempfile.TemporaryDirectory() as folder:
        for load in (0.75, 0.95):
            path = Path(folder) / "log.swf"
            without_queues(logs.drawn(150_000, 640, load)).write(path)
            run(hs.read_swf(path), hs.Platform.homogeneous(640, IDLE_W, TDP_W), "fcfs", "easy")


def long_queues(logs: Logs) -> None:
    """Queues that grow, with reservations for one job and for all."""
    platform = hs.Platform.homogeneous(800, IDLE_W, TDP_W)
    run(without_queues(logs.drawn(60_000, 800, 1.0, at_once=True)), platform, "easy", "conservative")
    run(without_queues(logs.drawn(25_000, 800, 1.15)), platform, "conservative", "fair-share")


def power_and_sleep(logs: Logs) -> None:
    """Nodes that differ: placement by power, budgets, and idle nodes that are switched off."""
    platform = differing(3_000, logs.rng)
    under_budget = hs.Policy("fcfs", "reservations", power={"name": "system-budget", "budget_w": 3_000 * 225.0})
    jobs = without_queues(logs.drawn(60_000, 3_000, 0.85))
    run(jobs, platform, "easy:placement=lowest-power", under_budget, "easy:sleep=timeout", "easy:sleep=newsvendor")


def named_plans(logs: Logs) -> None:
    """Plans of named nodes for queues that share some of them, and Slurm's loops."""
    spans = [hs.Queue(name, nodes) for name, nodes in QUEUES.items()]
    platform = hs.Platform.homogeneous(800, IDLE_W, TDP_W, queues=spans)
    plan = hs.Policy("fcfs", {"name": "plan", "depth": 60})
    run(logs.drawn(30_000, 800, 0.9), platform, plan, "easy")
    run(without_queues(logs.drawn(5_000, 800, 0.85)), hs.Platform.homogeneous(800, IDLE_W, TDP_W), plan, "slurm")


def main() -> None:
    """Makes all runs."""
    warnings.simplefilter("ignore")
    logs = Logs(SEED)
    for work in (read_and_backfill, long_queues, power_and_sleep, named_plans):
        work(logs)


if __name__ == "__main__":
    main()
