"""Workloads that stand for the VAHRM paper's log: what its two readings, `overloaded` and `steady`, have in common.

The log is not public, and 10,000 jobs are a part of its 118,890 records. So sizes and run lengths are drawn, and the
submissions, those of a Poisson process, are brought to the span that the offered load asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.checks import Faults
from hetsched.workload.generators.distributions import LONGEST_S, LogNormal
from hetsched.workload.generators.limited import limited_lognormal
from hetsched.workload.generators.made import generated, note_too_long
from hetsched.workload.generators.mixes import drawn_sizes
from hetsched.workload.generators.parameters import JOBS, NODES, SEED, WALLTIME_FACTOR, Parameter
from hetsched.workload.jobs import Workload

__all__ = ["AFTER_SIZES", "BEFORE_SIZES", "logged", "note_contradictions"]

Floats = npt.NDArray[np.float64]

BEFORE_SIZES = (
    NODES,
    JOBS,
    Parameter("load", "offered load before `sr`, reached by scaling submissions", low=1e-6, high=1e3),
    Parameter("sr", "shrink ratio: divides all times between submissions", low=1e-6, high=1e6),
    Parameter("mix", "CPU and GPU jobs and their power", "cpu-gpu-mix", absent="no application, no device"),
)
"""Parameters of every such workload, those listed before its sizes."""

AFTER_SIZES = (
    Parameter("largest_nodes", "nodes of the largest job", "whole", "nodes", 1, NODES.high),
    Parameter("mean_runtime_s", "mean run length, `longest_s` applied", "number", "seconds", 1e-3, LONGEST_S),
    Parameter("sigma", "standard deviation of the log run lengths, before `longest_s`", low=1e-3, high=5.0),
    Parameter("longest_s", "longer runs are cut to it", "number", "seconds", 1e-3, LONGEST_S, "no limit"),
    WALLTIME_FACTOR,
    SEED,
)
"""Parameters of every such workload, those listed after its sizes."""


def note_contradictions(values: Mapping[str, Any], faults: Faults) -> None:
    """Note what each parameter may be, but not all of them together.

    Parameters
    ----------
    values
        Settled, by name.
    faults
        Where to note it; nothing is looked at if it holds something already.
    """
    if faults.found:
        return
    if values["jobs"] < 2:
        faults.add("jobs", values["jobs"], "at least 2: a load needs a first and a last submission")
    if values["largest_nodes"] > values["nodes"]:
        faults.add("largest_nodes", values["largest_nodes"], f"at most the {values['nodes']} nodes there are")
    longest_s = values["longest_s"]
    if longest_s is not None and _lengths(values) is None:
        faults.add("mean_runtime_s", values["mean_runtime_s"], f"well below longest_s={longest_s:g}")


def logged(kind: str, values: Mapping[str, Any], shares: Mapping[int, float]) -> Workload:
    """The workload of settled parameters and shares of sizes.

    Submissions, sizes, run lengths and mix have streams of their own, under names that all kinds share.

    Parameters
    ----------
    kind
        The generator's name.
    values
        Those of `BEFORE_SIZES` and `AFTER_SIZES`, and its own.
    shares
        Of node counts.

    Raises
    ------
    ConfigError
        If times come out longer than any workload holds.
    """
    seed, jobs = values["seed"], values["jobs"]
    lengths = _lengths(values)
    assert lengths is not None
    runtime_s = lengths.draw(stream(seed, "cpu-gpu log.runtimes"), jobs)
    if values["longest_s"] is not None:
        runtime_s = np.minimum(runtime_s, values["longest_s"])
    node_count = drawn_sizes(shares, stream(seed, "cpu-gpu log.sizes"), jobs)
    span_s = float(np.dot(node_count, runtime_s)) / (values["nodes"] * values["load"] * values["sr"])
    submit_s = _submits(stream(seed, "cpu-gpu log.gaps"), jobs, span_s)
    faults = Faults()
    note_too_long(faults, "load", values["load"], submit_s, "more: the last job would be submitted after")
    note_too_long(faults, "mean_runtime_s", values["mean_runtime_s"], runtime_s, "less: a job would run for")
    faults.check()
    mix = values["mix"]
    drawn = None if mix is None else mix.drawn(stream(seed, "cpu-gpu log.devices"), jobs)
    return generated(
        kind,
        values,
        submit_s=submit_s,
        runtime_s=runtime_s,
        node_count=node_count,
        app=None if drawn is None else drawn["app"],
        device=None if drawn is None else drawn["device"],
        walltime_factor=values["walltime_factor"],
    )


def _lengths(values: Mapping[str, Any]) -> LogNormal | None:
    """What run lengths are drawn from before the limit."""
    mean_s, sigma, longest_s = values["mean_runtime_s"], values["sigma"], values["longest_s"]
    return LogNormal(mean_s, sigma) if longest_s is None else limited_lognormal(mean_s, sigma, longest_s)


def _submits(rng: np.random.Generator, jobs: int, span_s: float) -> Floats:
    """Of a Poisson process, from 0 to `span_s`."""
    points = np.cumsum(rng.exponential(size=jobs))
    shares: Floats = (points - points[0]) / (points[-1] - points[0])
    return shares * span_s
