"""Confidence intervals of means of a few runs, by Student's t."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def student_t_quantile(degrees: int) -> float:
    """The 0.975 quantile of Student's t: half the width of a 95 % confidence interval, in standard errors.

    Parameters
    ----------
    degrees
        Degrees of freedom, at least 1.

    Raises
    ------
    ValueError
        If there are none.

    Examples
    --------
    >>> round(student_t_quantile(4), 6)
    2.776445
    """
    from scipy.special import stdtrit  # noqa: PLC0415 -- slow to load, and only intervals need it

    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom")
    return float(stdtrit(degrees, 0.975))


def mean_and_half_width(values: npt.ArrayLike) -> tuple[float, float | None]:
    """A mean, and how far its 95 % confidence interval reaches to either side.

    Parameters
    ----------
    values
        One a run; at least one. Runs count as independent.

    Returns
    -------
    tuple of float and (float or None)
        None where a single run leaves nothing to judge by.

    Examples
    --------
    >>> mean_and_half_width([10.0, 12.0, 14.0])
    (12.0, 4.968...)
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return float(sample.mean()), None
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    return float(sample.mean()), student_t_quantile(len(sample) - 1) * error
