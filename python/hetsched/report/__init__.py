"""Pictures (with matplotlib, from the extra `plots`) and tables for a terminal.

Frames in, files or tables out; the numbers come from `hetsched.analysis`. Modules load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched.report.page.sweeps import write_sweep_page as write_sweep_page

__all__ = [
    "budgets",
    "canvas",
    "figures",
    "node_states",
    "observed",
    "over_axis",
    "provisions",
    "tables",
    "write_sweep_page",
]


def __getattr__(name: str) -> Any:
    if name == "write_sweep_page":
        return getattr(import_module("hetsched.report.page.sweeps"), name)
    if name in __all__:
        return import_module(f"hetsched.report.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
