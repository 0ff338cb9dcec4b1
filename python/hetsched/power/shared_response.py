"""`SharedResponse`: one model of all devices of a kind, in which each borrows from the others what it was not asked.

An application has a level of watts and a few loadings, a device a few factors; the watts of a device under an
application are the level, bent by factors times loadings. Levels and loadings of applications that were never run come
from their counters, those of applications that were run on some devices from these.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.power.app_response import AppResponse, fit_app_response
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.device_factors import fit_device_factors, posterior_factors
from hetsched.power.saved import Saved

__all__ = ["SharedResponse"]

_SHOWN = 10
_MOST_FACTORS = 32
_MOST_DEVICES, _MOST_APPS = 2000, 2000
"""From how many devices and applications at most the shared parts are learned; each device's own from all it ran."""


class SharedResponse(PowerModel):
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

    kind: ClassVar[str] = "shared_response"

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

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
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
    """As many devices as what is shared is learned from; all, if that would leave out an application."""
    some = log_w[_evenly(np.arange(len(log_w)), _MOST_DEVICES)]
    return log_w if np.isnan(some).all(axis=0).any() else some


def _evenly(places: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    """At most so many, evenly out of all; the first and the last among them."""
    if len(places) <= most:
        return np.sort(places)
    return np.sort(places[np.linspace(0, len(places) - 1, most).round().astype(np.intp)])


def _recalled(known: Floats, values: Floats, features: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The values of known applications with the very same features, their mean if there are several.

    Returns
    -------
    tuple
        Values, shape (n_apps, n_values), and for which applications there are any.
    """
    _, group = np.unique(np.concatenate([known, features]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    of_known, asked = group[: len(known)], group[len(known) :]
    count = np.bincount(of_known, minlength=group.max() + 1)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, of_known, values)
    return sums[asked] / np.maximum(count[asked], 1)[:, None], count[asked] > 0
