"""Shares of what a shared model says of devices' differences that are kept: the rest is drawn towards no variation.

A device's factors say how it differs under an application that it has not run as far as applications correlate, and
nothing where they do not. Each application is judged by devices that ran it and others: what the others say of them,
with loadings that were fitted without them, against one number for all devices. Where what is gained is certain, all of
it is kept; elsewhere the share that would have erred least, the less of it the less certain its gain is.
"""

from __future__ import annotations

import numpy as np

from hetsched.power.checks import Floats

_SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
"""Shares that are tried, the first and the last of which are all and nothing."""

_CERTAIN = 3.0
"""Standard errors that a gain over no variation has to exceed for all of it to be kept."""

_FOLDS = 5
_FEWEST_DEVICES = 10
"""Devices from which on an application is judged by its own; those with fewer by the others, or together."""


def factors_without(log_w: Floats, level: Floats, loadings: Floats, noise: Floats, app: int) -> Floats:
    """Expected factors of devices by all of their applications but one, shape (n_devices, n_factors)."""
    others = np.arange(len(level)) != app
    is_known = ~np.isnan(log_w[:, others])
    centred = np.where(is_known, log_w[:, others] - level[others], 0.0)
    weighted = loadings[others] / noise[others, None]
    rank = loadings.shape[1]
    squares = (loadings[others, :, None] * weighted[:, None, :]).reshape(-1, rank * rank)
    precision = (is_known @ squares).reshape(-1, rank, rank) + np.eye(rank)
    return np.asarray(np.linalg.solve(precision, (centred @ weighted)[:, :, None])[:, :, 0])


def left_out_differences(factors: Floats, differences: Floats, noise: float, spread: Floats) -> Floats:
    """Differences of devices under an application, as their factors and other devices' differences say.

    The loadings are fitted to four fifths of the devices each, drawn towards none as far as `spread`, their variance
    over applications, and `noise` say.
    """
    found = np.zeros(len(differences))
    for fold in range(min(_FOLDS, len(differences))):
        own = np.arange(len(differences)) % _FOLDS == fold
        rest = factors[~own]
        gram = rest.T @ rest + np.diag(noise / spread)
        centre = differences[~own].mean() if (~own).any() else 0.0
        found[own] = factors[own] @ np.linalg.solve(gram, rest.T @ (differences[~own] - centre))
    return found


def kept_share(errors: Floats) -> float:
    """Share that is kept, from errors with each of `_SHARES`: shape (n_shares, n_cases)."""
    gains = errors[-1] - errors
    if _is_certain(gains[0]):
        return 1.0
    error = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1]) if gains.shape[1] > 1 else np.full(len(gains), np.inf)
    mean = gains.mean(axis=1)
    best = int(np.argmax(mean))
    if mean[best] <= error[best]:
        return 0.0
    # The positive part of James and Stein's: a gain as large as its error is none.
    return float(_SHARES[best] * (1.0 - (error[best] / mean[best]) ** 2))


def _is_certain(gains: Floats) -> bool:
    """True if gains are above nothing for certain; three or more have to say so."""
    return len(gains) > 2 and bool(gains.mean() > _CERTAIN * gains.std(ddof=1) / np.sqrt(len(gains)))


def errors_by_share(differences: Floats, expected: Floats) -> Floats:
    """Relative errors where each of `_SHARES` of an expected difference (both of logarithms) is kept."""
    return np.asarray(np.abs(np.exp(_SHARES[:, None] * expected - differences) - 1.0))


def trusted(log_w: Floats, level: Floats, loadings: Floats, noise: Floats, unseen: Floats) -> tuple[Floats, float]:
    """Share kept of each application on devices that have not run it, and of an application that none has run.

    `unseen` are each application's loadings as its features would have them, by the others'.
    """
    n_apps, rank = loadings.shape
    if rank == 0 or n_apps < 2:
        return np.ones(n_apps), 1.0
    spread = (loadings**2).mean(axis=0) + 1e-10
    own, judged, of_new, few = np.full(n_apps, np.nan), {}, [], []
    for app in range(n_apps):
        is_judged = ~np.isnan(log_w[:, app]) & (~np.isnan(np.delete(log_w, app, axis=1))).any(axis=1)
        if is_judged.sum() < 2:
            continue
        factors = factors_without(log_w[is_judged], level, loadings, noise, app)
        differences = log_w[is_judged, app] - level[app]
        of_new.append(errors_by_share(differences, factors @ unseen[app]).mean(axis=1))
        expected = left_out_differences(factors, differences, float(noise[app]), spread)
        errors = errors_by_share(differences, expected)
        if is_judged.sum() < _FEWEST_DEVICES:
            few.append(errors.mean(axis=1))
        else:
            judged[app] = errors
    is_rule = _is_certain(np.array([float((errors[-1] - errors[0]).mean()) for errors in judged.values()]))
    for app, errors in judged.items():
        # Where applications correlate as a rule, one that gains by that needs no proof of its own.
        gains = errors[0].mean() < errors[-1].mean()
        own[app] = 1.0 if is_rule and gains else kept_share(errors)
    # Of an application on few devices the others tell.
    rest = kept_share(np.array(few).T) if few else 1.0
    if not np.isnan(own).all():
        rest = float(np.nanmean(own))
    return np.where(np.isnan(own), rest, own), kept_share(np.array(of_new).T) if of_new else 1.0
