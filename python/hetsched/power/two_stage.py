"""`TwoStage`: a model of the mean over devices, then one of each device's deviation from it (TSMVA)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.learners import Fit, Learner, check_learner, learned, packed, unpacked
from hetsched.power.levels import app_means
from hetsched.power.saved import Saved

__all__ = ["TwoStage"]


class TwoStage(PowerModel):
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
        Learner of stage 2, a model of its own for each device.
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

    kind: ClassVar[str] = "two_stage"

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

    def _check(self, faults: Faults) -> None:
        check_learner("mean_model", self.mean_model, faults)
        check_learner("device_model", self.device_model, faults)
        faults.whole("min_apps", self.min_apps, low=1, high=1_000_000)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        mean_w = app_means(power_w)[None, :]
        stage = "power.two_stage"
        self.mean_model_: Fit = learned(
            self.mean_model, features, mean_w, seed=self.seed, purpose=f"{stage}.mean", names=None
        )
        deviation = power_w - self.mean_model_.predict(features)
        is_few = (~np.isnan(power_w)).sum(axis=1) < self.min_apps
        self.fallback_devices_: npt.NDArray[np.intp] = np.flatnonzero(is_few)
        self.offsets_w_: Floats = np.nanmean(deviation[is_few], axis=1) if is_few.any() else np.empty(0)
        self.device_models_: Fit | None = None
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

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
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
