"""``hetsched``: this project's own preset against all others, on the nine workloads of the VAHRM paper.

It was tuned on workloads 0, 4 and 8, machines and jobs of seeds 1 and 2; here machines and jobs are other draws, and
the other six workloads were never looked at. Measured are energy, turnaround and the longest wait of a large job, which
is the cost of first fit; and every part of the preset is taken away once, to show its effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from hetsched.experiments.claims import limit, statement
from hetsched.experiments.experiment import Experiment, Floats, Parameters, Repetition, Row
from hetsched.experiments.runs import MARK, Runs, panels
from hetsched.experiments.vahrm import system
from hetsched.experiments.vahrm.system import (
    BASELINE,
    HIGH_POWER,
    LARGE_NODES,
    OTHERS,
    SPREAD,
    by_preset,
    large_job_waits,
    log_under_baseline,
    relative,
)
from hetsched.policy import Policy
from hetsched.power import Noisy
from hetsched.report.comparisons import pareto_figure, point
from hetsched.report.experiment import panel_figure
from hetsched.run.result import Result
from hetsched.typing import Bound
from hetsched.workload.generators.cpu_gpu_log import MIXES

FAMILY = ("vu-fcfs", "vu-fcfs-b", "cva-fcfs", "cva-fcfs-b", "cgva-fcfs", "cgva-fcfs-b", "vahrm", "hetsched")
FURTHER = ("easy", "sjf", "ljf", "paa", "coa", "swa", "pool")
"""``conservative`` is not among them: it starts jobs nearly as ``easy`` does, on the same nodes, and takes longest."""

WITHOUT = {
    "hetsched, no energy in the order": "hetsched:beta=0",
    "hetsched, VAHRM's beta": "hetsched:beta=0.000244140625",
    "hetsched, no patience": "hetsched:patience_s=none",
    "hetsched, not the suited first": "hetsched:suited_first=false",
    "hetsched, lowest-power": "hetsched:placement=lowest-power",
}
"""From a label to the preset with one of its parts taken away."""

POLICIES: Mapping[str, str | Policy] = {name: name for name in (*FAMILY, *FURTHER)} | WITHOUT
UNDER_ALL = ("vu-fcfs", "cgva-fcfs-b", "vahrm", "hetsched")
"""Policies that run under other settings, too."""

PRESETS = ("overloaded-large", "steady")
"""Readings of the log that the preset was tuned on."""

P = Parameters(system.P)
TUNED = (0, 4, 8)
"""The workloads that the preset was tuned on."""

P.noted(
    "tuned_on",
    {"workloads": [MIXES[number] for number in TUNED], "seeds": [1, 2], "spread": SPREAD},
    "ours: machines and jobs here are other draws; the other six workloads were never looked at",
)
P.printed("large_jobs_nodes", LARGE_NODES, "more than 15")

GROUPS = {"tuned on": TUNED, "held out": tuple(number for number in range(len(MIXES)) if number not in TUNED)}
OURS, RIVALS = "hetsched", ("vahrm", "cgva-fcfs-b")
BOUNDS: Mapping[str, Bound] = {BASELINE: "all", OURS: "starts", **dict.fromkeys(RIVALS, "starts")}
"""Bounds of the runs under the default setting, by policy."""
REPETITIONS = 8


@dataclass(frozen=True)
class Setting:
    """Settings of a run other than workload and policy; the default is the one the preset was tuned under."""

    spread: float = SPREAD  # of devices, as `drawn_machine` takes it
    error: float = 0.0  # of predictions, a share of the watts
    pcr: float = 1.0  # the budget as a share of the machine's TDP

    @property
    def columns(self) -> dict[str, float]:
        """Columns of a row."""
        return asdict(self)


TUNED_UNDER, HALVED = Setting(), Setting(pcr=0.5)
OTHER_SETTINGS = (Setting(spread=0.0), Setting(spread=0.12), Setting(error=0.10))
P.noted(
    "settings",
    [setting.columns for setting in (*OTHER_SETTINGS, HALVED)],
    "ours: no spread and a wide one, predictions 10 % off (normal, a node and kernel each), half the budget; quick "
    "runs leave the last out",
)

AXES = {"turnaround": "turnaround vs VU-FCFS's", "longest": "longest wait of a large job (h)"}
"""From a metric to the text below its panel; smaller is better."""

FIRST = (OURS, *RIVALS, "coa", "easy", "sjf")
"""Policies with a colour that no other of these has."""


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    seed = repetition.seed
    machines = {setting: _machine(repetition, setting) for setting in (TUNED_UNDER, *OTHER_SETTINGS)}
    under_all: dict[str, str | Policy] = {name: name for name in UNDER_ALL}
    return [
        row
        for case in system.cases_of(repetition, PRESETS)
        for setting, machine in machines.items()
        for policies in [{**POLICIES, **repetition.policies} if setting == TUNED_UNDER else under_all]
        for row in _runs(case, machine, setting, policies, seed)
    ]


def _halved(repetition: Repetition) -> list[dict[str, Any]]:
    """Under half the budget: a ninth of all runs, and more than a quarter of the time."""
    machine, policies = _machine(repetition, HALVED), {name: f"{name}:pcr={HALVED.pcr!r}" for name in UNDER_ALL}
    return [
        row
        for case in system.cases_of(repetition, PRESETS)
        for row in _runs(case, machine, HALVED, policies, repetition.seed)
    ]


def _machine(repetition: Repetition, setting: Setting) -> system.Machine:
    """The nodes, predicted as they are or with errors."""
    machine = system.machine_of(repetition, spread=setting.spread)
    if not setting.error:
        return machine
    actual = machine.sample.table
    noisy = Noisy(error_ratio=setting.error, seed=repetition.seed).table(actual)
    return replace(machine, ideal=machine.ideal.with_tables(actual=actual, predicted=noisy))


def _runs(
    case: system.Case, machine: system.Machine, setting: Setting, policies: Mapping[str, str | Policy], seed: int
) -> Iterator[dict[str, Any]]:
    for label, policy in policies.items():
        row = system.case_row(
            case,
            label,
            policy,
            machine.ideal,
            seed=seed,
            at=setting.columns,
            bound=_bound(label) if setting == TUNED_UNDER else False,
            extra=_large,
        )
        yield {**row, "was_tuned_on": case.number in TUNED}


def _bound(label: str) -> bool | Bound:
    return BOUNDS.get(label, "starts" if label.startswith(MARK) else False)


def _large(result: Result) -> dict[str, float]:
    waits = large_job_waits(result.jobs, result.jobs["wait_s"].to_numpy())
    return {name: waits[name] for name in ("large_wait_s", "large_longest_wait_s")}


def _rows(runs: Runs, preset: str) -> list[Row]:
    own = runs.where(**TUNED_UNDER.columns)
    return [
        *(row for group, numbers in GROUPS.items() for row in _levels(own, f"{group}, {preset}", numbers)),
        *(
            row
            for number, mix in enumerate(MIXES)
            for mark in ["tuned on" if number in TUNED else "held out"]
            for row in _against(own, f"{mix} ({mark}), {preset}", [number])
        ),
        *_given_starts(own, preset),
        *_prices(own, preset),
        *_parts(own, preset),
        *_elsewhere(runs, preset),
    ]


def _levels(own: Runs, where: str, numbers: Sequence[int]) -> list[Row]:
    """Averages over some workloads, against VAHRM's."""
    asked: list[tuple[str, str, Literal[1, -1]]] = [
        ("placement", f"placement part of the saving, {where}, %", 1),
        ("share", f"share of the attainable placement part, {where}, %", 1),
        ("turnaround", f"turnaround vs VU-FCFS, {where}, %", -1),
        ("longest", f"longest wait of a large job, {where}, h", -1),
    ]
    found = []
    for name, quantity, side in asked:
        ours, vahrm = (own.mean(name, label, numbers=numbers) for label in (OURS, "vahrm"))
        claim, ahead = f"{'more' if side == 1 else 'less'} than VAHRM's {vahrm.mean():.3g}", ours - vahrm
        found.append(statement(quantity, ours, claim=claim, side=side, tested=("hetsched's less VAHRM's", ahead)))
    return found


def _against(own: Runs, where: str, numbers: Collection[int], *, why: str = "") -> list[Row]:
    """Promises of the preset, against the better of both rivals in every repetition."""

    def of(name: str, *policies: str) -> list[Floats]:
        return [own.mean(name, policy, numbers=numbers) for policy in policies]

    (ours,), (ours_s,) = of("placement", OURS), of("mean_turnaround_s", OURS)
    (longest_h, vahrm_h) = of("longest", OURS, "vahrm")
    better, sooner_s = np.maximum(*of("placement", *RIVALS)), np.minimum(*of("mean_turnaround_s", *RIVALS))
    both = "the better of VAHRM and CGVA-FCFS-B"
    sooner, shorter = 100.0 * (ours_s / sooner_s - 1.0), 100.0 * (longest_h / vahrm_h - 1.0)
    more, early = "more placement energy is saved than by either", "jobs are done no later than under either"
    waits = "no large job waits as long as under VAHRM"
    return [
        statement(f"placement part less {both}, {where}, points", ours - better, claim=more),
        statement(f"turnaround vs {both}, {where}, %", sooner, claim=early, side=-1, why=why),
        statement(f"longest wait of a large job vs VAHRM, {where}, %", shorter, claim=waits, side=-1),
    ]


def _given_starts(own: Runs, preset: str) -> list[Row]:
    """Shares of placement and timing, by the bound given each run's starts; averages over the workloads."""
    asked: list[tuple[str, str]] = [
        ("attained", f"share of the bound given its starts, {preset}, %"),
        ("placing", f"job energy saved by placement at the same starts, {preset}, %"),
        ("timing", f"job energy saved by timing, {preset}, %"),
    ]
    found = []
    for name, quantity in asked:
        ours, vahrm = (own.mean(name, label) for label in (OURS, "vahrm"))
        tested = ("hetsched's less VAHRM's", ours - vahrm)
        found.append(statement(quantity, ours, claim=f"more than VAHRM's {vahrm.mean():.3g}", tested=tested))
    return found


def _prices(own: Runs, preset: str) -> list[Row]:
    """Price of these promises."""
    window, whole, tail_s = (
        {label: own.mean(name, label) for label in (OURS, "vahrm")} for name in ("window", "saving", "tail_s")
    )
    why = (
        f"{preset}: after the last start come {tail_s[OURS].mean() / 3600.0:.0f} h under hetsched, "
        f"{tail_s['vahrm'].mean() / 3600.0:.0f} h under VAHRM, which runs long jobs first and so shortens the end of a "
        "trace that ends; a machine in service has no such end"
    )
    ahead = ("hetsched's less VAHRM's", window[OURS] - window["vahrm"])
    short = f"a makespan as short as VAHRM's ({window['vahrm'].mean():.3g} %)"
    more = whole[OURS] - whole["vahrm"]
    longer = own.mean("longest", OURS) - own.mean("longest", "cgva-fcfs-b")
    waits = "no large job waits as long as under EASY"
    held = f"{preset}: EASY holds nodes for the first job in the queue from the start, hetsched after 36 h"
    quantity = f"longest wait of a large job less CGVA-FCFS-B's, {preset}, h"
    return [
        statement(f"window part of the saving, {preset}, %", window[OURS], tested=ahead, claim=short, why=why),
        statement(
            f"system energy saved, less VAHRM's, {preset}, points", more, claim="more system energy saved", why=why
        ),
        statement(quantity, longer, side=-1, claim=waits, why=held),
    ]


def _parts(own: Runs, preset: str) -> list[Row]:
    """Loss without each part, mean over workloads."""
    asked: list[tuple[str, str, str, Literal[1, -1]]] = [
        ("no energy in the order", "turnaround", "the order shortens the turnaround", 1),
        ("no energy in the order", "placement", "the order saves placement energy", -1),
        ("VAHRM's beta", "turnaround", "the smaller beta shortens the turnaround", 1),
        ("no patience", "longest", "patience bounds the waits of large jobs", 1),
        ("no patience", "turnaround", "patience costs turnaround", -1),
        ("not the suited first", "placement", "serving the suited first saves placement energy", -1),
        ("not the suited first", "turnaround", "serving the suited first shortens the turnaround", 1),
        ("lowest-power", "placement", "prices save placement energy", -1),
    ]
    called = {
        "turnaround": ("turnaround", "% of VU-FCFS's"),
        "placement": ("placement part", "points"),
        "longest": ("longest wait of a large job", "h"),
    }
    return [
        statement(
            f"{part}: {what}, change, {preset}, {unit}",
            own.mean(name, f"hetsched, {part}") - own.mean(name, OURS),
            claim=claim,
            side=side,
        )
        for part, name, claim, side in asked
        for what, unit in [called[name]]
    ]


def _elsewhere(runs: Runs, preset: str) -> list[Row]:
    """No spread, a wide one, wrong predictions, half the budget."""
    equal, wide, wrong = (runs.where(**setting.columns) for setting in OTHER_SETTINGS)
    every = range(len(MIXES))
    found = [
        limit(
            f"placement part where devices do not differ, {preset}, %",
            equal.mean("placement", OURS),
            most=1e-9,
            claim="equal devices leave nothing to place",
            printed=False,
        ),
        statement(
            f"turnaround vs VAHRM where devices do not differ, {preset}, %",
            equal.mean("turnaround", OURS, over="vahrm"),
            claim="jobs are done no later than under VAHRM",
            side=-1,
        ),
        *_against(wide, f"at 12 % spread, {preset}", every),
        *_against(wrong, f"predictions 10 % off, {preset}", every),
    ]
    if runs.frame.filter(pcr=HALVED.pcr).is_empty():
        return found
    halved = runs.where(**HALVED.columns)
    wait_h = halved.mean("mean_wait_s", OURS, numbers=HIGH_POWER).mean() / 3600.0
    crowded = (
        f"{preset}, PCR 0.5: jobs of the high-power workloads wait for {wait_h:.0f} h on average, and where most "
        "have lost patience the preset is EASY in the order of submission"
    )
    return [
        *found,
        *_against(halved, f"PCR 0.5, other seven, {preset}", OTHERS),
        *_against(halved, f"PCR 0.5, high-power two, {preset}", HIGH_POWER, why=crowded),
    ]


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    quantities = {
        "placement": "placement part of the saving, {}, %",
        "share": "share of the attainable placement part, {}, %",
        "turnaround": "turnaround vs VU-FCFS, {}, %",
        "longest": "longest wait of a large job, {}, h",
    }
    runs = relative(frame).where(**TUNED_UNDER.columns)
    return runs.numbers(label, quantities, {preset: {"preset": preset} for preset in PRESETS})


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of both figures: every preset as a dot, averaged over workloads, and each workload by itself."""
    runs = relative(frame).where(**TUNED_UNDER.columns)
    labels = [label for label in frame["policy"].unique(maintain_order=True) if not label.startswith(f"{OURS},")]
    labels.sort(key=lambda label: FIRST.index(label) if label in FIRST else len(FIRST))
    dots = (
        point(
            _cost(own, name, label),
            own.mean("placement", label),
            figure="pareto",
            row=f"{preset}\nplacement saving (%)",
            column=below,
            label=label,
        )
        for preset in PRESETS
        for own in [runs.where(preset=preset)]
        for name, below in AXES.items()
        for label in labels
    )
    shown = {
        "placement saving (%)": "placement",
        "turnaround (%)": "turnaround",
        "longest wait of\na large job (h)": "longest",
    }
    curves = panels(
        shown,
        {preset: preset for preset in PRESETS},
        [OURS, *RIVALS, *runs.yours],
        lambda name, preset, label: runs.metric(name, label, preset=preset),
        figure="workloads",
        ticks=MIXES,
    )
    return pl.concat([*dots, curves], how="diagonal")


def _cost(own: Runs, name: str, label: str) -> Floats:
    """A metric averaged over workloads; a change in percent as a ratio."""
    mean = own.mean(name, label)
    return 1.0 + mean / 100.0 if name == "turnaround" else mean


def _draw(own: pl.DataFrame, *, title: str = "") -> Any:
    return (pareto_figure if own["figure"][0] == "pareto" else panel_figure)(own, title=title)


EXPERIMENTS = (
    Experiment(
        name="hetsched",
        source="this project; docs/background/hetsched-preset.md",
        parameters=P,
        policies=POLICIES,
        repeat=_repeat,
        rows=by_preset(_rows, presets=PRESETS),
        savings=_drawn,
        repetitions=REPETITIONS,
        yours=_yours,
        draw=_draw,
        measured=lambda frame: log_under_baseline(frame, **TUNED_UNDER.columns),
        further=_halved,
        further_repetitions=REPETITIONS,
        quick_parameters=system.QUICK,
        baseline=BASELINE,
    ),
)
"""Our preset, on workloads that it was tuned on and others."""
