"""`SharedResponse`: one model of all devices of a kind, in which each borrows from the others what it was not asked.

An application has a level of watts and a few loadings, a device a few factors; the watts of a device under an
application are the level, bent by factors times loadings. Levels and loadings of applications that were never run come
from their counters, those of applications that were run on some devices from these.

The level is learned twice, as a logarithm and in watts (with errors relative to them): draws of components add up in
watts, and their shares show best in logarithms. Both count as their leave-one-out errors say.

Factors come from a model of log watts that is fitted with gaps, ``log P_ij = m_j + l_j · z_i + e_ij``: `m` the level of
application j, `l` how strongly it feels each factor, `z` device i's factors (a priori normal with mean 0 and covariance
1), `e` noise of the application's own size. A device with few measurements is drawn towards the mean device, an
application on few devices towards the other applications' loadings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults
from hetsched.naming import named_in
from hetsched.power.checks import Floats
from hetsched.power.models.archive import Saved, finite
from hetsched.power.models.curves import KERNELS, Applications, Curve, Scaling, kernel_matrices, model_weights
from hetsched.power.models.learners import State
from hetsched.power.models.model import PowerModel
from hetsched.power.models.trust import trusted
from hetsched.resources import one_blas_thread

_MOST_STEPS = 60
_TOLERANCE = 1e-3
_LEAST_VARIANCE = 1e-7
_PRIOR_DEVICES = 3.0
"""Number of devices that the common noise counts for in the noise of an application."""


@dataclass(frozen=True)
class _DeviceFactors:
    """A fitted factor model: `m` and the variance of `e` of each application, and `l`, shape (n_apps, n_factors)."""

    level: Floats
    loadings: Floats
    noise: Floats


def fit_device_factors(log_w: Floats, *, factors: int) -> _DeviceFactors:
    """Fit by expectation and maximisation, with the loadings' own mean and variance learned along with them.

    Rubin & Thayer, EM algorithms for ML factor analysis, Psychometrika 1982; expanded parameters as in Liu, Rubin & Wu,
    Biometrika 1998.
    """
    is_known = (~np.isnan(log_w)).astype(np.float64)
    filled = np.where(is_known > 0, log_w, 0.0)
    level = filled.sum(axis=0) / is_known.sum(axis=0)
    if len(level) == 1 and factors > 0:
        return _of_one_application(filled[:, 0])
    rank = max(min(factors, log_w.shape[0] - 1, log_w.shape[1] - 1), 0)
    found = _first_guess(filled - is_known * level, is_known, level, rank)
    if rank == 0:
        return found
    mean, variance = found.loadings.mean(axis=0), (found.loadings**2).mean(axis=0) + 1e-10
    for _ in range(_MOST_STEPS):
        before = found
        found, mean, variance = _step(filled, is_known, found, mean, variance)
        if _moved(before, found) < _TOLERANCE:
            break
    _, _, axes = np.linalg.svd(found.loadings, full_matrices=False)
    return _DeviceFactors(found.level, found.loadings @ axes.T, found.noise)


def posterior_factors(log_w: Floats, model: _DeviceFactors) -> Floats:
    """The factors of devices, as their measurements say and no farther from the mean device than these warrant."""
    is_known = (~np.isnan(log_w)).astype(np.float64)
    return _expected(np.where(is_known > 0, log_w, 0.0), is_known, model)[0]


def _of_one_application(log_w: Floats) -> _DeviceFactors:
    """Nothing distinguishes noise from what is the device's own: all of it counts as the latter."""
    deviation = float(log_w.std())
    rank = int(deviation > 0)
    return _DeviceFactors(log_w.mean(keepdims=True), np.full((1, rank), deviation), np.full(1, 1e-9 * deviation**2))


def _first_guess(centred: Floats, is_known: Floats, level: Floats, rank: int) -> _DeviceFactors:
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    loadings = axes[:rank].T * (sizes[:rank] / np.sqrt(len(centred)))
    rest = (centred**2).sum() / is_known.sum() - (loadings**2).sum() / len(level)
    return _DeviceFactors(level, loadings, np.full(len(level), max(rest, 1e-6)))


def _expected(filled: Floats, is_known: Floats, model: _DeviceFactors) -> tuple[Floats, Floats]:
    """Posterior means and covariances of the devices' factors."""
    rank = model.loadings.shape[1]
    if rank == 0:
        return np.zeros((len(filled), 0)), np.zeros((len(filled), 0, 0))
    weighted = model.loadings / model.noise[:, None]
    squares = (model.loadings[:, :, None] * weighted[:, None, :]).reshape(-1, rank * rank)
    precision = (is_known @ squares).reshape(-1, rank, rank) + np.eye(rank)
    covariance = np.asarray(np.linalg.inv(precision))
    pull = (filled - is_known * model.level) @ weighted
    return np.asarray(np.einsum("irs,is->ir", covariance, pull)), covariance


def _step(
    filled: Floats, is_known: Floats, model: _DeviceFactors, mean: Floats, variance: Floats
) -> tuple[_DeviceFactors, Floats, Floats]:
    """One step: factors given loadings, then loadings, level and noise of every application given factors."""
    rank = model.loadings.shape[1]
    factors, covariance = _expected(filled, is_known, model)
    design = np.hstack([factors, np.ones((len(factors), 1))])
    moments = design[:, :, None] * design[:, None, :]
    moments[:, :rank, :rank] += covariance
    gram = (is_known.T @ moments.reshape(len(design), -1)).reshape(-1, rank + 1, rank + 1)
    cross = filled.T @ design
    # Ridge towards the mean loading; the level is free.
    prior = np.zeros_like(gram)
    shrink = model.noise[:, None] / variance
    prior[:, range(rank), range(rank)] = shrink
    pulled = cross + np.hstack([shrink * mean, np.zeros((len(cross), 1))])
    inverse = np.linalg.inv(gram + prior)
    solved = np.einsum("jrs,js->jr", inverse, pulled)
    rest = (filled**2).sum(axis=0) - 2 * (solved * cross).sum(axis=1) + np.einsum("jr,jrs,js->j", solved, gram, solved)
    noise = _noise(rest, is_known.sum(axis=0), float(np.exp(np.log(model.noise).mean())))
    loadings = solved[:, :rank]
    mean = loadings.mean(axis=0)
    spare = (inverse[:, range(rank), range(rank)] * model.noise[:, None]).mean(axis=0)
    variance = ((loadings - mean) ** 2).mean(axis=0) + spare + 1e-10
    # The factors' own covariance goes into the loadings: without it the steps are many and small.
    own = np.linalg.cholesky((factors.T @ factors + covariance.sum(axis=0)) / len(factors) + 1e-9 * np.eye(rank))
    return _DeviceFactors(solved[:, rank], loadings @ own, noise), mean, variance


def _noise(rest: Floats, count: Floats, common: float) -> Floats:
    """Noise of each application, shrunk towards the common one where few devices were measured."""
    return np.maximum((np.maximum(rest, 0.0) + _PRIOR_DEVICES * common) / (count + _PRIOR_DEVICES), _LEAST_VARIANCE)


def _moved(before: _DeviceFactors, after: _DeviceFactors) -> float:
    """Size of one step: the largest change of a level, or the change of the covariance relative to it."""
    level = float(np.abs(after.level - before.level).max())
    # The norm of A Aᵀ - B Bᵀ from small products only; axes may turn, which changes nothing.
    own, other, both = (
        float(np.linalg.norm(left.loadings.T @ right.loadings)) ** 2
        for left, right in ((before, before), (after, after), (before, after))
    )
    return max(level, float(np.sqrt(max(own + other - 2 * both, 0.0) / max(own, 1e-300))))


_SHOWN = 10
_MOST_FACTORS = 32
_MOST_DEVICES, _MOST_APPS = 2000, 2000
"""From how many devices and applications at most the shared parts are learned; each device's own from all it ran."""

_MOST_JUDGES = 400
"""Devices from which at most it is judged how far factors are to be trusted."""

_AT_ONCE = 256
"""Applications predicted at a time, to bound memory."""
_LEAST, _MOST = 0.5, 1.5
"""Factor by which a level may lie below the least and above the largest level it was fitted to."""
_SLACK = 0.5
"""The same of a loading, as a share of the range."""


@named_in("hetsched.power")
class SharedResponse(PowerModel, kind="shared_response"):
    """A mixed-effects model: ``log P_ij = m_j + l_j · z_i``, with what is unknown drawn towards what is shared.

    Of an application that was fitted (known by its features, which have to be the same numbers), `m` and `l` are those
    of its measurements; of another they are smooth functions of its features. `z` is what a device's measurements say,
    drawn towards the mean device the more the fewer they are: one measurement is enough to begin with. Applications
    with the same features are one application.

    Parameters
    ----------
    factors
        In how many ways devices may differ at most, 0 to 32; fewer where there are fewer devices or applications.

    Attributes
    ----------
    factors_
        `z`, shape (n_devices, n_factors), mean 0 and standard deviation 1 over devices.
    level_, loadings_
        `m` (log watts) and `l` of the fitted applications, shapes (n_apps,) and (n_apps, n_factors).
    features_
        Of these applications.
    response_
        From features to levels and loadings.
    trust_, new_trust_
        Share of `l_j · z_i` that counts on devices that have not run application j, 0 to 1, shape (n_apps,), and that
        of an application that no device has run. Chosen on the training data: 0 is no variation, one number for all.
    mean_
        Logarithm of each application's mean watts over the devices that have run it, shape (n_apps,): no variation.
    measured_
        Which devices have run which applications, shape (n_devices, n_apps).
    noise_
        Standard deviation of what is left, as a share of the watts, shape (n_apps,).

    Examples
    --------
    >>> from hetsched.power.synthetic import synthetic_profiles
    >>> drawn = synthetic_profiles("p100", devices=32, seed=1)
    >>> watts = drawn.power_w.copy()
    >>> watts[31, 1:] = np.nan  # a new device: one test run
    >>> model = SharedResponse().fit(drawn.features, watts)
    >>> predicted = model.predict(drawn.features)
    >>> bool(np.abs(predicted[31] / drawn.power_w[31] - 1).mean() < 0.03)
    True
    """

    def __init__(self, factors: int = 6) -> None:
        self.factors = factors

    factors_: Floats
    level_: Floats
    loadings_: Floats
    noise_: Floats
    features_: Floats
    trust_: Floats
    new_trust_: float
    mean_: Floats
    measured_: npt.NDArray[np.bool_]
    response_: _AppResponse

    def _check(self, faults: Faults) -> None:
        faults.whole("factors", self.factors, low=0, high=_MOST_FACTORS)

    def _learn(self, features: Floats, power_w: Floats) -> None:
        _check_watts(power_w)
        log_w = np.log(power_w)
        shared = fit_device_factors(_of_some_devices(log_w), factors=self.factors)
        self.factors_ = posterior_factors(log_w, shared)
        self.level_, self.loadings_, self.noise_ = shared.level, shared.loadings, np.sqrt(shared.noise)
        self.features_ = features
        some = _evenly(np.argsort(shared.level, kind="stable"), _MOST_APPS)
        self.response_, unseen = _fit_app_response(features[some], shared.level[some], shared.loadings[some])
        judged = some[unseen.apps]
        judges = log_w[_evenly(np.arange(len(log_w)), _MOST_JUDGES)][:, judged]
        shares, self.new_trust_ = trusted(
            judges, shared.level[judged], shared.loadings[judged], shared.noise[judged], unseen.loadings
        )
        # Applications that are not judged, of which there are many, are like those that are.
        self.trust_ = np.full(len(shared.level), float(shares.mean()))
        self.trust_[judged] = shares
        self.measured_ = ~np.isnan(log_w)
        self.mean_ = np.log(np.nanmean(power_w, axis=0))

    def _watts(self, features: Floats) -> Floats:
        level, loadings = self.response_(features)
        values = np.column_stack([self.level_, self.trust_, self.mean_, self.loadings_])
        own, is_known = _recalled(self.features_, values, features)
        level = np.where(is_known, own[:, 0], level)
        loadings = np.where(is_known[:, None], own[:, 3:], loadings)
        trust, mean = np.where(is_known, own[:, 1], self.new_trust_), np.where(is_known, own[:, 2], level)
        differences = np.zeros((len(self.factors_), len(level)))
        for factor, loading in zip(self.factors_.T, loadings.T, strict=True):
            differences += factor[:, None] * loading
        if (trust < 1.0).any():
            # A cell that was measured says itself how its device differs.
            ran = _recalled(self.features_, self.measured_.T.astype(np.float64), features)[0].T > 0
            differences = np.where(ran, differences, trust * differences + (1.0 - trust) * (mean - level))
        return np.asarray(np.exp(level + differences))

    def _state(self) -> State:
        header, arrays = self.response_.state()
        names = ("factors", "level", "loadings", "noise", "features", "trust", "mean")
        own = {name: getattr(self, name + "_") for name in names}
        return {**header, "new_trust": self.new_trust_}, {**arrays, **own, "measured": self.measured_.astype(np.int8)}

    def _restore(self, header: dict[str, Any], arrays: Saved) -> None:
        self.factors_ = arrays.floats("factors", self.n_devices_, None)
        self.level_ = arrays.floats("level", None)
        n_apps, n_factors = len(self.level_), self.factors_.shape[1]
        self.loadings_ = arrays.floats("loadings", n_apps, n_factors)
        self.noise_ = arrays.floats("noise", n_apps)
        self.features_ = arrays.floats("features", n_apps, self.n_features_in_)
        self.trust_, self.new_trust_, self.mean_ = np.ones(n_apps), 1.0, self.level_
        self.measured_ = np.zeros((self.n_devices_, n_apps), dtype=np.bool_)
        # Files of before hold none of this, and nothing was drawn towards no variation then.
        if "trust" in arrays:
            self.trust_, self.mean_ = (arrays.floats(name, n_apps) for name in ("trust", "mean"))
            self.measured_ = arrays.whole("measured", self.n_devices_, n_apps) > 0
            (self.new_trust_,) = finite([header["new_trust"]], 1)
        self.response_ = _AppResponse.restored(header, arrays.inside("response"), self.n_features_in_, n_factors)


def _check_watts(power_w: Floats) -> None:
    """Refuse 0 W, of which there is no logarithm."""
    faults = Faults()
    for device, app in np.argwhere(power_w == 0.0)[:_SHOWN]:
        faults.add(f"power_w[device {device}, application {app}]", 0.0, "more than 0 W; NaN = not measured")
    faults.check()


def _of_some_devices(log_w: Floats) -> Floats:
    """Devices from which the shared part is learned; all, if that would leave out an application."""
    some = log_w[_evenly(np.arange(len(log_w)), _MOST_DEVICES)]
    return log_w if np.isnan(some).all(axis=0).any() else some


def _evenly(places: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    """At most so many, evenly out of all; the first and the last among them."""
    if len(places) <= most:
        return np.sort(places)
    return np.sort(places[np.linspace(0, len(places) - 1, most).round().astype(np.intp)])


def _recalled(known: Floats, values: Floats, features: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Mean value of the known applications with the very same features, and for which applications there are any."""
    _, group = np.unique(np.concatenate([known, features]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    of_known, asked = group[: len(known)], group[len(known) :]
    count = np.bincount(of_known, minlength=group.max() + 1)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, of_known, values)
    return sums[asked] / np.maximum(count[asked], 1)[:, None], count[asked] > 0


@dataclass(frozen=True)
class _AppResponse:
    """Functions of features, fitted: the level's logarithm, the level in watts, and each loading.

    `log_share` is how much the first counts against the second. A level is predicted between `low_w` and `high_w`, a
    loading between `least` and `most`.
    """

    features: Floats
    curves: tuple[Curve, ...]
    log_share: float
    low_w: float
    high_w: float
    least: Floats
    most: Floats

    def __call__(self, features: Floats) -> tuple[Floats, Floats]:
        """Log watts of the mean device, shape (n_apps,), and loadings, shape (n_apps, n_factors)."""
        scaling = Scaling.of(self.features)
        parts = [
            _values(self.curves, scaling, features[start : start + _AT_ONCE], self.features)
            for start in range(0, len(features), _AT_ONCE)
        ]
        values = np.concatenate(parts)
        low, high = np.log([self.low_w, self.high_w])
        from_log = np.clip(values[:, 0], low, high)
        from_watts = np.log(np.clip(values[:, 1], self.low_w, self.high_w))
        loadings = np.clip(values[:, 2:], self.least, self.most)
        return self.log_share * from_log + (1.0 - self.log_share) * from_watts, loadings

    def state(self) -> State:
        """State for files: values that JSON can hold, and arrays."""
        header = {
            "log_share": self.log_share,
            "watts": [self.low_w, self.high_w],
            "centres": [curve.centre for curve in self.curves],
            "reaches": [curve.reach for curve in self.curves],
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "response.features": self.features,
            "response.least": self.least,
            "response.most": self.most,
        }
        for number, curve in enumerate(self.curves):
            arrays[f"response.{number}.kernels"] = curve.kernels
            arrays[f"response.{number}.coefficients"] = curve.coefficients
        return header, arrays

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Saved, n_features: int, n_factors: int) -> _AppResponse:
        """From what `state` gave."""
        features = arrays.floats("features", None, n_features)
        centres, reaches = (finite(header[name], n_factors + 2) for name in ("centres", "reaches"))
        curves = []
        for number, (centre, reach) in enumerate(zip(centres, reaches, strict=True)):
            kernels = arrays.places(f"{number}.kernels", len(KERNELS))
            coefficients = arrays.floats(f"{number}.coefficients", len(kernels), len(features))
            curves.append(Curve(kernels, coefficients, centre, reach))
        (log_share,), (low_w, high_w) = finite([header["log_share"]], 1), finite(header["watts"], 2)
        if not len(features) or not 0 < low_w <= high_w:
            raise ValueError("no watts to predict between")
        borders = (arrays.floats(name, n_factors) for name in ("least", "most"))
        return cls(features, tuple(curves), log_share, low_w, high_w, *borders)


@dataclass(frozen=True)
class _Unseen:
    """Loadings of applications as functions that were fitted without each would have them."""

    apps: npt.NDArray[np.intp]
    loadings: Floats


@one_blas_thread
def _fit_app_response(features: Floats, level: Floats, loadings: Floats) -> tuple[_AppResponse, _Unseen]:
    """Learn levels and loadings as functions of features."""
    apps = Applications(features, level)
    watts = np.exp(level)
    low_w, high_w = _LEAST * float(watts.min()), _MOST * float(watts.max())
    weight = np.exp(level.mean()) / watts
    by_log, by_watts = apps.tried(level), apps.tried(watts, weight)
    missed = [by_log.left_out, np.log(np.clip(by_watts.left_out, low_w, high_w))]
    shares = model_weights(np.concatenate(missed) - level[apps.judged])
    of_log, of_watts = shares[: len(by_log.left_out)], shares[len(by_log.left_out) :]
    curves = [apps.curve(by_log, of_log, level), apps.curve(by_watts, of_watts, watts, weight)]
    unseen = np.zeros((len(apps.judged), loadings.shape[1]))
    for factor, loading in enumerate(loadings.T):
        trials = apps.tried(loading)
        weights = model_weights(trials.left_out - loading[apps.judged])
        curves.append(apps.curve(trials, weights, loading))
        unseen[:, factor] = weights @ trials.left_out / weights.sum() if weights.sum() > 0 else trials.centre
    slack = _SLACK * np.ptp(loadings, axis=0)
    borders = loadings.min(axis=0) - slack, loadings.max(axis=0) + slack
    response = _AppResponse(features, tuple(curves), float(of_log.sum() / shares.sum()), low_w, high_w, *borders)
    return response, _Unseen(apps.judged, np.clip(unseen, *borders))


def _values(curves: tuple[Curve, ...], scaling: Scaling, rows: Floats, columns: Floats) -> Floats:
    """Values of every curve, shape (n_apps, n_curves)."""
    used = np.unique(np.concatenate([curve.kernels for curve in curves]))
    matrices = kernel_matrices(scaling, rows, columns, used.tolist())
    return np.stack([curve.values(matrices[np.searchsorted(used, curve.kernels)]) for curve in curves], axis=1)
