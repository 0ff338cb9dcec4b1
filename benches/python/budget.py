"""Cost of a binding budget and deep queues: ``python benches/python/budget.py [FOLDER] [--quick]``.

Every work is one trace under EASY without a budget, in turn with the same trace under what it is compared with; the
ratio of CPU seconds is taken round by round, and the median of the rounds counts. FOLDER holds logs of the Parallel
Workloads Archive; without RICC's, its works are left out and said to be. Speed never fails this program.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import hetsched as hs
import rounds
import traces
from table import console

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "swf"
IDLE_W, TDP_W = 200.0, 400.0


@dataclass(frozen=True)
class Work:
    """A trace on a machine under two policies, and what the second should take of the first's time or in all."""

    name: str
    workload: hs.Workload
    platform: hs.Platform
    policy: hs.Policy
    reach: str


def under(share: float, nodes: int) -> hs.Policy:
    """EASY, with so much of what all nodes may draw beyond idle."""
    budget_w = nodes * (IDLE_W + share * (TDP_W - IDLE_W))
    return hs.Policy("fcfs", "reservations", "lowest-id", power={"name": "system-budget", "budget_w": budget_w})


def works(folder: Path, *, quick: bool) -> Iterator[Work]:
    """All works; the made ones first."""
    nodes, jobs = (540, 2_000) if quick else (10_000, 30_000)
    drawn = hs.read_swf(traces.made(traces.Trace(jobs, 0.8, nodes)))
    watts = np.random.default_rng(7).normal(0.8 * TDP_W, 0.08 * TDP_W, len(drawn)).clip(IDLE_W, TDP_W)
    measured = hs.Workload.from_polars(drawn.to_polars().with_columns(power_w=pl.Series(watts.round(3))))
    platform = hs.Platform.homogeneous(nodes, IDLE_W, TDP_W)
    for share in (0.95, 0.75, 0.6):
        yield Work(f"budget of {share:.0%}", drawn, platform, under(share, nodes), "≤ 2")
    for share in (0.95, 0.75, 0.6):
        yield Work(f"budget of {share:.0%}, measured draws", measured, platform, under(share, nodes), "≤ 3")
    log = folder / "RICC-2010-2.swf.gz"
    if log.is_file() and not quick:
        ricc, machine = hs.read_swf(log), hs.Platform.homogeneous(8_192, IDLE_W, TDP_W)
        yield Work("RICC, budget of 95 %", ricc, machine, under(0.95, 8_192), "≤ 2")
        yield Work("RICC, conservative", ricc, machine, hs.Policy.preset("conservative"), "≤ 35 s")


def seconds(work: Work, policy: str | hs.Policy) -> float:
    """CPU seconds of a run."""
    begun = time.process_time()
    hs.simulate(work.workload, work.platform, policy)
    return time.process_time() - begun


def main() -> None:
    """Measures, and prints a table."""
    parser = rounds.options("Measure runs under a budget against runs without.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where RICC's log is")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    table = rounds.table_of("jobs", "easy\nCPU s", "this\nCPU s", "ratio", "reach")
    for work in works(chosen.folder, quick=chosen.quick):
        seconds(work, "easy")
        plain, own = partial(seconds, work, "easy"), partial(seconds, work, work.policy)
        easy, this, ratio = rounds.in_turn(plain, own, rounds.count(chosen))
        table.add_row(work.name, f"{len(work.workload):,}", f"{easy:.2f}", f"{this:.2f}", f"{ratio:.1f}", work.reach)
    console().print(table)
    if not (chosen.folder / "RICC-2010-2.swf.gz").is_file():
        console().print("RICC's log is not there: its works are left out")


if __name__ == "__main__":
    main()
