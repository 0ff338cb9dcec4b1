"""Scores by how far ahead a simulation looks (rules 42 and 43)."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError
from hetsched.run.restarts import Restarts
from hetsched.validation.hours import hour_scores
from hetsched.validation.jobs import LONG_WAIT_S, Judged
from hetsched.validation.restarts import restarted
from hetsched.validation.scores import Score, wait_scores, with_errors

Horizons = Sequence[float | None]

_SHORTEST_S, _LONGEST_S = 1.0, 1e9
_NAMES = (
    *("restarts", "jobs", "waited", "unstarted", "overfull", "log_error", "log_error_half", "null_log_error"),
    *("naive_log_error", "naive_median_log_error", "skill_null", "skill_naive", "skill_naive_half", "skill_best"),
    *("median_error_s", "waited_within_10m", "null_waited_within_10m"),
)
_WHOLE = ("restarts", "jobs", "waited", "unstarted", "overfull")
_SCHEMA: dict[str, Any] = {"horizon_s": pl.Float64} | {
    name: pl.Int64 if name in _WHOLE else pl.Float64 for name in _NAMES
}


def checked_horizons(given: Any, faults: Faults) -> list[float | None]:
    """Horizons as a list, each a number of seconds or None, the open loop; notes what is neither."""
    values = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not values:
        faults.note("horizon_s", shown(given), "seconds, or None for the open loop: one value or several")
    for value in values:
        if value is not None:
            faults.number("horizon_s", value, low=_SHORTEST_S, high=_LONGEST_S)
    found = [float(value) if isinstance(value, numbers.Real) else None for value in values]
    if len(set(found)) < len(found):
        faults.note("horizon_s", shown(given), "each value once")
    return found


@dataclass(frozen=True)
class Ahead:
    """Jobs of restarts and their scores."""

    jobs: pl.DataFrame
    scores: dict[str, Score]


def looking_ahead(
    restarts: Restarts, judged: Judged, jobs: pl.DataFrame, horizon_s: float, tell: Callable[[int, int], object]
) -> Ahead:
    """Scores of restarts every `horizon_s`.

    Parameters
    ----------
    restarts
        The machine and its policy.
    judged
        The known jobs, and the window of those that count.
    jobs
        The jobs that count, with the naive predictions.
    horizon_s
        Seconds between two restarts.
    tell
        Called with (restarts done, restarts in all).
    """
    asked = judged.known["submit_s"].is_between(judged.from_s, judged.until_s).to_numpy()
    found = restarted(restarts, judged.known, asked, horizon_s, tell)
    if not found.restarts:
        expected = "at least one: the first restart is at the first submit"
        raise ConfigError([("horizon_s", "no job that counts after the first submit", expected)])
    past = jobs.select(pl.col("naive_s").alias("mean_s"), pl.col("naive_median_s").alias("median_s"))
    is_scored = found.is_scored[asked]
    own = with_errors(found.known.filter(pl.Series(found.is_scored)), past.filter(pl.Series(is_scored)))
    outside = judged.left_out["outside_window"] + int(np.count_nonzero(~is_scored))
    scores: dict[str, Score] = {
        "jobs": len(own),
        "waited": int((own["observed_s"] > LONG_WAIT_S).sum()),
        **judged.left_out,
        "outside_window": outside,
        "unstarted": own["start_s"].null_count(),
        "sees_observed": True,
        "restarts": found.restarts,
        "overfull": found.overfull,
        **wait_scores(own),
        **hour_scores(pl.DataFrame(), 1),
    }
    return Ahead(own, scores)


def table(scores: Mapping[float | None, Mapping[str, Score]]) -> pl.DataFrame:
    """A row a horizon: ``horizon_s`` (null: the open loop) and scores; null where one means nothing."""
    rows = [{"horizon_s": horizon_s} | {name: own.get(name) for name in _NAMES} for horizon_s, own in scores.items()]
    return pl.DataFrame(rows, schema=_SCHEMA)
