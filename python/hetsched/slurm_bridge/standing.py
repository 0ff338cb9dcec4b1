"""A job as a reading shows it, and its state next to Slurm: no memory is needed, so none can be wrong.

A job is known by more than its id: ids are given again once Slurm has lost its state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

GATE = "hetsched"
"""The licence that jobs ask for which Slurm is not to start by itself."""

BAND = 4_294_902_000
"""Least priority of jobs that were released. Slurm's own begin at 4,294,901,759 and fall: released jobs go first."""

READY = frozenset({"None", "Licenses", "Resources", "Priority"})
"""Reasons of jobs that wait for nothing but their turn; elements of an array have several, with commas between."""

FINAL = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
_PENDING = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})


class Standing(Enum):
    """A state of a job, and what the bridge does about it."""

    FOREIGN = "foreign"
    """It waits, and is none of the bridge's."""
    WAITING = "waiting"
    """It has the gate and waits for something else, such as another job or a time: the policy is informed later."""
    GATED = "gated"
    """It is in the policy's queue."""
    RELEASED = "released"
    """It was let go, and has not started yet."""
    CONFIGURING = "configuring"
    RUNNING = "running"
    COMPLETING = "completing"
    """Its nodes are busy still."""
    REQUEUED = "requeued"
    """It has run, lost its gate, and is to wait again."""
    OVER = "over"

    @property
    def holds_nodes(self) -> bool:
        """True if its nodes are busy."""
        return self in (Standing.CONFIGURING, Standing.RUNNING, Standing.COMPLETING)


@dataclass(frozen=True)
class Site:
    """The jobs that the bridge is there for."""

    partition: str
    needs_gate: bool
    """False in a dry run, which takes every job of the partition for one that has the gate."""


class JobKey(NamedTuple):
    """A job, and no other one that had its id before."""

    submit_s: int
    id: str
    """Digits, with the element of an array after an underscore."""
    uid: int


@dataclass(frozen=True)
class SeenJob:
    """A job as a reading shows it."""

    key: JobKey
    state: str
    reason: str
    partitions: tuple[str, ...]
    node_count: int
    limit_s: float | None
    """None: without a limit."""
    eligible_s: int | None
    """None: not yet known, as for a job that is held or waits for another one."""
    start_s: int | None
    restarts: int
    priority: int
    is_part: bool
    """True for a part of a heterogeneous job, and for others that a bridge leaves to Slurm."""
    constraint: str | None
    """Features that it asks for itself."""
    licences: tuple[str, ...]
    nodes: tuple[str, ...]
    names_nodes: bool = False
    """True if it asks for nodes by name."""

    @cached_property
    def standings(self) -> dict[Site, Standing]:
        """Its standings by site, as far as they were asked for: a job is the same object in reading after reading."""
        return {}

    @cached_property
    def order(self) -> tuple[int, tuple[int, ...]]:
        """Its place in the order of submission."""
        return self.key.submit_s, tuple(int(part) for part in self.key.id.split("_"))

    def asks_for(self, licence: str) -> bool:
        """True if it asks for any of a licence."""
        return any(one.split(":")[0] == licence for one in self.licences)


def standing_of(job: SeenJob | None, site: Site) -> Standing:
    """The state of a job; None is one that no reading shows any more."""
    if job is None:
        return Standing.OVER
    known = job.standings.get(site)
    if known is None:
        known = job.standings[site] = _standing(job, site)
    return known


def _standing(job: SeenJob, site: Site) -> Standing:
    if job.state in FINAL:
        return Standing.OVER
    if job.state == "CONFIGURING":
        return Standing.CONFIGURING
    if job.state == "COMPLETING":
        return Standing.COMPLETING
    if job.state not in _PENDING:
        # Suspended, stopped or resizing: it has its nodes.
        return Standing.RUNNING
    if job.partitions != (site.partition,) or job.is_part:
        return Standing.FOREIGN
    is_ready = job.state == "PENDING" and READY.issuperset(job.reason.split(",")) and not _is_unseen(job)
    if not site.needs_gate or job.asks_for(GATE):
        return Standing.GATED if is_ready else Standing.WAITING
    if job.restarts > 0 and (not is_ready or job.priority < BAND):
        return Standing.REQUEUED
    return Standing.RELEASED if job.priority >= BAND else Standing.FOREIGN


def _is_unseen(job: SeenJob) -> bool:
    """True if Slurm has not looked at a job yet, and it was not eligible as soon as it was there."""
    is_eligible = job.eligible_s is not None and job.eligible_s <= job.key.submit_s
    return job.reason == "None" and not is_eligible
