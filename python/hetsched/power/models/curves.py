"""A smooth function of counters from few applications: kernel regressions, averaged by how well each leaves one out.

No one kernel, scale and amount of smoothing is right for every machine, and a few dozen applications do not show which
is. So many are fitted, each is judged by its exact leave-one-out errors, and their predictions are averaged with
weights that fall with these errors (pseudo Bayesian model averaging, the exponent tempered by one half).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.typing import CurveScale

_STEEPNESS = 3.0
"""Steepness of the logarithmic scale: a feature's mean stands at log(1 + 3)."""


@dataclass(frozen=True)
class Kernel:
    """A Matérn kernel of smoothness 5/2, and a share of a linear one: how alike two applications are.

    `length` is in standard deviations of a feature on its scale, `linear` a variance in units of the other part's. An
    additive kernel is a mean of kernels of single features, so that effects of features add up.
    """

    scale: CurveScale
    length: float
    linear: float
    additive: bool


_SCALES: tuple[CurveScale, ...] = get_args(CurveScale)
_LENGTHS = (0.5, 1.5, 4.0)
_LINEAR = (0.1, 1.0)
KERNELS = tuple(Kernel(*own) for own in product(_SCALES, _LENGTHS, _LINEAR, (False, True)))
"""All that are tried."""


@dataclass(frozen=True)
class Scaling:
    """Scales of features: their mean size, and mean and deviation on each scale, shape (3, n_features).

    The deviation of a constant feature is infinite, so that it shows nothing.
    """

    size: Floats
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: Floats) -> Scaling:
        """Learned from some applications."""
        size = np.abs(features).mean(axis=0)
        size = np.where(size > 0, size, 1.0)
        taken = np.array([_taken(features / size, scale) for scale in _SCALES])
        deviation = taken.std(axis=1)
        # Rounding leaves a constant feature a deviation that is not quite 0.
        return cls(size, taken.mean(axis=1), np.where(deviation > 1e-9, deviation, np.inf))

    def __call__(self, features: Floats, scale: CurveScale) -> Floats:
        """Features on a scale, with mean 0 and deviation 1 over the applications it was learned from."""
        place = _SCALES.index(scale)
        return np.asarray((_taken(features / self.size, scale) - self.mean[place]) / self.deviation[place])


def kernel_matrices(scaling: Scaling, rows: Floats, columns: Floats, which: Sequence[int]) -> Floats:
    """Some of `KERNELS` between two sets of applications, shape (len(which), n_rows, n_columns)."""
    found = np.empty((len(which), len(rows), len(columns)))
    sides: dict[CurveScale, tuple[Floats, Floats]] = {}
    products: dict[CurveScale, Floats] = {}
    smooth: dict[tuple[CurveScale, float, bool], Floats] = {}
    for place, number in enumerate(which):
        kernel = KERNELS[number]
        if kernel.scale not in sides:
            sides[kernel.scale] = scaling(rows, kernel.scale), scaling(columns, kernel.scale)
            products[kernel.scale] = _products(*sides[kernel.scale])
        key = kernel.scale, kernel.length, kernel.additive
        if key not in smooth:
            smooth[key] = _smooth(kernel, *sides[kernel.scale])
        np.multiply(kernel.linear, products[kernel.scale], out=found[place])
        found[place] /= rows.shape[1]
        found[place] += smooth[key]
    return found


def _products(rows: Floats, columns: Floats) -> Floats:
    # Feature by feature: a product of matrices would round a row in other ways in other company.
    found = np.zeros((len(rows), len(columns)))
    for own, other in zip(rows.T, columns.T, strict=True):
        found += own[:, None] * other
    return found


def _smooth(kernel: Kernel, rows: Floats, columns: Floats) -> Floats:
    found = np.zeros((len(rows), len(columns)))
    for own, other in zip(rows.T, columns.T, strict=True):
        squares = own[:, None] - other
        squares *= squares
        found += _matern(squares, kernel.length) if kernel.additive else squares
    found /= rows.shape[1]
    return found if kernel.additive else _matern(found, kernel.length)


def _matern(squares: Floats, length: float) -> Floats:
    """``(1 + d + d² / 3) exp(-d)`` of the scaled distance d, in place where it can be: these are large matrices."""
    distance = np.sqrt(5.0 * squares)
    distance /= length
    found = distance * distance
    found /= 3.0
    found += 1.0 + distance
    np.negative(distance, out=distance)
    found *= np.exp(distance, out=distance)
    return found


def _taken(relative: Floats, scale: CurveScale) -> Floats:
    if scale == "plain":
        return relative
    # Counters are not negative; features that are keep their sign.
    size = np.abs(relative)
    return np.copysign(np.sqrt(size) if scale == "root" else np.log1p(_STEEPNESS * size), relative)


_NOISE = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0])
"""Noise of an application, as a share of the function's own variance: from interpolation to hardly more than a mean."""
_TEMPER = 0.5
_CONSTANT = 25.0
"""A priori variance of a function's mean, in units of its own: next to nothing is known of it."""
_MOST_JUDGED = 128
_MOST_INVERTED = 64
"""Small matrices are inverted, one a noise: more work than one decomposition, but none that threads have to share."""
_MOST_FITTED = 4
"""Number of regressions that are averaged where there are more applications than are judged by."""

Inverses: TypeAlias = tuple[Callable[[Floats], Floats], Floats]


@dataclass(frozen=True)
class Curve:
    """A fitted function of features: coefficients on each of its kernels and each application it was fitted to.

    They are relative to `centre` and `reach`, mean and standard deviation of the values it was fitted to.
    """

    kernels: npt.NDArray[np.intp]
    coefficients: Floats
    centre: float
    reach: float

    def values(self, matrices: Floats) -> Floats:
        """The function's values, from its kernels between the rows and the applications it was fitted to."""
        along = np.full(matrices.shape[1], _CONSTANT * self.coefficients.sum())
        for matrix, coefficients in zip(matrices, self.coefficients, strict=True):
            # Not a product of matrices, which would round a row in other ways in other company.
            along += (matrix * coefficients).sum(axis=1)
        return np.asarray(along * self.reach + self.centre)


@dataclass(frozen=True)
class Trials:
    """Regressions on every kernel and with every noise, not averaged yet: a row each, a column a judged application.

    `left_out` is what each predicts of an application without it.
    """

    left_out: Floats
    coefficients: Floats
    centre: float
    reach: float


class Applications:
    """Applications that functions are fitted to, with what all functions of the same features have in common.

    Where there are many, those that distinguish regressions lie evenly over the range of `values`.
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
        """Fit every regression to the judged applications; `weight` is one over the noise of each, None: all alike."""
        own = values[self.judged]
        centre, reach = float(values.mean()), float(values.std()) or 1.0
        scale = np.ones(len(own)) if weight is None else weight[self.judged]
        times, diagonal = self._plain if weight is None else _inverses(self._matrices * scale[:, None] * scale)
        coefficients = times((own - centre) / reach * scale)
        # By how much a regression misses a value that it is not shown needs no second fit.
        missed = coefficients / diagonal
        return Trials(own - missed / scale * reach, coefficients * scale, centre, reach)

    def curve(self, trials: Trials, share: Floats, values: Floats, weight: Floats | None = None) -> Curve:
        """Average regressions into one function."""
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
    """Weight of each model, from its leave-one-out errors; the best has 1.

    Yao, Vehtari, Simpson & Gelman, Using stacking to average Bayesian predictive distributions, 2018: pseudo-BMA.
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
