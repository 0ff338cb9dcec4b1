"""Fitted models as files: a zip archive of one JSON header and numpy arrays, which holds nothing that could run.

The header says which kind of model it is and in which version it is written; whoever reads it makes the model anew by
its class and hands it its arrays, of which it reads those that it knows. Pickles, which run whatever they were told to,
are neither written nor read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed, reason_of, shown
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.power.base import PowerModel
from hetsched.power.ratio import PowerRatio
from hetsched.power.saved import DAMAGED, Saved, zipped
from hetsched.power.shared_response import SharedResponse
from hetsched.power.single_stage import SingleStage
from hetsched.power.two_stage import TwoStage

__all__ = ["MODELS", "load", "load_with_names", "write_model"]

MODELS: dict[str, type[PowerModel]] = {
    model.kind: model for model in (TwoStage, SingleStage, PowerRatio, SharedResponse)
}
"""Every kind of model that a file can hold, by the name it has there."""

_FORMAT = "hetsched power model"
_VERSION = 2
_HEADER, _NAMES = "header", "names"
_PLAIN = (str, int, float, bool, type(None))

_MOST_DEVICES, _MOST_FEATURES, _MOST_APPS = 10_000_000, 1_000_000, 2**31
_MOST_TEXT = 2**20
"""Bytes of a header, and of names even if they are few."""
_MOST_NAME = 2**12
"""Bytes of a name, on average."""


def write_model(model: PowerModel, path: str | os.PathLike[str], *, names: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model; see `PowerModel.save`.

    Parameters
    ----------
    model
        The model.
    path
        The file.
    names
        What else to write, for `load_with_names`; values that JSON can hold.
    """
    params = model.get_params(deep=False)
    for name, value in params.items():
        if not isinstance(value, _PLAIN) and not isinstance(value, np.integer | np.floating):
            expected = "a learner that can be saved: linear, random_forest or lightgbm"
            raise ConfigError([(name, f"the regressor {type(value).__name__}", expected)])
    if model.n_devices_ > _MOST_DEVICES:
        raise ConfigError([("model", f"{model.n_devices_:,} devices", f"at most {_MOST_DEVICES:,} in a file")])
    state, arrays = model._state()
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": model.kind,
        "params": {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()},
        "n_features_in": model.n_features_in_,
        "n_devices": model.n_devices_,
        "state": state,
    }
    texts = {_HEADER: header} if names is None else {_HEADER: header, _NAMES: names}
    content: dict[str, npt.NDArray[Any]] = {
        **{name: np.frombuffer(json.dumps(text, allow_nan=False).encode(), np.uint8) for name, text in texts.items()},
        "unmeasured_apps": model.unmeasured_apps_,
        **{f"state.{name}": array for name, array in arrays.items()},
    }
    write_whole(Path(path), zipped(content))


def load(path: str | os.PathLike[str]) -> PowerModel:
    """A fitted model from a file that `PowerModel.save` wrote; it predicts what it predicted then, to the last bit.

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
    ...     model.save(f"{folder}/model.npz")
    ...     again = load(f"{folder}/model.npz")
    >>> again, bool((again.predict([[3.0]]) == model.predict([[3.0]])).all())
    (SingleStage(model='linear', seed=0), True)
    """
    return load_with_names(path)[0]


def load_with_names(path: str | os.PathLike[str]) -> tuple[PowerModel, dict[str, Any] | None]:
    """A fitted model, and the names that `write_model` was given, if any; raises as `load`.

    Parameters
    ----------
    path
        The file.
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


def _loaded(name: str, file: BinaryIO) -> tuple[PowerModel, dict[str, Any] | None]:
    arrays = Saved.of(file)
    header = _header(name, arrays)
    # Arrays of numbers that overflow are told by what comes out of them.
    with np.errstate(all="ignore"):
        model = _restored(header, arrays)
    if _NAMES not in arrays:
        return model, None
    most = _MOST_TEXT + _MOST_NAME * (model.n_devices_ + model.n_features_in_)
    names = json.loads(arrays.text(_NAMES, most=most))
    return model, names if isinstance(names, dict) else {}


def _restored(header: Mapping[str, Any], arrays: Saved) -> PowerModel:
    model = MODELS[header["kind"]](**header["params"])
    faults = Faults()
    model._check_parameters(faults)
    faults.whole("n_features_in", header["n_features_in"], low=1, high=_MOST_FEATURES)
    faults.whole("n_devices", header["n_devices"], low=1, high=_MOST_DEVICES)
    if faults.found:
        raise ValueError(f"a {faults.found[0].path} that cannot be")
    model.n_features_in_, model.n_devices_ = header["n_features_in"], header["n_devices"]
    model.unmeasured_apps_ = arrays.places("unmeasured_apps", _MOST_APPS, ascending=True)
    model._restore(header["state"], arrays.inside("state"))
    watts = model._watts(np.zeros((1, model.n_features_in_)))
    if watts.shape != (model.n_devices_, 1) or not np.isfinite(watts).all():
        raise ValueError("arrays that do not make watts of every device")
    model.clipped_ = 0
    return model


def _header(name: str, arrays: Saved) -> dict[str, Any]:
    header = json.loads(arrays.text(_HEADER, most=_MOST_TEXT)) if _HEADER in arrays else None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ConfigError([(name, "an archive of another kind", _EXPECTED)])
    version = header.get("version")
    if version != _VERSION:
        is_older = isinstance(version, int) and version < _VERSION
        hint = "an earlier hetsched wrote it: fit it again" if is_older else "a later hetsched may have written it"
        raise ConfigError([(name, f"version {shown(version)}", f"version {_VERSION}; {hint}")])
    kind = str(header.get("kind"))
    if kind not in MODELS:
        expected = f"one of {listed(MODELS)}{did_you_mean(kind, MODELS)}"
        raise ConfigError([(name, f"a model of kind {shown(kind)}", expected)])
    return header


_EXPECTED = "a power model that hetsched wrote"
