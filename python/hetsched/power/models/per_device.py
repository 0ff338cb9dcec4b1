"""Models that learn with regressors: one for each device, one for the mean and each deviation, or one for a reference.

A named learner fits all devices at once, any other regressor of scikit-learn a clone for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.naming import named_in
from hetsched.power.checks import Floats
from hetsched.power.models.archive import Saved
from hetsched.power.models.learners import Fit, Learner, State, check_learner, learned, packed, unpacked
from hetsched.power.models.model import PowerModel


@named_in("hetsched.power")
class TwoStage(PowerModel, kind="two_stage"):
    """Two-stage modelling with variation awareness (TSMVA): mean over devices, then each device's deviation.

    Stage 1 learns ``f1(x_j)``, the mean over devices of application j's watts; stage 2 for each device i ``f2_i(x_j)``,
    what its measured watts differ from stage 1's answer. The prediction is ``f1(x_j) + f2_i(x_j)`` (equations 2 to 4
    of the paper on VAHRM and TSMVA).

    Where not every device was measured under every application, the mean is what a device that is neither better nor
    worse than the others would draw, so it does not follow who was measured. A device with fewer than `min_apps`
    measured applications gets no model of its own: its deviation is the mean of what was measured.

    Parameters
    ----------
    mean_model
        Learner of stage 1: ``"linear"``, ``"random_forest"``, ``"lightgbm"``, or any regressor of scikit-learn.
    device_model
        Learner of stage 2. The trees of ``"random_forest"`` are shared by all devices that were measured under the same
        applications; a regressor of scikit-learn, such as ``RandomForestRegressor()``, is fitted to each device alone,
        as the paper does it.
    seed
        Of all draws, 0 to 2³² - 1.
    min_apps
        The least number of measured applications for a device model, at least 1.

    Attributes
    ----------
    mean_model_, device_models_
        What the stages learned; the latter None if no device has enough measurements.
    fallback_devices_
        Devices without a model of their own, ascending.
    offsets_w_
        Their mean deviations, W.

    Examples
    --------
    >>> features = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> power_w = np.array([[110.0, 120.0, 130.0, 140.0], [114.0, 128.0, 142.0, 156.0]])
    >>> model = TwoStage(mean_model="linear", device_model="linear").fit(features, power_w)
    >>> model.predict([[5.0]]).round(6).tolist()
    [[150.0], [170.0]]
    """

    def __init__(
        self,
        mean_model: Learner = "random_forest",
        device_model: Learner = "random_forest",
        *,
        seed: int = 0,
        min_apps: int = 3,
    ) -> None:
        self.mean_model = mean_model
        self.device_model = device_model
        self.seed = seed
        self.min_apps = min_apps

    mean_model_: Fit
    device_models_: Fit | None
    fallback_devices_: npt.NDArray[np.intp]
    offsets_w_: Floats

    def _check(self, faults: Faults) -> None:
        check_learner("mean_model", self.mean_model, faults)
        check_learner("device_model", self.device_model, faults)
        faults.whole("min_apps", self.min_apps, low=1, high=1_000_000)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        mean_w = app_means(power_w)[None, :]
        stage = "power.two_stage"
        self.mean_model_ = learned(
            self.mean_model, features, mean_w, seed=self.seed, purpose=f"{stage}.mean", names=None
        )
        deviation = power_w - self.mean_model_.predict(features)
        is_few = (~np.isnan(power_w)).sum(axis=1) < self.min_apps
        self.fallback_devices_ = np.flatnonzero(is_few)
        self.offsets_w_ = np.nanmean(deviation[is_few], axis=1) if is_few.any() else np.empty(0)
        self.device_models_ = None
        if not is_few.all():
            names = np.flatnonzero(~is_few)
            self.device_models_ = learned(
                self.device_model, features, deviation[names], seed=self.seed, purpose=f"{stage}.device", names=names
            )

    def _watts(self, features: Floats) -> Floats:
        deviation = np.empty((self.n_devices_, len(features)))
        deviation[self.fallback_devices_] = self.offsets_w_[:, None]
        if self.device_models_ is not None:
            has_model = np.ones(self.n_devices_, dtype=bool)
            has_model[self.fallback_devices_] = False
            deviation[has_model] = self.device_models_.predict(features)
        return np.asarray(self.mean_model_.predict(features) + deviation)

    def _state(self) -> State:
        fits = {"mean": self.mean_model_}
        if self.device_models_ is not None:
            fits["device"] = self.device_models_
        header, arrays = packed(fits)
        return header, {**arrays, "fallback_devices": self.fallback_devices_, "offsets_w": self.offsets_w_}

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        self.fallback_devices_ = arrays.places("fallback_devices", self.n_devices_, ascending=True)
        self.offsets_w_ = arrays.floats("offsets_w", len(self.fallback_devices_))
        n_models, n_features = self.n_devices_ - len(self.fallback_devices_), self.n_features_in_
        self.mean_model_ = unpacked("mean", header, arrays, n_targets=1, n_features=n_features)
        self.device_models_ = None
        if n_models:
            self.device_models_ = unpacked("device", header, arrays, n_targets=n_models, n_features=n_features)


@named_in("hetsched.power")
class SingleStage(PowerModel, kind="single_stage"):
    """Variability-Trained Prediction (VTP): each device's watts learned without a model of what devices share.

    It is what two-stage models are measured against. A device is fitted on the applications that it has, however few
    they are: with one, its prediction is that measurement.

    Parameters
    ----------
    model
        The learner: ``"linear"``, ``"random_forest"``, ``"lightgbm"``, or any regressor of scikit-learn. The trees of
        ``"random_forest"`` are shared by all devices that were measured under the same applications; a regressor such
        as ``RandomForestRegressor()`` is fitted to each device alone.
    seed
        Of all draws, 0 to 2³² - 1.

    Attributes
    ----------
    device_models_
        What was learned.

    Examples
    --------
    >>> model = SingleStage(model="linear").fit([[1.0], [2.0]], [[110.0, 120.0], [110.0, 130.0]])
    >>> model.predict([[3.0]]).round(6).tolist()
    [[130.0], [150.0]]
    """

    def __init__(self, model: Learner = "random_forest", *, seed: int = 0) -> None:
        self.model = model
        self.seed = seed

    device_models_: Fit

    def _check(self, faults: Faults) -> None:
        check_learner("model", self.model, faults)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        self.device_models_ = learned(
            self.model, features, power_w, seed=self.seed, purpose="power.single_stage", names=np.arange(len(power_w))
        )

    def _watts(self, features: Floats) -> Floats:
        return self.device_models_.predict(features)

    def _state(self) -> State:
        return packed({"device": self.device_models_})

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        sizes = {"n_targets": self.n_devices_, "n_features": self.n_features_in_}
        self.device_models_ = unpacked("device", header, arrays, **sizes)


@named_in("hetsched.power")
class PowerRatio(PowerModel, kind="power_ratio"):
    """Power Ratio: the reference device's predicted watts times one factor a device.

    A device's factor is its watts over those of the reference device, both summed over the applications that both were
    measured under. A device that shares no application with the reference gets its watts over the reference model's
    answers for its own applications, and is listed in `fallback_devices_`.

    Parameters
    ----------
    model
        Learner of the reference device: ``"linear"``, ``"random_forest"``, ``"lightgbm"``, or any regressor of
        scikit-learn.
    reference_device
        Which one it is, from 0.
    seed
        Of all draws, 0 to 2³² - 1.

    Attributes
    ----------
    reference_model_
        What was learned of the reference device.
    ratios_
        Factor of each device, 1 for the reference; shape (n_devices,).
    fallback_devices_
        Devices whose factor rests on the reference model's answers, ascending.

    Examples
    --------
    >>> model = PowerRatio(model="linear").fit([[1.0], [2.0]], [[100.0, 120.0], [110.0, 132.0]])
    >>> model.predict([[3.0]]).round(6).tolist()
    [[140.0], [154.0]]
    """

    def __init__(self, model: Learner = "random_forest", reference_device: int = 0, *, seed: int = 0) -> None:
        self.model = model
        self.reference_device = reference_device
        self.seed = seed

    reference_model_: Fit
    ratios_: Floats
    fallback_devices_: npt.NDArray[np.intp]

    def _check(self, faults: Faults) -> None:
        check_learner("model", self.model, faults)
        faults.whole("reference_device", self.reference_device, low=0, high=100_000_000)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        if self.reference_device >= len(power_w):
            expected = f"one of the {len(power_w):,} devices, counted from 0"
            raise ConfigError([("reference_device", f"`{self.reference_device}`", expected)])
        row = power_w[self.reference_device]
        names = np.array([self.reference_device])
        self.reference_model_ = learned(
            self.model, features, row[None, :], seed=self.seed, purpose="power.ratio", names=names
        )
        is_shared = ~np.isnan(power_w) & ~np.isnan(row)
        is_alone = ~is_shared.any(axis=1)
        reference_w = np.broadcast_to(row, power_w.shape)
        if is_alone.any():
            reference_w = np.where(is_alone[:, None], self.reference_model_.predict(features), row)
        is_used = np.where(is_alone[:, None], ~np.isnan(power_w), is_shared)
        own, reference = (np.where(is_used, watts, 0.0).sum(axis=1) for watts in (power_w, reference_w))
        if (reference <= 0).any():
            device = int(np.argmax(reference <= 0))
            found = f"{reference[device]:.6g} W in all for the reference under the applications of device {device}"
            raise ConfigError([("reference_device", found, "watts above 0, to be divided by")])
        self.fallback_devices_ = np.flatnonzero(is_alone)
        self.ratios_ = own / reference

    def _watts(self, features: Floats) -> Floats:
        return np.asarray(self.ratios_[:, None] * self.reference_model_.predict(features))

    def _state(self) -> State:
        header, arrays = packed({"reference": self.reference_model_})
        return header, {**arrays, "ratios": self.ratios_, "fallback_devices": self.fallback_devices_}

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        self.reference_model_ = unpacked("reference", header, arrays, n_targets=1, n_features=self.n_features_in_)
        self.ratios_ = arrays.floats("ratios", self.n_devices_)
        self.fallback_devices_ = arrays.places("fallback_devices", self.n_devices_, ascending=True)


def app_means(power_w: Floats) -> Floats:
    """Mean over devices of each application's watts, where not every device was measured under every application.

    A simple mean over those that were would look high-power where only high-power devices ran. So watts are split into
    what an application adds and what a device adds, by least squares over the measured cells (two-way analysis of
    variance, Searle, Linear Models for Unbalanced Data, 1987); devices add 0 on average. Devices that share no
    application, directly or through others, cannot be compared; each such group is taken to be alike on average.
    """
    is_measured = ~np.isnan(power_w)
    if is_measured.all():
        # Sorted, so that the order of the devices does not change a bit.
        return np.asarray(np.sort(power_w, axis=0).mean(axis=0))
    by_device = _device_effects(power_w, is_measured)
    for group in _groups(is_measured):
        by_device[group] -= by_device[group].mean()
    rest = np.where(is_measured, power_w - by_device[:, None], 0.0)
    return np.asarray(rest.sum(axis=0) / is_measured.sum(axis=0))


def _device_effects(power_w: Floats, is_measured: npt.NDArray[np.bool_]) -> Floats:
    """The part of each device, up to one number a group of devices."""
    # The system has an unknown for each of the smaller side; the other side's follow.
    if len(power_w) > power_w.shape[1]:
        by_app = _device_effects(power_w.T, is_measured.T)
        return np.asarray(np.where(is_measured, power_w - by_app, 0.0).sum(axis=1) / is_measured.sum(axis=1))
    counted = is_measured.astype(np.float64)
    watts = np.where(is_measured, power_w, 0.0)
    n_devices = counted.sum(axis=0)
    system = np.diag(counted.sum(axis=1)) - (counted / n_devices) @ counted.T
    known = watts.sum(axis=1) - counted @ (watts.sum(axis=0) / n_devices)
    # Singular, as a number could be added to every device: the least-squares answer is one of them.
    return np.asarray(np.linalg.lstsq(system, known, rcond=1e-10)[0])


def _groups(is_measured: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    """Devices that are connected by applications they share."""
    label = np.arange(len(is_measured))
    while True:
        # The lowest label among the devices of each application, then among the applications of each device.
        of_app = np.where(is_measured, label[:, None], len(label)).min(axis=0)
        lowest = np.where(is_measured, of_app, len(label)).min(axis=1)
        if (lowest == label).all():
            return [np.flatnonzero(label == one) for one in np.unique(label)]
        label = lowest
