"""State of a run by its journal, for people: whatever process works on it, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsched.checks import shown
from hetsched.errors import ConfigError
from hetsched.live import decisions as do
from hetsched.live import notices as heard
from hetsched.live.journal import Journal
from hetsched.live.outcome import last_runs


@dataclass(frozen=True)
class UnderWay:
    """A run under way: its job, attempt and nodes, and the second of the run in which it was decided."""

    job: int
    attempt: int
    nodes: Sequence[int]
    since_s: float


@dataclass(frozen=True)
class RunState:
    """Jobs of a run: those that run, wait, are not submitted yet, and are over by state."""

    running: Sequence[UnderWay]
    waiting: Sequence[int]
    to_come: int
    over: Mapping[str, int]
    reached_s: float


def run_state(journal: Journal) -> RunState:
    """The state at the last line of a journal."""
    running: dict[int, UnderWay] = {}
    for instant in journal.instants:
        if instant.snapshot is not None:
            for job in (*(one.job for one in instant.snapshot.over), *(one.job for one in instant.snapshot.waiting)):
                running.pop(job, None)
        for notice in instant.notices:
            if isinstance(notice, heard.Ended | heard.StartFailed):
                run = running.get(notice.job)
                if run is not None and run.attempt == notice.attempt:
                    del running[notice.job]
        for decision in instant.decisions:
            match decision:
                case do.Start(job=job, attempt=attempt, nodes=nodes):
                    running[job] = UnderWay(job, attempt, nodes, instant.t_us / 1e6)
                case do.Kill(job=job) | do.Requeue(job=job):
                    running.pop(job, None)
    jobs = last_runs(journal.instants)
    over = Counter(last.state for job, last in jobs.items() if last.state is not None and job not in running)
    waiting = sorted(job for job, last in jobs.items() if last.state is None and job not in running)
    reached_s = journal.instants[-1].t_us / 1e6 if journal.instants else 0.0
    return RunState(list(running.values()), waiting, len(journal.setting.workload) - len(jobs), over, reached_s)


def check_cancel(journal: Journal, jobs: Sequence[int]) -> None:
    """Raise for jobs that the run does not have."""
    known = set(journal.setting.workload.to_polars()["job_id"].to_list())
    unknown = [job for job in jobs if job not in known]
    if unknown:
        raise ConfigError([("--cancel", shown(job), "jobs of the run") for job in unknown[:10]])
