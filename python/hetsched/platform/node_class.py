"""`NodeClass`: nodes of one make, their draw in each state and the time a change of state takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, few, many, plain, shown
from hetsched.errors import ConfigError, Fault
from hetsched.hostlists import HostListError, expanded, folded
from hetsched.naming import named_in
from hetsched.params import MAX_NODE_W, Entry, Parameter, entries_of, number, whole, word
from hetsched.workload.constraints import is_feature
from hetsched.workload.convert import node_numbers

"""The largest draw of one node that is taken, in watts."""

_NODES = whole(1, 2**31 - 1)
_WATTS = number(0.0, MAX_NODE_W, unit="W")
_SECONDS = number(0.0, 1e9, unit="seconds")


def _features(value: Any, name: str, faults: Faults) -> tuple[str, ...]:
    """Words, ascending; notes what are none."""
    if not isinstance(value, list | tuple | set | frozenset):
        faults.add(name, value, "a list of words")
        return ()
    bad = [one for one in value if not is_feature(one)]
    for one in bad:
        faults.add(name, one, "words of letters, digits and _.:+-")
    return () if bad else tuple(sorted(set(value)))


def _node_names(value: Any, name: str, faults: Faults) -> tuple[str, ...]:
    """Names out of a host list or a list of names; notes what are none."""
    try:
        if isinstance(value, str):
            return tuple(expanded(value))
        if isinstance(value, list | tuple) and all(isinstance(one, str) and expanded(one) == [one] for one in value):
            return tuple(value)
    except HostListError as error:
        faults.note(name, error.found, error.expected)
        return ()
    faults.add(name, value, "a host list such as `n[1-3,07]`, or a list of names")
    return ()


@named_in("hetsched")
@dataclass(frozen=True)
class NodeClass(Entry):
    """Nodes of one make.

    Parameters
    ----------
    name
        For reports.
    count
        How many there are, at least 1.
    idle_w
        Watts a node draws while it waits for a job: one number, or one a node.
    tdp_w
        Watts a node is built for; at least `idle_w`.
    busy_w
        Watts a node draws under a job that no table and no measurement says more of. None: `tdp_w`.
    slots
        Parts of a node that jobs can share, at least 1.
    off_w
        Watts while switched off. None: nothing is said, which counts as 0 where no node sleeps; a policy that puts
        nodes to sleep needs it.
    down_w
        Watts while failed. None: `off_w`.
    boot_s, shutdown_s
        Seconds it takes to boot and to shut down. None: as with `off_w`.
    boot_w, shutdown_w
        Watts meanwhile. None: `idle_w`.
    boot_cost
        What one boot wears off, in the currency of the prices of energy; the energy of boots is metered by itself.
        None: nothing is said of it.
    gpus
        GPUs in a node; 0: none. None: nothing is known of them, which counts as none where another class says how many
        it has. Jobs that ask for more (``gpus``, or one where ``device`` is ``gpu``) run on other nodes.
    memory_gb
        Memory of a node, in the unit of the jobs' ``memory_gb``. None: nothing is known of it, which counts as none
        where another class says how much it has.
    features
        Words that jobs' ``constraint`` may name, such as ``("gpu", "a100")``. None: nothing is said, which counts as
        no features where another class has some.
    racks
        Racks that its nodes are in: the name of one for all, or a table from names to nodes such as
        ``{"r1": "0-35", "r2": "36-71"}``, counted from 0 within the class, ends included. Events name them.
    weight
        Rank of its nodes where a batch system chooses among them, the lowest first, such as Slurm's ``Weight``. None:
        nothing is said.
    node_names
        Its nodes' names in order: a host list such as ``"n[01-36]"``, or a list. None: they have numbers only.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> NodeClass("cpu", count=2, idle_w=[95.0, 105.0], tdp_w=400).per_node("idle_w")
    array([ 95., 105.])
    >>> NodeClass("cpu", count=0, idle_w=200, tdp_w=100)
    Traceback (most recent call last):
    hetsched.errors.ConfigError: count: found `0`, expected a whole number between 1 and 2147483647
    tdp_w: found `100`, expected at least the idle draw, 200 W
    """

    _kind: ClassVar[str] = "a node class"

    name: str = field(metadata=word())
    count: int = field(metadata=_NODES)
    idle_w: float | Sequence[float] | npt.NDArray[np.float64]
    tdp_w: float = field(metadata=_WATTS)
    busy_w: float | None = field(default=None, metadata=_WATTS)
    slots: int = field(default=1, metadata=_NODES)
    off_w: float | None = field(default=None, metadata=_WATTS)
    down_w: float | None = field(default=None, metadata=_WATTS)
    boot_s: float | None = field(default=None, metadata=_SECONDS)
    boot_w: float | None = field(default=None, metadata=_WATTS)
    shutdown_s: float | None = field(default=None, metadata=_SECONDS)
    shutdown_w: float | None = field(default=None, metadata=_WATTS)
    boot_cost: float | None = field(default=None, metadata=number(0.0, 1e12))
    gpus: int | None = field(default=None, metadata=whole(0, 1024))
    memory_gb: float | None = field(default=None, metadata=number(0.0, 1e9, unit="GB"))
    features: Sequence[str] | None = field(default=None, metadata=Parameter(take=_features))
    racks: str | Mapping[str, str] | None = None
    weight: int | None = field(default=None, metadata=whole(0, 2**32 - 1))
    node_names: str | Sequence[str] | None = field(default=None, metadata=Parameter(take=_node_names))

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        values["racks"] = _racks(self.racks, self.count, faults)
        values["idle_w"] = watts_of("idle_w", self.idle_w, self.count, faults)
        if not faults.has("idle_w", "tdp_w") and np.max(values["idle_w"]) > self.tdp_w:
            faults.add("tdp_w", self.tdp_w, f"at least the idle draw, {np.max(values['idle_w']):g} W")
        if values["node_names"] is not None and not faults.has("count", "node_names"):
            _check_names(values["node_names"], values["count"], faults)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter that is set, as `from_dict` takes it.

        Examples
        --------
        >>> NodeClass("cpu", count=4, idle_w=200, tdp_w=400, busy_w=350).to_dict()["busy_w"]
        350.0
        """
        values = asdict(self)
        for name in ("idle_w", "features"):
            if isinstance(values[name], tuple):
                values[name] = list(values[name])
        if isinstance(values["racks"], tuple):
            values["racks"] = dict(values["racks"])
        if self.node_names is not None:
            values["node_names"] = folded(self.node_names)
        return {name: value for name, value in values.items() if value is not None}

    @property
    def rack_nodes(self) -> dict[str, list[int]]:
        """Nodes of each rack, counted from 0 within the class.

        Examples
        --------
        >>> NodeClass("cpu", count=4, idle_w=200, tdp_w=400, racks={"r1": "0-1", "r2": "2,3"}).rack_nodes
        {'r1': [0, 1], 'r2': [2, 3]}
        """
        if self.racks is None:
            return {}
        racks = {self.racks: f"0-{self.count - 1}"} if isinstance(self.racks, str) else dict(self.racks)
        return {name: node_numbers(nodes) or [] for name, nodes in racks.items()}

    def per_node(self, name: str) -> npt.NDArray[np.float64]:
        """A parameter's value for each node of the class, defaults filled in.

        Parameters
        ----------
        name
            Such as ``"boot_w"``.
        """
        value = getattr(self, name)
        if value is None and name in _STANDING_IN:
            return self.per_node(_STANDING_IN[name])
        if value is None and name in (*SLEEP_KEYS, "boot_cost"):
            value = 0.0
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (self.count,))


SLEEP_KEYS = ("boot_s", "shutdown_s", "off_w")
"""Parameters that a class has to give, be it as 0, before its nodes may sleep: what sleep costs and saves."""

_STANDING_IN = {"busy_w": "tdp_w", "down_w": "off_w", "boot_w": "idle_w", "shutdown_w": "idle_w"}

CLASS_KEYS = tuple(field.name for field in fields(NodeClass) if field.name not in ("name", "count"))
"""Parameters of the class in the file of a platform that has only one."""


def _racks(value: Any, count: Any, faults: Faults) -> Any:
    """A rack's name, or racks and their nodes in order; notes what is neither, and nodes in several racks."""
    if isinstance(value, tuple):
        value = dict(value)
    if value is None or (isinstance(value, str) and value):
        return value
    if not isinstance(value, Mapping) or not value:
        faults.add("racks", value, "a rack's name, or a table from racks to nodes, such as { r1 = `0-35` }")
        return None
    taken: dict[int, str] = {}
    for name, nodes in value.items():
        numbers = node_numbers(nodes) if isinstance(nodes, str) else None
        place = f"racks.{name}"
        if not name or numbers is None:
            faults.add(place, nodes, "nodes of the class such as `0-35`, ends included")
        elif isinstance(count, int) and max(numbers) >= count:
            faults.add(place, nodes, f"nodes of the class, 0 to {count - 1}")
        elif (twice := next((node for node in numbers if node in taken), None)) is not None:
            faults.add(place, nodes, f"each node in one rack; node {twice} is in {taken[twice]}")
        else:
            taken |= dict.fromkeys(numbers, str(name))
    return None if faults.has("racks") else tuple(sorted(value.items()))


def _check_names(names: Sequence[str], count: int, faults: Faults) -> None:
    if len(names) != count:
        faults.note("node_names", many(len(names), "name"), f"{count}, one a node")
    elif twice := repeated(names):
        faults.note("node_names", f"{few([shown(name) for name in twice])} twice", "each name once")


def repeated(names: Sequence[str]) -> list[str]:
    """Names that occur more than once, in order."""
    return [] if len(set(names)) == len(names) else [name for name, n in Counter(names).items() if n > 1]


def watts_of(name: str, value: Any, count: Any, faults: Faults) -> float | tuple[float, ...]:
    """Watts of every node, or one number for each of `count` nodes; a fault is noted, and gives 0."""
    is_single = not hasattr(value, "__len__") or getattr(value, "shape", None) == ()
    before = len(faults.found)
    if is_single or isinstance(value, str | bytes | Mapping):
        value = plain(value)
        faults.number(name, value, low=0.0, high=MAX_NODE_W)
        return 0.0 if len(faults.found) > before else float(value)
    values = faults.array(name, value, "numbers, one a node")
    if values is None:
        return 0.0
    if values.shape != (count,):
        faults.add(name, f"{values.size} values", f"one number, or one for each of the {count} nodes")
        return 0.0
    bad = np.flatnonzero(~((values >= 0) & (values <= MAX_NODE_W)))
    if len(bad):
        node = int(bad[0])
        faults.add(f"{name}[{node}]", float(values[node]), f"a number between 0 and {MAX_NODE_W:g}")
    return tuple(np.asarray(values, dtype=np.float64).tolist())


def as_homogeneous(fault: Fault) -> Fault:
    """A fault of a platform's only class: its `count` is called `nodes`."""
    return fault.moved("count", "nodes")


def node_classes(classes: Sequence[Any], idle_w: Any, faults: Faults) -> list[NodeClass]:
    """The classes with idle draws by node handed out to them; none if there is a fault."""
    made = entries_of(NodeClass, classes, "classes", faults)
    if not classes:
        faults.add("classes", "none", "at least one node class")
    if faults.found or idle_w is None:
        return made
    nodes = sum(node_class.count for node_class in made)
    values = faults.array("idle_w", idle_w, f"numbers, one for each of the {nodes} nodes")
    if values is None:
        return made
    if values.shape != (nodes,):
        faults.add("idle_w", f"{values.size} values", f"one for each of the {nodes} nodes")
        return made
    each = np.split(values, np.cumsum([one.count for one in made])[:-1])
    own = [{**one.to_dict(), "idle_w": idle_w} for one, idle_w in zip(made, each, strict=True)]
    return entries_of(NodeClass, own, "classes", faults)


def list_of_classes(given: Any, faults: Faults) -> list[NodeClass]:
    """Same as `node_classes`, of a value that may be no list."""
    if not isinstance(given, list | tuple):
        faults.add("classes", given, "a list of node classes")
        return []
    return node_classes(given, None, faults)


def single_class(data: Mapping[str, Any], faults: Faults) -> list[NodeClass]:
    """The only class of a platform that gives `nodes`; none if there is a fault."""
    parameters = {name: data[name] for name in CLASS_KEYS if name in data}
    for name in ("nodes", "idle_w", "tdp_w"):
        if name not in data:
            faults.add(name, "nothing", "a value; a platform needs nodes, idle_w and tdp_w, or classes")
    if faults.found:
        return []
    try:
        return [NodeClass(name="node", count=data["nodes"], **parameters)]
    except ConfigError as error:
        faults.extend(error, as_homogeneous)
        return []
