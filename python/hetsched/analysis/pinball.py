"""Scores of predicted quantiles of waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

__all__ = ["LEVELS", "pinball"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of quantiles that are predicted by default."""

_SHORT_S = 60.0


def pinball(
    observed_s: npt.ArrayLike, quantiles_s: npt.ArrayLike, levels: Sequence[float] = LEVELS
) -> dict[str, float | None]:
    """Score quantiles of waits against the waits that were observed, on the scale of ln(wait + 60 s).

    Parameters
    ----------
    observed_s
        The wait of each job, seconds; at least one.
    quantiles_s
        A row a job, a column a level: the predicted quantiles, seconds.
    levels
        The level of each column, between 0 and 1.

    Returns
    -------
    dict
        ``pinball``, the mean over levels and jobs of p·max(y - z, 0) + (1 - p)·max(z - y, 0) for level p, observed y
        and predicted z; ``coverage_50`` and ``coverage_90``, the shares of jobs between the quantiles 0.25 and 0.75,
        and 0.05 and 0.95: None if one of them is not among the levels.

    Raises
    ------
    ConfigError
        If the shapes do not fit, or a level is not between 0 and 1.

    Examples
    --------
    >>> found = pinball([0.0, 600.0], [[0, 0, 0, 60, 600], [0, 60, 600, 900, 3600]])
    >>> found["coverage_50"], found["coverage_90"]
    (1.0, 1.0)
    """
    observed, quantiles = np.asarray(observed_s, dtype=np.float64), np.asarray(quantiles_s, dtype=np.float64)
    faults = Faults()
    for level in levels:
        if not 0 < level < 1:
            faults.add("levels", level, "numbers between 0 and 1")
    if observed.ndim != 1 or not len(observed):
        faults.note("observed_s", f"the shape {observed.shape}", "a wait for each job, and at least one")
    elif quantiles.shape != (len(observed), len(levels)):
        faults.note(
            "quantiles_s",
            f"the shape {quantiles.shape}",
            f"a row a job, a column a level: {(len(observed), len(levels))}",
        )
    faults.check()
    over = np.log(observed + _SHORT_S)[:, None] - np.log(quantiles + _SHORT_S)
    share = np.asarray(levels, dtype=np.float64)
    loss = share * np.maximum(over, 0) + (1 - share) * np.maximum(-over, 0)
    column = {level: quantiles[:, place] for place, level in enumerate(levels)}

    def coverage(low: float, high: float) -> float | None:
        if low not in column or high not in column:
            return None
        return float(((column[low] <= observed) & (observed <= column[high])).mean())

    return {
        "pinball": float(loss.mean(axis=0).mean()),
        "coverage_50": coverage(0.25, 0.75),
        "coverage_90": coverage(0.05, 0.95),
    }
