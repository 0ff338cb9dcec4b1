"""Jobs of the shape that is published of a machine whose log is not: AOBA-A of Tohoku University, in 2021."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.params import Parameter
from hetsched.workload.generators import parameters as par
from hetsched.workload.generators.columns import generated
from hetsched.workload.jobs import Workload

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

NODES = 72
_HOUR_S, _DAY_S = 3600.0, 86_400.0
_DRAW_W, _USERS = 2100.0, 40
_NOON_H, _SPREAD_H, _OPEN_H = 14.5, 3.0, (8.0, 22.0)
_FREE, _FREE_WALLTIME_H = "sxf", 1.0
_WALLTIMES_H, _LEAST_SHARE, _SCRIPT_SHARE = np.array([1.0, 4.0, 12.0, 24.0, 72.0]), 0.35, 0.5


@dataclass(frozen=True)
class _Queue:
    """Jobs of one queue in one period."""

    share: float
    sizes: tuple[tuple[int, int], ...]  # slots of a node and nodes, each as likely as the others
    median_s: float
    sigma: float
    longest_s: float
    daytime: float  # share submitted in the daytime of working days


_ONE = ((1, 1),)
_SMALL = ((2, 1), (4, 1), (8, 1), (8, 1), (8, 1))
_MEDIUM = ((8, 2), (8, 2), (8, 2), (8, 4), (8, 4), (8, 8))
_LARGE = ((8, 9), (8, 16), (8, 16), (8, 32))


@dataclass(frozen=True)
class _Period:
    """A stretch of days, and the jobs in it."""

    jobs: int
    day_weights: tuple[float, ...]  # of daytime jobs, a weight a day
    queues: dict[str, _Queue]

    @property
    def span_s(self) -> float:
        """Its length."""
        return len(self.day_weights) * _DAY_S


def _weekdays(days: int, *, first: int, holidays: frozenset[int]) -> tuple[float, ...]:
    """1 for each working day and 0 for others; `first` is day 0's place in the week, Monday's is 0."""
    return tuple(float((first + day) % 7 < 5 and day not in holidays) for day in range(days))


# 29 April and 3 to 5 May, the public holidays between 6 April and 17 May 2021 that fall on weekdays.
_HOLIDAYS = frozenset((23, 27, 28, 29))

PERIODS = {
    "off": _Period(
        10_000,
        _weekdays(42, first=1, holidays=_HOLIDAYS),
        {
            "sxf": _Queue(0.33, _ONE, 90.0, 1.6, _HOUR_S, 1.0),
            "sxl": _Queue(0.07, _ONE, 900.0, 1.6, 24 * _HOUR_S, 0.7),
            "sxmix_s": _Queue(0.10, _ONE, 1800.0, 1.5, 72 * _HOUR_S, 0.5),
            "sx_s": _Queue(0.37, _SMALL, 2700.0, 1.7, 72 * _HOUR_S, 0.3),
            "sx_m": _Queue(0.12, _MEDIUM, 6000.0, 1.6, 72 * _HOUR_S, 0.4),
            "sx_l": _Queue(0.01, _LARGE, 4000.0, 1.3, 24 * _HOUR_S, 0.6),
        },
    ),
    "busy": _Period(
        1500,
        (2.0, 1.0),
        {
            "sxf": _Queue(0.25, _ONE, 60.0, 1.2, 20 * 60.0, 1.0),
            "sxl": _Queue(0.05, _ONE, 200.0, 1.2, 30 * 60.0, 0.8),
            "sxmix_s": _Queue(0.10, _ONE, 1200.0, 1.4, 12 * _HOUR_S, 0.7),
            "sx_s": _Queue(0.48, _SMALL, 1500.0, 1.4, 12 * _HOUR_S, 0.45),
            "sx_m": _Queue(0.115, _MEDIUM, 3600.0, 1.1, 12 * _HOUR_S, 0.8),
            "sx_l": _Queue(0.005, _LARGE, 2700.0, 0.8, 3 * _HOUR_S, 0.8),
        },
    ),
}
"""The periods by name; all numbers in them but the 10,000 jobs, the days, the queues and their limits are assumed."""


_PERIOD = Parameter("April to mid-May, or two busy days", known=tuple(PERIODS))


def aoba(*, period: Annotated[str, _PERIOD] = "off", seed: par.Seed = 0) -> Workload:
    """Jobs for the six queues of AOBA-A, 72 nodes of eight vector engines, whose log is not public.

    The paper says (Ohmura et al., Building a Digital Twin of Job Scheduling and Power Management on an HPC System):
    10,000 jobs from Tuesday 6 April to 17 May 2021, and the two days of 28 and 29 May, when jobs of all kinds were
    submitted in the first day's daytime; short jobs to the free queue in the daytime and not on holidays; other users'
    scripts submit at regular intervals day and night. All else is assumed, the 1,500 jobs of the two days included, and
    a study that uses it should say so:

    * **Queues** of each job, drawn by share, off and busy: ``sxf`` 33, 25 %, ``sxl`` 7, 5 %, ``sxmix_s`` 10, 10 %,
      ``sx_s`` 37, 48 %, ``sx_m`` 12, 11.5 %, ``sx_l`` 1, 0.5 %. **Sizes**: one engine in the first three; 2, 4, 8, 8 or
      8 engines of a node in ``sx_s``; 2, 2, 2, 4, 4 or 8 nodes in ``sx_m``; 9, 16, 16 or 32 in ``sx_l``.
    * **Run lengths** log-normal, longer ones cut: off with medians 90, 900, 1800, 2700, 6000, 4000 s, sigmas 1.6, 1.6,
      1.5, 1.7, 1.6, 1.3, at most 1, 24, 72, 72, 72, 24 h; busy 60, 200, 1200, 1500, 3600, 2700 s, sigmas 1.2, 1.2, 1.4,
      1.4, 1.1, 0.8, at most 1/3, 1/2, 12, 12, 12, 3 h.
    * **Submissions**: 100, 70, 50, 30, 40, 60 % of the jobs, busy 100, 80, 70, 45, 80, 80 %, in the daytime of working
      days: normal around 14:30 with a standard deviation of 3 h, between 8 and 22 h. Off, none of them on weekends and
      four holidays; busy, twice as many on the first day as on the second. Half of the others, of each queue, at
      regular intervals throughout, the rest at any time.
    * **Walltimes**: 1 h in ``sxf``; in other queues one of 1, 4, 12, 24, 72 h that suffices, with probability 0.35 the
      shortest, else any.
    * **Users** 40, at random; **draw** 2100 W of each node used in full, what a vectorised job was measured at.

    Second 0 is the midnight with which the first day begins. Made for the machine ``Platform.shipped("aoba")``.

    Parameters
    ----------
    period
        ``"off"``: 10,000 jobs in 42 days from a Tuesday. ``"busy"``: 1,500 jobs in two days.
    seed
        All chance comes from it.

    Raises
    ------
    ConfigError
        If a value is invalid; lists all of them.

    Examples
    --------
    >>> jobs = aoba(seed=1).to_polars()
    >>> len(jobs), bool((jobs["walltime_s"] >= jobs["runtime_s"]).all())
    (10000, True)
    """
    given = par.taken(aoba, locals())
    own: _Period = PERIODS[given.period]
    queue = stream(seed, "aoba.queues").choice(len(own.queues), own.jobs, p=[one.share for one in own.queues.values()])
    submit_s = _submits(own, queue, seed)
    order = np.argsort(submit_s, kind="stable")
    queue = queue[order]
    runtime_s = _runtimes(own, queue, seed)
    slots, node_count = _sizes(own, queue, seed)
    users = stream(seed, "aoba.users").integers(1, _USERS + 1, own.jobs)
    return generated(
        "aoba",
        given,
        nodes=NODES,
        submit_s=submit_s[order],
        runtime_s=runtime_s,
        node_count=node_count,
        more={
            "slots": slots,
            "queue": pl.Series(list(own.queues)).gather(queue),
            "user": pl.select(pl.format("user{}", pl.Series(users))).to_series(),
            "walltime_s": _walltimes(queue == list(own.queues).index(_FREE), runtime_s, seed),
            "power_w": np.full(own.jobs, _DRAW_W),
        },
    )


def _column(own: _Period, name: str) -> Floats:
    """A number of each queue."""
    return np.array([getattr(one, name) for one in own.queues.values()])


def _submits(own: _Period, queue: Whole, seed: int) -> Floats:
    """Daytime jobs on working days, those of scripts at regular intervals, the others at any time."""
    kind = stream(seed, "aoba.kinds").random((2, own.jobs))
    in_daytime = kind[0] < _column(own, "daytime")[queue]
    is_script = ~in_daytime & (kind[1] < _SCRIPT_SHARE)
    any_s = stream(seed, "aoba.any-time").random(own.jobs) * own.span_s
    return np.where(in_daytime, _daytimes(own, seed), np.where(is_script, _regular(own, queue, is_script, seed), any_s))


def _daytimes(own: _Period, seed: int) -> Floats:
    rng = stream(seed, "aoba.daytime")
    weights = np.array(own.day_weights)
    day = rng.choice(len(weights), own.jobs, p=weights / weights.sum())
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 -- slow to load

    low, high = ndtr((np.array(_OPEN_H) - _NOON_H) / _SPREAD_H)
    hour = _NOON_H + _SPREAD_H * ndtri(rng.uniform(low, high, own.jobs))
    found: Floats = day * _DAY_S + hour * _HOUR_S
    return found


def _regular(own: _Period, queue: Whole, is_script: npt.NDArray[np.bool_], seed: int) -> Floats:
    """Submits of the jobs of scripts: each queue's at equal intervals, the first of them anywhere in its interval."""
    own_count = np.bincount(queue[is_script], minlength=len(own.queues))
    ranks = pl.DataFrame({"queue": queue, "is_script": is_script}).select(pl.col("is_script").cum_sum().over("queue"))
    phase = stream(seed, "aoba.scripts").random(len(own.queues))[queue]
    place = (ranks.to_series().to_numpy() - 1 + phase) / np.maximum(own_count, 1)[queue]
    found: Floats = place * own.span_s
    return found


def _runtimes(own: _Period, queue: Whole, seed: int) -> Floats:
    median_s, sigma, longest_s = (_column(own, name)[queue] for name in ("median_s", "sigma", "longest_s"))
    drawn_s = median_s * np.exp(sigma * stream(seed, "aoba.runtimes").standard_normal(own.jobs))
    shortened: Floats = np.minimum(drawn_s, longest_s)
    return shortened


def _sizes(own: _Period, queue: Whole, seed: int) -> tuple[Whole, Whole]:
    """Slots of a node, and nodes."""
    counts = np.array([len(one.sizes) for one in own.queues.values()])
    table = np.array([size for one in own.queues.values() for size in one.sizes])
    first = np.cumsum(counts) - counts
    row = first[queue] + stream(seed, "aoba.sizes").integers(0, counts[queue])
    return table[row, 0], table[row, 1]


def _walltimes(is_free: npt.NDArray[np.bool_], runtime_s: Floats, seed: int) -> Floats:
    chance, pick = stream(seed, "aoba.walltimes").random((2, len(runtime_s)))
    least = np.searchsorted(_WALLTIMES_H * _HOUR_S, runtime_s)
    any_one = least + (pick * (len(_WALLTIMES_H) - least)).astype(np.int64)
    chosen = _WALLTIMES_H[np.where(chance < _LEAST_SHARE, least, any_one)]
    found: Floats = np.where(is_free, _FREE_WALLTIME_H, chosen) * _HOUR_S
    return found
