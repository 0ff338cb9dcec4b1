"""``aoba-validation``: observed against simulated starts, with and without jobs held by their users (Figs. 3 and 4).

AOBA's log is not public. In its place a run of drawn jobs plays the machine: some jobs are held back by their users, as
by start times and workflows, users may run a few jobs at once, nodes boot and stop faster or slower than the simulator
thinks. Its starts are what is observed; the simulator is told none of the rest. That shows what such unknowns do to a
histogram of starts, and what the correction undoes. It does not show how true the model is to AOBA. A second log is
real: jobs of Kestrel with the starts that were observed there, under a scheduler that is not known here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis import (
    START_CLASSES,
    held_jobs_resubmitted,
    start_differences,
    start_histogram,
    use_difference,
)
from hetsched.chance import stream
from hetsched.experiments.aoba.machine import PARALLEL, PARAMETERS, PRESET, SOURCE, UNDISCLOSED, machine
from hetsched.experiments.claims import limit, number, statement, value
from hetsched.experiments.experiment import Experiment, Parameter, Repetition, Row, assumed, printed
from hetsched.experiments.runs import Floats, Runs
from hetsched.platform import NodeClass, Platform
from hetsched.report.panel_figure import curve, panel_figure
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.workload import Workload, aoba, read_parquet

PLAYED, KESTREL = "drawn jobs, played", "Kestrel, observed"
KNOWN, RECORDED, CORRECTED = "all known", "as recorded", "corrected"
LABEL = {PLAYED: PRESET, KESTREL: "easy"}

HELD_RATIO, HELD_H = 0.06, (12.0, 60.0)
AT_ONCE = 8
SPEED_RATIO = (0.75, 1.5)
DAYS, QUICK_DAYS = 42, 10
KESTREL_NODES = 1024
_DAY_S = 86_400.0


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    days = QUICK_DAYS if repetition.is_quick else DAYS
    jobs = aoba(period="off", seed=repetition.seed).to_polars().filter(pl.col("submit_s") < days * _DAY_S)
    hidden, played_on = _held(jobs, repetition.seed), _played_machine(repetition.seed)
    real = simulate(Workload.from_polars(hidden), played_on, PRESET, seed=repetition.seed)
    recorded = _with_starts(jobs, real)
    slots = machine().nodes * 8
    runs = {
        KNOWN: simulate(_with_starts(hidden, real), played_on, PRESET),
        RECORDED: simulate(recorded, machine(), PRESET),
        CORRECTED: simulate(held_jobs_resubmitted(recorded), machine(), PRESET),
        **{label: simulate(recorded, machine(), policy) for label, policy in repetition.policies.items()},
    }
    energy_j = real.summary()["energy_j"]
    played = [
        {
            **_row(PLAYED, label, result, slots, slots_per_node=8),
            "energy_percent": 100.0 * (result.summary()["energy_j"] / energy_j - 1.0),
        }
        for label, result in runs.items()
    ]
    kestrel = {
        **_kestrel_runs(),
        **{label: simulate(*_kestrel(), policy) for label, policy in repetition.policies.items()},
    }
    observed = [_row(KESTREL, label, result, KESTREL_NODES) for label, result in kestrel.items()]
    return [*played, *observed]


def _held(jobs: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The jobs with some of those of the paid queues held back by their users."""
    rng = stream(seed, "aoba.held")
    is_held = rng.random(len(jobs)) < HELD_RATIO / _paid_ratio(jobs)
    hold_s = rng.uniform(*HELD_H, len(jobs)) * 3600.0
    can_be = jobs["queue"].is_in(PARALLEL).to_numpy()
    start_at = np.where(is_held & can_be, jobs["submit_s"].to_numpy() + hold_s, np.nan)
    return jobs.with_columns(start_at_s=pl.Series(start_at).fill_nan(None))


def _paid_ratio(jobs: pl.DataFrame) -> float:
    return float(np.mean(jobs["queue"].is_in(PARALLEL).to_numpy()))


def _played_machine(seed: int) -> Platform:
    """AOBA with nodes that boot and stop faster or slower, and a limit on jobs of one user."""
    own = machine()
    (kind,) = own.classes
    pace = stream(seed, "aoba.paces").uniform(*SPEED_RATIO, own.nodes)
    classes: list[NodeClass] = [
        replace(kind, name=f"vi{node}", count=1, boot_s=kind.boot_s * ratio, shutdown_s=kind.shutdown_s * ratio)
        for node, ratio in enumerate(pace.round(3).tolist())
    ]
    assert own.queues is not None
    queues = [replace(queue, max_running_per_user=AT_ONCE) if queue.name in PARALLEL else queue for queue in own.queues]
    return Platform(classes, exclusive=own.exclusive, queues=queues)


def _with_starts(jobs: pl.DataFrame, real: Result) -> Workload:
    starts = real.jobs.select("job_id", observed_start_s="start_s")
    return Workload.from_polars(jobs.join(starts, on="job_id", how="left", maintain_order="left"))


@cache
def _kestrel() -> tuple[Workload, Platform]:
    """Four days of a real log, and nodes for them."""
    with resources.as_file(resources.files("hetsched") / "data" / "kestrel-2024-09.parquet") as path:
        log = read_parquet(path)
    return log, Platform.homogeneous(nodes=KESTREL_NODES, idle_w=250.0, tdp_w=785.0)


@cache
def _kestrel_runs() -> dict[str, Result]:
    """The log as it is and corrected, once: nothing here is drawn."""
    log, nodes = _kestrel()
    return {
        RECORDED: simulate(log, nodes, LABEL[KESTREL]),
        CORRECTED: simulate(held_jobs_resubmitted(log), nodes, LABEL[KESTREL]),
    }


def _row(scenario: str, label: str, result: Result, slots: int, slots_per_node: int = 1) -> dict[str, Any]:
    """Shares of the classes in percent, and how far the use of the machine is apart."""
    found = start_histogram(start_differences(result.jobs))
    shares = dict(zip(found["class"], 100.0 * found["share_ratio"], strict=True))
    use = use_difference(result.jobs, slots=slots, slots_per_node=slots_per_node, bins=_BINS)
    apart = 100.0 * use["difference_ratio"].to_numpy()
    return {
        "scenario": scenario,
        "policy": label,
        **result.summary(),
        **{f"class {name}": share for name, share in shares.items()},
        "near_percent": shares["-1m"] + shares["0"] + shares["1m"],
        "far_percent": shares["<-1d"] + shares[">1d"],
        "held_percent": shares["1d"] + shares[">1d"],
        "apart_points": float(np.abs(apart).mean()),
        "energy_percent": None,
        **{f"use {place}": points for place, points in enumerate(apart.tolist())},
    }


_BINS = 42


def _rows(frame: pl.DataFrame) -> list[Row]:
    played, observed = (Runs(frame, scenario=name) for name in (PLAYED, KESTREL))
    rows = [*_played(played), *_fewer(played)]
    for runs, told in ((played, "drawn"), (observed, "Kestrel")):
        for name, quantity in _TOLD.items():
            if runs is played or name != "energy_percent":
                rows += [number(f"{told}: {quantity}, {label}", runs.values(name, label)) for label in _SHOWN]
    return rows


def _yours(frame: pl.DataFrame) -> list[Row]:
    found = {"drawn": Runs(frame, scenario=PLAYED), "Kestrel": Runs(frame, scenario=KESTREL)}
    return [
        runs.row_of_yours(label, f"{log}: {_TOLD[name]}, {RECORDED}", runs.values(name, label))
        for log, runs in found.items()
        for label in runs.yours
        for name in ("near_percent", "far_percent", "apart_points")
    ]


_TOLD = {
    "near_percent": "starts within a minute, %",
    "far_percent": "starts more than a day apart, %",
    "held_percent": "starts more than 12 h earlier than observed, %",
    "apart_points": "use of the machine apart, mean of its bins, points",
    "energy_percent": "energy beside that of the run that plays the machine, %",
}


def _played(runs: Runs) -> list[Row]:
    """The histogram of drawn jobs beside the paper's, which is of another log."""
    drawn = f"{UNDISCLOSED}, and how many are held for how long is assumed"
    return [
        limit(
            "drawn: starts a second or more apart if all is known, %",
            100.0 - runs.values("class 0", KNOWN),
            most=0.0,
            claim="a simulator that knows everything repeats the run",
            printed=False,
        ),
        value(
            "drawn: starts within a minute, %",
            runs.values("near_percent", RECORDED),
            paper=60.0,
            undisclosed=drawn,
        ),
        value(
            "drawn: starts more than a day apart, %",
            runs.values("far_percent", RECORDED),
            paper=5.0,
            undisclosed=drawn,
        ),
    ]


def _fewer(runs: Runs) -> list[Row]:
    """What the correction does."""

    def more(name: str) -> Floats:
        change: Floats = runs.values(name, CORRECTED) - runs.values(name, RECORDED)
        return change

    return [
        statement(
            "drawn: starts more than a day apart, corrected less as recorded, points",
            more("far_percent"),
            side=-1,
            claim="the correction brings starts nearer that are far off",
        ),
        statement(
            "drawn: starts within a minute, corrected less as recorded, points",
            more("near_percent"),
            claim="and makes more of them right",
        ),
        statement(
            "drawn: use of the machine apart, corrected less as recorded, points",
            more("apart_points"),
            side=-1,
            claim="and the use of the machine comes nearer, too",
        ),
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The histograms, and the use of the machine over time."""
    labels = (*_SHOWN, *Runs(frame).yours)
    found = {(scenario, label): Runs(frame, scenario=scenario) for scenario in (PLAYED, KESTREL) for label in labels}
    starts = [
        curve(
            np.column_stack([runs.values(f"class {name}", label) for name in START_CLASSES]),
            row=f"{scenario}\n% of the jobs",
            column="starts, observed less simulated",
            label=label,
            ticks=START_CLASSES,
            figure="starts",
        )
        for (scenario, label), runs in found.items()
    ]
    use = [
        curve(
            np.column_stack([runs.values(f"use {place}", label) for place in range(_BINS)]),
            row=f"{scenario}\n% of the machine",
            column="use, observed less simulated",
            label=label,
            ticks=[str(place) if place % 6 == 0 else "" for place in range(_BINS)],
            x=range(_BINS),
            x_label=f"bin of {_BINS}, from the first start to the last end",
            figure="use",
        )
        for (scenario, label), runs in found.items()
    ]
    return pl.concat([*starts, *use])


_SHOWN = (RECORDED, CORRECTED)


EXPERIMENTS = (
    Experiment(
        name="aoba-validation",
        source=f"{SOURCE}, section 5, Figs. 3 and 4",
        parameters=(
            printed("days", DAYS, "10,000 jobs"),
            printed("classes", list(START_CLASSES), "0: less than a second"),
            printed("correction", "submitted when they started, if observed to wait more than 12 h"),
            assumed("observed", "a run that plays the machine", "the paper's log is not public"),
            assumed(
                "held_ratio", HELD_RATIO, "of all jobs, in sxmix_s, sx_s, sx_m and sx_l; not told to the simulator"
            ),
            assumed("held_h", list(HELD_H), "of the held jobs, uniform"),
            assumed("jobs_of_a_user_at_once", AT_ONCE, "in each of these queues; not told to the simulator"),
            assumed("boot_and_stop", list(SPEED_RATIO), "× those below, by node; not told to the simulator"),
            Parameter("kestrel", f"four days of 2024 on {KESTREL_NODES} nodes, easy", "real starts, true run lengths"),
            *PARAMETERS,
        ),
        policies=LABEL,
        repetitions=10,
        quick_repetitions=4,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=panel_figure,
        yours=_yours,
        quick_parameters=(Parameter("days", QUICK_DAYS, "quick runs: jobs of the first of them"),),
    ),
)
