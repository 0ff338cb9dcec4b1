"""``strategies``: the strategies of Table II, and ours, at one budget on the machine of the paper.

680 nodes under 100 kW with nodes as unlike as those of Marconi100 and three kinds of jobs, as in the study of
allocators of ``overprovision-mix``. All rows see the same jobs: those that can run on other numbers of nodes say so,
and only strategies that choose sizes make use of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import limit, number, statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row, assumed, printed
from hetsched.experiments.overprovision.allocators import (
    BOUND_RATIO,
    LEVELS_W,
    apps_of_jobs,
    node_watts,
)
from hetsched.experiments.overprovision.machine import (
    IDLE_W,
    PARAMETERS,
    RUNTIME_S,
    SOCKETS,
    SOURCE,
    SPEEDUP,
    STATIC_W,
    TDP_W,
    Floats,
    arrivals,
    steady_state,
    under_budget,
)
from hetsched.experiments.runs import Runs, run_row
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy
from hetsched.report.comparisons import pareto_figure, point
from hetsched.run.result import Result
from hetsched.strategies import (
    DemandAware,
    DynamicSharing,
    MoldableBackfill,
    ThroughputIlp,
    TwoLevel,
    VariationAware,
    VariationPlacement,
)
from hetsched.workload import Workload

NODES, BUDGET_W = 680, 100_000.0
LEAST_W = LEVELS_W[0]
WORST_NODES = int(BUDGET_W / (SOCKETS * TDP_W))
FAIR_W = BUDGET_W / NODES
RANGE, DOWNEY = 2, {"downey_a": 2.0, "downey_sigma": 1.0}
SLOWDOWN, CONSIDERED = 1.2, 8

FREE, FAIR, WORST = "no caps", "equal caps", "fewer nodes"
UNIFORM, OURS = "uniform", "equal-slowdown (ours)"
INADOMI, GHOLKAR, ELLSWORTH, CAO, TOTONI, PATKI, SAROOD, MALLEABLE = (
    "Inadomi",
    "Gholkar",
    "Ellsworth",
    "Cao",
    "Totoni",
    "Patki",
    "Sarood",
    "Sarood, malleable",
)
SEVEN = (TOTONI, GHOLKAR, SAROOD, PATKI, ELLSWORTH, INADOMI, CAO)
"""As Table II has them."""

LABELS = (TOTONI, GHOLKAR, SAROOD, MALLEABLE, PATKI, ELLSWORTH, INADOMI, CAO, OURS, UNIFORM, FREE, FAIR, WORST)


def _budget(allocator: Any) -> dict[str, Any]:
    return {"name": "system-budget", "budget_w": BUDGET_W, "allocator": allocator, "caps_w": list(LEVELS_W)}


def _easy(allocator: Any, **parts: Any) -> Policy:
    return Policy(**{"backfill": "reservations", "power": _budget(allocator), **parts})


def _policies() -> dict[str, Policy]:
    two, patki = TwoLevel(least_cap_w=LEAST_W), MoldableBackfill(least_cap_w=LEAST_W, slowdown_limit=SLOWDOWN)
    ilp, elastic = (ThroughputIlp(caps_w=LEVELS_W[::4], considered=CONSIDERED) for _ in range(2))
    return {
        TOTONI: _easy("uniform", placement=VariationPlacement()),
        GHOLKAR: _easy(two, placement=two),
        SAROOD: _easy(ilp, backfill=ilp),
        MALLEABLE: _easy(elastic, backfill=elastic),
        PATKI: _easy(patki, backfill={"name": "reservations", "sizing": patki}),
        ELLSWORTH: _easy(DynamicSharing(least_cap_w=LEAST_W)),
        INADOMI: _easy(VariationAware(least_cap_w=LEAST_W)),
        CAO: _easy(DemandAware(caps_w=LEVELS_W, slowdowns={"high": 1.0})),
        OURS: _easy("equal-slowdown"),
        UNIFORM: _easy("uniform"),
        FREE: _easy("static"),
        FAIR: _easy("static"),
        WORST: _easy("static"),
    }


def _platform(power_w: Floats) -> Platform:
    table = VariationTable(list(BOUND_RATIO), power_w=np.tile(power_w, (len(BOUND_RATIO), 1)))
    bare = Platform.homogeneous(nodes=len(power_w), idle_w=SOCKETS * IDLE_W, tdp_w=SOCKETS * TDP_W)
    return bare.with_tables(actual=table).with_cap_model(static_w=SOCKETS * STATIC_W, bound_ratio=BOUND_RATIO)


def _workload(repetition: Repetition, most: int) -> Workload:
    """The first 600 jobs, each on half to twice the nodes it asks for, half of them in the queue `high`."""
    frame = arrivals(0, QUICK_SPEEDUP if repetition.is_quick else SPEEDUP)
    asked = frame["node_count"].to_numpy()
    queue = np.random.default_rng([repetition.seed, 1]).permutation(["high", "low"] * (len(frame) // 2))
    frame = frame.with_columns(
        pl.Series("app", apps_of_jobs(repetition.seed)),
        pl.Series("queue", queue),
        runtime_s=pl.lit(RUNTIME_S),
        min_nodes=pl.Series((asked + RANGE - 1) // RANGE),
        max_nodes=pl.Series(np.maximum(asked, np.minimum(RANGE * asked, most))),
        speedup=pl.lit("downey"),
        downey_a=pl.Series(DOWNEY["downey_a"] * asked),
        downey_sigma=pl.lit(DOWNEY["downey_sigma"]),
    )
    return Workload.from_polars(frame.head(QUICK_JOBS) if repetition.is_quick else frame)


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    power_w = node_watts(repetition.seed)
    platform, fewer = _platform(power_w), _platform(power_w[:WORST_NODES])
    workload = _workload(repetition, WORST_NODES)
    frame = workload.to_polars()
    others = {
        FAIR: Workload.from_polars(frame.with_columns(cap_w=pl.lit(FAIR_W))),
        MALLEABLE: Workload.from_polars(frame.with_columns(malleable=pl.col("min_nodes") < pl.col("max_nodes"))),
    }
    policies = _policies() | {name: under_budget(one, BUDGET_W / 1000.0) for name, one in repetition.policies.items()}
    return [
        run_row(
            label,
            policy,
            others.get(label, workload),
            fewer if label == WORST else platform,
            seed=repetition.seed,
            named={"scenario": f"{NODES} nodes, {BUDGET_W / 1000:g} kW"},
            extra=_measured,
        )
        for label, policy in policies.items()
    ]


QUICK_JOBS, QUICK_SPEEDUP = 60, 10 * SPEEDUP


def _measured(result: Result) -> Mapping[str, Any]:
    """The steady state, run lengths and nodes over those asked for, and what the program had to fall back on."""
    ran = result.jobs.filter(state="completed").select(
        "job_id", "queue", "node_count", length=pl.col("runtime_s") / pl.col("nominal_runtime_s")
    )
    held_s = pl.col("end_s") - pl.col("start_s")
    held = result.segments.group_by("job_id").agg((held_s * pl.col("nodes").list.len()).sum() / held_s.sum())
    ran = ran.join(held.rename({"end_s": "nodes"}), on="job_id").with_columns(pl.col("nodes") / pl.col("node_count"))
    lengths = {name: ran.filter(queue=name)["length"].mean() for name in ("high", "low")}
    notes = result.provenance.get("notes", {}).get("backfill", {})
    return {
        **steady_state(result, SOCKETS * IDLE_W, BUDGET_W),
        "length_ratio": ran["length"].mean(),
        "nodes_ratio": ran["nodes"].mean(),
        **{f"length_ratio_{name}": mean for name, mean in lengths.items()},
        "fallbacks": float(notes.get("fallbacks", 0)),
        "programs": float(notes.get("solved", 0)) + float(notes.get("fallbacks", 0)),
    }


_TOLD = {
    "throughput_jobs_per_hour": "jobs an hour, first submit to last end",
    "mean_turnaround_s": "mean turnaround, s",
    "energy_per_work_j_per_node_s": "energy per work, J a nominal node-second",
    "length_ratio": "mean run length over the nominal one",
    "nodes_ratio": "mean nodes over those asked for",
    "draw_percent": "draw in the steady state, % of the budget",
}


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    rows = [number(f"{label}: {told}", runs.values(name, label)) for name, told in _TOLD.items() for label in LABELS]
    rows += _claims(runs)
    rows += [
        number(f"{told}, {MALLEABLE} over {SAROOD}, change, %", _change(runs, MALLEABLE, SAROOD, name))
        for name, (told, _) in _BETTER.items()
    ]
    rows += [_over(runs, OURS, rival, name) for rival in (*SEVEN, MALLEABLE, UNIFORM, FREE) for name in _BETTER]
    rows += [
        number(f"{label}: programs without a solution, all jobs", runs.values("fallbacks", label))
        for label in (SAROOD, MALLEABLE)
    ]
    over_s = sum(runs.values("over_budget_s", label) for label in LABELS)
    return [*rows, limit("time above the budget, all of them, s", over_s, most=0.0, claim="kept", printed=False)]


_BETTER: dict[str, tuple[str, int]] = {
    "throughput_jobs_per_hour": ("jobs an hour", 1),
    "mean_turnaround_s": ("mean turnaround", -1),
    "energy_per_work_j_per_node_s": ("energy per work", -1),
}


def _change(runs: Runs, label: str, rival: str, name: str) -> Floats:
    changed: Floats = 100.0 * (runs.values(name, label) / runs.values(name, rival) - 1.0)
    return changed


def _over(runs: Runs, label: str, rival: str, name: str) -> Row:
    told, side = _BETTER[name]
    return statement(
        f"{told}, {label} over {rival}, change, %",
        _change(runs, label, rival, name),
        claim=f"{label} is better than {rival}",
        side=1 if side == 1 else -1,
    )


_MACHINE = "its own machine and programs, and how tight the watts are"


def _claims(runs: Runs) -> list[Row]:
    """What each paper says of its strategy."""
    change: Callable[[str, str, str], Floats] = partial(_change, runs)
    jobs, turnaround, work = _BETTER
    return [
        statement(
            f"{INADOMI}: mean run length over one cap for all, change, %",
            change(INADOMI, UNIFORM, "length_ratio"),
            side=-1,
            claim="a job whose nodes run at one speed is faster than under one cap for all",
        ),
        statement(
            f"{GHOLKAR}: jobs an hour over one cap for all, change, %",
            change(GHOLKAR, UNIFORM, jobs),
            claim="watts split between jobs and tuned within them raise the throughput",
        ),
        value(
            f"{ELLSWORTH}: time for all jobs saved over equal caps, %",
            -change(ELLSWORTH, FAIR, "makespan_s"),
            paper=14.0,
            undisclosed=f"printed as the most; {_MACHINE}",
        ),
        statement(
            f"{CAO}: run length of important jobs less that of the others",
            runs.values("length_ratio_high", CAO) - runs.values("length_ratio_low", CAO),
            side=-1,
            claim="jobs get the speed that was demanded for them, the others pay for it",
        ),
        statement(
            f"{CAO}: jobs an hour over equal caps, change, %",
            change(CAO, FAIR, jobs),
            claim="and the throughput rises against fixed caps",
        ),
        value(
            f"{PATKI}: mean turnaround over fewer nodes at full power, change, %",
            change(PATKI, WORST, turnaround),
            paper=-19.0,
            undisclosed=_MACHINE,
        ),
        value(
            f"{PATKI}: mean turnaround over more nodes without caps, change, %",
            change(PATKI, FREE, turnaround),
            paper=-36.0,
            undisclosed=f"{_MACHINE}; here jobs scale less well than they ask, and more nodes finish fewer jobs",
        ),
        statement(
            f"{SAROOD}: jobs an hour over fewer nodes at full power, change, %",
            change(SAROOD, WORST, jobs),
            claim="sizes and caps by the program raise the throughput of more nodes under the budget",
        ),
        statement(
            f"{TOTONI}: energy per work over lowest numbers, both under one cap for all, change, %",
            change(TOTONI, UNIFORM, work),
            side=-1,
            claim="knowing how unlike nodes are saves energy",
        ),
    ]


def _yours(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    return [
        runs.row_of_yours(label, told, runs.values(name, label)) for label in runs.yours for name, told in _TOLD.items()
    ]


_COSTS = {
    "energy_per_work_j_per_node_s": "energy per work (J a node-second)",
    "mean_turnaround_s": "mean turnaround (s)",
}


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Throughput over what it costs, in energy and in time: the best lie on the front."""
    runs = Runs(frame)
    return pl.concat(
        point(
            runs.values(name, label),
            runs.values("throughput_jobs_per_hour", label),
            row="jobs an hour",
            column=below,
            label=label,
        )
        for name, below in _COSTS.items()
        for label in (*LABELS, *runs.yours)
    )


def _draw(own: pl.DataFrame, *, title: str = "") -> Any:
    """With linear axes: no cost is more than twice another."""
    figure = pareto_figure(own, title=title)
    for axes in figure.axes:
        axes.set_xscale("linear")
    return figure


EXPERIMENTS = (
    Experiment(
        name="strategies",
        source=f"{SOURCE}, Table II",
        parameters=(
            *(one for one in PARAMETERS if one.name not in ("caps_socket_w", "walltime", "mix", "cap_model", "log")),
            Parameter("nodes", NODES, "drawn from the 846 measured nodes of Marconi100, by the seed"),
            assumed("budget_w", BUDGET_W, "of every row; peak of 400 nodes"),
            printed("submissions_speedup", SPEEDUP, "how much closer together than in the log"),
            assumed("fewer_nodes", WORST_NODES, "as many as the budget feeds at TDP"),
            assumed("equal_cap_w", round(FAIR_W, 3), "a node: the budget over all nodes"),
            assumed("bound_ratio", dict(BOUND_RATIO), "of a third of the jobs each"),
            assumed("caps_w", list(LEVELS_W), "a node; every fourth of them in the program"),
            assumed("sizes", [1 / RANGE, RANGE], "× the nodes asked for; the largest at most `fewer_nodes`"),
            assumed("malleable", "every job that has several sizes", "in its row alone; changes take no time"),
            assumed("speedup", {"downey": {"a": "2 × nodes asked for", "sigma": DOWNEY["downey_sigma"]}}),
            assumed("important", 0.5, "of the jobs, dealt out by the seed; they allow no slowdown (Cao)"),
            assumed("slowdown_limit", SLOWDOWN, "of a configuration that can start at once (Patki)"),
            assumed("considered", CONSIDERED, "jobs of the queue in the program (Sarood)"),
            assumed("margin_w", 0.5, "above the draw of a node that leaves watts (Ellsworth)"),
            assumed("spread", 2.0, "free nodes in a window, × the job's size (Totoni)"),
            assumed("reference", "the mean of all applications", "in place of a micro-benchmark (Inadomi)"),
        ),
        policies={label: policy.name for label, policy in _policies().items()},
        repetitions=4,
        quick_repetitions=4,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=_draw,
        quick_parameters=(
            Parameter("jobs", QUICK_JOBS, "quick runs: the first of them"),
            Parameter("submissions_speedup", QUICK_SPEEDUP, "quick runs: so that the few jobs wait"),
        ),
        yours=_yours,
    ),
)
