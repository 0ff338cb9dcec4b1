"""A smooth function of counters from few applications: kernel regressions, averaged by how well each leaves one out.

No one kernel, scale and amount of smoothing is right for every machine, and a few dozen applications do not tell which
is. So many are fitted, each is judged by its exact leave-one-out errors, and their predictions are averaged with
weights that fall with these errors (pseudo Bayesian model averaging, the exponent tempered by one half).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.power.kernels import KERNELS, Scaling, kernel_matrices

__all__ = ["Applications", "Curve", "Trials", "model_weights"]

_NOISE = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0])
"""Of an application, as a share of the function's own variance: from interpolation to hardly more than a mean."""
_TEMPER = 0.5
_CONSTANT = 25.0
"""A priori variance of a function's mean, in units of its own: next to nothing is known of it."""
_MOST_JUDGED = 128
_MOST_INVERTED = 64
"""Small matrices are inverted, one a noise: more work than one decomposition, but none that threads have to share."""
_MOST_FITTED = 4
"""How many regressions are averaged where there are more applications than are judged by."""

Inverses: TypeAlias = tuple[Callable[[Floats], Floats], Floats]


@dataclass(frozen=True)
class Curve:
    """A fitted function of features.

    Parameters
    ----------
    kernels
        Which of `KERNELS` take part.
    coefficients
        On each of these and each application it was fitted to, shape (n_kernels, n_apps).
    centre, reach
        Mean and standard deviation of the values it was fitted to: what the coefficients are relative to.
    """

    kernels: npt.NDArray[np.intp]
    coefficients: Floats
    centre: float
    reach: float

    def values(self, matrices: Floats) -> Floats:
        """The function's values, shape (n_rows,).

        Parameters
        ----------
        matrices
            Its kernels between the rows and the applications it was fitted to, shape (n_kernels, n_rows, n_apps).
        """
        along = np.full(matrices.shape[1], _CONSTANT * self.coefficients.sum())
        for matrix, coefficients in zip(matrices, self.coefficients, strict=True):
            # Not a product of matrices, which would round a row in other ways in other company.
            along += (matrix * coefficients).sum(axis=1)
        return np.asarray(along * self.reach + self.centre)


@dataclass(frozen=True)
class Trials:
    """Regressions on every kernel and with every noise, not averaged yet.

    Parameters
    ----------
    left_out
        What each predicts of each judged application without it, shape (n_kernels × n_noises, n_judged).
    coefficients
        Shape (n_kernels × n_noises, n_judged).
    centre, reach
        As in `Curve`.
    """

    left_out: Floats
    coefficients: Floats
    centre: float
    reach: float


class Applications:
    """Applications that functions are fitted to, with what all functions of the same features have in common.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    values
        One an application: where there are many, those that tell regressions apart lie evenly over its range.
    """

    def __init__(self, features: Floats, values: Floats) -> None:
        self.features = features
        self.scaling = Scaling.of(features)
        places = np.linspace(0, len(values) - 1, min(_MOST_JUDGED, len(values))).round().astype(np.intp)
        self.judged = np.sort(np.argsort(values, kind="stable")[places])

    @cached_property
    def _matrices(self) -> Floats:
        own = self.features[self.judged]
        return kernel_matrices(self.scaling, own, own, range(len(KERNELS))) + _CONSTANT

    @cached_property
    def _plain(self) -> Inverses:
        return _inverses(self._matrices)

    def tried(self, values: Floats, weight: Floats | None = None) -> Trials:
        """Fit every regression to the judged applications.

        Parameters
        ----------
        values
            One an application.
        weight
            One over the standard deviation of an application's noise, relative. None: all alike.
        """
        own = values[self.judged]
        centre, reach = float(values.mean()), float(values.std()) or 1.0
        scale = np.ones(len(own)) if weight is None else weight[self.judged]
        times, diagonal = self._plain if weight is None else _inverses(self._matrices * scale[:, None] * scale)
        coefficients = times((own - centre) / reach * scale)
        # By how much a regression misses a value that it is not shown needs no second fit.
        missed = coefficients / diagonal
        return Trials(own - missed / scale * reach, coefficients * scale, centre, reach)

    def curve(self, trials: Trials, share: Floats, values: Floats, weight: Floats | None = None) -> Curve:
        """Average regressions into one function.

        Parameters
        ----------
        trials
            Of the same values.
        share
            Of each regression; any positive numbers.
        values, weight
            As in `tried`.
        """
        total = share.sum()
        if total == 0:
            return Curve(np.zeros(0, np.intp), np.zeros((0, len(self.features))), trials.centre, trials.reach)
        share = share / total
        if len(self.judged) == len(self.features):
            own = (trials.coefficients * share[:, None]).reshape(len(KERNELS), len(_NOISE), -1).sum(axis=1)
            taken = np.flatnonzero(share.reshape(len(KERNELS), -1).sum(axis=1) > 0)
            return Curve(taken, own[taken], trials.centre, trials.reach)
        best = np.argsort(-share, kind="stable")[:_MOST_FITTED]
        relative = (values - trials.centre) / trials.reach
        solved = [
            part * self._solved(int(number), relative, weight) for number, part in zip(best, share[best], strict=True)
        ]
        return Curve(best // len(_NOISE), np.array(solved) / share[best].sum(), trials.centre, trials.reach)

    def _solved(self, number: int, relative: Floats, weight: Floats | None) -> Floats:
        """One regression's coefficients, fitted to all applications."""
        kernel, noise = divmod(number, len(_NOISE))
        matrix = kernel_matrices(self.scaling, self.features, self.features, [kernel])[0] + _CONSTANT
        matrix[np.diag_indices_from(matrix)] += _NOISE[noise] / (1.0 if weight is None else weight**2)
        return np.linalg.solve(matrix, relative)


def model_weights(errors: Floats) -> Floats:
    """How much each model counts, from its leave-one-out errors; the best counts 1.

    Parameters
    ----------
    errors
        Shape (n_models, n_apps).

    Source
    ------
    Yao, Vehtari, Simpson & Gelman, Using stacking to average Bayesian predictive distributions, 2018: pseudo-BMA.

    Examples
    --------
    >>> model_weights(np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]])).tolist()
    [1.0, 0.25]
    """
    mean_square = np.maximum((errors**2).mean(axis=1), 1e-12)
    shares = np.exp(-_TEMPER * errors.shape[1] / 2 * np.log(mean_square / mean_square.min()))
    return np.where(shares > 1e-4, shares, 0.0)


def _inverses(matrices: Floats) -> Inverses:
    """The inverses of all matrices with every noise on their diagonals: their product with values, their diagonals."""
    n_matrices, count, _ = matrices.shape
    shape = n_matrices * len(_NOISE), count
    if count <= _MOST_INVERTED:
        noisy = matrices[:, None] + _NOISE[:, None, None] * np.eye(count)
        inverse = np.linalg.inv(noisy).reshape(*shape, count)
        return (lambda values: inverse @ values), np.einsum("cnn->cn", inverse)
    # One by one: together they take so long that Ctrl-C would be heeded late.
    sizes, vectors = map(np.array, zip(*map(np.linalg.eigh, matrices), strict=True))
    inverse = 1.0 / (np.maximum(sizes, 0.0)[:, :, None] + _NOISE)
    diagonal = (vectors**2 @ inverse).transpose(0, 2, 1).reshape(shape)

    def times(values: Floats) -> Floats:
        along = np.einsum("knm,n->km", vectors, values)[:, :, None]
        return np.asarray((vectors @ (along * inverse)).transpose(0, 2, 1).reshape(shape))

    return times, diagonal
