"""Memory that a run needs, asked before it begins: the engine ends the interpreter where memory runs out.

The estimate counts what every run holds: nodes, tables, jobs, and the numbers of each job's nodes. What a part of a
policy needs besides that is not known here, so that a run can need more, but hardly less.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hetsched.checks import many
from hetsched.errors import SimulationError
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.resources import available_bytes, gib, system_bytes
from hetsched.workload import Workload

# Bytes at the peak of a run, its frames included, as measured (tests/unit/test_memory.py). A platform that the engine
# holds already, from a run before, needs less.
_NODE_B = {False: 430, True: 290}
_CELL_B = {False: 30, True: 16}
_JOB_B = 150
_NODE_OF_A_JOB_B = 4

_SMALL_B = 2**26
"""Not worth asking the system about: as much as the interpreter itself takes."""


@dataclass(frozen=True)
class Need:
    """Memory that a run needs at least, by purpose."""

    parts: dict[str, int]

    @property
    def total_b(self) -> int:
        """All of it."""
        return sum(self.parts.values())


def check_memory(workload: Workload, platform: Platform, policy: Policy, *, until_s: float | None) -> None:
    """Refuse a run that needs more memory than there is."""
    need = need_of(workload, platform, policy, until_s=until_s)
    if need.total_b < _SMALL_B:
        return
    available_b = available_bytes()
    if available_b is not None and need.total_b > available_b:
        most = max(need.parts, key=need.parts.__getitem__)
        raise SimulationError(
            f"the run needs about {gib(need.total_b)} of memory, {gib(need.parts[most])} of it for {most}; "
            f"{gib(available_b)} are available"
        )


def need_of(workload: Workload, platform: Platform, policy: Policy, *, until_s: float | None) -> Need:
    """Memory that a run needs at least."""
    is_held = "_machine" in vars(platform)
    parts = {many(platform.nodes, "node"): platform.nodes * _NODE_B[is_held]}
    if platform.actual is not None:
        matrices = 1 + (platform.actual.time_ratio is not None)
        cells = len(platform.actual.apps) * platform.nodes * matrices
        parts[f"the table of {many(len(platform.actual.apps), 'application')}"] = cells * _CELL_B[is_held]
    parts[many(len(workload), "job")] = len(workload) * _JOB_B
    # Who starts at all is not known where a run is cut short, or where there is a budget.
    if until_s is None and policy.parts["power"] is None:
        served = _served_nodes(workload, platform)
        parts[f"the {served:,} nodes of {many(len(workload), 'job')}"] = served * _NODE_OF_A_JOB_B
    return Need(parts)


def _served_nodes(workload: Workload, platform: Platform) -> int:
    """Sum of the node counts of the jobs that the platform can hold."""
    jobs = workload.to_polars()
    fits = jobs["node_count"] <= platform.nodes
    if "slots" in jobs.columns:
        fits &= (jobs["slots"] <= max(kind.slots for kind in platform.classes)).fill_null(True)
    return int(jobs["node_count"].to_numpy().sum(dtype=np.int64, where=fits.to_numpy()))


MOST_WORKERS = 1024
_PROCESS_B = 100_000_000
_RESULT_JOB_B = 1000
_RESULT_NODE_B = 500
_RESULT_JOBS_NODE_B = 16


def most_at_once(workloads: Iterable[Workload], platforms: Iterable[Platform], *, in_processes: bool) -> int:
    """Number of runs at a time: one a core, and no more than there is memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    left_b = system_bytes()
    largest_b = max(map(_result_bytes, workloads))
    if in_processes:
        largest_b += _PROCESS_B + max(platform.nodes * _RESULT_NODE_B for platform in platforms)
    return max(1, min(cores, MOST_WORKERS, cores if left_b is None else left_b // max(largest_b, 1)))


def _result_bytes(workload: Workload) -> int:
    nodes = workload.to_polars()["node_count"].to_numpy().sum(dtype=np.int64)
    return len(workload) * _RESULT_JOB_B + int(nodes) * _RESULT_JOBS_NODE_B
