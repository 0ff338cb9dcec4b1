"""Profiles of jobs cut where they turn: what each job draws when, worked out from starts, ends and nodes alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.units import TICKS_S
from hetsched.workload.profiles import Profiles


def in_parts(served: pl.DataFrame, own: Profiles | None, factor: npt.NDArray[np.float64]) -> pl.DataFrame:
    """The rows of `Facts.served`, cut where a profile turns, with ``own_w``: the job's draw, NaN without a profile.

    `factor` is that by which each job takes longer than at nominal speed.
    """
    if own is None or served.is_empty():
        return served.hstack([pl.Series("own_w", np.full(len(served), np.nan))])
    rows: list[tuple[int, int, int, int, int, float]] = []
    by_place = served.select("job", "node", "start", "end", "slots").sort("job", "node", "start", maintain_order=True)
    for (job, node), stretches in by_place.group_by("job", "node", maintain_order=True):
        spans = stretches.select("start", "end").rows()
        slots = int(stretches["slots"][0])
        if own.lengths[int(job)] == 0:
            rows += [(int(job), int(node), start, end, slots, np.nan) for start, end in spans]
            continue
        parts = _Parts(own, int(job), float(factor[int(job)]))
        cuts = (cut for span in spans for cut in parts.cut(*span))
        rows += [(int(job), int(node), since, until, slots, watts) for since, until, watts in cuts]
    schema = {"job": pl.Int64, "node": pl.Int64, "start": pl.Int64, "end": pl.Int64, "slots": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "own_w": pl.Float64}, orient="row")


class _Parts:
    """The profile of a job at one speed, as its run goes through it with pauses."""

    def __init__(self, profiles: Profiles, job: int, factor: float) -> None:
        first, last = profiles.offsets[job], profiles.offsets[job + 1]
        self.watts, self.factor = profiles.watts[first:last].tolist(), factor
        self.until: list[int] = [round(k * float(profiles.interval_s[job]) * TICKS_S) for k in range(1, last - first)]
        self.part, self.since = 0, 0
        self.left = self._after(0)

    def _after(self, offset: int) -> int | None:
        """Time from a place in the profile to the end of the present interval; None: there is no other."""
        if self.part == len(self.until):
            return None
        rest = self.until[self.part] - offset
        return rest if self.factor == 1.0 else ceil(rest * self.factor)

    def cut(self, start: int, end: int) -> Iterator[tuple[int, int, float]]:
        """The parts of a stretch in which the job runs, with their watts."""
        anchor, offset, at = start, self.since, start
        turn = None if self.left is None else start + self.left
        while turn is not None and turn < end:
            yield at, turn, self.watts[self.part]
            if at == start and self.since != 0:
                # What went on after a pause is counted from its first turn on.
                anchor, offset = turn, self.until[self.part]
            at, self.part = turn, self.part + 1
            rest = self._after(offset)
            turn = None if rest is None else anchor + rest
        yield at, end, self.watts[self.part]
        self.left = None if turn is None else turn - end
        self.since = 0 if turn is None else self.until[self.part]
