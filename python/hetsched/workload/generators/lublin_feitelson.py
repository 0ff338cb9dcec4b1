"""The workload model of Lublin and Feitelson: sizes, run lengths that depend on them, and a daily cycle.

U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003, 1105-1122. Constants and order of steps are those of the
authors' program ``m_lublin99.c`` of the Parallel Workloads Archive for jobs without types (neither batch nor
interactive); lines and random numbers are our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.workload.generators.daily_cycle import DailyCycle, truncated
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.made import drawn_apps, generated, note_too_long
from hetsched.workload.generators.parameters import APPS, JOBS, NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "LONGEST_LOG_S", "PARAMETERS", "lublin_feitelson", "median_stage"]

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

LONGEST_LOG_S = 12.0
"""Natural logarithm of the longest run, seconds: not quite two days."""

LONGEST_LOG_GAP_S = 13.0
"""Natural logarithm of the longest time between two submissions at the mean rate, seconds: some five days."""

PARAMETERS = (
    Parameter(NODES.name, NODES.doc, "whole", "nodes", 4, 2**31 - 1),
    JOBS,
    Parameter("load", "offered load, by packing submissions", low=1e-6, high=1e3, absent="as the model has it"),
    Parameter("serial_share", "jobs of one node", low=0.0, high=1.0),
    Parameter("power_of_two_share", "parallel jobs of 2^k nodes, of all jobs", low=0.0, high=1.0),
    Parameter("u_low", "log2 of the smallest parallel size", low=0.0, high=30.0),
    Parameter("u_med", "log2 of the size where the stages meet", "number", "", 0.0, 31.0, "log2(nodes) - 2.5"),
    Parameter("u_prob", "share of parallel jobs in the lower stage", low=0.0, high=1.0),
    Parameter("a1", "shape of the shorter log run lengths", low=1e-3, high=1e4),
    Parameter("b1", "scale of the shorter log run lengths", "number", "ln s", 1e-6, 100.0),
    Parameter("a2", "shape of the longer log run lengths", low=1e-3, high=1e4),
    Parameter("b2", "scale of the longer log run lengths", "number", "ln s", 1e-6, 100.0),
    Parameter("pa", "share of shorter runs: slope over nodes", "number", "1/node", -1.0, 1.0),
    Parameter("pb", "share of shorter runs: at 0 nodes", low=-10.0, high=10.0),
    Parameter("a_arr", "shape of the log time between submissions in rush hours", low=1e-3, high=1e4),
    Parameter("b_arr", "scale of it", "number", "ln s", 1e-6, 100.0),
    Parameter("a_num", "shape of the daily cycle", low=1e-3, high=1e3),
    Parameter("b_num", "scale of the daily cycle", "number", "half hours", 1e-3, 1e3),
    Parameter("arar", "factor on a_arr, from rush hours to all hours", low=1e-3, high=1e3),
    APPS,
    WALLTIME_FACTOR,
    SEED,
)


def lublin_feitelson(
    *,
    nodes: int = 128,
    jobs: int = 10_000,
    load: float | None = None,
    serial_share: float = 0.244,
    power_of_two_share: float = 0.576,
    u_low: float = 0.8,
    u_med: float | None = None,
    u_prob: float = 0.86,
    a1: float = 4.2,
    b1: float = 0.94,
    a2: float = 312.0,
    b2: float = 0.03,
    pa: float = -0.0054,
    pb: float = 0.78,
    a_arr: float = 10.2303,
    b_arr: float = 0.4871,
    a_num: float = 8.1737,
    b_num: float = 3.9631,
    arar: float = 1.0225,
    apps: str | Mapping[str, float] | None = None,
    walltime_factor: float | None = None,
    seed: int = 0,
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
        With every fault: a value out of its range, parameters that contradict each other, times longer than any
        workload holds.

    Examples
    --------
    >>> jobs = lublin_feitelson(nodes=128, jobs=20_000, seed=1).to_polars()
    >>> abs((jobs["node_count"] == 1).mean() - 0.244) < 0.01
    True
    """
    faults = Faults()
    values = taken(PARAMETERS, locals(), faults)
    _refuse_contradictions(values, faults)
    faults.check()
    sizes = _sizes(values)
    runtime_s = _runtimes(values, sizes)
    submit_s = _submits(values, float(np.dot(sizes, runtime_s)))
    if load is None:
        note_too_long(faults, "jobs", jobs, submit_s, "fewer, or a load: the last would be submitted after")
    else:
        note_too_long(faults, "load", load, submit_s, "more: the last job would be submitted after")
    faults.check()
    return generated(
        "lublin-feitelson",
        values,
        submit_s=submit_s,
        runtime_s=runtime_s,
        node_count=sizes,
        app=drawn_apps(values["apps"], stream(seed, "lublin.apps"), jobs),
        walltime_factor=values["walltime_factor"],
    )


def median_stage(nodes: int, u_med: float | None = None) -> float:
    """Where the two stages of log2 sizes meet: as given, or 2.5 below the largest and at least half of it.

    Examples
    --------
    >>> median_stage(128), median_stage(8)
    (4.5, 1.5)
    """
    largest = math.log2(nodes)
    return max(largest - 2.5, largest / 2) if u_med is None else u_med


def _refuse_contradictions(values: dict[str, Any], faults: Faults) -> None:
    if faults.found:
        return
    if values["serial_share"] + values["power_of_two_share"] > 1:
        faults.add("power_of_two_share", values["power_of_two_share"], f"at most {1 - values['serial_share']:g}")
    u_med, largest = median_stage(values["nodes"], values["u_med"]), math.log2(values["nodes"])
    if not values["u_low"] <= u_med <= largest:
        faults.add("u_med", u_med, f"from u_low={values['u_low']:g} to log2(nodes)={largest:g}")
    if values["load"] is not None and values["jobs"] < 2:
        faults.add("load", values["load"], "none for a single job")


def _sizes(values: dict[str, Any]) -> Whole:
    rng, jobs = stream(values["seed"], "lublin.sizes"), values["jobs"]
    largest, u_med = math.log2(values["nodes"]), median_stage(values["nodes"], values["u_med"])
    kind = rng.random(jobs)
    is_low = rng.random(jobs) < values["u_prob"]
    low, high = np.where(is_low, values["u_low"], u_med), np.where(is_low, u_med, largest)
    exponent = low + (high - low) * rng.random(jobs)
    is_power = kind < values["serial_share"] + values["power_of_two_share"]
    whole = np.minimum(np.floor(exponent + 0.5), math.floor(largest))
    sizes = np.floor(np.exp2(np.where(is_power, whole, exponent)) + 0.5).astype(np.int64)
    return np.where(kind < values["serial_share"], 1, sizes)


def _runtimes(values: dict[str, Any], sizes: Whole) -> Floats:
    rng = stream(values["seed"], "lublin.runtimes")
    share = np.clip(values["pa"] * sizes + values["pb"], 0.0, 1.0)

    def draw(rows: Whole) -> Floats:
        is_short = rng.random(len(rows)) < share[rows]
        shape, scale = np.where(is_short, values["a1"], values["a2"]), np.where(is_short, values["b1"], values["b2"])
        logs: Floats = rng.gamma(shape, scale)
        return logs

    logs = truncated(draw, len(sizes), LONGEST_LOG_S, {name: values[name] for name in ("a1", "b1", "a2", "b2")})
    runtime_s: Floats = np.floor(np.exp(logs))
    return runtime_s


def _submits(values: dict[str, Any], area_node_s: float) -> Floats:
    rng = stream(values["seed"], "lublin.submits")
    shape, scale = values["a_arr"] * values["arar"], values["b_arr"]
    known = {name: values[name] for name in ("a_arr", "b_arr", "arar")}
    logs = truncated(lambda rows: rng.gamma(shape, scale, len(rows)), values["jobs"], LONGEST_LOG_GAP_S, known)
    gaps = np.exp(logs)
    cycle = DailyCycle.gamma(values["a_num"], values["b_num"])
    points = np.cumsum(gaps)
    if values["load"] is not None:
        points *= cycle.factor(points, area_node_s / (values["nodes"] * values["load"]))
    return np.floor(cycle.time_s(points))


GENERATOR = Generator(
    name="lublin-feitelson",
    doc="Rigid jobs as modelled after four logs, with a daily cycle.",
    source="Lublin & Feitelson, JPDC 63(11), 2003",
    parameters=PARAMETERS,
    function=lublin_feitelson,
)
