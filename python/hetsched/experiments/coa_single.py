"""``coa-single``: single-node jobs matched to nodes (COA/SWA paper, section 3.1, Table 3 and Fig. 7).

5,700 STREAM and 3,400 HPCG jobs on 1,990 nodes without a cap, at utilization 0.8 (busy) and 0.4 (free). Run once with
equal run times on all nodes and once with the times that the paper measured varying from node to node: the paper's
table holds such times, but also says that they may not be the nodes' own.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.ito import COA_SWA, IMPLIED, NODE_WATTS, TIMES, single_nodes
from hetsched.experiments.runs import Runs, saved_over, side_by_side
from hetsched.report.experiment import experiment_figure
from hetsched.workload.generators import coa_single

P = Parameters()
NODES = P.printed("nodes", 1990)
UTILIZATION = P.printed("utilization", {"busy": 0.8, "free": 0.4})
P.printed("stream_jobs", 5700)
P.printed("hpcg_jobs", 3400)
HPCG_S = P.assumed("hpcg_runtime_s", 392.0, "HPCG 104³'s 140.5 s × 128·192·128 / 104³")
STREAM_S = P.noted("stream_runtime_s", 234.0, "so that the total times are equal, as printed")
P.assumed("fluctuation", 0.04, "from the figure of the paper's generator")
SUBMIT_INTERVAL_S = P.assumed("submit_interval_s", 10.0, "jobs submitted together are matched together")
P.assumed("coa_interval_s", 0.0, "a pass at every submission and end, none delayed")
P.noted("t_comm_s", 0.0, "single-node jobs")
P += [*NODE_WATTS, IMPLIED, *TIMES]
P.noted("idle_w", 0.0, "not in the paper's count, nor in job energy")

PAPER_COA_FREE, PAPER_COA_OVER_PAA_BUSY = 2.92, 17.0

_EASY = {"name": "reservations", "depth": 1}
POLICIES: dict[str, Any] = {
    "naive": "naive",
    "paa": "paa",
    "coa": "coa",
    "lowest-power + easy": {"backfill": _EASY, "placement": "lowest-power"},
    "coa + easy, every 20 s": {"backfill": _EASY, "placement": {"name": "assignment", "interval_s": 20.0}},
}
_TIMES = {"equal times": False, "times vary": True}
_JOINT = "the joint distribution of the nodes' watts, and how long the jobs took"


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    return [
        row
        for times, times_vary in _TIMES.items()
        for platform in [single_nodes(seed, nodes=NODES, times_vary=times_vary)]
        for state, utilization in UTILIZATION.items()
        for workload in [
            coa_single(
                nodes=NODES,
                utilization=utilization,
                stream_runtime_s=STREAM_S,
                hpcg_runtime_s=HPCG_S,
                interval_s=SUBMIT_INTERVAL_S,
                seed=seed,
            )
        ]
        for row in side_by_side(
            repetition, POLICIES, workload, platform, named={"scenario": f"{state}, {times}"}, bound=["naive"]
        )
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, "naive")
    rows = [row for times in _TIMES for row in _of_paper(runs, times)]
    rows += [row for times in _TIMES for row in _beyond(runs, times)]
    return rows


def _of_paper(runs: Runs, times: str) -> list[Row]:
    busy, free = f"busy, {times}", f"free, {times}"
    coa, paa = ({where: runs.saving(label, scenario=where) for where in (busy, free)} for label in ("coa", "paa"))
    more = {where: 100.0 * (coa[where] / paa[where] - 1.0) for where in (busy, free)}
    ahead, farther = ("busy less free", more[busy] - more[free]), "COA is farther ahead of PAA when busy"
    return [
        value(f"COA saving, {free}, %", coa[free], paper=PAPER_COA_FREE, undisclosed=_JOINT),
        statement(f"COA saving, {busy}, %", coa[busy], claim="COA saves against naive"),
        statement(f"PAA saving, {free}, %", paa[free], claim="PAA saves against naive"),
        statement(f"PAA saving, {busy}, %", paa[busy], claim="PAA saves against naive"),
        value(f"COA over PAA, {busy}, % more saved", more[busy], paper=PAPER_COA_OVER_PAA_BUSY, undisclosed=_JOINT),
        statement(f"COA over PAA, {free}, % more saved", more[free], tested=ahead, claim=farther),
        *(
            statement(
                f"{name} free - busy, {times}, points", own[free] - own[busy], claim=f"{name} saves more when free"
            )
            for name, own in (("COA", coa), ("PAA", paa))
        ),
        *(_window(runs, where, coa[where]) for where in (busy, free)),
    ]


def _window(runs: Runs, scenario: str, saving: Floats) -> Row:
    """Change of the makespan, as the saving is of the same jobs."""
    change = -runs.saving("coa", "makespan_s", scenario=scenario)
    claim = "the makespan changes by less than the energy"
    quantity = f"makespan under COA, {scenario}, change, %"
    return limit(quantity, change, most=float(saving.mean()), claim=claim, printed=False)


def _beyond(runs: Runs, times: str) -> list[Row]:
    """Shares of the attainable saving, and policies that save more than the paper's own."""
    rows = []
    for scenario in (f"{state}, {times}" for state in UTILIZATION):
        share, of_paa = (runs.metric("share", label, scenario=scenario) for label in ("coa", "paa"))
        quantity = f"COA's share of the attainable saving, {scenario}, %"
        ahead = ("COA's less PAA's", share - of_paa)
        rows.append(statement(quantity, share, tested=ahead, claim="larger than PAA's"))
        lead = runs.saving("lowest-power + easy", scenario=scenario) - runs.saving("paa", scenario=scenario)
        quantity = f"beyond: lowest-power + easy over paa, {scenario}, points"
        rows.append(statement(quantity, lead, claim="saves more than paa, and needs no solver"))
        rows.append(_gathering(runs, scenario))
    longest_s = runs.values("max_wait_s", "coa", scenario=f"busy, {times}")
    claim = "no job ever waits: order and backfilling have nothing to decide"
    return [*rows, limit(f"longest wait under COA, busy, {times}, s", longest_s, most=0.0, claim=claim, printed=False)]


def _gathering(runs: Runs, scenario: str) -> Row:
    """Saving by collecting jobs over an interval, of which the paper states no length."""
    policy = "coa + easy, every 20 s"
    lead = runs.saving(policy, scenario=scenario) - runs.saving("coa", scenario=scenario)
    wait_s = float(runs.values("mean_wait_s", policy, scenario=scenario).mean())
    claim = f"gathering jobs saves more than coa, at a mean wait of {wait_s:.1f} s"
    return statement(f"beyond: {policy}, over coa, {scenario}, points", lead, claim=claim)


def _savings(frame: pl.DataFrame) -> pl.DataFrame:
    panels = {
        f"over naive, {state} ({share:.0%} in use), {times}": f"{state}, {times}"
        for times in _TIMES
        for state, share in UTILIZATION.items()
    }
    paper = {(f"free, {times}", "coa"): PAPER_COA_FREE for times in _TIMES}
    return Runs(frame, "naive").drawn(panels, ["paa", "coa", "lowest-power + easy"], paper)


EXPERIMENTS = (
    Experiment(
        name="coa-single",
        source=COA_SWA,
        parameters=P,
        policies=POLICIES,
        repeat=_repeat,
        rows=_rows,
        savings=_savings,
        yours=saved_over("naive", [f"{state}, {times}" for times in _TIMES for state in UTILIZATION]),
        draw=experiment_figure,
        baseline="naive",
    ),
)
"""Table 3 and Figure 7 of the paper."""
