"""A clock that runs faster when more jobs are submitted, as the daily cycle of Lublin and Feitelson does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched.checks import listed, shown
from hetsched.errors import ConfigError

__all__ = ["DailyCycle", "gamma_cdf", "truncated"]

Floats = npt.NDArray[np.float64]

_BUCKETS = 48
_BUCKET_S = 1800.0
_DAY_S = _BUCKETS * _BUCKET_S
_FIRST_BUCKET = 11
_MOST_DRAWS = 1000


@dataclass(frozen=True)
class DailyCycle:
    """How much of a day's submissions each half hour gets.

    Parameters
    ----------
    weights
        Of the 48 half hours from midnight on; their mean is 1, all are above 0.

    Examples
    --------
    >>> noon = DailyCycle(np.where(np.arange(48) == 24, 48 - 47e-6, 1e-6))
    >>> noon.time_s(np.array([43200.0])).round() / 3600
    array([12.25])
    """

    weights: Floats

    @classmethod
    def gamma(cls, shape: float, scale: float) -> DailyCycle:
        """The cycle in which half hour i of the 48 from the 11th on gets gamma's probability of i ± 1/2.

        Parameters
        ----------
        shape, scale
            Of the gamma distribution; `scale` in half hours.
        """
        numbers = np.arange(_FIRST_BUCKET, _FIRST_BUCKET + _BUCKETS)
        edges = gamma_cdf(np.append(numbers - 0.5, numbers[-1] + 0.5), shape, scale)
        weights = np.empty(_BUCKETS)
        # Half hours are numbered from 1: the 11th begins at 5:00.
        weights[(numbers - 1) % _BUCKETS] = np.maximum(np.diff(edges), 1e-12)
        return cls(weights / weights.mean())

    def time_s(self, points: Floats) -> Floats:
        """Seconds from midnight at which the clock shows so many points; a day has as many as it has seconds.

        Parameters
        ----------
        points
            Of the clock, at least 0.
        """
        days, rest = np.divmod(points, _DAY_S)
        shown = np.concatenate([[0.0], np.cumsum(self.weights)]) * _BUCKET_S
        return days * _DAY_S + np.interp(rest, shown, np.arange(_BUCKETS + 1) * _BUCKET_S)  # type: ignore[no-any-return]

    def factor(self, points: Floats, span_s: float) -> float:
        """By what to multiply `points` so that the first and the last are `span_s` seconds apart.

        Parameters
        ----------
        points
            Ascending, at least two.
        span_s
            Seconds, above 0.
        """
        ends = points[[0, -1]]
        low, high = -30.0, 30.0
        for _ in range(80):
            middle = (low + high) / 2
            first_s, last_s = self.time_s(ends * math.exp(middle))
            low, high = (middle, high) if last_s - first_s < span_s else (low, middle)
        return math.exp(high)


def gamma_cdf(x: Floats, shape: float, scale: float) -> Floats:
    """Cumulative distribution function of gamma(shape, scale), by the series of the incomplete gamma function.

    ``P(a, z) = z^a e^-z / Γ(a + 1) × Σ z^n / ((a + 1) ... (a + n))`` (Abramowitz and Stegun 6.5.29), all terms
    positive.

    Parameters
    ----------
    x
        Above 0.
    shape, scale
        Above 0.

    Examples
    --------
    >>> bool(abs(gamma_cdf(np.array([2.0]), 1.0, 2.0)[0] - (1 - np.exp(-1))) < 1e-12)
    True
    """
    z = np.asarray(x, dtype=np.float64)[:, np.newaxis] / scale
    # Terms fall from n = z - a on, and are nothing ten times the root after it.
    count = int(np.max(z) + 10 * math.sqrt(float(np.max(z)) + 1) + 50)
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(z) - np.log(shape + np.arange(1, count)), axis=1)
        log_first = shape * np.log(z[:, 0]) - z[:, 0] - math.lgamma(shape + 1)
    terms = np.exp(log_first[:, np.newaxis] + np.concatenate([np.zeros_like(z), logs], axis=1))
    return np.minimum(terms.sum(axis=1), 1.0)  # type: ignore[no-any-return]


def truncated(
    draw: Callable[[npt.NDArray[np.int64]], Floats], count: int, highest: float, shape: Mapping[str, object]
) -> Floats:
    """Random numbers of which those above `highest` are drawn again.

    Parameters
    ----------
    draw
        From rows to a number for each.
    count
        How many.
    highest
        The largest that is kept.
    shape
        The parameters that shape `draw`, with their values, for the message.

    Raises
    ------
    ConfigError
        If hardly any number is low enough.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(truncated(lambda rows: rng.exponential(1.0, len(rows)), 1000, 0.5, {"scale": 1.0}).max() <= 0.5)
    True
    """
    rows = np.arange(count)
    values = draw(rows)
    for _ in range(_MOST_DRAWS):
        rows = np.flatnonzero(values > highest)
        if not len(rows):
            return values
        values[rows] = draw(rows)
    found = listed(shown(value) for value in shape.values())
    least = f"{values[rows].min():.3g} or more in {len(rows):,} of {count:,} draws"
    expected = f"gamma distributions with logarithms of seconds that often are below {highest:g}, not {least}"
    raise ConfigError([(listed(shape), found, expected)])
