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

from hetsched.experiments.claims import alike, limit, statement, value
from hetsched.experiments.experiment import Floats, Parameter, Parameters, Repetition, Row, measured
from hetsched.experiments.runs import Runs, bound_of, over, panels
from hetsched.experiments.vahrm import system
from hetsched.experiments.vahrm.fitted import FITTED, KERNELS, fitted_tsmva
from hetsched.experiments.vahrm.system import (
    BASELINE,
    LARGE_NODES,
    NOTICED_S,
    PRESETS,
    SCHEDULERS,
    SIZES,
    SPREAD,
    TSMVA_MAPE,
    large_job_waits,
    log_under_baseline,
    numbers,
    of_paper,
    relative,
    waits_by_size,
)
from hetsched.platform.devices import TSUBAME3_JOBS_W
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

SAVING, SAVING_OVER_CVA = (4.5, 5.8), (4.2, 5.4)
TURNAROUND, TURNAROUND_BACKFILLING = (-21.2, -22.8), (-11.9, -13.8)
"""Mean over the nine workloads, and the best of them."""

THROUGHPUT = 7.1
LARGE_WAIT, LARGE_LONGEST, LONGEST_H = 0.99, 18.0, 24.0
IMPLIED_WAIT = 0.93
"""VU-FCFS's mean wait in mean run times. With both, W and R: VAHRM's wait is 0.56 W (Fig. 14) and its turnaround
0.788 (W + R) = 0.56 W + R, so that W / R = 0.212 / (0.788 - 0.56)."""

OURS, IDEAL = "vahrm+tsmva", "vahrm+ideal"

LARGE = "overloaded-large"
"""The reading of which only the paper's printed numbers are rows: it decides which sizes fit them."""

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
            bound=bound_of(label, [BASELINE]) if spread == SPREAD and case.preset in PRESETS else False,
            extra=lambda result, label=label: _waits(result, label, waits_s),  # type: ignore[misc]
        )


def _fitted_runs(repetition: Repetition) -> list[dict[str, Any]]:
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


def rows(frame: pl.DataFrame) -> list[Row]:
    """The table of ``vahrm``."""
    readings = {preset: relative(frame, preset=preset, spread=SPREAD) for preset in PRESETS}
    about = (_of_paper, _parts, _placement, _large)
    return [
        *(row for preset, runs in readings.items() for rows_of in about for row in rows_of(runs, preset)),
        *_of_paper(relative(frame, preset=LARGE, spread=SPREAD), LARGE),
        *_fitted(frame),
        _clipped(readings["steady"]),
    ]


def _log(runs: Runs, preset: str) -> str:
    """Undisclosed conditions of a magnitude, with their values here."""
    waits, run_s, tail_s, makespan_s = (
        runs.mean(name, BASELINE).mean() for name in ("mean_wait_s", "run_s", "tail_s", "makespan_s")
    )
    return (
        f"which 10,000 jobs of the log ({preset}: VU-FCFS's waits are {waits / run_s:.2g} run times, {IMPLIED_WAIT} in "
        f"the paper; it takes {makespan_s / 86_400.0:.2g} days, of which {tail_s / 3600.0:.0f} h come after the last "
        "start)"
    )


def _of_paper(runs: Runs, preset: str) -> list[Row]:
    log = _log(runs, preset)
    plain, filled = (
        np.mean([runs.metric("turnaround", OURS, over=over) for over in group], axis=0)
        for group in (system.WITHOUT_BACKFILLING, system.WITH_BACKFILLING)
    )
    printed = {
        f"saving vs VU-FCFS, {preset}, %": (runs.metric("saving", OURS), SAVING),
        f"saving vs CVA-FCFS-B, {preset}, %": (runs.metric("saving", OURS, over="cva-fcfs-b"), SAVING_OVER_CVA),
        f"turnaround vs those without backfilling, {preset}, %": (plain, TURNAROUND),
        f"turnaround vs those with backfilling, {preset}, %": (filled, TURNAROUND_BACKFILLING),
    }
    found = []
    for quantity, (values, (mean, best)) in printed.items():
        of_best = values.max(axis=1) if best > 0 else values.min(axis=1)
        found.append(value(quantity, values.mean(axis=1), paper=mean, undisclosed=log))
        found.append(value(f"best workload: {quantity}", of_best, paper=best, undisclosed=log))
    throughput = runs.mean("throughput", OURS)
    found.append(value(f"throughput vs VU-FCFS, {preset}, %", throughput, paper=THROUGHPUT, undisclosed=log))
    waits = (runs.values("mean_wait_s", BASELINE) / runs.values("run_s", BASELINE)).mean(axis=1)
    quantity = f"wait over run time under VU-FCFS, {preset} (paper: implied)"
    found.append(value(quantity, waits, paper=IMPLIED_WAIT, undisclosed="which 10,000 jobs of the log"))
    placed, left = (runs.mean("placement", label).mean() for label in (IDEAL, OURS))
    why = f"of the placement part ({placed:.2g} %) TSMVA's errors leave {100 * left / placed:.0f} %"
    claim = "with TSMVA's errors VAHRM saves as much as without"
    return [*found, _less(runs, OURS, f"saving, ideal less TSMVA, {preset}, points", claim=claim, why=why)]


def _less(runs: Runs, label: str, quantity: str, *, claim: str, why: str) -> Row:
    """Savings that VAHRM loses with predictions that are not ideal."""
    exact, own = (runs.mean("saving", one) for one in (IDEAL, label))
    return alike(quantity, exact - own, of=own, claim=claim, why=why)


def _fitted(frame: pl.DataFrame) -> list[Row]:
    """VAHRM with fitted models, in the repetitions that have them; nothing where none has."""
    own = frame.filter(policy=FITTED)
    if own.is_empty():
        return []
    runs = relative(frame.filter(pl.col("repetition").is_in(own["repetition"].unique().implode())), spread=SPREAD)
    found = [_fitted_saving(runs.where(preset=preset), preset) for preset in PRESETS]
    for device in ("gpu", "cpu"):
        paper = round(100.0 * TSMVA_MAPE[device], 2)
        errors = runs.values(f"{device}_mape", FITTED, preset="steady")[:, 0]
        quantity = f"in-sample MAPE of the fitted TSMVA, {device.upper()}s, %"
        found.append(value(quantity, errors, paper=paper, undisclosed="counters and watts of the kernels"))
    return found


def _fitted_saving(runs: Runs, preset: str) -> Row:
    placed, left = (runs.mean("placement", label).mean() for label in (IDEAL, FITTED))
    why = f"of the placement part ({placed:.2g} %) the fitted models leave {100 * left / placed:.0f} %"
    claim = "with a fitted TSMVA VAHRM saves as much as with exact predictions"
    return _less(runs, FITTED, f"saving, ideal less fitted TSMVA, {preset}, points", claim=claim, why=why)


def _parts(runs: Runs, preset: str) -> list[Row]:
    """The saving in two parts, and how much of it needs devices that differ."""
    saving, placement, window, tail = (runs.mean(part, IDEAL) for part in ("saving", "placement", "window", "tail"))
    blind = runs.mean("saving", IDEAL, spread=0.0)
    used, used_vahrm = (100.0 * runs.values("utilization_ratio", label).mean() for label in (BASELINE, IDEAL))
    ends = (
        f"{preset}: idle energy falls with the makespan ({used:.0f} % of nodes in use under VU-FCFS, {used_vahrm:.0f} "
        f"% under VAHRM), {tail.mean():.2g} of {window.mean():.2g} points of it after the last start"
    )
    equal, wide = (runs.mean("placement", IDEAL, spread=spread) for spread in (0.0, 0.12))
    better = "most of the saving comes from better nodes, which is how the paper explains it"
    half = ("half the saving at 4 % spread less it", saving / 2 - blind)
    needs, nothing = "most of the saving needs devices that differ", "equal devices leave nothing to place"
    more = "the more devices differ the more placement saves"
    level = f"placement part where devices do not differ, {preset}, %"
    return [
        statement(f"placement part of the saving, {preset}, %", placement, claim="better nodes save"),
        statement(f"window part of the saving, {preset}, %", window, claim="a shorter makespan saves", why=ends),
        statement(f"placement part less window part, {preset}, points", placement - window, claim=better, why=ends),
        statement(f"saving where devices do not differ, {preset}, %", blind, tested=half, claim=needs, why=ends),
        limit(level, equal, most=1e-9, claim=nothing, printed=False),
        statement(f"placement part per 1 % of spread, {preset}, points", wide / 12.0, claim=more),
    ]


def _placement(runs: Runs, preset: str) -> list[Row]:
    """Better nodes than under rivals, and the attained share of the saving by placement in VU-FCFS's window."""
    free = {
        label: 100.0 - 100.0 * runs.values("utilization_ratio", label).mean()
        for label in ("cva-fcfs-b", "cgva-fcfs-b", "cgva-fcfs", IDEAL)
    }
    found = [
        statement(
            f"placement part, VAHRM less {name}, {preset}, points",
            runs.mean("placement", IDEAL) - runs.mean("placement", rival),
            claim=f"VAHRM finds better nodes than {name}",
            why=f"{preset}: {free[rival]:.0f} % of nodes are free under {name}, {free[IDEAL]:.0f} % under VAHRM, "
            "and there is nothing to choose where nothing is free",
        )
        for rival, name in ((label, label.upper()) for label in free if label != IDEAL)
    ]
    share = runs.mean("share", IDEAL)
    ahead = ("VAHRM's less CGVA-FCFS-B's", share - runs.mean("share", "cgva-fcfs-b"))
    quantity = f"VAHRM's share of the attainable placement part, {preset}, %"
    return [*found, statement(quantity, share, tested=ahead, claim="larger than CGVA-FCFS-B's")]


def _large(runs: Runs, preset: str) -> list[Row]:
    """Waits of jobs of more than 15 nodes relative to VU-FCFS-B."""

    def of(column: str) -> Floats:
        return runs.values(column, OURS)

    log = _log(runs, preset)
    mean = over(of("large_wait_s"), of("large_other_wait_s")).mean(axis=1)
    small = (100.0 * (over(of("wait_1_s"), runs.values("wait_1_s", "vu-fcfs-b")) - 1.0)).mean(axis=1)
    later = 100.0 * of("large_later_ratio").mean()
    longest_h, never = runs.metric("longest", OURS).max(axis=1), "no large job waits longer than 24 h"
    unheld = f"{preset}: {later:.0f} % of large jobs wait longer than under VU-FCFS-B; nothing holds nodes for them"
    printed = {
        f"large jobs' mean wait over VU-FCFS-B's, {preset}": (mean, LARGE_WAIT),
        f"the same, mean of jobs' ratios, {preset}": (of("large_ratio").mean(axis=1), LARGE_WAIT),
        f"the same, largest of jobs' ratios, {preset}": (of("large_longest_ratio").max(axis=1), LARGE_LONGEST),
    }
    return [
        *(value(quantity, values, paper=paper, undisclosed=log) for quantity, (values, paper) in printed.items()),
        limit(f"longest wait of a large job, {preset}, h", longest_h, most=LONGEST_H, claim=never, why=unheld),
        statement(f"wait of single-node jobs vs VU-FCFS-B, {preset}, %", small, side=-1, claim="small jobs wait less"),
    ]


def _clipped(runs: Runs) -> Row:
    shares = 100.0 * runs.values("clipped_ratio", BASELINE)[:, 0]
    # 62.75 W with 4 % around it lie below 60 W where a standard normal is below -1.0956.
    quantity = "draws of gpu-small below idle, set to it, less the normal's 13.66 %, points"
    claim = "the mean, 62.75 W, lies 1.1 standard deviations above the idle draw"
    return limit(quantity, shares - 13.66, most=1.0, claim=claim, printed=False)


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
        further=_fitted_runs,
        further_repetitions=FITTED_REPETITIONS,
        yours=lambda frame, label: numbers(
            frame, label, ("saving", "placement", "turnaround", "throughput", "wait"), {"": {"spread": SPREAD}}
        ),
    ),
)
"""Figures 3, 7, 8 and 9 of the paper."""
