"""Cost of a machine that is run day by day: ``python benches/python/machine_day.py [--quick]``.

Six weeks of AOBA under `nqsv`; a plan of named nodes for four queues that overlap; a year of a large machine whose idle
nodes are switched off; and a thousand failures a day next to none. CPU seconds of the run and its frames. Speed never
fails this program.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from rich import box
from rich.table import Table

import hetsched as hs
import measure
import rounds
import traces
from table import console

DAY_S = 86_400.0
IDLE_W, TDP_W = 200.0, 400.0


@dataclass(frozen=True)
class Run:
    """Jobs on a machine under a policy, and what happens to it."""

    workload: hs.Workload
    platform: hs.Platform
    policy: str | hs.Policy
    events: hs.Events | None = None


@dataclass(frozen=True)
class Work:
    """A run, perhaps next to another whose time it is a ratio of, and what it should take."""

    name: str
    reach: str
    make: Callable[[bool], Run]
    base: Callable[[bool], Run] | None = None


def aoba(_quick: bool) -> Run:
    """10,000 jobs in 42 days on 72 nodes of eight slots."""
    return Run(hs.workload.aoba(period="off", seed=0), hs.Platform.shipped("aoba"), "nqsv")


def four_queues(quick: bool) -> Run:
    """100,000 jobs on 1,000 nodes whose queues overlap, at 95 % of what these can do."""
    jobs, nodes = 1_000 if quick else 100_000, 1_000
    rng = np.random.Generator(np.random.PCG64(2))
    runtime_s = np.clip(np.exp(rng.normal(7.0, 1.6, jobs)), 1.0, DAY_S).round()
    node_count = 2 ** rng.integers(0, 8, jobs)
    span_s = float((runtime_s * node_count).sum()) / (0.95 * nodes)
    frame = {
        "job_id": np.arange(jobs),
        "submit_s": np.sort(rng.uniform(0.0, span_s, jobs)).round(),
        "runtime_s": runtime_s,
        "walltime_s": (runtime_s * rng.uniform(1.0, 5.0, jobs)).round() + 1.0,
        "node_count": node_count,
        "queue": rng.choice(list("abcd"), jobs),
    }
    spans = {"a": "0-999", "b": "0-699", "c": "300-999", "d": "200-799"}
    queues = [hs.Queue(name, span, priority=int(name == "d")) for name, span in spans.items()]
    platform = hs.Platform.homogeneous(nodes, IDLE_W, TDP_W, queues=queues)
    return Run(
        hs.Workload.from_polars(pl.DataFrame(frame)), platform, hs.Policy("fcfs", {"name": "plan", "depth": 100})
    )


def large(quick: bool) -> Run:
    """A million jobs on 10,000 nodes, each with draws of its own, that sleep when they have idled for a while."""
    trace = traces.Trace(2_000, 0.8, 540) if quick else traces.Trace(1_000_000, 0.8, 10_000)
    rng = np.random.Generator(np.random.PCG64(1))
    apps = [str(app) for app in range(1, traces.APPS + 1)]
    watts = 300.0 * np.linspace(0.8, 1.2, len(apps))[:, None] * rng.normal(1.0, 0.06, (len(apps), trace.nodes))
    platform = hs.Platform.homogeneous(trace.nodes, IDLE_W, TDP_W, boot_s=60, shutdown_s=120, off_w=0)
    table = hs.VariationTable(apps, power_w=watts)
    return Run(hs.read_swf(traces.made(trace)), platform.with_tables(actual=table), "easy:sleep=timeout")


def steady(quick: bool, *, fail: bool) -> Run:
    """A million jobs on 10,000 nodes; where these fail, 1,000 times a day, each for a minute."""
    trace = traces.Trace(2_000, 0.8, 540) if quick else traces.Trace(1_000_000, 0.8, 10_000)
    workload, platform = hs.read_swf(traces.made(trace)), hs.Platform.homogeneous(trace.nodes, IDLE_W, TDP_W)
    span_s = float(workload.to_polars()["submit_s"].to_numpy().max())
    mtbf_s = trace.nodes * DAY_S / 1_000
    events = hs.failures(platform, mtbf_s=mtbf_s, repair_s=60.0, seed=0, until_s=span_s) if fail else None
    return Run(workload, platform, "easy", events)


WORKS = (
    Work("AOBA, six weeks, nqsv", "0.2 s", aoba),
    Work("four overlapping queues, plan of depth 100", "20 s", four_queues),
    Work("1M jobs, 10,000 nodes, easy:sleep=timeout", "4 s, 700 MB", large),
    Work(
        "1,000 failures a day",
        "1.1 x none",
        lambda quick: steady(quick, fail=True),
        lambda quick: steady(quick, fail=False),
    ),
)


def seconds(run: Run) -> float:
    """CPU seconds of a run, its frames and summary included."""
    begun = time.process_time()
    result = hs.simulate(run.workload, run.platform, run.policy, events=run.events)
    _ = (result.jobs, result.timeline, result.nodes, result.summary())
    return time.process_time() - begun


def measured(number: int, quick: bool, repeat: int) -> dict[str, Any]:
    """Medians of a work, of its base in turn with it, and peak memory."""
    warnings.simplefilter("ignore")
    work = WORKS[number]
    run, base = work.make(quick), work.base and work.base(quick)
    found = [(base and seconds(base), seconds(run)) for _ in range(repeat)]
    ratios = [this / other for other, this in found if other]
    return {
        "jobs": len(run.workload),
        "cpu_s": statistics.median(this for _, this in found),
        "ratio": statistics.median(ratios) if ratios else None,
        "peak_mb": measure.peak_bytes() / 2**20,
    }


def main() -> None:
    """Measures, and prints a table."""
    parser = rounds.options("Measure machines that are run day by day.")
    parser.add_argument("--only", default="", metavar="TEXT", help="works with this in their names")
    chosen = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("work")
    for name in ("jobs", "CPU s", "ratio", "peak\nMB", "reach"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, work in enumerate(WORKS):
        if chosen.only not in work.name:
            continue
        with multiprocessing.get_context("spawn").Pool(1) as child:
            found = child.apply(measured, (number, chosen.quick, rounds.count(chosen)))
        ratio = "" if found["ratio"] is None else f"{found['ratio']:.2f}"
        numbers = (f"{found['jobs']:,}", f"{found['cpu_s']:.2f}", ratio, f"{found['peak_mb']:,.0f}")
        table.add_row(work.name, *numbers, work.reach)
    console().print(table)


if __name__ == "__main__":
    main()
