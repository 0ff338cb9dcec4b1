"""Works that cost much more than their jobs: ``python benches/python/cliffs.py [NAME...] [--quick]``.

Each is a trace under a policy, in turn with the same trace under plain EASY on a plain machine; the ratio of CPU
seconds is taken round by round, and the median of the rounds counts. NAME is part of a work's name. Speed never fails
this program.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import hetsched as hs
import rounds
from table import console

IDLE_W, BUSY_W, TDP_W = 100.0, 300.0, 400.0
EASY = hs.Policy("fcfs", {"name": "reservations", "depth": 1})
CONSERVATIVE = hs.Policy("fcfs", {"name": "reservations", "depth": "unbounded"})


@dataclass(frozen=True)
class Run:
    """Jobs on a machine under a policy, with what happens to it."""

    workload: hs.Workload
    platform: hs.Platform
    policy: hs.Policy
    events: hs.Events | None = None

    def seconds(self) -> float:
        """CPU seconds that it takes."""
        begun = time.process_time()
        hs.simulate(self.workload, self.platform, self.policy, events=self.events)
        return time.process_time() - begun


@dataclass(frozen=True)
class Case:
    """A work: what it is called, its run for a number of jobs, how many of them, and what it should take."""

    name: str
    make: Callable[[int], Run]
    jobs: int
    reach: str


def jobs(count: int, nodes: int, load: float | None = None, **columns: Any) -> hs.Workload:
    """Jobs of up to a quarter of the nodes, all submitted at 0 or at a load; `columns` are values, or drawn."""
    rng = np.random.default_rng(0)
    size = np.minimum(nodes, 2 ** rng.integers(0, max(1, int(np.log2(nodes)) - 1), count))
    run = np.ceil(rng.exponential(3000, count))
    gaps = np.zeros(count) if load is None else rng.exponential((size * run).mean() / nodes / load, count)
    drawn = {
        "job_id": np.arange(1, count + 1),
        "submit_s": np.floor(np.cumsum(gaps)),
        "runtime_s": run,
        "walltime_s": np.ceil(run * rng.choice([1, 1.5, 3], count)),
        "node_count": size,
        "app": [f"a{app}" for app in rng.integers(0, 3, count)],
    }
    more = {name: value(rng) if callable(value) else [value] * count for name, value in columns.items()}
    return hs.Workload.from_polars(pl.DataFrame(drawn | more, strict=False))


def machine(nodes: int, **more: Any) -> hs.Platform:
    """Nodes that are all alike."""
    return hs.Platform.homogeneous(nodes=nodes, idle_w=IDLE_W, tdp_w=TDP_W, busy_w=BUSY_W, **more)


def plain(run: Run) -> Run:
    """The same jobs without anything beyond nodes and lengths, under EASY, on as many nodes that are all alike."""
    names = ["job_id", "submit_s", "runtime_s", "walltime_s", "node_count", "app"]
    return Run(hs.Workload.from_polars(run.workload.to_polars().select(names)), machine(len(run.platform)), EASY)


def one_array(count: int) -> Run:
    """An array of which three may run at once."""
    return Run(jobs(count, 64, array_id=1, array_limit=3), machine(64), EASY)


def one_queue(count: int) -> Run:
    """A queue of which three may run at once."""
    queue = hs.Queue("q", range(64), max_running=3)
    return Run(jobs(count, 64, queue="q"), machine(64, queues=[queue]), EASY)


def waking(count: int) -> Run:
    """Nodes that are put to sleep at once, and a deep queue."""
    slow = machine(256, boot_s=60, shutdown_s=120, off_w=0)
    policy = hs.Policy("fcfs", {"name": "reservations", "depth": 1}, sleep="planned")
    return Run(jobs(count, 256), slow, policy)


def maintenance(count: int) -> Run:
    """Short jobs among so many windows of maintenance, all known from the start."""
    short = (
        jobs(1000, 64, load=0.5)
        .to_polars()
        .with_columns(runtime_s=pl.lit(30.0), walltime_s=pl.lit(60.0), submit_s=pl.col("submit_s") / 100)
    )
    rng = np.random.default_rng(2)
    at = np.sort(rng.uniform(0, float(short["submit_s"][-1]), count))
    out = {"time_s": at, "kind": ["maintenance"] * count, "node": rng.integers(0, 64, count), "until_s": at + 5}
    events = hs.Events.from_polars(pl.DataFrame(out))
    return Run(hs.Workload.from_polars(short), machine(64), hs.Policy("fcfs", {"name": "plan"}), events)


def _log(count: int, nodes: int, load: float) -> hs.Workload:
    """Jobs of log-normal lengths, of up to a quarter of the nodes, that end before their walltimes."""
    rng = np.random.default_rng(1)
    steps = int(np.log2(nodes / 4))
    weights = 0.71 ** np.arange(steps + 1)
    size = 2 ** rng.choice(steps + 1, count, p=weights / weights.sum())
    run = np.ceil(1200 * np.exp(1.48 * rng.standard_normal(count)))
    gaps = rng.exponential((size * run).mean() / nodes / load, count)
    drawn = {
        "job_id": np.arange(1, count + 1),
        "submit_s": np.floor(np.cumsum(gaps)),
        "runtime_s": run,
        "walltime_s": np.ceil(run * rng.uniform(1, 5, count)),
        "node_count": size,
        "app": ["a"] * count,
    }
    return hs.Workload.from_polars(pl.DataFrame(drawn))


def reserve(count: int) -> Run:
    """A large machine that keeps a reserve of idle nodes."""
    slow = machine(10_000, boot_s=60, shutdown_s=120, off_w=0)
    policy = hs.Policy("fcfs", {"name": "reservations", "depth": 1}, sleep="newsvendor")
    return Run(_log(count, 10_000, 0.8), slow, policy)


def early_ends(count: int) -> Run:
    """Conservative backfilling of a queue that grows, where jobs end before their walltimes."""
    return Run(_log(count, 1000, 1.2), machine(1000), CONSERVATIVE)


def budgets_by_the_hour(count: int, high_w: float, low_w: float) -> Run:
    """Caps that slow all jobs alike under budgets that change every hour, W a node."""
    workload, nodes = jobs(count, 1_000, 0.8), 1_000
    hours = np.arange(0, float(workload.to_polars()["submit_s"].max()) + 1, 3600.0)
    levels = nodes * np.where(np.arange(len(hours)) % 2 == 0, high_w, low_w)
    events = hs.Events.from_polars(pl.DataFrame({"time_s": hours, "kind": "budget", "value": levels}))
    power = {"name": "system-budget", "allocator": "equal-slowdown"}
    platform = machine(nodes).with_cap_model(static_w=100, exponent=2.0, bound_ratio=0.5)
    return Run(workload, platform, hs.Policy("fcfs", {"name": "reservations", "depth": 1}, power=power), events)


def sixteen_kinds(count: int, **more: Any) -> Run:
    """Nodes of sixteen kinds; two thirds of the jobs ask for one of them."""
    kinds = range(16)
    node = {"count": 16, "idle_w": IDLE_W, "tdp_w": TDP_W, "busy_w": BUSY_W}
    classes = [hs.NodeClass(f"c{kind}", features=[f"f{kind}"], **node) for kind in kinds]
    constraint = lambda rng: [f"f{x}" if x < 16 else None for x in rng.integers(0, 24, count)]  # noqa: E731
    return Run(jobs(count, 16, constraint=constraint, **more), hs.Platform(classes, licences={"m": 20}), CONSERVATIVE)


def sixteen_kinds_and_licences(count: int) -> Run:
    """The same; a third of the jobs hold one of twenty licences."""
    return sixteen_kinds(count, licences=lambda rng: ["m:1" if x < 0.3 else None for x in rng.random(count)])


CASES = [
    Case("array, limit 3", one_array, 8_000, "≤ 0.3 s"),
    Case("queue, limit 3", one_queue, 8_000, "≤ 0.3 s"),
    Case("sleep planned, all at once", waking, 16_000, "≤ 2 s"),
    Case("plan, windows of maintenance", maintenance, 8_000, "≤ 1 s"),
    Case("newsvendor, 10,000 nodes", reserve, 1_000_000, "≤ 8 s"),
    Case("conservative, early ends", early_ends, 100_000, "≤ 8 s"),
    Case(
        "equal-slowdown, hourly, seldom binds",
        partial(budgets_by_the_hour, high_w=330.0, low_w=290.0),
        100_000,
        "≤ 1 s",
    ),
    Case("equal-slowdown, hourly, binds", partial(budgets_by_the_hour, high_w=230.0, low_w=200.0), 10_000, ""),
    Case("16 kinds, conservative", sixteen_kinds, 2_000, "≤ 1 s"),
    Case("the same, licences", sixteen_kinds_and_licences, 2_000, "≤ 1 s"),
]


def main() -> None:
    """Measures, and prints a table."""
    parser = rounds.options("Measure works that have a cliff against plain EASY.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of works' names (all)")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    table = rounds.table_of("jobs", "easy\nCPU s", "this\nCPU s", "ratio", "reach")
    for case in CASES:
        if chosen.names and not any(name in case.name for name in chosen.names):
            continue
        run = case.make(case.jobs // 20 if chosen.quick else case.jobs)
        base = plain(run).seconds
        base()
        easy, this, ratio = rounds.in_turn(base, run.seconds, rounds.count(chosen))
        size = f"{len(run.workload):,}"
        table.add_row(case.name, size, f"{easy:.2f}", f"{this:.2f}", f"{ratio:.1f}", case.reach)
    console().print(table)


if __name__ == "__main__":
    main()
