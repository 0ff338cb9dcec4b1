"""``vahrm``: eight schedulers on nine workloads (VAHRM paper, section VI-C-1, Figs. 3, 7, 8 and 9).

System energy, turnaround and throughput relative to VU-FCFS, the saving in two parts: *placement* (the same jobs on
nodes that draw less) and *window* (idle energy over a shorter makespan). The second part is there without any variation
between devices; runs at spreads from 0 to 12 % show how much is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.experiment import Floats, Parameter, Parameters, Repetition, measured
from hetsched.experiments.runs import Runs, over, panels
from hetsched.experiments.vahrm import system
from hetsched.experiments.vahrm.claims import LARGE, SAVING, THROUGHPUT, TURNAROUND, rows
from hetsched.experiments.vahrm.fitted import FITTED, KERNELS, fitted_tsmva
from hetsched.experiments.vahrm.relative import (
    LARGE_NODES,
    NOTICED_S,
    SIZES,
    large_job_waits,
    log_under_baseline,
    numbers,
    of_paper,
    relative,
    waits_by_size,
)
from hetsched.experiments.vahrm.system import BASELINE, PRESETS, SCHEDULERS, SPREAD
from hetsched.platform.machines import TSUBAME3_JOBS_W
from hetsched.run.result import Result
from hetsched.workload.generators.cpu_gpu_log import MIXES

P = Parameters()
P.printed("sr", 1.0)
P.printed("pcr", 1.0, "the budget never binds")
SPREADS = P.noted(
    "spreads",
    (0.0, 0.02, SPREAD, 0.08, 0.12),
    "ours: what variation is worth; the same standard normals at all of them",
)
AT_ALL_SPREADS = ("vu-fcfs", "cgva-fcfs-b", "vahrm+ideal")
"""Schedulers that run at the other spreads, too."""

P.printed("fitted_tsmva_kernels", KERNELS, "the jobs' are three of them: in-sample")
FITTED_REPETITIONS = P.noted(
    "fitted_tsmva_repetitions",
    4,
    "ours: the first ones of a full run, none of a quick one, as 3,240 forests take half a minute; "
    f"{FITTED} in the runs; counters and mean watts are synthetic, as the paper's are not public",
)
P.printed("large_jobs_nodes", LARGE_NODES, "more than 15")
P.assumed("noticed_wait_s", NOTICED_S, "ratios are of jobs that waited as long under VU-FCFS-B")

ROWS = {
    "saving": ("energy saved (%)", SAVING[0]),
    "turnaround": ("turnaround (%)", TURNAROUND[0]),
    "throughput": ("throughput (%)", THROUGHPUT),
}
"""From a metric to the text at its axis, and the paper's value for VAHRM, the mean over workloads."""


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    machines = {spread: system.machine_of(repetition, spread=spread) for spread in SPREADS}
    clipped = machines[SPREAD].sample.clipped.filter(pl.col("app") == "gpu-small")["clipped_ratio"].item()
    settings = [(case, spread) for case in system.cases_of(repetition) for spread in SPREADS]
    settings += [(case, SPREAD) for case in system.cases_of(repetition, [LARGE])]
    return [
        {**row, "clipped_ratio": clipped}
        for case, spread in settings
        for row in _on(case, machines[spread], spread, repetition)
    ]


def _on(case: system.Case, machine: system.Machine, spread: float, repetition: Repetition) -> Iterator[dict[str, Any]]:
    """The schedulers on one workload."""
    whole: Mapping[str, Any] = {**SCHEDULERS, **repetition.policies}
    policies = whole if spread == SPREAD else {label: whole[label] for label in AT_ALL_SPREADS}
    waits_s: dict[str, np.ndarray] = {}
    for label, policy in policies.items():
        yield system.case_row(
            case,
            label,
            policy,
            machine.of(label),
            seed=repetition.seed,
            at={"spread": spread},
            bound=label == BASELINE and spread == SPREAD and case.preset in PRESETS,
            extra=lambda result, label=label: _waits(result, label, waits_s),  # type: ignore[misc]
        )


def _beside_fitted(repetition: Repetition) -> list[dict[str, Any]]:
    """VAHRM on the same jobs and devices, with predictions of fitted models."""
    fitted = fitted_tsmva(repetition.seed)
    errors = {
        **{f"{device}_mape": error for device, error in fitted.mape.items()},
        **{f"{device}_jobs_mape": error for device, error in fitted.jobs_mape.items()},
        **{f"{app}_moved_w": watts for app, watts in fitted.moved_w.items()},
    }
    return [
        {
            **system.case_row(case, FITTED, "vahrm", fitted.platform, seed=repetition.seed, at={"spread": SPREAD}),
            **errors,
        }
        for case in system.cases_of(repetition)
    ]


def _waits(result: Result, label: str, waits_s: dict[str, np.ndarray]) -> Mapping[str, float | None]:
    """Waits by size, and of large jobs relative to VU-FCFS-B, which ran before; where it did not, to themselves."""
    own_s = result.jobs["wait_s"].to_numpy()
    waits_s.setdefault(label, own_s)
    other_s = waits_s.get("vu-fcfs-b", own_s) if label.startswith("vahrm") else own_s
    return {**waits_by_size(result.jobs), **large_job_waits(result.jobs, other_s)}


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The data of three figures."""
    runs, spreads = relative(frame), sorted(frame["spread"].unique())
    readings = {preset: runs.where(preset=preset, spread=SPREAD) for preset in PRESETS}
    curves = {
        "VAHRM": ("vahrm+ideal", "saving"),
        "VAHRM, window": ("vahrm+ideal", "window"),
        "VAHRM, placement": ("vahrm+ideal", "placement"),
        "CGVA-FCFS-B, placement": ("cgva-fcfs-b", "placement"),
    }
    by_workload = panels(
        {row: name for name, (row, _) in ROWS.items()},
        readings,
        [label for label in (*SCHEDULERS, *runs.yours) if label != BASELINE],
        lambda name, own, label: own.metric(name, label),
        paper=dict(ROWS.values()),
        figure="workloads",
        ticks=MIXES,
    )
    by_spread = panels(
        {"of system energy saved (%)": spreads},
        readings,
        curves,
        lambda values, own, label: own.across(curves[label][1], curves[label][0], "spread", values),
        figure="spread",
        ticks=[f"{100 * one:g}" for one in spreads],
        x=[100 * one for one in spreads],
        x_label="spread of devices (%)",
    )
    by_size = panels(
        {"wait over VU-FCFS-B's": SIZES},
        readings,
        ["vahrm+tsmva"],
        lambda _, own, label: _by_size(own, label),
        level={"wait over VU-FCFS-B's": 1.0},
        figure="sizes",
        ticks=[f"{size}" for size in SIZES],
        x=range(len(SIZES)),
        x_label="nodes of a job, at least",
    )
    return pl.concat([by_workload, by_spread, by_size])


def _by_size(runs: Runs, label: str) -> Floats:
    """Waits of classes of job sizes, over VU-FCFS-B's, averaged over workloads."""
    ratios = [
        np.ma.masked_invalid(over(runs.values(column, label), runs.values(column, "vu-fcfs-b")))
        for column in (f"wait_{size}_s" for size in SIZES)
    ]
    return np.column_stack([ratio.mean(axis=1).filled(np.nan) for ratio in ratios])


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
        parameters=P,
        policies=SCHEDULERS,
        repetitions=60,
        repeat=_repeat,
        rows=rows,
        savings=_drawn,
        measured=_measured,
        further=_beside_fitted,
        further_repetitions=FITTED_REPETITIONS,
        yours=lambda frame, label: numbers(
            frame, label, ("saving", "placement", "turnaround", "throughput", "wait"), {"": {"spread": SPREAD}}
        ),
    ),
)
"""Figures 3, 7, 8 and 9 of the paper."""
