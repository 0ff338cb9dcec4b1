"""Jobs that wait over an hour longer than under the baseline, counted as soon as both runs of a pair have ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.run.result import Result

KEY = "longer_waits"
"""The metric."""

Floats = npt.NDArray[np.float64]
_LONGER_S = 3600.0


def waits_of(result: Result, window: tuple[float, float] | None) -> Floats:
    """Waits by row of the log, NaN of jobs that did not start, or are not submitted in a window."""
    jobs = result.jobs.select("submit_s", "wait_s")
    if window is not None:
        jobs = jobs.with_columns(pl.when(pl.col("submit_s").is_between(*window)).then("wait_s").alias("wait_s"))
    return jobs["wait_s"].cast(pl.Float64).fill_null(np.nan).to_numpy()


class LongerWaits:
    """Counts of jobs by run, which is a policy and a seed; waits are kept for as long as a run of a pair is missing.

    A run is held against the baseline's of the same seed; one that draws no random numbers has a single run, of the
    first seed.
    """

    def __init__(self, runs: Sequence[tuple[str, int]], baseline: str) -> None:
        """Nothing is known yet of these runs, of which the baseline's first is that of the first seed."""
        own = [run for run in runs if run[0] == baseline]
        self.counts: dict[tuple[str, int], int] = {}
        self._base = {run: (baseline, run[1]) if (baseline, run[1]) in own else own[0] for run in runs}
        self._open = {base: [run for run in runs if self._base[run] == base] for base in own}
        self._waits: dict[tuple[str, int], Floats] = {}

    def add(self, run: tuple[str, int], waits: Floats) -> None:
        """Take the waits of a run, and count what can be counted."""
        self._waits[run] = waits
        base = self._base[run]
        if base not in self._waits:
            return
        for other in [one for one in self._open[base] if one in self._waits]:
            with np.errstate(invalid="ignore"):
                longer = self._waits[other] - self._waits[base] > _LONGER_S
            self.counts[other] = int(longer.sum())
            self._open[base].remove(other)
            if other != base:
                del self._waits[other]
        if not self._open[base]:
            del self._waits[base]
