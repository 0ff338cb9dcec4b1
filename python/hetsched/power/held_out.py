"""What models predict of every measured cell, having seen it or not, and how far they are off: for tables and pictures.

`evaluate` gives the errors by application; here are the predictions behind them, with a word of how far the work is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.feature_files import Features, Watts
from hetsched.power.left_out import LeftOut, predicted
from hetsched.power.splits import Split

__all__ = ["cells", "errors_by_app", "percent_errors", "predictions"]

Progress = Callable[[int, int], object]


def predictions(
    model: PowerModel, features: Features, watts: Watts, *, split: Split, progress: Progress | None = None
) -> tuple[pl.DataFrame, LeftOut]:
    """What a model predicts of every measured cell that it is asked.

    Parameters
    ----------
    model
        Its parameters count; what it has learned is neither used nor changed.
    features, watts
        What was measured.
    split
        What it is asked, and what it has seen.
    progress
        Called with (fits done, fits in all).

    Returns
    -------
    polars.DataFrame
        One row a cell that is asked, application after application: ``app, device, actual_w, predicted_w``.
    LeftOut
        What was left out, and how far outside.

    Raises
    ------
    ConfigError
        As `PowerModel.fit` and `hetsched.power.left_out.predicted`.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> features = Features("c.csv", ("a", "b", "c"), ("ipc",), np.array([[1.0], [2.0], [4.0]]))
    >>> watts = Watts("w.csv", ("g1",), np.array([[100.0, 110.0, 130.0]]), 3, {})
    >>> found, _ = predictions(SingleStage(model="linear"), features, watts, split=Split("leave_one_app_out"))
    >>> found["predicted_w"].round(6).to_list()
    [100.0, 110.0, 130.0]
    """
    found = predicted(model, features.values, watts.power_w, split, devices=watts.devices, tell=progress)
    return cells(features, watts, found.watts, is_asked=found.is_asked), found


def cells(
    features: Features, watts: Watts, predicted_w: Floats, *, is_asked: npt.NDArray[np.bool_] | None = None
) -> pl.DataFrame:
    """Measured and predicted watts of every measured cell, as `predictions` gives them.

    Parameters
    ----------
    features, watts
        What was measured.
    predicted_w
        Shape (n_devices, n_apps), W.
    is_asked
        Which of the measured cells. None: all of them.
    """
    app, device = np.nonzero((watts.is_measured if is_asked is None else is_asked).T)
    return pl.DataFrame(
        {
            "app": pl.Series(features.apps, dtype=pl.String).gather(app),
            "device": pl.Series(watts.devices, dtype=pl.String).gather(device),
            "actual_w": watts.power_w[device, app],
            "predicted_w": predicted_w[device, app],
        }
    )


def errors_by_app(found: Mapping[str, pl.DataFrame], apps: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Mean and largest absolute percentage error of each application over its devices.

    Parameters
    ----------
    found
        Of each model, as `predictions` gives it.
    apps
        Names of the applications, in order.

    Returns
    -------
    dict of polars.DataFrame
        Of each model, one row an application that any of them was asked for, in order: ``app, mape_mean_percent,
        mape_max_percent`` (null where it was not asked), ``devices``.

    Examples
    --------
    >>> found = pl.DataFrame({"app": ["a", "a"], "actual_w": [100.0, 200.0], "predicted_w": [110.0, 190.0]})
    >>> errors_by_app({"one": found, "other": found.clear()}, ["b", "a"])["one"].rows()
    [('a', 7.5, 10.0, 2)]
    """
    asked = {app for frame in found.values() for app in frame["app"].unique()}
    rows = pl.DataFrame({"app": [app for app in apps if app in asked]}, schema={"app": pl.String})
    return {
        name: rows.join(_by_app(frame), on="app", how="left", maintain_order="left").with_columns(
            pl.col("devices").fill_null(0)
        )
        for name, frame in found.items()
    }


def _by_app(found: pl.DataFrame) -> pl.DataFrame:
    return (
        found.select("app", error=pl.Series(percent_errors(found)))
        .group_by("app")
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
