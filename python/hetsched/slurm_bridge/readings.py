"""A reading: all that Slurm says about jobs and nodes at once. Nothing else need be remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hetsched.slurm_bridge.applications import Applications, read_applications
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.jobs import WORDS, JobTables, read_accounted_ends, read_ends
from hetsched.slurm_bridge.nodes import SeenNode, read_nodes
from hetsched.slurm_bridge.standing import JobKey, SeenJob


@dataclass(frozen=True)
class Reading:
    """Jobs that are not over, and the nodes of the partition."""

    jobs: Sequence[SeenJob]
    nodes: Sequence[SeenNode]
    ends: Mapping[str, str] = field(default_factory=dict)
    """Final states of jobs that are gone, by id, as far as they are known."""


@dataclass(frozen=True)
class Reader:
    """Reads a real Slurm."""

    slurm: Slurm
    partition: str
    applications_known: Applications = field(default_factory=Applications)
    has_accounting: bool = False
    """True if sacct knows how jobs ended that squeue has forgotten."""
    _tables: JobTables = field(default_factory=JobTables, repr=False)

    def read(self) -> Reading:
        """The present state; raises CallError and TableError."""
        jobs = self._tables.read(self.slurm.call(*WORDS).checked().out)
        return Reading(jobs, read_nodes(self.slurm, self.partition))

    def applications(self, keys: list[JobKey]) -> dict[str, str]:
        """Applications of jobs by id, as far as they are known; raises CallError and TableError."""
        return read_applications(self.slurm, self.applications_known, [key.id for key in keys])

    def ends(self, keys: list[JobKey]) -> dict[str, str]:
        """Final states of jobs that are gone, as far as Slurm knows them."""
        found = read_ends(self.slurm, keys)
        forgotten = [key for key in keys if key.id not in found]
        return found | read_accounted_ends(self.slurm, forgotten) if self.has_accounting else found
