"""Notices: the facts that the host of a `hetsched.Controller` learns of, each at an instant.

A job is its ``job_id``, a node its number on the platform. An *attempt* counts the runs of a job from 1: a notice about
an earlier one than the present changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from hetsched.live.records import Record, record_of
from hetsched.naming import named_in

__all__ = [
    "Budget",
    "Eligible",
    "Ended",
    "NodeDown",
    "NodeOff",
    "NodeUp",
    "Notice",
    "Power",
    "Requeued",
    "StartFailed",
    "Started",
    "Submitted",
    "Tick",
    "Withdrawn",
    "notice_of",
]


@named_in("hetsched.live")
class Notice(Record):
    """Base of all notices."""


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Submitted(Notice):
    """A job has been submitted; it joins the queue unless it has to wait for something else."""

    job: int


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Eligible(Notice):
    """A job that waited for something else, such as the end of another job, joins the queue."""

    job: int


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Withdrawn(Notice):
    """A job that does not run has been withdrawn."""

    job: int


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Started(Notice):
    """A run has begun: it confirms a decision, or somebody else has started the job, or on other nodes."""

    job: int
    attempt: int
    nodes: tuple[int, ...]


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class StartFailed(Notice):
    """A decided start did not take place: the job goes back to its old place in the queue, without a penalty."""

    job: int
    attempt: int
    why: str
    bad_nodes: tuple[int, ...] = ()


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Ended(Notice):
    """A run has ended, with a state of the job table, such as ``completed``, ``failed`` or ``timeout``."""

    job: int
    attempt: int
    state: str
    energy_j: float | None = None


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Requeued(Notice):
    """A job whose run is over waits again, in its old place in the queue."""

    job: int


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class NodeUp(Notice):
    """Nodes serve jobs from now on: they have booted, or have been repaired."""

    nodes: tuple[int, ...]


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class NodeOff(Notice):
    """Nodes that were shutting down are off."""

    nodes: tuple[int, ...]


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class NodeDown(Notice):
    """A node has failed or was taken out of service; runs on it that have not ended by then end with it."""

    node: int
    why: str = ""


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Budget(Notice):
    """The machine may draw that many watts, until an instant or for good; of those that hold the last to begin counts.

    It begins now, or at `from_us`: a policy that looks ahead knows it from now on.
    """

    watts: float
    until_us: int | None = None
    from_us: int | None = None


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Power(Notice):
    """The machine draws that many watts."""

    watts: float


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Tick(Notice):
    """Nothing has happened: the instant is one that the controller asked for (`Controller.next_us`)."""


_KINDS: tuple[type[Notice], ...] = (
    Ended,
    StartFailed,
    Requeued,
    NodeUp,
    NodeOff,
    NodeDown,
    Budget,
    Power,
    Submitted,
    Eligible,
    Withdrawn,
    Started,
    Tick,
)
NOTICES: Mapping[str, type[Record]] = MappingProxyType({kind.kind: kind for kind in _KINDS})
"""Kinds of notices by name."""


def notice_of(values: object) -> Notice:
    """Notice that a JSON object is.

    Raises
    ------
    LiveError
        If it is none.

    Examples
    --------
    >>> notice_of({"kind": "started", "job": 7, "attempt": 1, "nodes": [0, 3]})
    Started(job=7, attempt=1, nodes=(0, 3))
    >>> Ended(7, 1, "completed").to_json()
    {'kind': 'ended', 'job': 7, 'attempt': 1, 'state': 'completed'}
    """
    return cast(Notice, record_of(values, NOTICES, "notice"))
