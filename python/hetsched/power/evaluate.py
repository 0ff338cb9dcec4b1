"""Errors of predictions: MAPE, overall and by application, on data that a model has seen and on new data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError
from hetsched.power.checks import Floats, checked_features, checked_power
from hetsched.power.left_out import Split, predicted
from hetsched.power.models.model import PowerModel
from hetsched.typing import SplitName


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
    is_measured = _check_errors(actual, predicted)
    if not is_measured.any():
        raise ConfigError([("actual_w", "nothing measured", "at least one measured cell")])
    own, found = actual[is_measured], predicted[is_measured]
    return float((100.0 * np.abs(found - own) / own).mean())


def evaluate(
    model: PowerModel,
    features: npt.ArrayLike,
    power_w: npt.ArrayLike,
    *,
    split: SplitName,
    apps: Sequence[str] | None = None,
    folds: int | None = None,
    groups: Sequence[object] | None = None,
    test_runs: int = 1,
    seed: int = 0,
    feature_names: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Errors of a model's predictions for each application, over the devices it was measured on.

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
        application fitted on all others, so that what is asked for was never seen. ``"new_device"``: for each device
        fitted on all others and on a few test runs of its own, and asked for the rest of what it was measured under.
    apps
        Names of the applications. None: their numbers, from 0.
    folds
        Leave out so many random folds in turn, in place of one application (or device) at a time: K fits. None: one at
        a time up to 100, 10 folds of more; the column ``folds`` says which.
    groups
        A label of each application (an array, or a column of a frame): those of one group are left out together, such
        as the sizes of one program. Only with ``leave_one_app_out``.
    test_runs
        With ``new_device``, under how many random applications the device has run. 0: none, and it is predicted as the
        mean of the others. A model's reference device is never new.
    seed
        Of what falls into which fold, and of the test runs.
    feature_names
        What to call the features. None: as the columns of a frame, or their numbers from 0.

    Returns
    -------
    polars.DataFrame
        One row an application: ``app, mape_mean_percent, mape_max_percent`` (mean and largest error over devices; null
        where nothing was asked), ``no_variation_mape_percent`` (the rival: the mean error if all devices had the
        mean of their predictions; a model that is no better says no more than one number an application), ``devices``
        (those asked), ``split``, ``folds`` (how many were left out in turn; null
        in-sample), ``farthest_features`` (up to three features in which it lies outside those that the model had seen
        when it was asked, the farthest first; empty if it lies inside) and ``farthest_sd`` (how far, in standard
        deviations of those seen; below 0 if smaller than all of them).

    Raises
    ------
    ConfigError
        If `split`, `apps`, `folds`, `groups`, `test_runs`, `seed` or `feature_names` is invalid; if a device is left
        without a measured application; if no device can be new; and as `PowerModel.fit` does.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> features, power_w = [[1.0], [2.0], [4.0]], [[100.0, 110.0, 130.0], [100.0, 120.0, 160.0]]
    >>> found = evaluate(SingleStage(model="linear"), features, power_w, split="leave_one_app_out", feature_names=["x"])
    >>> found.select("app", pl.col("mape_max_percent").round(6), "folds", "farthest_sd").rows()
    [('0', 0.0, 3, [-1.0]), ('1', 0.0, 3, []), ('2', 0.0, 3, [4.0])]
    """
    faults = Faults()
    known = checked_features(features, faults)
    n_apps = None if known is None else len(known)
    measured_w = checked_power(power_w, faults, n_apps=n_apps)
    asked = Split(split, folds, _labels(groups, faults), test_runs, seed)
    asked.check(n_apps, faults)
    if known is not None and apps is not None and len(apps) != len(known):
        faults.add("apps", f"{len(apps)} names", f"{len(known)}, one for every application (row) of `features`")
    names = _names(feature_names, features, known, faults)
    faults.check()
    assert known is not None
    assert measured_w is not None
    found = predicted(model, known, measured_w, asked)
    _check_errors(found.actual_w, found.predicted_w)
    return found.by_app(list(map(str, range(len(known)))) if apps is None else list(apps)).with_columns(
        pl.lit(split).alias("split"),
        pl.lit(found.parts or None, dtype=pl.Int64).alias("folds"),
        *found.farthest_columns(names),
    )


def _labels(groups: object, faults: Faults) -> list[object] | None:
    if groups is None:
        return None
    try:
        if isinstance(groups, str | bytes):
            raise TypeError
        labels: list[object] = list(groups)  # type: ignore[call-overload]
        hash(tuple(labels))
    except TypeError:
        faults.add("groups", groups, "a label for every application: text or numbers")
        return None
    return labels


def _names(given: Sequence[str] | None, features: object, known: Floats | None, faults: Faults) -> list[str]:
    """Names of the features."""
    if known is None:
        return []
    names = list(map(str, getattr(features, "columns", range(known.shape[1])) if given is None else given))
    if len(names) != known.shape[1]:
        expected = f"{known.shape[1]}, one for every column of `features`"
        faults.add("feature_names", f"{len(names)} names", expected)
    return names


def _numbers(name: str, watts: npt.ArrayLike) -> Floats:
    try:
        return np.asarray(watts, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError([(name, shown(watts), "watts as an array of numbers")]) from None


def _check_errors(actual: Floats, predicted: Floats) -> npt.NDArray[np.bool_]:
    """Measured cells; ConfigError if an error of one of them cannot be a share of its watts."""
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
    return np.asarray(is_measured)
