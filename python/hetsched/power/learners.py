"""What a stage of a model can learn with: a name, or any regressor with scikit-learn's methods.

A learner fits many targets at once, each on the applications that it has. `linear` and `random_forest` need numpy
alone, `lightgbm` and regressors of scikit-learn the extra ``models``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.power.boosting import BoostedFit, fit_boosted
from hetsched.power.checks import Floats
from hetsched.power.forest import ForestFit, fit_forest
from hetsched.power.linear import LinearFit, fit_linear
from hetsched.power.saved import Saved
from hetsched.power.wrapped import fit_wrapped

__all__ = ["LEARNERS", "Fit", "Learner", "check_learner", "learned", "packed", "unpacked"]

State = tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]
Learner = str | Any


class Fit(Protocol):
    """What a learner has learned: a function of features for each target."""

    @property
    def kind(self) -> str:
        """Its name in files."""

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What `restored` of its class makes it from."""


LEARNERS: dict[str, Callable[[Floats, Floats, int, str], Fit]] = {
    "linear": lambda features, targets, _, __: fit_linear(features, targets),
    "random_forest": lambda features, targets, seed, purpose: fit_forest(features, targets, seed=seed, purpose=purpose),
    "lightgbm": lambda features, targets, seed, _: fit_boosted(features, targets, seed=seed),
}

_FITS: dict[str, Callable[..., Fit]] = {fit.kind: fit.restored for fit in (LinearFit, ForestFit, BoostedFit)}

_CONSTANT = 1e-9
"""A function that varies by less than this share of what its target does is constant but for rounding."""

_ROUNDING_W = 1e-6
"""A target that varies by less is constant itself: what rounding leaves of watts that two stages share."""


def check_learner(parameter: str, learner: Learner, faults: Faults) -> None:
    """Note a fault unless `learner` is one.

    Parameters
    ----------
    parameter
        What it is called in the message.
    learner
        A name, or an object with ``fit``, ``predict`` and ``get_params``.
    faults
        Where to note it.

    Examples
    --------
    >>> faults = Faults()
    >>> check_learner("mean_model", "random_forrest", faults)
    >>> print(faults.found[0].expected)
    one of linear, random_forest, lightgbm, or a regressor of scikit-learn; did you mean `random_forest`?
    """
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
    """Fit every target on the applications that it has.

    Parameters
    ----------
    learner
        As for `check_learner`.
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.
    seed
        Of all draws.
    purpose
        Names the stream of the draws.
    names
        Which device each target belongs to. None: the single target belongs to all.

    Raises
    ------
    ConfigError
        If a function came out constant although its target is not, and features tell its applications apart.
    """
    if isinstance(learner, str):
        fit = LEARNERS[learner](features, targets, seed, purpose)
    else:
        fit = fit_wrapped(learner, features, targets, seed=seed)
    if learner != "linear":  # whose answer is the best of all lines, be it flat
        _check_not_constant(learner, features, targets, fit.predict(features), names)
    return fit


def _check_not_constant(
    learner: Learner, features: Floats, targets: Floats, found: Floats, names: npt.NDArray[np.intp] | None
) -> None:
    found = np.where(np.isnan(targets), np.nan, found)
    found_w = np.nanmax(found, axis=1) - np.nanmin(found, axis=1)
    wanted_w = np.nanmax(targets, axis=1) - np.nanmin(targets, axis=1)
    is_flat = (found_w <= _CONSTANT * wanted_w) & (wanted_w > _ROUNDING_W)
    flat = [row for row in np.flatnonzero(is_flat).tolist() if _can_be_told_apart(features, targets[row])]
    if not flat:
        return
    name = learner if isinstance(learner, str) else type(learner).__name__
    whose = "the mean over devices" if names is None else f"device{'s' if len(flat) > 1 else ''} {_few(names[flat])}"
    found_text = f"a model that is constant for {whose} although the watts are not"
    expected = "a learner set up for few applications (such as a smaller min_data_in_leaf, or less regularization)"
    raise ConfigError([(name, found_text, expected)])


def _can_be_told_apart(features: Floats, target: Floats) -> bool:
    known = features[~np.isnan(target)]
    return bool((known != known[0]).any())


def _few(devices: npt.NDArray[np.intp]) -> str:
    more = f" and {len(devices) - 5:,} more" if len(devices) > 5 else ""
    return ", ".join(str(device) for device in devices[:5].tolist()) + more


def packed(fits: dict[str, Fit]) -> State:
    """What some fits are made from, each under its name."""
    header: dict[str, Any] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, fit in fits.items():
        header[name] = fit.kind
        arrays.update({f"{name}.{inner}": array for inner, array in fit.state().items()})
    return header, arrays


def unpacked(name: str, header: dict[str, Any], arrays: Saved, *, n_targets: int, n_features: int) -> Fit:
    """One of them again.

    Parameters
    ----------
    name
        Its name.
    header, arrays
        What `packed` gave.
    n_targets, n_features
        What it has to be a function of features for.

    Raises
    ------
    KeyError, ValueError
        If this is not what `packed` gave.
    """
    kind = header[name]
    if kind not in _FITS:
        raise ValueError(f"unknown learner {shown(kind)}")
    fit = _FITS[kind](arrays.inside(name), n_features)
    # Arrays that do not belong together show here, not at a user's first prediction.
    if fit.predict(np.zeros((1, n_features))).shape != (n_targets, 1):
        raise ValueError("a learner of another number of devices")
    return fit
