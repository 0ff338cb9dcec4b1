"""Intervals of statistics of jobs, with weeks as clusters: jobs of a week share its load, and are not independent."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hetsched.analysis.ratios import student_t_quantile

__all__ = ["FEWEST_WEEKS", "bootstrap_weeks", "paired_weeks"]

FEWEST_WEEKS = 4
"""Fewer weeks give no interval."""

_RESAMPLES = 1000


def paired_weeks(x: npt.ArrayLike, y: npt.ArrayLike, weeks: npt.ArrayLike) -> tuple[float | None, float | None]:
    """The ratio of two sums over jobs, and the half width of its 95 % confidence interval over weeks.

    A mean is the ratio with `y` = 1; the mean difference of two runs on the same jobs has their differences as `x`.

    Parameters
    ----------
    x, y
        Values of each job, of one length.
    weeks
        The week of each job, as a whole number.

    Returns
    -------
    tuple of (float or None) and (float or None)
        The ratio, None if the sum of `y` is 0; the half width by linearization with weeks as clusters, None with
        fewer than four weeks.

    Examples
    --------
    >>> waits_s = [10.0, 20.0, 30.0, 40.0, 50.0]
    >>> mean, half_s = paired_weeks(waits_s, [1.0] * 5, [0, 1, 2, 3, 3])
    >>> mean, round(half_s, 3)
    (30.0, 27.499)
    """
    above, below = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    total = float(below.sum())
    if total == 0.0:
        return None, None
    ratio = float(above.sum()) / total
    numbers, places = np.unique(np.asarray(weeks), return_inverse=True)
    count = len(numbers)
    if count < FEWEST_WEEKS:
        return ratio, None
    deviations = np.bincount(places, weights=above - ratio * below, minlength=count)
    spread = math.sqrt(count / (count - 1) * float((deviations**2).sum()))
    return ratio, student_t_quantile(count - 1) * spread / abs(total)


def bootstrap_weeks(
    a: npt.ArrayLike, b: npt.ArrayLike, weeks: npt.ArrayLike, *, quantile: float = 0.95
) -> tuple[float, float | None, float | None]:
    """The change of a quantile between two runs on the same jobs, with its 95 % interval by a bootstrap over weeks.

    Parameters
    ----------
    a, b
        Values of the jobs in the two runs, of one length, at least one.
    weeks
        The week of each job.
    quantile
        Which, from 0 to 1; between order statistics it is linear.

    Returns
    -------
    tuple of float, (float or None) and (float or None)
        The quantile of `b` less that of `a`; the 2.5 and 97.5 % quantiles of the same over a thousand resamples of the
        weeks with numpy's PCG64 from seed 0, None with fewer than four weeks.

    Examples
    --------
    >>> bootstrap_weeks([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [0, 1, 2, 3], quantile=0.5)
    (1.0, 1.0, 1.0)
    """
    first, second = Resampled(a, weeks), Resampled(b, weeks)
    return bootstrap(first, second, quantile)


class Resampled:
    """Values of jobs, and their quantiles in resamples of the weeks; those of several pairs are sorted once."""

    def __init__(self, values: npt.ArrayLike, weeks: npt.ArrayLike) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        numbers, self._places = np.unique(np.asarray(weeks), return_inverse=True)
        self._weeks = len(numbers)
        self._known: dict[float, npt.NDArray[np.float64]] = {}

    def quantile(self, quantile: float) -> float:
        """The quantile of all values."""
        return float(np.quantile(self.values, quantile))

    def quantiles(self, quantile: float) -> npt.NDArray[np.float64] | None:
        """The quantile of each resample, bit for bit as `numpy.quantile` has it; None with fewer than four weeks."""
        if self._weeks < FEWEST_WEEKS:
            return None
        if quantile not in self._known:
            ranks = (self._until[-1] - 1.0) * quantile
            before = np.floor(ranks)
            low, high = self._ranked(before), self._ranked(np.minimum(before + 1.0, self._until[-1] - 1.0))
            step, part = high - low, ranks - before
            # As numpy does, from the nearer end.
            self._known[quantile] = np.where(part >= 0.5, high - step * (1.0 - part), low + step * part)
        return self._known[quantile]

    @cached_property
    def _times(self) -> npt.NDArray[np.float64]:
        """Times that each resample has each week, a row a resample; the last column is of no week."""
        drawn = np.random.default_rng(0).integers(0, self._weeks, (_RESAMPLES, self._weeks))
        times = np.zeros((_RESAMPLES, self._weeks + 1))
        np.add.at(times, (np.arange(_RESAMPLES)[:, None], drawn), 1.0)
        return times

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
        """The values ascending, and their weeks in blocks of equal length, the last filled up with no week."""
        order = np.argsort(self.values, kind="stable")
        length = max(16, math.isqrt(len(order)))
        weeks = np.full(-(-len(order) // length) * length, self._weeks)
        weeks[: len(order)] = self._places[order]
        return self.values[order], weeks.reshape(-1, length)

    @cached_property
    def _until(self) -> npt.NDArray[np.float64]:
        """Numbers of values that each resample has up to the end of each block, a column a resample."""
        _, weeks = self._sorted
        counts = np.zeros((len(weeks), self._weeks + 1))
        np.add.at(counts, (np.arange(len(weeks))[:, None], weeks), 1.0)
        until: npt.NDArray[np.float64] = counts.cumsum(axis=0) @ self._times.T
        return until

    def _ranked(self, rank: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The value with that rank, from 0, in each resample: its block, and its place there."""
        values, weeks = self._sorted
        block = (self._until <= rank).sum(axis=0)
        own = np.arange(len(rank))
        before = np.where(block > 0, self._until[block - 1, own], 0.0)
        reached = before[:, None] + self._times[own[:, None], weeks[block]].cumsum(axis=1)
        found: npt.NDArray[np.float64] = values[block * weeks.shape[1] + (reached > rank[:, None]).argmax(axis=1)]
        return found


def bootstrap(a: Resampled, b: Resampled, quantile: float) -> tuple[float, float | None, float | None]:
    """The same as `bootstrap_weeks`, of values of the same jobs."""
    change = b.quantile(quantile) - a.quantile(quantile)
    first, second = a.quantiles(quantile), b.quantiles(quantile)
    if first is None or second is None:
        return change, None, None
    low, high = np.quantile(second - first, (0.025, 0.975))
    return change, float(low), float(high)
