"""Rebuilds the two files of the demo, in ``python/hetsched/data``, from the published originals.

    python tools/make_demo_data.py KESTREL.parquet M100_2020.parquet M100_2021.parquet [--out python/hetsched/data]

The same originals and the same version of polars give the same bytes. The originals and their licences are named in
NOTICE; ``python/hetsched/data/README.md`` describes the columns of what comes out. This page explains each step.

**The job log** (`kestrel_cut`) keeps four days of submissions, Thursday to Sunday, of the Kestrel log:

1. The published cut holds jobs that *started* from 2024-08-30 to 2024-09-09. Jobs submitted before it, or near its end,
   are there only if they happened to start inside. Submissions from 09-05 to 09-08 stand far from both ends: all that
   waited less than a day are there (95 in 100 waited less than 9 hours).
2. Jobs that ran more than two days (and ten minutes' grace) are left out. They came through a partition of their own,
   for long jobs; in a log of four days a job of ten days is mostly an almost empty machine after the last submission.
3. Waiting time is start minus submit. The column ``wait_time`` of the original disagrees with it for jobs that were
   held or requeued and is not used.
4. A mean draw below the idle draw is the mean of samples of which some or all are missing: unknown, hence null.
5. Exact duplicates stay. They are tasks of job arrays that started and ended in the same second, and those with equal
   draws shared a node and its meter.
6. Jobs stand by submit time, ties as they started. Numbers count from 1, seconds from the first submission.

The log names no application and no walltime. Every job gets the application ``kestrel``, so that a table's row ``"*"``
applies to it; walltimes are not invented.

**The nodes** (`node_ratios`) are the processors of Marconi100, two sockets a node, from two years of daily means:

1. Days with fewer than 3,600 of the 4,320 samples, without load or inlet temperature, or with a socket below 20 W (a
   sensor fault) are left out, and so are days with less than 10 percent load: what counts is the draw at work.
2. Load and temperature are taken out by comparing like with like: 20 classes of processor load, within each 6 of load
   average, within each 5 of inlet temperature, all of equal size. A day's ratio is its watts over its class's median.
3. A node's ratio in a year is the median of its days, if there are 20. The mix of jobs is not known, so some of the
   spread is whose jobs a node happened to get. What belongs to the node repeats: the two years correlate by r, their
   mean by ``2 r / (1 + r)`` (Spearman and Brown), and each node's distance from the fleet's median is shrunk by that.

Two sockets on one board even each other out, so nodes differ less than sockets do. That is why nodes are taken whole:
a Kestrel node has two sockets, too, and they are most of its draw under load.
"""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl

FIRST_SUBMIT = datetime(2024, 9, 5)
END_OF_SUBMITS = datetime(2024, 9, 9)
LONGEST_RUN_S = 2 * 86_400 + 600
IDLE_W = 250.0

FULL_DAY_SAMPLES = 3_600
LOWEST_SOCKET_W = 20.0
LOWEST_LOAD_PERCENT = 10.0
CLASSES = (("cpu_user_mean", 20), ("load_one_mean", 6), ("ambient_mean", 5))
FEWEST_DAYS = 20


def kestrel_cut(log: pl.DataFrame) -> pl.DataFrame:
    """The demo's job log.

    Parameters
    ----------
    log
        Columns ``submit, start, end`` (instants), ``nodes`` and ``avg_power_per_node`` (W).

    Returns
    -------
    polars.DataFrame
        Columns ``job_id, submit_s, runtime_s, node_count, app, power_w, observed_start_s``.
    """
    watts = pl.col("avg_power_per_node")
    jobs = (
        log.with_columns(runtime_s=seconds(pl.col("end") - pl.col("start")))
        .filter(pl.col("submit").is_between(FIRST_SUBMIT, END_OF_SUBMITS, closed="left"))
        .filter(pl.col("runtime_s") <= LONGEST_RUN_S)
        .sort("submit", "start", "end", "nodes", "avg_power_per_node")
    )
    zero = pl.col("submit").min()
    return jobs.select(
        job_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
        submit_s=seconds(pl.col("submit") - zero),
        runtime_s="runtime_s",
        node_count=pl.col("nodes").cast(pl.Int32),
        app=pl.lit("kestrel"),
        power_w=pl.when(watts >= IDLE_W).then(watts.round(1)),
        observed_start_s=seconds(pl.col("start") - zero),
    )


def seconds(span: pl.Expr) -> pl.Expr:
    """Whole seconds of a duration, as the job table wants them."""
    return span.dt.total_seconds().cast(pl.Float64)


def node_ratios(days: pl.DataFrame) -> pl.DataFrame:
    """Draw of each node over the fleet's median at the same work.

    Parameters
    ----------
    days
        One row a node and day, the columns of the original.

    Returns
    -------
    polars.DataFrame
        Columns ``node`` (Marconi100's number), ``power_ratio`` and ``days`` (how many it was measured on).
    """
    yearly = (
        day_ratios(days)
        .group_by("node", year=pl.col("day").dt.year())
        .agg(pl.col("ratio").median(), pl.len().alias("days"))
        .filter(pl.col("days") >= FEWEST_DAYS)
    )
    first, second = (yearly.filter(pl.col("year") == year) for year in (2020, 2021))
    both = first.join(second, on="node", suffix="_second").sort("node")
    raw = np.sqrt(both["ratio"].to_numpy() * both["ratio_second"].to_numpy())
    r = float(np.corrcoef(both["ratio"].to_numpy(), both["ratio_second"].to_numpy())[0, 1])
    lasting = 2 * r / (1 + r)
    ratio = 1 + lasting * (raw / np.median(raw) - 1)
    return both.select(
        pl.col("node").cast(pl.Int32),
        power_ratio=pl.Series(ratio).round(4),
        days=pl.col("days") + pl.col("days_second"),
    )


def day_ratios(days: pl.DataFrame) -> pl.DataFrame:
    """Columns ``node, day, ratio``: a day's socket watts over the median of the days like it."""
    sockets = ("p0_power_mean_w", "p1_power_mean_w")
    loaded = days.filter(
        pl.min_horizontal("p0_power_n", "p1_power_n") >= FULL_DAY_SAMPLES,
        pl.min_horizontal(*sockets) >= LOWEST_SOCKET_W,
        pl.col("cpu_user_mean") >= LOWEST_LOAD_PERCENT,
        *(pl.col(name).is_not_null() for name, _ in CLASSES),
    ).sort("day", "node")
    classes: list[str] = []
    for name, count in CLASSES:
        rank = pl.col(name).rank("ordinal") - 1
        label = (rank * count) // pl.len()
        loaded = loaded.with_columns((label.over(classes) if classes else label).alias(f"class_{name}"))
        classes.append(f"class_{name}")
    watts = pl.sum_horizontal(pl.col(name).cast(pl.Float64) for name in sockets)
    return loaded.with_columns(watts=watts).select(
        "node", "day", ratio=pl.col("watts") / pl.col("watts").median().over(classes)
    )


def main() -> None:
    """Reads the originals and writes both files."""
    parser = argparse.ArgumentParser(description="Rebuild the demo's data from the published originals.")
    parser.add_argument("kestrel", type=Path, help="jobs of Kestrel, Parquet")
    parser.add_argument("m100", type=Path, nargs=2, help="days of Marconi100's nodes, 2020 and 2021, Parquet")
    parser.add_argument("--out", type=Path, default=Path("python/hetsched/data"), help="folder to write to")
    arguments = parser.parse_args()
    jobs = kestrel_cut(pl.read_parquet(arguments.kestrel))
    nodes = node_ratios(pl.concat([pl.read_parquet(path) for path in arguments.m100]))
    jobs.write_parquet(arguments.out / "kestrel-2024-09.parquet", compression="zstd", compression_level=19)
    nodes.write_csv(arguments.out / "m100-node-ratio.csv")


if __name__ == "__main__":
    main()
