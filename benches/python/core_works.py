"""Works that show what the core costs, and one run of one of them: in a process of its own, see ``core.py``.

    python core_works.py '{"work": "budget, six applications", "side": "this", "quick": true}'

Jobs and machines are those of the benches that had them first, so that figures can be compared from table to table.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cliffs
import engine
import hetsched as hs
import machine_day
import measure
import scale
import traces

__all__ = ["MACHINE", "WORKS", "Work", "digest"]

MACHINE = (200.0, 400.0)
"""Idle and busy watts of each node where the C++ program runs, too."""


@dataclass(frozen=True)
class Run:
    """Jobs on a machine under a policy; jobs are a log that is yet to be read, or made before the clock starts."""

    jobs: Path | hs.Workload
    platform: hs.Platform
    policy: str | hs.Policy


@dataclass(frozen=True)
class Work:
    """A run and what it is compared with.

    Parameters
    ----------
    name
        Its name in the table.
    reach
        The target.
    this
        Makes the run; smaller if asked for a quick one.
    base
        Makes what it is compared with; None: the C++ program with the same log, nodes and policy.
    base_name
        The base's name in the table.
    log
        A file of the data sets that it needs.
    trace
        The trace that it reads.
    large
        True if it is left out unless asked for.
    """

    name: str
    reach: str
    this: Callable[[bool], Run]
    base: Callable[[bool], Run] | None = None
    base_name: str = "EASY"
    log: str | None = None
    trace: traces.Trace | None = None
    large: bool = False

    def trace_of(self, quick: bool) -> traces.Trace | None:
        """The trace, a small one for a quick run."""
        return replace(self.trace, jobs=QUICK_JOBS, nodes=540) if quick and self.trace else self.trace


QUICK_JOBS = 2_000


def plain(trace: traces.Trace, policy: str) -> Callable[[bool], Run]:
    """Equal nodes and a trace from the disk."""

    def make(quick: bool) -> Run:
        used = replace(trace, jobs=QUICK_JOBS, nodes=540) if quick else trace
        return Run(traces.made(used), hs.Platform.homogeneous(used.nodes, *MACHINE), policy)

    return make


def at_once(policy: str, *, walltimes: bool = False) -> Callable[[bool], Run]:
    """Jobs of 1 to 64 nodes and a minute to a day, submitted at one instant; walltimes: up to five times as long."""

    def make(quick: bool) -> Run:
        count = QUICK_JOBS if quick else 1_000_000
        rng = np.random.Generator(np.random.PCG64(count))
        runtime_s = rng.integers(60, 86_400, count).astype(float)
        drawn = {
            "job_id": np.arange(count),
            "submit_s": np.zeros(count),
            "runtime_s": runtime_s,
            "node_count": rng.integers(1, 65, count),
        }
        if walltimes:
            drawn["walltime_s"] = np.ceil(runtime_s * rng.uniform(1, 5, count))
        return Run(hs.Workload.from_polars(pl.DataFrame(drawn)), scale.machine(1_000), policy)

    return make


def budget(node_w: float | None) -> Callable[[bool], Run]:
    """Six applications on 10,000 nodes; perhaps a budget, W a node."""

    def make(quick: bool) -> Run:
        used = replace(scale.MILLION, jobs=QUICK_JOBS, nodes=540) if quick else scale.MILLION
        policy = "easy" if node_w is None else scale.under(used.nodes * node_w)
        return Run(hs.read_swf(traces.made(used)), scale.machine(used.nodes, apps=traces.APPS), policy)

    return make


def sleeping(sleep: str | None) -> Callable[[bool], Run]:
    """Nodes with draws of their own that perhaps sleep."""

    def make(quick: bool) -> Run:
        run = machine_day.large(quick)
        return Run(run.workload, run.platform, "easy" if sleep is None else f"easy:sleep={sleep}")

    return make


def of_cliff(make: Callable[[int], cliffs.Run], jobs: int, *, as_easy: bool = False) -> Callable[[bool], Run]:
    """A run of ``cliffs.py``, or the same jobs under EASY on a plain machine."""

    def made(quick: bool) -> Run:
        run = make(QUICK_JOBS if quick else jobs)
        run = cliffs.plain(run) if as_easy else run
        return Run(run.workload, run.platform, run.policy)

    return made


def ricc(policy: str) -> Callable[[bool], Run]:
    """The log of RICC on its machine."""
    return lambda _: Run(hs.read_swf(scale.FOLDER / scale.RICC), scale.machine(8_192), policy)


def four_queues(*, as_easy: bool = False) -> Callable[[bool], Run]:
    """Queues that overlap and a plan of named nodes, or the same jobs under EASY on as many nodes without queues."""

    def make(quick: bool) -> Run:
        run = machine_day.four_queues(quick)
        if not as_easy:
            return Run(run.workload, run.platform, run.policy)
        jobs = hs.Workload.from_polars(run.workload.to_polars().drop("queue"))
        return Run(jobs, scale.machine(len(run.platform)), "easy")

    return make


TIGHT = {"batch_sched_delay": 1, "sched_interval": 1, "bf_interval": 1, "bf_resolution": 1}


def slurm(load: float, settings: dict[str, int] | None) -> Callable[[bool], Run]:
    """A year of jobs of 1 to 128 nodes on 1,000 nodes under Slurm's scheduler; None: under EASY."""

    def make(quick: bool) -> Run:
        count, nodes, year_s = QUICK_JOBS if quick else 100_000, 1_000, 365 * 86_400.0
        span_s = year_s * count / 100_000
        rng = np.random.Generator(np.random.PCG64(1))
        node_count = 2 ** rng.integers(0, 8, count)
        runtime_s = np.maximum(rng.lognormal(8.0, 1.5, count), 30.0)
        runtime_s *= load * span_s * nodes / (node_count * runtime_s).sum()
        drawn = {
            "job_id": np.arange(count),
            "submit_s": np.sort(rng.uniform(0.0, span_s, count)),
            "runtime_s": runtime_s,
            "node_count": node_count,
            "walltime_s": np.ceil(runtime_s * rng.uniform(1.0, 4.0, count) / 60.0) * 60.0,
        }
        policy = "easy" if settings is None else hs.Policy(backfill={"name": "slurm", **settings})
        return Run(hs.Workload.from_polars(pl.DataFrame(drawn)), scale.machine(nodes), policy)

    return make


SMALL, TEN_MILLION = scale.SMALL, scale.TEN_MILLION
WORKS = (
    Work("1M, 540 nodes, EASY", "2.2 x, 500 MB", plain(SMALL, "easy"), base_name="C++", trace=SMALL),
    Work("1M, 540 nodes, FCFS", "2.6 x, 500 MB", plain(SMALL, "fcfs"), base_name="C++", trace=SMALL),
    Work(
        "10M, 10,000 nodes, EASY",
        "20 s, 4,000 MB",
        plain(TEN_MILLION, "easy"),
        base_name="C++",
        trace=TEN_MILLION,
        large=True,
    ),
    Work("1M at once, 1,000 nodes, EASY", "7 s", at_once("easy"), at_once("fcfs"), "FCFS"),
    Work("the same, walltimes", "7 s", at_once("easy", walltimes=True), at_once("fcfs", walltimes=True), "FCFS"),
    Work("1M at once, 1,000 nodes, conservative", "60 s", at_once("conservative"), at_once("fcfs"), "FCFS"),
    Work("1M, 10,000 nodes, budget of 2.65 MW", "1.5 x", budget(265.0), budget(None), trace=scale.MILLION),
    Work("1M, 10,000 nodes, budget of 2.8 MW", "1.5 x", budget(280.0), budget(None), trace=scale.MILLION),
    Work("1M, 10,000 nodes, sleep timeout", "2 x", sleeping("timeout"), sleeping(None), trace=scale.MILLION),
    Work(
        "1M, 10,000 nodes, sleep newsvendor",
        "3 x",
        of_cliff(cliffs.reserve, 1_000_000),
        of_cliff(cliffs.reserve, 1_000_000, as_easy=True),
    ),
    Work(
        "100k, load 1.2, early ends, conservative",
        "10 s",
        of_cliff(cliffs.early_ends, 100_000),
        of_cliff(cliffs.early_ends, 100_000, as_easy=True),
    ),
    Work("RICC, conservative", "4 s", ricc("conservative"), ricc("easy"), log=scale.RICC),
    Work("100k, four overlapping queues, plan", "2 s", four_queues(), four_queues(as_easy=True)),
    Work("100k in a year, load 0.8, slurm", "60 s", slurm(0.8, {}), slurm(0.8, None)),
    Work("100k in a year, load 0.9, slurm", "60 s", slurm(0.9, {}), slurm(0.9, None)),
    Work("100k in a year, load 0.8, slurm, tight loops", "", slurm(0.8, TIGHT), slurm(0.8, None)),
)


def digest(result: hs.Result) -> str:
    """Starts in microseconds (int64), node ids (int32) job by job and node energies (double, J), as one sha256."""
    start_s, nodes = result.jobs["start_s"].fill_null(-1e-6).to_numpy(), result.jobs["nodes"]
    hashed = hashlib.sha256(np.rint(start_s * 1e6).astype(np.int64).tobytes())
    hashed.update(nodes.explode(empty_as_null=False).to_numpy().astype(np.int32).tobytes())
    hashed.update(result.nodes["energy_j"].to_numpy().tobytes())
    return hashed.hexdigest()


def measured(work: str, side: str, quick: bool) -> dict[str, Any]:
    """CPU s by part, peak memory, and a fingerprint of the schedule."""
    (one,) = [other for other in WORKS if other.name == work]
    make = one.this if side == "this" else one.base
    assert make is not None
    run = make(quick)
    watch = measure.Stopwatch()
    jobs = hs.read_swf(run.jobs) if isinstance(run.jobs, Path) else run.jobs
    watch.lap("read_s")
    result = hs.simulate(jobs, run.platform, run.policy)
    watch.lap("run_s")
    _ = (result.jobs, result.timeline, result.nodes, result.summary())
    watch.lap("frames_s")
    peak = measure.peak_bytes()
    return {"jobs": len(jobs), "cpu_s": watch.total(), **watch.laps, "peak_bytes": peak, "digest": digest(result)}


def main() -> None:
    engine.imported()
    warnings.simplefilter("ignore")
    measure.answer(measured(**measure.task()))


if __name__ == "__main__":
    main()
