"""The trial of a provision: a log on every number of nodes, under the budget, with the caps of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import polars as pl

from hetsched.many.many import many
from hetsched.many.progress import Bars
from hetsched.provisioning.budget import Budget
from hetsched.report.provisions import METRICS
from hetsched.run.memory import most_at_once
from hetsched.run.options import RunOptions
from hetsched.run.result import Result
from hetsched.run.simulation import Progress, Run, run_of
from hetsched.threads import threads
from hetsched.workload import Workload


def tried(
    asked: Budget, workload: Workload, nodes: Sequence[int], seeds: Sequence[int], *, is_shown: bool
) -> pl.DataFrame:
    """Every number of nodes with the caps of every seed."""
    dealt = {seed: asked.dealt(workload, seed) for seed in seeds}
    platforms = {count: asked.platform(count) for count in nodes}
    policy = asked.policy()
    # Made here, so that threads don't make them twice.
    _ = [own.columns for own in dealt.values()], [own.machine for own in platforms.values()]
    with Bars(shown=is_shown) as bars:
        tasks = [
            _Trial(
                count,
                asked.budget_w,
                run_of(jobs, platforms[count], policy, RunOptions(seed=seed)),
                bars.bar(f"{count:,} nodes, seed {seed}", unit="jobs"),
            )
            for count in nodes
            for seed, jobs in dealt.items()
        ]
        found: dict[str, dict[str, Any]] = {}
        count = min(len(tasks), most_at_once(list(dealt.values()), list(platforms.values()), in_processes=False))
        with threads(count, stop=bars.stop) as executor, closing(many(tasks, executor=executor)) as answers:
            found.update((task.key, row) for task, row in answers)
    return pl.DataFrame([found[task.key] for task in tasks], infer_schema_length=None)


@dataclass(frozen=True)
class _Trial:
    """A run on one number of nodes with the caps of one seed."""

    nodes: int
    budget_w: float
    run: Run
    tell: Progress

    @property
    def key(self) -> str:
        return f"{self.nodes} {self.run.options.seed}"

    @property
    def names(self) -> dict[str, Any]:
        return {"nodes": self.nodes, "seed": self.run.options.seed}

    def execute(self) -> dict[str, Any]:
        """The row of it."""
        result = self.run.execute(self.tell)
        self.tell(1, 1, 0.0)
        return {**self.names, **_measures(result, self.budget_w)}


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
