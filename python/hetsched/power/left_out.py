"""What models predict of measured cells that they were not fitted on: what is left out together, and by what chance.

Applications are left out one at a time, in folds or in groups; devices with a few test runs, or none. `evaluate` and
the command line make errors of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.errors import ConfigError
from hetsched.power.base import PowerModel
from hetsched.power.checks import Floats
from hetsched.power.splits import Places, Split, folds_of, units_of
from hetsched.power.threads import watched

__all__ = ["LeftOut", "predicted"]

Tell = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions, and what they are of.

    Parameters
    ----------
    watts
        Shape (n_devices, n_apps), W.
    is_asked
        Which of these were asked: measured cells that the model was not fitted on. In-sample all measured ones.
    parts
        How many times something was left out; 0 in-sample.
    of
        How many applications, groups or devices were left out in these.
    beyond
        How far each application's features lie outside those of the applications that the model was fitted on, in
        their standard deviations, shape (n_apps, n_features): above 0 beyond the largest, below 0 beyond the smallest.
    """

    watts: Floats
    is_asked: npt.NDArray[np.bool_]
    parts: int
    of: int
    beyond: Floats = field(repr=False)

    def farthest(self, app: int, *, most: int = 3) -> list[tuple[int, float]]:
        """The features in which an application lies farthest outside, each with how far; none if it lies inside.

        Parameters
        ----------
        app
            Which one.
        most
            How many at most.
        """
        own = self.beyond[app]
        order = np.argsort(-np.abs(own), kind="stable")[:most]
        return [(int(feature), float(own[feature])) for feature in order if own[feature]]


def predicted(
    model: PowerModel,
    features: Floats,
    power_w: Floats,
    split: Split,
    *,
    devices: Sequence[object] | None = None,
    tell: Tell | None = None,
) -> LeftOut:
    """Predictions of measured cells.

    Parameters
    ----------
    model
        Fitted anew each time, from its parameters.
    features, power_w
        As `PowerModel.fit` takes them, checked.
    split
        Checked.
    devices
        What to call the devices in messages. None: their numbers.
    tell
        Called with (fits done, fits in all).

    Raises
    ------
    ConfigError
        If a device is left without a measured application, or nothing can be asked.

    Examples
    --------
    >>> from hetsched.power import SingleStage
    >>> rates, watts = np.array([[1.0], [2.0], [4.0]]), np.array([[100.0, 110.0, 130.0]])
    >>> found = predicted(SingleStage("linear"), rates, watts, Split("leave_one_app_out"))
    >>> found.watts.round(6).tolist(), found.parts, [found.farthest(app) for app in range(3)]
    ([[100.0, 110.0, 130.0]], 3, [[(0, -1.0)], [], [(0, 4.0)]])
    """
    said: Tell = tell or (lambda _done, _total: None)
    names = [str(one) for one in (range(len(power_w)) if devices is None else devices)]
    task = _Task(model, features, power_w, split, names)
    if split.name == "in_sample":
        (found,) = watched(lambda _: model.unfitted().fit(features, power_w).predict(features), [None], said)
        return LeftOut(found, task.is_measured, 0, 0, np.zeros(features.shape))
    return (_new_devices if split.name == "new_device" else _left_out_apps)(task, said)


@dataclass(frozen=True, eq=False)
class _Task:
    """What `predicted` is given."""

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
    folds = folds_of(units, split, what=what)
    _check_devices(task, folds, is_by_group=split.groups is not None and len(folds) == len(units))

    def one(fold: Places) -> Floats:
        others = np.setdiff1d(np.arange(len(features)), fold)
        return task.model.unfitted().fit(features[others], power_w[:, others]).predict(features[fold])

    watts, beyond = np.full(power_w.shape, np.nan), np.zeros(features.shape)
    for fold, found in zip(folds, watched(one, folds, tell), strict=True):
        watts[:, fold] = found
        beyond[fold] = _beyond(features[fold], features[np.setdiff1d(apps, fold)], features)
    return LeftOut(watts, task.is_measured, len(folds), len(units), beyond)


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
        said = "a single device" if len(power_w) < 2 else f"no device measured beside its test runs ({split.test_runs})"
        expected = "two or more devices, and one that can be left out with more applications than test runs"
        raise ConfigError([("power_w", said, expected)])
    folds = folds_of(units_of(new, None), split, what="devices that can be new")
    known_w = np.where(is_known, power_w, np.nan)

    def one(fold: Places) -> Floats:
        return _as_new(task, known_w, fold) if split.test_runs else _unseen(task, fold)

    watts, is_asked = np.full(power_w.shape, np.nan), np.zeros(power_w.shape, dtype=np.bool_)
    for fold, found in zip(folds, watched(one, folds, tell), strict=True):
        watts[fold] = found
        is_asked[fold] = is_measured[fold] & ~is_known[fold]
    return LeftOut(watts, is_asked, len(folds), len(new), np.zeros(task.features.shape))


def _test_runs(is_measured: npt.NDArray[np.bool_], split: Split) -> npt.NDArray[np.bool_]:
    """Which applications a new device would have run, drawn at random among those that it was measured under."""
    lots = stream(split.seed, "power.new_device").random(is_measured.shape)
    place = np.where(is_measured, lots, np.inf).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
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
    """How far features lie outside those seen, in standard deviations of these, or of all where these are the same."""
    deviation = seen.std(axis=0)
    deviation = np.where(deviation > 0, deviation, every.std(axis=0))
    far: Floats = np.maximum(own - seen.max(axis=0), 0.0) - np.maximum(seen.min(axis=0) - own, 0.0)
    beyond: Floats = np.divide(far, deviation, out=np.zeros(far.shape), where=deviation > 0)
    return beyond
