"""The workload of the hierarchy pool paper: two-dimensional FFTs of two sizes."""

from __future__ import annotations

from hetsched.workload.generators.distributions import Distribution
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.parameters import NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.generators.utilization_targeted import CONTROL, submitted_to_target
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "fft2d"]

PARAMETERS = (
    NODES,
    Parameter("small_jobs", "jobs of size 3600", "whole", "jobs", 0, 10_000_000),
    Parameter("large_jobs", "jobs of size 7200", "whole", "jobs", 0, 10_000_000),
    Parameter("small_runtime_s", "run length at size 3600", "runtime", "seconds"),
    Parameter("large_runtime_s", "run length at size 7200", "runtime", "seconds"),
    *CONTROL,
    WALLTIME_FACTOR,
    SEED,
)


def fft2d(
    *,
    nodes: int = 2000,
    utilization: float = 0.65,
    small_jobs: int = 6102,
    large_jobs: int = 25_050,
    small_runtime_s: float | str | Distribution = 60.0,
    large_runtime_s: float | str | Distribution = 260.0,
    fluctuation: float = 0.02,
    fluctuation_s: float | None = None,
    ramp_s: float | None = None,
    interval_s: float = 10.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """6,102 FFT2D jobs of size 3600 and 25,050 of size 7200, one node each (hierarchy pool paper, Table 5).

    The paper gives the counts, 36 processes a job (the cores of one node), the 65 to 80 % in which the traced machine's
    usage moved, and that the usage of its own simulation reached 67 % at most. So the target is 0.65 and wanders by
    0.02: its highest value is the paper's highest usage, and its mean lies in the traced range. Replayed at nominal
    speed usage peaks there, to a percent; on nodes of unlike speed, where jobs end after the next ones have been
    submitted, some 2 percent of the nodes higher. Assumed: 2,000 nodes (the paper's ITO); 60 s at size 3600, and at
    size 7200 as much longer as an FFT of that size needs more operations, ``4 × log 7200 / log 3600 = 4.34`` times.
    Applications are called ``fft2d-3600`` and ``fft2d-7200``.

    Parameters
    ----------
    nodes, utilization
        As in `utilization_targeted`.
    small_jobs, large_jobs
        How many of size 3600 and of size 7200.
    small_runtime_s, large_runtime_s
        Seconds, a distribution, or a text such as ``"uniform:50:70"``.
    fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.

    Raises
    ------
    ConfigError
        With every fault.

    Examples
    --------
    >>> fft2d(seed=1).to_polars()["app"].value_counts(sort=True).rows()
    [('fft2d-7200', 25050), ('fft2d-3600', 6102)]
    """
    given = locals()
    values = taken(PARAMETERS, given)
    mix = (
        JobClass(values["small_jobs"], "fft2d-3600", 1, values["small_runtime_s"]),
        JobClass(values["large_jobs"], "fft2d-7200", 1, values["large_runtime_s"]),
    )
    return submitted_to_target("fft2d", PARAMETERS, given, mix)


GENERATOR = Generator(
    name="fft2d",
    doc="31,152 FFT2D jobs of two sizes on 2,000 nodes.",
    source="Li, Fukazawa, Nakashima & Nanri, IPSJ SIG Notes 2018-HPC-166(3), Table 5",
    parameters=PARAMETERS,
    function=fft2d,
)
