"""Predictions of measured cells that a model was not fitted on: what is left out together, and by what chance.

Applications are left out one at a time, in folds or in groups; devices with a few test runs, or none. `evaluate` and
the command line make errors of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, listed, shown
from hetsched.errors import ConfigError
from hetsched.power.checks import Floats
from hetsched.power.models.model import PowerModel
from hetsched.resources import watched
from hetsched.typing import SplitName

SPLITS = get_args(SplitName)

MOST_ALONE = 100
"""Up to how many applications, groups or devices are left out one at a time, if nothing else is said."""

FOLDS = 10
"""Further folds in which they are left out, each of which fits the model again."""

Places = npt.NDArray[np.intp]
Tell = Callable[[int, int], object]


@dataclass(frozen=True)
class Split:
    """The part of the data that a model is not fitted on; as `hetsched.power.evaluate` takes it."""

    name: str
    folds: int | None = None
    groups: Sequence[object] | None = None
    test_runs: int = 1
    seed: int = 0

    def check(self, n_apps: int | None, faults: Faults) -> None:
        """Note whatever is invalid, for so many applications if that is known."""
        if self.name not in SPLITS:
            faults.add("split", self.name, f"one of {listed(SPLITS)}")
        if self.folds is not None and self.name == "in_sample":
            faults.add("folds", self.folds, "none for in_sample, which leaves nothing out")
        elif self.folds is not None:
            faults.whole("folds", self.folds, low=2, high=1_000_000)
        if self.groups is not None:
            self._check_groups(self.groups, n_apps, faults)
        faults.whole("test_runs", self.test_runs, low=0, high=1_000_000)
        faults.whole("seed", self.seed, low=0, high=2**64 - 1)

    def _check_groups(self, groups: Sequence[object], n_apps: int | None, faults: Faults) -> None:
        if self.name != "leave_one_app_out":
            faults.add("groups", "groups", f"none for {self.name}: they are of applications that are left out")
        if n_apps is not None and len(groups) != n_apps:
            faults.add("groups", f"{len(groups)} labels", f"{n_apps}, one for every application (row) of `features`")
        for place, label in enumerate(groups):
            # Not a number is not equal to itself.
            if label is None or label != label or label == "":  # noqa: PLR0124
                faults.add(f"groups[{place}]", label, "a label: an application of no other's kind has one of its own")
                return

    def folds_of(self, units: Sequence[Places], *, what: str) -> list[Places]:
        """Units one by one, or shared out at random: large ones first, each to the fold that has least.

        `what` names the units in messages; ConfigError if there are fewer of them than folds.
        """
        count = self.folds or (len(units) if len(units) <= MOST_ALONE else FOLDS)
        if count > len(units):
            raise ConfigError([("folds", shown(self.folds), f"at most {len(units):,}, the number of {what}")])
        if count == len(units):
            return list(units)
        order = stream(self.seed, "power.folds").permutation(len(units))
        folds: list[list[Places]] = [[] for _ in range(count)]
        sizes = [0] * count
        for unit in sorted(order.tolist(), key=lambda unit: -len(units[unit])):
            least = sizes.index(min(sizes))
            folds[least].append(units[unit])
            sizes[least] += len(units[unit])
        return [np.sort(np.concatenate(fold)) for fold in folds]


def units_of(apps: Places, groups: Sequence[object] | None) -> list[Places]:
    """Units that are left out together: each measured application by itself, or those of each group."""
    if groups is None:
        return [apps[place : place + 1] for place in range(len(apps))]
    found: dict[object, list[int]] = {}
    for app in apps.tolist():
        found.setdefault(groups[app], []).append(app)
    if len(found) < 2:
        expected = "two or more groups of measured applications: one is left out in turn"
        raise ConfigError([("groups", "one group" if found else "none", expected)])
    return [np.array(own, dtype=np.intp) for own in found.values()]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Measured and predicted watts, shapes (n_devices, n_apps); measured ones are NaN where nothing was asked.

    `parts` is how many times something was left out (0 in-sample), `of` how many applications, groups or devices were
    left out in these. `beyond` is how far each application's features lie outside those of the applications that the
    model was fitted on, in their standard deviations, shape (n_apps, n_features): above 0 beyond the largest, below 0
    beyond the smallest.
    """

    actual_w: Floats
    predicted_w: Floats
    parts: int
    of: int
    beyond: Floats = field(repr=False)

    @property
    def is_asked(self) -> npt.NDArray[np.bool_]:
        """Cells that the model was asked for: measured ones that it was not fitted on; in-sample all measured ones."""
        return np.asarray(~np.isnan(self.actual_w))

    @cached_property
    def errors(self) -> Floats:
        """Absolute errors in percent of the measured watts, NaN where nothing was asked."""
        return np.asarray(100.0 * np.abs(self.predicted_w - self.actual_w) / self.actual_w)

    @cached_property
    def no_variation_errors(self) -> Floats:
        """The same of one number an application: the mean of what was predicted for the devices that were asked."""
        asked_w = np.where(self.is_asked, self.predicted_w, 0.0)
        mean_w = asked_w.sum(axis=0) / np.maximum(self.is_asked.sum(axis=0), 1)
        return np.asarray(100.0 * np.abs(mean_w - self.actual_w) / self.actual_w)

    def cells(self, apps: Sequence[str], devices: Sequence[str]) -> pl.DataFrame:
        """One row a cell that was asked, application after application: ``app, device, actual_w, predicted_w``."""
        app, device = np.nonzero(self.is_asked.T)
        return pl.DataFrame(
            {
                "app": pl.Series(apps, dtype=pl.String).gather(app),
                "device": pl.Series(devices, dtype=pl.String).gather(device),
                "actual_w": self.actual_w[device, app],
                "predicted_w": self.predicted_w[device, app],
            }
        )

    def by_app(self, apps: Sequence[str]) -> pl.DataFrame:
        """One row an application, null where it was not asked.

        ``app, mape_mean_percent, mape_max_percent, no_variation_mape_percent, devices``.
        """
        is_asked, devices = self.is_asked, self.is_asked.sum(axis=0)
        most = np.where(devices > 0, np.where(is_asked, self.errors, 0.0).max(axis=0), np.nan)
        columns = {
            "mape_mean_percent": self._mean(self.errors),
            "mape_max_percent": most,
            "no_variation_mape_percent": self._mean(self.no_variation_errors),
        }
        frame = pl.DataFrame({"app": apps, **columns, "devices": devices})
        return frame.with_columns(pl.col(*columns).fill_nan(None))

    def _mean(self, errors: Floats) -> Floats:
        """Mean of each application over the devices that were asked; NaN: none were."""
        devices = self.is_asked.sum(axis=0)
        whole = np.where(self.is_asked, errors, 0.0).sum(axis=0)
        return np.asarray(np.divide(whole, devices, out=np.full(len(devices), np.nan), where=devices > 0))

    def farthest(self, app: int, *, most: int = 3) -> list[tuple[int, float]]:
        """The features in which an application lies farthest outside, each with how far; none if it lies inside."""
        own = self.beyond[app]
        order = np.argsort(-np.abs(own), kind="stable")[:most]
        return [(int(feature), float(own[feature])) for feature in order if own[feature]]

    def farthest_columns(self, names: Sequence[str]) -> tuple[pl.Series, pl.Series]:
        """The same of every application, as ``farthest_features`` by these names and ``farthest_sd``."""
        each = [self.farthest(app) for app in range(len(self.beyond))]
        return (
            pl.Series(
                "farthest_features", [[names[feature] for feature, _ in own] for own in each], pl.List(pl.String)
            ),
            pl.Series("farthest_sd", [[far for _, far in own] for own in each], pl.List(pl.Float64)),
        )


def predicted(
    model: PowerModel,
    features: Floats,
    power_w: Floats,
    split: Split,
    *,
    devices: Sequence[object] | None = None,
    tell: Tell | None = None,
) -> LeftOut:
    """Predictions of measured cells by a model that is fitted again each time; all is checked but what a fit checks.

    `devices` are names for messages (None: numbers); `tell` is called with (fits done, fits in all). ConfigError if a
    device is left without a measured application, or nothing can be asked.
    """
    said: Tell = tell or (lambda _done, _total: None)
    names = [str(one) for one in (range(len(power_w)) if devices is None else devices)]
    task = _Task(model, features, power_w, split, names)
    if split.name == "in_sample":
        (found,) = watched(lambda _: model.unfitted().fit(features, power_w).predict(features), [None], said)
        return LeftOut(power_w, found, 0, 0, np.zeros(features.shape))
    return (_new_devices if split.name == "new_device" else _left_out_apps)(task, said)


@dataclass(frozen=True, eq=False)
class _Task:
    """Arguments of `predicted`."""

    model: PowerModel
    features: Floats
    power_w: Floats
    split: Split
    names: list[str]

    @property
    def is_measured(self) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.power_w))

    @property
    def reference(self) -> int:
        """The device that all others are measured against; -1 if the model has none."""
        return int(getattr(self.model, "reference_device", -1))


def _left_out_apps(task: _Task, tell: Tell) -> LeftOut:
    features, power_w, split = task.features, task.power_w, task.split
    apps = np.flatnonzero(task.is_measured.any(axis=0))
    units = units_of(apps, split.groups)
    what = "measured applications" if split.groups is None else "groups of measured applications"
    folds = split.folds_of(units, what=what)
    _check_devices(task, folds, is_by_group=split.groups is not None and len(folds) == len(units))

    def one(fold: Places) -> Floats:
        others = np.setdiff1d(np.arange(len(features)), fold)
        return task.model.unfitted().fit(features[others], power_w[:, others]).predict(features[fold])

    watts, beyond = np.full(power_w.shape, np.nan), np.zeros(features.shape)
    for fold, found in zip(folds, watched(one, folds, tell), strict=True):
        watts[:, fold] = found
        beyond[fold] = _beyond(features[fold], features[np.setdiff1d(apps, fold)], features)
    return LeftOut(power_w, watts, len(folds), len(units), beyond)


def _check_devices(task: _Task, folds: Sequence[Places], *, is_by_group: bool) -> None:
    """Refuse a device that knows nothing once a fold is left out."""
    measured = task.is_measured.sum(axis=1)
    for fold in folds:
        bare = np.flatnonzero(measured == task.is_measured[:, fold].sum(axis=1))
        if not len(bare):
            continue
        device = task.names[bare[0]]
        if measured[bare[0]] == 1:
            found = f"a single measured application on device {device}"
            raise ConfigError([("power_w", found, "two or more for leave_one_app_out: one is left out in turn")])
        what = "group" if is_by_group else "fold"
        found = f"all measured applications of device {device} in one {what}"
        raise ConfigError([("power_w", found, f"some in another: those of one {what} are left out together")])


def _new_devices(task: _Task, tell: Tell) -> LeftOut:
    power_w, split, is_measured = task.power_w, task.split, task.is_measured
    is_known = _test_runs(is_measured, split)
    has_more = (is_measured & ~is_known).any(axis=1)
    # What others are measured against has run everything.
    new = np.flatnonzero(has_more & (np.arange(len(power_w)) != task.reference))
    if len(power_w) < 2 or not len(new):
        said = (
            "a single device" if len(power_w) < 2 else f"no device measured besides its test runs ({split.test_runs})"
        )
        expected = "two or more devices, and one that can be left out with more applications than test runs"
        raise ConfigError([("power_w", said, expected)])
    folds = split.folds_of(units_of(new, None), what="devices that can be new")
    known_w = np.where(is_known, power_w, np.nan)

    def one(fold: Places) -> Floats:
        return _as_new(task, known_w, fold) if split.test_runs else _unseen(task, fold)

    actual, watts = np.full((2, *power_w.shape), np.nan)
    for fold, found in zip(folds, watched(one, folds, tell), strict=True):
        watts[fold] = found
        actual[fold] = np.where(is_known[fold], np.nan, power_w[fold])
    return LeftOut(actual, watts, len(folds), len(new), np.zeros(task.features.shape))


def _test_runs(is_measured: npt.NDArray[np.bool_], split: Split) -> npt.NDArray[np.bool_]:
    """Applications that a new device would have run, drawn at random among those that it was measured under."""
    drawn = stream(split.seed, "power.new_device").random(is_measured.shape)
    place = np.where(is_measured, drawn, np.inf).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray(is_measured & (place < split.test_runs))


def _as_new(task: _Task, known_w: Floats, fold: Places) -> Floats:
    """Watts of devices that have made their test runs alone."""
    power_w = task.power_w.copy()
    power_w[fold] = known_w[fold]
    return np.asarray(task.model.unfitted().fit(task.features, power_w).predict(task.features)[fold])


def _unseen(task: _Task, fold: Places) -> Floats:
    """Watts of devices that have run nothing: the mean over all others."""
    others = np.setdiff1d(np.arange(len(task.power_w)), fold)
    model = task.model.unfitted()
    if task.reference in others:
        # The same device under another number.
        model.set_params(reference_device=int(np.searchsorted(others, task.reference)))
    found = model.fit(task.features, task.power_w[others]).predict(task.features)
    return np.broadcast_to(found.mean(axis=0), (len(fold), len(task.features)))


def _beyond(own: Floats, seen: Floats, every: Floats) -> Floats:
    """Distance of features from those seen, in standard deviations of these, or of all where these are the same."""
    deviation = seen.std(axis=0)
    deviation = np.where(deviation > 0, deviation, every.std(axis=0))
    far: Floats = np.maximum(own - seen.max(axis=0), 0.0) - np.maximum(seen.min(axis=0) - own, 0.0)
    beyond: Floats = np.divide(far, deviation, out=np.zeros(far.shape), where=deviation > 0)
    return beyond
