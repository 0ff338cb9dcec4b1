"""``aoba-saving``: switching idle nodes off in six quiet weeks, by the settings of table 3 (Fig. 6 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.aoba.machine import (
    MWH,
    PARAMETERS,
    SETTINGS,
    SOURCE,
    UNDISCLOSED,
    machine,
    measured,
)
from hetsched.experiments.claims import alike, number, statement, value
from hetsched.experiments.experiment import Experiment, Repetition, Row, printed
from hetsched.experiments.runs import Floats, Runs, run_row
from hetsched.policy import Policy
from hetsched.report.panel_figure import curve, panel_figure
from hetsched.workload import aoba

OFF, OWN = "A", "AOBA"
CHANGED = ("B", "C", "D", "E", "F")
_SCENARIO = "off period"
_WINDOWS = "each run's energy over its own window, first submission to last end"


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    workload = aoba(period="off", seed=repetition.seed)
    policies: dict[str, str | Policy] = {**SETTINGS, **repetition.policies}
    return [
        run_row(
            label,
            policy,
            workload,
            machine(),
            seed=repetition.seed,
            named={"scenario": _SCENARIO},
            extra=measured,
        )
        for label, policy in policies.items()
    ]


def _saved(runs: Runs, label: str, over: str = OFF, part: str = "used_energy_j") -> Floats:
    """MWh less than in another setting."""
    saved: Floats = (runs.values(part, over) - runs.values(part, label)) / MWH
    return saved


def _longer(runs: Runs, label: str, over: str = OWN, wait: str = "mean_wait_s") -> Floats:
    longer: Floats = runs.values(wait, label) - runs.values(wait, over)
    return longer


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    rows = [*_own(runs), *_effects(runs)]
    for name, told in _TOLD.items():
        rows += [number(f"{told}, {label}", runs.values(name, label)) for label in SETTINGS]
    energies = {label: runs.values("energy_j", label) / MWH for label in SETTINGS}
    rows += [number(f"energy of all nodes, {label}, MWh", own) for label, own in energies.items()]
    return rows


_TOLD = {
    "mean_wait_s": "mean wait, s",
    "boots_a_day": "boots a day, 62 nodes",
    "attained_percent": "share of what sleeping could save between these jobs, %",
}


def _own(runs: Runs) -> list[Row]:
    """What the operated settings save, and whether users pay for it."""
    return [
        value(
            "saving of AOBA over A, nodes in queues, MWh",
            _saved(runs, OWN),
            paper=11.0,
            undisclosed=f"{UNDISCLOSED}, and whether its figure holds the nodes in no queue; {_WINDOWS}",
        ),
        number(
            "the same, the ten nodes in no queue, MWh",
            _saved(runs, OWN, part="spare_energy_j"),
            told="they serve no job here: idle in A, off after two hours in every other setting",
        ),
        alike(
            "mean wait, AOBA less A, s",
            _longer(runs, OWN, OFF),
            of=runs.values("mean_wait_s", OFF),
            claim="the saving does not make jobs wait longer",
        ),
    ]


def _effects(runs: Runs) -> list[Row]:
    """What the paper says of each other setting."""
    own_saving = _saved(runs, OWN)
    rows = [
        value("further saving of B over AOBA, MWh", _saved(runs, "B", OWN), paper=1.2, undisclosed=UNDISCLOSED),
        statement("mean wait, B less AOBA, s", _longer(runs, "B"), claim=_LESS_IDLING, why=_FEW_DECIDE),
        statement("median wait, B less AOBA, s", _longer(runs, "B", wait="median_wait_s"), claim=_LESS_IDLING),
        number("further saving of C over AOBA, MWh", _saved(runs, "C", OWN)),
        number("mean wait, C less AOBA, s", _longer(runs, "C")),
    ]
    for label, what in (("D", "200 shutdowns a day in place of 5"), ("E", "half an hour less of planned sleep")):
        rows += [
            alike(
                f"further saving of {label} over AOBA, MWh",
                _saved(runs, label, OWN),
                of=own_saving,
                claim=f"{what} changes no energy (held against AOBA's saving)",
            ),
            alike(
                f"mean wait, {label} less AOBA, s",
                _longer(runs, label),
                of=runs.values("mean_wait_s", OWN),
                claim=f"{what} changes no wait",
            ),
        ]
    return [
        *rows,
        number("further saving of F over AOBA, MWh", _saved(runs, "F", OWN)),
        statement("mean wait, F less AOBA, s", _longer(runs, "F"), claim=_MORE_SLEEP, why=_FEW_DECIDE),
        statement("median wait, F less AOBA, s", _longer(runs, "F", wait="median_wait_s"), claim=_MORE_SLEEP),
    ]


_LESS_IDLING = "an hour less of idling makes waits longer"
_MORE_SLEEP = "an hour more of planned sleep makes waits longer"
_FEW_DECIDE = "jobs that wait for many hours decide the mean, and which they are changes with every start"


def _yours(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    return [
        row
        for label in runs.yours
        for row in (
            runs.row_of_yours(label, "saving over A, nodes in queues, MWh", _saved(runs, label)),
            runs.row_of_yours(label, "mean wait less AOBA's, s", _longer(runs, label)),
        )
    ]


_PAPER, _QUEUED = "paper", "62 nodes in queues"
_PRINTED = {"AOBA": 11.0, "B": 12.2}


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Energy saved and waits beside A's; a user's policies each have a mark of their own."""
    runs = Runs(frame)
    shown = [label for label in SETTINGS if label != OFF]
    parts = {_QUEUED: "used_energy_j", "all 72 nodes": "energy_j"}
    told = np.array([[_PRINTED.get(label, np.nan) for label in shown]])
    unknown = np.full((len(runs.values("energy_j", OFF)), len(shown)), np.nan)

    def drawn(row: str, label: str, values: Floats, yours: Floats | None = None) -> pl.DataFrame:
        last = np.full((len(values), 1), np.nan) if yours is None else yours[:, None]
        ticks = [*shown, *(["yours"] if runs.yours else [])]
        whole = np.hstack([values, last])[:, : len(ticks)]
        return curve(whole, row=row, column=_SCENARIO, label=label, ticks=ticks)

    saved, waits = "saved over A (MWh)", "mean wait less A's (s)"
    found = [
        drawn(saved, name, np.column_stack([_saved(runs, label, part=part) for label in shown]))
        for name, part in parts.items()
    ]
    found.append(drawn(saved, _PAPER, told))
    found.append(drawn(waits, _QUEUED, np.column_stack([_longer(runs, label, OFF) for label in shown])))
    for label in runs.yours:
        found.append(drawn(saved, label, unknown, _saved(runs, label)))
        found.append(drawn(waits, label, unknown, _longer(runs, label, OFF)))
    return pl.concat(found)


EXPERIMENTS = (
    Experiment(
        name="aoba-saving",
        source=f"{SOURCE}, section 6.2, table 3, Fig. 6",
        parameters=(
            printed("jobs", 10_000, "from a Tuesday on, in 42 days"),
            *PARAMETERS,
        ),
        policies=SETTINGS,
        repetitions=20,
        quick_repetitions=4,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        draw=panel_figure,
        yours=_yours,
    ),
)
