"""Correlation between a node's draws under several applications: checked and factored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.variation.frame import Matrix

# Sums of a few hundred products of numbers up to 1 are off by no more.
_ROUNDING = 1e-9


def app_correlation(correlation: float | npt.ArrayLike, size: int, faults: Faults) -> Matrix:
    """The correlation matrix of applications, from one number for all pairs or a whole matrix; notes faults."""
    if np.ndim(correlation) if isinstance(correlation, np.ndarray) else isinstance(correlation, Sequence):
        return _given(correlation, size, faults)
    faults.number("correlation", correlation, low=-1.0, high=1.0)
    matrix = np.full((size, size), np.nan if faults.found else correlation, dtype=np.float64)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def component_correlation(
    keys: Sequence[tuple[str, str]],
    between_apps: float | Mapping[str, float],
    within_app: float | Mapping[tuple[str, str], float],
    correlation: npt.ArrayLike | None,
    faults: Faults,
) -> Matrix:
    """The correlation matrix of components by application; notes faults."""
    if correlation is not None:
        return _given(correlation, len(keys), faults)
    apps, components = (np.array([key[part] for key in keys], dtype=object) for part in (0, 1))
    names = list(dict.fromkeys(components))
    between = _per_component(between_apps, names, faults)
    within = _per_pair(within_app, names, faults)
    place = np.array([names.index(name) for name in components], dtype=np.int64)
    same_app = apps[:, None] == apps[None, :]
    own = between[place]
    mean = np.sqrt(np.maximum(own[:, None] * own[None, :], 0.0)) * np.sign(own[:, None])
    same = np.where(place[:, None] == place[None, :], own[:, None], within[np.ix_(place, place)] * mean)
    matrix = np.where(same_app, within[np.ix_(place, place)], same)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def lower_factor(correlation: Matrix, faults: Faults) -> Matrix:
    """The lower triangular factor ``L`` of a correlation matrix, ``L @ L.T`` = the matrix.

    Rows depend on those above them only: one more row leaves the draws of the others as they were. A matrix that is
    singular (two draws that are always equal) is fine.
    """
    size = len(correlation)
    if faults.found or not size:
        return np.eye(size)
    least = float(np.linalg.eigvalsh(correlation)[0])
    if least < -_ROUNDING * size:
        expected = "a correlation that draws can have: no eigenvalue below 0"
        faults.add("correlation", f"a matrix with eigenvalue {least:.3g}", expected)
        return np.eye(size)
    factor = np.zeros((size, size))
    for column in range(size):
        rest = correlation[column:, column] - factor[column:, :column] @ factor[column, :column]
        # A pivot of nothing but rounding: the row follows from those above it.
        if rest[0] > _ROUNDING * size:
            factor[column:, column] = rest / np.sqrt(rest[0])
    return factor


def _given(correlation: npt.ArrayLike, size: int, faults: Faults) -> Matrix:
    try:
        matrix = np.asarray(correlation, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add("correlation", correlation, "numbers between -1 and 1")
        return np.eye(size)
    if matrix.shape != (size, size):
        faults.add("correlation", f"shape {matrix.shape}", f"shape {(size, size)}")
        return np.eye(size)
    if not (np.abs(matrix) <= 1 + _ROUNDING).all():
        bad = matrix[~(np.abs(matrix) <= 1 + _ROUNDING)]
        faults.add("correlation", float(bad[0]), "numbers between -1 and 1")
    elif not np.allclose(matrix, matrix.T, atol=_ROUNDING) or not np.allclose(np.diag(matrix), 1.0, atol=_ROUNDING):
        faults.add("correlation", "another matrix", "a symmetric matrix with 1 on its diagonal")
    return matrix


def _per_component(given: float | Mapping[str, float], names: Sequence[str], faults: Faults) -> Matrix:
    if not isinstance(given, Mapping):
        faults.number("between_apps", given, low=-1.0, high=1.0)
        return np.full(len(names), np.nan if faults.found else given)
    for name, value in given.items():
        faults.number(f"between_apps[{name}]", value, low=-1.0, high=1.0)
        if name not in names:
            faults.add(f"between_apps[{name}]", value, f"a component: {listed(names)}{did_you_mean(name, names)}")
    return np.array([np.nan if faults.found else given.get(name, 0.0) for name in names])


def _per_pair(given: float | Mapping[tuple[str, str], float], names: Sequence[str], faults: Faults) -> Matrix:
    matrix = np.eye(len(names))
    if not isinstance(given, Mapping):
        faults.number("within_app", given, low=-1.0, high=1.0)
        return np.where(matrix == 1, 1.0, np.nan if faults.found else given)
    for pair, value in given.items():
        name = f"within_app[{', '.join(pair)}]"
        faults.number(name, value, low=-1.0, high=1.0)
        if len(set(pair)) != 2 or not set(pair) <= set(names):
            faults.add(name, value, f"a pair of different components: {listed(names)}")
        elif not faults.found:
            one, other = (names.index(component) for component in pair)
            matrix[one, other] = matrix[other, one] = value
    return matrix
