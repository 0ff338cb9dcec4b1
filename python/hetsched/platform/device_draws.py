"""Watts of devices under applications: checked against the devices there are, and added up node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed
from hetsched.platform.node_class import MAX_NODE_W

__all__ = ["DevicePower", "Devices", "checked_draws", "draws_on_nodes", "low_counts", "named_devices"]

Matrix = npt.NDArray[np.float64]

DevicePower: TypeAlias = tuple[str, npt.ArrayLike] | Mapping[str, npt.ArrayLike]
"""The class of device that an application uses, and the watts of each; or watts by class."""

_FORM = 'the class of device and the watts of each, as in ("gpu", watts)'
_RULES = ("keep", "clip")


class Devices(Protocol):
    """What needs to be known of a class of devices."""

    @property
    def name(self) -> str:
        """As applications name it."""
        ...

    @property
    def per_node(self) -> int:
        """How many a node has."""
        ...

    @property
    def idle_w(self) -> float:
        """Watts of one that no job uses."""
        ...


def named_devices(devices: Sequence[Devices], name: object, parameter: str, faults: Faults) -> Devices | None:
    """The class of that name; notes it where there is none.

    Parameters
    ----------
    devices
        What a node holds.
    name
        As an application names it.
    parameter
        What names it, for the message.
    faults
        Where to note it.
    """
    for one in devices:
        if one.name == name:
            return one
    names = [one.name for one in devices]
    hint = did_you_mean(name, names) if isinstance(name, str) else ""
    faults.add(parameter, name, f"a class of device that the nodes have: {listed(names)}{hint}")
    return None


def checked_draws(
    power_w: Mapping[str, DevicePower], devices: Sequence[Devices], nodes: int, faults: Faults, *, below_idle: str
) -> dict[str, dict[str, Matrix]]:
    """The watts of the used devices, shape (n_nodes, per_node), by application and class.

    Parameters
    ----------
    power_w
        As in `DeviceNodes.table`.
    devices
        What a node holds.
    nodes
        How many nodes there are.
    faults
        Notes everything that cannot be.
    below_idle
        ``"keep"``, or ``"clip"``: watts below the device's idle draw are set to it.
    """
    if below_idle not in _RULES:
        faults.add("below_idle", below_idle, f"one of {listed(_RULES)}{did_you_mean(str(below_idle), _RULES)}")
    # What is clipped may be negative: a linear model says so of a device that it knows little of.
    found = _by_class(power_w, devices, nodes, faults, least_w=0.0 if below_idle == "keep" else -np.inf)
    if below_idle == "clip":
        idle_w = {one.name: one.idle_w for one in devices}
        return {app: {name: np.maximum(w, idle_w[name]) for name, w in used.items()} for app, used in found.items()}
    return found


def draws_on_nodes(used: Mapping[str, Matrix], devices: Sequence[Devices], nodes: int) -> Matrix:
    """Watts of each node: its used devices' draws and the idle draw of the others, shape (n_nodes,).

    Parameters
    ----------
    used
        Watts by class, shape (n_nodes, per_node) each.
    devices
        What a node holds.
    nodes
        How many there are.
    """
    watts = np.zeros(nodes)
    for one in devices:
        # Device by device, in one order: a sum along an axis may be rounded in another from machine to machine.
        for place in range(one.per_node):
            watts += used[one.name][:, place] if one.name in used else one.idle_w
    return watts


def low_counts(
    power_w: Mapping[str, DevicePower], devices: Sequence[Devices], nodes: int, faults: Faults
) -> pl.DataFrame:
    """One row an application and class: ``app, device, draws, below_idle``; parameters as in `checked_draws`."""
    idle_w = {one.name: one.idle_w for one in devices}
    rows = [
        (app, name, watts.size, int((watts < idle_w[name]).sum()))
        for app, used in _by_class(power_w, devices, nodes, faults, least_w=-np.inf).items()
        for name, watts in used.items()
    ]
    schema = {"app": pl.String, "device": pl.String, "draws": pl.Int64, "below_idle": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _by_class(
    power_w: Mapping[str, DevicePower], devices: Sequence[Devices], nodes: int, faults: Faults, *, least_w: float
) -> dict[str, dict[str, Matrix]]:
    if not isinstance(power_w, Mapping) or not power_w:
        faults.add("power_w", power_w, f"for each application {_FORM}")
        return {}
    found: dict[str, dict[str, Matrix]] = {}
    for app, given in power_w.items():
        found[app] = {}
        for name, watts in _pairs(given, f"power_w[{app}]", faults):
            one = named_devices(devices, name, f"power_w[{app}]", faults)
            if one is not None:
                found[app][one.name] = _of_devices(watts, one, nodes, f"power_w[{app}]", faults, least_w=least_w)
    return found


def _pairs(given: object, parameter: str, faults: Faults) -> list[tuple[object, npt.ArrayLike]]:
    """Class and watts, one pair or several."""
    if isinstance(given, Mapping) and given:
        return list(given.items())
    if isinstance(given, tuple | list) and len(given) == 2:
        return [(given[0], given[1])]
    faults.add(parameter, given, _FORM)
    return []


def _of_devices(
    given: npt.ArrayLike, one: Devices, nodes: int, parameter: str, faults: Faults, *, least_w: float
) -> Matrix:
    """Watts of a class's devices, shape (n_nodes, per_node)."""
    none = np.zeros((nodes, one.per_node))
    try:
        watts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add(parameter, given, f"watts of each {one.name}")
        return none
    if watts.shape not in ((nodes * one.per_node,), (nodes, one.per_node)):
        shape = f"{watts.size:,} watts" if watts.ndim == 1 else f"shape {watts.shape}"
        wanted = f"{nodes * one.per_node:,} of {one.name}: {nodes:,} nodes with {one.per_node} each"
        faults.add(parameter, shape, wanted)
        return none
    watts = watts.reshape(nodes, one.per_node)
    bad = np.flatnonzero(~(np.isfinite(watts) & (watts >= least_w) & (watts <= MAX_NODE_W)))
    if len(bad):
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        low = f"watts between 0 and {MAX_NODE_W:g}" if least_w == 0 else f"watts up to {MAX_NODE_W:g}"
        place = f"{parameter[:-1]}, {one.name} {bad[0]}]"
        faults.add(place, float(watts.flat[bad[0]]), low + more)
    return watts
