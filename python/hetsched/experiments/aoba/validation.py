"""``aoba-validation``: observed against simulated starts, with and without jobs held by their users (Figs. 3 and 4).

AOBA's log is not public. In its place a run of drawn jobs represents the machine: some jobs are held back by their
users, as by start times and workflows, users may run a few jobs at once, nodes boot and stop faster or slower than the
simulator assumes. Its starts are the observed ones; the simulator knows none of the rest. That shows the effect of such
unknowns on a histogram of starts, and how much of it the correction undoes. It does not show how accurate the model is
for AOBA. A second log is real: jobs of Kestrel with the starts that were observed there, under an unknown scheduler.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np
import polars as pl

from hetsched.analysis import START_CLASSES, held_jobs_resubmitted, start_differences, start_histogram, use_difference
from hetsched.chance import stream
from hetsched.experiments.aoba import system
from hetsched.experiments.aoba.system import PARALLEL, PRESET, SOURCE, UNDISCLOSED, machine
from hetsched.experiments.claims import limit, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameter, Parameters, Repetition, Row
from hetsched.experiments.runs import Runs, panels
from hetsched.platform import NodeClass, Platform
from hetsched.run.result import Result
from hetsched.run.simulation import simulate
from hetsched.workload import Workload, aoba, read_parquet

PLAYED, KESTREL = "drawn jobs, played", "Kestrel, observed"
KNOWN, RECORDED, CORRECTED = "all known", "as recorded", "corrected"
LABEL = {PLAYED: PRESET, KESTREL: "easy"}

P = Parameters()
DAYS = P.printed("days", 42, "10,000 jobs")
P.printed("classes", START_CLASSES, "0: less than a second")
P.printed("correction", "submitted when they started, if observed to wait more than 12 h")
P.assumed("observed", "a run of drawn jobs", "the paper's log is not public")
HELD_RATIO = P.assumed("held_ratio", 0.06, "of all jobs, in sxmix_s, sx_s, sx_m and sx_l; unknown to the simulator")
HELD_H = P.assumed("held_h", (12.0, 60.0), "of the held jobs, uniform")
AT_ONCE = P.assumed("jobs_of_a_user_at_once", 8, "in each of these queues; unknown to the simulator")
SPEED_RATIO = P.assumed("boot_and_stop", (0.75, 1.5), "× those below, by node; unknown to the simulator")
KESTREL_NODES = 1024
P.noted("kestrel", f"four days of 2024 on {KESTREL_NODES} nodes, easy", "real starts, true run lengths")
P += system.P
QUICK_DAYS = 10
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
    played = Runs(frame, scenario=PLAYED)
    return [*_played(played), *_fewer(played)]


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    quantities = {
        "near_percent": "starts within a minute, %",
        "far_percent": "starts more than a day apart, %",
        "apart_points": "use of the machine apart, mean of its bins, points",
    }
    return {
        f"{log}: {quantity}, {RECORDED}": Runs(frame, scenario=scenario).values(name, label)
        for log, scenario in {"drawn": PLAYED, "Kestrel": KESTREL}.items()
        for name, quantity in quantities.items()
    }


def _played(runs: Runs) -> list[Row]:
    """The histogram of drawn jobs against the paper's, which is of another log."""
    near, far = (runs.values(f"{name}_percent", RECORDED) for name in ("near", "far"))
    drawn = f"{UNDISCLOSED}, and how many are held for how long is assumed"
    quantity, repeats = (
        "starts a second or more apart if all is known",
        "a simulator that knows everything repeats the run",
    )
    apart = 100.0 - runs.values("class 0", KNOWN)
    return [
        limit(f"drawn: {quantity}, %", apart, most=0.0, claim=repeats, printed=False),
        value("drawn: starts within a minute, %", near, paper=60.0, undisclosed=drawn),
        value("drawn: starts more than a day apart, %", far, paper=5.0, undisclosed=drawn),
    ]


def _fewer(runs: Runs) -> list[Row]:
    """Effects of the correction."""
    claims: list[tuple[str, str, Literal[1, -1], str]] = [
        ("far_percent", "starts more than a day apart", -1, "the correction brings starts nearer that are far off"),
        ("near_percent", "starts within a minute", 1, "and makes more of them right"),
        ("apart_points", "use of the machine apart", -1, "and the use of the machine comes nearer, too"),
    ]
    return [
        statement(
            f"drawn: {quantity}, corrected less as recorded, points",
            runs.values(column, CORRECTED) - runs.values(column, RECORDED),
            side=side,
            claim=claim,
        )
        for column, quantity, side, claim in claims
    ]


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The histograms, and the use of the machine over time."""
    labels = [RECORDED, CORRECTED, *Runs(frame).yours]
    logs = {scenario: Runs(frame, scenario=scenario) for scenario in (PLAYED, KESTREL)}

    def curves(runs: Runs, columns: list[str], label: str) -> Floats:
        return np.column_stack([runs.values(column, label) for column in columns])

    starts = panels(
        {f"{scenario}\n% of the jobs": runs for scenario, runs in logs.items()},
        {"starts, observed less simulated": [f"class {name}" for name in START_CLASSES]},
        labels,
        curves,
        ticks=START_CLASSES,
        figure="starts",
    )
    use = panels(
        {f"{scenario}\n% of the machine": runs for scenario, runs in logs.items()},
        {"use, observed less simulated": [f"use {place}" for place in range(_BINS)]},
        labels,
        curves,
        ticks=[str(place) if place % 6 == 0 else "" for place in range(_BINS)],
        x=range(_BINS),
        x_label=f"bin of {_BINS}, from the first start to the last end",
        figure="use",
    )
    return pl.concat([starts, use])


EXPERIMENTS = (
    Experiment(
        name="aoba-validation",
        no_shares="jobs share nodes, for which the bound is not defined, and Kestrel's are alike",
        source=f"{SOURCE}, section 5, Figs. 3 and 4",
        parameters=P,
        policies=LABEL,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        repetitions=10,
        yours=_yours,
        quick_parameters=[Parameter("days", QUICK_DAYS, "quick runs: jobs of the first of them")],
    ),
)
