"""`PowerModel`: the promises of every model of device power, whatever it learns; and fitted models as files.

A model takes features of applications and gives watts of every device under each of them. The base class checks input,
leaves out what was never measured, keeps names, clips invalid answers, and writes and shows parameters as
scikit-learn's estimators do; a kind of model adds what it learns and how it predicts.

A file is a zip archive of one JSON header and numpy arrays. The header says which kind of model it is and in which
version it is written; reading makes the model again by its class and hands it its arrays. Pickles, which run whatever
they hold, are neither written nor read.
"""

from __future__ import annotations

import inspect
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.power.checks import (
    Floats,
    checked_features,
    checked_power,
    in_order_of,
    matrix_of,
    names_of,
    same_features,
)
from hetsched.power.models.archive import Saved, zipped
from hetsched.power.models.learners import CAN_BE_SAVED, State

if TYPE_CHECKING:
    from typing_extensions import Self

    from hetsched.platform import Platform, VariationTable

KINDS: dict[str, type[PowerModel]] = {}
"""Every kind of model that a file can hold, by the name it has there; classes enter themselves."""

_MOST_SEED = 2**32 - 1

FORMAT = "hetsched power model"
VERSION = 3
HEADER, NAMES = "header", "names"
_PLAIN = (str, int, float, bool, type(None))

MOST_DEVICES = 10_000_000


@named_in("hetsched.power")
class PowerModel(ABC):
    """Base of all models that learn how much each device draws from features of applications.

    A kind of model is a subclass that stores its parameters in ``__init__`` under their own names and does nothing else
    there, and defines four methods: `_learn` and `_watts`, `_state` and `_restore`. Whatever it learns has a name that
    ends in ``_``. With ``kind="name"`` after its base class, `hetsched.read_model` knows it by this name.

    Attributes
    ----------
    n_features_in_, n_devices_
        Columns of the features and rows of the watts that the model was fitted with.
    feature_names_in_
        Names of the features, if it was fitted with a frame or read from a file with names; otherwise not there.
    device_names_
        Names of the devices; numbers from 0 where none were given.
    feature_range_
        Least and largest value of each feature that it was fitted on, shape (2, n_features).
    unmeasured_apps_
        Which applications no device was measured under, ascending; fitting left them out.
    clipped_
        How many predictions of the last `predict` were below 0 W and were set to 0.
    """

    kind: ClassVar[str]

    n_features_in_: int
    n_devices_: int
    feature_names_in_: tuple[str, ...]
    device_names_: tuple[str, ...]
    feature_range_: Floats
    unmeasured_apps_: npt.NDArray[np.intp]
    clipped_: int

    def __init_subclass__(cls, *, kind: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind is not None:
            cls.kind = kind
            KINDS[kind] = cls

    def _check(self, faults: Faults) -> None:
        """Note every invalid parameter; `seed` is looked at for all kinds alike."""
        del faults

    def _check_parameters(self, faults: Faults) -> None:
        """Note every invalid parameter."""
        self._check(faults)
        if "seed" in self._parameters():
            faults.whole("seed", getattr(self, "seed", None), low=0, high=_MOST_SEED)

    @abstractmethod
    def _learn(self, features: Floats, power_w: Floats) -> None:
        """Learn from checked input: every device and every application has at least one measurement, others are NaN."""

    @abstractmethod
    def _watts(self, features: Floats) -> Floats:
        """Watts of every device under each application, shape (n_devices, n_apps); may be below 0."""

    @abstractmethod
    def _state(self) -> State:
        """The learned state: values that JSON can hold, and arrays by name."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        """Set what was learned from what `_state` gave, or raise one of `DAMAGED`; sizes are set already."""

    def fit(
        self, features: npt.ArrayLike, power_w: npt.ArrayLike, *, device_names: Sequence[str] | None = None
    ) -> Self:
        """Learn from measurements; what was learned before is forgotten.

        Parameters
        ----------
        features
            What is known of each application, shape (n_apps, n_features): rates, such as instructions a second. The
            names of a frame's columns are kept.
        power_w
            Watts of each device under each application, shape (n_devices, n_apps). NaN = not measured.
        device_names
            What to call the devices, one name a row of `power_w`. None: their numbers, from 0.

        Returns
        -------
        PowerModel
            The model itself.

        Raises
        ------
        ConfigError
            With every fault: other shapes, a feature that is no finite number, negative watts, a device without any
            measurement, a learner that came out constant. Names row and column, device and application.
        """
        faults = Faults()
        known = checked_features(features, faults)
        measured_w = checked_power(power_w, faults, n_apps=None if known is None else len(known))
        names = device_names
        if names is None:
            names = list(map(str, range(0 if measured_w is None else len(measured_w))))
        elif measured_w is not None and len(names) != len(measured_w):
            faults.add("device_names", f"{len(names)} names", f"{len(measured_w)}, one for every row of `power_w`")
        self._check_parameters(faults)
        faults.check()
        assert known is not None
        assert measured_w is not None
        is_measured = ~np.isnan(measured_w).all(axis=0)
        if is_measured.sum() > 1 and same_features(known[is_measured]):
            found = f"the same values for all {is_measured.sum():,} measured applications"
            raise ConfigError([("features", found, "something that tells applications apart")])
        self._forget()
        self._learn(known[is_measured], measured_w[:, is_measured])
        self.n_features_in_ = known.shape[1]
        self.n_devices_ = len(measured_w)
        if (own := names_of(features)) is not None:
            self.feature_names_in_ = own
        self.device_names_ = tuple(names)
        self.feature_range_ = np.array([known[is_measured].min(axis=0), known[is_measured].max(axis=0)])
        self.unmeasured_apps_ = np.flatnonzero(~is_measured)
        self.clipped_ = 0
        return self

    def predict(self, features: npt.ArrayLike) -> Floats:
        """Watts of every device under each application, all in one call.

        Parameters
        ----------
        features
            Shape (n_apps, n_features); any number of applications. Of a frame, if the model was fitted with one, the
            columns may be in any order.

        Returns
        -------
        numpy.ndarray
            Shape (n_devices, n_apps), W, 0 or more. `clipped_` says how many were below 0 and were set to 0.

        Raises
        ------
        ConfigError
            If the model is not fitted, or the features are no finite numbers in as many columns as it was fitted with,
            or a frame's columns have other names.
        """
        self._check_fitted()
        faults = Faults()
        known = checked_features(features, faults, n_features=self.n_features_in_)
        faults.check()
        assert known is not None
        names, own = names_of(features), getattr(self, "feature_names_in_", None)
        if names is not None and own is not None:
            known = np.ascontiguousarray(known[:, in_order_of(own, names, "features")])
        watts = self._watts(known)
        is_below = watts < 0
        self.clipped_ = int(is_below.sum())
        watts[is_below] = 0.0
        return watts

    def score(self, features: npt.ArrayLike, power_w: npt.ArrayLike) -> float:
        """Share of the spread of measured watts that the predictions explain: R², as of scikit-learn's regressors.

        ``1 - Σ (measured - predicted)² / Σ (measured - mean of measured)²`` over all measured cells of all devices
        together. It says little where devices differ much: `mape` and `evaluate` show errors as shares.

        Parameters
        ----------
        features
            Shape (n_apps, n_features).
        power_w
            Shape (n_devices, n_apps), watts; NaN = not measured, and left out. The devices are the model's.

        Returns
        -------
        float
            1 at best; 0 for the mean of all cells, and below 0 for worse. Of cells that are all the same, 1 if every
            one is met and 0 if not.

        Raises
        ------
        ConfigError
            If the model is not fitted, shapes differ, or nothing was measured.

        Examples
        --------
        >>> from hetsched.power import SingleStage
        >>> model = SingleStage("linear").fit([[1.0], [2.0]], [[100.0, 120.0]])
        >>> round(model.score([[1.0], [2.0], [3.0]], [[100.0, 120.0, float("nan")]]), 9)
        1.0
        >>> round(model.score([[1.0], [2.0]], [[120.0, 140.0]]), 9)
        -3.0
        """
        predicted_w = self.predict(features)
        faults = Faults()
        measured_w = matrix_of("power_w", power_w, "one row a device, one column an application", faults)
        if measured_w is not None and measured_w.shape != predicted_w.shape:
            faults.add("power_w", f"shape {measured_w.shape}", f"{predicted_w.shape}, as the predictions have")
        elif measured_w is not None and (np.isnan(measured_w).all() or np.isinf(measured_w).any()):
            found = "nothing measured" if np.isnan(measured_w).all() else "infinite watts"
            faults.add("power_w", found, "watts; NaN = not measured")
        faults.check()
        assert measured_w is not None
        is_measured = ~np.isnan(measured_w)
        own = measured_w[is_measured]
        missed = float(((own - predicted_w[is_measured]) ** 2).sum())
        spread = float(((own - own.mean()) ** 2).sum())
        return 1.0 - missed / spread if spread else float(missed == 0)

    def table(
        self, features: npt.ArrayLike, *, apps: Sequence[str], nodes: int | Platform | None = None
    ) -> VariationTable:
        """The predictions as a table for a platform whose nodes are the model's devices.

        Parameters
        ----------
        features
            Shape (n_apps, n_features).
        apps
            Names of the applications, one a row of the features.
        nodes
            How many nodes the table is for, or the platform itself. None: as many as the model has devices.

        Returns
        -------
        VariationTable
            Row by row what `predict` gives for each application.

        Raises
        ------
        ConfigError
            If the platform has another number of nodes than the model has devices, or as `predict` and
            `VariationTable` do.
        """
        # Only tables need the platform's modules.
        from hetsched.platform import VariationTable  # noqa: PLC0415

        self._check_fitted()
        wanted = self.n_devices_ if nodes is None else getattr(nodes, "nodes", nodes)
        if wanted != self.n_devices_:
            expected = f"{self.n_devices_}, the number of devices that the model was fitted for"
            raise ConfigError([("nodes", shown(wanted), expected)])
        watts = self.predict(features)
        if len(apps) != watts.shape[1]:
            expected = f"{watts.shape[1]}, one for every row of `features`"
            raise ConfigError([("apps", f"{len(apps)} names", expected)])
        return VariationTable(apps, power_w=watts.T)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, for `hetsched.read_model`: numbers and text, nothing that could run.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ConfigError
            If the model is not fitted, or holds a regressor that is not one of our own learners.
        OutputError
            If the file cannot be written.
        """
        self._check_fitted()
        params = self.get_params(deep=False)
        for name, value in params.items():
            if not isinstance(value, _PLAIN) and not isinstance(value, np.integer | np.floating):
                raise ConfigError([(name, f"the regressor {type(value).__name__}", CAN_BE_SAVED)])
        if self.n_devices_ > MOST_DEVICES:
            raise ConfigError([("model", f"{self.n_devices_:,} devices", f"at most {MOST_DEVICES:,} in a file")])
        state, arrays = self._state()
        low, high = self.feature_range_.tolist()
        names = {"features": getattr(self, "feature_names_in_", ()), "devices": self.device_names_}
        texts = {
            HEADER: {
                "format": FORMAT,
                "version": VERSION,
                "kind": self.kind,
                "params": {name: getattr(value, "item", lambda own=value: own)() for name, value in params.items()},
                "n_features_in": self.n_features_in_,
                "n_devices": self.n_devices_,
                "state": state,
            },
            NAMES: {**names, "low": low, "high": high},
        }
        content: dict[str, npt.NDArray[Any]] = {
            **{name: np.frombuffer(json.dumps(one, allow_nan=False).encode(), np.uint8) for name, one in texts.items()},
            "unmeasured_apps": self.unmeasured_apps_,
            **{f"state.{name}": array for name, array in arrays.items()},
        }
        write_whole(Path(path), zipped(content))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` those of a regressor inside, too, as ``mean_model__alpha``."""
        found: dict[str, Any] = {}
        for name in self._parameters():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update({f"{name}__{inner}": of_inner for inner, of_inner in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of a regressor inside as ``mean_model__alpha``.

        Raises
        ------
        ConfigError
            If there is no such parameter.
        """
        faults = Faults()
        faults.unknown_keys({name.partition("__")[0]: value for name, value in params.items()}, self._parameters())
        faults.check()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if not inner:
                setattr(self, outer, value)
            elif hasattr(getattr(self, outer), "set_params"):
                getattr(self, outer).set_params(**{inner: value})
            else:
                raise ConfigError([(name, shown(value), f"no such name: {outer} is {getattr(self, outer)!r}")])
        return self

    def unfitted(self) -> Self:
        """Another model of the same parameters that has learned nothing."""
        return type(self)(**self.get_params(deep=False))

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params(deep=False).items()]
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str:
        state = "fitted" if self.__sklearn_is_fitted__() else "not fitted"
        facts = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        return card(f"{type(self).__name__}, {state}", facts)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "clipped_")

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _forget(self) -> None:
        # A fit that fails then leaves no model that is half the old one.
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise ConfigError([("model", f"{type(self).__name__} that is not fitted", "a call of `fit` before")])
