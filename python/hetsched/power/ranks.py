"""Ranks of nodes by their draw, measured and predicted: an order needs no level, and a level no order."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

Floats = npt.NDArray[np.float64]

_FEWEST_NODES = 10


def rank_correlation(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Spearman's rank correlation, equal values by their mean rank; None if one side is constant.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]), rank_correlation([1, 2, 3], [5, 5, 5])
    (0.8, None)
    """
    from scipy.stats import rankdata  # noqa: PLC0415 -- slow to load

    return correlation(rankdata(one), rankdata(other))


def correlation(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Pearson's correlation; None if one side is constant.

    Examples
    --------
    >>> correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    1.0
    """
    first, second = (np.asarray(side, dtype=np.float64) for side in (one, other))
    first, second = first - first.mean(), second - second.mean()
    spread = math.sqrt(float((first**2).sum()) * float((second**2).sum()))
    return float((first * second).sum()) / spread if spread else None


def rank_scores(measured: npt.ArrayLike, predicted: npt.ArrayLike, idle: int | None = None) -> dict[str, float | None]:
    """Score predictions by how they rank nodes by draw, and by how near they are to it.

    Parameters
    ----------
    measured, predicted
        Watts, of one shape: a row a class of jobs (an application, a state), a column a node; NaN where unknown. Only
        cells known in both count.
    idle
        The row of idle nodes, if there is one.

    Returns
    -------
    dict
        ``whole_rank``, the rank correlation over nodes of each node's mean deviation from its classes' means;
        ``class_rank``, the mean of the rank correlations within classes of at least ten nodes; ``idle_rank``, that of
        the row `idle`; ``level_mape_percent``, and ``no_variation_mape_percent``, the same with each class's predicted
        mean for all of its nodes: predictions that are no better are no better than one number a class. None with
        fewer than ten nodes, or where one side is constant.

    Raises
    ------
    ConfigError
        If the two are no tables of one shape, or `idle` is no row of theirs.

    Examples
    --------
    >>> watts = np.array([200.0 + node for node in range(12)])
    >>> found = rank_scores([watts, 2 * watts], [watts + 1, 2 * watts + 30])
    >>> found["whole_rank"], found["class_rank"], found["idle_rank"]
    (1.0, 1.0, None)
    """
    x, y = _checked(measured, predicted, idle)
    known = ~np.isnan(x)
    ranks = [_of_class(x[row], y[row]) for row in range(len(x))]
    within = [rank for rank in ranks if rank is not None]
    nodes = known.any(axis=0)
    counts = known.sum(axis=1, keepdims=True)
    mean = np.nansum(y, axis=1, keepdims=True) / np.maximum(counts, 1)
    return {
        "whole_rank": _rank(_deviation(x)[nodes], _deviation(y)[nodes]),
        "class_rank": float(np.mean(within)) if within else None,
        "idle_rank": None if idle is None else ranks[idle],
        "level_mape_percent": _mape(x, y, known),
        "no_variation_mape_percent": _mape(x, np.broadcast_to(mean, x.shape), known),
    }


def _checked(measured: npt.ArrayLike, predicted: npt.ArrayLike, idle: int | None) -> tuple[Floats, Floats]:
    faults = Faults()
    expected = "watts, a row a class and a column a node"
    tables = {}
    for name, given in (("measured", measured), ("predicted", predicted)):
        array = faults.array(name, given, expected)
        if array is not None and array.ndim != 2:
            faults.note(name, f"{array.ndim} dimensions", expected)
        tables[name] = array
    faults.check()
    x, y = (np.array(tables[name], dtype=np.float64) for name in ("measured", "predicted"))
    if x.shape != y.shape:
        faults.note("predicted", f"the shape {y.shape}", f"that of measured, {x.shape}")
    elif idle is not None:
        faults.whole("idle", idle, low=0, high=len(x) - 1)
    faults.check()
    unknown = np.isnan(x) | np.isnan(y)
    x[unknown] = y[unknown] = np.nan
    return x, y


def _of_class(x: Floats, y: Floats) -> float | None:
    known = ~np.isnan(x)
    return _rank(x[known], y[known])


def _rank(x: Floats, y: Floats) -> float | None:
    return rank_correlation(x, y) if len(x) >= _FEWEST_NODES else None


def _deviation(watts: Floats) -> Floats:
    """Mean relative deviation of each node from the means of its classes; NaN of a node that is in none."""
    known = ~np.isnan(watts)
    means = np.nansum(watts, axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = watts / means - 1
    found: Floats = np.nansum(deviation, axis=0) / np.maximum(known.sum(axis=0), 1)
    return found


def _mape(x: Floats, y: Floats, known: npt.NDArray[np.bool_]) -> float | None:
    return 100 * float((np.abs(y - x)[known] / x[known]).mean()) if known.any() else None
