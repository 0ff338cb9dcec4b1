"""A fitted model with the names it was fitted with: which columns are its features, and which rows its devices.

A model itself takes matrices, in which a feature is a place. Who fits today and predicts next month from another file
needs the names as well, or a column in another place would pass for a feature that it is not. They stand in the model's
file beside the model; `hetsched.power.load` reads the same file and leaves them alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import polars as pl

from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.feature_files import Features, Watts
from hetsched.power.files import load_with_names, write_model
from hetsched.power.saved import DAMAGED, finite
from hetsched.text import many

__all__ = ["NamedModel", "fit_named", "load_named"]


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A fitted model, and what its features and devices are called.

    Parameters
    ----------
    model
        The model.
    features
        Names of its features, in order. Empty: not known.
    devices
        Names of its devices, in order.
    low, high
        Of each feature, the least and the most it was fitted on.
    """

    model: PowerModel
    features: tuple[str, ...]
    devices: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def of(self, features: Features) -> Features:
        """The features as the model takes them: its own, in its order.

        Parameters
        ----------
        features
            Of the applications to predict.

        Raises
        ------
        ConfigError
            If one is missing or there is another one; where names are not known, if they are more or fewer.
        """
        if self.features:
            return features.in_order_of(self.features)
        if len(features.names) != self.model.n_features_in_:
            expected = f"{self.model.n_features_in_}, as the model was fitted with (it does not say which)"
            raise ConfigError([(features.path, many(len(features.names), "feature"), expected)])
        return features

    def beyond(self, features: Features) -> pl.DataFrame:
        """Features of applications that lie outside of what the model was fitted on.

        Parameters
        ----------
        features
            As `of` gives them.

        Returns
        -------
        polars.DataFrame
            One row an application and feature: ``app, feature, value, low, high``.
        """
        outside = np.zeros_like(features.values, dtype=bool)
        if self.features:
            outside = (features.values < self.low) | (features.values > self.high)
        app, feature = np.nonzero(outside)
        places = feature.tolist()
        return pl.DataFrame(
            {
                "app": [features.apps[one] for one in app.tolist()],
                "feature": [features.names[one] for one in places],
                "value": features.values[app, feature],
                "low": [self.low[one] for one in places],
                "high": [self.high[one] for one in places],
            },
            schema={"app": pl.String, "feature": pl.String, "value": float, "low": float, "high": float},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write model and names, for `load_named`.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ConfigError
            As `PowerModel.save`.
        OutputError
            If the file cannot be written.
        """
        names = {"features": self.features, "devices": self.devices, "low": self.low, "high": self.high}
        write_model(self.model, path, names=names)


def fit_named(model: PowerModel, features: Features, watts: Watts) -> NamedModel:
    """Fit a model, and keep the names of what it was fitted with.

    Parameters
    ----------
    model
        What is to be fitted; it is changed.
    features, watts
        What was measured.

    Raises
    ------
    ConfigError
        As `PowerModel.fit`.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> features = Features("counters.csv", ("hpl", "stream"), ("ipc",), np.array([[2.0], [0.5]]))
    >>> watts = Watts("watts.csv", ("g1",), np.array([[250.0, 160.0]]), 2, {})
    >>> named = fit_named(SingleStage(model="linear"), features, watts)
    >>> named.features, named.devices, named.low, named.high
    (('ipc',), ('g1',), (0.5,), (2.0,))
    """
    model.fit(features.values, watts.power_w)
    known = features.values[watts.is_measured.any(axis=0)]
    low, high = known.min(axis=0).tolist(), known.max(axis=0).tolist()
    return NamedModel(model, features.names, watts.devices, tuple(low), tuple(high))


def load_named(path: str | os.PathLike[str]) -> NamedModel:
    """A fitted model with its names from a file.

    Parameters
    ----------
    path
        As `NamedModel.save` or `PowerModel.save` wrote it; the latter knows no names, and devices are numbers.

    Raises
    ------
    ConfigError
        As `hetsched.power.load`; if the names do not belong to the model.

    Examples
    --------
    >>> import tempfile
    >>> from hetsched.power import SingleStage
    >>> model = SingleStage(model="linear").fit([[1.0], [2.0]], [[110.0, 120.0], [110.0, 130.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NamedModel(model, ("ipc",), ("g1", "g2"), (1.0,), (2.0,)).save(f"{folder}/model.npz")
    ...     load_named(f"{folder}/model.npz").devices
    ('g1', 'g2')
    """
    model, names = load_with_names(path)
    if names is None:
        return NamedModel(model, (), tuple(map(str, range(model.n_devices_))), (), ())
    try:
        features, devices = (_texts(names[key]) for key in ("features", "devices"))
        low, high = (tuple(finite(names[key], model.n_features_in_)) for key in ("low", "high"))
        named = NamedModel(model, features, devices, low, high)
        fits = (len(named.features), len(named.devices)) == (model.n_features_in_, model.n_devices_)
    except DAMAGED:
        fits = False
    if not fits:
        raise ConfigError([(os.fspath(path), "names that do not belong to the model", "a file as hetsched wrote it")])
    return named


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names that are no text")
    return tuple(values)
