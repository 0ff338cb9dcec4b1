"""Jobs that come independently of each other: a Poisson process, the arrivals of queueing theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.params import Parameter
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.columns import drawn_apps, generated, note_too_long
from hetsched.workload.generators.distributions import Distribution
from hetsched.workload.generators.mixes import drawn_sizes, sizes_of
from hetsched.workload.jobs import Workload

_LOAD = Parameter(
    "expected work submitted, as a share of what the nodes can do", low=1e-6, high=1e3, absent="0.7 or rate"
)
_RATE = Parameter("jobs an hour, in place of load", "1/h", 1e-9, 1e9, absent="as load says")
_SIZES = Parameter("nodes of a job", "nodes", form="NODES:SHARE,NODES:SHARE,...", take=sizes_of)
_DEFAULT_LOAD = 0.7


def poisson(
    *,
    nodes: par.Nodes = 100,
    jobs: par.Jobs = 10_000,
    load: Annotated[float | None, _LOAD] = None,
    rate_per_h: Annotated[float | None, _RATE] = None,
    runtime_s: Annotated[par.Runtime, par.runtime("run lengths")] = "exponential:3600",
    sizes: Annotated[int | str | Mapping[int, float], _SIZES] = 1,
    apps: par.Apps = None,
    walltime_factor: par.WalltimeFactor = None,
    seed: par.Seed = 0,
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
        If any value is invalid; lists all of them: one out of its range, `load` next to `rate_per_h`, a size of more
        than the nodes there are, times longer than any workload holds.

    Examples
    --------
    >>> workload = poisson(nodes=16, jobs=5000, load=0.5, runtime_s=600, sizes="1:1,4:1", apps="a:1,b:1", seed=1)
    >>> platform = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    >>> abs(workload.offered_load(platform) - 0.5) < 0.05
    True
    """
    faults = Faults()
    given = par.taken(poisson, locals(), faults)
    if given.load is not None and given.rate_per_h is not None:
        faults.add("rate_per_h", rate_per_h, f"none with load={given.load:g}")
    shares: dict[int, float] = given.sizes or {1: 1.0}
    if given.nodes is not None and max(shares) > given.nodes:
        faults.add("sizes", max(shares), f"at most the {given.nodes} nodes there are")
    faults.check()
    if given.rate_per_h is None and given.load is None:
        given.load = _DEFAULT_LOAD
    lengths: Distribution = given.runtime_s
    submit_s = np.cumsum(stream(seed, "poisson.gaps").exponential(_mean_gap_s(given, lengths, shares), jobs))
    drawn_s = lengths.draw(stream(seed, "poisson.runtimes"), jobs)
    pace, value = ("load", given.load) if given.rate_per_h is None else ("rate_per_h", given.rate_per_h)
    note_too_long(faults, pace, value, submit_s, "more: the last job would be submitted after")
    note_too_long(faults, "runtime_s", lengths, drawn_s, "less: a job would run for")
    faults.check()
    return generated(
        "poisson",
        given,
        submit_s=submit_s,
        runtime_s=drawn_s,
        node_count=drawn_sizes(shares, stream(seed, "poisson.sizes"), jobs),
        app=drawn_apps(given.apps, stream(seed, "poisson.apps"), jobs),
    )


def _mean_gap_s(given: Any, lengths: Distribution, shares: Mapping[int, float]) -> float:
    """Between two submissions, from the rate or the load."""
    if given.rate_per_h is not None:
        return float(3600 / given.rate_per_h)
    mean_area = lengths.mean_s * sum(size * share for size, share in shares.items())
    return float(mean_area / (given.load * given.nodes))
