"""Jobs that come independently of each other: a Poisson process, the arrivals of queueing theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.workload.generators.distributions import Distribution
from hetsched.workload.generators.generator import Generator
from hetsched.workload.generators.made import drawn_apps, generated, note_too_long
from hetsched.workload.generators.mixes import drawn_sizes
from hetsched.workload.generators.parameters import APPS, JOBS, NODES, SEED, WALLTIME_FACTOR, Parameter, taken
from hetsched.workload.jobs import Workload

__all__ = ["GENERATOR", "PARAMETERS", "poisson"]

DEFAULT_LOAD = 0.7

PARAMETERS = (
    NODES,
    JOBS,
    Parameter(
        "load", "expected work submitted, as a share of what the nodes can do", low=1e-6, high=1e3, absent="0.7 or rate"
    ),
    Parameter("rate_per_h", "jobs an hour, in place of load", "number", "1/h", 1e-9, 1e9, "as load says"),
    Parameter("runtime_s", "run lengths", "runtime", "seconds"),
    Parameter("sizes", "nodes of a job", "sizes", "nodes"),
    APPS,
    WALLTIME_FACTOR,
    SEED,
)


def poisson(
    *,
    nodes: int = 100,
    jobs: int = 10_000,
    load: float | None = None,
    rate_per_h: float | None = None,
    runtime_s: float | str | Distribution = "exponential:3600",
    sizes: int | str | Mapping[int, float] = 1,
    apps: str | Mapping[str, float] | None = None,
    walltime_factor: float | None = None,
    seed: int = 0,
) -> Workload:
    """Jobs with exponential times between submissions; run lengths, sizes and applications independent of all else.

    With one node a job and exponential run lengths an FCFS replay is the queue M/M/c of theory. The rate is given, or
    follows from the load: ``rate = load × nodes / (mean size × mean run length)``.

    Parameters
    ----------
    nodes
        Of the machine; no job is larger.
    jobs
        How many.
    load
        Expected offered load. None: 0.7, unless `rate_per_h` is given.
    rate_per_h
        Jobs an hour, in place of `load`.
    runtime_s
        Seconds, a distribution, or a text: ``"exponential:MEAN"``, ``"lognormal:MEAN:SIGMA"``, ``"uniform:LOW:HIGH"``,
        ``"loguniform:LOW:HIGH"``.
    sizes
        Nodes of every job, or shares of node counts: ``{1: 0.75, 8: 0.25}``, ``"1:3,8:1"``.
    apps
        Shares of applications: ``{"hpcg": 0.4, "stream": 0.6}``, ``"hpcg:2,stream:3"``. None: unknown.
    walltime_factor
        Requested over run time, at least 1. None: no job asks for a time.
    seed
        All chance comes from it.

    Returns
    -------
    Workload
        The first job comes one such time after 0.

    Raises
    ------
    ConfigError
        With every fault: a value out of its range, `load` beside `rate_per_h`, a size of more than the nodes there are,
        times longer than any workload holds.

    Examples
    --------
    >>> workload = poisson(nodes=16, jobs=5000, load=0.5, runtime_s=600, sizes="1:1,4:1", apps="a:1,b:1", seed=1)
    >>> platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    >>> abs(workload.offered_load(platform) - 0.5) < 0.05
    True
    """
    faults = Faults()
    values = taken(PARAMETERS, locals(), faults)
    if values["load"] is not None and values["rate_per_h"] is not None:
        faults.add("rate_per_h", rate_per_h, f"none beside load={values['load']:g}")
    shares: dict[int, float] = values["sizes"] or {1: 1.0}
    if values["nodes"] is not None and max(shares) > values["nodes"]:
        faults.add("sizes", max(shares), f"at most the {values['nodes']} nodes there are")
    faults.check()
    if values["rate_per_h"] is None and values["load"] is None:
        values["load"] = DEFAULT_LOAD
    lengths: Distribution = values["runtime_s"]
    submit_s = np.cumsum(stream(seed, "poisson.gaps").exponential(_mean_gap_s(values, lengths, shares), jobs))
    drawn_s = lengths.draw(stream(seed, "poisson.runtimes"), jobs)
    pace = "load" if values["rate_per_h"] is None else "rate_per_h"
    note_too_long(faults, pace, values[pace], submit_s, "more: the last job would be submitted after")
    note_too_long(faults, "runtime_s", lengths, drawn_s, "less: a job would run for")
    faults.check()
    return generated(
        "poisson",
        values,
        submit_s=submit_s,
        runtime_s=drawn_s,
        node_count=drawn_sizes(shares, stream(seed, "poisson.sizes"), jobs),
        app=drawn_apps(values["apps"], stream(seed, "poisson.apps"), jobs),
        walltime_factor=values["walltime_factor"],
    )


def _mean_gap_s(values: Mapping[str, Any], lengths: Distribution, shares: Mapping[int, float]) -> float:
    """Between two submissions, from the rate or the load."""
    if values["rate_per_h"] is not None:
        return float(3600 / values["rate_per_h"])
    mean_area = lengths.mean_s * sum(size * share for size, share in shares.items())
    return float(mean_area / (values["load"] * values["nodes"]))


GENERATOR = Generator(
    name="poisson",
    doc="Independent jobs: exponential times between submissions.",
    source="queueing theory",
    parameters=PARAMETERS,
    function=poisson,
)
