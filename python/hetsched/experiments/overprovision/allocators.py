"""Power allocators on nodes that differ, against each other and against the bound on throughput.

680 nodes under 100 kW, as in ``overprovision-nodes``, but with nodes that differ as those of Marconi100 and jobs that
differ as in the paper's text: the speed of those that ask for 55 W depends on the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis.throughput import Levels, cap_levels, most_work_ratio, work_done
from hetsched.experiments.claims import limit, statement
from hetsched.experiments.experiment import Floats, Parameters, Repetition, Row
from hetsched.experiments.overprovision import ha8000
from hetsched.experiments.runs import Runs, run_row, under_budget
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy
from hetsched.run.result import Result
from hetsched.workload import Workload

STUDY = "allocators"
P = Parameters()
NODES = P.noted(
    "allocator_nodes",
    680,
    "beyond the paper: drawn from the 846 measured nodes of Marconi100 (m100-node-ratio.csv), by the seed",
)
BUDGET_W = P.assumed("allocator_budget_w", 100_000.0, "beyond the paper: as that of the other experiments")
BOUND_RATIO = P.assumed(
    "allocator_bound_ratio",
    {"compute": 1.0, "mixed": 0.5, "memory": 0.2},
    "of the jobs that ask for 85, 70 and 55 W; mix 1:1:1",
)
LEVELS_W = P.assumed(
    "allocator_caps_w", tuple(float(cap) for cap in range(110, 170, 5)), "a node: the levels of `uniform`"
)
P.assumed("slowdown_limit", 2.0, "of `equal-slowdown`")

ASKED, FREE, UNIFORM, EQUAL = "static, asked caps", "static, no caps", "uniform", "equal-slowdown"
ALLOCATORS: dict[str, dict[str, Any]] = {
    ASKED: {"allocator": "static", "caps_w": list(LEVELS_W)},
    FREE: {"allocator": "static", "caps_w": list(LEVELS_W)},
    UNIFORM: {"allocator": "uniform", "caps_w": list(LEVELS_W)},
    EQUAL: {"allocator": "equal-slowdown", "caps_w": list(LEVELS_W)},
}

_IDLE = np.full(NODES, ha8000.SOCKETS * ha8000.IDLE_W)


def allocator_runs(repetition: Repetition) -> list[dict[str, Any]]:
    """A row an allocator, and one a user's policy."""
    power_w = node_watts(repetition.seed)
    platform = platform_of(power_w)
    policies = {label: Policy.preset(ha8000.LABEL, budget_w=BUDGET_W, **given) for label, given in ALLOCATORS.items()}
    policies |= {label: under_budget(one, budget_w=BUDGET_W) for label, one in repetition.policies.items()}
    levels = _levels(power_w)
    named = {"study": STUDY, "scenario": f"{STUDY}, {NODES} nodes, {BUDGET_W / 1000:g} kW"}
    return [
        run_row(
            label,
            policy,
            _workload(repetition.seed, has_caps=label == ASKED),
            platform,
            seed=repetition.seed,
            named=named,
            extra=partial(_measured, levels=levels),
        )
        for label, policy in policies.items()
    ]


@lru_cache
def _ratios() -> Floats:
    path = resources.files("hetsched") / "data" / "m100-node-ratio.csv"
    return pl.read_csv(path.read_bytes())["power_ratio"].to_numpy()


def platform_of(power_w: Floats) -> Platform:
    """Nodes with these draws without a cap, under any of the jobs."""
    table = VariationTable(list(BOUND_RATIO), power_w=np.tile(power_w, (len(BOUND_RATIO), 1)))
    bare = Platform.homogeneous(
        nodes=len(power_w), idle_w=ha8000.SOCKETS * ha8000.IDLE_W, tdp_w=ha8000.SOCKETS * ha8000.TDP_W
    )
    return bare.with_tables(actual=table).with_cap_model(
        static_w=ha8000.SOCKETS * ha8000.STATIC_W, bound_ratio=BOUND_RATIO
    )


def node_watts(seed: int) -> Floats:
    """Each node's draw without a cap, under any of the jobs."""
    drawn = np.random.default_rng([seed, NODES]).choice(_ratios(), NODES, replace=False)
    return ha8000.SOCKETS * ha8000.CAPS_W[0] * drawn


def apps_of_jobs(seed: int) -> list[str]:
    """Each job's application, by the cap that it asks for."""
    names = dict(zip(ha8000.CAPS_W, BOUND_RATIO, strict=True))
    return [names[cap] for cap in ha8000.caps_of_jobs("1:1:1", seed)]


def _workload(seed: int, *, has_caps: bool) -> Workload:
    """The first 600 jobs; those that ask for caps ask for the paper's. Without walltimes: none is killed for a node."""
    frame = ha8000.arrivals(0, ha8000.SPEEDUP).with_columns(
        runtime_s=pl.lit(ha8000.RUNTIME_S), app=pl.Series(apps_of_jobs(seed))
    )
    cap_w = ha8000.SOCKETS * ha8000.caps_of_jobs("1:1:1", seed)
    # 170 W is no cap on a node that draws that; one that draws more would be slowed down.
    asked = pl.Series(np.where(cap_w < ha8000.SOCKETS * ha8000.CAPS_W[0], cap_w, np.nan)).fill_nan(None)
    return Workload.from_polars(frame.with_columns(cap_w=asked) if has_caps else frame)


def _levels(power_w: Floats) -> Levels:
    groups = len(BOUND_RATIO)
    return cap_levels(
        np.tile(power_w, (groups, 1)),
        idle_w=_IDLE,
        static_w=np.full(NODES, ha8000.SOCKETS * ha8000.STATIC_W),
        bound_ratio=np.array(list(BOUND_RATIO.values())),
    )


def _measured(result: Result, levels: Levels) -> Mapping[str, float]:
    """The steady state, the share of the bound on its work, and the bound on throughput."""
    from_s, until_s, _ = ha8000.steady_window(result.jobs)
    done = work_done(result.segments, result.jobs, list(BOUND_RATIO), from_s=from_s, until_s=until_s)
    ratio = most_work_ratio(done, levels, idle_w=_IDLE, budget_w=BUDGET_W)
    steady = ha8000.steady_state(result, ha8000.SOCKETS * ha8000.IDLE_W, BUDGET_W)
    jobs = result.jobs.group_by("app").agg(pl.col("node_count").sum())
    asked = dict(jobs.iter_rows())
    a_job = np.array([asked[app] * ha8000.RUNTIME_S for app in BOUND_RATIO]) / len(result.jobs)
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
    """Equal slowdown against its rivals, in throughput and as a share of the bound."""
    runs = Runs(frame, study=STUDY)
    share = {label: runs.values("bound_share_percent", label) for label in ALLOCATORS}
    rows = [_against(runs, rival, column) for rival in (ASKED, FREE, UNIFORM) for column in _COMPARED]
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
    name, side = _COMPARED[column]
    change = 100.0 * (runs.values(column, EQUAL) / runs.values(column, rival) - 1.0)
    claim = f"{EQUAL} is better than {rival}"
    quantity = f"beyond: {name}, {EQUAL} over {rival}, change, %"
    return statement(
        quantity, change, claim=claim, side=1 if side == 1 else -1, why=_FAST if "energy" in column else ""
    )
