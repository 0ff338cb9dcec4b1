"""Known jobs of a log, as arrays: what `hetsched.inspect` looks at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.errors import ConfigError
from hetsched.platform import Platform
from hetsched.units import TICKS_S, micros
from hetsched.validation.jobs import LONG_WAIT_S, check_observed, observed_ends, reason_left_out
from hetsched.validation.use import Use
from hetsched.workload import Workload

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONG_WAIT = int(LONG_WAIT_S * TICKS_S)


@dataclass(frozen=True)
class Observed:
    """Known jobs in order of submit. Instants and spans are whole microseconds, as the engine counts them.

    What a job holds are nodes, in units of ``1 / whole`` of a node: 1 unless nodes are shared.
    """

    frame: pl.DataFrame
    """``user, queue`` (text, null: none) and, if the log has them, ``observed_nodes``."""
    submit: Ints
    start: Ints
    end: Ints
    is_ended: Bools
    """Whether the end is known: not after `until_s`."""
    walltime: Ints
    """The run time where the log has none."""
    held: Ints
    whole: int
    left_out: dict[str, int]

    @classmethod
    def of(cls, workload: Workload, platform: Platform | None, until_s: float | None) -> Observed:
        """The known jobs (rule 1) that started before `until_s`; a run is known up to there."""
        check_observed(workload.columns)
        jobs = workload.to_polars()
        if until_s is not None:
            jobs = jobs.filter(pl.col("observed_start_s").is_null() | (pl.col("observed_start_s") < until_s))
        jobs = jobs.with_columns(reason_left_out("runtime_s").alias("left_out"))
        known = jobs.filter(pl.col("left_out").is_null())
        if not len(known):
            expected = "at least one job with an observed start at or after its submit, and a run"
            found = "no such job" if until_s is None else f"no such job before until_s {until_s:g}"
            raise ConfigError([("workload", found, expected)])
        ended = known.select(observed_ends(known.columns, "runtime_s").alias("end")).to_series()
        start, end = micros(known["observed_start_s"]), micros(ended)
        end = np.maximum(end, start)
        last = int(end.max()) if until_s is None else round(until_s * TICKS_S)
        held, whole = _held(known, platform)
        names = ("no_observed_start", "no_run", "observed_before_submit")
        return cls(
            _labels(known),
            micros(known["submit_s"]),
            start,
            np.minimum(end, last),
            end <= last,
            _walltimes(known),
            held,
            whole,
            {name: int((jobs["left_out"] == name).sum()) for name in names},
        )

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def wait(self) -> Ints:
        """Observed waits."""
        return self.start - self.submit

    @cached_property
    def waited(self) -> Bools:
        """Jobs that waited for over a minute."""
        return self.wait > LONG_WAIT

    @cached_property
    def use(self) -> Use:
        """Use over time."""
        return Use.of(self.start, self.end, self.held)

    @cached_property
    def others_at_submit(self) -> Ints:
        """Holdings of the other jobs at each job's submit."""
        own = (self.start == self.submit) & (self.end > self.submit)
        return self.use.at(self.submit) - np.where(own, self.held, 0)

    def room(self, machine: int) -> Bools:
        """Jobs that would have fitted at their submit."""
        found: Bools = self.others_at_submit + self.held <= machine
        return found

    def coded(self, label: str) -> tuple[list[str | None], Ints]:
        """Names of users or queues, none first, and each job's place among them."""
        values = self.frame[label]
        names = values.drop_nulls().unique().sort()
        if not len(names):
            return [None], np.zeros(len(self), np.int64)
        codes = values.cast(pl.Enum(names)).to_physical().cast(pl.Int64) + 1
        return [None, *names.to_list()], codes.fill_null(0).to_numpy()

    def nodes(self, held: float) -> float:
        """Holdings in nodes."""
        return held / self.whole


def _labels(known: pl.DataFrame) -> pl.DataFrame:
    text = [
        pl.col(name).cast(pl.String) if name in known.columns else pl.lit(None, pl.String).alias(name)
        for name in ("user", "queue")
    ]
    nodes = ["observed_nodes"] if "observed_nodes" in known.columns else []
    return known.select(*text, *nodes)


def _walltimes(known: pl.DataFrame) -> Ints:
    if "walltime_s" not in known.columns:
        return micros(known["runtime_s"])
    return micros(known.select(pl.coalesce("walltime_s", "runtime_s").alias("walltime")).to_series())


def _held(known: pl.DataFrame, platform: Platform | None) -> tuple[Ints, int]:
    """Holdings of each job, and how much of them is a node."""
    nodes = known["node_count"].cast(pl.Int64).to_numpy()
    if platform is None or platform.exclusive:
        return nodes, 1
    whole = int(platform.slots.max())
    slots = known["slots"].cast(pl.Int64).fill_null(whole).to_numpy() if "slots" in known.columns else whole
    return nodes * slots, whole
