"""`History`: what a job will draw, by what its user's and its application's earlier jobs drew."""

from __future__ import annotations

import polars as pl

from hetsched.checks import Faults, plain

__all__ = ["LEVELS", "History"]

LEVELS = {"user and app": ("user", "app"), "user": ("user",), "app": ("app",), "all": ()}
"""Whose earlier jobs are asked, the closest first, and by which columns they are told apart."""


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
        """What is known of each job's draw when it is submitted.

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
            If `last` cannot be.
        """
        last = plain(self.last)
        if last is not None:
            faults = Faults()
            faults.whole("last", last, low=1, high=2**31 - 1)
            faults.check()
        asked = jobs.select(
            "job_id", "submit_s", "power_w", _end(jobs), *(_name(jobs, key) for key in LEVELS["user and app"])
        )
        # Ties by id: the order of rows plays no part.
        measured = asked.filter(pl.col("power_w") > 0).sort("end_s", "job_id")
        means = [_means(asked, measured, keys, last) for keys in LEVELS.values()]
        levels = [pl.when(own.is_not_null()).then(pl.lit(level)) for level, own in zip(LEVELS, means, strict=True)]
        return asked.select("job_id", known_w=pl.coalesce(means), level=pl.coalesce(levels))

    def __repr__(self) -> str:
        return "History()" if self.last is None else f"History(last={plain(self.last)!r})"


def _means(asked: pl.DataFrame, measured: pl.DataFrame, keys: tuple[str, ...], last: int | None) -> pl.Series:
    """For each row of `asked` the mean of the measured jobs of its kind that had ended before its submit."""
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
