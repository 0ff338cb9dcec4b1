"""Many runs: sweeps and comparisons, the tasks they are made of, and what executes and keeps them.

`specs` and `run_one` are the two halves of `hetsched.sweep`, for an engine of your own that hands runs out.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched.many.spec import Spec, run_one, specs

__all__ = ["Spec", "run_one", "specs"]


def __getattr__(name: str) -> Any:
    # To show progress alone needs no polars.
    if name in __all__:
        return getattr(import_module("hetsched.many.spec"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
