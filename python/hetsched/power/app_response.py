"""What counters say of an application that was never run: its level of watts, and how much it feels each device factor.

The level is learned twice, as a logarithm and in watts (with errors relative to them): draws of components add up in
watts, and their shares show best in logarithms. Both count as their leave-one-out errors say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.power.averaged_curves import Applications, Curve, model_weights
from hetsched.power.checks import Floats
from hetsched.power.kernels import KERNELS, Scaling, kernel_matrices
from hetsched.power.saved import Saved, finite

__all__ = ["AppResponse", "fit_app_response"]

_AT_ONCE = 256
"""Applications predicted at a time, to bound memory."""
_LEAST, _MOST = 0.5, 1.5
"""How far below the least and above the most level it was fitted to a level may lie, as a factor."""
_SLACK = 0.5
"""The same of a loading, as a share of the range."""


@dataclass(frozen=True)
class AppResponse:
    """Functions of features, fitted.

    Parameters
    ----------
    features
        Of the applications they were fitted to, shape (n_apps, n_features).
    curves
        The level's logarithm, the level in watts, and each loading.
    log_share
        How much the first counts against the second, 0 to 1.
    low_w, high_w
        Between which watts a level is predicted.
    least, most
        Between which values each loading is predicted, shape (n_factors,).
    """

    features: Floats
    curves: tuple[Curve, ...]
    log_share: float
    low_w: float
    high_w: float
    least: Floats
    most: Floats

    def __call__(self, features: Floats) -> tuple[Floats, Floats]:
        """Log watts of the mean device, shape (n_apps,), and loadings, shape (n_apps, n_factors).

        Parameters
        ----------
        features
            Shape (n_apps, n_features).
        """
        scaling = Scaling.of(self.features)
        parts = [
            _values(self.curves, scaling, features[start : start + _AT_ONCE], self.features)
            for start in range(0, len(features), _AT_ONCE)
        ]
        values = np.concatenate(parts)
        low, high = np.log([self.low_w, self.high_w])
        from_log = np.clip(values[:, 0], low, high)
        from_watts = np.log(np.clip(values[:, 1], self.low_w, self.high_w))
        loadings = np.clip(values[:, 2:], self.least, self.most)
        return self.log_share * from_log + (1.0 - self.log_share) * from_watts, loadings

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """For files: values that JSON can hold, and arrays."""
        header = {
            "log_share": self.log_share,
            "watts": [self.low_w, self.high_w],
            "centres": [curve.centre for curve in self.curves],
            "reaches": [curve.reach for curve in self.curves],
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "response.features": self.features,
            "response.least": self.least,
            "response.most": self.most,
        }
        for number, curve in enumerate(self.curves):
            arrays[f"response.{number}.kernels"] = curve.kernels
            arrays[f"response.{number}.coefficients"] = curve.coefficients
        return header, arrays

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Saved, n_features: int, n_factors: int) -> AppResponse:
        """From what `state` gave.

        Parameters
        ----------
        header, arrays
            What it gave.
        n_features, n_factors
            Of how many features it is a function, and how many loadings it gives.

        Raises
        ------
        KeyError, ValueError
            If that cannot be it.
        """
        features = arrays.floats("features", None, n_features)
        centres, reaches = (finite(header[name], n_factors + 2) for name in ("centres", "reaches"))
        curves = []
        for number, (centre, reach) in enumerate(zip(centres, reaches, strict=True)):
            kernels = arrays.places(f"{number}.kernels", len(KERNELS))
            coefficients = arrays.floats(f"{number}.coefficients", len(kernels), len(features))
            curves.append(Curve(kernels, coefficients, centre, reach))
        (log_share,), (low_w, high_w) = finite([header["log_share"]], 1), finite(header["watts"], 2)
        if not len(features) or not 0 < low_w <= high_w:
            raise ValueError("no watts to predict between")
        borders = (arrays.floats(name, n_factors) for name in ("least", "most"))
        return cls(features, tuple(curves), log_share, low_w, high_w, *borders)


def fit_app_response(features: Floats, level: Floats, loadings: Floats) -> AppResponse:
    """Learn levels and loadings as functions of features.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    level
        Log watts of the mean device, shape (n_apps,).
    loadings
        Shape (n_apps, n_factors).

    Examples
    --------
    >>> rates = np.linspace(0.0, 1.0, 12)[:, None]
    >>> found = fit_app_response(rates, np.log(100.0 + 50.0 * rates[:, 0]), np.zeros((12, 0)))
    >>> round(float(np.exp(found(np.array([[0.52]]))[0])[0]))
    126
    """
    apps = Applications(features, level)
    watts = np.exp(level)
    low_w, high_w = _LEAST * float(watts.min()), _MOST * float(watts.max())
    weight = np.exp(level.mean()) / watts
    by_log, by_watts = apps.tried(level), apps.tried(watts, weight)
    missed = [by_log.left_out, np.log(np.clip(by_watts.left_out, low_w, high_w))]
    shares = model_weights(np.concatenate(missed) - level[apps.judged])
    of_log, of_watts = shares[: len(by_log.left_out)], shares[len(by_log.left_out) :]
    curves = [apps.curve(by_log, of_log, level), apps.curve(by_watts, of_watts, watts, weight)]
    for loading in loadings.T:
        trials = apps.tried(loading)
        curves.append(apps.curve(trials, model_weights(trials.left_out - loading[apps.judged]), loading))
    slack = _SLACK * np.ptp(loadings, axis=0)
    borders = loadings.min(axis=0) - slack, loadings.max(axis=0) + slack
    return AppResponse(features, tuple(curves), float(of_log.sum() / shares.sum()), low_w, high_w, *borders)


def _values(curves: tuple[Curve, ...], scaling: Scaling, rows: Floats, columns: Floats) -> Floats:
    """Of every curve, shape (n_apps, n_curves)."""
    used = np.unique(np.concatenate([curve.kernels for curve in curves]))
    matrices = kernel_matrices(scaling, rows, columns, used.tolist())
    return np.stack([curve.values(matrices[np.searchsorted(used, curve.kernels)]) for curve in curves], axis=1)
