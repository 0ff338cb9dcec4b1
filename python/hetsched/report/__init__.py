"""Pictures (with matplotlib, from the extra `plots`) and tables for a terminal.

Frames in, files or tables out; the numbers come from `hetsched.analysis`. Modules load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = [
    "budgets",
    "canvas",
    "figures",
    "node_states",
    "observed",
    "over_axis",
    "provisions",
    "sweeps",
    "tables",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"hetsched.report.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
