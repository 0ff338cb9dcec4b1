"""The segments of a run as arrays, which its laws are asked of."""

from __future__ import annotations

import numpy as np
import polars as pl

from hetsched.testing.facts import Facts, Floats
from hetsched.units import TICKS_S, micros


class Stretches:
    """The segments of a run as arrays: a row a stretch, times in whole microseconds."""

    def __init__(self, run: Facts, segments: pl.DataFrame) -> None:
        self.run, self.frame = run, segments
        row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
        self.job = np.array([row_of.get(job_id, -1) for job_id in segments["job_id"].to_list()], dtype=np.int64)
        self.attempt = segments["attempt"].cast(pl.Int64).to_numpy()
        self.start, end = micros(segments["start_s"]), micros(segments["end_s"])
        self.end = np.where(end >= 0, end, run.window[1])
        self.runs = (segments["state"] == "running").to_numpy()
        self.speed = segments["speed_ratio"].to_numpy()
        self.power_w, self.energy_j = segments["power_w"].to_numpy(), segments["energy_j"].to_numpy()
        self.cap_w = segments["cap_w"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        self.lasts_s: Floats = (self.end - self.start) / TICKS_S
        same = (self.job[1:] == self.job[:-1]) & (self.attempt[1:] == self.attempt[:-1])
        self.goes_on = np.append(False, same) if len(self.job) else np.zeros(0, dtype=np.bool_)
        last_attempt = np.zeros(len(run.start), dtype=np.int64)
        np.maximum.at(last_attempt, self.job, self.attempt)
        self.attempts = last_attempt
        nodes = segments["nodes"].to_list()
        self.changed = self.goes_on & np.array(
            [here != there for here, there in zip(nodes, [[], *nodes], strict=False)]
        )
        self.is_last = (self.attempt == last_attempt[self.job]) & run.started[self.job]
        self.goes_beyond = self.is_last & (run.end[self.job] < 0) & (self.end == run.window[1])

    def name(self, place: int) -> str:
        """Name of a stretch in messages."""
        attempt = f", attempt {self.attempt[place]}" if self.attempt[place] > 1 else ""
        return f"{self.run.name(int(self.job[place]))}{attempt}, from {self.start[place] / TICKS_S} s"

    def refuse(self, broken: np.ndarray, law: str) -> None:
        """Raise at the first stretch that breaks a law."""
        places = np.flatnonzero(broken)
        if len(places):
            raise AssertionError(f"{self.name(int(places[np.argmin(self.start[places])]))}: {law}")

    def by_node(self) -> pl.DataFrame:
        """A row a stretch and node: ``place, node``."""
        frame = self.frame.select(pl.int_range(pl.len()).alias("place"), pl.col("nodes").alias("node"))
        return frame.explode("node").with_columns(pl.col("node").cast(pl.Int64))
