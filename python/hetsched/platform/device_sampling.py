"""Watts of devices drawn from normal distributions: the variation that an experiment runs on.

The standard normals belong to the seed, the application and the device. Spread and what a node's devices have in
common scale them and nothing else, so that tables of one seed differ in these alone (common random numbers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, listed
from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W
from hetsched.platform.devices import DeviceClass, DeviceNodes, named_devices
from hetsched.variation.table import VariationTable

Vector = npt.NDArray[np.float64]


@named_in("hetsched.platform")
@dataclass(frozen=True, eq=False)
class DeviceSample:
    """Drawn watts of devices, and the table of the nodes they add up to.

    Parameters
    ----------
    table
        Watts of each node under each application.
    power_w
        Watts of each used device, shape (n_devices,), by application, with the class; `DeviceNodes.table` takes it.
    clipped
        One row an application: ``app, device, draws, clipped, clipped_ratio``; the last two are how many draws lay
        below the device's idle draw and were set to it, and their share.
    """

    table: VariationTable
    power_w: Mapping[str, tuple[str, Vector]]
    clipped: pl.DataFrame

    def apps(self, device: str) -> list[str]:
        """The applications that use a class of device, in order.

        Parameters
        ----------
        device
            The class's name.
        """
        return [app for app, (name, _) in self.power_w.items() if name == device]

    def matrix(self, device: str) -> npt.NDArray[np.float64]:
        """Watts of a class's devices as power models take them, shape (n_devices, n_apps).

        Parameters
        ----------
        device
            The class's name.

        Raises
        ------
        ConfigError
            If no application uses it.

        Examples
        --------
        >>> from hetsched.platform.devices import TSUBAME3_JOBS_W, tsubame3
        >>> sample = sample_devices(tsubame3(), TSUBAME3_JOBS_W, seed=1)
        >>> sample.matrix("gpu").shape, sample.apps("gpu")
        ((2160, 3), ['gpu-small', 'gpu-medium', 'gpu-large'])
        """
        faults = Faults()
        if not self.apps(device):
            used = dict.fromkeys(name for name, _ in self.power_w.values())
            faults.add("device", device, f"a class that an application uses: {listed(used)}")
        faults.check()
        return np.column_stack([self.power_w[app][1] for app in self.apps(device)])

    def __repr__(self) -> str:
        count, draws = self.clipped["clipped"].sum(), self.clipped["draws"].sum()
        return f"<DeviceSample: {self.table!r}, {count:,} of {draws:,} draws set to idle>"


def sample_devices(
    machine: DeviceNodes,
    means_w: Mapping[str, tuple[str, float]],
    *,
    sd_ratio: float | Mapping[str, float] = 0.04,
    node_share: float = 0.0,
    seed: int,
) -> DeviceSample:
    """Devices with normally distributed watts for each application, around an equal share of a node's mean draw.

    A device of mean ``m`` draws ``m × (1 + sd_ratio × z)``, where ``z`` is standard normal, independent over
    applications, and over devices but for `node_share`: ``z = √node_share × (the node's) + √(1 - node_share) × (the
    device's own)``. Draws below the device's idle draw are set to it and counted, which raises the mean a little;
    draws above its TDP are kept, as a mean may itself lie above (two CPUs of 120 W under the paper's job of 245 W).

    After the VAHRM paper, which extends 256 measured GPUs to 2,160 by a normal with their mean and variance, and
    makes all its CPUs that way. It prints no spread; 4 % is an assumption.

    Parameters
    ----------
    machine
        The nodes.
    means_w
        For each application the class of device that it uses and what a node's devices of it draw together, on
        average: `TSUBAME3_JOBS_W`, or ``{"hpl": ("gpu", 1095.0)}``.
    sd_ratio
        Standard deviation of a device's watts as a share of their mean, 0 to 1: one number, or one an application.
    node_share
        Share of the variance that the devices of a node have in common, 0 to 1; the variance of a device stays.
    seed
        Of the draws, from 0 to 2⁶⁴ - 1. Another `sd_ratio` or `node_share`, more nodes, or other applications next to
        one leave its standard normals as they were.

    Returns
    -------
    DeviceSample
        The table of the nodes, the watts of the devices, and how many were set to idle.

    Raises
    ------
    ConfigError
        If the nodes have no such class, or a mean is below the devices' idle draw; lists all faults.

    Examples
    --------
    >>> from hetsched.platform.devices import TSUBAME3_JOBS_W, tsubame3
    >>> sample = sample_devices(tsubame3(), TSUBAME3_JOBS_W, sd_ratio=0.04, seed=1)
    >>> sample.table
    <VariationTable: 6 applications, 540 nodes, power_w>
    >>> sample_devices(tsubame3(2), {"hpl": ("gpu", 1095.0)}, sd_ratio=0.0, seed=1).table.power_w.tolist()
    [[1175.0, 1175.0]]
    """
    faults = Faults()
    _check_machine(machine, faults)
    faults.number("node_share", node_share, low=0.0, high=1.0)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.check()
    means = _checked_means(means_w, machine, faults)
    ratios = _checked_ratios(sd_ratio, list(means_w) if isinstance(means_w, Mapping) else [], faults)
    faults.check()
    power_w, counts = {}, []
    for app, (one, mean_w) in means.items():
        watts = mean_w * (1.0 + ratios[app] * _normals(app, machine.nodes, one.per_node, node_share, seed))
        low = int((watts < one.idle_w).sum())
        power_w[app] = (one.name, np.maximum(watts, one.idle_w))
        counts.append((app, one.name, watts.size, low, low / watts.size))
    schema = {
        "app": pl.String,
        "device": pl.String,
        "draws": pl.Int64,
        "clipped": pl.Int64,
        "clipped_ratio": pl.Float64,
    }
    return DeviceSample(machine.table(power_w), power_w, pl.DataFrame(counts, schema=schema, orient="row"))


def _check_machine(machine: object, faults: Faults) -> None:
    if not isinstance(machine, DeviceNodes):
        faults.add("machine", machine, "a DeviceNodes, such as tsubame3()")


def _normals(app: str, nodes: int, per_node: int, node_share: float, seed: int) -> Vector:
    """Standard normals of the devices, those of a node side by side."""
    own = stream(seed, f"devices {app}").standard_normal(nodes * per_node)
    shared = np.repeat(stream(seed, f"devices {app} node").standard_normal(nodes), per_node)
    joint: Vector = np.sqrt(node_share) * shared + np.sqrt(1.0 - node_share) * own
    return joint


def _checked_means(
    means_w: Mapping[str, tuple[str, float]], machine: DeviceNodes, faults: Faults
) -> dict[str, tuple[DeviceClass, float]]:
    """The class and the mean watts of one device, by application."""
    form = 'the class of device and watts, as in ("gpu", 597.0)'
    if not isinstance(means_w, Mapping) or not means_w:
        faults.add("means_w", means_w, f"for each application {form}")
        return {}
    means: dict[str, tuple[DeviceClass, float]] = {}
    for app, given in means_w.items():
        own = f"means_w[{app}]"
        if not isinstance(app, str) or not app or not isinstance(given, tuple | list) or len(given) != 2:
            faults.add(own, given, form)
            continue
        one = named_devices(machine.devices, given[0], own, faults)
        if one is None:
            continue
        before = len(faults.found)
        faults.number(own, given[1], low=0.0, high=MAX_NODE_W)
        if len(faults.found) == before and given[1] < one.idle_w * one.per_node:
            idle = f"at least what {one.per_node} idle {one.name} draw, {one.idle_w * one.per_node:g} W"
            faults.add(own, given[1], idle)
        if len(faults.found) == before:
            means[app] = (one, float(given[1]) / one.per_node)
    return means


def _checked_ratios(sd_ratio: float | Mapping[str, float], apps: list[str], faults: Faults) -> dict[str, float]:
    """The spread of each application."""
    if not isinstance(sd_ratio, Mapping):
        faults.number("sd_ratio", sd_ratio, low=0.0, high=1.0)
        return dict.fromkeys(apps, sd_ratio)
    if set(sd_ratio) != set(apps):
        faults.add("sd_ratio", listed(map(str, sd_ratio)), f"the applications of the means: {listed(map(str, apps))}")
    for app, ratio in sd_ratio.items():
        faults.number(f"sd_ratio[{app}]", ratio, low=0.0, high=1.0)
    return dict(sd_ratio)
