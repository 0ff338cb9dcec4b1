"""One evaluation: a run of the first half with changes, and how far its waits are from the log's (rule 37)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.analysis.weeks import paired_weeks
from hetsched.calibration.halves import middle
from hetsched.errors import ConfigError
from hetsched.many.spec import read_platform, read_workload
from hetsched.policy import Policy
from hetsched.run.events import Events
from hetsched.validation.changes import changed
from hetsched.validation.hours import Spans, hours_within
from hetsched.validation.jobs import LONG_WAIT_S, WEEK_S, reason_left_out

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_HOUR_S = 3600.0
_MOST_UNSTARTED = 0.001


@dataclass(frozen=True)
class Goal:
    """The jobs that a run is fitted to, and the queue that there was."""

    submit_s: Floats
    wait_s: Floats
    """Observed waits, of jobs that had not started by the end: up to a second after it."""
    is_known: Bools
    is_fitted: Bools
    """Known jobs that are submitted after the warm-up and had started by the end."""
    week: npt.NDArray[np.int64]
    """Week of each fitted job, counted from the first."""
    middle_s: float
    hours: Floats

    @classmethod
    @functools.lru_cache(maxsize=2)
    def of(cls, path: str, name: str, from_s: float, until_s: float) -> Goal:
        """The goal of a first half, from its file."""
        jobs = read_workload(path, name).to_polars()
        submit_s, start_s = (jobs[column].to_numpy() for column in ("submit_s", "observed_start_s"))
        is_known = jobs.select(reason_left_out("runtime_s").is_null()).to_series().to_numpy()
        is_fitted = is_known & (submit_s >= from_s) & (start_s <= until_s)
        if is_fitted.sum() < 2:
            expected = "at least 2 that had started by its end"
            raise ConfigError([("workload", f"{is_fitted.sum()} jobs of the first half", expected)])
        hours = hours_within(from_s, until_s, _HOUR_S)
        week = np.floor(submit_s[is_fitted] / WEEK_S).astype(np.int64)
        week -= week.min()
        middle_s = middle(submit_s[is_fitted])
        return cls(submit_s, start_s - submit_s, is_known, is_fitted, week, middle_s, hours)

    def score(self, placed_s: Floats, is_unstarted: Bools, until_s: float) -> dict[str, Any]:
        """Numbers of a run whose jobs start at these instants."""
        own, late = self.is_fitted, self.submit_s > self.middle_s
        wait_s = placed_s - self.submit_s
        error = np.abs(np.log((wait_s[own] + LONG_WAIT_S) / (self.wait_s[own] + LONG_WAIT_S)))
        return {
            "log_error": float(error.mean()),
            "weeks": np.bincount(self.week, weights=error, minlength=int(self.week.max()) + 1).tolist(),
            "halves": [float(error[~late[own]].mean()), float(error[late[own]].mean()) if late[own].any() else 0.0],
            "jobs": int(own.sum()),
            "unstarted": int(is_unstarted[own].sum()),
            "mean_wait_s": float(wait_s[own].mean()),
            "most_queued": self._most_queued(placed_s),
            "queued_at_end": int((self.is_known & (placed_s > until_s)).sum()),
        }

    def is_certain(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        """True if the error of one run is less than of another by more than the half width of its interval over weeks.

        With fewer than four weeks, which give no interval, if it is less.
        """
        jobs = np.bincount(self.week)
        has_jobs = jobs > 0
        changes = np.subtract(after["weeks"], before["weeks"])[has_jobs]
        change, half = paired_weeks(changes, jobs[has_jobs], np.arange(len(changes)))
        return change is not None and change + (half or 0.0) < 0

    def observed(self, until_s: float) -> dict[str, Any]:
        """The same numbers of the log itself."""
        return self.score(self.submit_s + np.where(self.is_known, self.wait_s, 0.0), ~self.is_known, until_s)

    def _most_queued(self, placed_s: Floats) -> float:
        """The most jobs that waited in an hour, on average over it."""
        if not len(self.hours):
            return 0.0
        own = self.is_known
        queued = Spans(self.submit_s[own], placed_s[own], np.ones(int(own.sum())))
        return float(queued.means(self.hours, _HOUR_S).max())


@dataclass(frozen=True)
class Trial:
    """A run of the first half with changes. Made of plain values and files, for any process."""

    key: str
    names: Mapping[str, Any] = field(hash=False)
    """Values of the settings that are not off, by name."""
    changes: Mapping[str, Any] = field(hash=False)
    workload_file: str
    workload_name: str
    platform_file: str
    policy: Policy = field(hash=False)
    events: Events | None = field(hash=False)
    from_s: float
    until_s: float
    seed: int

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it reads."""
        return self.workload_file, self.platform_file

    def __str__(self) -> str:
        return ", ".join(f"{name}: {label}" for name, label in self.names.get("settings", {}).items()) or "as it is"

    def execute(self) -> dict[str, Any]:
        """The numbers of the run; ``impossible``, and why, if its changes do not go together."""
        goal = Goal.of(self.workload_file, self.workload_name, self.from_s, self.until_s)
        workload, platform = read_workload(self.workload_file, self.workload_name), read_platform(self.platform_file)
        try:
            run = changed(workload, platform, self.policy, self.changes, self.events).run(self.seed)
            result = run.execute()
        except ConfigError as error:
            return {"impossible": str(error)}
        jobs = result.jobs
        last_s = float(result.timeline["time_s"][-1])
        start_s = jobs["start_s"].to_numpy()
        is_unstarted = np.isnan(start_s)
        placed_s = np.where(is_unstarted, np.maximum(last_s, goal.submit_s), start_s)
        return goal.score(placed_s, is_unstarted, self.until_s)


def refusal(found: Mapping[str, Any], base: Mapping[str, Any], observed: Mapping[str, Any]) -> str | None:
    """The guard that a run breaks, and by how much; None if it breaks none (rule 37)."""
    if "impossible" in found:
        return str(found["impossible"])
    guards = (
        ("unstarted", max(_MOST_UNSTARTED * found["jobs"], base.get("unstarted", 0)), "jobs that never start"),
        ("mean_wait_s", 3 * observed["mean_wait_s"] + 3600, "s of mean wait"),
        ("most_queued", 3 * observed["most_queued"] + 100, "jobs queued in an hour"),
        ("queued_at_end", 2 * observed["queued_at_end"] + 50, "jobs queued at the end of the half"),
    )
    for name, most, words in guards:
        if found[name] > most:
            return f"{found[name]:,.10g} {words}, more than {most:,.10g}"
    return None
