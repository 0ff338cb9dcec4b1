"""``vahrm-error`` and ``vahrm-first-run``: predictions that are wrong, and jobs without any.

Table VII and Figs. 18 to 20 of the VAHRM paper. Wrong predictions are under half the budget, and every error is a mean
absolute one, in percent of the watts (MAPE). A job's first run has no prediction: it is measured, which takes 5 %
longer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from hetsched.experiments.claims import alike, limit, statement, value
from hetsched.experiments.experiment import Floats, Parameters, Repetition, Row
from hetsched.experiments.runs import Runs, under_budget
from hetsched.experiments.vahrm.system import (
    BASELINE,
    HIGH_POWER,
    MAPE_TO_SD,
    OTHERS,
    by_preset,
    case_row,
    cases_of,
    log_under_baseline,
    machine_of,
    numbers,
    of_paper,
    relative,
    swept,
)
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.power import Noisy
from hetsched.workload import flag_first_runs
from hetsched.workload.generators.cpu_gpu_log import MIXES

WRONG, FIRST_RUNS = Parameters(), Parameters()
"""Parameters of either experiment."""

PCR = WRONG.printed("pcr", 0.5)
WRONG.printed("sr", 1.0)
TABLE = WRONG.printed(
    "table_7_change_percent",
    {
        "energy": (0.0, 0.0, 0.2, 0.1, 0.1, 0.2),
        "turnaround": (0.1, 0.0, 0.4, 0.5, 0.2, -0.1),
        "throughput": (0.0, -0.1, -0.3, -0.2, -0.2, -0.3),
        "waiting": (0.5, 0.3, 1.6, 1.9, 1.6, 0.7),
    },
    "by error",
)
"""The paper's Table VII: change against exact predictions, in percent, by error."""

ERRORS = WRONG.printed(
    "error",
    (0.05, 0.10, 0.15, 0.20, 0.25, 0.30),
    "taken as a mean absolute error, as TSMVA's is: normal errors, one for each node and application",
)
WRONG.noted("high_power_workloads", [MIXES[number] for number in HIGH_POWER], "those that half the TDP cannot feed")
POLICY = f"vahrm:pcr={PCR}"
EXACT, TSMVA = "vahrm+ideal", "vahrm+tsmva"

RATIOS = FIRST_RUNS.printed(
    "first_runs",
    (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "from 0 to 1; flags are drawn job by job, nested in the ratio",
)
FIRST_RUNS.printed("profiling_ratio", 0.05)
FIRST_RUNS.printed("sr", 1.0)
FIRST_RUNS.printed("pcr", 1.0, "the budget never binds")
GOOD_UNTIL, PAPER_AT, PAPER_SAVING = 0.3, 0.4, 1.0
WITH_FIRST_RUNS: dict[str, str | Policy] = {BASELINE: BASELINE, "vahrm": "vahrm:first_run=true"}

_CURSE = (
    "nodes are chosen because they are predicted to draw little, so those that were predicted too low are: the machine "
    "draws more than it is allowed, and does more"
)


def _repeat_wrong(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    machine = machine_of(repetition)
    actual = machine.sample.table
    wrong = {
        error: machine.ideal.with_tables(
            actual=actual, predicted=Noisy(error_ratio=MAPE_TO_SD * error, seed=seed).table(actual)
        )
        for error in ERRORS
    }
    yours = {label: under_budget(policy, pcr=PCR) for label, policy in repetition.policies.items()}
    runs: list[tuple[str, str | Policy, float, Platform]] = [
        (EXACT, POLICY, 0.0, machine.ideal),
        (TSMVA, POLICY, 0.0, machine.tsmva),
        *(("vahrm", POLICY, error, platform) for error, platform in wrong.items()),
        *(
            (label, policy, error, platform)
            for error, platform in {0.0: machine.ideal, **wrong}.items()
            for label, policy in yours.items()
        ),
    ]
    return [
        case_row(case, label, policy, platform, seed=seed, at={"error": error}, bound="starts")
        for case in cases_of(repetition)
        for label, policy, error, platform in runs
    ]


def _rows_of_wrong(runs: Runs, preset: str) -> list[Row]:
    blind = "such predictions rank nodes nearly at random"
    return [
        *(_against_table(runs, metric, error, preset, why=_CURSE) for error in ERRORS for metric in TABLE),
        *(
            _against_table(runs, metric, ERRORS[-1], f"the other seven, {preset}", numbers=OTHERS, why=blind)
            for metric in TABLE
        ),
        *_above(runs, TSMVA, 0.0, f"TSMVA's errors, high-power two, {preset}"),
        *(
            row
            for error in ERRORS
            for row in _above(runs, "vahrm", error, f"{100 * error:g} % error, high-power two, {preset}")
        ),
    ]


def _against_table(runs: Runs, metric: str, error: float, where: str, *, why: str, **more: Any) -> Row:
    """A cell of the table, which claims that none of them is far from 0: its column's worst is the limit."""
    change = runs.mean(metric, "vahrm", base_at={"error": 0.0}, error=error, **more)
    quantity = f"{metric} at {100 * error:g} % error, {where}, change, % (paper: up to)"
    return limit(quantity, change, most=max(map(abs, TABLE[metric])), claim="like exact predictions", why=why)


def _above(runs: Runs, label: str, error: float, where: str) -> list[Row]:
    """Violations of the budget in actual watts, on the workloads that it affects."""

    def of(column: str) -> Floats:
        return runs.values(column, label, error=error)[:, list(HIGH_POWER)]

    found = {
        f"time above the budget, {where}, %": (of("over_budget_s") / of("makespan_s")).mean(axis=1),
        f"highest draw above the budget, {where}, %": (of("over_budget_peak_w") / of("budget_w")).max(axis=1),
    }
    return [
        limit(quantity, 100.0 * share, most=0.0, claim="keeps to the budget", why=_CURSE)
        for quantity, share in found.items()
    ]


def _drawn_wrong(frame: pl.DataFrame) -> pl.DataFrame:
    # Exact predictions are those with an error of 0, and what all others are compared with.
    exact = frame.filter(policy=EXACT)
    shown = relative(pl.concat([frame, exact.with_columns(policy=pl.lit("vahrm"))]), EXACT)
    nine = range(len(MIXES))
    curves: list[tuple[str, dict[str, Any]]] = [
        ("vahrm", {"label": "all nine workloads", "numbers": nine, "over": EXACT}),
        ("vahrm", {"label": "high-power two", "numbers": HIGH_POWER, "over": EXACT}),
        # A user's policy relative to itself with exact predictions.
        *((label, {"label": label, "numbers": nine, "over": label}) for label in shown.yours),
    ]
    metrics = {"energy": "energy (%)", "turnaround": "turnaround (%)", "waiting": "wait (%)"}
    return pl.concat(
        swept(
            shown,
            {**metrics, "above": "above budget\n(% of time)"},
            labels=[policy],
            called={policy: more.pop("label")},
            base_at={"error": 0.0},
            vary="error",
            ticks={error: f"{100 * error:g}" for error in (0.0, *ERRORS)},
            x_label="error of predictions (%)",
            **more,
        )
        for policy, more in curves
    )


def _yours_wrong(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    """A policy relative to itself with exact predictions."""
    settings = {f"at {100 * error:g} % error": {"error": error} for error in (ERRORS[0], ERRORS[-1])}
    return numbers(frame, label, TABLE, settings, over=label, base_at={"error": 0.0})


def _repeat_first_runs(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = machine_of(repetition).ideal
    rows = []
    for case in cases_of(repetition):
        rows.append(case_row(case, BASELINE, BASELINE, platform, seed=seed, at={"first_runs": None}, bound="starts"))
        for ratio in RATIOS:
            flagged = replace(case, workload=flag_first_runs(case.workload, ratio, seed=seed))
            rows += [
                case_row(flagged, label, policy, platform, seed=seed, at={"first_runs": ratio}, bound="starts")
                for label, policy in {"vahrm": WITH_FIRST_RUNS["vahrm"], **repetition.policies}.items()
            ]
    return rows


def _rows_of_first_runs(runs: Runs, preset: str) -> list[Row]:
    def at(metric: str, ratio: float) -> Floats:
        return runs.mean(metric, "vahrm", base_at={}, first_runs=ratio)

    rise = {name: at(name, 1.0) - at(name, 0.0) for name in ("saving", "placement", "turnaround", "throughput")}
    where, early = f"all first runs less none, {preset}", f"at a ratio of {GOOD_UNTIL}, {preset}, %"
    lost, none = at("placement", GOOD_UNTIL) - at("placement", 0.0), at("placement", 0.0)
    why = (
        f"{preset}: better nodes save {none.mean():.2g} % of energy, and runs that take 5 % longer at a ratio of 0.3, "
        f"on random nodes, cost {-lost.mean():.2g} %"
    )
    spread, blind = f"the devices' spread; {why}", "unknown jobs run on random nodes, and 5 % longer"
    reached, whole = at("saving", PAPER_AT), 100.0 + at("throughput", 0.0)
    saving, turnaround = at("saving", GOOD_UNTIL), at("turnaround", GOOD_UNTIL)
    longer, little = "first runs lengthen turnaround", "throughput is little affected"
    return [
        value(f"saving at a ratio of {PAPER_AT}, {preset}, %", reached, paper=PAPER_SAVING, undisclosed=spread),
        statement(f"saving, {where}, points", rise["saving"], side=-1, claim="first runs cost savings"),
        statement(f"job energy part, {where}, points", rise["placement"], side=-1, claim=blind),
        statement(f"saving {early}", saving, claim="VAHRM still saves at 0.3", why=why),
        statement(f"turnaround vs VU-FCFS {early}", turnaround, side=-1, claim="VAHRM is still ahead at 0.3"),
        statement(f"turnaround vs VU-FCFS, {where}, points", rise["turnaround"], claim=longer),
        alike(f"throughput, {where}, %", rise["throughput"], of=whole, claim=little),
    ]


def _drawn_first_runs(frame: pl.DataFrame) -> pl.DataFrame:
    runs = relative(frame)
    metrics = {"saving": "energy saved (%)", "placement": "job energy saved (%)", "throughput": "throughput (%)"}
    return swept(
        runs,
        {**metrics, "turnaround": "turnaround (%)"},
        labels=["vahrm", *runs.yours],
        vary="first_runs",
        ticks={ratio: f"{ratio:g}" for ratio in RATIOS},
        x_label="share of jobs that are first runs",
        base_at={},
    )


def _yours_with_first_runs(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    settings = {f"at a ratio of {ratio:g}": {"first_runs": ratio} for ratio in (RATIOS[0], GOOD_UNTIL, RATIOS[-1])}
    return numbers(frame, label, ("saving", "turnaround"), settings, base_at={})


EXPERIMENTS = (
    # Table VII of the paper.
    of_paper(
        "vahrm-error",
        "VI-C-5",
        parameters=WRONG,
        baseline=EXACT,
        policies={EXACT: POLICY, TSMVA: POLICY, "vahrm": POLICY},
        repeat=_repeat_wrong,
        rows=by_preset(_rows_of_wrong, EXACT),
        savings=_drawn_wrong,
        yours=_yours_wrong,
    ),
    # Figures 18 to 20 of the paper.
    of_paper(
        "vahrm-first-run",
        "VI-C-6",
        parameters=FIRST_RUNS,
        policies=WITH_FIRST_RUNS,
        repeat=_repeat_first_runs,
        rows=by_preset(_rows_of_first_runs),
        savings=_drawn_first_runs,
        measured=log_under_baseline,
        yours=_yours_with_first_runs,
    ),
)
