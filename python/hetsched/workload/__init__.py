"""The jobs of a run: the job table's schema, its checks, its transforms, the readers that fill it, and generators."""

from hetsched.workload.applications import first_run_ratio, flag_first_runs, same_application
from hetsched.workload.describe import Report
from hetsched.workload.formats import read_batsim, read_csv, read_jobs, read_parquet, read_pbs, read_sacct, read_swf
from hetsched.workload.generators import (
    GENERATORS,
    Distribution,
    Exponential,
    Fixed,
    JobClass,
    LogNormal,
    LogUniform,
    Uniform,
    aoba,
    coa_single,
    fft2d,
    generate,
    laurel2_week,
    lublin_feitelson,
    overloaded,
    overloaded_large,
    poisson,
    steady,
    swa_multi,
    utilization_targeted,
)
from hetsched.workload.jobs import Workload
from hetsched.workload.schema import COLUMNS, Column, schema

__all__ = [
    "COLUMNS",
    "GENERATORS",
    "Column",
    "Distribution",
    "Exponential",
    "Fixed",
    "JobClass",
    "LogNormal",
    "LogUniform",
    "Report",
    "Uniform",
    "Workload",
    "aoba",
    "coa_single",
    "fft2d",
    "first_run_ratio",
    "flag_first_runs",
    "generate",
    "laurel2_week",
    "lublin_feitelson",
    "overloaded",
    "overloaded_large",
    "poisson",
    "read_batsim",
    "read_csv",
    "read_jobs",
    "read_parquet",
    "read_pbs",
    "read_sacct",
    "read_swf",
    "same_application",
    "schema",
    "steady",
    "swa_multi",
    "utilization_targeted",
]


def __dir__() -> list[str]:
    return sorted(__all__)
