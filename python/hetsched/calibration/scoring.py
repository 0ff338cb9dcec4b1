"""Scores of both halves of a log, side by side (rule 40)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis.weeks import paired_weeks
from hetsched.run.result import Result
from hetsched.validation.hours import Spans, hours_within
from hetsched.validation.jobs import LONG_WAIT_S, Judged
from hetsched.validation.naive import past_waits
from hetsched.validation.scores import with_errors
from hetsched.workload import Workload

_HOUR_S = 3600.0
_RIVALS = {"null_log_error": "every job at once", "naive_log_error": "mean wait of the week before"}
_RIVALS["naive_median_log_error"] = "median wait of the week before"
_WAITS = {"naive_log_error": "naive_s", "naive_median_log_error": "naive_median_s"}
_NEAR_S = (60.0, 600.0, 3600.0)

SCHEMA = {
    "half": pl.String,
    "rival": pl.String,
    "log_error": pl.Float64,
    "skill_null": pl.Float64,
    "skill_best": pl.Float64,
    "skill_best_half": pl.Float64,
    "mean_wait_s": pl.Float64,
    "p95_wait_s": pl.Float64,
    "waited_within_1m": pl.Float64,
    "waited_within_10m": pl.Float64,
    "waited_within_1h": pl.Float64,
    "unstarted": pl.Int64,
}


@dataclass(frozen=True)
class Half:
    """Jobs of one half of a log, as a run has them."""

    name: str
    known: pl.DataFrame
    counted: pl.DataFrame
    """Those that count, with errors."""
    from_s: float
    until_s: float

    @classmethod
    def of(cls, name: str, result: Result, log: Workload, span: tuple[float, float], *, is_first: bool) -> Half:
        """The first half: jobs of a span, both ends in it, that had started by its end; the second: after its begin."""
        known = Judged.of(result, warmup_s=0.0, cooldown_s=0.0).known.drop("queue")
        queues = pl.col("queue").cast(pl.String) if "queue" in log.columns else pl.lit(None, pl.String).alias("queue")
        known = known.join(log.to_polars().select("job_id", queues), on="job_id", how="left", maintain_order="left")
        submit, (from_s, until_s) = pl.col("submit_s"), span
        if is_first:
            started = known.filter(pl.col("observed_start_s") <= until_s)
            counted = started.filter(submit.is_between(from_s, until_s))
        else:
            started = known
            counted = known.filter((submit > from_s) & (submit <= until_s))
        return cls(name, known, with_errors(counted, past_waits(started, counted)), from_s, until_s)

    def row(self, rival: str, error: str = "log_error", wait: str | None = "simulated_s") -> dict[str, Any]:
        """A row of the table: of the run, or of a rival by its column of errors and its waits (None: no wait)."""
        jobs = self.counted
        best = min(_RIVALS, key=lambda name: float(jobs[name].mean()))  # type: ignore[arg-type]
        ratio, half = paired_weeks(jobs[error], jobs[best], jobs["week"])
        null = float(jobs["null_log_error"].mean())  # type: ignore[arg-type]
        own = float(jobs[error].mean())  # type: ignore[arg-type]
        wait_s = np.zeros(len(jobs)) if wait is None else jobs[wait].to_numpy()
        observed_s = jobs["observed_s"].to_numpy()
        waited = observed_s > LONG_WAIT_S
        late = np.abs(wait_s - observed_s)[waited]
        near = [float((late <= most_s).mean()) if len(late) else None for most_s in _NEAR_S]
        unstarted = jobs["start_s"].null_count() if wait == "simulated_s" else 0
        skill_null = 1 - own / null if null else None
        skill_best = None if ratio is None else 1 - ratio
        waits = (float(wait_s.mean()), float(np.quantile(wait_s, 0.95)))
        values = (self.name, rival, own, skill_null, skill_best, half, *waits, *near, unstarted)
        return dict(zip(SCHEMA, values, strict=True))

    def rivals(self) -> list[dict[str, Any]]:
        """Rows of the rivals that simulate nothing, and of the log itself."""
        jobs = self.counted.with_columns(pl.lit(0.0).alias("no_error"))
        log = Half(self.name, self.known, jobs, self.from_s, self.until_s).row(
            "the log itself", "no_error", "observed_s"
        )
        return [*(self.row(title, name, _WAITS.get(name)) for name, title in _RIVALS.items()), log]

    def guards(self) -> dict[str, Any]:
        """The numbers that guards are about, simulated and observed."""
        jobs, known = self.counted, self.known
        hours = hours_within(self.from_s, self.until_s, _HOUR_S)
        found: dict[str, Any] = {"unstarted": jobs["start_s"].null_count()}
        for side, wait, placed in (
            ("simulated", "simulated_s", "placed_s"),
            ("observed", "observed_s", "observed_start_s"),
        ):
            begins, ends = known["submit_s"].to_numpy(), known[placed].to_numpy()
            queued = Spans(begins, np.maximum(begins, ends), np.ones(len(known)))
            is_queued = (begins <= self.until_s) & (ends > self.until_s)
            found[f"mean_wait_{side}_s"] = float(jobs[wait].mean())  # type: ignore[arg-type]
            found[f"most_queued_{side}"] = float(queued.means(hours, _HOUR_S).max()) if len(hours) else 0.0
            found[f"queued_at_end_{side}"] = int(is_queued.sum())
        return found


def difference(ours: Half, base: Half) -> tuple[float | None, float | None]:
    """The difference of two runs' log errors on the same jobs, and the half width of its interval over weeks."""
    one, other = ours.counted, base.counted
    return paired_weeks(one["log_error"] - other["log_error"], np.ones(len(one)), one["week"])


def broken(guards: Mapping[str, Any], jobs: int, base_unstarted: int) -> list[str]:
    """The guards that a half breaks; on the second half they are said, and decide nothing."""
    limits = {
        "jobs that never start": (guards["unstarted"], max(0.001 * jobs, base_unstarted)),
        "mean wait": (guards["mean_wait_simulated_s"], 3 * guards["mean_wait_observed_s"] + 3600),
        "jobs queued in an hour": (guards["most_queued_simulated"], 3 * guards["most_queued_observed"] + 100),
        "jobs queued at its end": (guards["queued_at_end_simulated"], 2 * guards["queued_at_end_observed"] + 50),
    }
    return [name for name, (value, most) in limits.items() if value > most]
