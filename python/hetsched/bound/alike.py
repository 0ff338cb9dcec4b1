"""Rows of several columns that are alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.bound.rates import Whole


def alike_rows(*columns: npt.NDArray[np.generic]) -> tuple[Whole, Whole]:
    """Groups of rows with the same values, in lexicographic order: the first row of each, and the group of each row.

    The same as ``np.unique(np.column_stack(columns), axis=0)`` with its index and inverse. That compares whole rows;
    here numbers of groups are sorted, column by column.
    """
    group_of = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if len(column) and (column != column[0]).any():
            values, place = np.unique(column, return_inverse=True)
            _, group_of = np.unique(group_of * len(values) + place, return_inverse=True)
    _, first = np.unique(group_of, return_index=True)
    return first, group_of
