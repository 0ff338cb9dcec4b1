"""Predicted quantiles that are moved by the errors of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hetsched.analysis.pinball import LEVELS
from hetsched.checks import Faults

__all__ = ["recalibrated"]

_SHORT_S = 60.0

Floats = npt.NDArray[np.float64]


def recalibrated(
    quantiles_s: npt.ArrayLike,
    past_quantiles_s: npt.ArrayLike,
    past_waits_s: npt.ArrayLike,
    levels: Sequence[float] = LEVELS,
) -> Floats:
    """Move predicted quantiles of waits by the errors of earlier predictions, whose waits are known by now.

    The quantile of level p is moved by the p-quantile of y - z over the earlier ones, y = ln(wait + 60 s) and z the
    same of the quantile that was predicted: about a share p of the next waits then lies below it, whatever is wrong
    with the predictions, as long as it stays wrong in the same way (conformalized quantile regression: Romano,
    Patterson & Candès 2019, tail by tail).

    Parameters
    ----------
    quantiles_s
        A row a job, a column a level: the quantiles to move, seconds.
    past_quantiles_s
        The same of earlier predictions, at least one.
    past_waits_s
        The wait that each of these came to, seconds.
    levels
        The level of each column, between 0 and 1.

    Returns
    -------
    numpy.ndarray
        As `quantiles_s`: each row ascending, at least 0.

    Raises
    ------
    ConfigError
        If the shapes do not fit, or a level is not between 0 and 1.

    Examples
    --------
    >>> recalibrated([[0.0, 60.0, 120.0]], [[0.0, 0.0, 0.0]] * 3, [0.0, 60.0, 60.0], levels=[0.1, 0.5, 0.9]).round(1)
    array([[  8.9, 180. , 300. ]])
    """
    own, past = (np.asarray(values, dtype=np.float64) for values in (quantiles_s, past_quantiles_s))
    waits = np.asarray(past_waits_s, dtype=np.float64)
    faults = Faults()
    if not all(0 < level < 1 for level in levels):
        faults.note("levels", str(list(levels)), "numbers between 0 and 1")
    if waits.ndim != 1 or not len(waits) or past.shape != (len(waits), len(levels)):
        expected = f"a row for each of {waits.size} waits, at least one, a column for each of {len(levels)} levels"
        faults.note("past_quantiles_s", f"the shape {past.shape}", expected)
    if own.ndim != 2 or own.shape[1] != len(levels):
        faults.note("quantiles_s", f"the shape {own.shape}", f"a row a job, a column for each of {len(levels)} levels")
    faults.check()
    errors = np.log(waits + _SHORT_S)[:, None] - np.log(past + _SHORT_S)
    by = np.array([np.quantile(errors[:, place], level) for place, level in enumerate(levels)])
    moved: Floats = np.sort(np.exp(np.log(own + _SHORT_S) + by) - _SHORT_S, axis=1)
    return np.maximum(moved, 0.0)
