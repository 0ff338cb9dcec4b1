"""``vahrm-beta``: from waiting time alone to energy alone (VAHRM paper, Figs. 12 to 15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Parameters, Repetition, Row
from hetsched.experiments.runs import Runs
from hetsched.experiments.vahrm.system import (
    BASELINE,
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

P = Parameters()
EXPONENTS = tuple(range(11))
BETAS = P.printed(
    "beta",
    (*(0.25**exponent for exponent in EXPONENTS), 0.0),
    "powers of 1/4 and the range's ends; which powers is assumed",
)
P.printed("sr", 1.0)
P.printed("pcr", 1.0, "the budget never binds")

RECOMMENDED = 6
PAPER_SAVING, PAPER_WAIT = 4.5, 0.56

METRICS = ("saving", "placement", "turnaround", "wait", "merit")
ENDS = {
    "saving": ("saving", "points", "a larger β saves more energy"),
    "placement": ("placement part", "points", "a larger β gives the high-power jobs the better nodes"),
    "turnaround": ("turnaround vs VU-FCFS", "points", "a smaller β shortens turnaround"),
    "wait": ("wait over VU-FCFS's", "ratio", "a smaller β shortens waits"),
}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    platform = machine_of(repetition).ideal
    runs: list[tuple[str, str | Policy, float | None]] = [
        (BASELINE, BASELINE, None),
        *((label, policy, None) for label, policy in repetition.policies.items()),
        *(("vahrm", f"vahrm:beta={beta!r}", beta) for beta in BETAS),
    ]
    return [
        case_row(case, label, policy, platform, seed=repetition.seed, at={"beta": beta})
        for case in cases_of(repetition)
        for label, policy, beta in runs
    ]


def _rows(runs: Runs, preset: str) -> list[Row]:
    at = {name: runs.across(name, "vahrm", "beta", BETAS, base_at={}) for name in METRICS}
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


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
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


EXPERIMENTS = (
    of_paper(
        "vahrm-beta",
        "VI-C-3",
        parameters=P,
        policies={BASELINE: BASELINE, "vahrm": "vahrm:beta=..."},
        repeat=_repeat,
        rows=by_preset(_rows),
        savings=_drawn,
        measured=log_under_baseline,
        yours=lambda frame, label: numbers(frame, label, METRICS, {"": {}}),
    ),
)
"""Figures 12 to 15 of the paper."""
