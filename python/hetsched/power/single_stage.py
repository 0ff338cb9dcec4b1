"""`SingleStage`: a model of its own for each device, as if there were no other (Variability-Trained Prediction)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.learners import Fit, Learner, check_learner, learned, packed, unpacked
from hetsched.power.saved import Saved

__all__ = ["SingleStage"]


class SingleStage(PowerModel):
    """Variability-Trained Prediction (VTP): each device's watts learned from that device's measurements alone.

    It is what two-stage models are measured against. A device is fitted on the applications that it has, however few
    they are: with one, its prediction is that measurement.

    Parameters
    ----------
    model
        The learner: ``"linear"``, ``"random_forest"``, ``"lightgbm"``, or any regressor of scikit-learn.
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

    kind: ClassVar[str] = "single_stage"

    def __init__(self, model: Learner = "random_forest", *, seed: int = 0) -> None:
        self.model = model
        self.seed = seed

    def _check(self, faults: Faults) -> None:
        check_learner("model", self.model, faults)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        self.device_models_: Fit = learned(
            self.model, features, power_w, seed=self.seed, purpose="power.single_stage", names=np.arange(len(power_w))
        )

    def _watts(self, features: Floats) -> Floats:
        return self.device_models_.predict(features)

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return packed({"device": self.device_models_})

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        sizes = {"n_targets": self.n_devices_, "n_features": self.n_features_in_}
        self.device_models_ = unpacked("device", header, arrays, **sizes)
