"""What ``swa-multi`` and ``swa-history`` share: nodes under a cap, the rivals, and the rows of both tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import polars as pl

from hetsched.experiments.claims import TOLERANCE, alike, limit, statement
from hetsched.experiments.experiment import Parameter, Repetition, Row
from hetsched.experiments.ito import CAPPED, capped_nodes
from hetsched.experiments.runs import Floats, Runs, run_rows
from hetsched.experiments.spread import by_length, by_size, spread_inside_jobs
from hetsched.experiments.yours import labels_in
from hetsched.workload import Workload

__all__ = [
    "JOINT",
    "NODES",
    "PARAMETERS",
    "POLICIES",
    "SOURCE",
    "SUBMIT_INTERVAL_S",
    "UTILIZATION",
    "against_paa",
    "beyond",
    "drawn",
    "repeated",
    "savings",
    "why",
    "yours",
]

SOURCE = "Zhou, Fukazawa & Nakashima, Energy Aware Scheduler of Single/Multi-node Jobs Exploiting Node Heterogeneity"
NODES = 665
WINDOW = 10
UTILIZATION = {"busy": 0.8, "free": 0.4}
SUBMIT_INTERVAL_S = 10.0
JOINT = "how the nodes' times are distributed within their range, and which of the 2,000 nodes were used"

_EASY = {"name": "reservations", "depth": 1}


def _window(**more: Any) -> dict[str, Any]:
    return {"name": "sliding-window", "window": WINDOW, **more}


POLICIES: dict[str, Any] = {
    "naive": "naive",
    "paa": {"placement": {"name": "best-rank", "rank": "time"}},
    "swa": {"placement": _window()},
    "swa, waiting": {"placement": _window(on_miss="wait")},
    "swa, by application": {"placement": _window(application_aware=True)},
    "swa + easy, longest first": {"order": "longest", "backfill": _EASY, "placement": _window()},
}

PARAMETERS = (
    Parameter("nodes", NODES, "printed; drawn anew each time, the paper's are a part of 2,000"),
    Parameter("utilization", dict(UTILIZATION), "printed"),
    Parameter("window", WINDOW, "assumed: the paper's figure and example have it, its evaluation names none"),
    Parameter("paa_rank", "time", "the cap leaves times to tell nodes apart: PAA ranks by mean time, then watts"),
    Parameter("swa_on_miss", "narrowest", "not printed; `wait` is the variant 'swa, waiting'"),
    Parameter("fluctuation", 0.04, "assumed, from the figure of the paper's generator"),
    Parameter("submit_interval_s", SUBMIT_INTERVAL_S, "assumed"),
    Parameter("t_comm_s", 0.0, "the paper's simulation knows it, but prints none"),
    *CAPPED,
    Parameter("idle_w", 0.0, "not in the paper's count, nor in job energy"),
)


Savings = dict[str, Floats]


def savings(runs: Runs, policy: str) -> Savings:
    """A policy's saving against naive, in each state of the machine, percent of each repetition.

    Parameters
    ----------
    runs
        Of the experiment.
    policy
        Its label.
    """
    return {state: runs.saving(policy, state) for state in UTILIZATION}


def against_paa(swa: Savings, paa: Savings) -> list[Row]:
    """What the paper says of the two algorithms beside each other.

    Parameters
    ----------
    swa, paa
        As `savings` gives them.
    """
    free = alike(
        "SWA - PAA, free, points", swa["free"] - paa["free"], of=paa["free"], claim="PAA and SWA close when free"
    )
    return [
        free,
        statement("SWA - PAA, busy, points", swa["busy"] - paa["busy"], claim="SWA saves more than PAA when busy"),
        statement("SWA free - busy, points", swa["free"] - swa["busy"], claim="SWA saves more when free"),
    ]


def repeated(
    repetition: Repetition, workload_at: Callable[[float], Workload], *, borders_s: tuple[float, ...] = ()
) -> list[dict[str, Any]]:
    """The runs of a repetition.

    Parameters
    ----------
    repetition
        Which.
    workload_at
        From a utilization to the jobs.
    borders_s
        Between the classes of run lengths whose energy is told apart.
    """
    platform = capped_nodes(repetition.seed, nodes=NODES)
    table = platform.actual
    assert table is not None
    rows = []
    for state, utilization in UTILIZATION.items():
        rows += run_rows(
            state,
            {**POLICIES, **repetition.policies},
            workload_at(utilization),
            platform,
            seed=repetition.seed,
            baselines=("naive",),
            extra=lambda result: {
                **spread_inside_jobs(result, table, window=WINDOW),
                **by_size(result),
                **by_length(result, borders_s),
            },
        )
    return rows


def why(runs: Runs) -> list[Row]:
    """Why it saves, and what it does to the time: nodes inside a job are more alike, so that none waits long."""
    ahead = {state: runs.saving("swa", state) - runs.saving("paa", state) for state in UTILIZATION}
    lead = ahead["busy"] - ahead["free"]
    rows = [statement("SWA - PAA, busy over free, points", lead, claim="SWA is farther ahead of PAA when busy")]
    sides: tuple[tuple[str, str, Literal[1, -1], str], ...] = (
        ("wide_run_s", "several nodes", 1, "longer"),
        ("single_run_s", "one node", -1, "less"),
    )
    for column, jobs, side, word in sides:
        change = -runs.saving("swa", "busy", over="paa", column=column)
        claim = f"jobs of {jobs} run {word} under SWA than under PAA, as in the paper's Fig. 12"
        quantity = f"run time of jobs of {jobs}, SWA over PAA, busy, %"
        rows.append(statement(quantity, change, claim=claim, side=side))
    for state in UTILIZATION:
        change = -runs.saving("swa", state, column="makespan_s")
        shorter = "all is done sooner than under naive"
        rows.append(statement(f"makespan under SWA, {state}, change, %", change, claim=shorter, side=-1))
    for state in UTILIZATION:
        spread, of_paa = (100.0 * runs.values(policy, state, "spread_ratio") for policy in ("swa", "paa"))
        quantity = f"slowest over mean time inside a job, SWA - PAA, {state}, %"
        rows.append(statement(quantity, spread - of_paa, claim="SWA's jobs run on nodes more alike", side=-1))
    return rows


def beyond(runs: Runs) -> list[Row]:
    """Variants the paper proposes, what is left to save, and who saves more."""
    rows = []
    for state in UTILIZATION:
        share, of_paa = runs.share("swa", state), runs.share("paa", state)
        if share is not None and of_paa is not None:
            quantity = f"SWA's share of the attainable saving, {state}, %"
            ahead = ("SWA's less PAA's", share - of_paa)
            rows.append(statement(quantity, share, tested=ahead, claim="larger than PAA's"))
        rows += _variants(runs, state)
        lead = runs.saving("swa + easy, longest first", state) - runs.saving("swa", state)
        quantity = f"beyond: swa + easy, longest first, over swa, {state}, points"
        rows.append(statement(quantity, lead, claim="saves more than swa"))
    return rows


def _variants(runs: Runs, state: str) -> list[Row]:
    """The variants that the paper proposes, against its own algorithm."""
    swa = runs.saving("swa", state)
    missed = 100.0 * runs.values("swa", state, "missed_ratio")
    most = 100.0 * TOLERANCE
    rows = [
        limit(
            f"jobs of several nodes that miss the window, {state}, %",
            missed,
            most=most,
            claim=f"fewer than {most:.0f} % of the jobs miss it",
            printed=False,
        )
    ]
    for variant, claim in (
        ("swa, waiting", "waiting for a window saves as much: it is seldom missed"),
        ("swa, by application", "one application has one rank: knowing it saves as much"),
    ):
        lead = runs.saving(variant, state) - swa
        rows.append(alike(f"{variant}, over swa, {state}, points", lead, of=swa, claim=claim))
    return rows


def yours(frame: pl.DataFrame) -> list[Row]:
    """What a user's own policies save.

    Parameters
    ----------
    frame
        Of all runs.
    """
    return Runs(frame, baseline="naive").of_yours(UTILIZATION)


def drawn(frame: pl.DataFrame, *, paper: dict[tuple[str, str], float]) -> pl.DataFrame:
    """The savings of both papers' algorithms and of ours.

    Parameters
    ----------
    frame
        Of all runs.
    paper
        As in `Runs.drawn`.
    """
    panels = {f"over naive, {state} ({share:.0%} in use)": state for state, share in UTILIZATION.items()}
    labels = ["paa", "swa", "swa + easy, longest first", *labels_in(frame)]
    return Runs(frame, baseline="naive").drawn(panels, labels, paper=paper)
