"""Power-aware scheduling of high-performance computing jobs on nodes that are not alike, simulated exactly.

Names load when they are first used, so that a command that only checks its options starts at once. Editors and type
checkers read ``__init__.pyi``, which ``tools/write_stub.py`` writes.
"""

from __future__ import annotations

from importlib import import_module

# To import it would take time in which Ctrl-C finds nothing of the command yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HOMES = {
    "_core": ("__version__",),
    "assignment": ("assign", "assign_types"),
    "errors": ("ConfigError", "HetschedError", "OutputError", "SimulationError", "TraceError"),
    "calibration": ("Calibration", "calibrate"),
    "contract": ("Contract", "read_contract"),
    "exchanges": ("Hindsight", "hindsight"),
    "features.events": ("failures",),
    "live.controller": ("Controller",),
    "live.journal": ("Journal", "read_journal"),
    "many.compare": ("compare",),
    "many.comparison": ("Comparison",),
    "many.sweep": ("sweep",),
    "platform": (
        *("DeviceClass", "DeviceNodes", "Measurements", "NodeClass", "Platform", "Queue", "VariationTable"),
        *("read_measurements", "read_platform", "read_table"),
    ),
    "policy": ("Policy", "presets", "read_policy"),
    "power.models.reading": ("read_model",),
    "provisioning": ("Provision", "provision"),
    "run.events": ("Events", "read_events"),
    "run.metering": ("meter",),
    "run.result": ("Result", "read_result"),
    "run.session": ("Session", "read_session"),
    "run.simulation": ("simulate",),
    "validation": ("Inspection", "Validation", "inspect", "predict_waits", "validate"),
    "whatif": ("WhatIf", "what_if"),
    "workload": (
        *("Workload", "read_batsim", "read_csv", "read_jobs"),
        *("read_parquet", "read_pbs", "read_sacct", "read_swf"),
    ),
}
"""Public names by the modules that have them."""

__all__ = [name for names in _HOMES.values() for name in names]
__all__.sort()

_MODULES = (
    *("analysis", "calibration", "errors", "experiments", "live", "many", "platform", "policy", "power"),
    *("report", "roles", "strategies", "testing", "typing", "validation", "workload"),
)
_WITH_EXTRAS = {"gym": "gymnasium"}
"""Packages that need an extra to be imported at all, and what it installs."""


def __getattr__(name: str) -> Any:
    if name == "_core":
        # Not the submodule of that name where an installed package has an engine with parts of its own.
        return import_module("hetsched.engine").engine().module
    if name in _MODULES or name in _WITH_EXTRAS:
        return import_module(f"hetsched.{name}")
    for module, names in _HOMES.items():
        if name in names:
            if module == "_core":
                return getattr(__getattr__(module), name)
            found = globals()[name] = getattr(import_module(f"hetsched.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from importlib.util import find_spec  # noqa: PLC0415 -- only completion asks

    return sorted({*__all__, *_MODULES, *(name for name, needs in _WITH_EXTRAS.items() if find_spec(needs))})
