"""`SharedResponse`: one model of all devices of a kind, in which each borrows from the others what it was not asked.

An application has a level of watts and a few loadings, a device a few factors; the watts of a device under an
application are the level, bent by factors times loadings. Levels and loadings of applications that were never run come
from their counters, those of applications that were run on some devices from these.

The level is learned twice, as a logarithm and in watts (with errors relative to them): draws of components add up in
watts, and their shares show best in logarithms. Both count as their leave-one-out errors say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.naming import named_in
from hetsched.power.checks import Floats
from hetsched.power.models.archive import Saved, finite
from hetsched.power.models.curves import KERNELS, Applications, Curve, Scaling, kernel_matrices, model_weights
from hetsched.power.models.device_factors import fit_device_factors, posterior_factors
from hetsched.power.models.learners import State
from hetsched.power.models.model import PowerModel
from hetsched.threads import one_blas_thread

_SHOWN = 10
_MOST_FACTORS = 32
_MOST_DEVICES, _MOST_APPS = 2000, 2000
"""From how many devices and applications at most the shared parts are learned; each device's own from all it ran."""

_AT_ONCE = 256
"""Applications predicted at a time, to bound memory."""
_LEAST, _MOST = 0.5, 1.5
"""Factor by which a level may lie below the least and above the largest level it was fitted to."""
_SLACK = 0.5
"""The same of a loading, as a share of the range."""


@named_in("hetsched.power")
class SharedResponse(PowerModel, kind="shared_response"):
    """A mixed-effects model: ``log P_ij = m_j + l_j · z_i``, with what is unknown drawn towards what is shared.

    Of an application that was fitted (known by its features, which have to be the same numbers), `m` and `l` are those
    of its measurements; of another they are smooth functions of its features. `z` is what a device's measurements say,
    drawn towards the mean device the more the fewer they are: one measurement is enough to begin with. Applications
    with the same features are one application.

    Parameters
    ----------
    factors
        In how many ways devices may differ at most, 0 to 32; fewer where there are fewer devices or applications.

    Attributes
    ----------
    factors_
        `z`, shape (n_devices, n_factors), mean 0 and standard deviation 1 over devices.
    level_, loadings_
        `m` (log watts) and `l` of the fitted applications, shapes (n_apps,) and (n_apps, n_factors).
    features_
        Of these applications.
    response_
        From features to levels and loadings.
    noise_
        Standard deviation of what is left, as a share of the watts, shape (n_apps,).

    Examples
    --------
    >>> from hetsched.power.synthetic import synthetic_profiles
    >>> drawn = synthetic_profiles("p100", devices=32, seed=1)
    >>> watts = drawn.power_w.copy()
    >>> watts[31, 1:] = np.nan  # a new device: one test run
    >>> model = SharedResponse().fit(drawn.features, watts)
    >>> predicted = model.predict(drawn.features)
    >>> bool(np.abs(predicted[31] / drawn.power_w[31] - 1).mean() < 0.03)
    True
    """

    def __init__(self, factors: int = 6) -> None:
        self.factors = factors

    factors_: Floats
    level_: Floats
    loadings_: Floats
    noise_: Floats
    features_: Floats
    response_: AppResponse

    def _check(self, faults: Faults) -> None:
        faults.whole("factors", self.factors, low=0, high=_MOST_FACTORS)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        _check_watts(power_w)
        log_w = np.log(power_w)
        shared = fit_device_factors(_of_some_devices(log_w), factors=self.factors)
        self.factors_ = posterior_factors(log_w, shared)
        self.level_, self.loadings_, self.noise_ = shared.level, shared.loadings, np.sqrt(shared.noise)
        self.features_ = features
        some = _evenly(np.argsort(shared.level, kind="stable"), _MOST_APPS)
        self.response_ = fit_app_response(features[some], shared.level[some], shared.loadings[some])

    def _watts(self, features: Floats) -> Floats:
        level, loadings = self.response_(features)
        own, is_known = _recalled(self.features_, np.column_stack([self.level_, self.loadings_]), features)
        level = np.where(is_known, own[:, 0], level)
        loadings = np.where(is_known[:, None], own[:, 1:], loadings)
        log_w = np.tile(level, (len(self.factors_), 1))
        for factor, loading in zip(self.factors_.T, loadings.T, strict=True):
            log_w += factor[:, None] * loading
        return np.asarray(np.exp(log_w))

    def _state(self) -> State:
        header, arrays = self.response_.state()
        own = {name: getattr(self, name + "_") for name in ("factors", "level", "loadings", "noise", "features")}
        return header, {**arrays, **own}

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        self.factors_ = arrays.floats("factors", self.n_devices_, None)
        self.level_ = arrays.floats("level", None)
        n_apps, n_factors = len(self.level_), self.factors_.shape[1]
        self.loadings_ = arrays.floats("loadings", n_apps, n_factors)
        self.noise_ = arrays.floats("noise", n_apps)
        self.features_ = arrays.floats("features", n_apps, self.n_features_in_)
        self.response_ = AppResponse.restored(header, arrays.inside("response"), self.n_features_in_, n_factors)


def _check_watts(power_w: Floats) -> None:
    """Refuse 0 W, of which there is no logarithm."""
    faults = Faults()
    for device, app in np.argwhere(power_w == 0.0)[:_SHOWN]:
        faults.add(f"power_w[device {device}, application {app}]", 0.0, "more than 0 W; NaN = not measured")
    faults.check()


def _of_some_devices(log_w: Floats) -> Floats:
    """Devices from which the shared part is learned; all, if that would leave out an application."""
    some = log_w[_evenly(np.arange(len(log_w)), _MOST_DEVICES)]
    return log_w if np.isnan(some).all(axis=0).any() else some


def _evenly(places: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    """At most so many, evenly out of all; the first and the last among them."""
    if len(places) <= most:
        return np.sort(places)
    return np.sort(places[np.linspace(0, len(places) - 1, most).round().astype(np.intp)])


def _recalled(known: Floats, values: Floats, features: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Mean value of the known applications with the very same features, and for which applications there are any."""
    _, group = np.unique(np.concatenate([known, features]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    of_known, asked = group[: len(known)], group[len(known) :]
    count = np.bincount(of_known, minlength=group.max() + 1)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, of_known, values)
    return sums[asked] / np.maximum(count[asked], 1)[:, None], count[asked] > 0


@dataclass(frozen=True)
class AppResponse:
    """Functions of features, fitted: the level's logarithm, the level in watts, and each loading.

    `log_share` is how much the first counts against the second. A level is predicted between `low_w` and `high_w`, a
    loading between `least` and `most`.
    """

    features: Floats
    curves: tuple[Curve, ...]
    log_share: float
    low_w: float
    high_w: float
    least: Floats
    most: Floats

    def __call__(self, features: Floats) -> tuple[Floats, Floats]:
        """Log watts of the mean device, shape (n_apps,), and loadings, shape (n_apps, n_factors)."""
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

    def state(self) -> State:
        """State for files: values that JSON can hold, and arrays."""
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
        """From what `state` gave."""
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


@one_blas_thread
def fit_app_response(features: Floats, level: Floats, loadings: Floats) -> AppResponse:
    """Learn levels and loadings as functions of features."""
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
    """Values of every curve, shape (n_apps, n_curves)."""
    used = np.unique(np.concatenate([curve.kernels for curve in curves]))
    matrices = kernel_matrices(scaling, rows, columns, used.tolist())
    return np.stack([curve.values(matrices[np.searchsorted(used, curve.kernels)]) for curve in curves], axis=1)
