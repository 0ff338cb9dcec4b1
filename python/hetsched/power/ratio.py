"""`PowerRatio`: a model of one reference device, and one factor for each other device."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.learners import Fit, Learner, check_learner, learned, packed, unpacked
from hetsched.power.saved import Saved

__all__ = ["PowerRatio"]


class PowerRatio(PowerModel):
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

    kind: ClassVar[str] = "power_ratio"

    def __init__(self, model: Learner = "random_forest", reference_device: int = 0, *, seed: int = 0) -> None:
        self.model = model
        self.reference_device = reference_device
        self.seed = seed

    def _check(self, faults: Faults) -> None:
        check_learner("model", self.model, faults)
        faults.whole("reference_device", self.reference_device, low=0, high=100_000_000)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        if self.reference_device >= len(power_w):
            expected = f"one of the {len(power_w):,} devices, counted from 0"
            raise ConfigError([("reference_device", f"`{self.reference_device}`", expected)])
        row = power_w[self.reference_device]
        names = np.array([self.reference_device])
        self.reference_model_: Fit = learned(
            self.model, features, row[None, :], seed=self.seed, purpose="power.ratio", names=names
        )
        is_shared = ~np.isnan(power_w) & ~np.isnan(row)
        is_alone = ~is_shared.any(axis=1)
        reference_w = np.where(is_alone[:, None], self.reference_model_.predict(features), row)
        is_used = np.where(is_alone[:, None], ~np.isnan(power_w), is_shared)
        own, reference = (np.where(is_used, watts, 0.0).sum(axis=1) for watts in (power_w, reference_w))
        if (reference <= 0).any():
            device = int(np.argmax(reference <= 0))
            found = f"{reference[device]:.6g} W in all for the reference under the applications of device {device}"
            raise ConfigError([("reference_device", found, "watts above 0, to be divided by")])
        self.fallback_devices_: npt.NDArray[np.intp] = np.flatnonzero(is_alone)
        self.ratios_: Floats = own / reference

    def _watts(self, features: Floats) -> Floats:
        return np.asarray(self.ratios_[:, None] * self.reference_model_.predict(features))

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        header, arrays = packed({"reference": self.reference_model_})
        return header, {**arrays, "ratios": self.ratios_, "fallback_devices": self.fallback_devices_}

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        self.reference_model_ = unpacked("reference", header, arrays, n_targets=1, n_features=self.n_features_in_)
        self.ratios_ = arrays.floats("ratios", self.n_devices_)
        self.fallback_devices_ = arrays.places("fallback_devices", self.n_devices_, ascending=True)
