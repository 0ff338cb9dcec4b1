"""Power-aware scheduling of high-performance computing jobs on nodes that are not alike, simulated exactly."""

from hetsched._core import __version__
from hetsched.errors import ConfigError, HetschedError, LoadWarning, OutputError, SimulationError, TraceError
from hetsched.platform import NodeClass, Platform, VariationTable
from hetsched.policy import Policy, presets
from hetsched.result import Result, read_result
from hetsched.simulation import simulate
from hetsched.workload import Workload, read_csv, read_parquet, read_swf

__all__ = [
    "ConfigError",
    "HetschedError",
    "LoadWarning",
    "NodeClass",
    "OutputError",
    "Platform",
    "Policy",
    "Result",
    "SimulationError",
    "TraceError",
    "VariationTable",
    "Workload",
    "__version__",
    "presets",
    "read_csv",
    "read_parquet",
    "read_result",
    "read_swf",
    "simulate",
]
