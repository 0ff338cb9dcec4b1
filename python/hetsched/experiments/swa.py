"""``swa-multi`` and ``swa-history``: jobs of several nodes under a 40 W cap (COA/SWA paper, sections 3.2 and 4).

Under the cap all 665 nodes draw alike and differ in speed, and a job of eight nodes runs at its slowest. ``swa-multi``
runs jobs A, B, C and D of HPCG at utilization 0.8 (busy) and 0.4 (free): Table 5 and Fig. 13.

``swa-history`` is a week of Laurel 2. The paper counts its jobs by size and length (Table 4), then evaluates a mix that
leaves out jobs of seconds and of hours, and asks: "When a workload includes jobs lasting for hours and jobs only
executing for few seconds, it must be considered that whether SWA still saves energy or not." Here the whole week runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from hetsched.experiments.claims import TOLERANCE, alike, limit, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.ito import CAPPED, COA_SWA, capped_nodes
from hetsched.experiments.runs import Runs, saved_over, side_by_side
from hetsched.platform import VariationTable
from hetsched.report.experiment import experiment_figure
from hetsched.run.result import Result
from hetsched.workload import Workload
from hetsched.workload.generators import laurel2_week, swa_multi

MULTI, HISTORY, BOTH = Parameters(), Parameters(), Parameters()
"""Parameters of either experiment, and of both."""

MULTI.printed("jobs", {"A": 774, "B": 1043, "C": 17, "D": 51}, "A, B of 1 node, C, D of 8")
RUNTIME_S = MULTI.noted("runtime_s", 325.0, "of A and C, nominal: the middle of the printed range under the cap")
LONG_RATIO = MULTI.printed("long_ratio", 10.0, "10 times the iterations in B and D")

HISTORY.printed("jobs", {"1": [10472, 7749, 10437], "2-8": [253, 172, 516], ">8": [1, 0, 3]}, "by nodes and length")
SHORTEST_S, *BORDERS_S, LONGEST_S = HISTORY.noted(
    "length_classes_s", (1.0, 360.0, 3600.0, 86_400.0), "inner borders printed, ends assumed"
)
HISTORY.assumed("lengths", "log-uniform in a class", "as they would be under the cap")
HISTORY.assumed("sizes", "log-uniform in a class")
LARGEST_NODES = HISTORY.assumed("largest_nodes", 32)

NODES = BOTH.printed("nodes", 665, "drawn again each time, the paper's are a part of 2,000")
UTILIZATION = BOTH.printed("utilization", {"busy": 0.8, "free": 0.4})
WINDOW = BOTH.assumed("window", 10, "the paper's figure and example have it, its evaluation names none")
BOTH.noted("paa_rank", "time", "the cap leaves times to tell nodes apart: PAA ranks by mean time, then watts")
BOTH.noted("swa_on_miss", "narrowest", "not printed; `wait` is the variant 'swa, waiting'")
BOTH.assumed("fluctuation", 0.04, "from the figure of the paper's generator")
SUBMIT_INTERVAL_S = BOTH.assumed("submit_interval_s", 10.0)
BOTH.noted("t_comm_s", 0.0, "the paper's simulation knows it, but prints none")
BOTH += CAPPED
BOTH.noted("idle_w", 0.0, "not in the paper's count, nor in job energy")

PAPER_SWA_FREE = 5.36

_JOINT = "how the nodes' times are distributed within their range, and which of the 2,000 nodes were used"
_CLASSES = {"class_0_j": "under 360 s", "class_1_j": "of 360 to 3,600 s", "class_2_j": "over 3,600 s"}
_EASY = {"name": "reservations", "depth": 1}
_SWA = {"name": "sliding-window", "window": WINDOW}
POLICIES: dict[str, Any] = {
    "naive": "naive",
    "paa": {"placement": {"name": "best-rank", "rank": "time"}},
    "swa": {"placement": _SWA},
    "swa, waiting": {"placement": {**_SWA, "on_miss": "wait"}},
    "swa, by application": {"placement": {**_SWA, "application_aware": True}},
    "swa + easy, longest first": {"order": "longest", "backfill": _EASY, "placement": _SWA},
}


def _repeat(
    repetition: Repetition, generate: Callable[..., Workload], borders_s: Sequence[float]
) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = capped_nodes(seed, nodes=NODES)
    table = platform.actual
    assert table is not None

    def extra(result: Result) -> dict[str, float | None]:
        return {**spread_inside_jobs(result, table, window=WINDOW), **by_size(result), **by_length(result, borders_s)}

    return [
        row
        for state, utilization in UTILIZATION.items()
        for workload in [generate(nodes=NODES, utilization=utilization, interval_s=SUBMIT_INTERVAL_S, seed=seed)]
        for row in side_by_side(
            repetition, POLICIES, workload, platform, named={"scenario": state}, bound=["naive"], extra=extra
        )
    ]


def by_size(result: Result) -> dict[str, float]:
    """Seconds that the jobs of one node ran in all, and those of several: ``single_run_s``, ``wide_run_s``."""
    is_single = pl.col("node_count") == 1
    sums = result.jobs.select(single_run_s=pl.col("runtime_s").filter(is_single).sum(), all_s=pl.col("runtime_s").sum())
    single_s, all_s = sums.row(0)
    return {"single_run_s": single_s, "wide_run_s": all_s - single_s}


def by_length(result: Result, borders_s: Sequence[float]) -> dict[str, float]:
    """Job energy by nominal run length: ``class_0_j`` below the first border, and so on; a border counts above it."""
    place = np.searchsorted(borders_s, result.jobs["nominal_runtime_s"].to_numpy(), side="right")
    sums = np.bincount(place, weights=result.jobs["energy_j"].to_numpy(), minlength=len(borders_s) + 1)
    return {f"class_{number}_j": float(energy_j) for number, energy_j in enumerate(sums)}


def speed_ranks(table: VariationTable) -> np.ndarray:
    """Each node's place by mean time factor, then mean watts, then number; 0 is the fastest."""
    assert table.time_ratio is not None
    assert table.power_w is not None
    order = np.lexsort((table.power_w.mean(axis=0), table.time_ratio.mean(axis=0)))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def spread_inside_jobs(result: Result, table: VariationTable, *, window: int) -> dict[str, float | None]:
    """Measures of the jobs with several nodes, of one application; None where there are none.

    ``spread_ratio``: the mean of slowest over mean time factor, less 1; ``missed_ratio``: the share whose ranks span
    more than the window, or for a larger job more than its size.
    """
    jobs = result.jobs.filter((pl.col("node_count") > 1) & pl.col("nodes").is_not_null())
    if jobs.is_empty():
        return {"spread_ratio": None, "missed_ratio": None}
    size = jobs["node_count"].to_numpy()
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    nodes = jobs["nodes"].explode().to_numpy()
    assert table.time_ratio is not None
    times, ranks = table.time_ratio[0, nodes], speed_ranks(table)[nodes]
    slowest, mean = np.maximum.reduceat(times, starts), np.add.reduceat(times, starts) / size
    span = np.maximum.reduceat(ranks, starts) - np.minimum.reduceat(ranks, starts) + 1
    return {
        "spread_ratio": float((slowest / mean - 1.0).mean()),
        "missed_ratio": float((span > np.maximum(window, size)).mean()),
    }


def _rows_of_multi(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, "naive")
    swa, paa = _savings(runs)
    return [
        value("SWA saving, free, %", swa["free"], paper=PAPER_SWA_FREE, undisclosed=_JOINT),
        statement("SWA saving, busy, %", swa["busy"], claim="SWA saves against naive"),
        *_of_both(swa, paa, ("free", "busy")),
        statement("PAA free - busy, points", paa["free"] - paa["busy"], claim="PAA saves more when free"),
        *_why(runs),
        *_beyond(runs),
    ]


def _rows_of_history(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame, "naive")
    swa, paa = _savings(runs)
    open_question = "SWA still saves when jobs last seconds and hours (the paper's open question)"
    by_class = {
        f"SWA saving on jobs {length}, {state}, %": runs.saving("swa", column, scenario=state)
        for state in ("busy", "free")
        for column, length in _CLASSES.items()
    }
    return [
        *(statement(f"SWA saving, {state}, %", swa[state], claim=open_question) for state in ("busy", "free")),
        *_of_both(swa, paa, ("busy", "free")),
        *(statement(quantity, saving, claim="they save, too") for quantity, saving in by_class.items()),
        *_why(runs),
        *_beyond(runs),
    ]


def _savings(runs: Runs) -> list[dict[str, Floats]]:
    """Savings of SWA and of PAA in each state of the machine."""
    return [{state: runs.saving(label, scenario=state) for state in UTILIZATION} for label in ("swa", "paa")]


def _of_both(swa: dict[str, Floats], paa: dict[str, Floats], states: Sequence[str]) -> list[Row]:
    """Claims of the paper on PAA, and on the two algorithms against each other."""
    lead = {state: swa[state] - paa[state] for state in UTILIZATION}
    return [
        *(statement(f"PAA saving, {one}, %", paa[one], claim="PAA saves against naive") for one in states),
        alike("SWA - PAA, free, points", lead["free"], of=paa["free"], claim="PAA and SWA close when free"),
        statement("SWA - PAA, busy, points", lead["busy"], claim="SWA saves more than PAA when busy"),
        statement("SWA free - busy, points", swa["free"] - swa["busy"], claim="SWA saves more when free"),
    ]


def _why(runs: Runs) -> list[Row]:
    """Cause of the saving: jobs get more homogeneous nodes, so ranks wait less for stragglers."""
    swa, paa = _savings(runs)
    lead = (swa["busy"] - paa["busy"]) - (swa["free"] - paa["free"])
    rows = [statement("SWA - PAA, busy over free, points", lead, claim="SWA is farther ahead of PAA when busy")]
    sides: tuple[tuple[str, str, Literal[1, -1], str], ...] = (
        ("wide_run_s", "several nodes", 1, "longer"),
        ("single_run_s", "one node", -1, "less"),
    )
    for column, jobs, side, word in sides:
        change = -runs.saving("swa", column, over="paa", scenario="busy")
        claim = f"jobs of {jobs} run {word} under SWA than under PAA, as in the paper's Fig. 12"
        quantity = f"run time of jobs of {jobs}, SWA over PAA, busy, %"
        rows.append(statement(quantity, change, claim=claim, side=side))
    for state in UTILIZATION:
        change = -runs.saving("swa", "makespan_s", scenario=state)
        shorter = "all is done sooner than under naive"
        rows.append(statement(f"makespan under SWA, {state}, change, %", change, claim=shorter, side=-1))
    for state in UTILIZATION:
        spread, of_paa = (100.0 * runs.values("spread_ratio", policy, scenario=state) for policy in ("swa", "paa"))
        quantity = f"slowest over mean time inside a job, SWA - PAA, {state}, %"
        rows.append(statement(quantity, spread - of_paa, claim="SWA's jobs run on nodes more alike", side=-1))
    return rows


def _beyond(runs: Runs) -> list[Row]:
    """Variants that the paper proposes, shares of the attainable saving, and a policy that saves more."""
    rows = []
    for state in UTILIZATION:
        here = runs.where(scenario=state)
        share, of_paa = here.metric("share", "swa"), here.metric("share", "paa")
        quantity = f"SWA's share of the attainable saving, {state}, %"
        ahead = ("SWA's less PAA's", share - of_paa)
        rows.append(statement(quantity, share, tested=ahead, claim="larger than PAA's"))
        rows += _variants(here, state)
        lead = here.saving("swa + easy, longest first") - here.saving("swa")
        quantity = f"beyond: swa + easy, longest first, over swa, {state}, points"
        rows.append(statement(quantity, lead, claim="saves more than swa"))
    return rows


def _variants(here: Runs, state: str) -> list[Row]:
    """The variants that the paper proposes, against its own algorithm."""
    swa, missed, most = here.saving("swa"), 100.0 * here.values("missed_ratio", "swa"), 100.0 * TOLERANCE
    quantity, claim = (
        f"jobs of several nodes that miss the window, {state}, %",
        f"fewer than {most:.0f} % of the jobs miss it",
    )
    return [
        limit(quantity, missed, most=most, claim=claim, printed=False),
        *(
            alike(f"{variant}, over swa, {state}, points", here.saving(variant) - swa, of=swa, claim=claim)
            for variant, claim in (
                ("swa, waiting", "waiting for a window saves as much: it is seldom missed"),
                ("swa, by application", "one application has one rank: knowing it saves as much"),
            )
        ),
    ]


def _experiment(
    name: str,
    parameters: Parameters,
    generate: Callable[..., Workload],
    rows: Callable[[pl.DataFrame], list[Row]],
    *,
    borders_s: Sequence[float] = (),
    paper: dict[tuple[str, str], float],
    **more: Any,
) -> Experiment:
    panels = {f"over naive, {state} ({share:.0%} in use)": state for state, share in UTILIZATION.items()}
    shown = ["paa", "swa", "swa + easy, longest first"]
    return Experiment(
        name=name,
        source=COA_SWA,
        parameters=[*parameters, *BOTH],
        policies=POLICIES,
        repeat=partial(_repeat, generate=generate, borders_s=borders_s),
        rows=rows,
        savings=lambda frame: Runs(frame, "naive").drawn(panels, shown, paper),
        yours=saved_over("naive", UTILIZATION),
        draw=experiment_figure,
        baseline="naive",
        **more,
    )


EXPERIMENTS = (
    _experiment(
        "swa-multi",
        MULTI,
        partial(swa_multi, runtime_s=RUNTIME_S, long_ratio=LONG_RATIO),
        _rows_of_multi,
        paper={("free", "swa"): PAPER_SWA_FREE},
        repetitions=100,
        quick_repetitions=6,
    ),
    _experiment(
        "swa-history",
        HISTORY,
        partial(laurel2_week, shortest_s=SHORTEST_S, longest_s=LONGEST_S, largest_nodes=LARGEST_NODES),
        _rows_of_history,
        borders_s=BORDERS_S,
        paper={},
        repetitions=30,
    ),
)
