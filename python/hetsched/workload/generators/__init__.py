"""Workloads made rather than read: generators, and a table of them all.

A generator is a function of keyword parameters and a seed; its workload says in ``report`` and ``history`` how it was
made. The same parameters give the same jobs.
"""

from hetsched.params import Parameter
from hetsched.workload.generators.aoba import aoba
from hetsched.workload.generators.cpu_gpu_log import overloaded, overloaded_large, steady
from hetsched.workload.generators.distributions import (
    Distribution,
    Exponential,
    Fixed,
    LogNormal,
    LogUniform,
    Uniform,
)
from hetsched.workload.generators.lublin_feitelson import lublin_feitelson
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.poisson import poisson
from hetsched.workload.generators.published import coa_single, fft2d, laurel2_week, swa_multi
from hetsched.workload.generators.registry import GENERATORS, Generator, generate
from hetsched.workload.generators.utilization_targeted import utilization_targeted

__all__ = [
    "GENERATORS",
    "Distribution",
    "Exponential",
    "Fixed",
    "Generator",
    "JobClass",
    "LogNormal",
    "LogUniform",
    "Parameter",
    "Uniform",
    "aoba",
    "coa_single",
    "fft2d",
    "generate",
    "laurel2_week",
    "lublin_feitelson",
    "overloaded",
    "overloaded_large",
    "poisson",
    "steady",
    "swa_multi",
    "utilization_targeted",
]
