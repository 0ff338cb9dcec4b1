"""``vahrm``: eight schedulers on nine workloads (VAHRM paper, section VI-C-1, Figs. 3, 7, 8 and 9).

System energy, turnaround and throughput relative to VU-FCFS, the saving in two parts: *placement* (the same jobs on
nodes that draw less) and *window* (idle energy over a shorter makespan). The second part is there without any variation
between devices; runs at spreads from 0 to 12 % show how much is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.experiment import Parameter, Repetition, assumed, measured, printed
from hetsched.experiments.runs import Runs, over
from hetsched.experiments.vahrm.claims import LARGE, SAVING, THROUGHPUT, TURNAROUND, rows
from hetsched.experiments.vahrm.fitted import FITTED, KERNELS, fitted_tsmva
from hetsched.experiments.vahrm.machine import (
    BASELINE,
    PRESETS,
    SCHEDULERS,
    SPREAD,
    Case,
    Machine,
    case_row,
    cases_of,
    machine_of,
)
from hetsched.experiments.vahrm.relative import (
    LARGE_NODES,
    NOTICED_S,
    SIZES,
    fate_of_large_jobs,
    log_under_baseline,
    of_paper,
    relative,
    rows_of_yours,
    waits_by_size,
)
from hetsched.platform.machines import TSUBAME3_JOBS_W
from hetsched.report.panel_figure import curve
from hetsched.run.result import Result
from hetsched.workload.generators.cpu_gpu_log import MIXES

SPREADS = (0.0, 0.02, SPREAD, 0.08, 0.12)
BESIDE = ("vu-fcfs", "cgva-fcfs-b", "vahrm+ideal")
"""Schedulers that run at the other spreads, too."""

FITTED_REPETITIONS = 4

ROWS = {
    "saving": ("energy saved (%)", SAVING[0]),
    "turnaround": ("turnaround (%)", TURNAROUND[0]),
    "throughput": ("throughput (%)", THROUGHPUT),
}
"""From a metric to what stands at its axis, and what the paper prints of VAHRM, the mean over workloads."""


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    machines = {spread: machine_of(repetition, spread=spread) for spread in SPREADS}
    clipped = machines[SPREAD].sample.clipped.filter(pl.col("app") == "gpu-small")["clipped_ratio"].item()
    settings = [(case, spread) for case in cases_of(repetition) for spread in SPREADS]
    settings += [(case, SPREAD) for case in cases_of(repetition, [LARGE])]
    return [
        {**row, "clipped_ratio": clipped}
        for case, spread in settings
        for row in _beside(case, machines[spread], spread, repetition)
    ]


def _beside(case: Case, machine: Machine, spread: float, repetition: Repetition) -> Iterator[dict[str, Any]]:
    """The schedulers beside each other."""
    whole: Mapping[str, Any] = {**SCHEDULERS, **repetition.policies}
    policies = whole if spread == SPREAD else {label: whole[label] for label in BESIDE}
    waits_s: dict[str, np.ndarray] = {}
    for label, policy in policies.items():
        yield case_row(
            case,
            label,
            policy,
            machine.of(label),
            seed=repetition.seed,
            at={"spread": spread},
            bound=label == BASELINE and spread == SPREAD and case.preset in PRESETS,
            extra=lambda result, label=label: _fates(result, label, waits_s),  # type: ignore[misc]
        )


def _beside_fitted(repetition: Repetition) -> list[dict[str, Any]]:
    """VAHRM on the same jobs and devices, with predictions of fitted models."""
    fitted = fitted_tsmva(repetition.seed)
    told = {
        **{f"{device}_mape": error for device, error in fitted.mape.items()},
        **{f"{device}_jobs_mape": error for device, error in fitted.jobs_mape.items()},
        **{f"{app}_moved_w": watts for app, watts in fitted.moved_w.items()},
    }
    return [
        {**case_row(case, FITTED, "vahrm", fitted.platform, seed=repetition.seed, at={"spread": SPREAD}), **told}
        for case in cases_of(repetition)
    ]


def _fates(result: Result, label: str, waits_s: dict[str, np.ndarray]) -> Mapping[str, float | None]:
    """Waits by size, and the large jobs beside VU-FCFS-B's, which ran before; where it did not, beside their own."""
    own_s = result.jobs["wait_s"].to_numpy()
    waits_s.setdefault(label, own_s)
    other_s = waits_s.get("vu-fcfs-b", own_s) if label.startswith("vahrm") else own_s
    return {**waits_by_size(result.jobs), **fate_of_large_jobs(result.jobs, other_s)}


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of three figures."""
    runs, spreads = relative(frame), sorted(frame["spread"].unique())
    readings = {preset: runs.where(preset=preset, spread=SPREAD) for preset in PRESETS}
    return pl.concat(
        [
            *(_by_workload(own, preset, [*SCHEDULERS, *runs.yours]) for preset, own in readings.items()),
            *(_by_spread(own, preset, spreads) for preset, own in readings.items()),
            *(_by_size(own, preset) for preset, own in readings.items()),
        ]
    )


def _by_workload(runs: Runs, preset: str, labels: Sequence[str]) -> pl.DataFrame:
    return pl.concat(
        curve(
            runs.metric(name, label), figure="workloads", row=row, column=preset, label=label, ticks=MIXES, paper=paper
        )
        for name, (row, paper) in ROWS.items()
        for label in labels
        if label != BASELINE
    )


def _by_spread(runs: Runs, preset: str, spreads: list[float]) -> pl.DataFrame:
    """The saving and its parts, averaged over workloads."""
    curves = {
        "VAHRM": ("vahrm+ideal", "saving"),
        "VAHRM, window": ("vahrm+ideal", "window"),
        "VAHRM, placement": ("vahrm+ideal", "placement"),
        "CGVA-FCFS-B, placement": ("cgva-fcfs-b", "placement"),
    }
    return pl.concat(
        curve(
            runs.across(part, policy, "spread", spreads),
            figure="spread",
            row="of system energy saved (%)",
            column=preset,
            label=label,
            ticks=[f"{100 * one:g}" for one in spreads],
            x=[100 * one for one in spreads],
            x_label="spread of devices (%)",
        )
        for label, (policy, part) in curves.items()
    )


def _by_size(runs: Runs, preset: str) -> pl.DataFrame:
    """Waits of classes of job sizes, over VU-FCFS-B's, averaged over workloads."""
    columns = [f"wait_{size}_s" for size in SIZES]
    ratios = [
        np.ma.masked_invalid(over(runs.values(column, "vahrm+tsmva"), runs.values(column, "vu-fcfs-b")))
        for column in columns
    ]
    return curve(
        np.column_stack([ratio.mean(axis=1).filled(np.nan) for ratio in ratios]),
        figure="sizes",
        row="wait over VU-FCFS-B's",
        column=preset,
        label="vahrm+tsmva",
        ticks=[f"{size}" for size in SIZES],
        x=range(len(SIZES)),
        x_label="nodes of a job, at least",
        level=1.0,
    )


def _measured(frame: pl.DataFrame) -> list[Parameter]:
    clipped = round(float(frame["clipped_ratio"].mean()), 4)  # type: ignore[arg-type]
    note = "draws of 62.75 W on average below the idle 60 W; of no other kernel"
    return [
        *log_under_baseline(frame, spread=SPREAD),
        measured("gpu_small_draws_set_to_idle_ratio", clipped, note),
        *_measured_of_fit(frame.filter(policy=FITTED)),
    ]


def _measured_of_fit(own: pl.DataFrame) -> list[Parameter]:
    """Errors of the fitted models on the jobs' kernels; nothing where none was fitted."""
    if own.is_empty():
        return []

    def mean(column: str) -> float:
        return round(float(own[column].mean()), 2)  # type: ignore[arg-type]

    mape = {device: mean(f"{device}_jobs_mape") for device in KERNELS}
    moved_w = {app: mean(f"{app}_moved_w") for app in TSUBAME3_JOBS_W}
    return [
        measured("fitted_tsmva_jobs_mape", mape, "in-sample, on the jobs' three kernels alone"),
        measured("fitted_tsmva_moved_w", moved_w, "from the nearest kernel's mean to Table IV"),
    ]


EXPERIMENTS = (
    of_paper(
        "vahrm",
        "VI-C-1",
        parameters=(
            printed("sr", 1.0),
            printed("pcr", 1.0, "the budget never binds"),
            Parameter(
                "spreads", list(SPREADS), "ours: what variation is worth; the same standard normals at all of them"
            ),
            printed("fitted_tsmva_kernels", dict(KERNELS), "the jobs' are three of them: in-sample"),
            Parameter(
                "fitted_tsmva_repetitions",
                FITTED_REPETITIONS,
                "ours: the first ones of a full run, none of a quick one, as 3,240 forests take half a minute; "
                f"{FITTED} in the runs; counters and mean watts are synthetic, as the paper's are not public",
            ),
            printed("large_jobs_nodes", LARGE_NODES, "more than 15"),
            assumed("noticed_wait_s", NOTICED_S, "ratios are of jobs that waited as long under VU-FCFS-B"),
        ),
        policies=SCHEDULERS,
        repetitions=60,
        repeat=_repeat,
        rows=rows,
        savings=_drawn,
        measured=_measured,
        beside=_beside_fitted,
        beside_repetitions=FITTED_REPETITIONS,
        yours=lambda frame: rows_of_yours(
            relative(frame), ("saving", "placement", "turnaround", "throughput", "wait"), {"": {"spread": SPREAD}}
        ),
    ),
)
"""Figures 3, 7, 8 and 9 of the paper."""
