"""Power-aware scheduling of high-performance computing jobs on nodes that are not alike, simulated exactly."""

from hetsched._core import __version__
from hetsched.errors import ConfigError, HetschedError, SimulationError, TraceError
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy, presets
from hetsched.result import Result, read_result
from hetsched.simulation import simulate
from hetsched.workload import Workload, read_csv, read_parquet, read_swf

__all__ = [
    "ConfigError",
    "HetschedError",
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
