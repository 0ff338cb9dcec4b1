"""Real jobs under the policies of a simulation: notices that a host gives, and decisions that it carries out."""

from hetsched.live.decisions import Cap, Decision, Kill, Reject, Requeue, Resize, Resume, Sleep, Start, Suspend, Wake
from hetsched.live.notices import (
    Budget,
    Eligible,
    Ended,
    NodeDown,
    NodeOff,
    NodeUp,
    Notice,
    Power,
    Requeued,
    Started,
    StartFailed,
    Submitted,
    Tick,
    Withdrawn,
)

__all__ = [
    "Budget",
    "Cap",
    "Decision",
    "Eligible",
    "Ended",
    "Kill",
    "NodeDown",
    "NodeOff",
    "NodeUp",
    "Notice",
    "Power",
    "Reject",
    "Requeue",
    "Requeued",
    "Resize",
    "Resume",
    "Sleep",
    "Start",
    "StartFailed",
    "Started",
    "Submitted",
    "Suspend",
    "Tick",
    "Wake",
    "Withdrawn",
]


def __dir__() -> list[str]:
    return sorted(__all__)
