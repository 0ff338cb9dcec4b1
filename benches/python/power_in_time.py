"""Cost of power that changes in time: ``python benches/python/power_in_time.py [--quick]``.

A budget of 8,760 hours against a constant one, on a million jobs; and caps that change every minute for a thousand jobs
under way, a month of 100,000 jobs, against that month under a budget without caps. CPU seconds, the two in turn; the
median of the rounds counts. Speed never fails this program.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

import hetsched as hs
import rounds
import traces
from table import console

IDLE_W, TDP_W, SHARE_STATIC = 100.0, 400.0, 0.3
CAPS_W = (150.0, 170.0, 200.0, 230.0)
DAY_S = 86_400.0


@dataclass(frozen=True)
class Run:
    """Jobs on a machine under a policy, with budgets in time."""

    workload: hs.Workload
    platform: hs.Platform
    policy: hs.Policy
    events: hs.Events

    def seconds(self) -> float:
        """CPU seconds that it takes."""
        begun = time.process_time()
        hs.simulate(self.workload, self.platform, self.policy, events=self.events)
        return time.process_time() - begun


@dataclass(frozen=True)
class Work:
    """Two runs of the same jobs, and what the second should take of the first's time or in all."""

    name: str
    base: Run
    this: Run
    reach: str


def budgets(time_s: np.ndarray, watts: np.ndarray) -> hs.Events:
    """A budget from each of some instants on."""
    return hs.Events.from_polars(pl.DataFrame({"time_s": time_s, "kind": "budget", "value": watts}))


def under(**power: object) -> hs.Policy:
    """EASY under a budget."""
    return hs.Policy("fcfs", "reservations", "lowest-id", power={"name": "system-budget", **power})


def hourly(*, quick: bool) -> Iterator[Work]:
    """Budgets by the hour."""
    nodes, jobs = 540, 2_000 if quick else 1_000_000
    workload = hs.read_swf(traces.made(traces.Trace(jobs, 0.8, nodes)))
    platform = hs.Platform.homogeneous(nodes, IDLE_W, TDP_W)
    span_s = float(workload.to_polars()["submit_s"].to_numpy().max())
    hours = np.arange(8_760)
    levels = np.where(hours % 24 < 12, 0.92, 0.88) * nodes * TDP_W
    constant, series = budgets(np.zeros(1), np.array([0.9 * nodes * TDP_W])), budgets(hours * span_s / 8_760, levels)
    for foresight_s in (0, 7_200):
        policy = under(foresight_s=foresight_s)
        base, this = (Run(workload, platform, policy, events) for events in (constant, series))
        yield Work(f"8,760 hours, foresight {foresight_s:,} s", base, this, "≤ 1.3")


def capped(*, quick: bool) -> Iterator[Work]:
    """Caps by the minute."""
    jobs, nodes = 1_000 if quick else 100_000, 1_100
    chance, span_s = np.random.default_rng(1), 30 * DAY_S * (jobs / 100_000)
    runtime_s = chance.exponential(24_700.0, jobs).round() + 1
    frame = {
        "job_id": np.arange(jobs),
        "submit_s": np.sort(chance.uniform(0, span_s, jobs)).round(),
        "runtime_s": runtime_s,
        "walltime_s": runtime_s * 2.5,
        "node_count": 1,
        "app": chance.choice(["a", "b", "c"], jobs),
    }
    workload = hs.Workload.from_polars(pl.DataFrame(frame))
    power_w = np.array([[200.0], [260.0], [300.0]]) + chance.normal(0, 10, (3, nodes))
    table = hs.VariationTable(["a", "b", "c"], power_w=power_w, time_ratio=np.ones((3, nodes)))
    tables = {cap_w: table.under_cap(cap_w, static_ratio=SHARE_STATIC) for cap_w in CAPS_W} | {np.inf: table}
    platform = hs.Platform.homogeneous(nodes, IDLE_W, TDP_W)
    by_tables = platform.with_tables(actual=tables)
    by_model = platform.with_tables(actual=table).with_cap_model(static_ratio=SHARE_STATIC)
    minutes = np.arange(int(span_s // 60))
    events = budgets(minutes * 60.0, np.where(minutes % 2 == 0, 0.66, 0.8) * nodes * 270.0)
    base = Run(workload, by_tables, under(), events)
    for name, machine, allocator in (
        ("uniform", by_tables, "uniform"),
        ("equal-slowdown, tables", by_tables, "equal-slowdown"),
        ("equal-slowdown, model", by_model, "equal-slowdown"),
    ):
        policy = under(allocator=allocator, allocator_interval_s=60)
        yield Work(f"caps each minute, {name}", base, Run(workload, machine, policy, events), "≤ 5 s")


def main() -> None:
    """Measures, and prints a table."""
    chosen = rounds.options("Measure runs under power that changes in time.").parse_args()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    table = rounds.table_of("jobs", "base\nCPU s", "this\nCPU s", "ratio", "reach")
    for work in (*hourly(quick=chosen.quick), *capped(quick=chosen.quick)):
        base, this, ratio = rounds.in_turn(work.base.seconds, work.this.seconds, rounds.count(chosen))
        jobs = f"{len(work.this.workload):,}"
        table.add_row(work.name, jobs, f"{base:.2f}", f"{this:.2f}", f"{ratio:.2f}", work.reach)
    console().print(table)


if __name__ == "__main__":
    main()
