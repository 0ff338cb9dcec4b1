"""Workloads of published experiments: mixes of jobs, submitted so that utilization fluctuates around a target.

All but `fft2d` are from the COA/SWA paper (Zhou, Fukazawa and Nakashima, "Energy Aware Scheduler of Single/Multi-node
Jobs Exploiting Node Heterogeneity"), `fft2d` is from the hierarchy pool paper (Li, Fukazawa, Nakashima and Nanri).
"""

from __future__ import annotations

from typing import Annotated

from hetsched.checks import shown
from hetsched.errors import ConfigError
from hetsched.params import Parameter
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.distributions import LONGEST_S, Fixed, LogUniform
from hetsched.workload.generators.mixes import JobClass
from hetsched.workload.generators.utilization_targeted import submitted_to_target
from hetsched.workload.jobs import Workload

_SWA_COUNTS = ((774, 1043), (17, 51))
"""Jobs of 1 and of 8 nodes, short and long: A, B, C and D of the paper."""

_LAUREL2_COUNTS = ((10_472, 7_749, 10_437), (253, 172, 516), (1, 0, 3))
"""Jobs of 1, 2 to 8 and more nodes, by run length: under 360 s, to 3,600 s, over."""

_MOST = 10_000_000


def coa_single(
    *,
    nodes: par.Nodes = 1990,
    stream_jobs: Annotated[int, Parameter("jobs of STREAM", "jobs", high=_MOST)] = 5700,
    hpcg_jobs: Annotated[int, Parameter("jobs of HPCG", "jobs", high=_MOST)] = 3400,
    stream_runtime_s: Annotated[par.Runtime, par.runtime("run length of STREAM")] = 234.0,
    hpcg_runtime_s: Annotated[par.Runtime, par.runtime("run length of HPCG")] = 392.0,
    utilization: par.Utilization = 0.8,
    fluctuation: par.Fluctuation = 0.04,
    fluctuation_s: par.FluctuationS = None,
    ramp_s: par.RampS = None,
    interval_s: par.IntervalS = 10.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """5,700 STREAM and 3,400 HPCG jobs of one node each on 1,990 nodes (COA/SWA paper, Table 3).

    The paper gives the counts, the nodes, the two utilizations (0.8 busy, 0.4 free) and that "the total time for two
    benchmark applications is set to be similar"; it does not give the run lengths. Assumed: HPCG on 128 × 192 × 128
    points takes as much longer than on 104 × 104 × 104 (130 to 151 s in the paper's Fig. 9) as it has more points,
    ``140.5 s × 128·192·128 / 104³ = 392 s``; and STREAM ``392 s × 3400 / 5700 = 234 s``, which makes the total times
    equal. Applications are called ``stream`` and ``hpcg``.

    Parameters
    ----------
    nodes, utilization, fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`; the utilization of the paper's free scenario is 0.4.
    stream_jobs, hpcg_jobs
        How many.
    stream_runtime_s, hpcg_runtime_s
        Seconds, a distribution, or a text such as ``"uniform:130:151"``.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> coa_single(seed=1).to_polars()["app"].value_counts(sort=True).rows()
    [('stream', 5700), ('hpcg', 3400)]
    """
    given = par.taken(coa_single, locals())
    mix = (
        JobClass(given.stream_jobs, "stream", 1, given.stream_runtime_s),
        JobClass(given.hpcg_jobs, "hpcg", 1, given.hpcg_runtime_s),
    )
    return submitted_to_target(coa_single, given, mix)


def swa_multi(
    *,
    nodes: par.Nodes = 665,
    runtime_s: Annotated[float, Parameter("run length of one iteration of HPCG", "seconds", 1e-3, 1e6)] = 140.5,
    long_ratio: Annotated[float, Parameter("run length of B and D over that of A and C", low=1.0, high=1e4)] = 10.0,
    copies: Annotated[int, Parameter("how often the mix is taken", low=1, high=10_000)] = 1,
    utilization: par.Utilization = 0.8,
    fluctuation: par.Fluctuation = 0.04,
    fluctuation_s: par.FluctuationS = None,
    ramp_s: par.RampS = None,
    interval_s: par.IntervalS = 10.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """Jobs A, B, C, D on 665 nodes (COA/SWA paper, Table 5).

    A: 774 jobs of 1 node, 1 iteration; B: 1,043 of 1 node, 10 iterations; C: 17 of 8 nodes, 1 iteration; D: 51 of 8
    nodes, 10 iterations. Assumed: an iteration takes 140.5 s at nominal speed, the middle of the 130 to 151 s that the
    paper measured for 104 × 104 × 104 points without a cap, also on 8 nodes (208³ points, as many a node); what a cap
    adds is the variation table's time factor. All are the application ``hpcg``.

    Parameters
    ----------
    nodes, utilization, fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`; the utilization of the paper's free scenario is 0.4.
    runtime_s
        Of A and C, seconds.
    long_ratio
        How much longer B and D run.
    copies
        How often the mix is taken: one is 4,100 s of 532 busy nodes, and filling and emptying are a large part of that.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> swa_multi(seed=1).to_polars()["node_count"].value_counts(sort=True).rows()
    [(1, 1817), (8, 68)]
    """
    given = par.taken(swa_multi, locals())
    if runtime_s * long_ratio > LONGEST_S:
        most = f"at most {LONGEST_S / runtime_s:g}: no run is longer than {LONGEST_S:g} s"
        raise ConfigError([("long_ratio", shown(long_ratio), most)])
    lengths = (Fixed(given.runtime_s), Fixed(given.runtime_s * given.long_ratio))
    mix = tuple(
        JobClass(count * given.copies, "hpcg", size, length)
        for size, counts in zip((1, 8), _SWA_COUNTS, strict=True)
        for length, count in zip(lengths, counts, strict=True)
    )
    return submitted_to_target(swa_multi, given, mix)


def laurel2_week(
    *,
    nodes: par.Nodes = 665,
    shortest_s: Annotated[float, Parameter("shortest run", "seconds", 1e-3, 360.0)] = 1.0,
    longest_s: Annotated[float, Parameter("longest run", "seconds", 3600.0, 1e8)] = 86_400.0,
    largest_nodes: Annotated[int, Parameter("nodes of the largest job", "nodes", 9, par.MOST_NODES)] = 32,
    app: Annotated[str, Parameter("application of all jobs")] = "hpcg",
    utilization: par.Utilization = 0.8,
    fluctuation: par.Fluctuation = 0.04,
    fluctuation_s: par.FluctuationS = None,
    ramp_s: par.RampS = None,
    interval_s: par.IntervalS = 10.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """29,603 jobs in the classes of the COA/SWA paper's Table 4 (Laurel 2, 18 to 25 September 2019).

    The table counts jobs by nodes (1, 2 to 8, more) and run length (under 360 s, to 3,600 s, over). Assumed within a
    class: run lengths log-uniform from its lower to its upper end, the open ends being `shortest_s` and `longest_s`;
    node counts with probability in proportion to 1 / nodes (log-uniform), the open end being `largest_nodes`; and
    submission to a target, as in the paper's simulation. With the defaults the jobs last about a week on 665 nodes at
    80 %, as they did on the machine they come from.

    Parameters
    ----------
    nodes, utilization, fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.
    shortest_s, longest_s
        Ends of the run lengths, seconds.
    largest_nodes
        End of the node counts, at least 9.
    app
        What all jobs are called; the paper runs HPCG in their place.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> jobs = laurel2_week(seed=1).to_polars()
    >>> len(jobs), jobs.filter((pl.col("node_count") == 1) & (pl.col("runtime_s") > 3600)).height
    (29603, 10437)
    """
    given = par.taken(laurel2_week, locals())
    if largest_nodes > nodes:
        raise ConfigError([("largest_nodes", shown(largest_nodes), f"at most the {nodes} nodes there are")])
    ends_s = ((given.shortest_s, 360.0), (360.0, 3600.0), (3600.0, given.longest_s))
    sizes = ({1: 1.0}, _log_uniform(2, 8), _log_uniform(9, given.largest_nodes))
    mix = tuple(
        JobClass(count, given.app, size, LogUniform(*ends))
        for size, counts in zip(sizes, _LAUREL2_COUNTS, strict=True)
        for ends, count in zip(ends_s, counts, strict=True)
    )
    return submitted_to_target(laurel2_week, given, mix)


def _log_uniform(low: int, high: int) -> dict[int, float]:
    """Shares of node counts in proportion to 1 / nodes, both ends included."""
    weights = {size: 1.0 / size for size in range(low, high + 1)}
    total = sum(weights.values())
    return {size: weight / total for size, weight in weights.items()}


def fft2d(
    *,
    nodes: par.Nodes = 2000,
    small_jobs: Annotated[int, Parameter("jobs of size 3600", "jobs", high=_MOST)] = 6102,
    large_jobs: Annotated[int, Parameter("jobs of size 7200", "jobs", high=_MOST)] = 25_050,
    small_runtime_s: Annotated[par.Runtime, par.runtime("run length at size 3600")] = 60.0,
    large_runtime_s: Annotated[par.Runtime, par.runtime("run length at size 7200")] = 260.0,
    utilization: par.Utilization = 0.65,
    fluctuation: par.Fluctuation = 0.02,
    fluctuation_s: par.FluctuationS = None,
    ramp_s: par.RampS = None,
    interval_s: par.IntervalS = 10.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """6,102 FFT2D jobs of size 3600 and 25,050 of size 7200, one node each (hierarchy pool paper, Table 5).

    The paper gives the counts, 36 processes a job (the cores of one node), the 65 to 80 % in which the traced machine's
    usage moved, and that the usage of its own simulation reached 67 % at most. So the target is 0.65 and wanders by
    0.02: its highest value is the paper's highest usage, and its mean lies in the traced range. Replayed at nominal
    speed usage peaks there, to a percent; on nodes of different speed, where jobs end after the next ones have been
    submitted, some 2 percent of the nodes higher. Assumed: 2,000 nodes (the paper's ITO); 60 s at size 3600, and at
    size 7200 as much longer as an FFT of that size needs more operations, ``4 × log 7200 / log 3600 = 4.34`` times.
    Applications are called ``fft2d-3600`` and ``fft2d-7200``.

    Parameters
    ----------
    nodes, utilization, fluctuation, fluctuation_s, ramp_s, interval_s, walltime_factor, seed
        As in `utilization_targeted`.
    small_jobs, large_jobs
        How many of size 3600 and of size 7200.
    small_runtime_s, large_runtime_s
        Seconds, a distribution, or a text such as ``"uniform:50:70"``.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> fft2d(seed=1).to_polars()["app"].value_counts(sort=True).rows()
    [('fft2d-7200', 25050), ('fft2d-3600', 6102)]
    """
    given = par.taken(fft2d, locals())
    mix = (
        JobClass(given.small_jobs, "fft2d-3600", 1, given.small_runtime_s),
        JobClass(given.large_jobs, "fft2d-7200", 1, given.large_runtime_s),
    )
    return submitted_to_target(fft2d, given, mix)
