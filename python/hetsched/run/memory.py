"""Whether a run fits into memory, asked before it begins: the engine ends the interpreter where memory runs out.

The estimate counts what every run holds: nodes, tables, jobs, and the numbers of each job's nodes. What a part of a
policy needs beside that is not known here, so that a run can need more, but hardly less.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hetsched.errors import SimulationError
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.text import many
from hetsched.workload import Workload

__all__ = ["Need", "available_bytes", "check_memory", "need_of", "system_bytes"]

# Bytes at the peak of a run, its frames included, as measured (tests/unit/test_memory.py). A platform that the engine
# holds already, from a run before, needs less.
_NODE_B = {False: 430, True: 290}
_CELL_B = {False: 30, True: 16}
_JOB_B = 150
_NODE_OF_A_JOB_B = 8

_SMALL_B = 2**26
"""Not worth asking the system about: as much as the interpreter itself takes."""


@dataclass(frozen=True)
class Need:
    """What a run needs at least, by what needs it.

    Parameters
    ----------
    parts
        From what needs it, in words, to bytes.

    Examples
    --------
    >>> Need({"2 nodes": 860, "1 job": 150}).total_b
    1010
    """

    parts: dict[str, int]

    @property
    def total_b(self) -> int:
        """All of it."""
        return sum(self.parts.values())


def check_memory(workload: Workload, platform: Platform, policy: Policy, *, until_s: float | None) -> None:
    """Refuse a run that needs more memory than there is.

    Parameters
    ----------
    workload, platform, policy, until_s
        As `hetsched.simulate` takes them.

    Raises
    ------
    SimulationError
        If it does; names what needs most of it.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1]})
    >>> enormous = Platform.homogeneous(nodes=2**31 - 1, idle_w=100, tdp_w=300)
    >>> check_memory(Workload.from_polars(jobs), enormous, Policy(), until_s=None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.SimulationError: the run needs about 860 GiB of memory, 860 GiB of it for 2,147,483,647 nodes; ...
    """
    need = need_of(workload, platform, policy, until_s=until_s)
    if need.total_b < _SMALL_B:
        return
    available_b = available_bytes()
    if available_b is not None and need.total_b > available_b:
        most = max(need.parts, key=need.parts.__getitem__)
        raise SimulationError(
            f"the run needs about {_gib(need.total_b)} of memory, {_gib(need.parts[most])} of it for {most}; "
            f"{_gib(available_b)} are available"
        )


def need_of(workload: Workload, platform: Platform, policy: Policy, *, until_s: float | None) -> Need:
    """What a run needs at least.

    Parameters
    ----------
    workload, platform, policy, until_s
        As `hetsched.simulate` takes them.
    """
    is_held = "machine" in vars(platform)
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
    """How many nodes the jobs that the platform can hold ask for, each job's counted."""
    jobs = workload.to_polars()
    fits = jobs["node_count"] <= platform.nodes
    if "slots" in jobs.columns:
        fits &= (jobs["slots"] <= max(kind.slots for kind in platform.classes)).fill_null(True)
    return int(jobs["node_count"].filter(fits).cast(pl.Int64).sum())


def available_bytes() -> int | None:
    """What the system and this process's own limit still leave; None where neither says.

    Examples
    --------
    >>> available = available_bytes()
    >>> available is None or available >= 0
    True
    """
    limits = [limit for limit in (system_bytes(), _of_process()) if limit is not None]
    return min(limits, default=None)


def system_bytes() -> int | None:
    """What the system has left for all processes, swap included; None where it does not say.

    Examples
    --------
    >>> left = system_bytes()
    >>> left is None or left > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return (kib["MemAvailable"] + kib["SwapFree"]) * 1024 if {"MemAvailable", "SwapFree"} <= set(kib) else None


def _of_process() -> int | None:
    """What is left of the address space (``ulimit -v``)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)


def _gib(size_b: int) -> str:
    """A size as a message tells it.

    Examples
    --------
    >>> _gib(5 * 2**30), _gib(2**28)
    ('5.0 GiB', '0.25 GiB')
    """
    gib = size_b / 2**30
    return f"{gib:,.0f} GiB" if gib >= 100 else f"{gib:.1f} GiB" if gib >= 1 else f"{gib:.2f} GiB"
