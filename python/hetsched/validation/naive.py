"""Waits predicted from the log's past alone: the rival of a simulation."""

from __future__ import annotations

import polars as pl

from hetsched.units import TICKS_S, ticks

_WEEK_US = 604_800 * TICKS_S
_ENOUGH = 5


def past_waits(known: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Mean and median wait of jobs like each that is asked for, as known at its submit (rules 7 and 8).

    They are the known jobs that started in the week before, of the same queue and size if there are five, else of the
    queue if there are five, else any; else any job that ever started before.

    Returns
    -------
    polars.DataFrame
        A row an asked job, in their order: ``mean_s, median_s``; 0 where nothing is known.
    """
    level = _levels(known, asked)
    mean = pl.coalesce(*(pl.col(f"mean_{name}") for name, *_ in level), pl.lit(0.0))
    median = pl.coalesce(*(pl.col(f"median_{name}") for name, *_ in level), pl.lit(0.0))
    found = _windows(known, asked, level)
    return found.sort("row").select(mean.alias("mean_s"), median.alias("median_s"))


def _levels(known: pl.DataFrame, asked: pl.DataFrame) -> list[tuple[str, list[str], int, int]]:
    """Levels of likeness: a name, common columns, the window in microseconds, and how many jobs are enough."""
    ends = pl.concat([known["observed_start_s"], asked["submit_s"]])
    ever = int((float(ends.max()) - float(ends.min())) * TICKS_S) + 2  # type: ignore[arg-type]
    return [
        ("alike", ["queue", "size"], _WEEK_US, _ENOUGH),
        ("queue", ["queue"], _WEEK_US, _ENOUGH),
        ("any", [], _WEEK_US, 1),
        ("ever", [], ever, 1),
    ]


def _windows(known: pl.DataFrame, asked: pl.DataFrame, levels: list[tuple[str, list[str], int, int]]) -> pl.DataFrame:
    """The statistics of each level at the submits of the asked jobs, with their rows."""
    wait, row = ticks("observed_s").cast(pl.Int64), pl.lit(None, pl.Int64)
    alike = ("queue", "size")
    starts = known.select(
        ticks("observed_start_s").cast(pl.Int64).alias("at"), wait.alias("wait"), *alike, row.alias("row")
    )
    asks = asked.select(
        ticks("submit_s").cast(pl.Int64).alias("at"),
        row.alias("wait"),
        *alike,
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
    )
    both = pl.concat([starts, asks]).sort("at", maintain_order=True)
    columns = [one for level in levels for one in _of_level(*level)]
    return both.with_columns(columns).filter(pl.col("row").is_not_null())


def _of_level(name: str, alike: list[str], window: int, enough: int) -> list[pl.Expr]:
    span, wait = f"{window}i", pl.col("wait")
    count = wait.is_not_null().cast(pl.Int64).rolling_sum_by("at", span, closed="left")
    total = wait.fill_null(0).rolling_sum_by("at", span, closed="left")
    median = wait.cast(pl.Float64).rolling_median_by("at", span, min_samples=enough, closed="left")
    mean = pl.when(count >= enough).then(total / count)
    both = {"mean": mean, "median": median}
    return [
        ((one.over(alike) if alike else one) / TICKS_S).alias(f"{statistic}_{name}") for statistic, one in both.items()
    ]
