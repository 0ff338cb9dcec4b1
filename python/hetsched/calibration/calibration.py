"""`Calibration`: settings that a first half of a log was fitted by, and what they are worth on the second."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import many
from hetsched.files import write_files
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.events import Events
from hetsched.validation.run_files import EVENTS, run_files
from hetsched.workload import Workload


@named_in("hetsched")
@dataclass(frozen=True, repr=False)
class Calibration:
    """Settings found in the first half of a log, with scores of both halves. Made by `hetsched.calibrate`.

    Parameters
    ----------
    settings
        Values of the settings that are not off, by name; none: as it is.
    scores
        A row a half and rival: ``half`` (``first, second``) ``, rival, log_error, skill_null, skill_best,
        skill_best_half`` (half width of its 95 % interval over weeks) ``, mean_wait_s, p95_wait_s, waited_within_1m,
        waited_within_10m, waited_within_1h`` (shares of the jobs that waited) ``, unstarted``. The first half is scored
        as it was known at its end.
    trials
        A row an evaluation, in order: ``settings, log_error, log_error_early, log_error_late`` (of the halves of the
        first half) ``, unstarted, mean_wait_s, most_queued, queued_at_end, is_step, refused`` (why; null: it was not).
    steps
        The settings after each step, the first with all off.
    change, change_half
        Log error of the second half minus that of the policy as it is, paired by job, and the half width of its 95 %
        interval over weeks.
    guards
        Numbers of the second half that guards are about, simulated and observed.
    cut_s
        The last submit of the first half, seconds on the log's clock.
    looks
        How many different calibrations with this journal were scored on the second half.
    notes
        Remarks that a reader needs before the numbers.
    policy_name
        The policy that it began with.
    workload, platform, policy, events
        A run with these settings: ``simulate(workload, platform, policy, events=events, kill_at_walltime=False)``.
    """

    settings: Mapping[str, str]
    scores: pl.DataFrame
    trials: pl.DataFrame
    steps: tuple[Mapping[str, str], ...]
    change: float | None
    change_half: float | None
    guards: Mapping[str, Any]
    cut_s: float
    looks: int
    notes: tuple[str, ...]
    policy_name: str
    workload: Workload
    platform: Platform
    policy: Policy
    events: Events | None

    def score(self, rival: str, name: str = "log_error", *, half: str = "second") -> float | None:
        """A number of the table of scores."""
        row = self.scores.filter((pl.col("half") == half) & (pl.col("rival") == rival))
        found: float | None = row[name].item()
        return found

    @property
    def refused(self) -> int:
        """Number of evaluations that a guard refused."""
        return self.trials["refused"].count()

    def to_dict(self) -> dict[str, Any]:
        """Values as JSON holds them: ``summary`` (the settings and what they change) ``, scores, trials, notes, …``."""
        return {
            "summary": {
                "settings": dict(self.settings),
                "log_error": self.score("calibrated"),
                "as_it_is_log_error": self.score(f"{self.policy_name}, as it is"),
                "change": self.change,
                "change_half": self.change_half,
                "evaluations": len(self.trials),
                "refused": self.refused,
                "looks": self.looks,
                "cut_s": self.cut_s,
            },
            "scores": self.scores.to_dicts(),
            "steps": [dict(step) for step in self.steps],
            "guards": dict(self.guards),
            "trials": self.trials.to_dicts(),
            "notes": list(self.notes),
        }

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write what the next command takes, and the tables; gives the names of the files.

        ``platform.toml, policy.toml``, ``trace.parquet`` (the log, with the columns that settings change), and
        ``events.csv`` if there are events; ``calibration.json, scores.csv, trials.csv``.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        files = {
            **run_files(self.workload, self.platform, self.policy),
            "calibration.json": (json.dumps(self.to_dict(), indent=2) + "\n").encode(),
            "scores.csv": self.scores.write_csv().encode(),
            "trials.csv": self.trials.write_csv().encode(),
        }
        written = write_files(folder, files)
        if self.events is not None:
            written.append(str(Path(folder) / EVENTS))
            self.events.write(written[-1])
        return written

    def _repr_html_(self) -> str:
        second = self.scores.filter(half="second").drop("half")
        return card(repr(self).strip("<>"), None, second._repr_html_(), notes=self.notes)

    def __repr__(self) -> str:
        found = ", ".join(f"{name}: {label}" for name, label in self.settings.items()) or "as it is"
        return f"<Calibration: {found}; {many(len(self.trials), 'evaluation')}>"
