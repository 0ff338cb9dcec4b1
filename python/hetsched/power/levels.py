"""The mean over devices of each application's watts, where not every device was measured under every application.

A simple mean over those that were would follow who was measured: an application that only hungry devices ran would look
hungry. So watts are taken apart into what an application adds and what a device adds, by least squares over the
measured cells (two-way analysis of variance, Searle, Linear Models for Unbalanced Data, 1987), and the mean is what
the application would draw on a device that adds nothing; what devices add is 0 on average. If everything was measured
that is the simple mean. Devices that share no application, directly or through others, cannot be compared; each such
group is taken to be alike on average.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats

__all__ = ["app_means"]


def app_means(power_w: Floats) -> Floats:
    """Mean watts of each application over all devices, shape (n_apps,).

    Parameters
    ----------
    power_w
        Shape (n_devices, n_apps), NaN = not measured; at least one measured cell in every row and column.

    Examples
    --------
    Device 1 draws 20 W more than device 0. The second application ran on device 1 alone.

    >>> app_means(np.array([[200.0, np.nan], [220.0, 320.0]])).round(9).tolist()
    [210.0, 310.0]
    """
    is_measured = ~np.isnan(power_w)
    if is_measured.all():
        # Sorted, so that the order of the devices does not change a bit.
        return np.asarray(np.sort(power_w, axis=0).mean(axis=0))
    by_device = _device_effects(power_w, is_measured)
    for group in _groups(is_measured):
        by_device[group] -= by_device[group].mean()
    rest = np.where(is_measured, power_w - by_device[:, None], 0.0)
    return np.asarray(rest.sum(axis=0) / is_measured.sum(axis=0))


def _device_effects(power_w: Floats, is_measured: npt.NDArray[np.bool_]) -> Floats:
    """What each device adds, up to one number a group of devices."""
    # The system has an unknown for each of the smaller side; the other side's follow.
    if len(power_w) > power_w.shape[1]:
        by_app = _device_effects(power_w.T, is_measured.T)
        return np.asarray(np.where(is_measured, power_w - by_app, 0.0).sum(axis=1) / is_measured.sum(axis=1))
    counted = is_measured.astype(np.float64)
    watts = np.where(is_measured, power_w, 0.0)
    n_devices = counted.sum(axis=0)
    system = np.diag(counted.sum(axis=1)) - (counted / n_devices) @ counted.T
    known = watts.sum(axis=1) - counted @ (watts.sum(axis=0) / n_devices)
    # Singular, as a number could be added to every device: the least-squares answer is one of them.
    return np.asarray(np.linalg.lstsq(system, known, rcond=1e-10)[0])


def _groups(is_measured: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    """Devices that are connected by applications they share."""
    label = np.arange(len(is_measured))
    while True:
        # The lowest label among the devices of each application, then among the applications of each device.
        of_app = np.where(is_measured, label[:, None], len(label)).min(axis=0)
        lowest = np.where(is_measured, of_app, len(label)).min(axis=1)
        if (lowest == label).all():
            return [np.flatnonzero(label == one) for one in np.unique(label)]
        label = lowest
