"""A reading: all that Slurm says about jobs and nodes at once. Nothing else need be remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.jobs import WORDS, JobKey, JobTables, SeenJob, read_ends
from hetsched.slurm_bridge.nodes import SeenNode, read_nodes


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
    _tables: JobTables = field(default_factory=JobTables, repr=False)

    def read(self) -> Reading:
        """The present state; raises CallError and TableError."""
        jobs = self._tables.read(self.slurm.call(*WORDS).checked().out)
        return Reading(jobs, read_nodes(self.slurm, self.partition))

    def ends(self, keys: list[JobKey]) -> dict[str, str]:
        """Final states of jobs that are gone, as far as Slurm knows them."""
        return read_ends(self.slurm, keys)
