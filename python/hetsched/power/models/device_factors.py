"""Differences between devices in a few numbers each: a factor model of log watts, fitted with gaps.

``log P_ij = m_j + l_j · z_i + e_ij``: `m` the level of application j, `l` how strongly it feels each factor, `z` device
i's factors (a priori normal with mean 0 and covariance 1), `e` noise of the application's own size. A device with few
measurements is drawn towards the mean device, an application on few devices towards the other applications' loadings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hetsched.power.checks import Floats

_MOST_STEPS = 60
_TOLERANCE = 1e-3
_LEAST_VARIANCE = 1e-7
_PRIOR_DEVICES = 3.0
"""Number of devices that the common noise counts for in the noise of an application."""


@dataclass(frozen=True)
class DeviceFactors:
    """A fitted factor model: `m` and the variance of `e` of each application, and `l`, shape (n_apps, n_factors)."""

    level: Floats
    loadings: Floats
    noise: Floats


def fit_device_factors(log_w: Floats, *, factors: int) -> DeviceFactors:
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
    return DeviceFactors(found.level, found.loadings @ axes.T, found.noise)


def posterior_factors(log_w: Floats, model: DeviceFactors) -> Floats:
    """The factors of devices, as their measurements say and no farther from the mean device than these warrant."""
    is_known = (~np.isnan(log_w)).astype(np.float64)
    return _expected(np.where(is_known > 0, log_w, 0.0), is_known, model)[0]


def _of_one_application(log_w: Floats) -> DeviceFactors:
    """Nothing distinguishes noise from what is the device's own: all of it counts as the latter."""
    deviation = float(log_w.std())
    rank = int(deviation > 0)
    return DeviceFactors(log_w.mean(keepdims=True), np.full((1, rank), deviation), np.full(1, 1e-9 * deviation**2))


def _first_guess(centred: Floats, is_known: Floats, level: Floats, rank: int) -> DeviceFactors:
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    loadings = axes[:rank].T * (sizes[:rank] / np.sqrt(len(centred)))
    rest = (centred**2).sum() / is_known.sum() - (loadings**2).sum() / len(level)
    return DeviceFactors(level, loadings, np.full(len(level), max(rest, 1e-6)))


def _expected(filled: Floats, is_known: Floats, model: DeviceFactors) -> tuple[Floats, Floats]:
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
    filled: Floats, is_known: Floats, model: DeviceFactors, mean: Floats, variance: Floats
) -> tuple[DeviceFactors, Floats, Floats]:
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
    return DeviceFactors(solved[:, rank], loadings @ own, noise), mean, variance


def _noise(rest: Floats, count: Floats, common: float) -> Floats:
    """Noise of each application, shrunk towards the common one where few devices were measured."""
    return np.maximum((np.maximum(rest, 0.0) + _PRIOR_DEVICES * common) / (count + _PRIOR_DEVICES), _LEAST_VARIANCE)


def _moved(before: DeviceFactors, after: DeviceFactors) -> float:
    """Size of one step: the largest change of a level, or the change of the covariance relative to it."""
    level = float(np.abs(after.level - before.level).max())
    # The norm of A Aᵀ - B Bᵀ from small products only; axes may turn, which changes nothing.
    own, other, both = (
        float(np.linalg.norm(left.loadings.T @ right.loadings)) ** 2
        for left, right in ((before, before), (after, after), (before, after))
    )
    return max(level, float(np.sqrt(max(own + other - 2 * both, 0.0) / max(own, 1e-300))))
