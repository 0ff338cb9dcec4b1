"""Scores of waits by queue, size, kind of user and week."""

from __future__ import annotations

import polars as pl

from hetsched.validation.jobs import LONG_WAIT_S

_HEAVY, _MEDIUM = 0.5, 0.9
_ERRORS = ("log_error", "null_log_error", "naive_log_error")


def by(jobs: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The table of rule 16 by the last of these columns, in the order of all of them."""
    waited = pl.col("observed_s") > LONG_WAIT_S
    near = ((pl.col("simulated_s") - pl.col("observed_s")).abs() <= 600.0).filter(waited).mean()
    waits = ("observed_s", "simulated_s")

    def skill(rival: str) -> pl.Expr:
        return pl.when(pl.col(rival) != 0).then(1 - pl.col("log_error") / pl.col(rival))

    found = jobs.group_by(keys).agg(
        pl.len().cast(pl.Int64).alias("jobs"),
        waited.sum().cast(pl.Int64).alias("waited"),
        *(pl.col(name).mean() for name in _ERRORS),
        *(pl.col(name).mean().alias(f"mean_{name}") for name in waits),
        *(pl.col(name).median().alias(f"median_{name}") for name in waits),
        near.alias("waited_within_10m"),
    )
    skills = (skill("null_log_error").alias("skill_null"), skill("naive_log_error").alias("skill_naive"))
    first = [keys[-1], "jobs", "waited", *_ERRORS]
    last = [*(f"{name}_{wait}" for name in ("mean", "median") for wait in waits), "waited_within_10m"]
    return found.sort(keys, nulls_last=True).select(*first, *skills, *last)


def by_size(jobs: pl.DataFrame) -> pl.DataFrame:
    """The table by class of nodes: 1, 2-3, 4-7 and so on."""
    low, high = pl.lit(2).pow(pl.col("size")), pl.lit(2).pow(pl.col("size") + 1) - 1
    shown = pl.when(low == high).then(low.cast(pl.String)).otherwise(pl.format("{}-{}", low, high))
    return by(jobs.with_columns(pl.col("size").alias("class"), shown.alias("nodes")), "class", "nodes").rename(
        {"nodes": "size"}
    )


def by_user_class(jobs: pl.DataFrame) -> pl.DataFrame:
    """The table by number of jobs a user has (rule 17): heavy users have the first half, medium ones up to 0.9."""
    users = jobs.drop_nulls("user").group_by("user").agg(pl.len().alias("own"))
    users = users.sort(["own", "user"], descending=[True, False])
    before = pl.col("own").cum_sum() - pl.col("own")
    share = before / users["own"].sum() if len(users) else before
    kind = pl.when(share < _HEAVY).then(0).when(share < _MEDIUM).then(1).otherwise(2).alias("place")
    own = jobs.join(users.select("user", kind), on="user", how="left").with_columns(pl.col("place").fill_null(3))
    names = pl.Series(["heavy", "medium", "light", "unknown"])
    named = own.with_columns(pl.lit(names).gather(pl.col("place")).alias("user_class"))
    return by(named, "place", "user_class")
