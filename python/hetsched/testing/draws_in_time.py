"""Jobs with measured profiles: what each draws when, worked out from starts, ends and nodes alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.units import TICKS_S

if TYPE_CHECKING:
    from hetsched.testing.facts import Facts, Floats, Ints, Mask
    from hetsched.testing.stretches import Stretches


def in_parts(run: Facts) -> pl.DataFrame:
    """The rows of `Facts.served`, cut where a profile turns, with ``own_w``: the job's draw, NaN without a profile."""
    served, own = run.served, run.profiles
    if own is None or served.is_empty():
        return served.hstack([pl.Series("own_w", np.full(len(served), np.nan))])
    factor = np.ones(len(run.asked)) if run.has_given_ends else run.slowest * run.own_size_ratio
    if run.profiling_ratio is not None and not run.has_given_ends:
        factor = np.where(run.profiled, factor * run.profiling_ratio, factor)
    rows: list[tuple[int, int, int, int, int, float]] = []
    by_place = served.select("job", "node", "start", "end", "slots").sort("job", "node", "start", maintain_order=True)
    for (job, node), stretches in by_place.group_by("job", "node", maintain_order=True):
        spans = stretches.select("start", "end").rows()
        slots = int(stretches["slots"][0])
        if own.lengths[int(job)] == 0:
            rows += [(int(job), int(node), start, end, slots, np.nan) for start, end in spans]
            continue
        parts = _Parts(run, int(job), float(factor[int(job)]))
        cuts = (cut for span in spans for cut in parts.cut(*span))
        rows += [(int(job), int(node), since, until, slots, watts) for since, until, watts in cuts]
    schema = {"job": pl.Int64, "node": pl.Int64, "start": pl.Int64, "end": pl.Int64, "slots": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "own_w": pl.Float64}, orient="row")


class _Parts:
    """The profile of a job at one speed, as its run goes through it with pauses."""

    def __init__(self, run: Facts, job: int, factor: float) -> None:
        profiles = run.profiles
        assert profiles is not None
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


def own_draws(own: Stretches) -> tuple[Floats, Mask]:
    """Own draw of each stretch's job in it, W: what its profile says of the place where it is by then, or ``power_w``.

    The mask says of which stretches that is known: of those of a few ticks it is not. Raises AssertionError at a
    stretch in which a profile says several things.
    """
    run = own.run
    found: Floats = run.asked_for("power_w").cast(pl.Float64).fill_null(0.0).to_numpy()[own.job]
    known = np.ones(len(found), dtype=np.bool_)
    if run.profiles is None:
        return found, known
    table = run.platform.actual
    in_watts = np.zeros(len(run.asked), dtype=np.bool_)
    if table is not None and table.power_w is not None:
        in_watts = run.row_of_jobs(table) >= 0
    place = np.flatnonzero(((run.profiles.lengths > 0) & ~in_watts)[own.job] & own.runs)
    job, ahead = own.job[place], _progress(own)[place]
    done = ((own.end - own.start) * _pace(own))[place]
    # Each change of speed rounds the instant of the next turn up.
    slack = np.minimum(2.0 * (_changes(own)[place] + 1.0), done / 2.0)
    first, last = (ahead + slack) / TICKS_S, (ahead + done - slack) / TICKS_S
    middle_w = run.profiles.at(job, (first + last) / 2.0)
    mean_w = run.profiles.between(job, first, last) / np.where(last > first, last - first, 1.0)
    several = np.zeros(len(own.job), dtype=np.bool_)
    several[place] = (last - first > 1e-5) & (np.abs(mean_w - middle_w) > 1e-6 * middle_w)
    if not run.platform.has_caps:
        own.refuse(several, "its job's profile changes in it")
    found = found.copy()
    # Under a cap nodes may draw the same in several intervals.
    found[place], known[place] = middle_w, (last - first > 1e-5) & ~several[place]
    return found, known


def _pace(own: Stretches) -> Floats:
    """Progress of each stretch in its profile, in a tick of the clock."""
    run = own.run
    pace: Floats = np.where((own.speed > 0) & run.has_given_ends, 1.0, own.speed)
    if run.profiling_ratio is None or run.has_given_ends:
        return pace
    return np.where(run.profiled[own.job], pace / run.profiling_ratio, pace)


def _progress(own: Stretches) -> Floats:
    """Work of its attempt that was done before each stretch, in ticks at nominal speed."""
    done = (own.end - own.start) * _pace(own)
    before = np.cumsum(done) - done
    first = np.maximum.accumulate(np.where(own.goes_on, 0, np.arange(len(done)))) if len(done) else np.zeros(0, int)
    found: Floats = before - before[first]
    return found


def _changes(own: Stretches) -> Ints:
    """Number of the stretch in its attempt."""
    place = np.arange(len(own.job))
    first = np.maximum.accumulate(np.where(own.goes_on, 0, place)) if len(place) else place
    found: Ints = place - first
    return found
