"""Waits in runs that begin again and again from the state that the log observed (rules 42 and 43)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.run.restarts import Restarts
from hetsched.units import TICKS_S, micros
from hetsched.validation.jobs import observed_ends, reason_left_out

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONGEST_S = 30 * 86_400.0
"""A job that has not started so long after the last submit of its run is unstarted."""

_CLEARED = ("depends_on", "depends_how", "think_s")


@dataclass(frozen=True)
class Observed:
    """Jobs as a log has them, in microseconds; a row a job, in order of submit."""

    jobs: pl.DataFrame
    known: Ints
    """Rows of the known jobs (rule 1)."""
    submit: Ints
    """Submits of all jobs."""
    start: Ints
    """Starts of known jobs, as `end` has their ends."""
    end: Ints

    @classmethod
    def of(cls, jobs: pl.DataFrame) -> Observed:
        """The state of a log at any instant."""
        is_known = jobs.select(reason_left_out("runtime_s").is_null()).to_series()
        known = jobs.filter(is_known)
        ended = known.select(observed_ends(known.columns, "runtime_s").alias("end")).to_series()
        start = micros(known["observed_start_s"])
        return cls(
            jobs, is_known.arg_true().to_numpy().astype(np.int64), micros(jobs["submit_s"]), start, micros(ended)
        )

    def at(self, instant: int, until: int) -> State:
        """Jobs that ran and waited at an instant, and those submitted after it until another one."""
        submitted = self.submit[self.known] <= instant
        running = self.known[submitted & (self.start <= instant) & (self.end > instant)]
        waiting = self.known[submitted & (self.start > instant)]
        first, last = np.searchsorted(self.submit, [instant, until], side="right")
        rows = np.sort(np.concatenate([running, waiting, np.arange(first, last)]))
        return State(self, instant, rows, np.isin(rows, running, assume_unique=True))

    @cached_property
    def places(self) -> Ints:
        """Each row's place among the known ones; any of the others."""
        places = np.zeros(len(self.jobs), np.int64)
        places[self.known] = np.arange(len(self.known))
        return places


@dataclass(frozen=True)
class State:
    """Jobs of a run that begins at an instant."""

    log: Observed
    instant: int
    rows: Ints
    is_running: Bools

    def starts(self, restarts: Restarts, until_s: float) -> Ints:
        """Start of each, in microseconds; -1: none."""
        places = self.log.places[self.rows]
        start, end = (
            np.where(self.is_running, instants[places] / TICKS_S, np.nan) for instants in (self.log.start, self.log.end)
        )
        jobs = _rows_of(self.log.jobs, self.rows).with_columns(pl.Series("observed_start_s", start))
        if "observed_nodes" in jobs.columns:
            running = pl.Series(self.is_running)
            jobs = jobs.with_columns(pl.when(running).then(pl.col("observed_nodes")))
        found = restarts.starts(jobs, end, from_s=self.instant / TICKS_S, until_s=until_s)
        return micros(pl.Series(found, nan_to_null=True))


def _rows_of(jobs: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Some jobs; what waits for one of the others, which has ended or is unknown, waits for none."""
    own = jobs[rows]
    if "depends_on" not in own.columns or own["depends_on"].null_count() == len(own):
        return own
    is_there = pl.col("depends_on").is_in(own["job_id"].implode())
    return own.with_columns(pl.when(is_there).then(pl.col(name)) for name in _CLEARED if name in own.columns)


@dataclass(frozen=True)
class Restarted:
    """Starts of jobs in the restarts after which they were submitted."""

    known: pl.DataFrame
    """The known jobs with ``start_s, end_s, placed_s, simulated_s`` of these runs."""
    is_scored: Bools
    """True of a known job that is submitted after the first restart."""
    restarts: int
    overfull: int
    """Jobs that ran at an instant in the log and did not fit, over all restarts."""


def restarted(
    restarts: Restarts, known: pl.DataFrame, asked: Bools, horizon_s: float, tell: Callable[[int, int], object]
) -> Restarted:
    """Runs from the observed state every `horizon_s`, as far as a job is submitted in them that is `asked` for.

    Parameters
    ----------
    restarts
        The machine and its policy.
    known
        The known jobs of the whole log.
    asked
        A value each.
    horizon_s
        Seconds between two restarts, and for which each gets submits.
    tell
        Called with (restarts done, restarts in all).
    """
    log = Observed.of(restarts.jobs)
    horizon, first = round(horizon_s * TICKS_S), int(log.submit[0])
    number = (log.submit[log.known] - first - 1) // horizon
    asked = asked & (number >= 0)
    starts, stops = np.full(len(known), -1, np.int64), np.zeros(len(known), np.int64)
    overfull, numbers = 0, np.unique(number[asked])
    for done, (rows, own, stop, left_out) in enumerate(_runs(restarts, log, numbers, (first, horizon)), 1):
        places, is_own = log.places[rows], np.isin(rows, log.known)
        starts[places[is_own]], stops[places[is_own]] = own[is_own], stop
        overfull += left_out
        tell(done, len(numbers))
    return Restarted(_placed(known, starts, stops, asked), asked, len(numbers), overfull)


def _runs(
    restarts: Restarts, log: Observed, numbers: Ints, clock: tuple[int, int]
) -> Iterator[tuple[Ints, Ints, int, int]]:
    """Each restart: rows of the jobs submitted in it, their starts, when it stops, and how many did not fit."""
    first, horizon = clock
    for number in numbers:
        instant = first + int(number) * horizon
        state = log.at(instant, instant + horizon)
        stop = instant + horizon + round(LONGEST_S * TICKS_S)
        starts = state.starts(restarts, stop / TICKS_S)
        is_new = log.submit[state.rows] > instant
        yield state.rows[is_new], starts[is_new], stop, int((starts[state.is_running] < 0).sum())


def _placed(known: pl.DataFrame, starts: Ints, stops: Ints, asked: Bools) -> pl.DataFrame:
    """The known jobs with these starts; those that are not asked for without any."""
    started = asked & (starts >= 0)
    placed = np.where(started, starts, stops) / TICKS_S
    start = pl.Series("start_s", np.where(started, starts / TICKS_S, np.nan), nan_to_null=True)
    frame = known.with_columns(start, pl.Series("placed_s", placed))
    return frame.with_columns(
        (pl.col("start_s") + pl.col("observed_end_s") - pl.col("observed_start_s")).alias("end_s"),
        (pl.col("placed_s") - pl.col("submit_s")).alias("simulated_s"),
    )
