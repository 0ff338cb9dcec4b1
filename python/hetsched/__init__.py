"""Power-aware scheduling of high-performance computing jobs on nodes that are not alike, simulated exactly.

Names load when they are first used, so that a command that only checks its options starts at once.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers take it for true. To import it would take time in which Ctrl-C finds nothing of the command yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hetsched._core import __version__
    from hetsched.assignment import assign, assign_types
    from hetsched.contract import Contract, read_contract
    from hetsched.errors import (
        ConfigError,
        DeviceWarning,
        HetschedError,
        LoadWarning,
        OutputError,
        PlatformWarning,
        PowerWarning,
        ReplayWarning,
        ResultWarning,
        RunWarning,
        SimulationError,
        TraceError,
        WorkWarning,
    )
    from hetsched.features.outages import failures
    from hetsched.many.compare import Comparison, compare
    from hetsched.many.sweep import sweep
    from hetsched.platform import (
        DeviceClass,
        DeviceNodes,
        Measurements,
        NodeClass,
        Platform,
        Queue,
        VariationTable,
        read_measurements,
        read_platform,
        read_table,
    )
    from hetsched.policy import Policy, read_policy
    from hetsched.policy.presets import presets
    from hetsched.power.models.model import read_model
    from hetsched.provisioning import Provision, provision
    from hetsched.run.events import Events, read_events
    from hetsched.run.metering import meter
    from hetsched.run.result import Result, read_result
    from hetsched.run.session import Session, read_session
    from hetsched.run.simulation import simulate
    from hetsched.workload import Workload, read_batsim, read_csv, read_jobs, read_parquet, read_pbs, read_swf

__all__ = [
    "Comparison",
    "ConfigError",
    "Contract",
    "DeviceClass",
    "DeviceNodes",
    "DeviceWarning",
    "Events",
    "HetschedError",
    "LoadWarning",
    "Measurements",
    "NodeClass",
    "OutputError",
    "Platform",
    "PlatformWarning",
    "Policy",
    "PowerWarning",
    "Provision",
    "Queue",
    "ReplayWarning",
    "Result",
    "ResultWarning",
    "RunWarning",
    "Session",
    "SimulationError",
    "TraceError",
    "VariationTable",
    "WorkWarning",
    "Workload",
    "__version__",
    "assign",
    "assign_types",
    "compare",
    "failures",
    "meter",
    "presets",
    "provision",
    "read_batsim",
    "read_contract",
    "read_csv",
    "read_events",
    "read_jobs",
    "read_measurements",
    "read_model",
    "read_parquet",
    "read_pbs",
    "read_platform",
    "read_policy",
    "read_result",
    "read_session",
    "read_swf",
    "read_table",
    "simulate",
    "sweep",
]

_HOMES = {
    "_core": ("__version__",),
    "assignment": ("assign", "assign_types"),
    "errors": (
        *("ConfigError", "HetschedError", "OutputError", "SimulationError", "TraceError"),
        *(
            "DeviceWarning",
            "LoadWarning",
            "PlatformWarning",
            "PowerWarning",
            "ReplayWarning",
            "ResultWarning",
            "RunWarning",
            "WorkWarning",
        ),
    ),
    "contract": ("Contract", "read_contract"),
    "features.outages": ("failures",),
    "many.compare": ("Comparison", "compare"),
    "many.sweep": ("sweep",),
    "platform": (
        *("DeviceClass", "DeviceNodes", "Measurements", "NodeClass", "Platform", "Queue", "VariationTable"),
        *("read_measurements", "read_platform", "read_table"),
    ),
    "policy": ("Policy", "presets", "read_policy"),
    "power.models.model": ("read_model",),
    "provisioning": ("Provision", "provision"),
    "run.events": ("Events", "read_events"),
    "run.metering": ("meter",),
    "run.result": ("Result", "read_result"),
    "run.session": ("Session", "read_session"),
    "run.simulation": ("simulate",),
    "workload": ("Workload", "read_batsim", "read_csv", "read_jobs", "read_parquet", "read_pbs", "read_swf"),
}


_PACKAGES = (
    "analysis",
    "contract",
    "experiments",
    "platform",
    "policy",
    "power",
    "report",
    "roles",
    "sweeps",
    "testing",
    "workload",
)
_WITH_EXTRAS = ("gym",)
"""Packages that need an extra to be imported at all."""


def __getattr__(name: str) -> Any:
    if name == "_core":
        # Not the submodule of that name where an installed package has an engine with parts of its own.
        return import_module("hetsched.engine").engine().module
    if name in _PACKAGES or name in _WITH_EXTRAS:
        return import_module(f"hetsched.{name}")
    for module, names in _HOMES.items():
        if name in names:
            if module == "_core":
                return getattr(__getattr__(module), name)
            found = globals()[name] = getattr(import_module(f"hetsched.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
