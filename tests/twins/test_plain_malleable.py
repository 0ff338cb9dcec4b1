"""Malleable jobs against a twin in plain Python, stretch by stretch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_malleable import TICKS, Job, simulate

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.workload.sizes import amdahl, downey

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES = 8
_Rows = list[tuple[int, int, int, int]]


def wanted(seed: int, now: int, rows: _Rows, free: int) -> list[int]:
    """Any sizes, by the instant and the job alone, as far as there are nodes."""
    sizes = []
    for row, size, low, high in rows:
        rng = random.Random(f"{seed} {now} {row}")
        sizes.append(rng.randint(low, min(high, NODES)) if rng.random() < 0.6 else size)
    free += sum(max(size - own, 0) for (_, size, *_), own in zip(rows, sizes, strict=True))
    for place, (_, size, *_) in enumerate(rows):
        more = min(max(sizes[place] - size, 0), free)
        free -= more
        sizes[place] = min(sizes[place], size + more)
    return sizes


class Random:
    """The same as a sizing."""

    def __init__(self, seed: int) -> None:
        self.number = seed

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        return queue.node_count

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        columns = (runs.job_id, runs.node_count, runs.min_nodes, runs.max_nodes)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        return wanted(self.number, round(view.now_s * TICKS), rows, len(view.free))


def drawn(seed: int, count: int = 40) -> tuple[pl.DataFrame, list[list[float]], list[list[float]]]:
    """Jobs of two applications, and how fast and hungry nodes are with each."""
    rng = np.random.default_rng(seed)
    low, more = rng.integers(1, 4, count), rng.integers(1, 5, count)
    high = np.minimum(low + more, NODES)
    runtime = rng.integers(1, 100_000_000, count)
    walltime = runtime * rng.choice([7, 10, 20], count) // 10 + 1
    frame = pl.DataFrame(
        {
            "job_id": np.arange(count),
            "submit_s": np.sort(rng.integers(0, 300_000_000, count)) / TICKS,
            "runtime_s": runtime / TICKS,
            "walltime_s": [None if rng.random() < 0.3 else one / TICKS for one in walltime.tolist()],
            "node_count": rng.integers(low, high + 1),
            "min_nodes": low,
            "max_nodes": high,
            "speedup": rng.choice(["amdahl", "downey"], count),
            "serial_ratio": rng.uniform(0, 1, count),
            "downey_a": rng.uniform(1, 8, count),
            "downey_sigma": rng.uniform(0, 2, count),
            "malleable": rng.random(count) < 0.8,
            "resize_s": rng.choice([0.0, 0.0, 2.5, 30.0], count),
            "app": rng.choice(["a", "b"], count),
        }
    )
    is_plain = seed % 3 == 0
    slow = np.ones((2, NODES)) if is_plain else rng.uniform(0.7, 1.6, (2, NODES))
    return frame, slow.tolist(), rng.uniform(60, 150, (2, NODES)).tolist()


def jobs_of(frame: pl.DataFrame, slow: list[list[float]], watts: list[list[float]]) -> list[Job]:
    jobs = []
    for row, job in enumerate(frame.iter_rows(named=True)):
        sizes = np.arange(job["min_nodes"], job["max_nodes"] + 1, dtype=float)
        speeds = (
            amdahl(sizes, job["serial_ratio"])
            if job["speedup"] == "amdahl"
            else downey(sizes, job["downey_a"], job["downey_sigma"])
        )
        own = float(speeds[job["node_count"] - job["min_nodes"]])
        app = "ab".index(job["app"])
        jobs.append(
            Job(
                row=row,
                submit=round(job["submit_s"] * TICKS),
                runtime=round(job["runtime_s"] * TICKS),
                walltime=None if job["walltime_s"] is None else round(job["walltime_s"] * TICKS),
                count=job["node_count"],
                ratio={int(size): own / float(speed) for size, speed in zip(sizes, speeds, strict=True)},
                malleable=job["malleable"],
                pause=round(job["resize_s"] * TICKS),
                watts=watts[app],
                slow=slow[app],
            )
        )
    return jobs


@pytest.mark.parametrize("backfill", ["none", "first-fit"])
@pytest.mark.parametrize("seed", range(30))
def test_random_changes_agree(seed: int, backfill: str) -> None:
    frame, slow, watts = drawn(seed)
    machine = hs.Platform.homogeneous(nodes=NODES, idle_w=50.0, tdp_w=200.0)
    platform = machine.with_tables(actual=hs.VariationTable(["a", "b"], power_w=watts, time_ratio=slow))
    workload = hs.Workload.from_polars(frame)
    policy = hs.Policy(backfill={"name": backfill, "sizing": Random(seed)})
    result = hs.simulate(workload, platform, policy)
    check_schedule(result, workload, platform)
    runs = simulate(
        jobs_of(frame, slow, watts),
        NODES,
        lambda now, rows, free: wanted(seed, now, rows, free),
        passes_over=backfill == "first-fit",
    )
    expected = [stretch for run in runs for stretch in run.stretches]
    told = result.segments.select("start_s", "end_s", "nodes").rows()
    assert told == [(start / TICKS, end / TICKS, nodes) for start, end, nodes, _ in expected]
    assert result.segments["speed_ratio"].to_list() == pytest.approx([speed for *_, speed in expected])
    drawn_j = [
        sum(
            (end - start) / TICKS * sum(run.job.watts[node] for node in nodes) for start, end, nodes, _ in run.stretches
        )
        for run in runs
    ]
    assert result.jobs["energy_j"].to_list() == pytest.approx(drawn_j, abs=1e-6)
    assert result.jobs["state"].to_list() == ["timeout" if run.over < run.end else "completed" for run in runs]
    assert any(result.events["kind"] == "grow")
    assert any(result.events["kind"] == "shrink")
