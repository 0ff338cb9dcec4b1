"""Slurm's queue and its priorities, in plain Python: rules 13, 14, and 40 to 43."""

from __future__ import annotations

from plain_slurm_state import PENDING, Run, State

FIRST_PRIORITY = 0xFFFF0000 - 1


def queue(state: State, now: int) -> list[Run]:
    """13: what both loops walk along."""
    return sorted((run for run in state.runs.values() if is_queued(state, run, now)), key=lambda run: rank(state, run))


def is_queued(state: State, run: Run, now: int) -> bool:
    longest = run.partition.max_time_min
    fits = longest is None or run.job.limit <= 60 * longest
    ended = all(state.runs[first].ended is not None for first in run.job.after)
    return run.state == PENDING and run.begin <= now and fits and ended


def rank(state: State, run: Run) -> tuple[int, int, int, int]:
    submitted = state.second(round(run.job.submit_s * 1_000_000))
    return (-run.partition.tier, -run.priority, submitted, run.job.id)


def basic_priority(number: int, nice: int) -> int:
    """14: one less for each new job; `number` counts from 0."""
    return max(1, FIRST_PRIORITY - number - nice)


def multifactor_priority(state: State, run: Run, now: int, *, is_new: bool) -> int:
    """40."""
    options = state.options
    age = 0.0 if is_new else age_factor(state, run, now)
    weighted = options.PriorityWeightAge * age + options.PriorityWeightJobSize * size_factor(state, run)
    return max(1, int(weighted - run.job.nice))


def age_factor(state: State, run: Run, now: int) -> float:
    """41."""
    options = state.options
    if not options.accounting:
        return 0.0
    begin = state.second(round(run.job.submit_s * 1_000_000)) if options.ACCRUE_ALWAYS else run.begin
    return min(max(0, now - begin), options.PriorityMaxAge) / options.PriorityMaxAge


def size_factor(state: State, run: Run) -> float:
    """42: tasks until a backfill cycle has found a place for the job, all CPUs of its nodes from then on."""
    cpus = sum(state.nodes[n].cpus for n in run.tested) if run.tested else (run.job.cpus or run.job.nodes)
    share_of_nodes = run.job.nodes / len(state.nodes)
    share_of_cpus = cpus / sum(node.cpus for node in state.nodes)
    if state.options.PriorityFavorSmall:
        share_of_nodes, share_of_cpus = 1 - share_of_nodes, 1 - share_of_cpus
    return (share_of_nodes + share_of_cpus) / 2
