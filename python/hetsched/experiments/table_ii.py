"""``strategies``: the strategies of Table II, and ours, at one budget on the machine of the paper.

680 nodes under 100 kW that differ as those of Marconi100, and three kinds of jobs, as in the study of allocators of
``overprovision-mix``. All rows see the same jobs: those that can run on other numbers of nodes say so, and only
strategies that choose sizes make use of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.overprovision import ha8000
from hetsched.experiments.overprovision.allocators import (
    BOUND_RATIO,
    BUDGET_W,
    LEVELS_W,
    NODES,
    apps_of_jobs,
    node_watts,
    platform_of,
)
from hetsched.experiments.runs import Runs, run_row, under_budget
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

_DIFFERENT = ("caps_socket_w", "walltime", "mix", "cap_model", "log")
"""Parameters of the machine's other experiments that do not hold here."""

P = Parameters(one for one in ha8000.P if one.name not in _DIFFERENT)
P.noted("nodes", NODES, "drawn from the 846 measured nodes of Marconi100, by the seed")
P.assumed("budget_w", BUDGET_W, "of every row; peak of 400 nodes")
P.printed("submissions_speedup", ha8000.SPEEDUP, "how much closer together than in the log")
WORST_NODES = P.assumed(
    "fewer_nodes", int(BUDGET_W / (ha8000.SOCKETS * ha8000.TDP_W)), "as many as the budget feeds at TDP"
)
FAIR_W = BUDGET_W / NODES
P.assumed("equal_cap_w", round(FAIR_W, 3), "a node: the budget over all nodes")
P.assumed("bound_ratio", BOUND_RATIO, "of a third of the jobs each")
P.assumed("caps_w", LEVELS_W, "a node; every fourth of them in the program")
RANGE = 2
P.assumed("sizes", [1 / RANGE, RANGE], "× the nodes asked for; the largest at most `fewer_nodes`")
P.assumed("malleable", "every job that has several sizes", "in its row alone; changes take no time")
DOWNEY = {"downey_a": 2.0, "downey_sigma": 1.0}
P.assumed("speedup", {"downey": {"a": "2 × nodes asked for", "sigma": DOWNEY["downey_sigma"]}})
P.assumed("important", 0.5, "of the jobs, chosen by the seed; they allow no slowdown (Cao)")
SLOWDOWN = P.assumed("slowdown_limit", 1.2, "of a configuration that can start at once (Patki)")
CONSIDERED = P.assumed("considered", 8, "jobs of the queue in the program (Sarood)")
P.assumed("margin_w", 0.5, "above the draw of a node that leaves watts (Ellsworth)")
P.assumed("spread", 2.0, "free nodes in a window, × the job's size (Totoni)")
P.assumed("reference", "the mean of all applications", "in place of a micro-benchmark (Inadomi)")
LEAST_W = LEVELS_W[0]

QUICK = Parameters()
"""Parameters of a quick run: a fifth of the machine and its budget, so that the few jobs wait."""

PART = 5
QUICK_JOBS = QUICK.noted("jobs", 30, "quick runs: the first of them")
QUICK.noted("nodes", NODES // PART, "quick runs: a fifth")
QUICK.noted("budget_w", BUDGET_W / PART, "quick runs: a fifth")
QUICK.noted("fewer_nodes", WORST_NODES // PART, "quick runs: a fifth")

FREE, FAIR, WORST = "no caps", "equal caps", "fewer nodes"
UNIFORM, OURS = "uniform", "equal-slowdown (ours)"
SEVEN = ("Totoni", "Gholkar", "Sarood", "Patki", "Ellsworth", "Inadomi", "Cao")
"""In the order of Table II."""

TOTONI, GHOLKAR, SAROOD, PATKI, ELLSWORTH, INADOMI, CAO = SEVEN
MALLEABLE = "Sarood, malleable"
LABELS = (TOTONI, GHOLKAR, SAROOD, MALLEABLE, PATKI, ELLSWORTH, INADOMI, CAO, OURS, UNIFORM, FREE, FAIR, WORST)


def _policies(budget_w: float = BUDGET_W) -> dict[str, Policy]:
    budget = {"name": "system-budget", "budget_w": budget_w, "caps_w": list(LEVELS_W)}

    def easy(allocator: Any, **parts: Any) -> Policy:
        return Policy(**{"backfill": "reservations", "power": {**budget, "allocator": allocator}, **parts})

    two, patki = TwoLevel(least_cap_w=LEAST_W), MoldableBackfill(least_cap_w=LEAST_W, slowdown_limit=SLOWDOWN)
    ilp, elastic = (ThroughputIlp(caps_w=LEVELS_W[::4], considered=CONSIDERED) for _ in range(2))
    return {
        TOTONI: easy("uniform", placement=VariationPlacement()),
        GHOLKAR: easy(two, placement=two),
        SAROOD: easy(ilp, backfill=ilp),
        MALLEABLE: easy(elastic, backfill=elastic),
        PATKI: easy(patki, backfill={"name": "reservations", "sizing": patki}),
        ELLSWORTH: easy(DynamicSharing(least_cap_w=LEAST_W)),
        INADOMI: easy(VariationAware(least_cap_w=LEAST_W)),
        CAO: easy(DemandAware(caps_w=LEVELS_W, slowdowns={"high": 1.0})),
        OURS: easy("equal-slowdown"),
        UNIFORM: easy("uniform"),
        FREE: easy("static"),
        FAIR: easy("static"),
        WORST: easy("static"),
    }


def _workload(repetition: Repetition, most: int) -> Workload:
    """The first 600 jobs, each on half to twice the nodes it asks for, half of them in the queue `high`."""
    frame = ha8000.arrivals(0, ha8000.SPEEDUP)
    asked = frame["node_count"].to_numpy()
    queue = np.random.default_rng([repetition.seed, 1]).permutation(["high", "low"] * (len(frame) // 2))
    frame = frame.with_columns(
        pl.Series("app", apps_of_jobs(repetition.seed)),
        pl.Series("queue", queue),
        runtime_s=pl.lit(ha8000.RUNTIME_S),
        min_nodes=pl.Series((asked + RANGE - 1) // RANGE),
        max_nodes=pl.Series(np.maximum(asked, np.minimum(RANGE * asked, most))),
        speedup=pl.lit("downey"),
        downey_a=pl.Series(DOWNEY["downey_a"] * asked),
        downey_sigma=pl.lit(DOWNEY["downey_sigma"]),
    )
    return Workload.from_polars(frame.head(QUICK_JOBS) if repetition.is_quick else frame)


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    part = PART if repetition.is_quick else 1
    budget_w, nodes, most = BUDGET_W / part, NODES // part, WORST_NODES // part
    power_w = node_watts(repetition.seed)
    platform, fewer = platform_of(power_w[:nodes]), platform_of(power_w[:most])
    workload = _workload(repetition, most)
    frame = workload.to_polars()
    others = {
        FAIR: Workload.from_polars(frame.with_columns(cap_w=pl.lit(FAIR_W))),
        MALLEABLE: Workload.from_polars(frame.with_columns(malleable=pl.col("min_nodes") < pl.col("max_nodes"))),
    }
    yours = {label: under_budget(policy, budget_w=budget_w) for label, policy in repetition.policies.items()}
    return [
        run_row(
            label,
            policy,
            others.get(label, workload),
            fewer if label == WORST else platform,
            seed=repetition.seed,
            named={"scenario": f"{nodes} nodes, {budget_w / 1000:g} kW"},
            extra=partial(_measured, budget_w=budget_w),
        )
        for label, policy in {**_policies(budget_w), **yours}.items()
    ]


def _measured(result: Result, budget_w: float) -> Mapping[str, Any]:
    """The steady state, run lengths and nodes over those asked for, and the program's solutions and fallbacks."""
    ran = result.jobs.filter(state="completed").select(
        "job_id", "queue", "node_count", length=pl.col("runtime_s") / pl.col("nominal_runtime_s")
    )
    held_s = pl.col("end_s") - pl.col("start_s")
    held = result.segments.group_by("job_id").agg((held_s * pl.col("nodes").list.len()).sum() / held_s.sum())
    ran = ran.join(held.rename({"end_s": "nodes"}), on="job_id").with_columns(pl.col("nodes") / pl.col("node_count"))
    lengths = {name: ran.filter(queue=name)["length"].mean() for name in ("high", "low")}
    notes = result.provenance.get("notes", {}).get("backfill", {})
    return {
        **ha8000.steady_state(result, ha8000.SOCKETS * ha8000.IDLE_W, budget_w),
        "length_ratio": ran["length"].mean(),
        "nodes_ratio": ran["nodes"].mean(),
        **{f"length_ratio_{name}": mean for name, mean in lengths.items()},
        "fallbacks": float(notes.get("fallbacks", 0)),
        "programs": float(notes.get("solved", 0)) + float(notes.get("fallbacks", 0)),
    }


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    over_s = sum(runs.values("over_budget_s", label) for label in LABELS)
    return [
        *_claims(runs),
        *(_over(runs, OURS, rival, name) for rival in (*SEVEN, MALLEABLE, UNIFORM, FREE) for name in _BETTER),
        limit("time above the budget, all of them, s", over_s, most=0.0, claim="kept", printed=False),
    ]


_BETTER: dict[str, tuple[str, Literal[1, -1]]] = {
    "throughput_jobs_per_hour": ("jobs an hour", 1),
    "mean_turnaround_s": ("mean turnaround", -1),
    "energy_per_work_j_per_node_s": ("energy per work", -1),
}


def _change(runs: Runs, label: str, rival: str, name: str) -> Floats:
    changed: Floats = 100.0 * (runs.values(name, label) / runs.values(name, rival) - 1.0)
    return changed


def _over(runs: Runs, label: str, rival: str, name: str) -> Row:
    quantity, side = _BETTER[name]
    return statement(
        f"{quantity}, {label} over {rival}, change, %",
        _change(runs, label, rival, name),
        claim=f"{label} is better than {rival}",
        side=side,
    )


_MACHINE = "its own machine and programs, and how tight the watts are"
_WASTED = "here jobs scale less well than they ask, and more nodes finish fewer jobs"


def _claims(runs: Runs) -> list[Row]:
    """Claims of each paper on its strategy."""

    def more(label: str, quantity: str, rival: str, column: str, claim: str) -> Row:
        side: Literal[1, -1] = 1 if column == jobs else -1
        return statement(f"{label}: {quantity}, change, %", _change(runs, label, rival, column), side=side, claim=claim)

    def printed(quantity: str, values: Floats, paper: float, undisclosed: str) -> Row:
        return value(quantity, values, paper=paper, undisclosed=undisclosed)

    jobs, turnaround, work = _BETTER
    important = runs.values("length_ratio_high", CAO) - runs.values("length_ratio_low", CAO)
    one_speed = "a job whose nodes run at one speed is faster than under one cap for all"
    tuned = "watts split between jobs and tuned within them raise the throughput"
    demanded = "jobs get the speed that was demanded for them, the others pay for it"
    sized = "sizes and caps by the program raise the throughput of more nodes under the budget"
    knowing = "knowing the differences between nodes saves energy"
    over_fewer, over_free = (_change(runs, PATKI, rival, turnaround) for rival in (WORST, FREE))
    saved = -_change(runs, ELLSWORTH, FAIR, "makespan_s")
    return [
        more(INADOMI, "mean run length over one cap for all", UNIFORM, "length_ratio", one_speed),
        more(GHOLKAR, "jobs an hour over one cap for all", UNIFORM, jobs, tuned),
        printed(
            f"{ELLSWORTH}: time for all jobs saved over equal caps, %", saved, 14.0, f"printed as the most; {_MACHINE}"
        ),
        statement(f"{CAO}: run length of important jobs less that of the others", important, side=-1, claim=demanded),
        more(CAO, "jobs an hour over equal caps", FAIR, jobs, "and the throughput rises against fixed caps"),
        printed(f"{PATKI}: mean turnaround over fewer nodes at full power, change, %", over_fewer, -19.0, _MACHINE),
        printed(
            f"{PATKI}: mean turnaround over more nodes without caps, change, %",
            over_free,
            -36.0,
            f"{_MACHINE}; {_WASTED}",
        ),
        more(SAROOD, "jobs an hour over fewer nodes at full power", WORST, jobs, sized),
        more(TOTONI, "energy per work over lowest numbers, both under one cap for all", UNIFORM, work, knowing),
    ]


QUANTITIES = {
    "throughput_jobs_per_hour": "jobs an hour, first submit to last end",
    "mean_turnaround_s": "mean turnaround, s",
    "energy_per_work_j_per_node_s": "energy per work, J a nominal node-second",
    "length_ratio": "mean run length over the nominal one",
    "nodes_ratio": "mean nodes over those asked for",
    "draw_percent": "draw in the steady state, % of the budget",
}
"""Numbers of each policy, by column of the runs."""

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
    """The fronts on linear axes: no cost is more than twice another."""
    figure = pareto_figure(own, title=title)
    for axes in figure.axes:
        axes.set_xscale("linear")
    return figure


EXPERIMENTS = (
    Experiment(
        name="strategies",
        no_shares="the bound leaves jobs under caps and of changing sizes out",
        source=f"{ha8000.SOURCE}, Table II",
        parameters=P,
        policies={label: policy.name for label, policy in _policies().items()},
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        repetitions=4,
        yours=lambda frame, label: Runs(frame).numbers(label, QUANTITIES, {"": {}}),
        draw=_draw,
        quick_parameters=QUICK,
    ),
)
