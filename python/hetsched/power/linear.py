"""Linear regression for many targets at once.

Least squares on features that are shifted and scaled to mean 0 and standard deviation 1. Where fewer applications than
features (or features that depend on each other) leave more than one best fit, it takes the one with the smallest
coefficients of scaled features; a feature that never varies gets coefficient 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.power.saved import Saved

__all__ = ["LinearFit", "fit_linear"]

_CUT = 1e-10
"""Singular values below this share of the largest are taken for 0: directions in which features do not vary."""


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A line (a plane, in more features) for each target.

    Parameters
    ----------
    intercepts
        Shape (n_targets,).
    coefficients
        Shape (n_targets, n_features), per unit of the feature less its `centre`.
    centre
        Shape (n_features,).
    """

    kind: ClassVar[str] = "linear"

    intercepts: Floats
    coefficients: Floats
    centre: Floats

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        # Not a matrix product: libraries sum those in an order that depends on sizes and on the number of threads.
        found = np.repeat(self.intercepts[:, None], len(features), axis=1)
        for of_targets, of_apps in zip(self.coefficients.T, (features - self.centre).T, strict=True):
            found += of_targets[:, None] * of_apps
        return found

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """For files."""
        return {"intercepts": self.intercepts, "coefficients": self.coefficients, "centre": self.centre}

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> LinearFit:
        """From what `state` gave."""
        intercepts = arrays.floats("intercepts", None)
        coefficients = arrays.floats("coefficients", len(intercepts), n_features)
        return cls(intercepts, coefficients, arrays.floats("centre", n_features))


def fit_linear(features: Floats, targets: Floats) -> LinearFit:
    """Fit every target on the applications that it has.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.

    Examples
    --------
    Two applications and two features: of all planes through both points, the flattest. Both features say the same.

    >>> fit = fit_linear(np.array([[0.0, 0.0], [2.0, 20.0]]), np.array([[100.0, 140.0]]))
    >>> fit.predict(np.array([[1.0, 10.0]])).round(9).tolist()
    [[120.0]]
    >>> (fit.coefficients * [2.0, 20.0]).round(9).tolist()
    [[20.0, 20.0]]
    """
    centre = features.mean(axis=0)
    shifted = features - centre
    # In units of the range, lest squares of tiny numbers be 0. Of equal numbers the mean may be off by a rounding.
    reach = np.ptp(features, axis=0)
    spread = reach * np.sqrt((np.divide(shifted, reach, out=np.zeros_like(shifted), where=reach > 0) ** 2).mean(axis=0))
    scaled = np.divide(shifted, spread, out=np.zeros_like(shifted), where=spread > 0)
    solved = np.empty((len(targets), 1 + features.shape[1]))
    patterns, pattern_of = np.unique(~np.isnan(targets), axis=0, return_inverse=True)
    for position, is_known in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == position)
        solved[rows] = _least_squares(scaled[is_known], targets[np.ix_(rows, np.flatnonzero(is_known))])
    coefficients = np.divide(solved[:, 1:], spread, out=np.zeros((len(targets), len(spread))), where=spread > 0)
    return LinearFit(solved[:, 0], coefficients, centre)


def _least_squares(scaled: Floats, targets: Floats) -> Floats:
    """Intercept and coefficients of each target; all applications are known to all of them."""
    middle, level = scaled.mean(axis=0), targets.mean(axis=1)
    triangle, turned = _turned(scaled - middle, targets - level[:, None])
    left, values, right = np.linalg.svd(triangle, full_matrices=False)
    # Beside the spread of all applications, which is 1, not beside the largest value: it may be none itself.
    is_used = values > _CUT * np.sqrt(len(scaled))
    solver = (right[is_used].T / values[is_used]) @ left[:, is_used].T
    slopes = np.zeros((len(targets), scaled.shape[1]))
    for of_row, of_targets in zip(solver.T, turned.T, strict=True):
        slopes += of_targets[:, None] * of_row
    return np.column_stack([level - (slopes * middle).sum(axis=1), slopes])


def _turned(matrix: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """The matrix reduced to as many rows as it has columns by reflections (Householder), and the targets with it.

    The sums are numpy's own, row by row, so that neither other targets nor the number of threads change a bit; what is
    left to a library is as small as the number of features.
    """
    rows = matrix.T.copy()
    turned = targets.copy()
    size = min(matrix.shape)
    for step in range(size):
        axis = np.zeros(len(matrix))
        axis[step:] = rows[step, step:]
        length = np.sqrt((axis**2).sum())
        axis[step] += np.copysign(length, axis[step])
        norm = (axis**2).sum()
        if norm > 0:
            rows -= (2.0 / norm * (rows * axis).sum(axis=1))[:, None] * axis
            turned -= (2.0 / norm * (turned * axis).sum(axis=1))[:, None] * axis
    return rows[:, :size].T, turned[:, :size]
