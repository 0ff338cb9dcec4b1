"""``vahrm-error``: VAHRM with predictions that are wrong, under half the budget (VAHRM paper, Table VII)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import limit
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.relative import Relative, of_yours, swept
from hetsched.experiments.tsubame import (
    HUNGRY,
    MIXES,
    PARAMETERS,
    PRESETS,
    QUICK,
    SOURCE,
    cases,
    drawn_machine,
    jobs_of,
    run_row,
)
from hetsched.experiments.yours import labels_in, under_budget
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.power import Noisy
from hetsched.report.panel_figure import panel_figure

__all__ = ["ERRORS", "EXPERIMENT", "TABLE"]

Floats = npt.NDArray[np.float64]

PCR = 0.5
POLICY = f"vahrm:pcr={PCR}"
EXACT = "vahrm+ideal"
ERRORS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
TABLE = {
    "energy": (0.0, 0.0, 0.2, 0.1, 0.1, 0.2),
    "turnaround": (0.1, 0.0, 0.4, 0.5, 0.2, -0.1),
    "throughput": (0.0, -0.1, -0.3, -0.2, -0.2, -0.3),
    "waiting": (0.5, 0.3, 1.6, 1.9, 1.6, 0.7),
}
"""The paper's Table VII: change against exact predictions, in percent, by error."""


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    machine = drawn_machine(seed)
    actual = machine.sample.table
    seen = {
        (EXACT, 0.0): machine.ideal,
        ("vahrm+tsmva", 0.0): machine.tsmva,
        **{
            ("vahrm", error): machine.ideal.with_tables(
                actual=actual, predicted=Noisy(error_ratio=error, seed=seed).table(actual)
            )
            for error in ERRORS
        },
    }
    yours = {label: under_budget(policy, PCR) for label, policy in repetition.policies.items()}
    runs: list[tuple[str, str | Policy, float, Platform]] = [
        *((label, POLICY, error, platform) for (label, error), platform in seen.items()),
        *(
            (label, policy, error, platform)
            for (own, error), platform in seen.items()
            if own != "vahrm+tsmva"
            for label, policy in yours.items()
        ),
    ]
    return [
        run_row(case, label, policy, platform, seed=seed, at={"error": error})
        for case in cases(seed, jobs=jobs_of(repetition))
        for label, policy, error, platform in runs
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Relative(frame)
    found = []
    for preset in PRESETS:
        for error in ERRORS:
            found += [_against_table(runs, preset, metric, error) for metric in TABLE]
        found += _others(runs, preset)
        found += [
            row
            for label, error in (("vahrm+tsmva", 0.0), *(("vahrm", error) for error in ERRORS))
            for row in _above(runs, preset, label, error)
        ]
    return found


def _against_table(runs: Relative, preset: str, metric: str, error: float) -> Row:
    """A cell of the table; what the table says is that none of them is far from 0: its column's worst is the limit."""
    change = runs.metric(metric, "vahrm", preset, over=EXACT, base_at={"error": 0.0}, error=error).mean(axis=1)
    quantity = f"{metric} at {100 * error:g} % error, {preset}, change, % (paper: up to)"
    return limit(quantity, change, most=_worst(metric), claim="like exact predictions", why=_CURSE)


def _worst(metric: str) -> float:
    return max(map(abs, TABLE[metric]))


_CURSE = (
    "nodes are chosen because they are predicted to draw little, so those that were predicted too low are: the machine "
    "draws more than it is allowed, and does more"
)


def _others(runs: Relative, preset: str) -> list[Row]:
    """The largest error where no budget binds."""
    numbers = [number for number in range(len(MIXES)) if number not in HUNGRY]
    worst = ERRORS[-1]
    found = []
    for metric in TABLE:
        change = runs.metric(metric, "vahrm", preset, over=EXACT, base_at={"error": 0.0}, error=worst)[:, numbers]
        quantity = f"{metric} at {100 * worst:g} % error, the other seven, {preset}, change, % (paper: up to)"
        most, why = _worst(metric), "such predictions rank nodes nearly at random"
        found.append(limit(quantity, change.mean(axis=1), most=most, claim="like exact predictions", why=why))
    return found


def _above(runs: Relative, preset: str, label: str, error: float) -> list[Row]:
    """The budget in actual watts, where it is felt."""

    def of(column: str) -> Floats:
        return runs.values(column, label, preset, error=error)[:, list(HUNGRY)]

    name = "TSMVA's errors" if label == "vahrm+tsmva" else f"{100 * error:g} % error"
    found = {
        f"time above the budget, {name}, hungry two, {preset}, %": (of("over_budget_s") / of("makespan_s")).mean(
            axis=1
        ),
        f"highest draw above the budget, {name}, hungry two, {preset}, %": (
            of("over_budget_peak_w") / of("budget_w")
        ).max(axis=1),
    }
    return [
        limit(quantity, 100.0 * share, most=0.0, claim="keeps to the budget", why=_CURSE)
        for quantity, share in found.items()
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    # Exact predictions are those with an error of 0, and what all others are compared with.
    exact = frame.filter(policy=EXACT)
    shown = pl.concat([frame.filter(policy="vahrm"), exact, exact.with_columns(policy=pl.lit("vahrm"))])
    nine = range(len(MIXES))
    curves: list[tuple[pl.DataFrame, str, str, str, Collection[int]]] = [
        (shown, "vahrm", EXACT, "all nine workloads", nine),
        (shown, "vahrm", EXACT, "hungry two", HUNGRY),
        # The same policy with exact predictions.
        *((frame, label, label, label, nine) for label in labels_in(frame)),
    ]
    return pl.concat(
        swept(
            runs,
            {
                "energy": "energy (%)",
                "turnaround": "turnaround (%)",
                "waiting": "wait (%)",
                "above": "above budget\n(% of time)",
            },
            labels={policy: label},
            over=over,
            base_at={"error": 0.0},
            vary="error",
            ticks={error: f"{100 * error:g}" for error in (0.0, *ERRORS)},
            x_label="error of predictions (%)",
            workloads=numbers,
        )
        for runs, policy, over, label, numbers in curves
    )


def _yours(frame: pl.DataFrame) -> list[Row]:
    settings = {f"at {100 * error:g} % error": {"error": error} for error in (ERRORS[0], ERRORS[-1])}
    return of_yours(frame, TABLE, settings, over=None, base_at={"error": 0.0})


EXPERIMENT = Experiment(
    name="vahrm-error",
    source=f"{SOURCE}, section VI-C-5",
    parameters=(
        *PARAMETERS,
        Parameter("pcr", PCR, "printed"),
        Parameter("sr", 1.0, "printed"),
        Parameter("table_7_change_percent", {name: list(cells) for name, cells in TABLE.items()}, "printed, by error"),
        Parameter("error", list(ERRORS), "printed; taken as normal errors, one for each node and application"),
        Parameter("hungry_workloads", [MIXES[number] for number in HUNGRY], "those that half the TDP cannot feed"),
    ),
    policies={EXACT: POLICY, "vahrm+tsmva": POLICY, "vahrm": POLICY},
    repetitions=12,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    savings=_drawn,
    draw=panel_figure,
    quick_parameters=QUICK,
    yours=_yours,
)
"""Table VII of the paper."""
