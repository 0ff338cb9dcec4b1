"""The single-node workload of the COA paper: STREAM and HPCG jobs of similar total time."""

from __future__ import annotations

from hetsched.workload.generators.distributions import Distribution
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.parameters import NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.generators.utilization_targeted import CONTROL, submitted_to_target
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "coa_single"]

PARAMETERS = (
    NODES,
    Parameter("stream_jobs", "jobs of STREAM", "whole", "jobs", 0, 10_000_000),
    Parameter("hpcg_jobs", "jobs of HPCG", "whole", "jobs", 0, 10_000_000),
    Parameter("stream_runtime_s", "run length of STREAM", "runtime", "seconds"),
    Parameter("hpcg_runtime_s", "run length of HPCG", "runtime", "seconds"),
    *CONTROL,
    WALLTIME_FACTOR,
    SEED,
)


def coa_single(
    *,
    nodes: int = 1990,
    utilization: float = 0.8,
    stream_jobs: int = 5700,
    hpcg_jobs: int = 3400,
    stream_runtime_s: float | str | Distribution = 234.0,
    hpcg_runtime_s: float | str | Distribution = 392.0,
    fluctuation: float = 0.04,
    fluctuation_s: float | None = None,
    ramp_s: float | None = None,
    interval_s: float = 10.0,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """5,700 STREAM and 3,400 HPCG jobs of one node each on 1,990 nodes (COA/SWA paper, Table 3).

    The paper gives the counts, the nodes, the two utilizations (0.8 busy, 0.4 free) and that "the total time for two
    benchmark applications is set to be similar"; it does not give the run lengths. Assumed: HPCG on 128 × 192 × 128
    points takes as much longer than on 104 × 104 × 104 (130 to 151 s in the paper's Fig. 9) as it has more points,
    ``140.5 s × 128·192·128 / 104³ = 392 s``; and STREAM ``392 s × 3400 / 5700 = 234 s``, which makes the total times
    equal. Applications are called ``stream`` and ``hpcg``.

    Parameters
    ----------
    nodes, utilization
        As in `utilization_targeted`; the paper's free scenario is 0.4.
    stream_jobs, hpcg_jobs
        How many.
    stream_runtime_s, hpcg_runtime_s
        Seconds, a distribution, or a text such as ``"uniform:130:151"``.
    fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.

    Raises
    ------
    ConfigError
        With every fault.

    Examples
    --------
    >>> coa_single(seed=1).to_polars()["app"].value_counts(sort=True).rows()
    [('stream', 5700), ('hpcg', 3400)]
    """
    given = locals()
    values = taken(PARAMETERS, given)
    mix = (
        JobClass(values["stream_jobs"], "stream", 1, values["stream_runtime_s"]),
        JobClass(values["hpcg_jobs"], "hpcg", 1, values["hpcg_runtime_s"]),
    )
    return submitted_to_target("coa-single", PARAMETERS, given, mix)


GENERATOR = Generator(
    name="coa-single",
    doc="5,700 STREAM and 3,400 HPCG jobs of one node on 1,990 nodes.",
    source="Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs, Table 3",
    parameters=PARAMETERS,
    function=coa_single,
)
