"""A run of Slurm's main loop, in plain Python: rules 15 to 18."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from plain_slurm_queue import queue
from plain_slurm_state import Partition, Run, State


@dataclass
class MainRun:
    """One run at a second; `start` starts a job inside a set of nodes and says whether it could."""

    state: State
    now: int
    start: Callable[[Run, set[int]], bool]
    failed: set[str] = field(default_factory=set)
    blocked: set[int] = field(default_factory=set)
    starts: int = 0
    is_change: bool = False
    """A change for backfill (10)."""

    def go(self, *, is_full: bool) -> None:
        options = self.state.options
        looked: Counter[str] = Counter()
        waiting = queue(self.state, self.now)
        for depth, run in enumerate(waiting):
            if not is_full and depth > options.default_queue_depth:
                break
            looked[run.partition.name] += 1
            if options.partition_job_depth and looked[run.partition.name] > options.partition_job_depth:
                continue
            if not self.look_at(run):
                break
        if not options.changes_as_recorded:
            self.is_change = self.starts < len(waiting)

    def look_at(self, run: Run) -> bool:
        """True if the walk goes on."""
        state, options = self.state, self.state.options
        if run.partition.name in self.failed:
            self.is_change = True
            return True
        available = {n for n in run.partition.nodes if state.is_available(n)} - self.blocked
        if len(available) < run.job.nodes:  # 15; the nodes are blocked as in 17, as a recording has it
            self.fail(run.partition)
            self.find_reason(run, "Resources")
            return True
        if state.lacks_licences(run.job):  # 16
            self.is_change = True
            return not options.bf_licenses
        if self.start(run, available):
            self.starts += 1
            return not options.sched_max_job_start or self.starts < options.sched_max_job_start
        self.find_reason(run, "Resources")
        if self.may_block(run):  # 17
            self.fail(run.partition)
        return True

    def fail(self, partition: Partition) -> None:
        self.failed.add(partition.name)
        self.blocked |= set(partition.nodes)

    def find_reason(self, run: Run, reason: str) -> None:
        self.is_change = self.is_change or reason != run.reason
        run.reason = reason

    def may_block(self, run: Run) -> bool:
        options = self.state.options
        waited = self.state.waited(run, self.now)
        return run.priority >= options.bf_min_prio_reserve and waited >= options.bf_min_age_reserve
