"""Restarts from the observed state against the rule in plain Python: what runs, what waits, and EASY from there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import assume, event, given

import hetsched as hs

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

NODES, TICK, DAY = 4, 1_000_000, 86_400


@st.composite
def logs(draw: st.DrawFn) -> pl.DataFrame:
    """Jobs in some days; observed starts need not be possible together."""
    rows, submit = [], 0.0
    for job in range(draw(st.integers(2, 18))):
        submit += draw(st.sampled_from([0, 0, 30, 600, 3600, 20_000, 90_000]))
        wait = draw(st.sampled_from([None, -5, 0, 0, 0.25, 60, 600, 3600, 50_000]))
        runtime = draw(st.sampled_from([0, 1, 600, 7200, 7200, 40_000, 100_000]))
        start = None if wait is None else max(0.0, submit + wait)
        late = draw(st.sampled_from([None, None, 0, 500]))
        ended = None if start is None or late is None else start + runtime + late
        wall = draw(st.sampled_from([None, 600, 7200, 50_000]))
        size = draw(st.integers(1, NODES + 1))
        nodes = draw(st.none() | st.permutations(range(NODES + 1)).map(lambda all_of, size=size: sorted(all_of[:size])))
        rows.append((job, submit, float(runtime), size, wall, start, ended, nodes))
    types: dict[str, Any] = {
        "job_id": pl.Int64,
        "submit_s": pl.Float64,
        "runtime_s": pl.Float64,
        "node_count": pl.Int64,
    }
    types |= dict.fromkeys(("walltime_s", "observed_start_s", "observed_end_s"), pl.Float64)
    return pl.DataFrame(rows, {**types, "observed_nodes": pl.List(pl.Int64)}, orient="row")


class Job(NamedTuple):
    row: int
    submit: int
    runtime: int
    size: int
    planned: int
    start: int | None
    end: int
    nodes: list[int] | None

    @property
    def is_known(self) -> bool:
        return self.start is not None and self.runtime > 0 and self.start >= self.submit


def jobs_of(frame: pl.DataFrame) -> list[Job]:
    jobs = []
    for row, (_, submit, runtime, size, wall, start, end, nodes) in enumerate(frame.iter_rows()):
        ended = end if end is not None else 0 if start is None else start + runtime
        ticks = [None if s is None else round(s * TICK) for s in (submit, runtime, wall or runtime, start, ended)]
        jobs.append(Job(row, ticks[0], ticks[1], size, ticks[2], ticks[3], ticks[4], nodes))  # type: ignore[arg-type]
    return jobs


class Machine:
    """EASY from an instant on, with nodes by name; planned ends of what runs are given."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.free = set(range(NODES))
        self.running: dict[int, tuple[int, int, list[int]]] = {}  # row -> end, planned end, nodes
        self.starts: dict[int, int] = {}

    def take(self, row: int, size: int, end: int, planned_end: int, own: list[int] | None = None) -> bool:
        fits_own = own is not None and len(own) == size and set(own) <= self.free
        nodes = own if fits_own and own is not None else sorted(self.free)[:size]
        if len(nodes) < size:
            return False
        self.free -= set(nodes)
        self.running[row] = (end, planned_end, nodes)
        return True

    def begin(self, job: Job) -> None:
        self.take(job.row, job.size, self.now + job.runtime, self.now + job.planned)
        self.starts[job.row] = self.now

    def decide(self, queue: list[Job]) -> None:
        while queue and queue[0].size <= len(self.free):
            self.begin(queue.pop(0))
        if not queue:
            return
        ends = sorted((max(self.now, planned), len(nodes)) for _, planned, nodes in self.running.values())
        free, shadow = len(self.free), self.now
        for at, count in ends:
            if free >= queue[0].size and at > shadow:
                break
            free, shadow = free + count, (at if free < queue[0].size else shadow)
        extra = free - queue[0].size
        for job in list(queue[1:]):
            in_time = self.now + job.planned <= shadow
            if job.size <= len(self.free) and (in_time or job.size <= extra):
                extra -= 0 if in_time else job.size
                self.begin(job)
                queue.remove(job)

    def run(self, waiting: list[Job], coming: list[Job], until: int) -> None:
        queue, coming = [job for job in waiting if job.size <= NODES], list(coming)
        while True:
            self.decide(queue)
            instants = [job.submit for job in coming[:1]] + [end for end, *_ in self.running.values()]
            if not instants or min(instants) > until:
                return
            self.now = min(instants)
            for row in [row for row, (end, *_) in self.running.items() if end == self.now]:
                self.free |= set(self.running.pop(row)[2])
            while coming and coming[0].submit == self.now:
                job = coming.pop(0)
                queue += [job] if job.size <= NODES else []


def restart(jobs: list[Job], instant: int, horizon: int) -> tuple[dict[int, int], int]:
    """Starts after one restart by row, and how many running jobs had no room."""
    machine, overfull = Machine(instant), 0
    known = [job for job in jobs if job.is_known]
    running = [job for job in known if job.submit <= instant and job.start <= instant < job.end]  # type: ignore[operator]
    for job in sorted(running, key=lambda job: (job.start, job.row)):
        planned_end = job.start + job.planned  # type: ignore[operator]
        fits = machine.take(job.row, job.size, job.end, max(planned_end, instant + 1), job.nodes)
        overfull += not fits
    waiting = [job for job in known if job.submit <= instant < job.start]  # type: ignore[operator]
    coming = [job for job in jobs if instant < job.submit <= instant + horizon]
    machine.run(waiting, coming, instant + horizon + 30 * DAY * TICK)
    return machine.starts, overfull


@given(logs(), st.sampled_from([60.0, 3600.0, 10_000.5, 86_400.0, 1e6]))
def test_restarts_are_those_of_the_rule(frame: pl.DataFrame, horizon_s: float) -> None:
    jobs, horizon = jobs_of(frame), round(horizon_s * TICK)
    first = jobs[0].submit
    scored = [job for job in jobs if job.is_known and job.submit > first]
    assume(scored)
    workload = hs.Workload.from_polars(frame)
    platform = hs.Platform.homogeneous(NODES, idle_w=100, tdp_w=300)
    found = hs.validate(workload, platform, "easy", horizon_s=horizon_s, warmup_s=0, cooldown_s=0)
    expected, overfull = {}, 0
    for number in sorted({math.ceil((job.submit - first) / horizon) - 1 for job in scored}):
        starts, left_out = restart(jobs, first + number * horizon, horizon)
        overfull += left_out
        new = [job for job in scored if math.ceil((job.submit - first) / horizon) - 1 == number]
        last = first + (number + 1) * horizon + 30 * DAY * TICK
        expected |= {job.row: (starts.get(job.row), starts.get(job.row, last)) for job in new}
    event(f"overfull: {overfull > 0}")
    shown = found.jobs.select("job_id", "start_s", "placed_s").rows()
    ticks = {job: tuple(None if s is None else round(s * TICK) for s in times) for job, *times in shown}
    assert ticks == expected
    assert found.scores["overfull"] == overfull
    assert found.scores["unstarted"] == sum(start is None for start, _ in expected.values())
    assert found.scores["sees_observed"] is True
