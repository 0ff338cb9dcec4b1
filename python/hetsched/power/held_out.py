"""What models predict of every measured cell, having seen it or not, and how far they are off: for tables and pictures.

`evaluate` gives the errors by application; here are the predictions behind them, with a word of how far the work is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.evaluate import leave_one_app_out
from hetsched.power.feature_files import Features, Watts

__all__ = ["cells", "errors_by_app", "percent_errors", "predictions"]

Progress = Callable[[int, int], object]


def predictions(
    model: PowerModel, features: Features, watts: Watts, *, split: str, progress: Progress | None = None
) -> pl.DataFrame:
    """What a model predicts of every measured cell.

    Parameters
    ----------
    model
        Its parameters count; what it has learned is neither used nor changed.
    features, watts
        What was measured.
    split
        ``"in_sample"``: fitted on all applications and asked for the same ones. ``"leave_one_app_out"``: for each
        application fitted on all others.
    progress
        Called with (fits done, fits in all).

    Returns
    -------
    polars.DataFrame
        One row a measured cell, application after application: ``app, device, actual_w, predicted_w``.

    Raises
    ------
    ConfigError
        As `PowerModel.fit`; if with ``leave_one_app_out`` a device is left without a measured application.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> features = Features("c.csv", ("a", "b", "c"), ("ipc",), np.array([[1.0], [2.0], [4.0]]))
    >>> watts = Watts("w.csv", ("g1",), np.array([[100.0, 110.0, 130.0]]), 3, {})
    >>> found = predictions(SingleStage(model="linear"), features, watts, split="leave_one_app_out")
    >>> found["predicted_w"].round(6).to_list()
    [100.0, 110.0, 130.0]
    """
    is_measured = watts.is_measured
    tell = progress or (lambda _done, _total: None)
    if split == "in_sample":
        tell(0, 1)
        predicted = model.unfitted().fit(features.values, watts.power_w).predict(features.values)
        tell(1, 1)
        return cells(features, watts, predicted)
    _check_others(watts, is_measured)
    return cells(features, watts, leave_one_app_out(model, features.values, watts.power_w, tell))


def cells(features: Features, watts: Watts, predicted: Floats) -> pl.DataFrame:
    """Measured and predicted watts of every measured cell, as `predictions` gives them.

    Parameters
    ----------
    features, watts
        What was measured.
    predicted
        Shape (n_devices, n_apps), W.
    """
    app, device = np.nonzero(watts.is_measured.T)
    return pl.DataFrame(
        {
            "app": pl.Series(features.apps, dtype=pl.String).gather(app),
            "device": pl.Series(watts.devices, dtype=pl.String).gather(device),
            "actual_w": watts.power_w[device, app],
            "predicted_w": predicted[device, app],
        }
    )


def errors_by_app(found: pl.DataFrame) -> pl.DataFrame:
    """Mean and largest absolute percentage error of each application over its devices.

    Parameters
    ----------
    found
        As `predictions` gives it.

    Returns
    -------
    polars.DataFrame
        One row an application, in order: ``app, mape_mean_percent, mape_max_percent, devices``.

    Examples
    --------
    >>> found = pl.DataFrame({"app": ["a", "a"], "actual_w": [100.0, 200.0], "predicted_w": [110.0, 190.0]})
    >>> errors_by_app(found).rows()
    [('a', 7.5, 10.0, 2)]
    """
    return (
        found.select("app", error=pl.Series(percent_errors(found)))
        .group_by("app", maintain_order=True)
        .agg(
            mape_mean_percent=pl.col("error").mean(),
            mape_max_percent=pl.col("error").max(),
            devices=pl.len().cast(pl.Int64),
        )
    )


def percent_errors(found: pl.DataFrame) -> Floats:
    """Absolute errors in percent of the measured watts, one a row.

    Parameters
    ----------
    found
        As `predictions` gives it.

    Examples
    --------
    >>> percent_errors(pl.DataFrame({"actual_w": [100.0, 200.0], "predicted_w": [110.0, 190.0]})).tolist()
    [10.0, 5.0]
    """
    actual, predicted = (found[name].to_numpy() for name in ("actual_w", "predicted_w"))
    return np.asarray(100.0 * np.abs(predicted - actual) / actual)


def _check_others(watts: Watts, is_measured: npt.NDArray[np.bool_]) -> None:
    lone = np.flatnonzero(is_measured.sum(axis=1) < 2)
    if len(lone):
        found = f"a single measured application on device {watts.devices[lone[0]]}"
        raise ConfigError([(watts.path, found, "two or more for leave_one_app_out: one is left out in turn")])
