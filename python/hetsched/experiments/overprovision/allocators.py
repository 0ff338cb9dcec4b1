"""Who splits the watts best: allocators on nodes that differ, beside the bound on throughput.

680 nodes under 100 kW, as in ``overprovision-nodes``, but with nodes as unlike as those of Marconi100 and jobs as
unlike as the paper's text has them: of those that ask for 55 W it says that their speed hangs on the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis.throughput import Levels, cap_levels, most_work_ratio, work_done
from hetsched.experiments.claims import limit, number, statement
from hetsched.experiments.experiment import Parameter, Repetition, Row, assumed
from hetsched.experiments.overprovision.machine import (
    CAPS_W,
    IDLE_W,
    LABEL,
    RUNTIME_S,
    SOCKETS,
    SPEEDUP,
    STATIC_W,
    TDP_W,
    Floats,
    arrivals,
    dealt,
    steady_state,
    steady_window,
    under_budget,
)
from hetsched.experiments.runs import Runs, run_row
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy
from hetsched.run.result import Result
from hetsched.workload import Workload

NODES, BUDGET_W = 680, 100_000.0
STUDY = "allocators"
BOUND_RATIO = {"compute": 1.0, "mixed": 0.5, "memory": 0.2}
LEVELS_W = tuple(float(cap) for cap in range(110, 170, 5))
ASKED, FREE, UNIFORM, EQUAL = "static, asked caps", "static, no caps", "uniform", "equal-slowdown"
ALLOCATORS: dict[str, dict[str, Any]] = {
    ASKED: {"allocator": "static", "caps_w": list(LEVELS_W)},
    FREE: {"allocator": "static", "caps_w": list(LEVELS_W)},
    UNIFORM: {"allocator": "uniform", "caps_w": list(LEVELS_W)},
    EQUAL: {"allocator": "equal-slowdown", "caps_w": list(LEVELS_W)},
}

PARAMETERS = (
    Parameter(
        "allocator_nodes",
        NODES,
        "beyond the paper: drawn from the 846 measured nodes of Marconi100 (m100-node-ratio.csv), by the seed",
    ),
    assumed("allocator_budget_w", BUDGET_W, "beyond the paper: as that of the other experiments"),
    assumed("allocator_bound_ratio", dict(BOUND_RATIO), "of the jobs that ask for 85, 70 and 55 W; mix 1:1:1"),
    assumed("allocator_caps_w", list(LEVELS_W), "a node: the levels of `uniform`"),
    assumed("slowdown_limit", 2.0, "of `equal-slowdown`"),
)

_IDLE = np.full(NODES, SOCKETS * IDLE_W)


def allocator_runs(repetition: Repetition) -> list[dict[str, Any]]:
    """A row an allocator, and one a user's policy."""
    power_w, app = node_watts(repetition.seed), apps_of_jobs(repetition.seed)
    table = VariationTable(list(BOUND_RATIO), power_w=np.tile(power_w, (len(BOUND_RATIO), 1)))
    platform = (
        Platform.homogeneous(nodes=NODES, idle_w=SOCKETS * IDLE_W, tdp_w=SOCKETS * TDP_W)
        .with_tables(actual=table)
        .with_cap_model(static_w=SOCKETS * STATIC_W, bound_ratio=BOUND_RATIO)
    )
    policies = {label: Policy.preset(LABEL, budget_w=BUDGET_W, **given) for label, given in ALLOCATORS.items()}
    policies |= {label: under_budget(one, BUDGET_W / 1000.0) for label, one in repetition.policies.items()}
    named = {"study": STUDY, "scenario": f"{STUDY}, {NODES} nodes, {BUDGET_W / 1000:g} kW"}
    return [
        run_row(
            label,
            policy,
            _workload(repetition.seed, app, has_caps=label == ASKED),
            platform,
            seed=repetition.seed,
            named=named,
            extra=partial(_measured, levels=_levels(power_w)),
        )
        for label, policy in policies.items()
    ]


@lru_cache
def _ratios() -> Floats:
    path = resources.files("hetsched") / "data" / "m100-node-ratio.csv"
    return pl.read_csv(path.read_bytes())["power_ratio"].to_numpy()


def node_watts(seed: int) -> Floats:
    """Each node's draw without a cap, under any of the jobs."""
    drawn = np.random.default_rng([seed, NODES]).choice(_ratios(), NODES, replace=False)
    return SOCKETS * CAPS_W[0] * drawn


def apps_of_jobs(seed: int) -> list[str]:
    """Each job's application, by the cap that it asks for."""
    names = dict(zip(CAPS_W, BOUND_RATIO, strict=True))
    return [names[cap] for cap in dealt("1:1:1", seed)]


def _workload(seed: int, app: list[str], *, has_caps: bool) -> Workload:
    """The first 600 jobs; those that ask for caps ask for the paper's. Without walltimes: none is killed for a node."""
    frame = arrivals(0, SPEEDUP).with_columns(runtime_s=pl.lit(RUNTIME_S), app=pl.Series(app))
    cap_w = SOCKETS * dealt("1:1:1", seed)
    # 170 W is no cap on a node that draws that; a hungrier one would be held down.
    asked = pl.Series(np.where(cap_w < SOCKETS * CAPS_W[0], cap_w, np.nan)).fill_nan(None)
    return Workload.from_polars(frame.with_columns(cap_w=asked) if has_caps else frame)


def _levels(power_w: Floats) -> Levels:
    groups = len(BOUND_RATIO)
    return cap_levels(
        np.tile(power_w, (groups, 1)),
        idle_w=_IDLE,
        static_w=np.full(NODES, SOCKETS * STATIC_W),
        bound_ratio=np.array(list(BOUND_RATIO.values())),
    )


def _measured(result: Result, levels: Levels) -> Mapping[str, float]:
    """The steady state, the share of the bound on its work, and the bound on throughput."""
    from_s, until_s, _ = steady_window(result.jobs)
    done = work_done(result.segments, result.jobs, list(BOUND_RATIO), from_s=from_s, until_s=until_s)
    ratio = most_work_ratio(done, levels, idle_w=_IDLE, budget_w=BUDGET_W)
    steady = steady_state(result, SOCKETS * IDLE_W, BUDGET_W)
    jobs = result.jobs.group_by("app").agg(pl.col("node_count").sum())
    asked = dict(jobs.iter_rows())
    a_job = np.array([asked[app] * RUNTIME_S for app in BOUND_RATIO]) / len(result.jobs)
    return {
        **steady,
        "work_per_s": float(done.sum()),
        "bound_share_percent": 100.0 / ratio,
        "attainable_per_minute": ratio * steady["jobs_per_minute"],
        "bound_jobs_per_minute": 60.0 * most_work_ratio(a_job, levels, idle_w=_IDLE, budget_w=BUDGET_W),
    }


_COMPARED = {
    "work_per_s": ("work done a second", 1),
    "jobs_per_minute": ("jobs a minute", 1),
    "mean_turnaround_s": ("mean turnaround", -1),
    "energy_per_work_j_per_node_s": ("energy per work", -1),
}
_FAST = "the watts that asked caps leave unused are those that buy the least work"


def allocator_rows(frame: pl.DataFrame) -> list[Row]:
    """Equal slowdown beside its rivals, and what all of them reach of the bound."""
    runs = Runs(frame, study=STUDY)
    share = {label: runs.values("bound_share_percent", label) for label in ALLOCATORS}
    rows = [
        number("beyond: bound on throughput of all 600 jobs, a minute", runs.values("bound_jobs_per_minute", EQUAL))
    ]
    for label in ALLOCATORS:
        rows += [
            number(f"beyond: {label}: jobs a minute", runs.values("jobs_per_minute", label)),
            number(
                f"beyond: {label}: bound for jobs like these, a minute", runs.values("attainable_per_minute", label)
            ),
            number(f"beyond: {label}: draw, % of the budget", runs.values("draw_percent", label)),
            number(f"beyond: {label}: share of the bound on its work, %", share[label]),
        ]
    rows += [_against(runs, rival, column) for rival in (ASKED, FREE, UNIFORM) for column in _COMPARED]
    over_s = sum(runs.values("over_budget_s", label) for label in ALLOCATORS)
    kept = limit("beyond: time above the budget, all of them, s", over_s, most=0.0, claim="it is kept", printed=False)
    return [*rows, kept] + [
        statement(
            f"beyond: share of the bound, {EQUAL} less {rival}, points",
            share[EQUAL] - share[rival],
            claim=f"{EQUAL} gets nearer to the bound",
        )
        for rival in (ASKED, FREE, UNIFORM)
    ]


def _against(runs: Runs, rival: str, column: str) -> Row:
    told, side = _COMPARED[column]
    change = 100.0 * (runs.values(column, EQUAL) / runs.values(column, rival) - 1.0)
    claim = f"{EQUAL} is better than {rival}"
    quantity = f"beyond: {told}, {EQUAL} over {rival}, change, %"
    return statement(
        quantity, change, claim=claim, side=1 if side == 1 else -1, why=_FAST if "energy" in column else ""
    )
