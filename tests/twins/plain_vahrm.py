"""The order of VAHRM, long waits that go first, and first runs, in plain Python: sections "Order", "Starvation" and
"First runs" of the page on rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from plain_draws import SECOND
from plain_jobs import Job
from plain_machine import Machine

Pool = tuple[int, ...]


@dataclass
class Vahrm:
    """Parameters of the order, and the applications that have a profile, by pool."""

    beta: float = 0.25**6
    by_walltime: bool = False
    starvation_limit: float = inf
    profiling_ratio: float | None = None
    profiled: set[tuple[Pool, str]] = field(default_factory=set)

    def join(self, machine: Machine) -> None:
        """A run begins."""
        self.machine = machine

    def _key(self, job: Job) -> tuple[Pool, str]:
        return tuple(self.machine.queue_of(job).nodes), job.app

    def is_first(self, job: Job) -> bool:
        """True if it is the run of an application without a profile."""
        if self.profiling_ratio is None:
            return False
        return self._key(job) not in self.profiled if job.first_run is None else job.first_run

    def place(self, job: Job) -> float:
        """Least first: the highest priority."""
        draws, nodes = self.machine.draws, self.machine.all_nodes(job)
        is_first = self.is_first(job)
        watts = [draws.tdp_w if is_first else draws.predicted_w(job.app, node, job.own_cap) for node in nodes]
        length = job.planned if self.by_walltime else job.runtime
        energy_j = sum(watts) / len(nodes) * job.node_count * (length / SECOND)
        return -(self.beta * energy_j - (1.0 - self.beta) * ((job.eligible or 0) / SECOND))

    def starving(self, jobs: Sequence[Job]) -> list[Job]:
        """Those that have waited too long, the longest wait first."""
        late = [job for job in jobs if self.machine.now - (job.eligible or 0) > self.starvation_limit]
        return sorted(late, key=lambda job: (job.eligible, job.row))

    # First runs.

    def waits_for_a_profile(self, job: Job) -> bool:
        """It fits a budget only once its application has a profile."""
        machine = self.machine
        if machine.power is None or job.first_run is not None or not self.is_first(job):
            return False
        return not machine.power.fits_idle(job, machine.now, is_first=True)

    def reject_hopeless(self) -> bool:
        """Rejects those for whose application no queued job can make a profile; whether there were any."""
        jobs = self.machine.jobs
        teachers = {self._key(job) for job in jobs if job.state == "queued" and job.first_run is None}
        hopeless = [job for job in jobs if job.state == "untaught" and self._key(job) not in teachers]
        for job in hopeless:
            job.state, job.ended_at = "rejected", self.machine.now
        return bool(hopeless)

    def learn(self) -> None:
        """A pass is over: what ran for the first time in it is known. A flag of the log teaches nothing."""
        if self.profiling_ratio is None:
            return
        jobs = self.machine.jobs
        self.profiled |= {self._key(job) for job in self.machine.running if job.first_run is None}
        for job in [job for job in jobs if job.state == "untaught" and self._key(job) in self.profiled]:
            job.state, job.joined_in = "queued", None
