"""Decisions: the actions that a `hetsched.Controller` asks its host for.

Each has a number that no other decision of the run has. A decision counts as carried out as soon as it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from hetsched.live.records import Record, record_of
from hetsched.naming import named_in

__all__ = [
    "Cap",
    "Decision",
    "Kill",
    "Reject",
    "Requeue",
    "Resize",
    "Resume",
    "Sleep",
    "Start",
    "Suspend",
    "Wake",
    "decision_of",
]


@named_in("hetsched.live")
@dataclass(frozen=True)
class Decision(Record):
    """Base of all decisions, with the `number` of each."""

    number: int = field(kw_only=True)


@named_in("hetsched.live")
@dataclass(frozen=True)
class Start(Decision):
    """Start a job on these nodes, with its nodes capped to `cap_w` watts each, and `granted_w` counted for it."""

    job: int
    attempt: int
    nodes: tuple[int, ...]
    cap_w: float | None = None
    granted_w: float | None = None


@named_in("hetsched.live")
@dataclass(frozen=True)
class Reject(Decision):
    """Turn a job away: it would never start."""

    job: int
    why: str


@named_in("hetsched.live")
@dataclass(frozen=True)
class Cap(Decision):
    """Cap each node of a run to that many watts; None lifts the cap."""

    job: int
    attempt: int
    watts_a_node: float | None = None


@named_in("hetsched.live")
@dataclass(frozen=True)
class Suspend(Decision):
    """Let a run stand still on its nodes."""

    job: int
    attempt: int
    why: str = ""


@named_in("hetsched.live")
@dataclass(frozen=True)
class Resume(Decision):
    """Let a suspended run go on."""

    job: int
    attempt: int
    why: str = ""


@named_in("hetsched.live")
@dataclass(frozen=True)
class Requeue(Decision):
    """End a run; its job waits again, in its old place in the queue."""

    job: int
    attempt: int
    why: str = ""


@named_in("hetsched.live")
@dataclass(frozen=True)
class Kill(Decision):
    """End a run for good."""

    job: int
    attempt: int
    why: str = ""


@named_in("hetsched.live")
@dataclass(frozen=True)
class Resize(Decision):
    """Give a run these nodes in place of its own."""

    job: int
    attempt: int
    nodes: tuple[int, ...]


@named_in("hetsched.live")
@dataclass(frozen=True)
class Wake(Decision):
    """Switch nodes on."""

    nodes: tuple[int, ...]


@named_in("hetsched.live")
@dataclass(frozen=True)
class Sleep(Decision):
    """Switch idle nodes off."""

    nodes: tuple[int, ...]


_KINDS: tuple[type[Decision], ...] = (
    Start,
    Reject,
    Cap,
    Suspend,
    Resume,
    Requeue,
    Kill,
    Resize,
    Wake,
    Sleep,
)
DECISIONS: Mapping[str, type[Record]] = MappingProxyType({kind.kind: kind for kind in _KINDS})
"""Kinds of decisions by name."""


def decision_of(values: object) -> Decision:
    """Decision that a JSON object is.

    Raises
    ------
    LiveError
        If it is none.

    Examples
    --------
    >>> decision_of({"kind": "start", "job": 7, "attempt": 1, "nodes": [0, 3], "number": 12})
    Start(number=12, job=7, attempt=1, nodes=(0, 3), cap_w=None, granted_w=None)
    >>> Wake((4, 5), number=13).to_json()
    {'kind': 'wake', 'number': 13, 'nodes': [4, 5]}
    """
    return cast(Decision, record_of(values, DECISIONS, "decision"))
