"""The nodes that commands run on: shares of this machine's CPUs, or those of a Slurm allocation."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsched.checks import Faults, many
from hetsched.hostlists import HostListError, expanded


@dataclass(frozen=True)
class Nodes:
    """Names and CPUs of nodes by number."""

    names: Sequence[str]
    cpus: Sequence[Sequence[int]]
    """CPUs of each; the same of all where nodes are no more than slots."""
    are_slots: bool = False
    note: str = ""
    allocation: str = ""
    """The job of Slurm whose nodes they are; empty on this machine."""

    def __len__(self) -> int:
        return len(self.names)


def local_nodes(
    faults: Faults, *, nodes: int | None = None, cpus_per_node: int | None = None, cpus: Sequence[int] | None = None
) -> Nodes | None:
    """Nodes as equal shares of the CPUs that this process may use; None if they cannot be, which is noted."""
    usable = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    if nodes is None:
        each = cpus_per_node or 1
        if each > len(usable):
            faults.add("--cpus-per-node", each, f"at most {len(usable)}, the CPUs that this process may use")
            return None
        nodes = len(usable) // each
    each = cpus_per_node or len(usable) // nodes
    if each == 0 or nodes * each > len(usable):
        names = [f"slot{node}" for node in range(nodes)]
        note = f"{many(nodes, 'node')} on {many(len(usable), 'CPU')}: they are slots, and share all CPUs"
        return Nodes(names, [usable] * nodes, are_slots=True, note=note)
    shares = [usable[node * each : (node + 1) * each] for node in range(nodes)]
    left = len(usable) - nodes * each
    note = f"{many(nodes, 'node')} of {many(each, 'CPU')}" + (f"; {many(left, 'CPU')} left over" if left else "")
    return Nodes([f"cpu{_ranges(share)}" for share in shares], shares, note=note)


def _ranges(cpus: Sequence[int]) -> str:
    first, last = cpus[0], cpus[-1]
    if last - first + 1 == len(cpus):
        return str(first) if first == last else f"{first}-{last}"
    return "+".join(map(str, cpus))


def allocated_nodes(faults: Faults, environment: Mapping[str, str] = os.environ) -> Nodes | None:
    """Nodes of the Slurm allocation that this process is in; None if it is in none, which is noted."""
    listed = environment.get("SLURM_JOB_NODELIST", "")
    if not listed or not environment.get("SLURM_JOB_ID"):
        faults.note("--launcher srun", "no SLURM_JOB_NODELIST", "a Slurm allocation around it: salloc or sbatch")
        return None
    try:
        names = expanded(listed)
    except HostListError as error:
        faults.note("SLURM_JOB_NODELIST", error.found, error.expected)
        return None
    counts = _counts(environment.get("SLURM_JOB_CPUS_PER_NODE", ""), len(names))
    allocation = environment["SLURM_JOB_ID"]
    note = f"{many(len(names), 'node')} of Slurm's job {allocation}"
    return Nodes(names, [range(count) for count in counts], note=note, allocation=allocation)


def _counts(text: str, nodes: int) -> list[int]:
    """CPUs a node, such as ``16(x2),8``; none are known where it does not read."""
    found: list[int] = []
    for part in text.split(","):
        if (one := re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)) is None:
            return [0] * nodes
        found += [int(one[1])] * int(one[2] or 1)
    return found if len(found) == nodes else [0] * nodes
