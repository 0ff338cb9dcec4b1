"""``vahrm-pcr``: the nine workloads under a power budget (VAHRM paper, Figs. 16 and 17).

All nodes idle draw 22 % of the machine's TDP. Above that, half of the TDP is left to 540 nodes of all but one kind of
job; of jobs that use their GPUs fully (1,095 W) it feeds 252. So only workloads with many of these feel the budget, and
they are shown apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import limit, statement
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.relative import Relative, measured, of_yours, swept
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
from hetsched.policy import parse_policy
from hetsched.report.panel_figure import panel_figure

__all__ = ["CONSTRAINTS", "EXPERIMENT"]

Floats = npt.NDArray[np.float64]

CONSTRAINTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
POLICIES = {"vu-fcfs": "vu-fcfs", "cgva-fcfs": "cgva-fcfs", "vahrm": "vahrm"}
_GROUPS = {"all nine": range(len(MIXES)), "hungry two": HUNGRY}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = drawn_machine(seed).ideal
    policies = {label: parse_policy(policy) for label, policy in POLICIES.items()} | dict(repetition.policies)
    return [
        run_row(case, label, under_budget(policy, pcr), platform, seed=seed, at={"pcr": pcr})
        for case in cases(seed, jobs=jobs_of(repetition))
        for pcr in CONSTRAINTS
        for label, policy in policies.items()
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Relative(frame)
    return [row for preset in PRESETS for row in (*_felt(runs, preset), *_kept(runs, preset))]


def _felt(runs: Relative, preset: str) -> list[Row]:
    """What half the budget does, over all workloads and where it is felt."""
    found = []
    for group, numbers in _GROUPS.items():
        saving, placement, window, turnaround = (
            _by_constraint(runs, preset, name, numbers) for name in ("saving", "placement", "window", "turnaround")
        )
        where = f"PCR 0.5 less 1, {group}, {preset}, points"
        used = runs.values("utilization_ratio", "vahrm", preset, pcr=0.5)[:, list(numbers)].mean()
        starved = 100.0 * runs.values("starved_ratio", "vahrm", preset, pcr=0.5)[:, list(numbers)].mean()
        half = (
            f"{group}, {preset}, PCR 0.5: {100 * used:.0f} % of nodes are in use, {starved:.0f} % of jobs wait for a "
            "week, and while one of them does not fit VAHRM starts nothing else"
        )
        found += [
            statement(f"saving, {where}", saving[:, -1] - saving[:, 0], claim="VAHRM saves most at 0.5", why=half),
            statement(
                f"placement part, {where}",
                placement[:, -1] - placement[:, 0],
                claim="because nodes that draw much stay unused",
                why=half,
            ),
            statement(
                f"window part, {where}",
                window[:, -1] - window[:, 0],
                claim="the makespan shrinks more than VU-FCFS's under a budget",
                why=half,
            ),
            statement(
                f"turnaround vs VU-FCFS, {where}",
                turnaround[:, -1] - turnaround[:, 0],
                side=-1,
                claim="VAHRM gains in turnaround under a budget",
                why=half,
            ),
        ]
    return found


def _by_constraint(runs: Relative, preset: str, metric: str, numbers: Sequence[int]) -> Floats:
    """Means over some workloads, shape (repetitions, constraints)."""
    return np.column_stack(
        [runs.metric(metric, "vahrm", preset, pcr=pcr)[:, list(numbers)].mean(axis=1) for pcr in CONSTRAINTS]
    )


def _kept(runs: Relative, preset: str) -> list[Row]:
    """Who does not notice the budget, and that it is kept."""
    others = [number for number in range(len(MIXES)) if number not in HUNGRY]
    full, half = (runs.values("energy_j", "vahrm", preset, pcr=pcr)[:, others] for pcr in (1.0, 0.5))
    over_s = sum(runs.values("over_budget_s", label, preset, pcr=0.5).sum(axis=1) for label in POLICIES)
    return [
        limit(
            f"energy at PCR 0.5 over 1, the other seven, {preset}, change, %",
            (100.0 * (half / full - 1.0)).mean(axis=1),
            most=0.1,
            claim="the others do not feel half the budget",
            printed=False,
        ),
        limit(
            f"time above the budget at PCR 0.5, all schedulers, {preset}, s",
            over_s,
            most=0.0,
            claim="where predictions are exact the budget is kept",
            printed=False,
        ),
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    metrics = {"saving": "energy saved (%)", "turnaround": "turnaround (%)"}
    return pl.concat(
        swept(
            frame,
            {name: f"{text}\n{group}" for name, text in metrics.items()},
            labels=[*(label for label in POLICIES if label != "vu-fcfs"), *labels_in(frame)],
            vary="pcr",
            ticks={pcr: f"{pcr:g}" for pcr in CONSTRAINTS},
            x_label="PCR: budget as a share of the TDP",
            workloads=numbers,
            is_even=True,
        )
        for group, numbers in _GROUPS.items()
    )


def _yours(frame: pl.DataFrame) -> list[Row]:
    return [
        row
        for group, numbers in _GROUPS.items()
        for row in of_yours(
            frame,
            ("saving", "turnaround"),
            {f"PCR {pcr:g}, {group}": {"pcr": pcr} for pcr in (CONSTRAINTS[0], CONSTRAINTS[-1])},
            workloads=numbers,
        )
    ]


EXPERIMENT = Experiment(
    name="vahrm-pcr",
    source=f"{SOURCE}, section VI-C-4",
    parameters=(
        *PARAMETERS,
        Parameter("pcr", list(CONSTRAINTS), "printed: from 1.0 to 0.5; the steps are assumed"),
        Parameter("sr", 1.0, "printed"),
        Parameter("hungry_workloads", [MIXES[number] for number in HUNGRY], "those that half the TDP cannot feed"),
    ),
    policies=POLICIES,
    repetitions=10,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    savings=_drawn,
    draw=panel_figure,
    measured=lambda frame: measured(frame, pcr=1.0),
    quick_parameters=QUICK,
    yours=_yours,
)
"""Figures 16 and 17 of the paper."""
