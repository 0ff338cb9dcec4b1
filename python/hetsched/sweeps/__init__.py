"""Many runs side by side: every workload on every platform under every policy and seed, a row a run.

Names load when they are first used, so that a process that only runs specs starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched.sweeps.side_by_side import sweep
    from hetsched.sweeps.spec import Spec, run_one, specs

__all__ = ["Spec", "run_one", "specs", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "side_by_side" if name == "sweep" else "spec"
    return getattr(import_module(f"hetsched.sweeps.{home}"), name)
