"""``aoba-saving``: switching idle nodes off in six quiet weeks, by the settings of table 3 (Fig. 6 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hetsched.experiments.aoba.system import MWH, SETTINGS, SOURCE, UNDISCLOSED, P, machine, measured
from hetsched.experiments.claims import alike, statement, value
from hetsched.experiments.experiment import Experiment, Floats, Parameter, Repetition, Row, printed
from hetsched.experiments.runs import Runs, side_by_side
from hetsched.report.experiment import curve
from hetsched.workload import aoba

OFF, OWN = "A", "AOBA"
_SCENARIO = "off period"
QUICK_JOBS = 2_500
_WINDOWS = "each run's energy over its own window, first submission to last end"


def _repeat(repetition: Repetition) -> list[dict[str, Any]]:
    workload = aoba(period="off", seed=repetition.seed)
    workload = workload.head(QUICK_JOBS) if repetition.is_quick else workload
    return side_by_side(repetition, SETTINGS, workload, machine(), named={"scenario": _SCENARIO}, extra=measured)


def _saved(runs: Runs, label: str, over: str = OFF, part: str = "used_energy_j") -> Floats:
    """MWh less than in another setting."""
    saved: Floats = (runs.values(part, over) - runs.values(part, label)) / MWH
    return saved


def _longer(runs: Runs, label: str, over: str = OWN, wait: str = "mean_wait_s") -> Floats:
    longer: Floats = runs.values(wait, label) - runs.values(wait, over)
    return longer


def _rows(frame: pl.DataFrame) -> list[Row]:
    runs = Runs(frame)
    return [*_own(runs), *_effects(runs)]


def _own(runs: Runs) -> list[Row]:
    """The saving of the operated settings, and its effect on waits."""
    return [
        value(
            "saving of AOBA over A, nodes in queues, MWh",
            _saved(runs, OWN),
            paper=11.0,
            undisclosed=f"{UNDISCLOSED}, and whether its figure holds the nodes in no queue; {_WINDOWS}",
        ),
        alike(
            "mean wait, AOBA less A, s",
            _longer(runs, OWN, OFF),
            of=runs.values("mean_wait_s", OFF),
            claim="the saving does not make jobs wait longer",
        ),
    ]


def _effects(runs: Runs) -> list[Row]:
    """Claims of the paper on each other setting."""
    own_saving = _saved(runs, OWN)
    rows = [
        value("further saving of B over AOBA, MWh", _saved(runs, "B", OWN), paper=1.2, undisclosed=UNDISCLOSED),
        statement("mean wait, B less AOBA, s", _longer(runs, "B"), claim=_LESS_IDLING, why=_FEW_DECIDE),
        statement("median wait, B less AOBA, s", _longer(runs, "B", wait="median_wait_s"), claim=_LESS_IDLING),
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
        statement("mean wait, F less AOBA, s", _longer(runs, "F"), claim=_MORE_SLEEP, why=_FEW_DECIDE),
        statement("median wait, F less AOBA, s", _longer(runs, "F", wait="median_wait_s"), claim=_MORE_SLEEP),
    ]


_LESS_IDLING = "an hour less of idling makes waits longer"
_MORE_SLEEP = "an hour more of planned sleep makes waits longer"
_FEW_DECIDE = "jobs that wait for many hours decide the mean, and which they are changes with every start"


def _yours(frame: pl.DataFrame, label: str) -> dict[str, Floats]:
    runs = Runs(frame)
    return {
        "saving over A, nodes in queues, MWh": _saved(runs, label),
        "mean wait less AOBA's, s": _longer(runs, label),
    }


_QUEUED = "62 nodes in queues"
_PRINTED = {"AOBA": np.array([11.0]), "B": np.array([12.2])}


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Energy saved and waits relative to A; a user's policies have a place of their own, and a mark each."""
    runs = Runs(frame)
    places = [label for label in SETTINGS if label != OFF]
    ticks = [*places, *(["yours"] if runs.yours else [])]
    saved, waits = "saved over A (MWh)", "mean wait less A's (s)"

    def drawn(row: str, label: str, values: dict[str, Floats]) -> pl.DataFrame:
        unknown = np.full(len(next(iter(values.values()))), np.nan)
        whole = np.column_stack([values.get(tick, unknown) for tick in ticks])
        return curve(whole, row=row, column=_SCENARIO, label=label, ticks=ticks)

    found = [
        drawn(saved, _QUEUED, {label: _saved(runs, label) for label in places}),
        drawn(saved, "all 72 nodes", {label: _saved(runs, label, part="energy_j") for label in places}),
        drawn(saved, "paper", _PRINTED),
        drawn(waits, _QUEUED, {label: _longer(runs, label, OFF) for label in places}),
    ]
    for label in runs.yours:
        found.append(drawn(saved, label, {"yours": _saved(runs, label)}))
        found.append(drawn(waits, label, {"yours": _longer(runs, label, OFF)}))
    return pl.concat(found)


EXPERIMENTS = (
    Experiment(
        name="aoba-saving",
        no_shares="jobs share nodes, for which the bound is not defined",
        source=f"{SOURCE}, section 6.2, table 3, Fig. 6",
        parameters=[printed("jobs", 10_000, "from a Tuesday on, in 42 days"), *P],
        policies=SETTINGS,
        repeat=_repeat,
        rows=_rows,
        savings=_drawn,
        repetitions=20,
        quick_parameters=[Parameter("jobs", QUICK_JOBS, "quick runs: the first of them")],
        yours=_yours,
    ),
)
