"""Published experiments, run again: machines, mixes and repetitions of each paper, and its numbers next to ours.

`reproduce` runs one by its name. What a policy does is not decided here: every run is a call of `hetsched.simulate`
with a composition that users can name, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hetsched.experiments.registry import EXPERIMENTS

if TYPE_CHECKING:
    from hetsched.experiments.experiment import Experiment, Report, Row
    from hetsched.experiments.reproduction import reproduce

__all__ = ["EXPERIMENTS", "Experiment", "Report", "Row", "reproduce"]

_HOMES = {"experiment": ("Experiment", "Report", "Row"), "reproduction": ("reproduce",)}


def __getattr__(name: str) -> Any:
    # The command line asks for names of experiments long before it needs polars.
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"hetsched.experiments.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
