"""State of a run as its host knows it, from which a controller that took it for another begins again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from hetsched.live.notices import NodeDown, NodeOff, NodeUp, Notice
from hetsched.live.snapshot import Over, Running, Snapshot, Waiting


class KnownRun(Protocol):
    """A run that the host has under way."""

    @property
    def job(self) -> int:
        """Its job."""
        ...

    @property
    def attempt(self) -> int:
        """Its attempt, from 1."""
        ...

    @property
    def nodes(self) -> tuple[int, ...]:
        """Its nodes."""
        ...


def true_state(
    taken: Snapshot, submitted: Iterable[int], states: Mapping[int, str], running: Mapping[int, KnownRun], now_us: int
) -> Snapshot:
    """The state that a controller takes for true, set right about jobs; what it knows of nodes and budgets stands.

    Parameters
    ----------
    taken
        What the controller takes for true.
    submitted
        All jobs that were submitted. Those that the controller has not heard of are left out: they are submitted to it.
    states, running
        Jobs that are over, with their states, and runs under way by job.
    now_us
        The instant, at which runs count as begun that the controller does not know.
    """
    eligible = {one.job: one.since_us for one in taken.waiting}
    begun = {(one.job, one.attempt): one.since_us for one in taken.running}
    attempts = {one.job: one.attempts for one in taken.waiting} | {one.job: one.attempts for one in taken.over}
    attempts |= {one.job: one.attempt for one in taken.running}
    over = {one.job: one for one in taken.over}
    known = attempts.keys() | set(taken.held)
    rest = [job for job in submitted if job in known and job not in states and job not in running]
    held = tuple(job for job in taken.held if job not in states and job not in running)
    return replace(
        taken,
        waiting=tuple(
            Waiting(job, eligible.get(job, now_us), attempts.get(job, 0)) for job in rest if job not in taken.held
        ),
        running=tuple(
            Running(run.job, run.attempt, tuple(run.nodes), begun.get((run.job, run.attempt), now_us))
            for run in running.values()
        ),
        over=tuple(
            over.get(job) or Over(job, max(0, attempts.get(job, 0) - (job not in eligible)), state, now_us)
            for job, state in states.items()
        ),
        held=held,
    )


def of_nodes(notices: Iterable[Notice]) -> list[Notice]:
    """The notices that are about nodes."""
    return [notice for notice in notices if isinstance(notice, NodeDown | NodeOff | NodeUp)]
