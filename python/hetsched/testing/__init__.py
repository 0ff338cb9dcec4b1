"""Tools for users' own tests: hypothesis strategies for the inputs of a run, and a check of its outcome.

`workloads`, `platforms` and `policies` generate small, awkward inputs that go together: equal instants, jobs of length
zero, walltimes below and above the runtime, jobs larger than the machine, applications with and without a table.
`check_schedule` recomputes every number of a result from the inputs and the starts, and names the first broken law. It
needs nothing but hetsched. `conformance` runs a part of a policy, or a whole one, over such inputs, and names what it
breaks. It and the strategies need hypothesis, and are loaded when they are first used: ``pip install
'hetsched[testing]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hetsched.testing.schedule import check_schedule

if TYPE_CHECKING:
    from hetsched.testing.conforming import conformance
    from hetsched.testing.strategies import APPS, platforms, policies, workloads

__all__ = ["APPS", "check_schedule", "conformance", "platforms", "policies", "workloads"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # They need hypothesis, which `check_schedule` does not.
    home = "conforming" if name == "conformance" else "strategies"
    return getattr(import_module(f"hetsched.testing.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
