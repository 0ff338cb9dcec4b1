"""Scores of simulated waits against observed ones, next to those of rivals that simulate nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.weeks import paired_weeks
from hetsched.power.ranks import rank_correlation
from hetsched.validation.jobs import LONG_WAIT_S

Score = float | int | bool | None
Floats = npt.NDArray[np.float64]

CLASSES = (
    "< -1 d",
    "-1 d to -12 h",
    "-12 h to -1 h",
    "-1 h to -10 min",
    "-10 min to -1 min",
    "-1 min to -0.5 s",
    "0",
    "0.5 s to 1 min",
    "1 min to 10 min",
    "10 min to 1 h",
    "1 h to 12 h",
    "12 h to 1 d",
    "> 1 d",
)
"""Classes of how much later a job started in reality than in the simulation."""

_EDGES_S = (60.0, 600.0, 3600.0, 43_200.0, 86_400.0)
_WITHIN = {"1m": 60.0, "10m": 600.0, "1h": 3600.0}
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


def with_errors(counted: pl.DataFrame, past: pl.DataFrame) -> pl.DataFrame:
    """The jobs with the naive prediction ``naive_s`` and the absolute errors of logarithms of rules 6 to 8."""

    def error(name: str) -> pl.Expr:
        return ((pl.col(name) + LONG_WAIT_S) / (pl.col("observed_s") + LONG_WAIT_S)).log().abs()

    frame = counted.with_columns(past["mean_s"].alias("naive_s"), past["median_s"].alias("naive_median_s"))
    return frame.with_columns(
        error("simulated_s").alias("log_error"),
        ((pl.col("observed_s") + LONG_WAIT_S) / LONG_WAIT_S).log().alias("null_log_error"),
        error("naive_s").alias("naive_log_error"),
        error("naive_median_s").alias("naive_median_log_error"),
    )


def wait_scores(jobs: pl.DataFrame) -> dict[str, Score]:
    """The scores of rules 6 to 13 and 18, of jobs `with_errors`."""
    errors = {name: float(jobs[name].mean()) for name in _ERRORS}  # type: ignore[arg-type]
    return {
        **errors,
        **skills(errors),
        **_halves(jobs),
        **_shares(jobs),
        **_distribution(jobs["observed_s"].to_numpy(), jobs["simulated_s"].to_numpy()),
    }


_ERRORS = ("log_error", "null_log_error", "naive_log_error", "naive_median_log_error")


def skills(errors: Mapping[str, float]) -> dict[str, Score]:
    """Parts of the rivals' errors that are gone; None if one has none."""
    own, null, naive, median = (errors[name] for name in _ERRORS)
    return {
        "skill_null": skill(own, null),
        "skill_naive": skill(own, naive),
        "skill_best": skill(own, min(null, naive, median)),
    }


def skill(error: float, rival: float) -> float | None:
    """The part of a rival's error that is gone."""
    return 1.0 - error / rival if rival else None


def _halves(jobs: pl.DataFrame) -> dict[str, Score]:
    own, null, naive = (jobs[name].to_numpy() for name in _ERRORS[:3])
    rivals = {"log_error_half": np.ones(len(own)), "skill_null_half": null, "skill_naive_half": naive}
    return {name: paired_weeks(own, rival, jobs["week"].to_numpy())[1] for name, rival in rivals.items()}


def _shares(jobs: pl.DataFrame) -> dict[str, Score]:
    """Shares of jobs that start within a minute, ten, an hour of their time, of all and of those that waited."""
    found: dict[str, Score] = {}
    observed, late = pl.col("observed_s"), pl.col("simulated_s") - pl.col("observed_s")
    for waited, frame in (("", jobs), ("waited_", jobs.filter(observed > LONG_WAIT_S))):
        for null, difference in (("", late), ("null_", -observed)):
            for name, most_s in _WITHIN.items():
                share = frame.select((difference.abs() <= most_s).mean()).item()
                found[f"{null}{waited}within_{name}"] = share
    return found


def _distribution(observed: Floats, simulated: Floats) -> dict[str, Score]:
    """Means, medians and distances of the distributions of waits."""
    late = simulated - observed
    log_observed, log_simulated = np.log(observed + LONG_WAIT_S), np.log(simulated + LONG_WAIT_S)
    return {
        "mean_observed_s": float(observed.mean()),
        "mean_simulated_s": float(simulated.mean()),
        "bias_s": float(late.mean()),
        "median_error_s": float(np.median(late)),
        "log_bias": float((log_simulated - log_observed).mean()),
        "ks": kolmogorov_smirnov(observed, simulated),
        "wasserstein_s": float(np.abs(np.sort(observed) - np.sort(simulated)).mean()),
        "wasserstein_log": float(np.abs(np.sort(log_observed) - np.sort(log_simulated)).mean()),
        "spearman": rank_correlation(observed, simulated),
    }


def kolmogorov_smirnov(one: Floats, other: Floats) -> float:
    """The largest distance of two empirical distributions."""
    both = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(values), both, side="right") / len(values) for values in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def histogram(jobs: pl.DataFrame) -> pl.DataFrame:
    """Jobs by how much later they started in reality (rule 10): ``class, jobs, ratio, null_jobs, null_ratio``."""
    own = _counts((jobs["observed_s"] - jobs["simulated_s"]).to_numpy())
    null = _counts(jobs["observed_s"].to_numpy())
    total = len(jobs)
    return pl.DataFrame(
        {"class": CLASSES, "jobs": own, "ratio": own / total, "null_jobs": null, "null_ratio": null / total}
    )


def _counts(early_s: Floats) -> npt.NDArray[np.int64]:
    """Numbers of jobs by class: intervals open towards zero below it, and away from it above."""
    middle = np.abs(early_s) < 0.5
    below = np.searchsorted([-edge for edge in reversed(_EDGES_S)], early_s, side="right")
    above = len(CLASSES) // 2 + 1 + np.searchsorted(_EDGES_S, early_s, side="left")
    places = np.where(middle, len(CLASSES) // 2, np.where(early_s < 0, below, above))
    return np.bincount(places, minlength=len(CLASSES))


def quantiles(jobs: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of waits: ``quantile, observed_s, simulated_s, naive_s``."""
    names = ("observed_s", "simulated_s", "naive_s")
    return pl.DataFrame(
        {"quantile": _QUANTILES} | {name: np.quantile(jobs[name].to_numpy(), _QUANTILES) for name in names}
    )
