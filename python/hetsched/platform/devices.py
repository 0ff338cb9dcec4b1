"""Nodes made up of devices, whose watts add up to the nodes' draw under each application.

Devices are what varies. Their watts may be measured, drawn (`device_sampling`) or predicted by a power model: they all
enter through `DeviceNodes.table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, more_in_brackets
from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W, Record, number, whole, word
from hetsched.platform.platform import Platform
from hetsched.typing import BelowIdle
from hetsched.variation.table import VariationTable

Matrix = npt.NDArray[np.float64]

DevicePower: TypeAlias = tuple[str, npt.ArrayLike] | Mapping[str, npt.ArrayLike]
"""The class of device that an application uses, and the watts of each; or watts by class."""

_FORM = 'the class of device and the watts of each, as in ("gpu", watts)'

_MOST_NODES = 2**31 - 1
_WATTS = number(0.0, MAX_NODE_W, unit="W")


@named_in("hetsched")
@dataclass(frozen=True)
class DeviceClass(Record):
    """Devices of one make, so many in every node.

    Parameters
    ----------
    name
        As applications name it, such as ``"gpu"``.
    per_node
        How many a node has, at least 1.
    idle_w
        Watts of one that no job uses.
    tdp_w
        Watts that one is built for; at least `idle_w`.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> DeviceClass("gpu", per_node=4, idle_w=60.0, tdp_w=300.0).idle_w
    60.0
    >>> DeviceClass("gpu", per_node=0, idle_w=60.0, tdp_w=30.0)
    Traceback (most recent call last):
    hetsched.errors.ConfigError: per_node: found `0`, expected a whole number between 1 and 1024
    tdp_w: found `30`, expected at least the idle draw, 60 W
    """

    name: str = field(metadata=word())
    per_node: int = field(metadata=whole(1, 1024))
    idle_w: float = field(metadata=_WATTS)
    tdp_w: float = field(metadata=_WATTS)

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        if not faults.has("idle_w", "tdp_w") and values["tdp_w"] < values["idle_w"]:
            faults.add("tdp_w", self.tdp_w, f"at least the idle draw, {values['idle_w']:g} W")


@named_in("hetsched")
class DeviceNodes:
    """Nodes that all hold the same kinds of devices, each device with its own draw.

    Device i of a class sits in node ``i // per_node``: the devices of node 0 come first.

    Parameters
    ----------
    nodes
        How many nodes there are, at least 1.
    devices
        The devices of each node; every class has a name of its own.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> machine = DeviceNodes(540, [DeviceClass("cpu", 2, 40.0, 120.0), DeviceClass("gpu", 4, 60.0, 300.0)])
    >>> machine
    <DeviceNodes: 540 nodes of 2 cpu and 4 gpu>
    >>> machine.nodes * machine.idle_w, machine.nodes * machine.tdp_w
    (172800.0, 777600.0)
    """

    def __init__(self, nodes: int, devices: Sequence[DeviceClass]) -> None:
        faults = Faults()
        faults.whole("nodes", nodes, low=1, high=_MOST_NODES)
        _check_classes(devices, faults)
        faults.check()
        self._nodes = int(nodes)
        self._devices = tuple(devices)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self._nodes

    @property
    def devices(self) -> tuple[DeviceClass, ...]:
        """The devices of each node."""
        return self._devices

    @property
    def idle_w(self) -> float:
        """Watts of a node no device of which is used."""
        return float(sum(one.per_node * one.idle_w for one in self._devices))

    @property
    def tdp_w(self) -> float:
        """Watts that a node's devices are built for together."""
        return float(sum(one.per_node * one.tdp_w for one in self._devices))

    def count(self, device: str) -> int:
        """Number of devices of a class in the whole machine.

        Parameters
        ----------
        device
            The class's name.

        Raises
        ------
        ConfigError
            If there is no such class.

        Examples
        --------
        >>> DeviceNodes(540, [DeviceClass("gpu", 4, 60.0, 300.0)]).count("gpu")
        2160
        """
        faults = Faults()
        found = named_devices(self._devices, device, "device", faults)
        faults.check()
        return 0 if found is None else self._nodes * found.per_node

    def platform(
        self,
        *,
        actual: VariationTable | None = None,
        predicted: VariationTable | None = None,
        busy_w: float | None = None,
    ) -> Platform:
        """The machine as runs take it: idle draw and TDP of a node are the sums over its devices.

        Parameters
        ----------
        actual, predicted
            As in `Platform`; made by `table`.
        busy_w
            Watts of a node under a job that no table knows. None: the node's TDP.

        Raises
        ------
        ConfigError
            If a table has another number of nodes, as in `Platform`.

        Examples
        --------
        >>> platform = DeviceNodes(3, [DeviceClass("cpu", 2, 40.0, 120.0)]).platform()
        >>> platform.idle_w.tolist(), platform.tdp_w.tolist()
        ([80.0, 80.0, 80.0], [240.0, 240.0, 240.0])
        """
        return Platform.homogeneous(
            nodes=self._nodes,
            idle_w=self.idle_w,
            tdp_w=self.tdp_w,
            busy_w=busy_w,
            gpus=self._gpus(),
            actual=actual,
            predicted=predicted,
        )

    def _gpus(self) -> int | None:
        """GPUs in a node; None unless the classes are called `gpu` and `cpu`, as jobs call them."""
        per_node = {one.name: one.per_node for one in self._devices}
        return per_node.get("gpu", 0 if set(per_node) == {"cpu"} else None)

    def table(self, power_w: Mapping[str, DevicePower], *, below_idle: BelowIdle = "keep") -> VariationTable:
        """Draw of each node under each application: its used devices' watts and the idle draw of all others.

        Measured, drawn and predicted watts enter alike. The predictions of a power model, shape (n_devices, n_apps),
        are columns: ``{app: ("gpu", predicted[:, j]) for j, app in enumerate(apps)}``.

        Parameters
        ----------
        power_w
            For each application the class of device that it uses and the watts of each: shape (n_devices,), or
            (n_nodes, per_node). An application that uses several classes: ``{"cpu": watts, "gpu": watts}``. Where some
            devices of a class are left alone, give those their idle draw.
        below_idle
            Watts below a device's idle draw are kept as they are (``"keep"``), or set to it (``"clip"``); `low_draws`
            counts them. Negative watts, which a power model may predict, are a fault unless clipped.

        Returns
        -------
        VariationTable
            One row an application, in the order given.

        Raises
        ------
        ConfigError
            If the nodes have no such class, watts are NaN or of another number of devices; lists all faults.

        Examples
        --------
        >>> machine = DeviceNodes(2, [DeviceClass("cpu", 2, 40.0, 120.0), DeviceClass("gpu", 1, 60.0, 300.0)])
        >>> machine.table({"stream": ("cpu", [80.0, 85.0, 90.0, 95.0]), "hpl": ("gpu", [250.0, 270.0])}).power_w
        array([[225., 245.],
               [330., 350.]])
        >>> machine.table({"hpl": ("gpu", [250.0, 270.0, 260.0])})
        Traceback (most recent call last):
        hetsched.errors.ConfigError: power_w[hpl]: found `3 watts`, expected 2 of gpu: 2 nodes with 1 each
        """
        faults = Faults()
        faults.choice("below_idle", below_idle, get_args(BelowIdle))
        # Watts that are clipped may be negative: a linear model predicts such of a device that it knows little of.
        draws = self._draws(power_w, faults, least_w=0.0 if below_idle == "keep" else -np.inf)
        faults.check()
        rows = [self._on_nodes(used, is_clipped=below_idle == "clip") for used in draws.values()]
        return VariationTable(list(draws), power_w=np.array(rows))

    def low_draws(self, power_w: Mapping[str, DevicePower]) -> pl.DataFrame:
        """Number of devices that are said to draw less under an application than when idle.

        Parameters
        ----------
        power_w
            As for `table`.

        Returns
        -------
        polars.DataFrame
            One row an application and class: ``app, device, draws, below_idle``.

        Raises
        ------
        ConfigError
            As `table`; negative watts are counted like others.

        Examples
        --------
        >>> machine = DeviceNodes(2, [DeviceClass("gpu", 2, 60.0, 300.0)])
        >>> machine.low_draws({"hpl": ("gpu", [250.0, 59.0, 260.0, -3.0])}).rows()
        [('hpl', 'gpu', 4, 2)]
        """
        faults = Faults()
        draws = self._draws(power_w, faults, least_w=-np.inf)
        faults.check()
        idle_w = {one.name: one.idle_w for one in self._devices}
        rows = [
            (app, name, watts.size, int((watts < idle_w[name]).sum()))
            for app, used in draws.items()
            for name, watts in used.items()
        ]
        schema = {"app": pl.String, "device": pl.String, "draws": pl.Int64, "below_idle": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _draws(
        self, power_w: Mapping[str, DevicePower], faults: Faults, *, least_w: float
    ) -> dict[str, dict[str, Matrix]]:
        """The watts of the used devices, shape (n_nodes, per_node), by application and class; notes faults."""
        if not isinstance(power_w, Mapping) or not power_w:
            faults.add("power_w", power_w, f"for each application {_FORM}")
            return {}
        found: dict[str, dict[str, Matrix]] = {}
        for app, given in power_w.items():
            found[app] = {}
            for name, watts in _pairs(given, f"power_w[{app}]", faults):
                one = named_devices(self._devices, name, f"power_w[{app}]", faults)
                if one is not None:
                    found[app][one.name] = _of_devices(
                        watts, one, self._nodes, f"power_w[{app}]", faults, least_w=least_w
                    )
        return found

    def _on_nodes(self, used: Mapping[str, Matrix], *, is_clipped: bool) -> Matrix:
        """Watts of each node: its used devices' draws and the idle draw of the others, shape (n_nodes,)."""
        watts = np.zeros(self._nodes)
        for one in self._devices:
            draws = used.get(one.name, np.full((self._nodes, one.per_node), one.idle_w))
            # Device by device, in one order: a sum along an axis may be rounded in another from machine to machine.
            for place in range(one.per_node):
                watts += np.maximum(draws[:, place], one.idle_w) if is_clipped else draws[:, place]
        return watts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceNodes):
            return NotImplemented
        return (self._nodes, self._devices) == (other._nodes, other._devices)

    def __hash__(self) -> int:
        return hash((self._nodes, self._devices))

    def __repr__(self) -> str:
        inside = " and ".join(f"{one.per_node} {one.name}" for one in self._devices)
        return f"<DeviceNodes: {self._nodes:,} node{'' if self._nodes == 1 else 's'} of {inside}>"


def _check_classes(devices: object, faults: Faults) -> None:
    if not isinstance(devices, list | tuple) or not devices:
        faults.add("devices", devices, "a list of DeviceClass, at least one")
        return
    names: set[str] = set()
    for place, one in enumerate(devices):
        if not isinstance(one, DeviceClass):
            faults.add(f"devices[{place}]", one, "a DeviceClass")
            continue
        if one.name in names:
            faults.add(f"devices[{place}]", one.name, "each name once")
        names.add(one.name)


def named_devices(devices: Sequence[DeviceClass], name: object, parameter: str, faults: Faults) -> DeviceClass | None:
    """The class of that name; notes an unknown one."""
    for one in devices:
        if one.name == name:
            return one
    names = [one.name for one in devices]
    hint = did_you_mean(name, names) if isinstance(name, str) else ""
    faults.add(parameter, name, f"a class of device that the nodes have: {listed(names)}{hint}")
    return None


def _pairs(given: object, parameter: str, faults: Faults) -> list[tuple[object, npt.ArrayLike]]:
    """Class and watts, one pair or several."""
    if isinstance(given, Mapping) and given:
        return list(given.items())
    if isinstance(given, tuple | list) and len(given) == 2:
        return [(given[0], given[1])]
    faults.add(parameter, given, _FORM)
    return []


def _of_devices(
    given: npt.ArrayLike, one: DeviceClass, nodes: int, parameter: str, faults: Faults, *, least_w: float
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
        low = f"watts between 0 and {MAX_NODE_W:g}" if least_w == 0 else f"watts up to {MAX_NODE_W:g}"
        place = f"{parameter[:-1]}, {one.name} {bad[0]}]"
        faults.add(place, float(watts.flat[bad[0]]), low + more_in_brackets(len(bad) - 1))
    return watts


TSUBAME3_JOBS_W: dict[str, tuple[str, float]] = {
    "cpu-small": ("cpu", 169.0),
    "cpu-medium": ("cpu", 206.0),
    "cpu-large": ("cpu", 245.0),
    "gpu-small": ("gpu", 251.0),
    "gpu-medium": ("gpu", 597.0),
    "gpu-large": ("gpu", 1095.0),
}
"""Job types 1 to 6 of the VAHRM paper's Table IV: the devices each uses, and their mean watts, a node's together."""


def tsubame3(nodes: int = 540) -> DeviceNodes:
    """The VAHRM paper's machine: 540 nodes of two Xeon E5-2680 and four Tesla P100 (Table II).

    A CPU draws 40 W when idle and has a TDP of 120 W, a GPU 60 W and 300 W; together 172.8 kW and 777.6 kW, which the
    paper rounds to 780 kW. The paper leaves out the rest of a node's draw (memory, fans, network).

    Parameters
    ----------
    nodes
        For a part of the machine, or a larger one.

    Raises
    ------
    ConfigError
        If the number is invalid.

    Examples
    --------
    >>> tsubame3()
    <DeviceNodes: 540 nodes of 2 cpu and 4 gpu>
    """
    cpu = DeviceClass("cpu", per_node=2, idle_w=40.0, tdp_w=120.0)
    gpu = DeviceClass("gpu", per_node=4, idle_w=60.0, tdp_w=300.0)
    return DeviceNodes(nodes, [cpu, gpu])
