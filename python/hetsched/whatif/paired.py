"""A run next to today's, job by job and week by week: the part of it that a table of settings needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.weeks import Resampled, bootstrap, paired_weeks
from hetsched.checks import reason_of
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE, write_whole
from hetsched.many.carried import content_of
from hetsched.run.result import Result

Floats = npt.NDArray[np.float64]

WEEK_S = 604_800.0
MEANS = {"mean_wait_s": "wait_s", "mean_turnaround_s": "turnaround_s", "mean_bounded_slowdown": "bounded_slowdown"}
"""Metrics that are means over jobs, and the columns that they are of."""
QUANTILES = {"median_wait_s": 0.5, "p95_wait_s": 0.95}
"""Metrics that are quantiles of waits."""

_COLUMNS = ("submit_s", *MEANS.values())


@dataclass(frozen=True)
class Change:
    """A metric's change against today, with its 95 % interval; the ratio is to today's value.

    None: not known, or too few weeks.
    """

    change: float | None
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    @property
    def certain(self) -> bool | None:
        """True if the interval is without 0."""
        return None if self.low is None or self.high is None else self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Jobs:
    """Times of the jobs of a run, NaN where there are none, and the weeks of their submits."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, result: Result) -> Jobs:
        """Those of a result."""
        return cls(result.jobs.select(_COLUMNS))

    @classmethod
    def read(cls, path: str) -> Jobs:
        """Those that `write` wrote."""
        try:
            return cls(pl.read_ipc(content_of(path)).rechunk())
        except UNREADABLE as error:
            raise TraceError(file=path, found=reason_of(error), expected="jobs of the run that is today's") from None

    def write(self, path: Path) -> None:
        """Write them to a file."""
        write_whole(path, lambda temporary: self.frame.write_ipc(temporary, compression="uncompressed"))

    @cached_property
    def weeks(self) -> npt.NDArray[np.int64]:
        """The week of each job's submit."""
        return np.floor(self.frame["submit_s"].to_numpy() / WEEK_S).astype(np.int64)

    def values(self, column: str) -> Floats:
        """A column."""
        return self.frame[column].fill_null(np.nan).to_numpy()

    @cached_property
    def resampled(self) -> Resampled:
        """All waits, for bootstraps; of a run whose jobs have all started."""
        return Resampled(self.values("wait_s"), self.weeks)

    def changes_from(self, today: Jobs) -> dict[str, Change]:
        """Changes of all metrics of jobs, over those that have the value in both runs."""
        means = {metric: self._mean(column, today) for metric, column in MEANS.items()}
        return {**means, **self._quantiles(today)}

    def _mean(self, column: str, today: Jobs) -> Change:
        own, base = self.values(column), today.values(column)
        both = ~(np.isnan(own) | np.isnan(base))
        x, y, weeks = own[both] - base[both], base[both], self.weeks[both]
        change, half = paired_weeks(x, np.ones_like(x), weeks)
        ratio, ratio_half = paired_weeks(x, y, weeks)
        return Change(change, *_ends(change, half), ratio, *_ends(ratio, ratio_half))

    def _quantiles(self, today: Jobs) -> dict[str, Change]:
        own, base = self.values("wait_s"), today.values("wait_s")
        both = ~(np.isnan(own) | np.isnan(base))
        if not both.any():
            return dict.fromkeys(QUANTILES, Change(None))
        # Today's are sorted and drawn once for all rows, as long as no job is left out.
        first, second = (
            (today.resampled, self.resampled)
            if both.all()
            else (Resampled(base[both], self.weeks[both]), Resampled(own[both], self.weeks[both]))
        )
        found = {}
        for metric, quantile in QUANTILES.items():
            value = first.quantile(quantile)
            change, low, high = bootstrap(first, second, quantile)
            shares = (None if end is None or not value else end / value for end in (change, low, high))
            found[metric] = Change(change, low, high, *shares)
        return found


def _ends(middle: float | None, half: float | None) -> tuple[float | None, float | None]:
    return (None, None) if middle is None or half is None else (middle - half, middle + half)


@lru_cache(maxsize=1)
def jobs_at(path: str) -> Jobs:
    """Today's jobs, held for the next row."""
    return Jobs.read(path)


@dataclass(frozen=True)
class Energies:
    """Energy of a run by week of the log's clock, from `first_s` on to `last_s`, and the watts that it ends with."""

    first_s: float
    last_s: float
    last_w: float
    weeks_j: Sequence[float]

    @classmethod
    def of(cls, timeline: pl.DataFrame) -> Energies:
        """Those of a timeline."""
        times, watts = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
        if not len(times):
            return cls(0.0, 0.0, 0.0, [])
        return cls(float(times[0]), float(times[-1]), float(watts[-1]), _by_week(times, watts[:-1]).tolist())

    def until(self, last_s: float) -> Floats:
        """Energy of every week up to an instant at or after the end: the last watts hold on."""
        held = _by_week(np.array([self.last_s, last_s]), np.array([self.last_w]))
        found = np.zeros(_week(last_s, is_end=True) - _week(self.first_s) + 1)
        found[: len(self.weeks_j)] += self.weeks_j
        if len(held):
            found[len(found) - len(held) :] += held
        return found


def _week(time_s: float, *, is_end: bool = False) -> int:
    """The week of an instant; an end at the first instant of a week is the week's before."""
    week = int(np.floor(time_s / WEEK_S))
    return week - 1 if is_end and week * WEEK_S == time_s else week


def _by_week(times: Floats, watts: Floats) -> Floats:
    """Joules of each week from that of the first instant to that of the last; none of no time."""
    if len(times) < 2 or times[-1] <= times[0]:
        return np.zeros(0)
    first = _week(times[0])
    edges = np.arange(first + 1, _week(times[-1], is_end=True) + 1) * WEEK_S
    cuts = np.union1d(times, edges)
    held = watts[np.searchsorted(times, cuts[:-1], side="right") - 1]
    weeks = np.floor(cuts[:-1] / WEEK_S).astype(np.int64) - first
    return np.bincount(weeks, weights=held * np.diff(cuts), minlength=len(edges) + 1).astype(np.float64)


def energy_changes(runs: Sequence[Energies], today: Energies) -> list[Change]:
    """Changes of energy, over one window for all: from the first submit to the last end of any."""
    last_s = max(one.last_s for one in runs)
    base = today.until(last_s)
    weeks = np.arange(len(base))
    found = []
    for one in runs:
        x = one.until(last_s) - base
        ratio, half = paired_weeks(x, base, weeks)
        ends = _ends(ratio, half)
        total = float(base.sum())
        low, high = (None if end is None else end * total for end in ends)
        found.append(Change(float(x.sum()), low, high, ratio, *ends))
    return found


def answer_of(result: Result, today: Jobs) -> dict[str, Any]:
    """The part of a result that a row needs, as JSON holds it."""
    jobs = Jobs.of(result)
    return {
        "summary": result.summary(),
        "unstarted": int(result.jobs["start_s"].null_count()),
        "changes": {metric: asdict(one) for metric, one in jobs.changes_from(today).items()},
        "energies": asdict(Energies.of(result.timeline)),
    }


@dataclass(frozen=True)
class Answer:
    """The same, read back."""

    summary: Mapping[str, Any]
    unstarted: int
    changes: Mapping[str, Change]
    energies: Energies

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Answer:
        """Out of what `answer_of` gave; raises TypeError, KeyError or ValueError if it did not."""
        summary = dict(content["summary"])
        if any(isinstance(value, bool) or not isinstance(value, int | float | None) for value in summary.values()):
            raise ValueError("a metric that is no number")
        return cls(
            summary=summary,
            unstarted=int(content["unstarted"]),
            changes={metric: Change(**one) for metric, one in content["changes"].items()},
            energies=Energies(**content["energies"]),
        )
