"""Pictures (with matplotlib, from the extra `plots`) and tables for a terminal.

Frames in, files or tables out; the numbers come from `hetsched.analysis`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_EARLIER = {"axes": "canvas", "energy_wait_figure": "figures", "gantt": "figures"}
"""Earlier modules of `unix_zero`, `energy_against_wait` and `gantt`."""


def __getattr__(name: str) -> Any:
    if name in _EARLIER:
        return import_module(f"hetsched.report.{_EARLIER[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
