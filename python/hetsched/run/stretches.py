"""Stretches of attempts, and what happened on the way: the frames `Result.segments` and `Result.events`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.run.result_files import OPTIONAL_FRAMES
from hetsched.units import ticks

LAST_J = "last_energy_j"
"""Energy of a job's last attempt, as the engine calls it."""


def framed(name: str, columns: Any) -> pl.DataFrame:
    """The engine's columns of a frame that only some runs have, in order and of their types."""
    wanted = OPTIONAL_FRAMES[name]
    return pl.DataFrame(columns).select(pl.col(column).cast(dtype) for column, dtype in wanted.items())


def empty(name: str) -> pl.DataFrame:
    """The frame of a run in which there was nothing to report."""
    return pl.DataFrame(schema=OPTIONAL_FRAMES[name])


Uncapped = Callable[
    [npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.uint32]],
    tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
]


def segments_of_jobs(
    jobs: pl.DataFrame, uncapped: Uncapped | None = None, end_s: float | None = None, exclusive: bool = True
) -> pl.DataFrame:
    """A row a started job, of a run in which every attempt is one stretch."""
    frame = jobs.with_row_index("row").filter(pl.col("start_s").is_not_null())
    speed, power_w = _speed(frame), pl.col("mean_power_w")
    if uncapped is not None:
        nodes = frame["nodes"].explode().drop_nulls().cast(pl.UInt32).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(frame["nodes"].list.len().to_numpy())]).astype(np.int64)
        factor, watts = uncapped(frame["row"].cast(pl.UInt32).to_numpy(), offsets, nodes)
        speed = pl.lit(pl.Series(1.0 / factor))
        # On shared nodes a job pays for a part of what they draw.
        power_w = pl.lit(pl.Series(watts)) if exclusive else power_w
    made = {
        "attempt": pl.lit(1),
        "end_s": pl.col("end_s").fill_null(pl.lit(end_s, dtype=pl.Float64)),
        "cap_w": pl.lit(None),
        "speed_ratio": speed,
        "power_w": power_w,
        "state": pl.lit("running"),
    }
    return frame.select(
        made.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in OPTIONAL_FRAMES["segments"].items()
    )


RESIZED = ("grow", "shrink")
"""Kinds of events that change the nodes of a job that runs."""


def is_resized(events: pl.DataFrame) -> bool:
    """True if the nodes of any job changed while it ran."""
    kinds = events["kind"]
    return any((kinds == kind).any() for kind in RESIZED)


def by_nodes(jobs: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Jobs of which some changed their nodes: a row for each span in which the last attempt of one had the same."""
    is_last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    own = segments.filter(is_last).with_columns(span=pl.struct("job_id", "nodes").rle_id())
    first, both = pl.col("job_id", "nodes").first(), (pl.col("start_s").min(), pl.col("end_s").max())
    spans = own.group_by("span", maintain_order=True).agg(first, *both, pl.col("energy_j").sum()).drop("span")
    rest = jobs.drop("nodes", "start_s", "end_s", "energy_j")
    known = (
        jobs.filter(pl.col("start_s").is_not_null()).select("job_id").join(spans, on="job_id", maintain_order="left")
    )
    return rest.join(known, on="job_id", how="left", maintain_order="left").select(jobs.columns)


def with_attempts(last: pl.DataFrame, jobs: pl.DataFrame, recorded: pl.DataFrame, lost: pl.DataFrame) -> pl.DataFrame:
    """The stretches of jobs' last attempts next to those of the attempts that were lost, by row of the job and time."""
    rows = jobs.select("job_id").with_columns(recorded["attempts"], recorded[LAST_J]).with_row_index("row")
    own = last.drop("attempt", "energy_j").join(rows, on="job_id", how="left", maintain_order="left")
    own = own.rename({"attempts": "attempt", LAST_J: "energy_j"})
    length_s = pl.col("end_s") - pl.col("start_s")
    made = {
        "cap_w": pl.lit(None),
        "speed_ratio": pl.lit(None),
        "power_w": pl.when(length_s > 0).then(pl.col("energy_j") / length_s),
        "state": pl.lit("running"),
    }
    earlier = lost.join(rows.select("row", "job_id"), on="row", how="left", maintain_order="left").with_columns(**made)
    wanted = OPTIONAL_FRAMES["segments"]
    frames = [
        frame.select(pl.col("row").cast(pl.Int64), *(pl.col(name).cast(dtype) for name, dtype in wanted.items()))
        for frame in (earlier, own)
    ]
    return pl.concat(frames).sort("row", "attempt", maintain_order=True).drop("row")


def _speed(jobs: pl.DataFrame) -> pl.Expr:
    """The speed of a job that completed, from its length: one that was killed does not show."""
    comm = ticks("comm_s").fill_null(0) if "comm_s" in jobs.columns else pl.lit(0)
    computed = ticks("end_s") - ticks("start_s") - comm
    return pl.when(pl.col("state") == "completed", computed > 0).then(ticks("nominal_runtime_s") / computed)
