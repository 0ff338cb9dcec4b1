"""Lines and tables of settings found in a log's first half, and what they are worth on the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl
from rich.console import RenderableType

from hetsched.analysis import METRICS
from hetsched.report.tables import new_table

_SHORT = {
    "mean wait of the week before": "mean of the week before",
    "median wait of the week before": "median of the week before",
}


_AS_IT_IS = "as it is"


class Answer(Protocol):
    """Parts of a calibration that are shown."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Values of the settings that are not off."""

    @property
    def scores(self) -> pl.DataFrame:
        """A row a half and rival."""

    @property
    def trials(self) -> pl.DataFrame:
        """A row an evaluation."""

    @property
    def refused(self) -> int:
        """Number of evaluations that a guard refused."""

    @property
    def change(self) -> float | None:
        """Difference of log errors on the second half."""

    @property
    def change_half(self) -> float | None:
        """Half width of its interval."""

    @property
    def looks(self) -> int:
        """Number of calibrations that were scored on the second half."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes that come before the numbers."""

    @property
    def policy_name(self) -> str:
        """The policy that it began with."""


def report(answer: Answer) -> Iterator[str | RenderableType]:
    """Lines and a table, the most important first."""
    if answer.looks > 1:
        yield f"{answer.looks} calibrations of this journal were scored on the second half: the best is luck, too"
    yield from answer.notes
    if answer.settings:
        yield "found in the first half:"
        yield from (f"  {name}: {label}" for name, label in answer.settings.items())
    else:
        yield f"as it is: no setting makes {answer.policy_name} come nearer to the first half"
    made = len(answer.trials)
    yield f"{made:,} {'evaluation' if made == 1 else 'evaluations'}, {answer.refused:,} of them refused by a guard"
    yield _table(answer.scores)
    yield _verdict(answer)


def _table(scores: pl.DataFrame) -> RenderableType:
    numbers = ["1st half", "2nd half", "skill", "mean wait", "95 % wait", "in 10 min"]
    table = new_table("log error", numbers=numbers, title="Waits: fitted to the first half, tried on the second")
    wait = METRICS["mean_wait_s"]
    first = dict(scores.filter(half="first").select("rival", "log_error").iter_rows())
    for row in scores.filter(half="second").iter_rows(named=True):
        # The policy's name, which may be of any length, stands below the table.
        name = _AS_IT_IS if row["rival"].endswith(f", {_AS_IT_IS}") else _SHORT.get(row["rival"], row["rival"])
        early = first.get(row["rival"])
        errors = ("–" if early is None else f"{early:.3f}", f"{row['log_error']:.3f}")
        skill = "–" if row["skill_best"] is None else f"{row['skill_best']:.3f}"
        near = "–" if row["waited_within_10m"] is None else f"{row['waited_within_10m']:.1%}"
        table.add_row(name, *errors, skill, wait.text(row["mean_wait_s"]), wait.text(row["p95_wait_s"]), near)
    table.caption = (
        "log error: mean of |ln((wait + 60 s) / (observed wait + 60 s))|; skill: the part of it that is gone of the "
        "best rival that simulates nothing; skill, waits and shares are of the second half"
    )
    table.caption_justify = "left"
    return table


def _verdict(answer: Answer) -> str:
    change, half = answer.change, answer.change_half
    if change is None:
        return "no job of the second half counts"
    interval = "" if half is None else f" ± {half:.3f}"
    words: dict[bool, Any] = {True: "nearer to the log than", False: "no nearer to the log than"}
    is_certain = half is None or abs(change) > half
    said = words[change < 0] if is_certain or change >= 0 else "not certainly nearer to the log than"
    return f"on the second half it is {said} {answer.policy_name} as it is: log error {change:+.3f}{interval}"
