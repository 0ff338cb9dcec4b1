"""Workloads that stand for the VAHRM paper's log: `overloaded`, the same with larger jobs, and `steady`.

The log is not public, and 10,000 jobs are a part of its 118,890 records. So sizes and run lengths are drawn, and the
submissions, those of a Poisson process, are brought to the span that the offered load asks for. The CPU and GPU jobs
are in one of the nine mixes of the paper's Table III.

A limit takes from the mean of a distribution with a long tail. Here the other parameter is found so that the mean
after the limit is the one that is wanted; what is known of a log are means of what was seen.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.params import Parameter
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.columns import Floats, generated, note_too_long
from hetsched.workload.generators.distributions import LONGEST_S, LogNormal
from hetsched.workload.generators.mixes import drawn_sizes
from hetsched.workload.jobs import Workload

MIXES: tuple[str, ...] = tuple(
    f"{ratio}-{power}" for ratio in ("9:1", "5:5", "1:9") for power in ("small", "medium", "large")
)
"""The mixes by name, CPU:GPU and power: workload 0 to 8 of the table."""

_MIX_RANGE = f"0 to {len(MIXES) - 1}, or one of {listed(MIXES)}"


def cpu_gpu_mix(value: object, parameter: str, faults: Faults) -> str:
    """The name of a mix from what a user gave: a workload's number, its name, or either as text."""
    is_number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    text = str(value) if is_number or isinstance(value, str) else ""
    if text.isdecimal() and int(text) < len(MIXES):
        return MIXES[int(text)]
    if text not in MIXES:
        faults.add(parameter, value, f"{_MIX_RANGE}{did_you_mean(text, MIXES)}")
    return text


def _apps_and_devices(mix: str, rng: np.random.Generator, count: int) -> dict[str, pl.Series]:
    """Application (``cpu-small`` ...) and device (``cpu`` or ``gpu``) of that many jobs.

    Shares are exact, rounded to whole jobs. The jobs that get a CPU are those of the lowest of `count` uniform
    draws, so that with one seed every CPU job of 1:9 is one of 5:5, and every one of those is one of 9:1.
    """
    cpu_tenths, power = int(mix[0]), mix.partition("-")[2]
    is_gpu = np.ones(count, dtype=np.int64)
    is_gpu[np.argsort(rng.random(count), kind="stable")[: (cpu_tenths * count + 5) // 10]] = 0
    device = pl.Series("device", ["cpu", "gpu"]).gather(is_gpu)
    return {"app": device + f"-{power}", "device": device}


Load = Annotated[float, Parameter("offered load before `sr`, reached by scaling submissions", low=1e-6, high=1e3)]
ShrinkRatio = Annotated[float, Parameter("shrink ratio: divides all times between submissions", low=1e-6, high=1e6)]
Mix = Annotated[
    int | str | None,
    Parameter(
        "CPU and GPU jobs and their power", absent="no application, no device", form=_MIX_RANGE, take=cpu_gpu_mix
    ),
]
LargestNodes = Annotated[int, Parameter("nodes of the largest job", "nodes", 1, par.MOST_NODES)]
MeanRuntime = Annotated[float, Parameter("mean run length, `longest_s` applied", "seconds", 1e-3, LONGEST_S)]
Sigma = Annotated[float, Parameter("standard deviation of the log run lengths, before `longest_s`", low=1e-3, high=5.0)]
Longest = Annotated[float | None, Parameter("longer runs are cut to it", "seconds", 1e-3, LONGEST_S, "no limit")]
SizeRatio = Annotated[float, Parameter("how frequent a size 2^k is over the one before", low=1e-3, high=10.0)]


def overloaded(
    *,
    nodes: par.Nodes = 540,
    jobs: par.Jobs = 10_000,
    load: Load = 1.2,
    sr: ShrinkRatio = 1.0,
    mix: Mix = "5:5-medium",
    size_ratio: SizeRatio = 0.31,
    largest_nodes: LargestNodes = 64,
    mean_runtime_s: MeanRuntime = 3600.0,
    sigma: Sigma = 1.8,
    longest_s: Longest = 86_400.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """Some 28 hours of CPU and GPU jobs on 540 nodes that are asked for more than they can do.

    The VAHRM paper takes 10,000 of the 118,890 records that TSUBAME3.0 logged in June and July 2019 and does not say
    which; the log is not public. Here they follow each other; `overloaded_large` has larger jobs, `steady` takes them
    from two months. Assumed of them:

    * **Sizes** 1, 2, 4 ... `largest_nodes`, each `size_ratio` times as frequent as the one before: the sizes are
      geometric with a probability of 0.69 for one node, 1.8 nodes on average.
    * **Run lengths** log-normal, those above `longest_s` cut to it, as jobs that reach a queue's limit are; their mean
      is `mean_runtime_s` after that, and before it 13 % more.
    * **Submissions** of a Poisson process from second 0 on, scaled so that the offered load, from the first to the
      last, is `load`, exactly; then divided by `sr`, so that it is ``load × sr``.
    * **Users and queues** none: jobs that a user repeats are what `app` says, or flags drawn by `flag_first_runs`.

    With one seed, submissions, sizes and run lengths are the same for all mixes, and CPU jobs of a mix with few of them
    are CPU jobs of one with more.

    Parameters
    ----------
    nodes
        Of the machine.
    jobs
        How many, at least 2.
    load
        Offered load where `sr` is 1.
    sr
        The paper's shrink ratio of submission times. (Of any workload: `Workload.scale_arrivals`.)
    mix
        Workload 0 to 8 of the paper's Table III, or its name, ``"9:1-small"`` (CPU:GPU and power). Fills ``app``
        (``cpu-small`` ... ``gpu-large``: job types 1 to 6 of Table IV) and ``device``. None: neither is known.
    size_ratio
        From a size to twice the size.
    largest_nodes
        No job is larger.
    mean_runtime_s, sigma
        Mean of the run lengths, seconds; standard deviation of their logarithms.
    longest_s
        The longest run, seconds. None: no limit.
    walltime_factor
        Requested over run time, at least 1. None: no job asks for a time, and backfilling knows run lengths exactly.
    seed
        All chance comes from it.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them: one out of its range, parameters that contradict each other, times
        longer than any workload holds.

    Examples
    --------
    >>> workload = overloaded(mix="9:1-small", seed=1)
    >>> workload.to_polars()["app"].value_counts(sort=True).rows()
    [('cpu-small', 9000), ('gpu-small', 1000)]
    >>> round(workload.offered_load(hs.Platform.homogeneous(nodes=540, idle_w=320, tdp_w=1440)), 6)
    1.2
    """
    faults = Faults()
    given = par.taken(overloaded, locals(), faults)
    _note_contradictions(given, faults)
    faults.check()
    return _logged("overloaded", given, geometric_sizes(given.size_ratio, given.largest_nodes))


def overloaded_large(
    *,
    nodes: par.Nodes = 540,
    jobs: par.Jobs = 10_000,
    load: Load = 1.2,
    sr: ShrinkRatio = 1.0,
    mix: Mix = "5:5-medium",
    size_ratio: SizeRatio = 0.69,
    largest_nodes: LargestNodes = 64,
    mean_runtime_s: MeanRuntime = 3600.0,
    sigma: Sigma = 1.8,
    longest_s: Longest = 86_400.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """Some five days of CPU and GPU jobs on 540 nodes that are asked for more than they can do.

    As `overloaded`, but with larger jobs: each size is 0.69 times as frequent as half of it, 7.5 nodes on average, so
    that 10,000 jobs are as many days as 10,000 records of the VAHRM paper's log.

    Parameters
    ----------
    nodes, jobs, load, sr, mix, size_ratio, largest_nodes, mean_runtime_s, sigma, longest_s, walltime_factor, seed
        As in `overloaded`.

    Raises
    ------
    ConfigError
        As `overloaded`.

    Examples
    --------
    >>> small, large = overloaded(seed=1).to_polars(), overloaded_large(seed=1).to_polars()
    >>> round(small["node_count"].mean(), 1), round(large["node_count"].mean(), 1)
    (1.7, 7.6)
    """
    faults = Faults()
    given = par.taken(overloaded_large, locals(), faults)
    _note_contradictions(given, faults)
    faults.check()
    return _logged("overloaded-large", given, geometric_sizes(given.size_ratio, given.largest_nodes))


def steady(
    *,
    nodes: par.Nodes = 540,
    jobs: par.Jobs = 10_000,
    load: Load = 0.85,
    sr: ShrinkRatio = 1.0,
    mix: Mix = "5:5-medium",
    mean_nodes: Annotated[float, Parameter("mean size", "nodes", 1.001, 1e6)] = 10.0,
    largest_nodes: LargestNodes = 128,
    mean_runtime_s: MeanRuntime = 18_000.0,
    sigma: Sigma = 1.4,
    longest_s: Longest = 86_400.0,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """Some six weeks of CPU and GPU jobs on 540 nodes that can just serve them.

    As `overloaded`, but the paper's 10,000 jobs are taken from all of the log's two months, and they are the machine's
    whole work. Assumed of them:

    * **Sizes** 1, 2, 3 ... `largest_nodes`, in proportion to a power of the size that makes the mean `mean_nodes`.
    * **Run lengths** log-normal, those above `longest_s` cut to it, their mean `mean_runtime_s` after that. Both
      readings are of one log, so both have its limit of a day. (Without one the longest of 10,000 runs takes weeks, and
      the makespan is what becomes of it.)
    * **Submissions** as in `overloaded`. The load decides their span: 10,000 jobs of 10 nodes and 5 hours are 45 days
      of 540 nodes at 0.85, and would be a load of 0.63 if they were spread over 61 days; ``jobs=13_440`` fills these.

    Parameters
    ----------
    nodes, jobs, load, sr, mix, walltime_factor, seed
        As in `overloaded`.
    mean_nodes
        Mean size, above 1 and at most the mean of all sizes.
    largest_nodes
        The largest size.
    mean_runtime_s, sigma, longest_s
        As in `overloaded`.

    Raises
    ------
    ConfigError
        As `overloaded`.

    Examples
    --------
    >>> jobs = steady(seed=1).to_polars()
    >>> jobs["node_count"].max() <= 128, round(jobs["submit_s"].max() / 86_400 / 45, 1)
    (True, 1.0)
    """
    faults = Faults()
    given = par.taken(steady, locals(), faults)
    _note_contradictions(given, faults)
    if not faults.found and mean_nodes > (1 + largest_nodes) / 2:
        faults.add("mean_nodes", mean_nodes, f"at most {(1 + largest_nodes) / 2:g}, the mean of 1 to {largest_nodes}")
    faults.check()
    return _logged("steady", given, power_law_sizes(given.mean_nodes, given.largest_nodes))


def _note_contradictions(given: Any, faults: Faults) -> None:
    """Note what each parameter may be, but not all of them together, unless there are faults already."""
    if faults.found:
        return
    if given.jobs < 2:
        faults.add("jobs", given.jobs, "at least 2: a load needs a first and a last submission")
    if given.largest_nodes > given.nodes:
        faults.add("largest_nodes", given.largest_nodes, f"at most the {given.nodes} nodes there are")
    longest_s = given.longest_s
    if longest_s is not None and _lengths(given) is None:
        faults.add("mean_runtime_s", given.mean_runtime_s, f"well below longest_s={longest_s:g}")


def _logged(kind: str, given: Any, shares: Mapping[int, float]) -> Workload:
    """The workload of settled parameters and shares of sizes.

    Submissions, sizes, run lengths and mix have streams of their own, under names that all kinds share.
    """
    seed, jobs = given.seed, given.jobs
    lengths = _lengths(given)
    assert lengths is not None
    runtime_s = lengths.draw(stream(seed, "cpu-gpu log.runtimes"), jobs)
    if given.longest_s is not None:
        runtime_s = np.minimum(runtime_s, given.longest_s)
    node_count = drawn_sizes(shares, stream(seed, "cpu-gpu log.sizes"), jobs)
    span_s = float(np.dot(node_count, runtime_s)) / (given.nodes * given.load * given.sr)
    submit_s = _submits(stream(seed, "cpu-gpu log.gaps"), jobs, span_s)
    faults = Faults()
    note_too_long(faults, "load", given.load, submit_s, "more: the last job would be submitted after")
    note_too_long(faults, "mean_runtime_s", given.mean_runtime_s, runtime_s, "less: a job would run for")
    faults.check()
    rng = stream(seed, "cpu-gpu log.devices")
    drawn = {"app": None} if given.mix is None else _apps_and_devices(given.mix, rng, jobs)
    return generated(kind, given, submit_s=submit_s, runtime_s=runtime_s, node_count=node_count, **drawn)


def _lengths(given: Any) -> LogNormal | None:
    """Distribution of run lengths before the limit; None if none has the mean."""
    mean_s, sigma, longest_s = given.mean_runtime_s, given.sigma, given.longest_s
    return LogNormal(mean_s, sigma) if longest_s is None else limited_lognormal(mean_s, sigma, longest_s)


def _submits(rng: np.random.Generator, jobs: int, span_s: float) -> Floats:
    """Submits of a Poisson process, from 0 to `span_s`."""
    points = np.cumsum(rng.exponential(size=jobs))
    shares: Floats = (points - points[0]) / (points[-1] - points[0])
    return shares * span_s


def geometric_sizes(ratio: float, largest: int) -> dict[int, float]:
    """Shares of the sizes 1, 2, 4 ... up to `largest`: each is `ratio` times as frequent as the one before."""
    weights = {2**k: ratio**k for k in range(largest.bit_length())}
    return _shares(weights)


def power_law_sizes(mean: float, largest: int) -> dict[int, float]:
    """Shares of the sizes 1, 2, 3 ... `largest` in proportion to ``size^-a``, the exponent so that this is the mean."""
    # Exactly as frequent at the end of the range; a root there would be found from one side only.
    if mean >= (1 + largest) / 2:
        return _shares(dict.fromkeys(range(1, largest + 1), 1.0))
    sizes = np.arange(1, largest + 1, dtype=np.float64)
    logs = np.log(sizes)

    def mean_of(exponent: float) -> float:
        weights = np.exp(-exponent * logs)
        return float((sizes * weights).sum() / weights.sum())

    exponent = _root(lambda a: mean - mean_of(a), 0.0, 64.0)
    return _shares({size: float(size**-exponent) for size in range(1, largest + 1)})


def mean_up_to(lengths: LogNormal, longest_s: float) -> float:
    """The mean of log-normal lengths, those above a limit counted as the limit, seconds.

    With ``s`` for sigma and ``m`` for the mean of the logarithm it is ``e^(m + s²/2) Φ((ln c - m - s²) / s) +
    c Φ((m - ln c) / s)``.
    """
    sigma, log_mean = lengths.sigma, math.log(lengths.mean_s) - lengths.sigma**2 / 2
    distance = (math.log(longest_s) - log_mean) / sigma
    return lengths.mean_s * _normal_cdf(distance - sigma) + longest_s * _normal_cdf(-distance)


def limited_lognormal(mean_s: float, sigma: float, longest_s: float) -> LogNormal | None:
    """The log-normal whose lengths, those above a limit cut to it, have this mean; None if none has."""
    highest = 1e9
    if mean_up_to(LogNormal(highest, sigma), longest_s) <= mean_s:
        return None
    low, high = math.log(mean_s), math.log(highest)
    log_mean = _root(lambda at: mean_up_to(LogNormal(math.exp(at), sigma), longest_s) - mean_s, low, high)
    return LogNormal(math.exp(log_mean), sigma)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a rising function, to the last digit that halving finds."""
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _shares(weights: dict[int, float]) -> dict[int, float]:
    total = math.fsum(weights.values())
    return {size: weight / total for size, weight in weights.items()}
