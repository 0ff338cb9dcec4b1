"""`WhatIf`: settings held against today, its tables and what a reader should know of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

from hetsched.analysis import pareto
from hetsched.analysis.weeks import FEWEST_WEEKS
from hetsched.checks import few, many
from hetsched.files import write_files
from hetsched.many.comparison import windows_differ
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.report.page.document import Page
from hetsched.report.page.whatifs import page_of_what_if
from hetsched.report.whatifs import setting_table
from hetsched.reported import Reported
from hetsched.run.metrics import METRICS, columns_of
from hetsched.whatif.paired import Answer, Change, energy_changes
from hetsched.whatif.settings import Axis, Setting

_ENERGY = "energy_j"


@named_in("hetsched")
@dataclass(frozen=True, repr=False, eq=False)
class WhatIf(Reported):
    """A machine under other settings, against today. Made by `hetsched.what_if`.

    Parameters
    ----------
    table
        A row a setting, the first of them today's: ``row, setting`` (in words), a column a key that was set (null: not
        set), each metric, and of each ``METRIC_change, METRIC_change_low, METRIC_change_high`` (95 % interval over
        weeks) ``, METRIC_certain`` (the interval is without 0); ``pareto`` (no other row is better in one metric and no
        worse in the others) and ``unstarted``, the number of jobs that never start.
    changes
        The same below each other, a row a setting and metric: ``row, metric, value, change, change_low, change_high,
        certain`` and, as shares of today's, ``change_ratio, change_ratio_low, change_ratio_high``.
    runs
        A row a setting: ``row, setting``, and the keys of its summary.
    metrics
        The metrics that were asked for.
    notes
        Remarks that a reader needs besides the numbers.
    provenance
        As `Result.provenance`, of today's run, without what is found in its course.
    """

    table: pl.DataFrame
    changes: pl.DataFrame
    runs: pl.DataFrame
    metrics: Sequence[str]
    notes: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        best = int(self.table["pareto"].sum())
        return f"<WhatIf: {many(len(self.table) - 1, 'setting')} against today, {best:,} not dominated>"

    def __str__(self) -> str:
        """The table and the notes, as ``hetsched whatif`` shows them."""
        with (console := Console(width=80, file=StringIO(), highlight=False)).capture() as captured:
            console.print(setting_table(self.table, self.changes))
            for note in self.notes:
                console.print(note, markup=False)
        return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
        return page_of_what_if(self, title=title, assumed=assumed, command=command)

    def _repr_html_(self) -> str:
        return card(repr(self).strip("<>"), None, self.table._repr_html_(), notes=self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Values as JSON holds them: today's ``summary``, ``metrics, rows, changes, notes``."""
        return {
            "summary": self.runs.drop("row", "setting").row(0, named=True),
            "metrics": list(self.metrics),
            "rows": self.table.to_dicts(),
            "changes": self.changes.to_dicts(),
            "notes": list(self.notes),
        }

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write ``whatif.csv, changes.csv, runs.csv`` and ``whatif.json`` (metrics and notes); gives their names.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        said = {"metrics": list(self.metrics), "notes": list(self.notes)}
        files = {
            "whatif.csv": self.table.write_csv().encode(),
            "changes.csv": self.changes.write_csv().encode(),
            "runs.csv": self.runs.write_csv().encode(),
            "whatif.json": (json.dumps(said, indent=2) + "\n").encode(),
        }
        return write_files(folder, files)


def answered(
    axes: Sequence[Axis],
    settings: Sequence[Setting],
    answers: Sequence[Answer],
    metrics: Sequence[str],
    weeks: int,
    *,
    recorded: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> WhatIf:
    """The answer made of the rows' runs.

    `weeks` is how many there are with submits, `recorded` the summary of the result that today's run repeats,
    `provenance` what that run is made of.
    """
    named = {"row": [one.row for one in settings], "setting": [one.title for one in settings]}
    energies = energy_changes([one.energies for one in answers], answers[0].energies)
    changes = {metric: _changes(metric, answers, energies) for metric in metrics}
    wide: dict[str, Any] = dict(named)
    wide |= {axis.name: axis.column(settings) for axis in axes}
    for metric, own in changes.items():
        wide |= _wide(metric, [one.summary.get(metric) for one in answers], own)
    is_best = _best(answers, metrics)
    wide |= {"pareto": is_best, "unstarted": [one.unstarted for one in answers]}
    long = pl.DataFrame(
        [
            {"row": row.row, "metric": metric, "value": answer.summary.get(metric), **_long(changes[metric][place])}
            for place, (row, answer) in enumerate(zip(settings, answers, strict=True))
            for metric in metrics
        ],
        schema=_SCHEMA,
        strict=False,
    )
    runs = pl.DataFrame({**named, **columns_of([one.summary for one in answers])}, strict=False)
    notes = (*_other_today(answers[0], recorded or {}, metrics), *_notes(settings, answers, metrics, weeks))
    return WhatIf(pl.DataFrame(wide, strict=False), long, runs, tuple(metrics), notes, provenance or {})


_SCHEMA = {
    "row": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "certain": pl.Boolean,
    "change_ratio": pl.Float64,
    "change_ratio_low": pl.Float64,
    "change_ratio_high": pl.Float64,
}


def _changes(metric: str, answers: Sequence[Answer], energies: Sequence[Change]) -> list[Change]:
    """A metric's change in each row; of one that is no mean, quantile or energy without an interval."""
    if metric == _ENERGY:
        return list(energies)
    if metric in answers[0].changes:
        return [one.changes[metric] for one in answers]
    base = answers[0].summary.get(metric)
    found = []
    for one in answers:
        own = one.summary.get(metric)
        change = None if own is None or base is None else own - base
        found.append(Change(change, ratio=None if change is None or not base else change / base))
    return found


def _long(change: Change) -> dict[str, Any]:
    own = asdict(change)
    names = {"low": "change_low", "high": "change_high", "ratio": "change_ratio"}
    names |= {"ratio_low": "change_ratio_low", "ratio_high": "change_ratio_high"}
    return {**{names.get(name, name): value for name, value in own.items()}, "certain": change.certain}


def _wide(metric: str, values: Sequence[Any], changes: Sequence[Change]) -> dict[str, pl.Series]:
    floats = {
        "": values,
        "_change": [one.change for one in changes],
        "_change_low": [one.low for one in changes],
        "_change_high": [one.high for one in changes],
    }
    found = {f"{metric}{end}": pl.Series(own, dtype=pl.Float64, strict=False) for end, own in floats.items()}
    return {**found, f"{metric}_certain": pl.Series([one.certain for one in changes], dtype=pl.Boolean)}


def _best(answers: Sequence[Answer], metrics: Sequence[str]) -> list[bool]:
    """True for rows that no other dominates; rows with more unstarted jobs than today, or without a metric, are out."""
    signs = [-1.0 if METRICS[metric].better == "higher" else 1.0 for metric in metrics]
    values = [[one.summary.get(metric) for metric in metrics] for one in answers]
    is_in = [
        one.unstarted <= answers[0].unstarted and None not in own for one, own in zip(answers, values, strict=True)
    ]
    taken = np.array([own for own, is_taken in zip(values, is_in, strict=True) if is_taken], dtype=np.float64)
    marks = iter(pareto(taken * signs))
    return [is_taken and next(marks) for is_taken in is_in]


def _other_today(today: Answer, recorded: Mapping[str, Any], metrics: Sequence[str]) -> Iterator[str]:
    """Say that today's run is not the result that it repeats, as that was made by another version or engine."""
    for metric in metrics:
        if metric in recorded and recorded[metric] != today.summary.get(metric):
            texts = [METRICS[metric].text(value) for value in (today.summary.get(metric), recorded[metric])]
            yield f"today's run is not that of the result: {METRICS[metric].title} {texts[0]}, there {texts[1]}"


def _notes(settings: Sequence[Setting], answers: Sequence[Answer], metrics: Sequence[str], weeks: int) -> Iterator[str]:
    if weeks < FEWEST_WEEKS:
        yield f"no intervals: the jobs are of {many(weeks, 'week')}, and intervals need at least {FEWEST_WEEKS}"
    today = answers[0].unstarted
    more = [(row, one.unstarted) for row, one in zip(settings, answers, strict=True) if one.unstarted > today]
    if more:
        rows = few([f"row {row.row} {count:,}" for row, count in more])
        about = "rows with more than today are not marked and dominate nothing"
        yield f"jobs that never start: today {today:,}, {rows}; {about}"
    elif today:
        yield f"jobs that never start: {today:,} today; they are in no mean"
    unknown = [METRICS[key].title for key in metrics if any(one.summary.get(key) is None for one in answers)]
    if unknown:
        yield f"not known in some rows, which are compared in nothing: {few(unknown)}"
    if _ENERGY in metrics and windows_differ([one.summary["makespan_s"] for one in answers]):
        yield (
            "runs differ in length: energy is that of each run up to its own last end, changes of it are over one "
            "window, in which machines that are done draw on as they do then"
        )
    if any(metric not in answers[0].changes and metric != _ENERGY for metric in metrics):
        names = [METRICS[one].title for one in metrics if one not in answers[0].changes and one != _ENERGY]
        yield f"without intervals: {few(names)}"
