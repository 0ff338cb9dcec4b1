"""Lines and tables of how near a run is to the log that it simulates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl
from rich.console import RenderableType

from hetsched.analysis import METRICS
from hetsched.report.page.document import Grid
from hetsched.report.tables import console_table

_LEFT_OUT = {
    "no_observed_start": "without an observed start",
    "no_run": "that did not run",
    "observed_before_submit": "that started before their submit",
    "outside_window": "of the warm-up and cool-down",
}
_GROUPS = {"by_queue": "queue", "by_size": "nodes", "by_user_class": "users"}
_MOST_GROUPS = 12


class Answer(Protocol):
    """Parts of a validation that are shown."""

    @property
    def scores(self) -> Mapping[str, Any]:
        """All scores."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes that come before them."""

    @property
    def rivals(self) -> pl.DataFrame:
        """The run and its rivals."""

    @property
    def horizons(self) -> pl.DataFrame | None:
        """Scores by how far ahead the simulation looks."""


def report(answer: Answer) -> Iterator[str | RenderableType]:
    """Lines and tables for a terminal, the most important first."""
    yield from answer.notes
    yield counted(answer.scores)
    yield console_table(rivals(answer))
    yield verdict(answer.scores)
    if answer.horizons is not None:
        yield console_table(horizons(answer.horizons))
    yield from map(console_table, groups(answer))
    yield from over_time(answer.scores)


def counted(scores: Mapping[str, Any]) -> str:
    """Numbers of jobs that count and that do not, and why."""
    return f"{scores['jobs']:,} jobs count, {scores['waited']:,} of them waited for over a minute{_left_out(scores)}"


def _left_out(scores: Mapping[str, Any]) -> str:
    reasons = [f"{scores[key]:,} {words}" for key, words in _LEFT_OUT.items() if scores[key]]
    return f"; left out: {', '.join(reasons)}" if reasons else ""


def rivals(answer: Answer) -> Grid:
    """The run and its rivals, the run first."""
    half, rows = answer.scores["log_error_half"], []
    for place, (name, error, skill, near) in enumerate(answer.rivals.iter_rows()):
        interval = f" ± {half:.3f}" if place == 0 and half is not None else ""
        rows.append([name, f"{error:.3f}{interval}", _ratio(skill), _percent(near)])
    note = (
        "log error: mean of |ln((wait + 60 s) / (observed wait + 60 s))|; skill: the part of the error of 'every job "
        "at once' that is gone; in 10 min: jobs that waited, and start within 10 min of their time"
    )
    return Grid("Waits: what is nearest to the log", ["", "log error", "skill", "in 10 min"], rows, note=note)


def horizons(frame: pl.DataFrame) -> Grid:
    """Scores by how far ahead the simulation looks."""
    numbers, rows = ["log error", "at once", "mean", "median", "skill", "in 10 min"], []
    for row in frame.iter_rows(named=True):
        errors = [row[f"{name}log_error"] for name in ("", "null_", "naive_", "naive_median_")]
        interval = "" if row["log_error_half"] is None else f" ± {row['log_error_half']:.3f}"
        shown = [f"{errors[0]:.3f}{interval}", *(f"{error:.3f}" for error in errors[1:])]
        name = "one run" if row["horizon_s"] is None else METRICS["mean_wait_s"].text(row["horizon_s"])
        rows.append([name, *shown, _ratio(row["skill_naive"]), _percent(row["waited_within_10m"])])
    note = "mean, median: of waits of the week before; skill: the part of the mean's error that is gone"
    return Grid("Restarts from the observed state", ["looks ahead", *numbers], rows, note=note)


def verdict(scores: Mapping[str, Any]) -> str:
    """The run against the best rival, in a sentence."""
    skill = scores["skill_best"]
    if skill is None:
        return "the best rival makes no error: every wait is known in advance"
    size = f"{skill:.1%} smaller than" if skill >= 0 else f"{1 - skill:.2f} times"
    return f"the run's log error is {size} that of the best rival that simulates nothing"


def groups(answer: Answer) -> Iterator[Grid]:
    """Scores by queue, size and kind of user, where there are several."""
    for name, title in _GROUPS.items():
        frame: pl.DataFrame = getattr(answer, name)
        if len(frame) > 1:
            yield _group(frame, title)


def _group(frame: pl.DataFrame, title: str) -> Grid:
    numbers, rows = ["jobs", "mean wait", "simulated", "skill", "in 10 min"], []
    wait = METRICS["mean_wait_s"]
    shown = frame if frame.columns[0] == "size" else frame.sort("jobs", descending=True, maintain_order=True)
    for row in shown.head(_MOST_GROUPS).iter_rows(named=True):
        name = row[frame.columns[0]]
        waits = (wait.text(row["mean_observed_s"]), wait.text(row["mean_simulated_s"]))
        ratios = (_ratio(row["skill_null"]), _percent(row["waited_within_10m"]))
        rows.append(["none" if name is None else str(name), f"{row['jobs']:,}", *waits, *ratios])
    if len(frame) > _MOST_GROUPS:
        rows.append([f"and {len(frame) - _MOST_GROUPS:,} more", *[""] * len(numbers)])
    return Grid("", [title, *numbers], rows)


def over_time(scores: Mapping[str, Any]) -> Iterator[str]:
    """Use, queue and power by hour, a sentence each."""
    if scores["utilization_mae"] is not None:
        ratio = "" if scores["queue_ratio"] is None else f"; queue {scores['queue_ratio']:.2f} times as long"
        yield (
            f"by hour: busy nodes off by {scores['utilization_mae']:.1%} of the machine "
            f"(bias {scores['utilization_bias']:+.1%}){ratio}"
        )
    if scores.get("power_mape_percent") is not None:
        rival = scores["persistence_mape_percent"]
        day = "" if rival is None else f", the day before {rival:.1f} %"
        yield (
            f"power by hour: off by {scores['power_mape_percent']:.1f} %; a constant "
            f"{scores['constant_mape_percent']:.1f} %{day}; energy {scores['energy_error_percent']:+.1f} %"
        )


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
