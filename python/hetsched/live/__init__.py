"""Real jobs under the policies of a simulation: notices that a host gives, and decisions that it carries out.

Names load when they are first used: the shim, which is in this package, starts with every job.
"""

from __future__ import annotations

from importlib import import_module

# As in hetsched itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hetsched.live.decisions import (
        Cap,
        Decision,
        Kill,
        Reject,
        Requeue,
        Resize,
        Resume,
        Sleep,
        Start,
        Suspend,
        Wake,
    )
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
    from hetsched.live.snapshot import Over, Running, Snapshot, Waiting

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
    "Over",
    "Power",
    "Reject",
    "Requeue",
    "Requeued",
    "Resize",
    "Resume",
    "Running",
    "Sleep",
    "Snapshot",
    "Start",
    "StartFailed",
    "Started",
    "Submitted",
    "Suspend",
    "Tick",
    "Waiting",
    "Wake",
    "Withdrawn",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("decisions", "notices", "snapshot"):
            home = import_module(f"hetsched.live.{module}")
            if name in home.__all__:
                globals()[name] = getattr(home, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
