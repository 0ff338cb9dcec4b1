"""Malleable jobs in plain Python: one job after the other, microsecond by microsecond, no memory of any kind.

Jobs start in order of submission (or whichever fits, with `passes_over`) on the free nodes with the lowest numbers. At
every instant with a submission or an end, `wanted` says how many nodes each malleable job that runs is to have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

TICKS = 1_000_000


@dataclass
class Job:
    """One job as it was submitted; times in microseconds, `ratio[n]` its time on n nodes over that as asked for."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    count: int
    ratio: dict[int, float]
    malleable: bool
    pause: int
    watts: list[float]
    slow: list[float]


@dataclass
class Run:
    """A job on its nodes."""

    job: Job
    start: int
    nodes: list[int]
    end: int
    kill: int | None
    paused: int
    since: int
    stretches: list[tuple[int, int, list[int], float]] = field(default_factory=list)

    @property
    def factor(self) -> float:
        """How many times as long as nominal it takes."""
        return max(self.job.slow[node] for node in self.nodes) * self.job.ratio[len(self.nodes)]

    @property
    def over(self) -> int:
        """When it is over, one way or the other."""
        return self.end if self.kill is None else min(self.end, self.kill)

    def close(self, now: int) -> None:
        """Writes down how it has been since the last change."""
        still = min(self.paused, now)
        if still > self.since:
            self.stretches.append((self.since, still, self.nodes, 0.0))
        if now > still or now == self.since:
            self.stretches.append((max(self.since, still), now, self.nodes, 1.0 / self.factor))
        self.since = now

    def move(self, now: int, nodes: list[int]) -> None:
        """Goes on on other nodes."""
        before = self.factor
        self.close(now)
        self.nodes = nodes
        by = self.factor / before
        self.end = later(self.end, now, by) + self.job.pause
        self.kill = None if self.kill is None else later(self.kill, now, by) + self.job.pause
        self.paused = max(later(self.paused, now, by), now) + self.job.pause


def later(at: int, now: int, by: float) -> int:
    """What an instant becomes when what is left until then takes `by` times as long."""
    return at if by == 1.0 or at <= now else now + math.ceil(float(at - now) * by)


def longer(length: int, by: float) -> int:
    """A span that takes `by` times as long."""
    return length if by == 1.0 else math.ceil(float(length) * by)


Wanted = Callable[[int, list[tuple[int, int, int, int]], int], list[int]]
"""From the instant, the row, size and range of malleable jobs that run, and the free nodes, to their sizes."""


def simulate(jobs: list[Job], nodes: int, wanted: Wanted, *, passes_over: bool) -> list[Run]:
    """The runs of all jobs, by row."""
    queue: list[Job] = []
    running: list[Run] = []
    done: list[Run] = []
    coming = sorted(jobs, key=lambda job: (job.submit, job.row))
    free = set(range(nodes))
    while coming or running:
        now = min([run.over for run in running] + [job.submit for job in coming[:1]])
        for run in [run for run in running if run.over == now]:
            run.close(now)
            free |= set(run.nodes)
            running.remove(run)
            done.append(run)
        while coming and coming[0].submit == now:
            queue.append(coming.pop(0))
        _resize(now, running, free, wanted)
        for job in list(queue):
            if job.count <= len(free):
                running.append(_started(job, now, sorted(free)[: job.count]))
                free -= set(running[-1].nodes)
                queue.remove(job)
            elif not passes_over:
                break
    return sorted(done, key=lambda run: run.job.row)


def _started(job: Job, now: int, nodes: list[int]) -> Run:
    run = Run(job, now, nodes, now, None, now, now)
    run.end = now + longer(job.runtime, run.factor)
    run.kill = None if job.walltime is None else now + longer(job.walltime, job.ratio[len(nodes)])
    return run


def _resize(now: int, running: list[Run], free: set[int], wanted: Wanted) -> None:
    able = sorted((run for run in running if run.job.malleable), key=lambda run: (run.start, run.job.row))
    if not able:
        return
    rows = [(run.job.row, len(run.nodes), min(run.job.ratio), max(run.job.ratio)) for run in able]
    sizes = list(zip(able, wanted(now, rows, len(free)), strict=True))
    for run, size in sizes:
        if size < len(run.nodes):
            free |= set(run.nodes[size:])
            run.move(now, run.nodes[:size])
    for run, size in sizes:
        if size > len(run.nodes):
            more = sorted(free)[: size - len(run.nodes)]
            free -= set(more)
            run.move(now, sorted([*run.nodes, *more]))
