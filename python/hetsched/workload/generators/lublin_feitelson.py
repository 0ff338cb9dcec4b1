"""The workload model of Lublin and Feitelson: sizes, run lengths that depend on them, and a daily cycle.

U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003, 1105-1122. Constants and order of steps are those of the
authors' program ``m_lublin99.c`` of the Parallel Workloads Archive for jobs without types (neither batch nor
interactive); lines and random numbers are our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import Faults, listed, shown
from hetsched.errors import ConfigError
from hetsched.params import Parameter
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.columns import Floats, Whole, drawn_apps, generated, note_too_long
from hetsched.workload.jobs import Workload

LONGEST_LOG_S = 12.0
"""Natural logarithm of the longest run, seconds: not quite two days."""

_LONGEST_LOG_GAP_S = 13.0
"""Natural logarithm of the longest time between two submissions at the mean rate, seconds: some five days."""

_BUCKETS = 48
_BUCKET_S = 1800.0
_DAY_S = _BUCKETS * _BUCKET_S
_FIRST_BUCKET = 11
_MOST_DRAWS = 1000

_NODES = Parameter("nodes of the machine the workload is made for", "nodes", 4, par.MOST_NODES)
_LOAD = Parameter("offered load, by packing submissions", low=1e-6, high=1e3, absent="as the model has it")
_U_MED = Parameter("log2 of the size where the stages meet", low=0.0, high=31.0, absent="log2(nodes) - 2.5")


def lublin_feitelson(
    *,
    nodes: Annotated[int, _NODES] = 128,
    jobs: par.Jobs = 10_000,
    load: Annotated[float | None, _LOAD] = None,
    serial_share: Annotated[float, Parameter("jobs of one node", low=0.0, high=1.0)] = 0.244,
    power_of_two_share: Annotated[
        float, Parameter("parallel jobs of 2^k nodes, of all jobs", low=0.0, high=1.0)
    ] = 0.576,
    u_low: Annotated[float, Parameter("log2 of the smallest parallel size", low=0.0, high=30.0)] = 0.8,
    u_med: Annotated[float | None, _U_MED] = None,
    u_prob: Annotated[float, Parameter("share of parallel jobs in the lower stage", low=0.0, high=1.0)] = 0.86,
    a1: Annotated[float, Parameter("shape of the shorter log run lengths", low=1e-3, high=1e4)] = 4.2,
    b1: Annotated[float, Parameter("scale of the shorter log run lengths", "ln s", 1e-6, 100.0)] = 0.94,
    a2: Annotated[float, Parameter("shape of the longer log run lengths", low=1e-3, high=1e4)] = 312.0,
    b2: Annotated[float, Parameter("scale of the longer log run lengths", "ln s", 1e-6, 100.0)] = 0.03,
    pa: Annotated[float, Parameter("share of shorter runs: slope over nodes", "1/node", -1.0, 1.0)] = -0.0054,
    pb: Annotated[float, Parameter("share of shorter runs: at 0 nodes", low=-10.0, high=10.0)] = 0.78,
    a_arr: Annotated[
        float, Parameter("shape of the log time between submissions in rush hours", low=1e-3, high=1e4)
    ] = 10.2303,
    b_arr: Annotated[float, Parameter("scale of it", "ln s", 1e-6, 100.0)] = 0.4871,
    a_num: Annotated[float, Parameter("shape of the daily cycle", low=1e-3, high=1e3)] = 8.1737,
    b_num: Annotated[float, Parameter("scale of the daily cycle", "half hours", 1e-3, 1e3)] = 3.9631,
    arar: Annotated[float, Parameter("factor on a_arr, from rush hours to all hours", low=1e-3, high=1e3)] = 1.0225,
    apps: par.Apps = None,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
) -> Workload:
    """Rigid jobs as Lublin and Feitelson modelled four logs of large machines (JPDC 63(11), 2003).

    * **Sizes**: 1 node with probability `serial_share`; else ``2^x``, rounded, with x two-stage uniform: between
      `u_low` and `u_med` with probability `u_prob`, between `u_med` and log2(nodes) otherwise; x itself is rounded
      first for `power_of_two_share` of all jobs.
    * **Run lengths**: e to the power of a hyper-gamma, gamma(`a1`, `b1`) with probability
      ``p = pa × size + pb`` (kept within 0 and 1), else gamma(`a2`, `b2`); drawn again above e^12 s. Whole seconds.
    * **Submissions**: times between them are e to the power of gamma(`a_arr` × `arar`, `b_arr`), drawn again above
      e^13 s, on a clock that runs with the hour of the day: of the day's 48 half hours, counted from 5:00 on, the
      k-th gets the share of gamma(`a_num`, `b_num`) around 10 + k. Second 0 is midnight. Whole seconds.

    Where nodes are no power of two, sizes of powers of two end at the largest below; the program leaves that open.
    Numbers of one machine size are not tuned for another: the model's own load may be far from what a machine serves,
    so give `load`. It divides all times between submissions by one factor on the clock of the daily cycle, so that the
    cycle stays.

    Parameters
    ----------
    nodes
        Of the machine, at least 4; the model was fitted to machines of some hundred.
    jobs
        How many.
    load
        Offered load of the result, first to last submission, which are brought to the span that it asks for and then
        cut to whole seconds: of a few jobs within seconds it may be far from this. None: as the model has it.
    serial_share, power_of_two_share, u_low, u_med, u_prob
        Of the sizes. `u_med` None: log2(nodes) - 2.5, as the authors recommend, and at least half of log2(nodes).
    a1, b1, a2, b2, pa, pb
        Of the run lengths.
    a_arr, b_arr, a_num, b_num, arar
        Of the submissions.
    apps
        Shares of applications, as in `poisson`; the model knows none. None: unknown.
    walltime_factor
        Requested over run time, at least 1. None: no job asks for a time.
    seed
        All chance comes from it.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them: one out of its range, parameters that contradict each other, times
        longer than any workload holds.

    Examples
    --------
    >>> jobs = lublin_feitelson(nodes=128, jobs=20_000, seed=1).to_polars()
    >>> abs((jobs["node_count"] == 1).mean() - 0.244) < 0.01
    True
    """
    faults = Faults()
    given = par.taken(lublin_feitelson, locals(), faults)
    _refuse_contradictions(given, faults)
    faults.check()
    sizes = _sizes(given)
    runtime_s = _runtimes(given, sizes)
    submit_s = _submits(given, float(np.dot(sizes, runtime_s)))
    if load is None:
        note_too_long(faults, "jobs", jobs, submit_s, "fewer, or a load: the last would be submitted after")
    else:
        note_too_long(faults, "load", load, submit_s, "more: the last job would be submitted after")
    faults.check()
    return generated(
        "lublin-feitelson",
        given,
        submit_s=submit_s,
        runtime_s=runtime_s,
        node_count=sizes,
        app=drawn_apps(given.apps, stream(seed, "lublin.apps"), jobs),
    )


def median_stage(nodes: int, u_med: float | None = None) -> float:
    """Point where the two stages of log2 sizes meet: as given, or 2.5 below the largest and at least half of it."""
    largest = math.log2(nodes)
    return max(largest - 2.5, largest / 2) if u_med is None else u_med


def _refuse_contradictions(given: Any, faults: Faults) -> None:
    if faults.found:
        return
    if given.serial_share + given.power_of_two_share > 1:
        faults.add("power_of_two_share", given.power_of_two_share, f"at most {1 - given.serial_share:g}")
    u_med, largest = median_stage(given.nodes, given.u_med), math.log2(given.nodes)
    if not given.u_low <= u_med <= largest:
        faults.add("u_med", u_med, f"from u_low={given.u_low:g} to log2(nodes)={largest:g}")
    if given.load is not None and given.jobs < 2:
        faults.add("load", given.load, "none for a single job")


def _sizes(given: Any) -> Whole:
    rng, jobs = stream(given.seed, "lublin.sizes"), given.jobs
    largest, u_med = math.log2(given.nodes), median_stage(given.nodes, given.u_med)
    kind = rng.random(jobs)
    is_low = rng.random(jobs) < given.u_prob
    low, high = np.where(is_low, given.u_low, u_med), np.where(is_low, u_med, largest)
    exponent = low + (high - low) * rng.random(jobs)
    is_power = kind < given.serial_share + given.power_of_two_share
    whole = np.minimum(np.floor(exponent + 0.5), math.floor(largest))
    sizes = np.floor(np.exp2(np.where(is_power, whole, exponent)) + 0.5).astype(np.int64)
    return np.where(kind < given.serial_share, 1, sizes)


def _runtimes(given: Any, sizes: Whole) -> Floats:
    rng = stream(given.seed, "lublin.runtimes")
    share = np.clip(given.pa * sizes + given.pb, 0.0, 1.0)

    def draw(rows: Whole) -> Floats:
        is_short = rng.random(len(rows)) < share[rows]
        shape, scale = np.where(is_short, given.a1, given.a2), np.where(is_short, given.b1, given.b2)
        logs: Floats = rng.gamma(shape, scale)
        return logs

    logs = truncated(draw, len(sizes), LONGEST_LOG_S, {name: getattr(given, name) for name in ("a1", "b1", "a2", "b2")})
    runtime_s: Floats = np.floor(np.exp(logs))
    return runtime_s


def _submits(given: Any, area_node_s: float) -> Floats:
    rng = stream(given.seed, "lublin.submits")
    shape, scale = given.a_arr * given.arar, given.b_arr
    known = {name: getattr(given, name) for name in ("a_arr", "b_arr", "arar")}
    logs = truncated(lambda rows: rng.gamma(shape, scale, len(rows)), given.jobs, _LONGEST_LOG_GAP_S, known)
    gaps = np.exp(logs)
    cycle = DailyCycle.gamma(given.a_num, given.b_num)
    points = np.cumsum(gaps)
    if given.load is not None:
        points *= cycle.factor(points, area_node_s / (given.nodes * given.load))
    return np.floor(cycle.time_s(points))


@dataclass(frozen=True)
class DailyCycle:
    """Share of a day's submissions in each of the 48 half hours from midnight on; weights above 0, their mean 1."""

    weights: Floats

    @classmethod
    def gamma(cls, shape: float, scale: float) -> DailyCycle:
        """The cycle in which half hour i of the 48 from the 11th on gets gamma's probability of i ± 1/2."""
        numbers = np.arange(_FIRST_BUCKET, _FIRST_BUCKET + _BUCKETS)
        edges = gamma_cdf(np.append(numbers - 0.5, numbers[-1] + 0.5), shape, scale)
        weights = np.empty(_BUCKETS)
        # Half hours are numbered from 1: the 11th begins at 5:00.
        weights[(numbers - 1) % _BUCKETS] = np.maximum(np.diff(edges), 1e-12)
        return cls(weights / weights.mean())

    def time_s(self, points: Floats) -> Floats:
        """Seconds from midnight at which the clock shows so many points; a day has as many as it has seconds."""
        days, rest = np.divmod(points, _DAY_S)
        shown = np.concatenate([[0.0], np.cumsum(self.weights)]) * _BUCKET_S
        return days * _DAY_S + np.interp(rest, shown, np.arange(_BUCKETS + 1) * _BUCKET_S)  # type: ignore[no-any-return]

    def factor(self, points: Floats, span_s: float) -> float:
        """Factor on ascending `points` that brings the first and the last `span_s` seconds apart."""
        ends = points[[0, -1]]
        low, high = -30.0, 30.0
        for _ in range(80):
            middle = (low + high) / 2
            first_s, last_s = self.time_s(ends * math.exp(middle))
            low, high = (middle, high) if last_s - first_s < span_s else (low, middle)
        return math.exp(high)


def gamma_cdf(x: Floats, shape: float, scale: float) -> Floats:
    """Cumulative distribution function of gamma(shape, scale), by the series of the incomplete gamma function.

    ``P(a, z) = z^a e^-z / Γ(a + 1) × Σ z^n / ((a + 1) ... (a + n))`` (Abramowitz and Stegun 6.5.29), all terms
    positive.
    """
    z = np.asarray(x, dtype=np.float64)[:, np.newaxis] / scale
    # Terms fall from n = z - a on, and are nothing ten times the root after it.
    count = int(np.max(z) + 10 * math.sqrt(float(np.max(z)) + 1) + 50)
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(z) - np.log(shape + np.arange(1, count)), axis=1)
        log_first = shape * np.log(z[:, 0]) - z[:, 0] - math.lgamma(shape + 1)
    terms = np.exp(log_first[:, np.newaxis] + np.concatenate([np.zeros_like(z), logs], axis=1))
    return np.minimum(terms.sum(axis=1), 1.0)  # type: ignore[no-any-return]


def truncated(draw: Callable[[Whole], Floats], count: int, highest: float, shape: Mapping[str, object]) -> Floats:
    """Random numbers of which those above `highest` are drawn again; messages name the parameters `shape`."""
    rows = np.arange(count)
    values = draw(rows)
    for _ in range(_MOST_DRAWS):
        rows = np.flatnonzero(values > highest)
        if not len(rows):
            return values
        values[rows] = draw(rows)
    found = listed(shown(value) for value in shape.values())
    least = f"{values[rows].min():.3g} or more in {len(rows):,} of {count:,} draws"
    expected = f"gamma distributions with logarithms of seconds that often are below {highest:g}, not {least}"
    raise ConfigError([(listed(shape), found, expected)])
