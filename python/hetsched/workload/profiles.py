"""Measured draws in time: lists of mean watts by interval, one a job, as the engine takes them.

A value that is null, NaN or not above 0 is unknown, and that of the interval before it stands for it; of those at the
beginning the first that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.workload.convert import Origin
from hetsched.workload.schema import COLUMNS, MAX_SECONDS, SHORTEST_S

PROFILE, INTERVAL, MEAN = "power_profile", "power_profile_s", "power_w"

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Profiles:
    """All profiles of a workload, job after job; a job without watts has none.

    `offsets` say where each job's watts begin in `watts`, with one more; `interval_s` is NaN for jobs without.
    """

    watts: _Floats
    offsets: _Ints
    interval_s: _Floats

    @property
    def lengths(self) -> _Ints:
        """Number of intervals of each job."""
        return np.diff(self.offsets)

    def between(self, job: _Ints, from_s: _Floats, until_s: _Floats) -> _Floats:
        """Joules a node draws for jobs with a profile between two places in it each.

        What comes after its end is like its last interval.
        """
        return self._up_to(job, until_s) - self._up_to(job, from_s)

    def at(self, job: _Ints, place_s: _Floats) -> _Floats:
        """Watts a node draws for jobs with a profile at a place in it each."""
        interval = np.clip(np.floor(place_s / self.interval_s[job]), 0, self.lengths[job] - 1).astype(np.int64)
        found: _Floats = self.watts[self.offsets[job] + interval]
        return found

    def _up_to(self, job: _Ints, place_s: _Floats) -> _Floats:
        """Joules from the beginning on: whole intervals by their running sum, and a part of one."""
        each_s = self.interval_s[job]
        whole = np.clip(np.floor(place_s / each_s), 0, self.lengths[job] - 1).astype(np.int64)
        first = self.offsets[job]
        sums = np.concatenate([[0.0], np.cumsum(self.watts)])
        found: _Floats = (sums[first + whole] - sums[first]) * each_s
        found += self.watts[first + whole] * (place_s - whole * each_s)
        return found

    def mean_w(self, run_s: _Floats) -> _Floats:
        """Mean watts a node over runs of so many seconds; NaN of jobs without a profile, the first watts of no time."""
        job = np.flatnonzero(self.lengths)
        own_s, mean = run_s[job], np.full(len(self.lengths), np.nan)
        joules = self.between(job, np.zeros(len(job)), own_s)
        mean[job] = np.where(own_s > 0, joules / np.where(own_s > 0, own_s, 1.0), self.watts[self.offsets[job]])
        return mean


def profiles_of(frame: pl.DataFrame) -> Profiles | None:
    """The profiles of a job table; None if no job has one.

    Intervals without a length share the run out evenly.
    """
    if PROFILE not in frame.columns or frame[PROFILE].null_count() == len(frame):
        return None
    known = frame[PROFILE].list.eval(_known(pl.element())).list.drop_nulls()
    lengths = known.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    watts = known.explode(empty_as_null=False, keep_nulls=False).to_numpy()
    if not len(watts):
        return None
    even_s = frame["runtime_s"].to_numpy() / np.maximum(lengths, 1)
    given_s = frame[INTERVAL].to_numpy() if INTERVAL in frame.columns else np.full(len(frame), np.nan)
    interval_s = np.where(np.isnan(given_s), np.maximum(even_s, SHORTEST_S), given_s)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Profiles(watts.astype(np.float64), offsets, np.where(lengths > 0, interval_s, np.nan))


def _known(watts: pl.Expr) -> pl.Expr:
    """Unknown values filled from the interval before; those at the beginning from the first that is known."""
    watts = watts.fill_nan(None)
    return pl.when(watts > 0).then(watts).forward_fill().backward_fill()


def engine_profiles(frame: pl.DataFrame) -> dict[str, Any]:
    """The same as keywords of the engine's columns."""
    found = profiles_of(frame)
    if found is None:
        return {}
    return {PROFILE: found.watts, f"{PROFILE}_offsets": found.offsets, INTERVAL: found.interval_s}


def refuse_profiles(known: dict[str, pl.Series], origin: Origin) -> None:
    """Raise at the first profile with an invalid draw, or that is too long."""
    profile, column = known.get(PROFILE), COLUMNS[PROFILE]
    if profile is None or profile.null_count() == len(profile):
        return
    is_wrong = (pl.element().fill_nan(None) > column.high).any()
    shown = profile.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("null")).list.join(" ")
    origin.refuse(shown, profile.list.eval(is_wrong).list.first().fill_null(value=False), column.expected)
    if (interval_s := known.get(INTERVAL)) is not None:
        too_long = profile.list.len() * interval_s > MAX_SECONDS
        origin.refuse(interval_s, too_long, f"seconds, so that the profile is no longer than {MAX_SECONDS:g} s")


def with_mean_draws(known: dict[str, pl.Series]) -> dict[str, pl.Series]:
    """The columns with ``power_w`` where a job brings a profile and no mean: the mean over its run."""
    profiles = profiles_of(pl.DataFrame(known)) if PROFILE in known else None
    if profiles is None:
        return known
    run_s = known["runtime_s"].to_numpy()
    if "comm_s" in known:
        run_s = run_s + known["comm_s"].fill_null(0.0).to_numpy()
    mean = pl.Series(MEAN, profiles.mean_w(run_s)).fill_nan(None)
    given = known.get(MEAN, pl.Series(MEAN, [None] * len(mean), dtype=pl.Float64))
    both = pl.select(pl.when((given > 0) | mean.is_null()).then(given).otherwise(mean).alias(MEAN)).to_series()
    every = {**known, MEAN: both}
    return {name: every[name] for name in COLUMNS if name in every}
