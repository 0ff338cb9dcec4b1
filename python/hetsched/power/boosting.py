"""Gradient boosting by LightGBM: a booster of its own for each target, configured for tables of a few applications.

LightGBM's defaults are made for thousands of rows: with ``min_data_in_leaf=20`` a table of 48 applications cannot be
split in a useful way, one of 39 or fewer not at all, and every model comes out constant without a word. Here a leaf
may hold two applications (one, where fewer than eight are known) and a bin one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.power.extras import needed
from hetsched.power.threads import side_by_side

__all__ = ["BoostedFit", "fit_boosted"]

_ROUNDS = 40
_FEW = 8
_PORTION = 16
_PARAMETERS = {
    "objective": "regression",
    "learning_rate": 0.15,
    "num_leaves": 4,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


@dataclass(frozen=True, eq=False)
class BoostedFit:
    """A booster for each target.

    Parameters
    ----------
    boosters
        One a target.
    """

    kind: ClassVar[str] = "lightgbm"

    boosters: list[Any]

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        return np.array([booster.predict(features, num_threads=1) for booster in self.boosters])

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """For files."""
        texts = [booster.model_to_string().encode() for booster in self.boosters]
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        return {}, {"sizes": sizes, "text": np.frombuffer(b"".join(texts), dtype=np.uint8)}

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> BoostedFit:
        """From what `state` gave."""
        del header
        text, ends = arrays["text"].tobytes(), np.cumsum(arrays["sizes"]).tolist()
        texts = [text[low:high].decode() for low, high in zip([0, *ends[:-1]], ends, strict=True)]
        lightgbm = needed("lightgbm")
        try:
            return cls([lightgbm.Booster(model_str=of_one) for of_one in texts])
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(str(error)) from None


def fit_boosted(features: Floats, targets: Floats, *, seed: int) -> BoostedFit:
    """Fit a booster for every target on the applications that it has.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.
    seed
        Handed on, though nothing here is drawn.
    """
    needed("lightgbm")
    is_known = ~np.isnan(targets)
    patterns, pattern_of = np.unique(is_known, axis=0, return_inverse=True)
    rows = [np.flatnonzero(pattern_of.ravel() == pattern) for pattern in range(len(patterns))]
    # Portions of targets that are known for the same applications.
    parts = [some[first : first + _PORTION] for some in rows for first in range(0, len(some), _PORTION)]
    boosters: list[Any] = [None] * len(targets)
    for part, of_part in zip(parts, side_by_side(partial(_boosted, features, targets, seed), parts), strict=True):
        for row, booster in zip(part, of_part, strict=True):
            boosters[row] = booster
    return BoostedFit(boosters)


def _boosted(features: Floats, targets: Floats, seed: int, rows: npt.NDArray[np.intp]) -> list[Any]:
    lightgbm = needed("lightgbm")
    is_known = ~np.isnan(targets[rows[0]])
    parameters = {**_PARAMETERS, "seed": seed % 2**31, "min_data_in_leaf": 2 if is_known.sum() >= _FEW else 1}
    # Bins come from the features alone, so that one set serves all targets.
    data = lightgbm.Dataset(features[is_known], targets[rows[0], is_known], params=parameters, free_raw_data=False)
    data.construct()
    boosters = []
    for row in rows.tolist():
        data.set_label(targets[row, is_known])
        booster = lightgbm.Booster(parameters, data)
        for _ in range(_ROUNDS):
            booster.update()
        # By way of its text it lets go of what it was trained on.
        boosters.append(lightgbm.Booster(model_str=booster.model_to_string()))
    return boosters
