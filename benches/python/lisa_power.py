"""Hourly power of SURF Lisa, simulated against measured: with jobs' profiles, and with draws predicted from the past.

    python benches/python/lisa_power.py

Jobs bring CPU use in pieces of 30 s, and the machine's power was measured; what a job draws was not. A node draws
``idle``, and ``job + use × share`` more while it serves a job, `share` being the share of its cores in use: three
numbers for the whole machine, fitted by least squares to hourly power of the first two days. The days after these are
the test; below them stands the same with numbers fitted to all that is scored. Of how many jobs that ended last the
mean is taken is chosen on the first two days, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from rich.table import Table

import hetsched as hs
from hetsched.power import History
from table import console

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "surf-lisa-week"
NODES, NODE_MHZ, PIECE_S, HOUR_S = 277, 33_600.0, 30.0, 3600.0
FITTED_S = 2 * 86_400.0
LASTS = (5, 10, 20, 50, 100)


def shares() -> pl.DataFrame:
    """A row a job that has pieces: ``id, start_s`` and ``share``, the list of its shares of a node, every 30 s."""
    pieces = pl.read_parquet(FOLDER / "fragments.parquet").sort("id", "start_s")
    share = pl.col("cpu_usage").cast(pl.Float64) / NODE_MHZ
    return pieces.group_by("id", maintain_order=True).agg(
        pl.col("start_s").min().cast(pl.Float64), share.alias("share")
    )


def measured() -> pl.DataFrame:
    """The measured power of all nodes: each value is the mean of the 30 s that follow ``time_s``."""
    drawn = pl.read_parquet(FOLDER / "consumption.parquet").sort("timestamp")
    return drawn.select(time_s=pl.col("timestamp") / 1000.0 - PIECE_S, power_w="power_draw")


def fitted(jobs: pl.DataFrame, power: pl.DataFrame, until_s: float) -> tuple[float, float, float]:
    """Watts of an idle node, of a job, and of all cores in use, from the hours before `until_s`."""
    hours = int(power["time_s"][-1] // HOUR_S) + 1
    each = jobs.select("start_s", "share", piece=pl.int_ranges(pl.col("share").list.len())).explode("share", "piece")
    hour = ((each["start_s"] + PIECE_S * each["piece"]) // HOUR_S).cast(pl.Int64).to_numpy()
    pieces = HOUR_S / PIECE_S
    running = np.bincount(hour, minlength=hours) / pieces
    used = np.bincount(hour, each["share"].to_numpy(), minlength=hours) / pieces
    drawn = (
        power.group_by(pl.col("time_s") // HOUR_S).agg(pl.col("power_w").mean()).sort("time_s")["power_w"].to_numpy()
    )
    taken = int(until_s // HOUR_S)
    design = np.column_stack([np.full(hours, float(NODES)), running, used])[:taken]
    idle_w, job_w, use_w = np.linalg.lstsq(design, drawn[:taken], rcond=None)[0]
    return float(idle_w), float(job_w), float(use_w)


def workload(jobs: pl.DataFrame, idle_w: float, job_w: float, use_w: float) -> hs.Workload:
    """Jobs with their profiles, W a node."""
    watts = pl.col("share").list.eval(idle_w + job_w + use_w * pl.element())
    frame = jobs.select(
        job_id="id",
        submit_s="start_s",
        observed_start_s="start_s",
        runtime_s=PIECE_S * pl.col("share").list.len(),
        node_count=pl.lit(1),
        power_profile=watts,
        power_profile_s=pl.lit(PIECE_S),
    )
    return hs.Workload.from_polars(frame, source="Lisa")


def from_the_past(profiled: hs.Workload, last: int | None) -> hs.Workload:
    """The same jobs with one number each: the mean of jobs that had ended before."""
    frame = profiled.to_polars()
    known_w = History(last=last).draws(frame)["known_w"]
    return hs.Workload.from_polars(
        frame.drop("power_profile", "power_profile_s").with_columns(power_w=known_w), source="Lisa"
    )


def with_means(profiled: hs.Workload) -> hs.Workload:
    """The same jobs with one number each: their own mean."""
    return hs.Workload.from_polars(profiled.to_polars().drop("power_profile", "power_profile_s"), source="Lisa")


def best_last(profiled: hs.Workload, platform: hs.Platform, power: pl.DataFrame) -> int:
    """The number of jobs that ended last whose mean is nearest on the first two days."""
    before = power.filter(pl.col("time_s") < FITTED_S)
    errors = {
        last: scored(from_the_past(profiled, last), platform, before)["power_mape_percent"] or np.inf for last in LASTS
    }
    return min(errors, key=lambda last: errors[last])


def scored(jobs: hs.Workload, platform: hs.Platform, power: pl.DataFrame) -> dict[str, float | None]:
    """Scores of power of the jobs where they ran."""
    found = hs.validate(jobs, platform, "replay", power=power, warmup_s=0, cooldown_s=0, baseline=None)
    return found.scores


def main() -> None:
    """Print the table."""
    out, jobs, power = console(), shares(), measured()
    out.print(f"{len(jobs):,} jobs with {jobs['share'].list.len().sum():,} pieces, {len(power):,} readings of power")
    after = power.filter(pl.col("time_s") >= FITTED_S)
    table = Table("draws of jobs", "fitted to", "MAPE", "energy", "peak", "constant", "a day before")
    for what, until_s, series in (("two days", FITTED_S, after), ("all four days", np.inf, power)):
        watts = fitted(jobs, power, min(until_s, float(power["time_s"][-1]) + PIECE_S))
        profiled = workload(jobs, *watts)
        idle_w = watts[0]
        mean_w = float(profiled.to_polars()["power_w"].mean())
        platform = hs.Platform.homogeneous(nodes=NODES, idle_w=idle_w, tdp_w=max(400.0, mean_w), busy_w=mean_w)
        out.print(f"fitted to {what}: idle {watts[0]:.1f} W, a job {watts[1]:.1f} W, all cores {watts[2]:.1f} W")
        last = best_last(profiled, platform, power)
        kinds = {
            "profiles": profiled,
            "each job's own mean": with_means(profiled),
            "the past: mean of all that ended": from_the_past(profiled, None),
            f"the past: last {last} that ended": from_the_past(profiled, last),
        }
        for name, own in kinds.items():
            found = scored(own, platform, series)
            names = ("power_mape_percent", "energy_error_percent", "peak_error_percent", "constant_mape_percent")
            cells = [found[one] for one in (*names, "persistence_mape_percent")]
            table.add_row(name, what, *("–" if one is None else f"{one:.2f} %" for one in cells))
    out.print(table)


if __name__ == "__main__":
    main()
