"""Sizes and run lengths with a largest value, whose mean is what was asked for all the same.

A limit takes from the mean of a distribution with a long tail. Here the other parameter is found so that the mean
after the limit is the one that is wanted; what is told of a log are means of what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hetsched.workload.generators.distributions import LogNormal

__all__ = ["geometric_sizes", "limited_lognormal", "mean_up_to", "power_law_sizes"]


def geometric_sizes(ratio: float, largest: int) -> dict[int, float]:
    """Shares of the sizes 1, 2, 4 ... up to `largest`: each is `ratio` times as frequent as the one before.

    Parameters
    ----------
    ratio
        From one size to the next, above 0.
    largest
        No size is larger.

    Examples
    --------
    >>> geometric_sizes(0.5, 7)
    {1: 0.5714285714285714, 2: 0.2857142857142857, 4: 0.14285714285714285}
    """
    weights = {2**k: ratio**k for k in range(largest.bit_length())}
    return _shares(weights)


def power_law_sizes(mean: float, largest: int) -> dict[int, float]:
    """Shares of all sizes 1, 2, 3 ... `largest` in proportion to ``size^-a``, the exponent such that the mean is right.

    Parameters
    ----------
    mean
        Above 1, and at most ``(1 + largest) / 2``, where all sizes are as frequent (a = 0).
    largest
        The largest size.

    Examples
    --------
    >>> {size: round(share, 3) for size, share in power_law_sizes(2.0, 3).items()}
    {1: 0.333, 2: 0.333, 3: 0.333}
    >>> shares = power_law_sizes(10.0, 128)
    >>> round(sum(size * share for size, share in shares.items()), 9)
    10.0
    """
    # Exactly as frequent at the end of the range; a root there would be found from one side only.
    if mean >= (1 + largest) / 2:
        return _shares(dict.fromkeys(range(1, largest + 1), 1.0))
    sizes = np.arange(1, largest + 1, dtype=np.float64)
    logs = np.log(sizes)

    def mean_of(exponent: float) -> float:
        weights = np.exp(-exponent * logs)
        return float((sizes * weights).sum() / weights.sum())

    exponent = _root(lambda a: mean - mean_of(a), 0.0, 64.0)
    return _shares({size: float(size**-exponent) for size in range(1, largest + 1)})


def mean_up_to(lengths: LogNormal, longest_s: float) -> float:
    """The mean of log-normal lengths, those above a limit counted as the limit, seconds.

    With ``s`` for sigma and ``m`` for the mean of the logarithm it is ``e^(m + s²/2) Φ((ln c - m - s²) / s) +
    c Φ((m - ln c) / s)``.

    Parameters
    ----------
    lengths
        Without the limit.
    longest_s
        The limit c, seconds.

    Examples
    --------
    >>> round(mean_up_to(LogNormal(mean_s=3600.0, sigma=1.8), 86_400.0) / 3600, 3)
    0.899
    """
    sigma, log_mean = lengths.sigma, math.log(lengths.mean_s) - lengths.sigma**2 / 2
    distance = (math.log(longest_s) - log_mean) / sigma
    return lengths.mean_s * _normal_cdf(distance - sigma) + longest_s * _normal_cdf(-distance)


def limited_lognormal(mean_s: float, sigma: float, longest_s: float) -> LogNormal | None:
    """The log-normal whose lengths, those above a limit cut to it, have this mean; None if none has.

    Parameters
    ----------
    mean_s
        After the limit, seconds.
    sigma
        Standard deviation of the logarithm, before it.
    longest_s
        The limit, seconds.

    Examples
    --------
    >>> lengths = limited_lognormal(3600.0, 1.8, 86_400.0)
    >>> round(lengths.mean_s), round(mean_up_to(lengths, 86_400.0), 6)
    (4057, 3600.0)
    >>> limited_lognormal(7200.0, 1.8, 3600.0) is None
    True
    """
    highest = 1e9
    if mean_up_to(LogNormal(highest, sigma), longest_s) <= mean_s:
        return None
    low, high = math.log(mean_s), math.log(highest)
    log_mean = _root(lambda at: mean_up_to(LogNormal(math.exp(at), sigma), longest_s) - mean_s, low, high)
    return LogNormal(math.exp(log_mean), sigma)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function passes 0, to the last digit that halving finds."""
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _shares(weights: dict[int, float]) -> dict[int, float]:
    total = math.fsum(weights.values())
    return {size: weight / total for size, weight in weights.items()}
