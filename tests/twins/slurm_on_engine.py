"""Machines, jobs and options of the plain Slurm reference, run by the engine."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby
from typing import Any

import polars as pl
from plain_slurm_state import Job, Node, Options, Partition

import hetsched as hs

Start = tuple[float | None, tuple[int, ...]]
"""Second at which the script starts, and nodes."""
SAME = {
    field.name
    for field in fields(Options)
    if field.name.startswith(("bf_", "sched_", "power_save_")) or field.name.endswith(("_delay", "_depth", "defer"))
} - {"bf_node_space_size"}
"""Options that have the name and unit of the engine's parameter."""
RENAMED = {
    "release": "release",
    "epoch_s": "epoch_s",
    "started_s": "started_s",
    "clean_up_s": "clean_up_s",
    "start_s": "start_s",
    "KillWait": "kill_wait",
    "Epilog": "epilog",
    "PrologSlurmctld": "prolog_slurmctld",
}
PHASES = {
    "main_period_s": "main_period_s",
    "first_main_s": "main_phase_s",
    "first_backfill_s": "backfill_phase_s",
    "first_scan_s": "scan_phase_s",
}
PRIORITIES = {
    "PriorityWeightAge": "priority_weight_age",
    "PriorityWeightJobSize": "priority_weight_size",
    "PriorityMaxAge": "priority_max_age",
    "PriorityCalcPeriod": "priority_calc_period",
    "PriorityFavorSmall": "priority_favor_small",
}
SAVING = {
    "SuspendTime": "suspend_time",
    "SuspendTimeout": "suspend_timeout",
    "ResumeTimeout": "resume_timeout",
    "SuspendRate": "suspend_rate",
    "ResumeRate": "resume_rate",
}
NEVER = {"main": {"sched_interval": -1}, "backfill": {"bf_interval": -1}}
"""Settings in place of a list of beats that is there and empty."""
LISTED = 200
"""Recomputations that are written out where their phase is given."""


def parameters(nodes: list[Node], options: Options) -> dict[str, Any]:
    """Parameters of the backfill `slurm`."""
    found: dict[str, Any] = {name: getattr(options, name) for name in SAME}
    found |= {own: getattr(options, name) for name, own in RENAMED.items()}
    found |= {own: value for name, own in PHASES.items() if (value := getattr(options, name)) is not None}
    if options.test_s == 0.0:
        found["cycle_s"] = options.cycle_s
    found["bf_node_space_size"] = options.bf_node_space_size or 0
    found["scheduler_type"] = options.SchedulerType.removeprefix("sched/")
    if options.is_multifactor:
        found |= {own: getattr(options, name) for name, own in PRIORITIES.items()} | {"priority_type": "multifactor"}
        if not options.accounting:
            found["priority_weight_age"] = 0
        if (first := options.first_recompute_s) is not None:
            found["recompute_beats"] = [first + options.PriorityCalcPeriod * count for count in range(LISTED)]
    if options.SuspendTime is not None:
        found |= {own: getattr(options, name) for name, own in SAVING.items()}
    for name, beats in options.beats.items():
        found |= {f"{name}_beats": list(beats)} if beats else NEVER.get(name, {})
    lines = groupby(nodes, key=lambda node: (node.line, node.cpus, node.weight))
    found["node_lines"] = "+".join(f"{len(list(line))}*{cpus}*{weight}" for (_, cpus, weight), line in lines)
    return found


def platform(nodes: list[Node], partitions: list[Partition], options: Options) -> hs.Platform:
    sleeps: dict[str, Any] = {}
    if options.SuspendTime is not None:
        sleeps = {"boot_s": options.boot_s, "shutdown_s": min(1.0, options.SuspendTimeout / 2), "off_w": 5.0}
    queues = [
        hs.Queue(
            one.name,
            list(one.nodes),
            priority=one.tier,
            max_walltime_s=None if one.max_time_min is None else 60.0 * one.max_time_min,
        )
        for one in partitions
    ]
    nodes_alike = hs.NodeClass("n", len(nodes), idle_w=100.0, tdp_w=400.0, **sleeps)
    return hs.Platform([nodes_alike], queues=queues, licences=dict(options.Licenses) or None)


def workload(partitions: list[Partition], jobs: list[Job]) -> hs.Workload:
    columns: dict[str, list[Any]] = {
        "job_id": [job.id for job in jobs],
        "submit_s": [job.submit_s for job in jobs],
        "node_count": [job.nodes for job in jobs],
        "runtime_s": [job.run_s for job in jobs],
        "walltime_s": [float(job.limit_s) for job in jobs],
        "queue": [job.partition or partitions[0].name for job in jobs],
    }
    licences = [",".join(f"{name}:{count}" for name, count in job.licences.items()) or None for job in jobs]
    if any(licences):
        columns["licences"] = licences
    return hs.Workload.from_polars(pl.DataFrame(columns))


def starts(nodes: list[Node], partitions: list[Partition], options: Options, jobs: list[Job]) -> dict[int, Start]:
    """Start of each job's script, and its nodes, by number."""
    policy = hs.Policy(backfill={"name": "slurm", **parameters(nodes, options)})
    result = hs.simulate(workload(partitions, jobs), platform(nodes, partitions, options), policy)
    found = result.jobs.select("job_id", "start_s", "nodes").iter_rows()
    return {number: (start_s, tuple(sorted(own or ()))) for number, start_s, own in found}
