"""The engine that computes: hetsched's own extension, or that of an installed package which adds parts to it.

Such a package holds a whole engine, built from a Rust crate on top of `hetsched-py`, and names it in its metadata as an
entry point. ``from hetsched import _core`` is the engine that was found, for everything in this package.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from hetsched.checks import listed, reason_of
from hetsched.errors import ConfigError

GROUP = "hetsched.engine"
"""Entry points of packages that hold an engine."""

_OWN = "hetsched._core"


@dataclass(frozen=True)
class Engine:
    """A compiled module, and the name and version of the package that brought it; none of hetsched's own."""

    module: ModuleType
    package: str | None = None

    def record(self) -> dict[str, Any]:
        """Record of it in provenance: nothing of hetsched's own, whose version stands for it."""
        if self.package is None:
            return {}
        added = [f"{part['role']}={part['name']}" for part in self.module.parts() if part["is_added"]]
        return {"engine": {"package": self.package, "sha256": _sha256(str(self.module.__file__)), "parts": added}}


@cache
def engine() -> Engine:
    """The engine of this process; takes the place of ``hetsched._core``."""
    own = import_module(_OWN)
    names = vars(sys.modules["hetsched"])
    # The import has set it. Until the engine is settled the next who asks for it comes here again.
    names.pop("_core", None)
    chosen = _chosen(own)
    names["_core"] = sys.modules[_OWN] = chosen.module
    return chosen


def _chosen(own: ModuleType) -> Engine:
    points = sorted(entry_points(group=GROUP), key=_package)
    if not points:
        return Engine(own)
    if len(points) > 1:
        found = listed(_package(point) for point in points)
        raise _fault(found, "one installed package with an engine; one crate can hold the parts of all of them")
    return Engine(_loaded(points[0], own.__version__), _package(points[0]))


def _loaded(point: EntryPoint, version: str) -> ModuleType:
    """The engine of an entry point, which must be of this version."""
    try:
        module = import_module(point.value)
    except ImportError as error:
        raise _fault(f"{_package(point)}, {reason_of(error)}", f"`{point.value}`, which its metadata names") from error
    built_for = getattr(module, "__version__", None)
    if built_for != version or not hasattr(module, "parts"):
        found = "no engine" if built_for is None else f"the engine of hetsched {built_for}"
        raise _fault(f"{found} in {_package(point)}", f"that of hetsched {version}, which is installed; build it again")
    return module


def _package(point: EntryPoint) -> str:
    return point.name if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _fault(found: str, expected: str) -> ConfigError:
    return ConfigError([("engine", found, expected)])


@cache
def _sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
