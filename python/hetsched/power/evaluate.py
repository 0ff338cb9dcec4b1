"""How far predictions are off: MAPE, overall and by application, on what a model has seen and on what it has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.config import Faults, listed, shown
from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats, checked_features, checked_power

__all__ = ["SPLITS", "evaluate", "mape"]

SPLITS = ("in_sample", "leave_one_app_out")


def mape(actual_w: npt.ArrayLike, predicted_w: npt.ArrayLike) -> float:
    """Mean absolute percentage error over all measured cells.

    ``100 × mean(|predicted - actual| / actual)``.

    Parameters
    ----------
    actual_w
        Measured watts, above 0; NaN = not measured. Any shape.
    predicted_w
        Same shape, finite where measured.

    Returns
    -------
    float
        Percent, 0 or more.

    Raises
    ------
    ConfigError
        If the shapes differ, nothing was measured, measured watts are 0 or less, or a prediction is missing.

    Examples
    --------
    >>> mape([[100.0, 200.0]], [[110.0, 190.0]])
    7.5
    """
    actual, predicted = _numbers("actual_w", actual_w), _numbers("predicted_w", predicted_w)
    errors = _percent_errors(actual, predicted)
    if np.isnan(errors).all():
        raise ConfigError([("actual_w", "nothing measured", "at least one measured cell")])
    return float(errors[~np.isnan(errors)].mean())


def evaluate(
    model: PowerModel,
    features: npt.ArrayLike,
    power_w: npt.ArrayLike,
    *,
    split: Literal["in_sample", "leave_one_app_out"],
    apps: Sequence[str] | None = None,
) -> pl.DataFrame:
    """How far a model's predictions are off for each application, over the devices it was measured on.

    Parameters
    ----------
    model
        Its parameters count; what it has learned is neither used nor changed.
    features
        Shape (n_apps, n_features).
    power_w
        Shape (n_devices, n_apps), watts above 0; NaN = not measured.
    split
        ``"in_sample"``: fitted on all applications and asked for the same ones. ``"leave_one_app_out"``: for each
        application fitted on all others, so that what is asked for was never seen.
    apps
        Names of the applications. None: their numbers, from 0.

    Returns
    -------
    polars.DataFrame
        One row an application: ``app, mape_mean_percent, mape_max_percent`` (mean and largest error over devices; null
        where nothing was measured), ``devices`` (measured ones), ``split``.

    Raises
    ------
    ConfigError
        If `split` or `apps` cannot be; if for ``leave_one_app_out`` a device has a single measured application; and
        as `PowerModel.fit` does.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> features, power_w = [[1.0], [2.0], [4.0]], [[100.0, 110.0, 130.0], [100.0, 120.0, 160.0]]
    >>> evaluate(SingleStage(model="linear"), features, power_w, split="leave_one_app_out").select(
    ...     "app", pl.col("mape_max_percent").round(6)
    ... ).rows()
    [('0', 0.0), ('1', 0.0), ('2', 0.0)]
    """
    faults = Faults()
    known = checked_features(features, faults)
    measured_w = checked_power(power_w, faults, n_apps=None if known is None else len(known))
    if split not in SPLITS:
        faults.add("split", split, f"one of {listed(SPLITS)}")
    if known is not None and apps is not None and len(apps) != len(known):
        faults.add("apps", f"{len(apps)} names", f"{len(known)}, one for every application (row) of `features`")
    faults.check()
    assert known is not None
    assert measured_w is not None
    predict = _in_sample if split == "in_sample" else leave_one_app_out
    errors = _percent_errors(measured_w, predict(model, known, measured_w))
    return _by_app(errors, list(map(str, range(len(known)))) if apps is None else list(apps), split)


def _numbers(name: str, watts: npt.ArrayLike) -> Floats:
    try:
        return np.asarray(watts, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError([(name, shown(watts), "watts as an array of numbers")]) from None


def _in_sample(model: PowerModel, features: Floats, power_w: Floats) -> Floats:
    return model.unfitted().fit(features, power_w).predict(features)


def leave_one_app_out(
    model: PowerModel, features: Floats, power_w: Floats, tell: Callable[[int, int], object] | None = None
) -> Floats:
    """Predictions of each application by a model of all others; NaN for those that were never measured.

    Parameters
    ----------
    model
        Fitted anew each time, from its parameters.
    features, power_w
        As `PowerModel.fit` takes them, checked.
    tell
        Called before each fit, and at the end, with (fits done, fits in all).

    Raises
    ------
    ConfigError
        If a device has a single measured application: it is left out in turn.
    """
    lone = np.flatnonzero((~np.isnan(power_w)).sum(axis=1) < 2)
    if len(lone):
        found = f"a single measured application on device {lone[0]}"
        raise ConfigError([("power_w", found, "two or more for leave_one_app_out: one is left out in turn")])
    predicted = np.full(power_w.shape, np.nan)
    apps = np.flatnonzero(~np.isnan(power_w).all(axis=0))
    for done, app in enumerate(apps):
        if tell is not None:
            tell(done, len(apps))
        others = np.arange(len(features)) != app
        fitted = model.unfitted().fit(features[others], power_w[:, others])
        predicted[:, app] = fitted.predict(features[app : app + 1])[:, 0]
    if tell is not None:
        tell(len(apps), len(apps))
    return predicted


def _percent_errors(actual: Floats, predicted: Floats) -> Floats:
    """Absolute errors in percent of the actual watts, NaN where nothing was measured."""
    faults = Faults()
    if actual.shape != predicted.shape:
        faults.add("predicted_w", f"shape {predicted.shape}", f"{actual.shape}, the shape of `actual_w`")
        faults.check()
    is_measured = ~np.isnan(actual)
    for name, is_wrong, expected in (
        ("actual_w", is_measured & ~((actual > 0) & np.isfinite(actual)), "watts above 0: an error is a share of them"),
        ("predicted_w", is_measured & ~np.isfinite(predicted), "a prediction for every measured cell"),
    ):
        for cell in np.argwhere(is_wrong)[:1]:
            of_cell = actual if name == "actual_w" else predicted
            place = ", ".join(map(str, cell.tolist()))
            faults.add(f"{name}[{place}]", float(of_cell[tuple(cell)]), expected)
    faults.check()
    errors = np.full(actual.shape, np.nan)
    errors[is_measured] = 100.0 * np.abs(predicted[is_measured] - actual[is_measured]) / actual[is_measured]
    return errors


def _by_app(errors: Floats, apps: list[str], split: str) -> pl.DataFrame:
    is_measured = ~np.isnan(errors)
    devices = is_measured.sum(axis=0)
    known = np.where(is_measured, errors, 0.0)
    mean = np.divide(known.sum(axis=0), devices, out=np.full(len(devices), np.nan), where=devices > 0)
    most = np.where(devices > 0, known.max(axis=0), np.nan)
    return pl.DataFrame(
        {
            "app": apps,
            "mape_mean_percent": mean,
            "mape_max_percent": most,
            "devices": devices,
            "split": [split] * len(apps),
        }
    ).with_columns(pl.col("mape_mean_percent", "mape_max_percent").fill_nan(None))
