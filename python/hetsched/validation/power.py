"""Simulated power against a measured series, by hour."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults
from hetsched.validation.hours import hours_within
from hetsched.validation.scores import Score

Floats = npt.NDArray[np.float64]

HOLD_S = 900.0
"""A measured value holds until the next, for this long at most."""

_COVERED = 0.9
_DAY_S = 86_400.0


def hourly(measured: pl.DataFrame, timeline: pl.DataFrame, hour_s: float) -> pl.DataFrame:
    """Mean watts by hour over the part of it that was measured (rule 20): ``time_s, observed_w, simulated_w``."""
    times, watts = _checked(measured)
    ends = np.minimum(np.append(times[1:], np.inf), times + HOLD_S)
    hours = hours_within(times[0], ends[-1], hour_s)
    run, drawn = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
    hours = hours[(hours >= run[0]) & (hours + hour_s <= run[-1])]
    edges = np.append(hours, hours[-1] + hour_s) if len(hours) else hours
    # Pieces on which all hold still: the integral of a product of steps.
    cuts = np.unique(np.concatenate([times, ends, run, edges]))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])] if len(edges) else cuts[:0]
    begins, lengths = cuts[:-1], np.diff(cuts)
    place = np.searchsorted(times, begins, side="right") - 1
    is_covered = (place >= 0) & (begins < ends[np.maximum(place, 0)])
    covered = np.where(is_covered, lengths, 0.0)
    hour = np.searchsorted(hours, begins, side="right") - 1

    def total(values: Floats) -> Floats:
        return np.bincount(hour, weights=values, minlength=len(hours)).astype(np.float64) if len(hours) else hours

    span = total(covered)
    counts = span >= _COVERED * hour_s
    mean = np.where(counts, span, 1.0)
    observed = total(covered * watts[np.maximum(place, 0)]) / mean
    simulated = total(covered * drawn[np.searchsorted(run, begins, side="right") - 1]) / mean
    return pl.DataFrame({"time_s": hours, "observed_w": observed, "simulated_w": simulated}).filter(pl.Series(counts))


def _checked(measured: pl.DataFrame) -> tuple[Floats, Floats]:
    faults = Faults("power")
    missing = [name for name in ("time_s", "power_w") if name not in measured.columns]
    if missing:
        faults.note("columns", ", ".join(measured.columns) or "none", "time_s and power_w")
        faults.check()
    known = measured.select(pl.col("time_s", "power_w").cast(pl.Float64)).drop_nulls().sort("time_s")
    if known.is_empty():
        faults.note("rows", "none", "at least one measured value")
    faults.check()
    return known["time_s"].to_numpy(), known["power_w"].to_numpy()


def power_scores(hours: pl.DataFrame, hour_s: float) -> dict[str, Score]:
    """The scores of rule 21; None where nothing says."""
    observed, simulated = hours["observed_w"].to_numpy(), hours["simulated_w"].to_numpy()
    total = float(observed.sum())
    if not total:
        return dict.fromkeys(_NAMES)
    peak, mean = float(observed.max()), float(observed.mean())
    sorted_error = np.abs(np.sort(simulated) - np.sort(observed)).mean()
    scores = (
        _mape(observed, simulated),
        100 * (float(simulated.sum()) - total) / total,
        100 * (float(simulated.max()) - peak) / peak,
        100 * float(sorted_error) / mean,
        _mape(observed, np.full(len(observed), mean)),
        _persistence(hours, hour_s),
    )
    return dict(zip(_NAMES, scores, strict=True))


_NAMES = (
    "power_mape_percent",
    "energy_error_percent",
    "peak_error_percent",
    "load_duration_percent",
    "constant_mape_percent",
    "persistence_mape_percent",
)


def _mape(observed: Floats, predicted: Floats) -> float | None:
    drawn = observed > 0
    if not drawn.any():
        return None
    return 100 * float((np.abs(predicted - observed)[drawn] / observed[drawn]).mean())


def _persistence(hours: pl.DataFrame, hour_s: float) -> float | None:
    """The error of what was drawn a day before, over hours that have it."""
    place = (pl.col("time_s") / hour_s).round().cast(pl.Int64)
    day = round(_DAY_S / hour_s)
    now = hours.select(place.alias("place"), "observed_w")
    before = now.select(pl.col("place") + day, pl.col("observed_w").alias("before_w"))
    both = now.join(before, on="place")
    return _mape(both["observed_w"].to_numpy(), both["before_w"].to_numpy()) if len(both) else None
