"""``vahrm-beta``: from waiting time alone to energy alone (VAHRM paper, Figs. 12 to 15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.relative import Relative, measured, of_yours, swept
from hetsched.experiments.tsubame import (
    BASELINE,
    PARAMETERS,
    PRESETS,
    QUICK,
    SOURCE,
    cases,
    drawn_machine,
    jobs_of,
    run_row,
)
from hetsched.experiments.yours import labels_in
from hetsched.policy import Policy
from hetsched.report.panel_figure import panel_figure

__all__ = ["BETAS", "EXPERIMENT"]

Floats = npt.NDArray[np.float64]

EXPONENTS = tuple(range(11))
BETAS = (*(0.25**exponent for exponent in EXPONENTS), 0.0)
"""Powers of 1/4 from 1 on, and 0."""

RECOMMENDED = 6
PAPER_SAVING, PAPER_WAIT = 4.5, 0.56


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = drawn_machine(seed).ideal
    runs: list[tuple[str, str | Policy, float | None]] = [
        (BASELINE, BASELINE, None),
        *((label, policy, None) for label, policy in repetition.policies.items()),
        *(("vahrm", f"vahrm:beta={beta!r}", beta) for beta in BETAS),
    ]
    return [
        run_row(case, label, policy, platform, seed=seed, at={"beta": beta})
        for case in cases(seed, jobs=jobs_of(repetition))
        for label, policy, beta in runs
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Relative(frame)
    return [row for preset in PRESETS for row in _of(runs, preset)]


def _of(runs: Relative, preset: str) -> list[Row]:
    by_metric = {name: _by_beta(runs, preset, name) for name in _METRICS}
    recommended = {name: values[:, RECOMMENDED] for name, values in by_metric.items()}
    merit = by_metric["merit"]
    # Of the powers; β = 0 stands behind them.
    best = merit[:, : len(EXPONENTS)].argmax(axis=1).astype(np.float64)
    found = np.bincount(best.astype(np.int64), minlength=len(EXPONENTS))
    which = (
        f"the log, and the unit of E_j (joules here); {preset}: (1/4)^{found.argmax()} in {found.max()} of {len(best)} "
        "repetitions"
    )
    log = "which 10,000 jobs of the log"
    waits = by_metric["wait"].mean(axis=0)
    lost = by_metric["saving"].mean(axis=0)[[RECOMMENDED, -1]]
    why = (
        f"{preset}: from (1/4)^6 to 0 the wait falls from {waits[RECOMMENDED]:.2g} to {waits[-1]:.2g} of VU-FCFS's, "
        f"the saving from {lost[0]:.2g} to {lost[1]:.2g} %"
    )
    return [
        value(f"saving at (1/4)^6, {preset}, %", recommended["saving"], paper=PAPER_SAVING, undisclosed=log),
        value(f"wait over VU-FCFS's at (1/4)^6, {preset}", recommended["wait"], paper=PAPER_WAIT, undisclosed=log),
        value(
            f"k of the β = (1/4)^k with the largest M_β, {preset}",
            best,
            paper=float(RECOMMENDED),
            undisclosed=which,
        ),
        statement(
            f"M_β at (1/4)^6 less at β = 1, {preset}",
            merit[:, RECOMMENDED] - merit[:, 0],
            claim="M_β prefers (1/4)^6 to energy alone",
            why=why,
        ),
        statement(
            f"M_β at (1/4)^6 less at β = 0, {preset}",
            merit[:, RECOMMENDED] - merit[:, -1],
            claim="M_β prefers (1/4)^6 to waits alone",
            why=why,
        ),
        *(
            statement(f"{name}, β 1 less 0, {preset}, {unit}", values[:, 0] - values[:, -1], claim=claim)
            for metric, (name, unit, claim) in _ENDS.items()
            for values in (by_metric[metric],)
        ),
    ]


_METRICS = ("saving", "placement", "turnaround", "wait", "merit")
_ENDS = {
    "saving": ("saving", "points", "a larger β saves more energy"),
    "placement": ("placement part", "points", "a larger β gives the hungry jobs the better nodes"),
    "turnaround": ("turnaround vs VU-FCFS", "points", "a smaller β shortens turnaround"),
    "wait": ("wait over VU-FCFS's", "ratio", "a smaller β shortens waits"),
}


def _by_beta(runs: Relative, preset: str, metric: str) -> Floats:
    """Means over workloads, shape (repetitions, betas)."""
    return np.column_stack([runs.metric(metric, "vahrm", preset, base_at={}, beta=beta).mean(axis=1) for beta in BETAS])


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    yours = labels_in(frame)
    # No β of VAHRM's concerns them: the same all along.
    own = frame.filter(pl.col("policy").is_in(yours))
    return swept(
        pl.concat([frame, *(own.with_columns(beta=pl.lit(beta)) for beta in BETAS)]),
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


def _yours(frame: pl.DataFrame) -> list[Row]:
    return of_yours(frame, _METRICS, {"": {}})


EXPERIMENT = Experiment(
    name="vahrm-beta",
    source=f"{SOURCE}, section VI-C-3",
    parameters=(
        *PARAMETERS,
        Parameter("beta", list(BETAS), "printed: powers of 1/4 and the range's ends; which powers is assumed"),
        Parameter("sr", 1.0, "printed"),
        Parameter("pcr", 1.0, "printed: the budget never binds"),
    ),
    policies={BASELINE: BASELINE, "vahrm": "vahrm:beta=..."},
    repetitions=12,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    savings=_drawn,
    draw=panel_figure,
    measured=measured,
    quick_parameters=QUICK,
    yours=_yours,
)
"""Figures 12 to 15 of the paper."""
