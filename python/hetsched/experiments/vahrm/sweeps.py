"""``vahrm-beta``, ``vahrm-congestion`` and ``vahrm-pcr``: one setting of the VAHRM paper varies (Figs. 10 to 17).

Beta goes from waiting time alone to energy alone, submissions come closer together, and the budget shrinks. All nodes
idle draw 22 % of the machine's TDP. Above that, half of the TDP is left to 540 nodes of all but one kind of job; of
jobs that use their GPUs fully (1,095 W) it feeds 252. So only workloads with many of these feel the budget, and they
are shown apart.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Floats, Parameters, Repetition, Row
from hetsched.experiments.runs import Runs, under_budget
from hetsched.experiments.vahrm.system import (
    BASELINE,
    HIGH_POWER,
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
from hetsched.policy import Policy
from hetsched.workload.generators.cpu_gpu_log import MIXES

WEIGHTS = Parameters()
EXPONENTS = tuple(range(11))
BETAS = WEIGHTS.printed(
    "beta",
    (*(0.25**exponent for exponent in EXPONENTS), 0.0),
    "powers of 1/4 and the range's ends; which powers is assumed",
)
WEIGHTS.printed("sr", 1.0)
WEIGHTS.printed("pcr", 1.0, "the budget never binds")

RECOMMENDED = 6
PAPER_SAVING, PAPER_WAIT = 4.5, 0.56

BETA_METRICS = ("saving", "placement", "turnaround", "wait", "merit")
ENDS = {
    "saving": ("saving", "points", "a larger β saves more energy"),
    "placement": ("placement part", "points", "a larger β gives the high-power jobs the better nodes"),
    "turnaround": ("turnaround vs VU-FCFS", "points", "a smaller β shortens turnaround"),
    "wait": ("wait over VU-FCFS's", "ratio", "a smaller β shortens waits"),
}


def _repeat_betas(repetition: Repetition) -> list[dict[str, Any]]:
    platform = machine_of(repetition).ideal
    runs: list[tuple[str, str | Policy, float | None]] = [
        (BASELINE, BASELINE, None),
        *((label, policy, None) for label, policy in repetition.policies.items()),
        *(("vahrm", f"vahrm:beta={beta!r}", beta) for beta in BETAS),
    ]
    return [
        case_row(case, label, policy, platform, seed=repetition.seed, at={"beta": beta}, bound="starts")
        for case in cases_of(repetition)
        for label, policy, beta in runs
    ]


def _rows_of_betas(runs: Runs, preset: str) -> list[Row]:
    at = {name: runs.across(name, "vahrm", "beta", BETAS, base_at={}) for name in BETA_METRICS}
    saving, wait, merit = at["saving"], at["wait"], at["merit"]
    # Among the powers; β = 0 comes after them.
    best = merit[:, : len(EXPONENTS)].argmax(axis=1)
    found = np.bincount(best, minlength=len(EXPONENTS))
    which = (
        f"the log, and the unit of E_j (joules here); {preset}: (1/4)^{found.argmax()} in {found.max()} of {len(best)} "
        "repetitions"
    )
    log = "which 10,000 jobs of the log"
    waits, lost = wait.mean(axis=0), saving.mean(axis=0)
    why = (
        f"{preset}: from (1/4)^6 to 0 the wait falls from {waits[RECOMMENDED]:.2g} to {waits[-1]:.2g} of VU-FCFS's, "
        f"the saving from {lost[RECOMMENDED]:.2g} to {lost[-1]:.2g} %"
    )
    k = f"k of the β = (1/4)^k with the largest M_β, {preset}"
    to_energy, to_waits = merit[:, RECOMMENDED] - merit[:, 0], merit[:, RECOMMENDED] - merit[:, -1]
    energy, waiting = "M_β prefers (1/4)^6 to energy alone", "M_β prefers (1/4)^6 to waits alone"
    return [
        value(f"saving at (1/4)^6, {preset}, %", saving[:, RECOMMENDED], paper=PAPER_SAVING, undisclosed=log),
        value(f"wait over VU-FCFS's at (1/4)^6, {preset}", wait[:, RECOMMENDED], paper=PAPER_WAIT, undisclosed=log),
        value(k, best, paper=float(RECOMMENDED), undisclosed=which),
        statement(f"M_β at (1/4)^6 less at β = 1, {preset}", to_energy, claim=energy, why=why),
        statement(f"M_β at (1/4)^6 less at β = 0, {preset}", to_waits, claim=waiting, why=why),
        *(
            statement(f"{name}, β 1 less 0, {preset}, {unit}", at[metric][:, 0] - at[metric][:, -1], claim=claim)
            for metric, (name, unit, claim) in ENDS.items()
        ),
    ]


def _drawn_betas(frame: pl.DataFrame) -> pl.DataFrame:
    yours = relative(frame).yours
    # No β of VAHRM's concerns them: the same all along.
    own = frame.filter(pl.col("policy").is_in(yours))
    return swept(
        relative(pl.concat([frame, *(own.with_columns(beta=pl.lit(beta)) for beta in BETAS)])),
        {
            "saving": "energy saved (%)",
            "placement": "placement part (%)",
            "turnaround": "turnaround (%)",
            "wait": "wait over VU-FCFS's",
            "merit": "M$_β$ (% over ratio)",
        },
        labels=["vahrm", *yours],
        vary="beta",
        ticks={beta: f"{beta:g}" if beta in (0.0, 1.0) else f"$4^{{-{place}}}$" for place, beta in enumerate(BETAS)},
        x_label="β: from energy alone to waits alone",
        is_even=True,
        base_at={},
    )


CONGESTION, BUDGETS = Parameters(), Parameters()
"""Parameters of either experiment."""

SHRINK_RATIOS = CONGESTION.assumed("sr", (0.5, 0.75, 1.0, 1.5, 2.0), "the text does not name the ratios of its figures")
CONGESTION.printed("pcr", 1.0, "the budget never binds")
UNDER_CONGESTION: dict[str, str | Policy] = {name: name for name in ("vu-fcfs", "vu-fcfs-b", "cgva-fcfs-b", "vahrm")}

CONSTRAINTS = BUDGETS.printed("pcr", (1.0, 0.9, 0.8, 0.7, 0.6, 0.5), "from 1.0 to 0.5; the steps are assumed")
BUDGETS.printed("sr", 1.0)
BUDGETS.noted("high_power_workloads", [MIXES[number] for number in HIGH_POWER], "those that half the TDP cannot feed")
UNDER_BUDGET: dict[str, str | Policy] = {name: name for name in ("vu-fcfs", "cgva-fcfs", "vahrm")}
GROUPS: dict[str, Collection[int]] = {"all nine": range(len(MIXES)), "high-power two": HIGH_POWER}


def _repeat_congested(repetition: Repetition) -> list[dict[str, Any]]:
    platform = machine_of(repetition).ideal
    return [
        case_row(squeezed, label, policy, platform, seed=repetition.seed, at={"sr": sr}, bound="starts")
        for case in cases_of(repetition)
        for sr in SHRINK_RATIOS
        for squeezed in [replace(case, workload=case.workload.scale_arrivals(sr))]
        for label, policy in {**UNDER_CONGESTION, **repetition.policies}.items()
    ]


def _rows_of_congestion(runs: Runs, preset: str) -> list[Row]:
    least, most = SHRINK_RATIOS[0], SHRINK_RATIOS[-1]
    at = {
        name: runs.across(name, "vahrm", "sr", SHRINK_RATIOS)
        for name in ("saving", "placement", "window", "turnaround", "mean_turnaround_s")
    }
    rise = {name: values[:, -1] - values[:, 0] for name, values in at.items()}
    used, longer = (
        [runs.mean(name, policy, sr=sr).mean() for sr in (least, most)]
        for name, policy in (("utilization_ratio", "vahrm"), ("mean_turnaround_s", "vu-fcfs"))
    )
    busy = (
        f"{preset}: nodes in use {100 * used[0]:.0f} % at SR {least:g}, {100 * used[1]:.0f} % at {most:g}, and "
        "there is nothing to choose where nothing is free"
    )
    starved = 100.0 * runs.mean("starved_ratio", "vahrm", sr=most).mean()
    late = (
        f"{preset}, SR {most:g}: {starved:.0f} % of jobs wait for a week, and while one of them does not fit VAHRM "
        "starts nothing else"
        if starved > 1
        else ""
    )
    blocked = f"{preset}: VU-FCFS's own turnaround grows from {longer[0] / 3600:.2g} to {longer[1] / 3600:.3g} h"
    where = f"SR {most:g} less {least:g}, {preset}"
    more, better = "VAHRM saves more under congestion", "because more jobs to choose from find better nodes"
    shrinks, loses = ("the makespan shrinks more under congestion", "VAHRM loses ground in turnaround under congestion")
    hours, takes = rise["mean_turnaround_s"] / 3600.0, "jobs take longer under congestion"
    return [
        statement(f"saving, {where}, points", rise["saving"], claim=more, why=late),
        statement(f"placement part, {where}, points", rise["placement"], claim=better, why=busy),
        statement(f"window part, {where}, points", rise["window"], claim=shrinks, why=late),
        statement(f"VAHRM's turnaround, {where}, h", hours, claim=takes),
        statement(f"turnaround vs VU-FCFS, {where}, points", rise["turnaround"], claim=loses, why=blocked),
        *(
            statement(f"saving at SR {sr:g}, {preset}, %", values, claim="VAHRM saves against VU-FCFS", why=late)
            for sr, values in zip(SHRINK_RATIOS, at["saving"].T, strict=True)
        ),
    ]


def _drawn_congestion(frame: pl.DataFrame) -> pl.DataFrame:
    runs = relative(frame)
    return swept(
        runs,
        {"saving": "energy saved (%)", "placement": "placement part (%)", "turnaround": "turnaround (%)"},
        labels=[*list(UNDER_CONGESTION)[1:], *runs.yours],
        vary="sr",
        ticks={sr: f"{sr:g}" for sr in SHRINK_RATIOS},
        x_label="SR: submissions this many times as close together",
    )


def _repeat_budgets(repetition: Repetition) -> list[dict[str, Any]]:
    platform = machine_of(repetition).ideal
    return [
        case_row(case, label, limited, platform, seed=repetition.seed, at={"pcr": pcr}, bound="starts")
        for case in cases_of(repetition)
        for pcr in CONSTRAINTS
        for label, policy in {**UNDER_BUDGET, **repetition.policies}.items()
        for limited in [under_budget(policy, pcr=pcr)]
    ]


def _rows_of_budgets(runs: Runs, preset: str) -> list[Row]:
    return [*(row for group in GROUPS for row in _felt(runs, preset, group)), *_kept(runs, preset)]


def _felt(runs: Runs, preset: str, group: str) -> list[Row]:
    """Effect of half the budget, over all workloads or where it is felt."""
    numbers, where = GROUPS[group], f"PCR 0.5 less 1, {group}, {preset}, points"
    used, starved = (
        100.0 * runs.mean(name, "vahrm", pcr=0.5, numbers=numbers).mean()
        for name in ("utilization_ratio", "starved_ratio")
    )
    half = (
        f"{group}, {preset}, PCR 0.5: {used:.0f} % of nodes are in use, {starved:.0f} % of jobs wait for a "
        "week, and while one of them does not fit VAHRM starts nothing else"
    )

    def change(metric: str) -> Any:
        full, halved = (runs.mean(metric, "vahrm", pcr=pcr, numbers=numbers) for pcr in (1.0, 0.5))
        return halved - full

    unused, shrinks = (
        "because nodes that draw much stay unused",
        "the makespan shrinks more than VU-FCFS's under a budget",
    )
    gains = "VAHRM gains in turnaround under a budget"
    return [
        statement(f"saving, {where}", change("saving"), claim="VAHRM saves most at 0.5", why=half),
        statement(f"placement part, {where}", change("placement"), claim=unused, why=half),
        statement(f"window part, {where}", change("window"), claim=shrinks, why=half),
        statement(f"turnaround vs VU-FCFS, {where}", change("turnaround"), side=-1, claim=gains, why=half),
    ]


def _kept(runs: Runs, preset: str) -> list[Row]:
    """The workloads without effect of the budget, and violations."""
    full, half = (runs.values("energy_j", "vahrm", pcr=pcr)[:, OTHERS] for pcr in (1.0, 0.5))
    change = (100.0 * (half / full - 1.0)).mean(axis=1)
    over_s = sum(runs.values("over_budget_s", label, pcr=0.5).sum(axis=1) for label in UNDER_BUDGET)
    unfelt, kept = "the others do not feel half the budget", "where predictions are exact the budget is kept"
    others_energy = f"energy at PCR 0.5 over 1, the other seven, {preset}, change, %"
    above = f"time above the budget at PCR 0.5, all schedulers, {preset}, s"
    return [
        limit(others_energy, change, most=0.1, claim=unfelt, printed=False),
        limit(above, over_s, most=0.0, claim=kept, printed=False),
    ]


def _drawn_budgets(frame: pl.DataFrame) -> pl.DataFrame:
    runs = relative(frame)
    return pl.concat(
        swept(
            runs,
            {"saving": f"energy saved (%)\n{group}", "turnaround": f"turnaround (%)\n{group}"},
            labels=[*list(UNDER_BUDGET)[1:], *runs.yours],
            vary="pcr",
            ticks={pcr: f"{pcr:g}" for pcr in CONSTRAINTS},
            x_label="PCR: budget as a share of the TDP",
            numbers=numbers,
            is_even=True,
        )
        for group, numbers in GROUPS.items()
    )


def _yours_under_budgets(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for group, workloads in GROUPS.items():
        settings = {f"PCR {pcr:g}, {group}": {"pcr": pcr} for pcr in (CONSTRAINTS[0], CONSTRAINTS[-1])}
        found |= numbers(frame, label, ("saving", "turnaround"), settings, numbers=workloads)
    return found


EXPERIMENTS = (
    # Figures 12 to 15 of the paper.
    of_paper(
        "vahrm-beta",
        "VI-C-3",
        parameters=WEIGHTS,
        policies={BASELINE: BASELINE, "vahrm": "vahrm:beta=..."},
        repeat=_repeat_betas,
        rows=by_preset(_rows_of_betas),
        savings=_drawn_betas,
        measured=log_under_baseline,
        yours=lambda frame, label: numbers(frame, label, BETA_METRICS, {"": {}}),
    ),
    # Figures 10 and 11 of the paper.
    of_paper(
        "vahrm-congestion",
        "VI-C-2",
        parameters=CONGESTION,
        policies=UNDER_CONGESTION,
        repeat=_repeat_congested,
        rows=by_preset(_rows_of_congestion),
        savings=_drawn_congestion,
        measured=lambda frame: log_under_baseline(frame, sr=1.0),
        yours=lambda frame, label: numbers(
            frame, label, ("saving", "turnaround"), {f"SR {sr:g}": {"sr": sr} for sr in SHRINK_RATIOS}
        ),
    ),
    # Figures 16 and 17 of the paper.
    of_paper(
        "vahrm-pcr",
        "VI-C-4",
        parameters=BUDGETS,
        policies=UNDER_BUDGET,
        repeat=_repeat_budgets,
        rows=by_preset(_rows_of_budgets),
        savings=_drawn_budgets,
        measured=lambda frame: log_under_baseline(frame, pcr=1.0),
        yours=_yours_under_budgets,
    ),
)
