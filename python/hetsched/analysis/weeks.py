"""Intervals of statistics of jobs, with weeks as clusters: jobs of a week share its load, and are not independent."""

from __future__ import annotations

import math

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
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    change = float(np.quantile(second, quantile) - np.quantile(first, quantile))
    numbers, places = np.unique(np.asarray(weeks), return_inverse=True)
    count = len(numbers)
    if count < FEWEST_WEEKS:
        return change, None, None
    rows = [np.flatnonzero(places == week) for week in range(count)]
    changes = []
    for drawn in np.random.default_rng(0).integers(0, count, (_RESAMPLES, count)):
        pooled = np.concatenate([rows[week] for week in drawn])
        changes.append(np.quantile(second[pooled], quantile) - np.quantile(first[pooled], quantile))
    low, high = np.quantile(changes, (0.025, 0.975))
    return change, float(low), float(high)
