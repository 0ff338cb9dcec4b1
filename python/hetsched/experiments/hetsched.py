"""``hetsched``: this project's own preset beside all others, on the nine workloads of the VAHRM paper.

It was tuned on workloads 0, 4 and 8, machines and jobs of seeds 1 and 2; here machines and jobs are other draws, and
the other six workloads were never looked at. Beside energy and turnaround stands how long large jobs wait at worst,
which is what first fit costs; and every part of the preset is taken away once, so that each shows what it is there for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hetsched.experiments.experiment import Experiment, Parameter, Repetition
from hetsched.experiments.hetsched_claims import HALVED, TUNED, Setting, rows, yours
from hetsched.experiments.hetsched_drawn import draw, drawn
from hetsched.experiments.large_jobs import LARGE_NODES, fate_of_large_jobs
from hetsched.experiments.relative import measured
from hetsched.experiments.runs import can_bound
from hetsched.experiments.tsubame import (
    BASELINE,
    MIXES,
    PARAMETERS,
    QUICK,
    SPREAD,
    Case,
    Machine,
    cases,
    drawn_machine,
    jobs_of,
    run_row,
)
from hetsched.policy import Policy
from hetsched.power import Noisy
from hetsched.run.result import Result

__all__ = ["EXPERIMENT"]

FAMILY = ("vu-fcfs", "vu-fcfs-b", "cva-fcfs", "cva-fcfs-b", "cgva-fcfs", "cgva-fcfs-b", "vahrm", "hetsched")
OTHERS = ("easy", "sjf", "ljf", "paa", "coa", "swa", "pool")
"""``conservative`` is not among them: it starts jobs nearly as ``easy`` does, on the same nodes, and takes longest."""

WITHOUT = {
    "hetsched, no energy in the order": "hetsched:beta=0",
    "hetsched, VAHRM's beta": "hetsched:beta=0.000244140625",
    "hetsched, no patience": "hetsched:patience_s=none",
    "hetsched, not the suited first": "hetsched:suited_first=false",
    "hetsched, lowest-power": "hetsched:placement=lowest-power",
}
"""From a label to the preset with one of its parts taken away."""

BESIDE = ("vu-fcfs", "cgva-fcfs-b", "vahrm", "hetsched")
"""What runs under other settings, too."""

OTHER_SETTINGS = (Setting(spread=0.0), Setting(spread=0.12), Setting(error=0.10))
REPETITIONS = 8


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    as_tuned, seed = Setting(), repetition.seed
    machines = {setting: _machine(seed, setting) for setting in (as_tuned, *OTHER_SETTINGS)}
    policies = {name: name for name in (*FAMILY, *OTHERS)} | WITHOUT | dict(repetition.policies)
    found: list[dict[str, Any]] = []
    for case in cases(seed, jobs=jobs_of(repetition)):
        found += _runs(case, machines[as_tuned], as_tuned, policies, seed)
        for setting in OTHER_SETTINGS:
            found += _beside(case, machines[setting], setting, seed)
    return found


def _halved(repetition: Repetition) -> list[dict[str, Any]]:
    """Under half the budget: a ninth of all runs, and more than a quarter of the time."""
    machine = _machine(repetition.seed, HALVED)
    found = cases(repetition.seed, jobs=jobs_of(repetition))
    return [row for case in found for row in _beside(case, machine, HALVED, repetition.seed)]


def _beside(case: Case, machine: Machine, setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    return _runs(case, machine, setting, {name: name for name in BESIDE}, seed)


def _machine(seed: int, setting: Setting) -> Machine:
    """The nodes, predicted as they are or with errors."""
    machine = drawn_machine(seed, spread=setting.spread)
    if not setting.error:
        return machine
    actual = machine.sample.table
    noisy = Noisy(error_ratio=setting.error, seed=seed).table(actual)
    return Machine(machine.sample, machine.ideal.with_tables(actual=actual, predicted=noisy), machine.tsmva)


def _runs(
    case: Case, machine: Machine, setting: Setting, policies: Mapping[str, str | Policy], seed: int
) -> Iterator[dict[str, Any]]:
    for label, policy in policies.items():
        row = run_row(
            case,
            label,
            policy if setting.pcr == 1.0 else f"{policy}:pcr={setting.pcr!r}",
            machine.ideal,
            seed=seed,
            at=setting.columns,
            bound=label == BASELINE and setting == Setting() and can_bound(),
            extra=_large,
        )
        yield {"energy_bound_j": None, **row, "was_tuned_on": case.number in TUNED}


def _large(result: Result) -> dict[str, float]:
    fate = fate_of_large_jobs(result.jobs, result.jobs["wait_s"].to_numpy())
    return {name: fate[name] for name in ("large_wait_s", "large_longest_wait_s")}


EXPERIMENT = Experiment(
    name="hetsched",
    source="this project; docs/background/hetsched-preset.md",
    parameters=(
        *PARAMETERS,
        Parameter(
            "tuned_on",
            {"workloads": [MIXES[number] for number in TUNED], "seeds": [1, 2], "spread": SPREAD},
            "ours: machines and jobs here are other draws; the other six workloads were never looked at",
        ),
        Parameter("large_jobs_nodes", LARGE_NODES, "printed: more than 15"),
        Parameter(
            "settings",
            [setting.columns for setting in (*OTHER_SETTINGS, HALVED)],
            "ours: no spread and a wide one, predictions 10 % off (normal, a node and kernel each), half the budget; "
            "quick runs leave the last out",
        ),
    ),
    policies={name: name for name in (*FAMILY, *OTHERS)} | WITHOUT,
    repetitions=REPETITIONS,
    quick_repetitions=4,
    repeat=_repeat,
    rows=rows,
    savings=drawn,
    draw=draw,
    measured=lambda frame: measured(frame, **Setting().columns),
    beside=_halved,
    beside_repetitions=REPETITIONS,
    quick_parameters=QUICK,
    yours=yours,
)
"""Our preset, with what it was tuned on and what it was not."""
