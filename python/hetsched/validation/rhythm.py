"""Rhythm of a log's instants: its granularity, the scheduler's beat, and how long a start takes (rules 28 and 29)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hetsched.units import TICKS_S
from hetsched.validation.finding import Finding, part, seconds
from hetsched.validation.observed import Observed

Ints = npt.NDArray[np.int64]

_GRAINS_S = (3600, 900, 600, 300, 60, 30, 10, 1)
_NEAR = TICKS_S // 1000
_ON_GRAIN = 0.99
_BEATS_S = (900, 600, 300, 60, 30, 10)
_BINS = 10
_IN_BIN = 0.5
_FEWEST_WAITED = 200
_GRAINS_A_BEAT = 20
_FEWEST_ALONE = 100
_SOONEST = 0.1


def granularity(values: Ints, *, from_zero: bool = False) -> tuple[int, float]:
    """The coarsest grid of seconds, in whole seconds from some second on, that 99 % of values lie on, and their share.

    0 if they lie on none.
    """
    share = 0.0
    for grain in _GRAINS_S if len(values) else ():
        rest = values % (grain * TICKS_S)
        second = np.rint(rest / TICKS_S).astype(np.int64) % grain
        origin = 0 if from_zero else int(np.bincount(second, minlength=grain).argmax())
        off = (rest - origin * TICKS_S) % (grain * TICKS_S)
        share = float((np.minimum(off, grain * TICKS_S - off) <= _NEAR).mean())
        if share >= _ON_GRAIN:
            return grain, share
    return 0, share


def rhythm_findings(jobs: Observed) -> Iterator[Finding]:
    """Rule 28."""
    runs = (jobs.end - jobs.start)[jobs.is_ended]
    for name, values in (("submit", jobs.submit), ("start", jobs.start), ("run", runs)):
        grain, share = granularity(values, from_zero=name == "run")
        yield Finding("granularity", name, grain, "s", evidence=len(values), evidence_ratio=share)
        if name == "start":
            beat = _beat(jobs.start[jobs.waited], grain)
    yield beat


def _beat(starts: Ints, grain: int) -> Finding:
    """The scheduler's interval, by the starts of jobs that waited; else the one that came nearest to be shown."""
    best = Finding("beat", unit="s", evidence=len(starts))
    for beat in _BEATS_S:
        if beat < _GRAINS_A_BEAT * grain or not len(starts):
            continue
        counts = np.bincount((starts % (beat * TICKS_S)) * _BINS // (beat * TICKS_S), minlength=_BINS)
        bin_ = int(counts.argmax())
        ratio = part(int(counts[bin_]), len(starts)) or 0.0
        phase = bin_ * beat / _BINS
        found = best._replace(value=beat, evidence_ratio=ratio)
        if len(starts) >= _FEWEST_WAITED and ratio >= _IN_BIN:
            suggestion = f"interval_s = {beat}, phase_s = {phase:g}"
            return found._replace(suggestion=suggestion, setting={"interval_s": beat, "phase_s": phase})
        if ratio > (best.evidence_ratio or 0.0):
            best = found
    return best


def latency_findings(jobs: Observed, machine: int) -> Iterator[Finding]:
    """Rule 29: how long a job waited that had room and was alone in the queue."""
    submitted = np.searchsorted(np.sort(jobs.submit), jobs.submit, side="right")
    started = np.searchsorted(np.sort(jobs.start), jobs.submit, side="right")
    others = submitted - started - (jobs.wait > 0)
    waits = jobs.wait[jobs.room(machine) & (others == 0)]
    if not len(waits):
        yield Finding("start_latency_s", "p10", None, "s", evidence=0)
        return
    soonest, median = (seconds(one) for one in np.quantile(waits, [_SOONEST, 0.5]))
    shown = soonest > 0 and len(waits) >= _FEWEST_ALONE
    found = Finding("start_latency_s", "p10", soonest, "s", evidence=len(waits))
    if shown:
        setting = {"start_latency_s": soonest}
        found = found._replace(suggestion=f"start_latency_s = {soonest:g}", setting=setting)
    yield found
    yield Finding("start_latency_s", "median", median, "s", evidence=len(waits))
