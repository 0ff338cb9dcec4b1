"""Any regressor with scikit-learn's methods as a learner: a clone of it for each target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.errors import ConfigError
from hetsched.power.checks import Floats
from hetsched.power.extras import needed

__all__ = ["WrappedFit", "fit_wrapped"]


@dataclass(frozen=True, eq=False)
class WrappedFit:
    """A fitted clone for each target.

    Parameters
    ----------
    regressors
        One a target.
    """

    kind: ClassVar[str] = "wrapped"

    regressors: list[Any]

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        return np.array(
            [np.asarray(one.predict(features), dtype=np.float64).reshape(len(features)) for one in self.regressors]
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Not to be had: what a regressor of someone else's has learned could only be pickled."""
        expected = "a learner that can be saved: linear, random_forest or lightgbm"
        raise ConfigError([("model", f"the regressor {type(self.regressors[0]).__name__}", expected)])


def fit_wrapped(regressor: Any, features: Floats, targets: Floats, *, seed: int) -> WrappedFit:
    """Fit a clone for every target on the applications that it has.

    Parameters
    ----------
    regressor
        It is not changed itself.
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.
    seed
        For regressors whose ``random_state`` is None.
    """
    clone = needed("sklearn.base").clone
    return WrappedFit([_fitted(clone(regressor), features, target, seed) for target in targets])


def _fitted(regressor: Any, features: Floats, target: Floats, seed: int) -> Any:
    if regressor.get_params().get("random_state", seed) is None:
        regressor.set_params(random_state=seed)
    is_known = ~np.isnan(target)
    regressor.fit(features[is_known], target[is_known])
    return regressor
