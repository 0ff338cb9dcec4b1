"""Large works, each against what it should take: ``python benches/python/scale.py [FOLDER] [--only TEXT]``.

Every work runs in a process of its own, reading included where a log is read. FOLDER holds the data sets of the laws on
real logs; works whose log is not there are left out and said to be. Speed never fails this program.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich import box
from rich.table import Table

import hetsched as hs
import measure
import traces
from table import console

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"
IDLE_W, TDP_W = 200.0, 400.0
KESTREL = "kestrel-job-power/kestrel_jobs_2024-08-30_to_09-09.parquet"
RICC, CURIE = "swf/RICC-2010-2.swf.gz", "swf/CEA-Curie-2011-2.1-cln.swf.gz"
SMALL = traces.Trace(1_000_000, 0.8, 540)
MILLION = traces.Trace(1_000_000, 0.8, 10_000)
TEN_MILLION = traces.Trace(10_000_000, 0.8, 10_000)


@dataclass(frozen=True)
class Work:
    """A run, and what it should take; the file that it needs, or the trace that is made before."""

    name: str
    run: Callable[[Path], Any]
    reach: str
    log: str | None = None
    trace: traces.Trace | None = None


def machine(nodes: int, *, apps: int = 0, idle_w: float = IDLE_W) -> hs.Platform:
    """Equal nodes, or nodes that a table sets apart by application."""
    platform = hs.Platform.homogeneous(nodes, idle_w, TDP_W)
    if not apps:
        return platform
    rng = np.random.Generator(np.random.PCG64(1))
    watts = 300.0 * np.linspace(0.8, 1.2, apps)[:, None] * rng.normal(1.0, 0.06, (apps, nodes))
    return platform.with_tables(actual=hs.VariationTable([str(app) for app in range(1, apps + 1)], watts))


def under(budget_w: float, *, order: str = "fcfs", placement: str = "lowest-id") -> hs.Policy:
    """EASY under a budget."""
    return hs.Policy(order, "reservations", placement, power={"name": "system-budget", "budget_w": budget_w})


def million(policy: str | hs.Policy, *, apps: int = 6, idle_w: float = IDLE_W) -> hs.Result:
    """A million jobs on 10,000 nodes."""
    return hs.simulate(hs.read_swf(traces.made(MILLION)), machine(10_000, apps=apps, idle_w=idle_w), policy)


def kestrel(folder: Path, preset: str) -> hs.Result:
    """Eleven days of Kestrel on 2,300 nodes under 1.2 MW."""
    first_s = datetime(2024, 8, 30, tzinfo=timezone.utc).timestamp()
    log = hs.read_jobs(folder / KESTREL, columns="kestrel").filter(pl.col("submit_s") >= first_s)
    return hs.simulate(log, hs.Platform.homogeneous(2_300, 250.0, 785.0), hs.Policy.preset(preset, power=_BUDGET))


_BUDGET = {"name": "system-budget", "budget_w": 1.2e6}


def takes_budget(preset: str) -> bool:
    """True unless a preset has a budget of its own, or a part that counts no watts."""
    try:
        return hs.Policy.preset(preset).parts["power"] is None and bool(hs.Policy.preset(preset, power=_BUDGET))
    except hs.ConfigError:
        return False


def at_once(jobs: int, preset: str) -> hs.Result:
    """Jobs of all sizes that arrive at one instant: the queue is as long as it can be."""
    rng = np.random.Generator(np.random.PCG64(jobs))
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.zeros(jobs),
            "runtime_s": rng.integers(60, 86_400, jobs).astype(float),
            "node_count": rng.integers(1, 65, jobs),
        }
    )
    return hs.simulate(hs.Workload.from_polars(frame), machine(1_000), preset)


def works() -> list[Work]:
    """All works."""
    presets = [name for name in hs.presets()["name"] if name != "replay" and takes_budget(name)]
    return [
        Work("1M EASY, 540 nodes", lambda _: _frames(SMALL), "1.3 s, 450 MB", trace=SMALL),
        Work("1M EASY, 10,000 nodes, six applications", lambda _: million("easy"), "", trace=MILLION),
        Work("the same under a budget that binds", lambda _: million(under(10_000 * 265.0)), "2 x that", trace=MILLION),
        Work("1M vahrm at half the TDP", lambda _: million("vahrm:pcr=0.5", idle_w=100.0), "10 s", trace=MILLION),
        Work("10M EASY, 10,000 nodes", lambda _: _frames(TEN_MILLION), "30 s, 4,000 MB", trace=TEN_MILLION),
        Work("RICC, conservative", lambda folder: _log(folder / RICC, 8_192, "conservative"), "8 s", RICC),
        Work("Curie, EASY", lambda folder: _log(folder / CURIE, 93_312, "easy"), "8 s", CURIE),
        *(
            Work(f"Kestrel under 1.2 MW, {name}", lambda folder, name=name: kestrel(folder, name), "1 s", KESTREL)
            for name in presets
        ),
        *(Work(f"{jobs:,} jobs at once, EASY", lambda _, jobs=jobs: at_once(jobs, "easy"), "") for jobs in _LENGTHS),
        Work("100,000 jobs at once, conservative", lambda _: at_once(100_000, "conservative"), "1 s"),
    ]


_LENGTHS = (1_000, 10_000, 100_000, 1_000_000)


def _frames(trace: traces.Trace) -> hs.Result:
    return hs.simulate(hs.read_swf(traces.made(trace)), machine(trace.nodes), "easy")


def _log(path: Path, nodes: int, policy: str) -> hs.Result:
    return hs.simulate(hs.read_swf(path), machine(nodes), policy)


def measured(name: str, folder: Path) -> dict[str, Any]:
    """CPU seconds and peak memory of a work, its frames and summary included."""
    warnings.simplefilter("ignore")
    (work,) = [work for work in works() if work.name == name]
    begun = time.process_time()
    result = work.run(folder)
    frames = (result.jobs, result.timeline, result.nodes, result.summary())
    cpu_s = time.process_time() - begun
    counts = result.provenance["counts"]
    return {
        "jobs": len(frames[0]),
        "cpu_s": cpu_s,
        "peak_mb": measure.peak_bytes() / 2**20,
        "us_a_pass": 1e6 * cpu_s / max(1, counts["passes"]),
        "longest_queue": int(frames[1]["queued_jobs"].to_numpy().max()),
    }


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description="Measure large works.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where the data sets are")
    parser.add_argument("--only", default="", metavar="TEXT", help="works with this in their names")
    parser.add_argument("--limit", type=float, default=120.0, metavar="S", help="when a work is given up (120)")
    chosen = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("work")
    for name in ("jobs", "longest\nqueue", "CPU s", "µs a\npass", "peak\nMB", "reach"):
        table.add_column(name, justify="right", no_wrap=True)
    missing = []
    for work in (one for one in works() if chosen.only in one.name):
        if work.log is not None and not (chosen.folder / work.log).is_file():
            missing.append(work.name)
            continue
        if work.trace is not None:
            traces.made(work.trace)
        with multiprocessing.get_context("spawn").Pool(1) as child:
            try:
                found = child.apply_async(measured, (work.name, chosen.folder)).get(chosen.limit)
            except multiprocessing.TimeoutError:
                table.add_row(work.name, "", "", f"over {chosen.limit:g} s", "", "", work.reach)
                continue
        numbers = (f"{found['cpu_s']:.2f}", f"{found['us_a_pass']:,.0f}", f"{found['peak_mb']:,.0f}")
        table.add_row(work.name, f"{found['jobs']:,}", f"{found['longest_queue']:,}", *numbers, work.reach)
    console().print(table)
    if missing:
        console().print(f"left out, as their logs are not there: {', '.join(missing)}")


if __name__ == "__main__":
    main()
