"""Fitted models as files: a zip archive of one JSON header and numpy arrays, which holds nothing that could run.

The header says which kind of model it is and in which version it is written; whoever reads it makes the model anew by
its class and hands it its arrays. Pickles, which run whatever they were told to, are neither written nor read.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.config import did_you_mean, listed, reason_of, shown
from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.ratio import PowerRatio
from hetsched.power.shared_response import SharedResponse
from hetsched.power.single_stage import SingleStage
from hetsched.power.two_stage import TwoStage
from hetsched.writing import write_whole

__all__ = ["MODELS", "load", "write_model"]

MODELS: dict[str, type[PowerModel]] = {
    model.kind: model for model in (TwoStage, SingleStage, PowerRatio, SharedResponse)
}
"""Every kind of model that a file can hold, by the name it has there."""

_FORMAT = "hetsched power model"
_VERSION = 1
_HEADER = "header"
_PLAIN = (str, int, float, bool, type(None))


def write_model(model: PowerModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `PowerModel.save`."""
    params = model.get_params(deep=False)
    for name, value in params.items():
        if not isinstance(value, _PLAIN) and not isinstance(value, np.integer | np.floating):
            expected = "a learner that can be saved: linear, random_forest or lightgbm"
            raise ConfigError([(name, f"the regressor {type(value).__name__}", expected)])
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
    text = json.dumps(header, allow_nan=False).encode()
    content: dict[str, npt.NDArray[Any]] = {
        _HEADER: np.frombuffer(text, dtype=np.uint8),
        "unmeasured_apps": model.unmeasured_apps_,
        **{f"state.{name}": array for name, array in arrays.items()},
    }
    write_whole(Path(path), _zipped(content))


def _zipped(content: Mapping[str, npt.NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    # The best compression takes ten times as long and saves a twentieth.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in content.items():
            with archive.open(_member(name), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    # The date of all members is zip's oldest, so that equal models make equal files.
    member = zipfile.ZipInfo(f"{name}.npy")
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


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
        If the file cannot be read, is no such file, is damaged, or holds a version or kind that is not known here; if
        the model needs LightGBM and that is not installed.

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
    name = os.fspath(path)
    arrays = _arrays(name)
    header = _header(name, arrays)
    try:
        return _restored(header, arrays)
    except _DAMAGED as error:
        raise _damaged(name, error) from None


def _restored(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> PowerModel:
    model = MODELS[header["kind"]](**header["params"])
    model.n_features_in_ = int(header["n_features_in"])
    model.n_devices_ = int(header["n_devices"])
    model.unmeasured_apps_ = arrays["unmeasured_apps"].astype(np.intp)
    model._restore(
        header["state"],
        {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")},
    )
    # Arrays that do not belong together show here, not at a user's first prediction.
    if model._watts(np.zeros((1, model.n_features_in_))).shape != (model.n_devices_, 1):
        raise ValueError("arrays of another number of devices")
    model.clipped_ = 0
    return model


def _arrays(name: str) -> dict[str, npt.NDArray[Any]]:
    try:
        with open(name, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigError([(name, reason_of(error), _EXPECTED)]) from None
    if not content.startswith(b"PK"):
        raise ConfigError([(name, "a file of another kind", _EXPECTED)])
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {member: archive[member] for member in archive.files}
    except _DAMAGED as error:
        raise _damaged(name, error) from None


def _header(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    try:
        header = json.loads(arrays[_HEADER].tobytes())
        is_ours = header["format"] == _FORMAT
    except _DAMAGED:
        is_ours = False
    if not is_ours:
        raise ConfigError([(name, "an archive of another kind", _EXPECTED)])
    if header.get("version") != _VERSION:
        expected = f"version {_VERSION}; a later hetsched may have written it"
        raise ConfigError([(name, f"version {shown(header.get('version'))}", expected)])
    kind = str(header.get("kind"))
    if kind not in MODELS:
        expected = f"one of {listed(MODELS)}{did_you_mean(kind, MODELS)}"
        raise ConfigError([(name, f"a model of kind {shown(kind)}", expected)])
    return dict(header)


def _damaged(name: str, error: BaseException) -> ConfigError:
    return ConfigError([(name, f"a damaged file ({reason_of(error)})", _EXPECTED)])


_EXPECTED = "a power model that hetsched wrote"
# What numpy, zip files and JSON raise where bytes are not what they should be.
_DAMAGED = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
    NotImplementedError,
    MemoryError,
    RuntimeError,
    OSError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
)
