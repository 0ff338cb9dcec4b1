"""``vahrm-congestion``: the nine workloads with submissions closer together (VAHRM paper, Figs. 10 and 11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import statement
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.relative import Relative, measured, of_yours, swept
from hetsched.experiments.tsubame import PARAMETERS, PRESETS, QUICK, SOURCE, cases, drawn_machine, jobs_of, run_row
from hetsched.experiments.yours import labels_in
from hetsched.policy import Policy
from hetsched.report.panel_figure import panel_figure

__all__ = ["EXPERIMENT", "SHRINK_RATIOS"]

SHRINK_RATIOS = (0.5, 0.75, 1.0, 1.5, 2.0)
POLICIES = {"vu-fcfs": "vu-fcfs", "vu-fcfs-b": "vu-fcfs-b", "cgva-fcfs-b": "cgva-fcfs-b", "vahrm": "vahrm"}


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = drawn_machine(seed).ideal
    policies: dict[str, str | Policy] = {**POLICIES, **repetition.policies}
    return [
        run_row(
            replace(case, workload=case.workload.scale_arrivals(sr)), label, policy, platform, seed=seed, at={"sr": sr}
        )
        for case in cases(seed, jobs=jobs_of(repetition))
        for sr in SHRINK_RATIOS
        for label, policy in policies.items()
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Relative(frame)
    return [row for preset in PRESETS for row in _of(runs, preset)]


def _of(runs: Relative, preset: str) -> list[Row]:
    least, most = SHRINK_RATIOS[0], SHRINK_RATIOS[-1]

    def at(metric: str, sr: float) -> npt.NDArray[np.float64]:
        mean: npt.NDArray[np.float64] = runs.metric(metric, "vahrm", preset, sr=sr).mean(axis=1)
        return mean

    def rise(metric: str) -> npt.NDArray[np.float64]:
        return at(metric, most) - at(metric, least)

    hours = {sr: runs.values("mean_turnaround_s", "vahrm", preset, sr=sr).mean(axis=1) / 3600.0 for sr in (least, most)}
    used = {sr: runs.values("utilization_ratio", "vahrm", preset, sr=sr).mean() for sr in (least, most)}
    busy = (
        f"{preset}: nodes in use {100 * used[least]:.0f} % at SR {least:g}, {100 * used[most]:.0f} % at {most:g}, and "
        "there is nothing to choose where nothing is free"
    )
    starved = 100.0 * runs.values("starved_ratio", "vahrm", preset, sr=most).mean()
    late = (
        f"{preset}, SR {most:g}: {starved:.0f} % of jobs wait for a week, and while one of them does not fit VAHRM "
        "starts nothing else"
        if starved > 1
        else ""
    )
    longer = {sr: runs.values("mean_turnaround_s", "vu-fcfs", preset, sr=sr).mean() / 3600.0 for sr in (least, most)}
    blocked = f"{preset}: VU-FCFS's own turnaround grows from {longer[least]:.2g} to {longer[most]:.3g} h"
    where = f"SR {most:g} less {least:g}, {preset}"
    return [
        statement(f"saving, {where}, points", rise("saving"), claim="VAHRM saves more under congestion", why=late),
        statement(
            f"placement part, {where}, points",
            rise("placement"),
            claim="because more jobs to choose from find better nodes",
            why=busy,
        ),
        statement(
            f"window part, {where}, points",
            rise("window"),
            claim="the makespan shrinks more under congestion",
            why=late,
        ),
        statement(
            f"VAHRM's turnaround, {where}, h", hours[most] - hours[least], claim="jobs take longer under congestion"
        ),
        statement(
            f"turnaround vs VU-FCFS, {where}, points",
            rise("turnaround"),
            claim="VAHRM loses ground in turnaround under congestion",
            why=blocked,
        ),
        *(
            statement(
                f"saving at SR {sr:g}, {preset}, %", at("saving", sr), claim="VAHRM saves against VU-FCFS", why=late
            )
            for sr in SHRINK_RATIOS
        ),
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    return swept(
        frame,
        {
            "saving": "energy saved (%)",
            "placement": "placement part (%)",
            "turnaround": "turnaround (%)",
        },
        labels=[*(label for label in POLICIES if label != "vu-fcfs"), *labels_in(frame)],
        vary="sr",
        ticks={sr: f"{sr:g}" for sr in SHRINK_RATIOS},
        x_label="SR: submissions this many times as close together",
    )


def _yours(frame: pl.DataFrame) -> list[Row]:
    return of_yours(frame, ("saving", "turnaround"), {f"SR {sr:g}": {"sr": sr} for sr in SHRINK_RATIOS})


EXPERIMENT = Experiment(
    name="vahrm-congestion",
    source=f"{SOURCE}, section VI-C-2",
    parameters=(
        *PARAMETERS,
        Parameter("sr", list(SHRINK_RATIOS), "assumed: the text does not name the ratios of its figures"),
        Parameter("pcr", 1.0, "printed: the budget never binds"),
    ),
    policies=POLICIES,
    repetitions=10,
    quick_repetitions=4,
    repeat=_repeat,
    rows=_rows,
    savings=_drawn,
    draw=panel_figure,
    measured=lambda frame: measured(frame, sr=1.0),
    quick_parameters=QUICK,
    yours=_yours,
)
"""Figures 10 and 11 of the paper."""
