"""``vahrm-first-run``: jobs whose power nobody knows yet (VAHRM paper, Figs. 18 to 20)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.experiments.claims import alike, statement, value
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
from hetsched.workload import flag_first_runs

__all__ = ["EXPERIMENT", "RATIOS"]

Floats = npt.NDArray[np.float64]

RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
POLICIES = {BASELINE: BASELINE, "vahrm": "vahrm:first_run=true"}
GOOD_UNTIL, PAPER_AT, PAPER_SAVING = 0.3, 0.4, 1.0


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    platform = drawn_machine(seed).ideal
    policies: dict[str, str | Policy] = {"vahrm": POLICIES["vahrm"], **repetition.policies}
    rows = []
    for case in cases(seed, jobs=jobs_of(repetition)):
        rows.append(run_row(case, BASELINE, BASELINE, platform, seed=seed, at={"first_runs": None}))
        for ratio in RATIOS:
            flagged = replace(case, workload=flag_first_runs(case.workload, ratio, seed=seed))
            rows += [
                run_row(flagged, label, policy, platform, seed=seed, at={"first_runs": ratio})
                for label, policy in policies.items()
            ]
    return rows


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Relative(frame)
    return [row for preset in PRESETS for row in _of(runs, preset)]


def _of(runs: Relative, preset: str) -> list[Row]:
    def at(metric: str, ratio: float) -> Floats:
        mean: Floats = runs.metric(metric, "vahrm", preset, base_at={}, first_runs=ratio).mean(axis=1)
        return mean

    def rise(metric: str) -> Floats:
        return at(metric, 1.0) - at(metric, 0.0)

    where = f"all first runs less none, {preset}"
    lost, none = at("placement", GOOD_UNTIL) - at("placement", 0.0), at("placement", 0.0)
    why = (
        f"{preset}: better nodes save {none.mean():.2g} % of energy, and runs that take 5 % longer at a ratio of 0.3, "
        f"on random nodes, cost {-lost.mean():.2g} %"
    )
    return [
        value(
            f"saving at a ratio of 0.4, {preset}, %",
            at("saving", PAPER_AT),
            paper=PAPER_SAVING,
            undisclosed=f"the devices' spread; {why}",
        ),
        statement(f"saving, {where}, points", rise("saving"), side=-1, claim="first runs cost savings"),
        statement(
            f"job energy part, {where}, points",
            rise("placement"),
            side=-1,
            claim="unknown jobs run on random nodes, and 5 % longer",
        ),
        statement(
            f"saving at a ratio of 0.3, {preset}, %",
            at("saving", GOOD_UNTIL),
            claim="VAHRM still saves at 0.3",
            why=why,
        ),
        statement(
            f"turnaround vs VU-FCFS at a ratio of 0.3, {preset}, %",
            at("turnaround", GOOD_UNTIL),
            side=-1,
            claim="VAHRM is still ahead at 0.3",
        ),
        statement(
            f"turnaround vs VU-FCFS, {where}, points", rise("turnaround"), claim="first runs lengthen turnaround"
        ),
        alike(
            f"throughput, {where}, %",
            rise("throughput"),
            of=100.0 + at("throughput", 0.0),
            claim="throughput is little affected",
        ),
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    return swept(
        frame,
        {
            "saving": "energy saved (%)",
            "placement": "job energy saved (%)",
            "throughput": "throughput (%)",
            "turnaround": "turnaround (%)",
        },
        labels=["vahrm", *labels_in(frame)],
        vary="first_runs",
        ticks={ratio: f"{ratio:g}" for ratio in RATIOS},
        x_label="share of jobs that are first runs",
        base_at={},
    )


def _yours(frame: pl.DataFrame) -> list[Row]:
    settings = {f"at a ratio of {ratio:g}": {"first_runs": ratio} for ratio in (RATIOS[0], GOOD_UNTIL, RATIOS[-1])}
    return of_yours(frame, ("saving", "turnaround"), settings, base_at={})


EXPERIMENT = Experiment(
    name="vahrm-first-run",
    source=f"{SOURCE}, section VI-C-6",
    parameters=(
        *PARAMETERS,
        Parameter("first_runs", list(RATIOS), "printed: from 0 to 1; flags are drawn job by job, nested in the ratio"),
        Parameter("profiling_ratio", 0.05, "printed"),
        Parameter("sr", 1.0, "printed"),
        Parameter("pcr", 1.0, "printed: the budget never binds"),
    ),
    policies=POLICIES,
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
"""Figures 18 to 20 of the paper."""
