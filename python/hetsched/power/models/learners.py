"""Learners of a model's stages: a name, or any regressor with scikit-learn's methods.

A learner fits many targets at once, each on the applications that it has. `linear` needs numpy alone, `random_forest`,
`lightgbm` and regressors of scikit-learn the extra ``models``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, few, listed, shown
from hetsched.errors import ConfigError
from hetsched.power.checks import Floats
from hetsched.power.models.archive import Saved
from hetsched.power.models.trees import TreesFit, fit_boosted, fit_forest, library

State = tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]
Learner = str | Any

CAN_BE_SAVED = "a learner that can be saved: linear, random_forest or lightgbm"

_CUT = 1e-10
"""Singular values below this share of the largest are taken for 0: directions in which features do not vary."""

_CONSTANT = 1e-9
"""A function that varies by less than this share of what its target does is constant but for rounding."""

_ROUNDING_W = 1e-6
"""A target that varies by less is constant itself: what rounding leaves of watts that two stages share."""


class Fit(Protocol):
    """A function of features for each target, learned."""

    @property
    def kind(self) -> str:
        """Its name in files."""

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Arguments of `restored` of its class."""


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A line (a plane, in more features) for each target; coefficients are per unit of the feature less its centre."""

    kind: ClassVar[str] = "linear"

    intercepts: Floats
    coefficients: Floats
    centre: Floats

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        # Not a matrix product: libraries sum those in an order that depends on sizes and on the number of threads.
        found = np.repeat(self.intercepts[:, None], len(features), axis=1)
        for of_targets, of_apps in zip(self.coefficients.T, (features - self.centre).T, strict=True):
            found += of_targets[:, None] * of_apps
        return found

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """State for files."""
        return vars(self)

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> LinearFit:
        """From what `state` gave."""
        intercepts = arrays.floats("intercepts", None)
        coefficients = arrays.floats("coefficients", len(intercepts), n_features)
        return cls(intercepts, coefficients, arrays.floats("centre", n_features))


def fit_linear(features: Floats, targets: Floats) -> LinearFit:
    """Least squares for every target (row; NaN = unknown), on features of mean 0 and standard deviation 1.

    Where more than one fit is the best, the one with the smallest coefficients of scaled features; a feature that never
    varies gets coefficient 0.
    """
    centre, reach = features.mean(axis=0), np.ptp(features, axis=0)
    # In units of the range, as squares of tiny numbers would be 0. Of equal numbers the mean may be off by a rounding.
    relative = np.divide(features - centre, reach, out=np.zeros_like(features), where=reach > 0)
    deviation = relative.std(axis=0)
    scaled = np.divide(relative, deviation, out=np.zeros_like(features), where=deviation > 0)
    intercepts, slopes = np.empty(len(targets)), np.empty((len(targets), features.shape[1]))
    patterns, pattern_of = np.unique(~np.isnan(targets), axis=0, return_inverse=True)
    for position, is_known in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == position)
        own, known = scaled[is_known], targets[np.ix_(rows, np.flatnonzero(is_known))]
        middle, level = own.mean(axis=0), known.mean(axis=1)
        own = np.where(np.ptp(own, axis=0) > _CUT, own - middle, 0.0)
        slopes[rows] = np.linalg.lstsq(own, (known - level[:, None]).T, rcond=_CUT)[0].T
        intercepts[rows] = level - (slopes[rows] * middle).sum(axis=1)
    unit = reach * deviation
    return LinearFit(intercepts, np.divide(slopes, unit, out=np.zeros_like(slopes), where=unit > 0), centre)


@dataclass(frozen=True, eq=False)
class WrappedFit:
    """A fitted clone of a regressor for each target."""

    kind: ClassVar[str] = "wrapped"

    regressors: list[Any]

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        return np.array(
            [np.asarray(one.predict(features), dtype=np.float64).reshape(len(features)) for one in self.regressors]
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Not to be had: what another library's regressor has learned could only be pickled."""
        raise ConfigError([("model", f"the regressor {type(self.regressors[0]).__name__}", CAN_BE_SAVED)])


def fit_wrapped(regressor: Any, features: Floats, targets: Floats, *, seed: int) -> WrappedFit:
    """A clone for every target (row; NaN = unknown); `seed` is for regressors whose ``random_state`` is None."""
    clone = library("sklearn.base").clone
    fits = []
    for target in targets:
        fits.append(clone(regressor))
        if regressor.get_params().get("random_state", seed) is None:
            fits[-1].set_params(random_state=seed)
        is_known = ~np.isnan(target)
        fits[-1].fit(features[is_known], target[is_known])
    return WrappedFit(fits)


LEARNERS: dict[str, Callable[[Floats, Floats, int, str], Fit]] = {
    "linear": lambda features, targets, _, __: fit_linear(features, targets),
    "random_forest": lambda features, targets, seed, purpose: fit_forest(features, targets, seed=seed, purpose=purpose),
    "lightgbm": lambda features, targets, seed, _: fit_boosted(features, targets, seed=seed),
}

_FITS: dict[str, Callable[[Saved, int], Fit]] = {
    "linear": LinearFit.restored,
    **{kind: partial(TreesFit.restored, kind=kind) for kind in ("random_forest", "lightgbm")},
}

_NEVER_CONSTANT = ("linear", "random_forest")
"""A line is the best of all lines, be it flat, and a tree parts whatever features distinguish."""


def check_learner(parameter: str, learner: Learner, faults: Faults) -> None:
    """Note a fault unless `learner` is a name, or an object with ``fit``, ``predict`` and ``get_params``."""
    expected = f"one of {listed(LEARNERS)}, or a regressor of scikit-learn"
    if isinstance(learner, str):
        if learner not in LEARNERS:
            faults.add(parameter, learner, expected + did_you_mean(learner, LEARNERS))
    elif isinstance(learner, type):
        faults.add(parameter, f"the class {learner.__name__}", f"one of its objects: {learner.__name__}()")
    elif not all(callable(getattr(learner, name, None)) for name in ("fit", "predict", "get_params")):
        faults.add(parameter, learner, expected)


def learned(
    learner: Learner, features: Floats, targets: Floats, *, seed: int, purpose: str, names: npt.NDArray[np.intp] | None
) -> Fit:
    """Fit every target (row; NaN = unknown) on the applications that it has.

    `purpose` names the stream of the draws, `names` are the devices that the targets belong to (None: the single target
    belongs to all). ConfigError if a function came out constant although features distinguish its applications.
    """
    if isinstance(learner, str):
        fit = LEARNERS[learner](features, targets, seed, purpose)
    else:
        fit = fit_wrapped(learner, features, targets, seed=seed)
    if learner not in _NEVER_CONSTANT:
        _check_not_constant(learner, features, targets, fit.predict(features), names)
    return fit


def _check_not_constant(
    learner: Learner, features: Floats, targets: Floats, found: Floats, names: npt.NDArray[np.intp] | None
) -> None:
    found = np.where(np.isnan(targets), np.nan, found)
    found_w = np.nanmax(found, axis=1) - np.nanmin(found, axis=1)
    wanted_w = np.nanmax(targets, axis=1) - np.nanmin(targets, axis=1)
    is_flat = (found_w <= _CONSTANT * wanted_w) & (wanted_w > _ROUNDING_W)
    flat = [row for row in np.flatnonzero(is_flat).tolist() if _varies_with_features(features, targets[row])]
    if not flat:
        return
    name = learner if isinstance(learner, str) else type(learner).__name__
    whose = "the mean over devices" if names is None else f"device{'s' if len(flat) > 1 else ''} {_few(names[flat])}"
    found_text = f"a model that is constant for {whose} although the watts are not"
    expected = "a learner set up for few applications (such as a smaller min_data_in_leaf, or less regularization)"
    raise ConfigError([(name, found_text, expected)])


def _varies_with_features(features: Floats, target: Floats) -> bool:
    known = features[~np.isnan(target)]
    return bool((known != known[0]).any())


def _few(devices: npt.NDArray[np.intp]) -> str:
    return few([str(device) for device in devices.tolist()], most=5)


def packed(fits: dict[str, Fit]) -> State:
    """A header and arrays that `unpacked` makes the fits from, each under its name."""
    header: dict[str, Any] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, fit in fits.items():
        header[name] = fit.kind
        arrays.update({f"{name}.{inner}": array for inner, array in fit.state().items()})
    return header, arrays


def unpacked(name: str, header: dict[str, Any], arrays: Saved, *, n_targets: int, n_features: int) -> Fit:
    """One of them again; KeyError or ValueError if this is not what `packed` gave."""
    kind = header[name]
    if kind not in _FITS:
        raise ValueError(f"unknown learner {shown(kind)}")
    fit = _FITS[kind](arrays.inside(name), n_features)
    # Arrays that do not belong together show here, not at a user's first prediction.
    if fit.predict(np.zeros((1, n_features))).shape != (n_targets, 1):
        raise ValueError("a learner of another number of devices")
    return fit
