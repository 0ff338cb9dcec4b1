"""The bridge's picture of jobs and nodes: what its controller knows, and under which numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from hetsched.live import Decision, Reject, Sleep, Start, Wake
from hetsched.slurm_bridge.standing import JobKey


class Phase(Enum):
    """A job's place in the controller."""

    QUEUED = "queued"
    DECIDED = "decided"
    """The controller has started it; Slurm has not."""
    RUNNING = "running"
    ENDED = "ended"
    """Its run is over and it may be queued again."""
    REJECTED = "rejected"


@dataclass(frozen=True)
class Entry:
    """A job of Slurm's as a row of the controller, which asks for a fixed number of nodes and a limit."""

    number: int
    node_count: int
    limit_s: float | None
    restarts: int
    phase: Phase = Phase.QUEUED
    attempt: int = 1
    """Its present run, or the next."""
    nodes: tuple[int, ...] = ()
    """Nodes of the run, in order; of a decision, where it is to start."""
    decision: int = 0
    """Number of the decision to start it."""

    def fails(self) -> Entry:
        """The entry once its decided start did not take place."""
        return replace(self, phase=Phase.QUEUED, attempt=self.attempt + 1, nodes=())


class Rest(Enum):
    """A node that the controller has put to sleep; Slurm itself may have it awake all the time."""

    GOING = "going"
    OFF = "off"
    WAKING = "waking"


@dataclass(frozen=True)
class Picture:
    """Jobs that the controller knows, nodes that are down, and the next number: rows are never used again."""

    entries: Mapping[JobKey, Entry] = field(default_factory=lambda: MappingProxyType({}))
    down: frozenset[int] = frozenset()
    next_number: int = 1
    resting: Mapping[int, Rest] = field(default_factory=lambda: MappingProxyType({}))

    def decided(self, decisions: Iterable[Decision]) -> Picture:
        """The picture once the controller has decided."""
        keys = {entry.number: key for key, entry in self.entries.items()}
        entries, resting = dict(self.entries), dict(self.resting)
        for decision in decisions:
            if isinstance(decision, Start):
                key = keys[decision.job]
                entries[key] = replace(
                    entries[key],
                    phase=Phase.DECIDED,
                    attempt=decision.attempt,
                    nodes=tuple(sorted(decision.nodes)),
                    decision=decision.number,
                )
            elif isinstance(decision, Sleep):
                resting |= dict.fromkeys(decision.nodes, Rest.GOING)
            elif isinstance(decision, Wake):
                resting |= dict.fromkeys(decision.nodes, Rest.WAKING)
            elif isinstance(decision, Reject):
                entries[keys[decision.job]] = replace(entries[keys[decision.job]], phase=Phase.REJECTED)
        return replace(self, entries=entries, resting=resting)
