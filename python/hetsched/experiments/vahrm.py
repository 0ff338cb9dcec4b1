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

from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row
from hetsched.experiments.fitted_tsmva import FITTED, KERNELS, fitted_tsmva
from hetsched.experiments.large_jobs import LARGE_NODES, NOTICED_S, fate_of_large_jobs, waits_by_size
from hetsched.experiments.relative import measured, of_yours
from hetsched.experiments.runs import can_bound
from hetsched.experiments.tsubame import (
    BASELINE,
    PARAMETERS,
    QUICK,
    SCHEDULERS,
    SOURCE,
    SPREAD,
    Case,
    Machine,
    cases,
    drawn_machine,
    jobs_of,
    run_row,
)
from hetsched.experiments.vahrm_claims import rows
from hetsched.experiments.vahrm_drawn import drawn
from hetsched.platform.machines import TSUBAME3_JOBS_W
from hetsched.report.panel_figure import panel_figure
from hetsched.run.result import Result

__all__ = ["EXPERIMENT", "SPREADS"]

SPREADS = (0.0, 0.02, SPREAD, 0.08, 0.12)
BESIDE = ("vu-fcfs", "cgva-fcfs-b", "vahrm+ideal")
"""What runs at the other spreads, too."""

FITTED_REPETITIONS = 4


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    machines = {spread: drawn_machine(seed, spread=spread) for spread in SPREADS}
    clipped = machines[SPREAD].sample.clipped.filter(pl.col("app") == "gpu-small")["clipped_ratio"].item()
    rows = [
        row
        for case in cases(seed, jobs=jobs_of(repetition))
        for spread in SPREADS
        for row in _beside(case, machines[spread], spread, repetition)
    ]
    return [{"energy_bound_j": None, **row, "clipped_ratio": clipped} for row in rows]


def _beside(case: Case, machine: Machine, spread: float, repetition: Repetition) -> Iterator[dict[str, Any]]:
    """The schedulers beside each other."""
    whole: Mapping[str, Any] = {**SCHEDULERS, **repetition.policies}
    policies = whole if spread == SPREAD else {label: whole[label] for label in BESIDE}
    waits_s: dict[str, np.ndarray] = {}
    for label, policy in policies.items():
        yield run_row(
            case,
            label,
            policy,
            machine.of(label),
            seed=repetition.seed,
            at={"spread": spread},
            bound=label == BASELINE and spread == SPREAD and can_bound(),
            extra=lambda result, label=label: _fates(result, label, waits_s),  # type: ignore[misc]
        )


def _beside_fitted(repetition: Repetition) -> list[dict[str, Any]]:
    """VAHRM on the same jobs and devices, with predictions of fitted models."""
    seed = repetition.seed
    fitted = fitted_tsmva(seed)
    told = {
        **{f"{device}_mape": error for device, error in fitted.mape.items()},
        **{f"{device}_jobs_mape": error for device, error in fitted.jobs_mape.items()},
        **{f"{app}_moved_w": watts for app, watts in fitted.moved_w.items()},
    }
    runs = (
        run_row(case, FITTED, "vahrm", fitted.platform, seed=seed, at={"spread": SPREAD})
        for case in cases(seed, jobs=jobs_of(repetition))
    )
    return [{**row, **told} for row in runs]


def _fates(result: Result, label: str, waits_s: dict[str, np.ndarray]) -> Mapping[str, float | None]:
    """Waits by size, and the large jobs beside VU-FCFS-B's, which ran before; where it did not, beside their own."""
    own_s = result.jobs["wait_s"].to_numpy()
    waits_s.setdefault(label, own_s)
    other_s = waits_s.get("vu-fcfs-b", own_s) if label.startswith("vahrm") else own_s
    return {**waits_by_size(result.jobs), **fate_of_large_jobs(result.jobs, other_s)}


def _measured(frame: pl.DataFrame) -> list[Parameter]:
    clipped = Parameter("gpu_small_draws_set_to_idle_ratio", round(float(frame["clipped_ratio"].mean()), 4), _CLIPPED)  # type: ignore[arg-type]
    return [*measured(frame, spread=SPREAD), clipped, *_measured_of_fit(frame)]


def _measured_of_fit(frame: pl.DataFrame) -> list[Parameter]:
    """What must be known of the fitted models; nothing where none was fitted."""
    own = frame.filter(policy=FITTED)
    if own.is_empty():
        return []

    def mean(column: str) -> float:
        return round(float(own[column].mean()), 2)  # type: ignore[arg-type]

    mape = {device: mean(f"{device}_jobs_mape") for device in KERNELS}
    moved_w = {app: mean(f"{app}_moved_w") for app in TSUBAME3_JOBS_W}
    return [
        Parameter("fitted_tsmva_jobs_mape", mape, "measured: in-sample, on the jobs' three kernels alone"),
        Parameter("fitted_tsmva_moved_w", moved_w, "measured: from the nearest kernel's mean to Table IV"),
    ]


def _yours(frame: pl.DataFrame) -> list[Row]:
    return of_yours(frame, ("saving", "placement", "turnaround", "throughput", "wait"), {"": {"spread": SPREAD}})


_CLIPPED = "measured: draws of 62.75 W on average below the idle 60 W; of no other kernel"
_FITTED = (
    f"ours: the first ones of a full run, none of a quick one, as 3,240 forests take half a minute; {FITTED} in the "
    "runs; counters and mean watts are synthetic, as the paper's are not public"
)

EXPERIMENT = Experiment(
    name="vahrm",
    source=f"{SOURCE}, section VI-C-1",
    parameters=(
        *PARAMETERS,
        Parameter("sr", 1.0, "printed"),
        Parameter("pcr", 1.0, "printed: the budget never binds"),
        Parameter("spreads", list(SPREADS), "ours: what variation is worth; the same standard normals at all of them"),
        Parameter("fitted_tsmva_kernels", dict(KERNELS), "printed; the jobs' are three of them: in-sample"),
        Parameter("fitted_tsmva_repetitions", FITTED_REPETITIONS, _FITTED),
        Parameter("large_jobs_nodes", LARGE_NODES, "printed: more than 15"),
        Parameter("noticed_wait_s", NOTICED_S, "assumed: ratios are of jobs that waited as long under VU-FCFS-B"),
    ),
    policies=SCHEDULERS,
    repetitions=20,
    quick_repetitions=4,
    repeat=_repeat,
    rows=rows,
    savings=drawn,
    draw=panel_figure,
    measured=_measured,
    beside=_beside_fitted,
    beside_repetitions=FITTED_REPETITIONS,
    quick_parameters=QUICK,
    yours=_yours,
)
"""Figures 3, 7, 8 and 9 of the paper."""
