"""Settings that no other beats in all measures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

__all__ = ["pareto"]


def pareto(rows: npt.ArrayLike) -> list[bool]:
    """True for each row that no other dominates: none is no worse in all values and better in one.

    Parameters
    ----------
    rows
        A row a setting, a column a measure of which less is better; equal rows do not dominate each other.

    Raises
    ------
    ConfigError
        If the rows are no table of numbers.

    Examples
    --------
    >>> pareto([(10.0, 5.0), (8.0, 7.0), (9.0, 8.0), (8.0, 7.0)])
    [True, True, False, True]
    """
    faults = Faults()
    values = faults.array("rows", rows, "a row a setting, a column a measure")
    if values is not None and values.size and values.ndim != 2:
        faults.note("rows", f"{values.ndim} dimensions", "a row a setting, a column a measure")
    faults.check()
    assert values is not None
    found = []
    for row in values:
        no_worse, better = (values <= row).all(axis=1), (values < row).any(axis=1)
        found.append(not bool(np.any(no_worse & better)))
    return found
