"""The linear assignment problem, with a proof of every answer.

Placing jobs on nodes that are not alike is this problem: a row a job, a column a node, and as cost the energy that the
job would take there. Both functions return *duals*, labels of rows and columns that prove the answer optimal by sums
and comparisons alone, as equations 7 to 9 of the paper on COA (Combinatorial Optimization Algorithm) do with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.checks import Faults
from hetsched.errors import ConfigError

__all__ = ["Assignment", "TypesAssignment", "assign", "assign_types"]

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The cheapest matching of rows to columns, with its proof.

    For every pair ``cost[i, j] - row_duals[i] - column_duals[j] >= 0`` up to rounding, and ``= 0`` where row `i` has
    column `j`; column duals are never above 0, and 0 for columns that no row has. So every matching of all rows costs
    at least the sum of the duals, and this one costs just that.

    Parameters
    ----------
    columns
        The column of each row, shape (p,).
    cost
        Sum of the matched pairs' costs, in the unit of the costs.
    row_duals
        Shape (p,), in the unit of the costs.
    column_duals
        Shape (q,), in the unit of the costs.
    """

    columns: Whole
    cost: float
    row_duals: Floats
    column_duals: Floats


@dataclass(frozen=True, eq=False)
class TypesAssignment:
    """The cheapest way to place each row as often as it occurs, with its proof.

    Parameters
    ----------
    columns
        The columns of each row, ascending: k arrays.
    cost
        Sum of the matched pairs' costs, in the unit of the costs.
    row_duals
        Shape (k,), as in `Assignment`; the same for every copy of a row.
    column_duals
        Shape (q,), as in `Assignment`.
    """

    columns: tuple[Whole, ...]
    cost: float
    row_duals: Floats
    column_duals: Floats


def assign(cost: npt.ArrayLike) -> Assignment:
    """The cheapest matching that gives every row a column of its own.

    Where rows repeat enough they are placed type by type, as by `assign_types`; else by shortest augmenting paths. Of
    several cheapest matchings the answer is always the same one; equal costs give the identity.

    Parameters
    ----------
    cost
        What each pair costs, shape (p, q) with p <= q; +inf forbids a pair.

    Raises
    ------
    ConfigError
        If `cost` is not a matrix, holds NaN or -inf, has more rows than columns, or if forbidden pairs leave no
        matching: names a row that cannot be placed, and those it competes with.

    Examples
    --------
    Two jobs, three nodes. Both would like node 0, which is worth more to the second.

    >>> found = assign([[4.0, 5.0, 9.0], [2.0, 8.0, 7.0]])
    >>> found.columns.tolist(), found.cost
    ([1, 0], 7.0)

    The proof: no pair is below its labels, and the labels sum to the cost.

    >>> labels = found.row_duals[:, None] + found.column_duals
    >>> bool((labels <= np.array([[4.0, 5.0, 9.0], [2.0, 8.0, 7.0]])).all())
    True
    >>> float(found.row_duals.sum() + found.column_duals.sum())
    7.0

    >>> assign([[1.0, np.inf], [2.0, np.inf]])
    Traceback (most recent call last):
    hetsched.errors.ConfigError: cost: found no column left for row 1: all rows together can use only column 0, \
expected a column for every row
    """
    return Assignment(*_core.assign(_matrix(cost)))


def assign_types(cost: npt.ArrayLike, counts: npt.ArrayLike) -> TypesAssignment:
    """The cheapest matching where row `t` is to be placed ``counts[t]`` times.

    It costs what `assign` would on the matrix with every row repeated, and is found much sooner: with k rows to be
    placed p times in q columns in O(p k² log q).

    Parameters
    ----------
    cost
        What each pair costs, shape (k, q); +inf forbids a pair.
    counts
        How often each row is to be placed, shape (k,); 0 is allowed, and at most q in all.

    Raises
    ------
    ConfigError
        If `cost` is no such matrix, if `counts` are not whole, negative, or more than there are columns, or if
        forbidden pairs leave no matching.

    Examples
    --------
    >>> found = assign_types([[4.0, 5.0, 9.0], [2.0, 8.0, 7.0]], [2, 1])
    >>> [columns.tolist() for columns in found.columns], found.cost
    ([[0, 1], [2]], 16.0)
    """
    matrix = _matrix(cost)
    columns, total, row_duals, column_duals = _core.assign_types(matrix, _counts(counts, *matrix.shape))
    return TypesAssignment(tuple(columns), total, row_duals, column_duals)


def _matrix(cost: npt.ArrayLike) -> Floats:
    found = _numbers("cost", cost, "a matrix of numbers")
    if found.ndim != 2:
        raise ConfigError([("cost", f"an array of shape {found.shape}", "a matrix, of rows and columns")])
    return found


def _counts(counts: npt.ArrayLike, rows: int, columns: int) -> npt.NDArray[np.uint32]:
    found = _numbers("counts", counts, "whole numbers")
    if found.shape != (rows,):
        raise ConfigError([("counts", f"an array of shape {found.shape}", f"shape ({rows},), one a row of `cost`")])
    faults = Faults()
    for place in np.flatnonzero(~((found >= 0) & (found == np.floor(found)) & np.isfinite(found)))[:_SHOWN]:
        faults.add(f"counts[{place}]", float(found[place]), "a whole number, 0 or more")
    faults.check()
    if found.sum() > columns:
        expected = f"at most {columns}, the number of columns of `cost`"
        raise ConfigError([("counts", f"{found.sum():.0f} in all", expected)])
    return found.astype(np.uint32)


def _numbers(name: str, given: npt.ArrayLike, expected: str) -> Floats:
    faults = Faults()
    found = faults.array(name, given, expected)
    faults.check()
    assert found is not None
    # Aligned: a field of a record need not be.
    return np.require(found, np.float64, ["C", "A"])


_SHOWN = 10
