"""The models that ``tsmva`` compares, fitted for as many devices as their errors are looked at on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from hetsched.power import PowerModel, PowerRatio, SharedResponse, SingleStage, TwoStage
from hetsched.power.learners import learned

__all__ = ["MODELS", "OURS", "predicted_w"]

Floats = npt.NDArray[np.float64]

OURS = "shared response"
MODELS: Mapping[str, PowerModel] = MappingProxyType(
    {
        "LR": SingleStage("linear"),
        "RF": SingleStage("random_forest"),
        "LR+RF": TwoStage("linear", "random_forest"),
        "RF+RF": TwoStage("random_forest", "random_forest"),
        "power ratio": PowerRatio("random_forest"),
        OURS: SharedResponse(),
    }
)
"""By the paper's names, and two more."""


def predicted_w(label: str, features: Floats, power_w: Floats, asked: Floats, devices: npt.NDArray[np.intp]) -> Floats:
    """What a model fitted on all devices predicts for some of them.

    A forest a device is most of the work, and no forest knows of another device: only those of `devices` are grown.
    The mean over devices, the reference device and the shared response see all of them.

    Parameters
    ----------
    label
        A key of `MODELS`.
    features, power_w
        What it is fitted on, shapes (n_apps, n_features) and (n_devices, n_apps); every cell measured.
    asked
        Features of the applications to predict.
    devices
        Which devices.

    Returns
    -------
    numpy.ndarray
        Shape (len(devices), n_asked), W: what the fitted model's `predict` gives for these devices.
    """
    model = MODELS[label]
    if isinstance(model, SingleStage):
        return model.unfitted().fit(features, power_w[devices]).predict(asked)
    if not isinstance(model, TwoStage):
        return model.unfitted().fit(features, power_w).predict(asked)[devices]
    stage = "power.two_stage"
    mean_w = power_w.mean(axis=0)[None, :]
    mean = learned(model.mean_model, features, mean_w, seed=model.seed, purpose=f"{stage}.mean", names=None)
    deviation = power_w[devices] - mean.predict(features)
    own = learned(model.device_model, features, deviation, seed=model.seed, purpose=f"{stage}.device", names=devices)
    return np.maximum(mean.predict(asked) + own.predict(asked), 0.0)
