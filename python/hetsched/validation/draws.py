"""Run times of jobs, drawn from those of jobs that have ended (rule 45)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import uniform
from hetsched.errors import ConfigError
from hetsched.units import instant, ticks
from hetsched.validation.jobs import check_observed, observed_ends, reason_left_out

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_Values = dict[str | None, Floats]

_NONE: Floats = np.zeros(0)
_LAST = 50
_FEWEST = 10
_SHORTEST_S = 1.0


@dataclass(frozen=True)
class Past:
    """Jobs that have ended by an instant, in order of their ends: ``user, queue, runtime_s, ratio``.

    The ratio is that of the run time to the walltime, null without one.
    """

    ended: pl.DataFrame

    @classmethod
    def of(cls, history: pl.DataFrame, time_s: float, *, most_ratio: float) -> Past:
        """Known jobs (rule 1) of a log that have ended by then; where walltimes kill, no ratio is above 1."""
        check_observed(history.columns)
        end = observed_ends(history.columns, "runtime_s").alias("end_s")
        known = history.filter(reason_left_out("runtime_s").is_null()).with_columns(end)
        ended = known.filter(ticks("end_s") <= instant(time_s)).sort("end_s", "job_id")
        walltime = pl.col("walltime_s") if "walltime_s" in ended.columns else pl.lit(None, pl.Float64)
        ratio = pl.when(walltime > 0).then((pl.col("runtime_s") / walltime).clip(upper_bound=most_ratio))
        return cls(
            ended.select(*(_label(ended, name) for name in ("user", "queue")), "runtime_s", ratio.alias("ratio"))
        )

    def values(self, column: str, user: str | None, queue: str | None) -> Floats:
        """Values of a column of past jobs like one of this user and queue, ascending.

        They are those of the user's last 50 jobs if there are ten, else of the queue's if there are ten, else of all.
        """
        of_users, of_queues, of_all = self._values[column]
        alike = of_users.get(user, _NONE)
        if len(alike) < _FEWEST:
            alike = of_queues.get(queue, _NONE)
        return alike if len(alike) >= _FEWEST else of_all

    @cached_property
    def _values(self) -> dict[str, tuple[_Values, _Values, Floats]]:
        """Values by user, by queue and in all, ascending, of each column."""

        def grouped(own: pl.DataFrame, label: str, column: str, last: int | None) -> _Values:
            values = pl.col(column) if last is None else pl.col(column).tail(last)
            groups = own.drop_nulls(label).group_by(label, maintain_order=True).agg(values.sort())
            return {name: values.to_numpy() for name, values in zip(groups[label], groups[column], strict=True)}

        found = {}
        for column in ("ratio", "runtime_s"):
            own = self.ended.drop_nulls(column)
            users, queues = grouped(own, "user", column, _LAST), grouped(own, "queue", column, None)
            found[column] = (users, queues, own[column].sort().to_numpy())
        return found


def _label(jobs: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String) if name in jobs.columns else pl.lit(None, pl.String).alias(name)


@dataclass(frozen=True)
class Draws:
    """Jobs at an instant, of which each has a pool of past values to draw from."""

    job_id: Ints
    walltime_s: Floats
    """NaN: none."""
    ran_s: Floats
    """Time that each has run; NaN: it waits."""
    offsets: Ints
    """Where each job's values begin in `pools`; of a job that runs those that it has not passed."""
    counts: Ints
    pools: Floats

    @classmethod
    def of(cls, past: Past, jobs: pl.DataFrame, time_s: float) -> Draws:
        """Draws of a workload's jobs; those with an ``observed_start_s`` run at `time_s`."""
        names = ["walltime_s", "observed_start_s"]
        columns = [pl.col(one) if one in jobs.columns else pl.lit(None, pl.Float64).alias(one) for one in names]
        own = jobs.select("job_id", *(_label(jobs, name) for name in ("user", "queue")), *columns)
        walltime, start = (own[name].fill_null(np.nan).to_numpy() for name in names)
        ran = time_s - start
        offsets, counts = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
        groups = own.with_columns(pl.col("walltime_s").is_not_null().alias("is_ratio")).with_row_index("row")
        pools: list[Floats] = []
        total = 0
        for (user, queue, is_ratio), group in groups.group_by("user", "queue", "is_ratio", maintain_order=True):
            pool = past.values("ratio" if is_ratio else "runtime_s", user, queue)
            rows = group["row"].to_numpy()
            passed = _passed(pool, walltime[rows] if is_ratio else np.ones(len(rows)), ran[rows])
            offsets[rows], counts[rows] = total + passed, len(pool) - passed
            pools.append(pool)
            total += len(pool)
        found = cls(own["job_id"].to_numpy(), walltime, ran, offsets, counts, np.concatenate([*pools, np.ones(1)]))
        found._check()
        return found

    def _check(self) -> None:
        waits = np.isnan(self.ran_s) & np.isnan(self.walltime_s) & (self.counts == 0)
        if waits.any():
            found = f"no job that ended, for job {self.job_id[int(np.argmax(waits))]}, which has no walltime"
            raise ConfigError([("history", found, "at least one job that ended by the instant of the state")])

    def runtimes(self, seed: int, fork: int) -> Floats:
        """The run time of each in a fork, seconds."""
        place = self.offsets + (uniform(seed, fork, self.job_id) * self.counts).astype(np.int64)
        drawn = self.pools[np.minimum(place, len(self.pools) - 1)] * self._scale
        return np.maximum(_SHORTEST_S, np.where(self.counts > 0, drawn, self._without))

    @cached_property
    def _scale(self) -> Floats:
        return np.where(np.isnan(self.walltime_s), 1.0, self.walltime_s)

    @cached_property
    def _without(self) -> Floats:
        """Length of jobs that no past one says anything of: the walltime or, if that is over, a second from now."""
        is_over = ~np.isnan(self.ran_s) & ~(self.walltime_s > self.ran_s)
        return np.where(is_over, self.ran_s + 1.0, self.walltime_s)


def _passed(pool: Floats, scale: Floats, ran: Floats) -> Ints:
    """Number of the values that are over for each job, which has run that long; none of one that waits."""
    over = scale[:, None] * pool[None, :] <= np.nan_to_num(ran, nan=-1.0)[:, None]
    found: Ints = over.sum(axis=1)
    return found
