"""`Platform`: the machine of a run, node by node, with the tables of its nodes' draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.checks import Faults, many, read_toml
from hetsched.errors import ConfigError
from hetsched.files import json_sha256
from hetsched.platform.node_class import (
    CLASS_KEYS,
    NodeClass,
    as_homogeneous,
    list_of_classes,
    node_classes,
    single_class,
)
from hetsched.variation.frame import check_caps, checked_cap, too_few_nodes
from hetsched.variation.table import VariationTable

KNOWN_DRAWS = ("measured", "table", "tdp")
"""Knowledge of a job's own draw: the measurement, the table only, or nothing (the TDP of its nodes stands for it)."""

_TABLES = ("actual", "predicted")
_KEYS = ("classes", "exclusive", *_TABLES, "cap_w", "known_draws")
_OPTIONS = ("exclusive", "actual", "predicted", "known_draws")


class Platform:
    """Nodes 0..N-1, class after class, and the tables of their draw.

    A busy node draws, in this order: what the actual table says for the job's application on this node; the job's own
    measured ``power_w`` if it is above 0; the class's ``busy_w``.

    Parameters
    ----------
    classes
        Node classes, or dictionaries of their parameters, in the order of node numbers.
    idle_w
        Idle watts of each node, in place of the classes' own. None: the classes'.
    exclusive
        Whether a job gets whole nodes. If not, jobs share nodes slot by slot: a job's ``slots`` are what it takes of
        each of its nodes, and a job without ``slots`` still gets whole nodes.
    actual
        True draw and speed of the nodes by application; charged by the run.
    predicted
        The same as decisions believe it to be. None: they know `actual`.
    known_draws
        Knowledge of a job's own measured ``power_w`` before it has run, where no table gives watts for it.
        ``"measured"``: the measurement. ``"table"``: nothing, decisions take the job for one without it, which draws
        ``busy_w`` times a table's factor. ``"tdp"``: nothing, and they take it for one that draws the TDP of its nodes,
        times a table's factor. The run charges the measurement in any case.

    Raises
    ------
    ConfigError
        If any value is invalid, or a table does not fit the nodes; lists all of them.

    Examples
    --------
    >>> platform = Platform([NodeClass("cpu", 4, 200, 400), {"name": "gpu", "count": 2, "idle_w": 300, "tdp_w": 1400}])
    >>> platform.nodes, platform.idle_w.tolist()
    (6, [200.0, 200.0, 200.0, 200.0, 300.0, 300.0])
    """

    def __init__(
        self,
        classes: Sequence[NodeClass | Mapping[str, Any]],
        *,
        idle_w: Sequence[float] | npt.NDArray[np.float64] | None = None,
        exclusive: bool = True,
        actual: VariationTable | None = None,
        predicted: VariationTable | None = None,
        known_draws: str = "measured",
    ) -> None:
        faults = Faults()
        faults.flag("exclusive", exclusive)
        faults.choice("known_draws", known_draws, KNOWN_DRAWS)
        made = node_classes(classes, idle_w, faults)
        nodes = sum(node_class.count for node_class in made)
        for name, table in (("actual", actual), ("predicted", predicted)):
            if table is not None and table.nodes != nodes and not faults.found:
                faults.add(name, many(table.nodes, "node"), too_few_nodes(table.apps, held=table.nodes, wanted=nodes))
        if predicted is not None and actual is None:
            faults.add("predicted", "a table", "an actual table beside it")
        if predicted is not None and actual is not None:
            predicted = predicted.in_order_of(actual, faults)
            check_caps(actual.cap_w, predicted.cap_w, faults)
        faults.check()
        self._classes = tuple(made)
        self._exclusive = exclusive
        self._actual = actual
        self._predicted = predicted
        self._known_draws = known_draws

    @classmethod
    def homogeneous(
        cls,
        nodes: int,
        idle_w: float | Sequence[float] | npt.NDArray[np.float64],
        tdp_w: float,
        busy_w: float | None = None,
        *,
        slots: int = 1,
        off_w: float = 0.0,
        down_w: float | None = None,
        boot_s: float = 0.0,
        boot_w: float | None = None,
        shutdown_s: float = 0.0,
        shutdown_w: float | None = None,
        gpus: int | None = None,
        exclusive: bool = True,
        actual: VariationTable | None = None,
        predicted: VariationTable | None = None,
        known_draws: str = "measured",
    ) -> Platform:
        """Nodes of one make; the parameters are those of `NodeClass` and `Platform`.

        Parameters
        ----------
        nodes
            Number of nodes, at least 1.
        idle_w
            Watts while idle: one number, or one a node.
        tdp_w
            Watts a node is built for.
        busy_w
            Watts under a job without table or measurement. None: `tdp_w`.
        slots, off_w, down_w, boot_s, boot_w, shutdown_s, shutdown_w, gpus
            As in `NodeClass`.
        exclusive, actual, predicted, known_draws
            As in `Platform`.

        Raises
        ------
        ConfigError
            If any value is invalid; lists all of them.

        Examples
        --------
        >>> Platform.homogeneous(nodes=1024, idle_w=200.0, tdp_w=400.0)
        <Platform: 1,024 nodes>
        """
        try:
            node_class = NodeClass(
                name="node",
                count=nodes,
                idle_w=idle_w,
                tdp_w=tdp_w,
                busy_w=busy_w,
                slots=slots,
                off_w=off_w,
                down_w=down_w,
                boot_s=boot_s,
                boot_w=boot_w,
                shutdown_s=shutdown_s,
                shutdown_w=shutdown_w,
                gpus=gpus,
            )
        except ConfigError as error:
            raise error.mapped(as_homogeneous) from None
        return cls([node_class], exclusive=exclusive, actual=actual, predicted=predicted, known_draws=known_draws)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, folder: str | Path = ".") -> Platform:
        """A platform from plain values, as `to_dict` gives them.

        Parameters
        ----------
        data
            ``classes``, a list of the parameters of node classes; or ``nodes`` with the parameters of one class. Beside
            them ``exclusive``, ``known_draws``, and ``actual`` and ``predicted``, each a table's file or its content;
            and ``cap_w``, the power cap whose rows to take, where their files hold several.
        folder
            Folder that the files' paths are relative to.

        Raises
        ------
        ConfigError
            If a key is unknown or a value is invalid; lists all of them.

        Examples
        --------
        >>> Platform.from_dict({"nodes": 8, "idle_w": 100, "tdp_w": 250}).nodes
        8
        >>> Platform.from_dict({"nodes": 8, "idle_w": 1, "idle_kw": 1, "tdp_w": 250})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        hetsched.errors.ConfigError: idle_kw: found `1`, expected one of ...; did you mean `idle_w`?
        """
        faults = Faults()
        known = _KEYS if "classes" in data else ("nodes", *CLASS_KEYS, *_KEYS[1:])
        faults.unknown_keys(data, known)
        classes = list_of_classes(data["classes"], faults) if "classes" in data else single_class(data, faults)
        cap_w = _wanted_cap(data, faults)
        tables = {name: _named_table(data[name], name, Path(folder), cap_w, faults) for name in _TABLES if name in data}
        faults.check()
        options = {name: data[name] for name in ("exclusive", "known_draws") if name in data}
        return cls(classes, actual=tables.get("actual"), predicted=tables.get("predicted"), **options)

    @classmethod
    def from_toml(cls, path: str | Path) -> Platform:
        """A platform from a TOML file; paths of tables in it are relative to the file.

        Parameters
        ----------
        path
            The file: ``[[classes]]`` tables, or ``nodes``, ``idle_w``, ``tdp_w`` and so on at the top.

        Raises
        ------
        ConfigError
            If the file cannot be read, a key is unknown or a value is invalid; lists all of them.
        """
        return cls.from_dict(read_toml(path), folder=Path(path).parent)

    def to_dict(self) -> dict[str, Any]:
        """The platform as plain values: a table read from a file by the file's path, others by their content.

        Examples
        --------
        >>> platform = Platform.homogeneous(nodes=8, idle_w=100, tdp_w=250)
        >>> Platform.from_dict(platform.to_dict()) == platform
        True
        """
        tables = {"actual": self._actual, "predicted": self._predicted}
        return {
            "classes": [node_class.to_dict() for node_class in self._classes],
            "exclusive": self._exclusive,
            "known_draws": self._known_draws,
            **{name: table.path or table.to_dict() for name, table in tables.items() if table is not None},
        }

    def with_tables(self, *, actual: VariationTable | None, predicted: VariationTable | None = None) -> Platform:
        """The same nodes with other tables.

        Parameters
        ----------
        actual
            The table that the run charges. None: no table.
        predicted
            The table that decisions believe; the same applications and nodes as `actual`. None: they know `actual`.

        Raises
        ------
        ConfigError
            If a table has another number of nodes than the platform, or the two differ in applications or in their
            power cap.

        Examples
        --------
        >>> platform = Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250)
        >>> platform.with_tables(actual=VariationTable(["hpcg"], power_w=[[200.0, 220.0]])).actual.apps
        ('hpcg',)
        """
        return self._with(actual=actual, predicted=predicted)

    def with_known_draws(self, known_draws: str) -> Platform:
        """The same nodes and tables with other knowledge of jobs' own draws.

        Parameters
        ----------
        known_draws
            As in `Platform`.

        Raises
        ------
        ConfigError
            If it is not one of ``"measured"``, ``"table"``, ``"tdp"``.

        Examples
        --------
        >>> Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250).with_known_draws("tdp").known_draws
        'tdp'
        """
        return self._with(known_draws=known_draws)

    def _with(self, **changes: Any) -> Platform:
        own = {name: getattr(self, name) for name in _OPTIONS}
        return Platform(self._classes, **own | changes)

    @property
    def classes(self) -> tuple[NodeClass, ...]:
        """Node classes in the order of node numbers."""
        return self._classes

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(node_class.count for node_class in self._classes)

    def __len__(self) -> int:
        return self.nodes

    @property
    def exclusive(self) -> bool:
        """Whether a job gets whole nodes."""
        return self._exclusive

    @property
    def actual(self) -> VariationTable | None:
        """The table that the run charges."""
        return self._actual

    @property
    def predicted(self) -> VariationTable | None:
        """The table that decisions believe; None if they know the actual one."""
        return self._predicted

    @property
    def known_draws(self) -> str:
        """Knowledge that decisions have of a job's own measured draw: ``"measured"``, ``"table"`` or ``"tdp"``."""
        return self._known_draws

    @cached_property
    def idle_w(self) -> npt.NDArray[np.float64]:
        """Idle watts of each node."""
        return self._per_node("idle_w")

    @cached_property
    def tdp_w(self) -> npt.NDArray[np.float64]:
        """Watts each node is built for."""
        return self._per_node("tdp_w")

    @cached_property
    def slots(self) -> npt.NDArray[np.int64]:
        """Slots of each node."""
        return self._per_node("slots").astype(np.int64)

    @cached_property
    def machine(self) -> _core.Machine:
        """The platform as the engine holds it; converted once."""
        watts_and_seconds = ("busy_w", "tdp_w", "off_w", "down_w", "boot_w", "boot_s", "shutdown_w", "shutdown_s")
        return _core.Machine(
            idle_w=self.idle_w,
            slots=self.slots,
            exclusive=self._exclusive,
            actual=None if self._actual is None else self._actual.core,
            predicted=None if self._predicted is None else self._predicted.core,
            known_draws=self._known_draws,
            cap_tables=None,
            cap_model=None,
            **{name: self._per_node(name) for name in watts_and_seconds},
        )

    @cached_property
    def sha256(self) -> str:
        """Sha256 over the nodes' parameters and `known_draws`; the tables have their own."""
        classes = [node_class.to_dict() for node_class in self._classes]
        # Named only where it is not the default: platforms of earlier versions keep their sum.
        known = {} if self._known_draws == "measured" else {"known_draws": self._known_draws}
        return json_sha256({"classes": classes, "exclusive": self._exclusive, **known})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Platform):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[object, ...]:
        # The engine's copy, and all else that is derived, stays with the process.
        own = {name: getattr(self, name) for name in _OPTIONS}
        return partial(Platform, **own), (self._classes,)

    def __repr__(self) -> str:
        names = [f"{c.count:,} {c.name}" for c in self._classes] if len(self._classes) > 1 else []
        tables = [f"{k} table" for k, t in (("actual", self._actual), ("predicted", self._predicted)) if t is not None]
        return f"<Platform: {', '.join([many(self.nodes, 'node'), *names, *tables])}>"

    def _identity(self) -> tuple[Any, ...]:
        return self._classes, self._exclusive, self._actual, self._predicted, self._known_draws

    def _per_node(self, name: str) -> npt.NDArray[np.float64]:
        values = np.concatenate([node_class.per_node(name) for node_class in self._classes])
        values.flags.writeable = False
        return values


def _wanted_cap(data: Mapping[str, Any], faults: Faults) -> float | None:
    """The cap whose rows to take, if one is asked for."""
    if "cap_w" in data and not any(isinstance(data.get(name), str | Path) for name in _TABLES):
        faults.add("cap_w", data["cap_w"], "nothing without the file of a table as `actual` or `predicted`")
        return None
    return checked_cap(data.get("cap_w"), faults)


def _named_table(given: Any, name: str, folder: Path, cap_w: float | None, faults: Faults) -> VariationTable | None:
    """The table that a key stands for."""
    try:
        if isinstance(given, str | Path):
            return VariationTable.read(folder / given, cap_w=cap_w)
        if isinstance(given, Mapping):
            return VariationTable.from_dict(given, path=name)
    except ConfigError as error:
        own, hint = f"{folder / str(given)}.cap_w", f"; as the key `cap_w` beside `{name}`"
        faults.extend(error, lambda fault: fault.hinting(hint) if fault.place == own else fault)
        return None
    faults.add(name, given, "the path of a table's file, or a table's content")
    return None
