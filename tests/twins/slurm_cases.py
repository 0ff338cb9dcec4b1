"""Small machines, options of Slurm and jobs, drawn at random for the plain reference and the engine.

Beats, submissions and run times have fractions of their own (main 0.4, backfill 0.5, scans 0.2, recomputations 0.3,
submissions 0 or 0.1, runs 0.217), so that no two things happen in one microsecond: their order is no rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
from plain_slurm_state import Job, Node, Options, Partition

EPOCH = 1_800_000_000
RELEASES = ("22.05", "23.11", "24.05", "24.11", "25.05")
TIGHT: dict[str, Any] = {"batch_sched_delay": 1, "sched_interval": 1, "bf_interval": 1, "bf_resolution": 1}
MIDDLE: dict[str, Any] = {"sched_interval": 10, "bf_interval": 5, "bf_resolution": 30}
PLAIN: dict[str, Any] = {}
PHASES: dict[str, float] = {"main_period_s": 1.0, "first_main_s": 0.4, "first_backfill_s": 0.5}
LICENCE = "w"


@dataclass(frozen=True)
class Case:
    nodes: list[Node]
    partitions: list[Partition]
    options: Options
    jobs: list[Job]


@st.composite
def machines(draw: st.DrawFn) -> tuple[list[Node], list[Partition]]:
    """1 to 12 nodes of one to three weights and NodeName lines, 1 to 3 partitions that may overlap."""
    count = draw(st.integers(1, 12))
    weights = draw(st.lists(st.sampled_from([1, 1, 5, 20]), min_size=3, max_size=3))
    kinds = sorted(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    if draw(st.booleans()):
        kinds = draw(st.permutations(kinds))
    nodes = [Node(f"n{i}", 4, weights[kind], kind) for i, kind in enumerate(kinds, 1)]
    every = tuple(range(count))
    partitions = [Partition("all", every, draw(st.sampled_from([1, 1, 2])))]
    for name in ("hi", "lo")[: draw(st.integers(0, 2))]:
        first = draw(st.integers(0, count - 1))
        some = tuple(range(first, draw(st.integers(first + 1, count))))
        longest = draw(st.sampled_from([None, None, 2]))
        partitions.append(Partition(name, some, draw(st.integers(1, 2)), longest))
    return nodes, partitions


def rare(values: list[Any], default: Any) -> st.SearchStrategy[Any]:
    """The default in five of six draws."""
    return st.integers(0, 5).flatmap(lambda at: st.sampled_from(values) if at == 0 else st.just(default))


LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "default_queue_depth": rare([0, 1, 3], 100),
    "partition_job_depth": rare([1, 2], 0),
    "sched_max_job_start": rare([1, 2], 0),
    "defer": rare([True], False),
    "Epilog": rare([True], False),
    "bf_window": rare([1, 3, 10], 1440),
    "bf_window_linear": rare([10, 45], 0),
    "bf_max_job_test": rare([1, 2, 4], 500),
    "bf_max_job_start": rare([1, 2], 0),
    "bf_max_job_part": rare([1, 2], 0),
    "bf_max_job_user": rare([1, 3], 0),
    "bf_node_space_size": rare([2, 4, 6], None),
    "bf_min_age_reserve": rare([5, 40], 0),
    "bf_job_part_count_reserve": rare([1, 2], 0),
    "bf_licenses": rare([True], False),
    "bf_running_job_reserve": rare([True], False),
    "KillWait": st.sampled_from([2, 30]),
    "SchedulerType": rare(["sched/builtin"], "sched/backfill"),
    "clean_up_s": st.sampled_from([0.0, 0.012, 0.012, 1.3]),
}


@st.composite
def loops(draw: st.DrawFn) -> dict[str, Any]:
    """Two loops and their limits."""
    found = dict(draw(st.sampled_from([TIGHT, TIGHT, MIDDLE, PLAIN])))
    found.update({name: draw(values) for name, values in LIMITS.items()})
    if draw(st.integers(0, 7)) == 0:
        found[draw(st.sampled_from(["sched_interval", "bf_interval"]))] = -1
    if found["SchedulerType"] == "sched/builtin" or found.get("bf_interval") == -1:
        found["sched_interval"] = found.get("sched_interval", 60) if found.get("sched_interval") != -1 else 60
    started = draw(st.integers(0, 40))
    epoch = EPOCH + draw(st.integers(0, 59))
    return {**found, **PHASES, "cycle_s": 0.0, "test_s": 0.0, "epoch_s": epoch, "started_s": 0.4 - started}


@st.composite
def priorities(draw: st.DrawFn) -> dict[str, Any]:
    """Multifactor, recomputed often enough to matter."""
    return {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": draw(st.sampled_from([0, 1000])),
        "PriorityWeightJobSize": draw(st.sampled_from([0, 700, 1000])),
        "PriorityMaxAge": draw(st.sampled_from([60, 600])),
        "PriorityCalcPeriod": 60,
        "PriorityFavorSmall": draw(st.booleans()),
        "first_recompute_s": draw(st.sampled_from([0.3, 7.3, 31.3])),
        "bf_min_prio_reserve": draw(rare([300, 700], 0)),
        "accounting": draw(st.sampled_from([True, True, True, False])),
    }


@st.composite
def sleep(draw: st.DrawFn) -> dict[str, Any]:
    """Nodes that are powered down, and come back in time as a rule."""
    return {
        "SuspendTime": draw(st.sampled_from([3, 8, 20])),
        "SuspendTimeout": draw(st.sampled_from([2, 6])),
        "ResumeTimeout": draw(st.sampled_from([8, 60])),
        "SuspendRate": draw(st.sampled_from([0, 2, 20, 60])),
        "ResumeRate": draw(st.sampled_from([0, 3, 60, 300])),
        "power_save_interval": draw(st.sampled_from([1, 1, 10])),
        "power_save_min_interval": draw(rare([4], 0)),
        "PrologSlurmctld": draw(rare([True], False)),
        "wait_all_nodes": draw(st.booleans()),
        "boot_s": draw(st.sampled_from([0.35, 3.35, 6.35, 12.35])),
        "first_scan_s": 0.2,
        "idle_since_s": draw(st.sampled_from([0.0, -0.3])),
    }


@st.composite
def jobs_on(draw: st.DrawFn, partitions: list[Partition], *, has_licences: bool, overruns: bool) -> list[Job]:
    """1 to 15 jobs that fit their partitions; some after others, some over their limits where asked."""
    count = draw(st.integers(1, 15))
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 2, 7, 20]), min_size=count, max_size=count))
    found: list[Job] = []
    at = 0
    for number, gap in enumerate(gaps, 1):
        at += gap
        partition = draw(st.sampled_from(partitions))
        limit = draw(st.sampled_from([1, 1, 2, 3, 5]))
        limit = min(limit, partition.max_time_min or limit)
        most = 60 * limit + (70 if overruns and draw(st.integers(0, 5)) == 0 else -2)
        size = draw(st.integers(1, len(partition.nodes)))
        asked = draw(st.integers(0, 3)) if has_licences else 0
        first = draw(st.sampled_from([0, 0, 0, 0, number - 1]))
        job = Job(
            id=number,
            submit_s=at + draw(st.sampled_from([0.0, 0.1])) if gap else at + (found[-1].submit_s % 1 if found else 0.0),
            nodes=size,
            run_s=draw(st.integers(0, most - 1)) + 0.217,
            limit_s=60 * limit - draw(st.sampled_from([0, 0, 25])),
            partition=partition.name,
            licences={LICENCE: asked} if asked else {},
            cpus=draw(st.sampled_from([None, None, 2 * size, 4 * size])),
            nice=draw(rare([1, 3, 200], 0)),
            after=(first,) if first else (),
        )
        found.append(job)
    return found


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    power: bool = True,
    multifactor: bool = True,
    licences: bool = True,
    overruns: bool = True,
    releases: tuple[str, ...] = RELEASES,
) -> Case:
    """Switches leave parts out, for an engine that does not have them yet."""
    nodes, partitions = draw(machines())
    options = draw(loops())
    options["release"] = draw(st.sampled_from(releases))
    options["PriorityType"] = "priority/basic"
    if multifactor and draw(st.integers(0, 2)) == 0:
        options.update(draw(priorities()))
    if power and draw(st.integers(0, 2)) == 0:
        options.update(draw(sleep()))
    has_licences = licences and draw(st.integers(0, 2)) == 0
    if has_licences:
        options["Licenses"] = {LICENCE: 3}
    else:
        options["bf_licenses"] = False
    jobs = draw(jobs_on(partitions, has_licences=has_licences, overruns=overruns))
    return Case(nodes, partitions, Options(**options), jobs)
