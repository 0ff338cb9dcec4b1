"""``coa-single``: single-node jobs matched to nodes (COA/SWA paper, section 3.1, Table 3 and Fig. 7).

5,700 STREAM and 3,400 HPCG jobs on 1,990 nodes without a cap, at utilization 0.8 (busy) and 0.4 (free). Run once with
equal run times on all nodes and once with the times that the paper measured varying from node to node: the paper's
table holds such times, but also says that they may not be the nodes' own.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.ito import IMPLIED, NODE_WATTS, TIMES, single_nodes
from hetsched.experiments.runs import Runs, run_rows
from hetsched.experiments.yours import labels_in
from hetsched.workload.generators import coa_single

__all__ = ["EXPERIMENT"]

NODES = 1990
UTILIZATION = {"busy": 0.8, "free": 0.4}
SUBMIT_INTERVAL_S = 10.0
STREAM_S, HPCG_S = 234.0, 392.0
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

PARAMETERS = (
    Parameter("nodes", NODES, "printed"),
    Parameter("utilization", dict(UTILIZATION), "printed"),
    Parameter("stream_jobs", 5700, "printed"),
    Parameter("hpcg_jobs", 3400, "printed"),
    Parameter("hpcg_runtime_s", HPCG_S, "assumed: HPCG 104³'s 140.5 s × 128·192·128 / 104³"),
    Parameter("stream_runtime_s", STREAM_S, "so that the total times are equal, as printed"),
    Parameter("fluctuation", 0.04, "assumed, from the figure of the paper's generator"),
    Parameter("submit_interval_s", SUBMIT_INTERVAL_S, "assumed: jobs submitted together are matched together"),
    Parameter("coa_interval_s", 0.0, "assumed: a pass at every submission and end, none delayed"),
    Parameter("t_comm_s", 0.0, "single-node jobs"),
    *NODE_WATTS,
    IMPLIED,
    *TIMES,
    Parameter("idle_w", 0.0, "not in the paper's count, nor in job energy"),
)


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    rows, seed = [], repetition.seed
    policies = {**POLICIES, **repetition.policies}
    for times, times_vary in _TIMES.items():
        platform = single_nodes(seed, nodes=NODES, times_vary=times_vary)
        for state, utilization in UTILIZATION.items():
            workload = coa_single(
                nodes=NODES,
                utilization=utilization,
                stream_runtime_s=STREAM_S,
                hpcg_runtime_s=HPCG_S,
                interval_s=SUBMIT_INTERVAL_S,
                seed=seed,
            )
            scenario = f"{state}, {times}"
            rows += run_rows(scenario, policies, workload, platform, seed=seed, baselines=("naive",))
    return rows


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, baseline="naive")
    rows = [row for times in _TIMES for row in _of_paper(runs, times)]
    rows += [row for times in _TIMES for row in _beyond(runs, times)]
    return rows


def _of_paper(runs: Runs, times: str) -> list[Row]:
    busy, free = f"busy, {times}", f"free, {times}"
    rows = [
        value(f"COA saving, {free}, %", runs.saving("coa", free), paper=PAPER_COA_FREE, undisclosed=_JOINT),
        statement(f"COA saving, {busy}, %", runs.saving("coa", busy), claim="COA saves against naive"),
        statement(f"PAA saving, {free}, %", runs.saving("paa", free), claim="PAA saves against naive"),
        statement(f"PAA saving, {busy}, %", runs.saving("paa", busy), claim="PAA saves against naive"),
        value(
            f"COA over PAA, {busy}, % more saved",
            _more(runs, busy),
            paper=PAPER_COA_OVER_PAA_BUSY,
            undisclosed=_JOINT,
        ),
        statement(
            f"COA over PAA, {free}, % more saved",
            _more(runs, free),
            tested=("busy less free", _more(runs, busy) - _more(runs, free)),
            claim="COA is farther ahead of PAA when busy",
        ),
    ]
    for policy in ("coa", "paa"):
        gain = runs.saving(policy, free) - runs.saving(policy, busy)
        name = policy.upper()
        rows.append(statement(f"{name} free - busy, {times}, points", gain, claim=f"{name} saves more when free"))
    return [*rows, *(_window(runs, scenario) for scenario in (busy, free))]


def _window(runs: Runs, scenario: str) -> Row:
    """The saving is of the same jobs; what it does to the length of the whole."""
    change = -runs.saving("coa", scenario, column="makespan_s")
    most = float(runs.saving("coa", scenario).mean())
    claim = "the makespan changes by less than the energy"
    return limit(f"makespan under COA, {scenario}, change, %", change, most=most, claim=claim, printed=False)


def _beyond(runs: Runs, times: str) -> list[Row]:
    """What is left to save, and who saves more than the paper's own."""
    rows = []
    for state in UTILIZATION:
        scenario = f"{state}, {times}"
        share, of_paa = runs.share("coa", scenario), runs.share("paa", scenario)
        if share is not None and of_paa is not None:
            quantity = f"COA's share of the attainable saving, {scenario}, %"
            ahead = ("COA's less PAA's", share - of_paa)
            rows.append(statement(quantity, share, tested=ahead, claim="larger than PAA's"))
        lead = runs.saving("lowest-power + easy", scenario) - runs.saving("paa", scenario)
        quantity = f"beyond: lowest-power + easy over paa, {scenario}, points"
        rows.append(statement(quantity, lead, claim="saves more than paa, and needs no solver"))
        rows.append(_gathering(runs, scenario))
    longest_s = runs.values("coa", f"busy, {times}", "max_wait_s")
    nobody = "no job ever waits: order and backfilling have nothing to decide"
    quantity = f"longest wait under COA, busy, {times}, s"
    return [*rows, limit(quantity, longest_s, most=0.0, claim=nobody, printed=False)]


def _gathering(runs: Runs, scenario: str) -> Row:
    """What it is worth to gather jobs over an interval, which the paper does and does not state."""
    policy = "coa + easy, every 20 s"
    lead = runs.saving(policy, scenario) - runs.saving("coa", scenario)
    wait_s = float(runs.values(policy, scenario, "mean_wait_s").mean())
    claim = f"gathering jobs saves more than coa, at a mean wait of {wait_s:.1f} s"
    return statement(f"beyond: {policy}, over coa, {scenario}, points", lead, claim=claim)


def _more(runs: Runs, scenario: str) -> Any:
    return 100.0 * (runs.saving("coa", scenario) / runs.saving("paa", scenario) - 1.0)


def _savings(frame: pl.DataFrame) -> pl.DataFrame:
    runs = Runs(frame, baseline="naive")
    panels = {
        f"over naive, {state} ({share:.0%} in use), {times}": f"{state}, {times}"
        for times in _TIMES
        for state, share in UTILIZATION.items()
    }
    paper = {(f"free, {times}", "coa"): PAPER_COA_FREE for times in _TIMES}
    return runs.drawn(panels, ["paa", "coa", "lowest-power + easy", *labels_in(frame)], paper=paper)


def _yours(frame: pl.DataFrame) -> list[Row]:
    scenarios = [f"{state}, {times}" for times in _TIMES for state in UTILIZATION]
    return Runs(frame, baseline="naive").of_yours(scenarios)


EXPERIMENT = Experiment(
    name="coa-single",
    source="Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity",
    parameters=PARAMETERS,
    policies=POLICIES,
    repetitions=40,
    quick_repetitions=6,
    repeat=_repeat,
    rows=_rows,
    savings=_savings,
    yours=_yours,
)
"""Table 3 and Figure 7 of the paper."""
