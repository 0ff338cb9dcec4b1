"""The trial of a provision: a log on every number of nodes, under the budget, with the caps of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import polars as pl

from hetsched.many.many import RunTask, on_threads
from hetsched.many.progress import Told
from hetsched.provisioning.budget import Budget
from hetsched.report.provisions import METRICS
from hetsched.run.options import RunOptions
from hetsched.run.result import Result
from hetsched.run.simulation import Run, run_of
from hetsched.workload import Workload


def tried(
    asked: Budget, workload: Workload, nodes: Sequence[int], seeds: Sequence[int], progress: Told
) -> pl.DataFrame:
    """Every number of nodes with the caps of every seed."""
    dealt = {seed: asked.dealt(workload, seed) for seed in seeds}
    platforms = {count: asked.platform(count) for count in nodes}
    policy = asked.policy()
    tasks = [
        _trial(count, seed, asked.budget_w, run_of(jobs, platforms[count], policy, RunOptions(seed=seed)))
        for count in nodes
        for seed, jobs in dealt.items()
    ]
    with closing(on_threads(tasks, progress)) as answers:
        found = {task.key: row for task, row in answers}
    return pl.DataFrame([found[task.key] for task in tasks], infer_schema_length=None)


def _trial(nodes: int, seed: int, budget_w: float, run: Run) -> RunTask:
    """A run on one number of nodes with the caps of one seed."""
    names = {"nodes": nodes, "seed": seed}
    title = f"{nodes:,} nodes, seed {seed}"
    return RunTask(f"{nodes} {seed}", names, run, lambda result: {**names, **_measures(result, budget_w)}, title)


def _measures(result: Result, budget_w: float) -> dict[str, Any]:
    summary = result.summary()
    whole_j = budget_w * summary["makespan_s"]
    shares = {
        "power_utilization_ratio": summary["job_energy_j"] / whole_j if whole_j else 0.0,
        "drawn_ratio": summary["energy_j"] / whole_j if whole_j else 0.0,
    }
    states = ("completed", "timeout", "rejected", "pending")
    return {
        **{key: shares[key] if key in shares else summary[key] for key in METRICS},
        **{key: summary[key] for key in states},
    }
