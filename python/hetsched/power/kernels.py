"""How alike two applications are, by their counters: the kernels that a smooth function of features is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from hetsched.power.checks import Floats

__all__ = ["KERNELS", "Kernel", "Scaling", "kernel_matrices"]
Scale = Literal["plain", "root", "log"]

_STEEPNESS = 3.0
"""Of the logarithmic scale: a feature's mean stands at log(1 + 3)."""


@dataclass(frozen=True)
class Kernel:
    """A Matérn kernel of smoothness 5/2, and a share of a linear one.

    Parameters
    ----------
    scale
        On which features are taken: as they are, their square roots or their logarithms.
    length
        Distance over which functions change, in standard deviations of a feature.
    linear
        Variance of the linear part, in units of the other's.
    additive
        Whether it is a mean of kernels of single features, so that effects of features add up.
    """

    scale: Scale
    length: float
    linear: float
    additive: bool


_SCALES: tuple[Scale, ...] = ("plain", "root", "log")
_LENGTHS = (0.5, 1.5, 4.0)
_LINEAR = (0.1, 1.0)
KERNELS = tuple(Kernel(*own) for own in product(_SCALES, _LENGTHS, _LINEAR, (False, True)))
"""All that are tried."""


@dataclass(frozen=True)
class Scaling:
    """What makes features comparable, learned from some applications.

    Parameters
    ----------
    size
        Mean absolute value of each feature; 1 where it is 0.
    mean, deviation
        Of each feature on each scale, shape (3, n_features); the deviation of a constant feature is infinite, so
        that it tells nothing.
    """

    size: Floats
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: Floats) -> Scaling:
        """Learn it.

        Parameters
        ----------
        features
            Shape (n_apps, n_features).

        Examples
        --------
        >>> scaling = Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
        >>> scaling(np.array([[1.0, 5.0], [3.0, 7.0]]), "plain").tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
        """
        size = np.abs(features).mean(axis=0)
        size = np.where(size > 0, size, 1.0)
        taken = np.array([_taken(features / size, scale) for scale in _SCALES])
        deviation = taken.std(axis=1)
        # Rounding leaves a constant feature a deviation that is not quite 0.
        return cls(size, taken.mean(axis=1), np.where(deviation > 1e-9, deviation, np.inf))

    def __call__(self, features: Floats, scale: Scale) -> Floats:
        """Features on a scale, with mean 0 and deviation 1 over the applications it was learned from.

        Parameters
        ----------
        features
            Shape (n_apps, n_features).
        scale
            Which.
        """
        place = _SCALES.index(scale)
        return np.asarray((_taken(features / self.size, scale) - self.mean[place]) / self.deviation[place])


def kernel_matrices(scaling: Scaling, rows: Floats, columns: Floats, which: Sequence[int]) -> Floats:
    """Kernels between two sets of applications.

    Parameters
    ----------
    scaling
        Of the features.
    rows, columns
        Features of both, shapes (n, n_features) and (m, n_features).
    which
        Places in `KERNELS`.

    Returns
    -------
    numpy.ndarray
        Shape (len(which), n, m).

    Examples
    --------
    >>> features = np.array([[0.0], [2.0], [2.0]])
    >>> found = kernel_matrices(Scaling.of(features), features, features, range(len(KERNELS)))
    >>> found.shape, bool(np.allclose(found[:, 1, 1], found[:, 1, 2]))
    ((36, 3, 3), True)
    """
    found = np.empty((len(which), len(rows), len(columns)))
    known: dict[Scale, tuple[Floats, Floats]] = {}
    for place, number in enumerate(which):
        kernel = KERNELS[number]
        if kernel.scale not in known:
            known[kernel.scale] = scaling(rows, kernel.scale), scaling(columns, kernel.scale)
        found[place] = _matrix(kernel, *known[kernel.scale])
    return found


def _matrix(kernel: Kernel, rows: Floats, columns: Floats) -> Floats:
    # Feature by feature: a product of matrices would round a row in other ways in other company.
    smooth, products = np.zeros((2, len(rows), len(columns)))
    for own, other in zip(rows.T, columns.T, strict=True):
        squares = (own[:, None] - other) ** 2
        smooth += _matern(squares, kernel.length) if kernel.additive else squares
        products += own[:, None] * other
    smooth /= rows.shape[1]
    if not kernel.additive:
        smooth = _matern(smooth, kernel.length)
    return np.asarray(smooth + kernel.linear * products / rows.shape[1])


def _matern(squares: Floats, length: float) -> Floats:
    distance = np.sqrt(5.0 * squares) / length
    return np.asarray((1.0 + distance + distance**2 / 3.0) * np.exp(-distance))


def _taken(relative: Floats, scale: Scale) -> Floats:
    if scale == "plain":
        return relative
    # Counters are not negative; features that are keep their sign.
    size = np.abs(relative)
    return np.copysign(np.sqrt(size) if scale == "root" else np.log1p(_STEEPNESS * size), relative)
