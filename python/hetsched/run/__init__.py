"""A run: a workload on a platform under a policy, one or many of them, and the result it leaves behind.

Names load when they are first used, so that a process that only runs specs starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched.run.events import Events
    from hetsched.run.metering import meter
    from hetsched.run.outages import failures
    from hetsched.run.result import Result, read_result
    from hetsched.run.session import Session
    from hetsched.run.simulation import simulate
    from hetsched.run.spec import Spec, run_one, specs
    from hetsched.run.sweeping import sweep

__all__ = [
    "Events",
    "Result",
    "Session",
    "Spec",
    "failures",
    "meter",
    "read_result",
    "run_one",
    "simulate",
    "specs",
    "sweep",
]

_HOMES = {
    "Events": "events",
    "Result": "result",
    "Session": "session",
    "Spec": "spec",
    "failures": "outages",
    "meter": "metering",
    "read_result": "result",
    "run_one": "spec",
    "simulate": "simulation",
    "specs": "spec",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"hetsched.run.{_HOMES[name]}"), name)
