"""``pools``: three pools of nodes by efficiency (hierarchy pool paper, section 5, Tables 5 and 6).

FFT2D of two sizes, 31,152 single-node jobs on the 2,000 nodes of ITO. The paper's usage is at most 67 %; here that is
the highest value of the target that jobs are submitted to, and nodes slower than nominal add to it. Nodes are ranked by
the benchmarks HPCG and STREAM, FFT2D draws its own watts. If low node numbers belong to nodes that draw more, the
baseline `sequence` costs more; the paper does not say, so both are run, with uncorrelated and correlated numbers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.ito import FFT2D, NODE_WATTS, TIMES, Machine, fft2d_nodes
from hetsched.experiments.runs import Runs, saved_over, side_by_side
from hetsched.report.experiment import experiment_figure
from hetsched.run.result import Result
from hetsched.workload.generators import fft2d

PEAK_PERCENT = 67.0
P = Parameters()
NODES = P.printed("nodes", 2000)
P.printed("small_jobs", 6102, "FFT2D of size 3600")
P.printed("large_jobs", 25_050, "FFT2D of size 7200")
SMALL_S = P.assumed("small_runtime_s", 60.0)
LARGE_S = P.assumed("large_runtime_s", 260.0, "as many times longer as it has more operations")
UTILIZATION = P.assumed(
    "utilization", 0.65, f"with the fluctuation, the target's highest value is the printed peak of {PEAK_PERCENT:.0f} %"
)
FLUCTUATION = P.assumed("fluctuation", 0.02, "see there")
SUBMIT_INTERVAL_S = P.assumed("submit_interval_s", 10.0)
LOW, HIGH = P.printed("pool_borders", (0.65, 0.80), "the traced machine's usage")
ID_CORRELATIONS = P.assumed(
    "id_correlation", {"ids uncorrelated": 0.0, "low ids draw more": -0.5}, "of node number and benchmark watts"
)
P += [*NODE_WATTS, *FFT2D, *TIMES]
P.noted("idle_w", 0.0, "not in the paper's count, nor in job energy")

APPS = ("fft2d-3600", "fft2d-7200")
PAPER = {
    "random": {"energy": 0.640, "package power": 0.748, "memory power": 0.341, "total power": 0.602},
    "sequence": {"energy": 1.346, "package power": 1.555, "memory power": 0.951, "total power": 1.339},
}
_COLUMNS = {
    "energy": "job_energy_j",
    "package power": "package_w",
    "memory power": "memory_w",
    "total power": "total_w",
}
_WATTS = "FFT2D's watts on any node, and how they go with the benchmarks' rank"
_EASY = {"name": "reservations", "depth": 1}

POLICIES: dict[str, Any] = {
    "random": "random",
    "sequence": "sequence",
    "pool": {"placement": {"name": "pools", "u_l": LOW, "u_h": HIGH}},
    "pool, measured": {"placement": {"name": "pools", "measured": True}},
    "paa": "paa",
}
KNOWN: dict[str, Any] = {"coa + easy": {"backfill": _EASY, "placement": "assignment"}}
"""Policies that know FFT2D's own watts; a user's know those of the benchmarks, as the pools do."""


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    workload = fft2d(
        nodes=NODES,
        utilization=UTILIZATION,
        small_runtime_s=SMALL_S,
        large_runtime_s=LARGE_S,
        fluctuation=FLUCTUATION,
        interval_s=SUBMIT_INTERVAL_S,
        seed=seed,
    )
    return [
        row
        for scenario, correlation in ID_CORRELATIONS.items()
        for own, policies, is_known in ((repetition, POLICIES, False), (replace(repetition, policies={}), KNOWN, True))
        for machine in [fft2d_nodes(seed, nodes=NODES, apps=APPS, id_correlation=correlation, is_known=is_known)]
        for row in side_by_side(
            own,
            policies,
            workload,
            machine.platform,
            named={"scenario": scenario},
            bound=("random", "sequence"),
            extra=partial(_by_domain, machine=machine),
        )
    ]


def _by_domain(result: Result, machine: Machine) -> dict[str, float]:
    """Mean watts of a running job by domain, its mean run time, and the peak usage. All jobs have one node."""
    # A user's policy may leave some out.
    jobs = result.jobs.drop_nulls("start_s")
    node, runtime_s = jobs["nodes"].list.first().to_numpy(), jobs["runtime_s"].to_numpy()
    weight = runtime_s / runtime_s.sum()
    package_w, memory_w = (float(np.dot(watts[node], weight)) for watts in (machine.package_w, machine.memory_w))
    actual, predicted = machine.platform.actual, machine.platform.predicted
    assert actual is not None
    assert actual.power_w is not None
    ranked = (predicted or actual).power_w
    assert ranked is not None
    return {
        "package_w": package_w,
        "memory_w": memory_w,
        "total_w": package_w + memory_w,
        "mean_runtime_s": float(runtime_s.mean()),
        "peak_usage_percent": 100.0 * float(result.timeline["busy_nodes"].max()) / NODES,  # type: ignore[arg-type]
        "rank_correlation": float(np.corrcoef(actual.power_w[0], ranked.mean(axis=0))[0, 1]),
    }


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, "random")
    blind = runs.where(scenario="ids uncorrelated")
    package, memory = (blind.saving("pool", f"{domain}_w") for domain in ("package", "memory"))
    more = "the package saves more than the memory, as printed"
    return [
        value("peak usage, %", blind.values("peak_usage_percent", "pool"), paper=PEAK_PERCENT),
        *_against(blind, "random", "vs random"),
        statement("package - memory power saved vs random, points", package - memory, claim=more),
        *(
            row
            for scenario in ID_CORRELATIONS
            for row in _against(runs.where(scenario=scenario), "sequence", f"vs sequence, {scenario}")
        ),
        *_of_sequence(runs),
        *_beyond(blind),
    ]


def _against(runs: Runs, rival: str, where: str) -> list[Row]:
    """A line of the paper's Table 6."""
    rows = [
        value(
            f"{quantity} saved {where}, %",
            runs.saving("pool", _COLUMNS[quantity], over=rival),
            paper=paper,
            undisclosed=_WATTS,
        )
        for quantity, paper in PAPER[rival].items()
    ]
    change = -runs.saving("pool", "mean_runtime_s", over=rival)
    quantity = f"run time change {where}, % (paper: below)"
    return [*rows, limit(quantity, change, most=0.1, claim="time changes by less than 0.1 %")]


def _of_sequence(runs: Runs) -> list[Row]:
    """Cost of `sequence` over `random`, which hangs on the ids alone."""
    blind, ordered = (-runs.saving("sequence", scenario=scenario) for scenario in ID_CORRELATIONS)
    most = 0.1 * PAPER["random"]["energy"]
    claim = f"where ids uncorrelated sequence costs what random costs, to {most:.3g} %"
    return [
        limit("sequence over random, ids uncorrelated, %", blind, most=most, claim=claim, printed=False),
        statement("sequence over random, low ids draw more, %", ordered, claim="sequence costs more than random"),
    ]


def _beyond(blind: Runs) -> list[Row]:
    lead = {policy: blind.saving(policy) - blind.saving("pool") for policy in ("pool, measured", "paa", "coa + easy")}
    share, of_coa = blind.metric("share", "pool"), blind.metric("share", "coa + easy")
    quantity, ahead = "share of the attainable saving, %", ("coa + easy's less pool's", of_coa - share)
    return [
        *(
            statement(f"beyond: {policy} over pool, points", points, claim="saves more than pool")
            for policy, points in lead.items()
        ),
        statement(f"coa + easy: {quantity}", of_coa, tested=ahead, claim="more than the pools"),
    ]


def _savings(frame: pl.DataFrame) -> pl.DataFrame:
    where = (("random", "ids uncorrelated"), ("sequence", "ids uncorrelated"), ("sequence", "low ids draw more"))
    return pl.concat(
        Runs(frame, rival).drawn(
            {f"over {rival}, {scenario}": scenario},
            ["pool", "pool, measured", "paa", "coa + easy"],
            {(scenario, "pool"): PAPER[rival]["energy"]},
        )
        for rival, scenario in where
    )


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    blind, _ = ID_CORRELATIONS
    return saved_over("random", [blind])(frame, label) | saved_over("sequence", ID_CORRELATIONS)(frame, label)


EXPERIMENTS = (
    Experiment(
        name="pools",
        source=(
            "Li, Fukazawa, Nakashima & Nanri, A Node Level Performance/Power Efficiency Aware Resource Management "
            "Technique, IPSJ SIG Notes 2018-HPC-166(3)"
        ),
        parameters=P,
        policies={**POLICIES, **KNOWN},
        repeat=_repeat,
        rows=_rows,
        savings=_savings,
        yours=_yours,
        draw=experiment_figure,
        baseline="random",
    ),
)
"""Tables 5 and 6 of the paper."""
