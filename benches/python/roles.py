"""Cost of parts in Python beyond their own work: ``python benches/python/roles.py [--quick]``.

Each part does next to nothing, and stands next to the named part that does the same. CPU seconds, the two in turn; the
median of the rounds counts. The part's own work is measured by itself, on as many calls, and left out. Speed never
fails this program; a schedule that differs from the named part's does.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import hetsched as hs
import rounds
from table import console

ZEROS = np.zeros(1_000_000)


class Empty:
    """An order that is none."""

    def rank(self, jobs: Any, view: Any) -> Any:
        return ZEROS[: len(jobs)]


class Lowest:
    """The free nodes of lowest number."""

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        return free[: job.node_count]


@dataclass(frozen=True)
class Work:
    """A log under two policies, and by what the difference is counted."""

    name: str
    workload: hs.Workload
    platform: hs.Platform
    named: hs.Policy
    own: hs.Policy
    calls: int
    unit: str
    units: int
    own_work: Callable[[], Any]
    reach: str

    def seconds(self, policy: hs.Policy) -> float:
        """CPU seconds of a run."""
        begun = time.process_time()
        result = hs.simulate(self.workload, self.platform, policy)
        spent = time.process_time() - begun
        assert result.summary()["completed"] == len(self.workload)
        return spent

    def check(self) -> None:
        """The two make the same schedule."""
        one, other = (hs.simulate(self.workload, self.platform, policy) for policy in (self.named, self.own))
        assert one.jobs.equals(other.jobs), f"{self.name}: the schedules differ"

    def own_seconds(self) -> float:
        """CPU seconds of the part's own work."""
        begun = time.process_time()
        for _ in range(self.calls):
            self.own_work()
        return time.process_time() - begun


def log(jobs: int, together: int) -> hs.Workload:
    """Jobs of one node and ten seconds; so many at one instant, a minute apart."""
    numbers = np.arange(jobs)
    frame = {"job_id": numbers, "submit_s": numbers // together * 60.0, "runtime_s": np.full(jobs, 10.0)}
    return hs.Workload.from_polars(pl.DataFrame({**frame, "node_count": np.ones(jobs, dtype=np.int64)}))


@dataclass(frozen=True)
class One:
    """Stands for a job."""

    node_count: int = 1


def works(*, quick: bool) -> Iterator[Work]:
    """Works that are measured."""
    jobs = 2_000 if quick else 200_000
    machine = hs.Platform.homogeneous(nodes=1_000, idle_w=100, tdp_w=300)
    fcfs, order = hs.Policy(), hs.Policy(order=Empty())
    one, empty = [None], Empty()
    alone, crowd = log(jobs, 1), log(jobs, 1_000)
    yield Work(
        *("empty order, a job a pass", alone, machine, fcfs, order),
        *(jobs, "pass", jobs, lambda: empty.rank(one, None), "≤ 20"),
    )
    many = [None] * 1_000
    yield Work(
        *("empty order, 1,000 jobs a pass", crowd, machine, fcfs, order),
        *(jobs // 1_000, "job", jobs, lambda: empty.rank(many, None), "≤ 2"),
    )
    for nodes in (100, 1_000, 10_000):
        platform, free, lowest, job = machine, np.arange(nodes), Lowest(), One()
        if nodes != 1_000:
            platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300)
        yield Work(
            *(f"lowest free node, {nodes:,} nodes", alone, platform, fcfs, hs.Policy(placement=lowest)),
            *(jobs, "start", jobs, lambda one=job, own=free, part=lowest: part.choose(one, own, None), "≤ 5"),
        )


def main() -> None:
    """Measures, and prints a table."""
    chosen = rounds.options("Measure what parts in Python cost beyond their own work.", repeat=5).parse_args()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    columns = ("jobs", "named\nCPU s", "own\nCPU s", "own work\nCPU s", "beyond it\nµs", "reach\nµs")
    table = rounds.table_of(*columns)
    for work in works(quick=chosen.quick):
        work.check()
        found = [
            (work.seconds(work.named), work.seconds(work.own), work.own_seconds()) for _ in range(rounds.count(chosen))
        ]
        named, own, itself = (statistics.median(of) for of in zip(*found, strict=True))
        beyond = statistics.median(other - base - work_s for base, other, work_s in found)
        cells = (f"{len(work.workload):,}", f"{named:.2f}", f"{own:.2f}", f"{itself:.2f}")
        table.add_row(work.name, *cells, f"{beyond / work.units * 1e6:.2f} a {work.unit}", work.reach)
    console().print(table)


if __name__ == "__main__":
    main()
