"""The models that ``tsmva`` compares, fitted for as many devices as their errors are looked at on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from hetsched.power import PowerModel, PowerRatio, SharedResponse, SingleStage, TwoStage

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
    return MODELS[label].unfitted().fit(features, power_w).predict(asked)[devices]
