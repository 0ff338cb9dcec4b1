"""Predictors without features: right ones, ones that are wrong by so much, and a log's earlier jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, plain
from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W

if TYPE_CHECKING:
    from hetsched.platform import VariationTable


_LEVELS = {"user and app": ("user", "app"), "user": ("user",), "app": ("app",), "all": ()}
"""Kinds of earlier jobs that are asked, the closest first, by the columns that distinguish them."""


@named_in("hetsched.power")
class Ideal:
    """A predictor that knows the actual watts; the best that any model could do.

    Of a log that brings measured draws it knows each job's own.

    Examples
    --------
    >>> import hetsched as hs
    >>> actual = hs.VariationTable(["hpcg"], power_w=[[200.0, 220.0]])
    >>> Ideal().table(actual) == actual
    True
    """

    def table(self, actual: VariationTable) -> VariationTable:
        """The predicted table.

        Parameters
        ----------
        actual
            What the nodes draw.

        Returns
        -------
        VariationTable
            The same.
        """
        return actual

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """Each job's own draw as it is.

        Parameters
        ----------
        jobs
            With ``power_w``, W a node.

        Returns
        -------
        polars.DataFrame
            ``known_w``, a row a job; null where the job brings none.
        """
        return jobs.select(known_w=pl.when(pl.col("power_w") > 0).then("power_w"))

    def __repr__(self) -> str:
        return "Ideal()"


@named_in("hetsched.power")
class Noisy:
    """A predictor that knows the actual watts and is off by a normal error, one for each application and node.

    Every prediction is the actual watts times ``1 + e``, e normal with mean 0 and standard deviation `error_ratio`,
    and at least 0. An application's errors depend on the seed and its name alone: another application in the table,
    or more nodes, do not change them.

    Of a log that brings measured draws, each job's own ``power_w`` is known with such an error; jobs that a table has a
    row for have the error of that row and no other. Errors are drawn in the order of ``job_id``, so that the order of
    rows changes none, and jobs of higher ids change none of those before.

    Parameters
    ----------
    error_ratio
        Standard deviation of the relative error, 0 or more; 0.1 = 10 %.
    seed
        Of the draws, 0 or more.

    Examples
    --------
    >>> import hetsched as hs
    >>> actual = hs.VariationTable(["hpcg"], power_w=np.full((1, 10_000), 200.0))
    >>> error = Noisy(error_ratio=0.1, seed=1).table(actual).power_w / 200.0 - 1
    >>> bool(abs(error.mean()) < 0.003 and abs(error.std() - 0.1) < 0.003)
    True
    """

    def __init__(self, error_ratio: float = 0.1, *, seed: int = 0) -> None:
        self.error_ratio = error_ratio
        self.seed = seed

    def table(self, actual: VariationTable) -> VariationTable:
        """The predicted table.

        Parameters
        ----------
        actual
            What the nodes draw, in watts or as factors.

        Returns
        -------
        VariationTable
            Of the same applications, nodes, time factors and cap.

        Raises
        ------
        ConfigError
            If `error_ratio` or `seed` is invalid.
        """
        seed = self._checked_seed()
        draws = np.array([stream(seed, f"power.noisy.{app}").standard_normal(actual.nodes) for app in actual.apps])
        factor = self._factor(draws)
        powers: dict[str, Any] = {
            name: values * factor
            for name, values in (("power_w", actual.power_w), ("power_ratio", actual.power_ratio))
            if values is not None
        }
        # Of the same class as the one it was made from.
        return type(actual)(actual.apps, **powers, time_ratio=actual.time_ratio, cap_w=actual.cap_w)

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """Each job's own draw: its ``power_w`` with an error.

        Parameters
        ----------
        jobs
            With ``job_id`` and ``power_w``, W a node.

        Returns
        -------
        polars.DataFrame
            ``known_w``, a row a job, at most the 1e6 W that a node can draw; null where the job brings none.

        Raises
        ------
        ConfigError
            If `error_ratio` or `seed` is invalid.

        Examples
        --------
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "power_w": [200.0, None]})
        >>> Noisy(error_ratio=0.1, seed=1).draws(jobs)["known_w"].round(1).to_list()
        [201.0, None]
        """
        seed = self._checked_seed()
        errors = np.empty(len(jobs))
        errors[jobs["job_id"].arg_sort()] = stream(seed, "power.noisy.jobs").standard_normal(len(jobs))
        known = pl.col("power_w") * pl.Series(self._factor(errors))
        return jobs.select(known_w=pl.when(pl.col("power_w") > 0).then(known.clip(upper_bound=MAX_NODE_W)))

    def _factor(self, errors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        factor: npt.NDArray[np.float64] = np.maximum(1.0 + plain(self.error_ratio) * errors, 0.0)
        return factor

    def _checked_seed(self) -> int:
        faults = Faults()
        faults.number("error_ratio", plain(self.error_ratio), low=0.0)
        faults.whole("seed", seed := plain(self.seed), low=0, high=2**64 - 1)
        faults.check()
        return int(seed)

    def __repr__(self) -> str:
        return f"Noisy(error_ratio={plain(self.error_ratio)!r}, seed={plain(self.seed)!r})"


@named_in("hetsched.power")
class History:
    """A predictor that learns from the log itself: mean watts of the same user's earlier jobs of the same application.

    Earlier jobs are those with a measured draw that had ended before this one was submitted. Where there is none of
    the same user and application, those of the same user are asked, then those of the same application, then all. A
    job before which none had ended is unknown: it counts with its nodes' TDP, or with ``busy_w`` on a platform with
    ``known_draws="table"``.

    Ends are the log's, whatever the simulated schedule makes of them: ``observed_start_s + runtime_s`` or, where no
    start was observed, ``submit_s + runtime_s``, the earliest end there could have been. So a job's prediction is the
    same under every policy, and rests on nothing that was measured later.

    Parameters
    ----------
    last
        Only so many earlier jobs count, those that ended last; at least 1. None: all.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3, 4], "submit_s": [0, 100, 200, 300], "runtime_s": [50, 50, 50, 50],
    ...                      "user": ["ann", "ann", "bo", "ann"], "power_w": [200.0, 300.0, 90.0, 250.0]})
    >>> History().draws(jobs)
    shape: (4, 3)
    ┌────────┬─────────┬───────┐
    │ job_id ┆ known_w ┆ level │
    │ ---    ┆ ---     ┆ ---   │
    │ i64    ┆ f64     ┆ str   │
    ╞════════╪═════════╪═══════╡
    │ 1      ┆ null    ┆ null  │
    │ 2      ┆ 200.0   ┆ user  │
    │ 3      ┆ 250.0   ┆ all   │
    │ 4      ┆ 250.0   ┆ user  │
    └────────┴─────────┴───────┘
    """

    def __init__(self, *, last: int | None = None) -> None:
        self.last = last

    def draws(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """Each job's draw as far as it is known when the job is submitted.

        Parameters
        ----------
        jobs
            With ``job_id``, ``submit_s``, ``runtime_s`` and ``power_w`` (W a node); ``user``, ``app`` and
            ``observed_start_s`` where they are known.

        Returns
        -------
        polars.DataFrame
            A row a job: ``job_id``; ``known_w``, W a node, null where no measured job had ended; ``level``, whose
            earlier jobs it is the mean of: ``user and app``, ``user``, ``app`` or ``all``.

        Raises
        ------
        ConfigError
            If `last` is invalid.
        """
        last = plain(self.last)
        if last is not None:
            faults = Faults()
            faults.whole("last", last, low=1, high=2**31 - 1)
            faults.check()
        asked = jobs.select(
            "job_id", "submit_s", "power_w", _end(jobs), *(_name(jobs, key) for key in _LEVELS["user and app"])
        )
        # Ties by id: the order of rows plays no part.
        measured = asked.filter(pl.col("power_w") > 0).sort("end_s", "job_id")
        means = [_means(asked, measured, keys, last) for keys in _LEVELS.values()]
        levels = [pl.when(own.is_not_null()).then(pl.lit(level)) for level, own in zip(_LEVELS, means, strict=True)]
        return asked.select("job_id", known_w=pl.coalesce(means), level=pl.coalesce(levels))

    def __repr__(self) -> str:
        return "History()" if self.last is None else f"History(last={plain(self.last)!r})"


def _means(asked: pl.DataFrame, measured: pl.DataFrame, keys: tuple[str, ...], last: int | None) -> pl.Series:
    """Mean, for each row of `asked`, of the measured jobs of its kind that had ended before its submit."""
    mean = (
        pl.col("power_w").cum_sum() / pl.int_range(1, pl.len() + 1)
        if last is None
        else pl.col("power_w").rolling_mean(last, min_samples=1)
    )
    known = measured.drop_nulls(keys).with_columns(mean=mean.over(keys) if keys else mean)
    queries = asked.with_row_index("row").sort("submit_s")
    # Strictly before: a job of length zero ends when it is submitted, and must not know itself.
    joined = queries.join_asof(
        known.select("end_s", "mean", *keys),
        left_on="submit_s",
        right_on="end_s",
        by=keys or None,
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return joined.sort("row")["mean"]


def _end(jobs: pl.DataFrame) -> pl.Expr:
    start = pl.col("submit_s")
    if "observed_start_s" in jobs.columns:
        start = pl.coalesce("observed_start_s", "submit_s")
    return (start + pl.col("runtime_s")).alias("end_s")


def _name(jobs: pl.DataFrame, column: str) -> pl.Expr:
    return pl.col(column) if column in jobs.columns else pl.lit(None, pl.String).alias(column)
