"""Tools for users' own tests: hypothesis strategies for the inputs of a run, and a check of its outcome.

`workloads`, `platforms` and `policies` generate small, awkward inputs that go together: equal instants, jobs of length
zero, walltimes below and above the runtime, jobs larger than the machine, applications with and without a table.
`check_schedule` recomputes every number of a result from the inputs and the starts, and names the first broken law. It
needs nothing but hetsched; the strategies need hypothesis, and are loaded when they are first used: ``pip install
'hetsched[testing]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hetsched.testing.schedule import check_schedule

if TYPE_CHECKING:
    from hetsched.testing.strategies import APPS, platforms, policies, workloads

__all__ = ["APPS", "check_schedule", "platforms", "policies", "workloads"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hetsched.testing import strategies  # noqa: PLC0415 -- needs hypothesis, which `check_schedule` does not

    return getattr(strategies, name)
