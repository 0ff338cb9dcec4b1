"""How sure a mean of a few runs is: Student's t, from published quantiles."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["mean_and_half_width", "student_t_quantile"]

# NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2, upper critical values for 1 - alpha = 0.975.
# fmt: off
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on
_T_975_ABOVE = {30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980}
_NORMAL_975 = 1.960


def student_t_quantile(degrees: int) -> float:
    """The 0.975 quantile of Student's t: half the width of a 95 % confidence interval, in standard errors.

    Published values to three decimals; above 30 degrees of freedom interpolated in their reciprocal.

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
    >>> student_t_quantile(4)
    2.776
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom")
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    reciprocals = [0.0, *(1 / known for known in reversed(_T_975_ABOVE))]
    quantiles = [_NORMAL_975, *reversed(_T_975_ABOVE.values())]
    return float(np.interp(1 / degrees, reciprocals, quantiles))


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
