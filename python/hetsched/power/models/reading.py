"""`read_model`: fitted models from files.

A file is a zip archive of one JSON header and numpy arrays. Reading makes the model again by its class and hands it its
arrays. Pickles, which run whatever they hold, are not read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hetsched.checks import Faults, did_you_mean, listed, reason_of, shown
from hetsched.errors import ConfigError
from hetsched.power.models.archive import DAMAGED, Saved, finite

if TYPE_CHECKING:
    pass

from hetsched.power.models.model import FORMAT, HEADER, KINDS, MOST_DEVICES, NAMES, VERSION, PowerModel

_EXPECTED = "a power model that hetsched wrote"
_MOST_FEATURES, _MOST_APPS = 1_000_000, 2**31
_MOST_TEXT = 2**20
"""Bytes of a header, and of names even if they are few."""
_MOST_NAME = 2**12
"""Bytes of a name, on average."""


def read_model(path: str | os.PathLike[str]) -> PowerModel:
    """Read a fitted model that `PowerModel.write` wrote; it predicts what it predicted then, to the last bit.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    PowerModel
        Of the class it was.

    Raises
    ------
    ConfigError
        If the file cannot be read, is no such file, is damaged, or holds a version or kind that is not known here.

    Examples
    --------
    >>> import tempfile
    >>> from hetsched.power import SingleStage
    >>> model = SingleStage(model="linear").fit([[1.0], [2.0]], [[110.0, 120.0], [110.0, 130.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.write(f"{folder}/model.npz")
    ...     again = read_model(f"{folder}/model.npz")
    >>> again, bool((again.predict([[3.0]]) == model.predict([[3.0]])).all())
    (SingleStage(model='linear', seed=0), True)
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            if file.read(2) != b"PK":
                raise ConfigError([(name, "a file of another kind", _EXPECTED)])
            return _loaded(name, file)
    except OSError as error:
        raise ConfigError([(name, reason_of(error), _EXPECTED)]) from None
    except DAMAGED as error:
        raise ConfigError([(name, f"a damaged file ({reason_of(error)})", _EXPECTED)]) from None


def _loaded(name: str, file: BinaryIO) -> PowerModel:
    arrays = Saved.of(file)
    header = _header(name, arrays)
    # Arrays of numbers that overflow are reported by what comes out of them.
    with np.errstate(all="ignore"):
        model = _restored(header, arrays)
    most = _MOST_TEXT + _MOST_NAME * (model.n_devices_ + model.n_features_in_)
    try:
        _set_names(model, json.loads(arrays.text(NAMES, most=most)))
    except DAMAGED:
        found = "names that do not belong to the model"
        raise ConfigError([(name, found, "a file as hetsched wrote it")]) from None
    model.clipped_ = 0
    return model


def _header(name: str, arrays: Saved) -> dict[str, Any]:
    header = json.loads(arrays.text(HEADER, most=_MOST_TEXT)) if HEADER in arrays else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ConfigError([(name, "an archive of another kind", _EXPECTED)])
    version = header.get("version")
    if version != VERSION:
        is_older = isinstance(version, int) and version < VERSION
        hint = "an earlier hetsched wrote it: fit it again" if is_older else "a later hetsched may have written it"
        raise ConfigError([(name, f"version {shown(version)}", f"version {VERSION}; {hint}")])
    kind = str(header.get("kind"))
    if kind not in KINDS:
        raise ConfigError(
            [(name, f"a model of kind {shown(kind)}", f"one of {listed(KINDS)}{did_you_mean(kind, KINDS)}")]
        )
    return header


def _restored(header: Mapping[str, Any], arrays: Saved) -> PowerModel:
    model = KINDS[header["kind"]](**header["params"])
    faults = Faults()
    model._check_parameters(faults)
    faults.whole("n_features_in", header["n_features_in"], low=1, high=_MOST_FEATURES)
    faults.whole("n_devices", header["n_devices"], low=1, high=MOST_DEVICES)
    if faults.found:
        raise ValueError(f"an invalid {faults.found[0].path}")
    model.n_features_in_, model.n_devices_ = header["n_features_in"], header["n_devices"]
    model.unmeasured_apps_ = arrays.places("unmeasured_apps", _MOST_APPS, ascending=True)
    model._restore(header["state"], arrays.inside("state"))
    watts = model._watts(np.zeros((1, model.n_features_in_)))
    if watts.shape != (model.n_devices_, 1) or not np.isfinite(watts).all():
        raise ValueError("arrays that do not make watts of every device")
    return model


def _set_names(model: PowerModel, names: Mapping[str, Any]) -> None:
    features, devices = (_texts(names[key]) for key in ("features", "devices"))
    if len(features) not in (0, model.n_features_in_) or len(devices) != model.n_devices_:
        raise ValueError("more or fewer names")
    if features:
        model.feature_names_in_ = features
    model.device_names_ = devices
    model.feature_range_ = np.array([finite(names[key], model.n_features_in_) for key in ("low", "high")])


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names that are no text")
    return tuple(values)
