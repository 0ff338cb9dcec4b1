"""`Platform`: the machine of a run, node by node, with the tables of its nodes' draw."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.checks import Faults, few, listed, many, read_toml, shown
from hetsched.errors import ConfigError, PlatformWarning
from hetsched.files import json_sha256
from hetsched.naming import named_in
from hetsched.notebook import card, table
from hetsched.params import ASSUMED_W
from hetsched.platform.draws import ByCap, CapModel, Draws
from hetsched.platform.facility import GivenPue, Pue
from hetsched.platform.node_class import CLASS_KEYS, SLEEP_KEYS, NodeClass, as_homogeneous, node_classes, repeated
from hetsched.platform.queues import Queue, check_queues, queue_list
from hetsched.platform.reading import arguments_of, machine_file
from hetsched.platform.slurm import SLURM_WATTS, Assumed, read_slurm
from hetsched.typing import KnownDraws
from hetsched.variation.table import VariationTable
from hetsched.workload.constraints import is_licence

KNOWN_DRAWS = get_args(KnownDraws)
"""Words for `known_draws`."""


@named_in("hetsched")
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
        True draw and speed of the nodes by application; charged by the run. Or a dictionary from power cap (W a node)
        to table, with ``math.inf``, no cap, among its keys; see `with_tables`.
    predicted
        The same as decisions believe it to be. None: they know `actual`.
    known_draws
        Knowledge of a job's own measured ``power_w`` before it has run, where no table gives watts for it.
        ``"measured"``: the measurement. ``"table"``: nothing, decisions take the job for one without it, which draws
        ``busy_w`` times a table's factor. ``"tdp"``: nothing, and they take it for one that draws the TDP of its nodes,
        times a table's factor. The run charges the measurement in any case.
    cap_model
        Watts and speed of the nodes under any power cap: a dictionary of the parameters of `with_cap_model`.
    licences
        How many licences of each kind all jobs that run may hold together (column ``licences``), such as
        ``{"matlab": 10}``. None: nothing is said, and the column means nothing.
    queues
        Queues, or dictionaries of their parameters: every job's ``queue`` names one of them. None: there are none, and
        the column means nothing. Nodes in no queue serve no job.
    pue
        Power usage effectiveness: watts at the meter for each watt that the nodes draw, 1 to 10. Or a table by load,
        ``{"load_ratio": [0, 0.5, 1], "pue": [2, 1.5, 1.4]}``, whose load is what the nodes draw of the sum of their
        ``tdp_w``, linear between the rows; or by time, ``{"time_s": […], "pue": […]}``, seconds on the log's clock,
        each value until the next row. With it `Result.summary` has ``meter_energy_j``, and prices and carbon
        intensities are of that energy. None: nothing is said of the meter.
    currency
        The unit of prices, such as ``"EUR"``, which stands behind costs. None: none does.

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

    _files: tuple[str, ...] = ()
    """Files of Slurm's that it was made of, for messages."""

    def __init__(
        self,
        classes: Sequence[NodeClass | Mapping[str, Any]],
        *,
        idle_w: Sequence[float] | npt.NDArray[np.float64] | None = None,
        exclusive: bool = True,
        actual: VariationTable | ByCap | None = None,
        predicted: VariationTable | ByCap | None = None,
        known_draws: KnownDraws = "measured",
        cap_model: CapModel | Mapping[str, Any] | None = None,
        licences: Mapping[str, int] | None = None,
        queues: Sequence[Queue | Mapping[str, Any]] | None = None,
        pue: GivenPue | None = None,
        currency: str | None = None,
    ) -> None:
        faults = Faults()
        faults.flag("exclusive", exclusive)
        faults.choice("known_draws", known_draws, KNOWN_DRAWS)
        made = node_classes(classes, idle_w, faults)
        _check_licences(licences, faults)
        faults.word("currency", currency, "EUR")
        effectiveness = Pue.checked(pue, faults)
        if not faults.found:
            _check_names(made, faults)
        nodes = sum(node_class.count for node_class in made)
        named = None if queues is None else queue_list(queues, "queues", faults)
        if named is not None and not faults.found:
            check_queues(named, nodes, "queues", faults)
        draws = Draws.checked(actual, predicted, cap_model, nodes=nodes, faults=faults)
        faults.check()
        self._classes = tuple(made)
        self._exclusive = exclusive
        self._draws = draws
        self._known_draws = known_draws
        self._licences = None if licences is None else {name: int(count) for name, count in sorted(licences.items())}
        self._queues = named
        self._pue = effectiveness
        self._currency = currency

    @classmethod
    def homogeneous(
        cls,
        nodes: int,
        idle_w: float | Sequence[float] | npt.NDArray[np.float64],
        tdp_w: float,
        busy_w: float | None = None,
        *,
        slots: int = 1,
        off_w: float | None = None,
        down_w: float | None = None,
        boot_s: float | None = None,
        boot_w: float | None = None,
        shutdown_s: float | None = None,
        shutdown_w: float | None = None,
        boot_cost: float | None = None,
        gpus: int | None = None,
        memory_gb: float | None = None,
        features: Sequence[str] | None = None,
        racks: str | Mapping[str, str] | None = None,
        weight: int | None = None,
        node_names: str | Sequence[str] | None = None,
        exclusive: bool = True,
        actual: VariationTable | None = None,
        predicted: VariationTable | None = None,
        known_draws: KnownDraws = "measured",
        licences: Mapping[str, int] | None = None,
        queues: Sequence[Queue | Mapping[str, Any]] | None = None,
        pue: GivenPue | None = None,
        currency: str | None = None,
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
        slots, off_w, down_w, boot_s, boot_w, shutdown_s, shutdown_w, boot_cost, gpus, memory_gb, features, racks
            As in `NodeClass`.
        weight, node_names
            As in `NodeClass`.
        exclusive, actual, predicted, known_draws, licences, queues, pue, currency
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
        given = dict(locals())
        try:
            node_class = NodeClass("node", nodes, **{name: given[name] for name in CLASS_KEYS})
        except ConfigError as error:
            raise error.mapped(as_homogeneous) from None
        others = ("exclusive", "actual", "predicted", "known_draws", "licences", "queues", "pue", "currency")
        return cls([node_class], **{name: given[name] for name in others})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, folder: str | Path = ".") -> Platform:
        """A platform from plain values, as `to_dict` gives them.

        Parameters
        ----------
        data
            ``classes``, a list of the parameters of node classes; or ``nodes`` with the parameters of one class.
            Besides them ``exclusive``, ``known_draws``, and ``actual`` and ``predicted``, each a table's file or its
            content; and ``cap_w``, the power cap whose rows to take where their files hold several, or ``"all"``: each
            a table by cap. ``cap_model`` holds the parameters of `with_cap_model`, ``licences`` numbers by name,
            ``queue`` a list of the parameters of queues; ``pue`` and ``currency`` are those of `Platform`.
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
        classes, options = arguments_of(data, Path(folder))
        try:
            return cls(classes, **options)
        except ConfigError as error:
            raise error.mapped(lambda fault: fault.moved("queues", "queue")) from None

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

    @classmethod
    def shipped(cls, name: str) -> Platform:
        """A machine that comes with hetsched, such as ``"aoba"``; ``hetsched machines`` lists them.

        Every number in its file has its source next to it, or is said to be assumed: see ``hetsched machines NAME``.

        Parameters
        ----------
        name
            The machine's.

        Raises
        ------
        ConfigError
            If there is no such machine.

        Examples
        --------
        >>> Platform.shipped("aoba")
        <Platform: 72 nodes, 7 queues>
        """
        with machine_file(name) as path:
            return cls.from_toml(path)

    @classmethod
    def from_slurm(
        cls,
        *paths: str | Path,
        idle_w: float | Mapping[str, float] = Assumed(ASSUMED_W["idle_w"]),
        tdp_w: float | Mapping[str, float] = Assumed(ASSUMED_W["tdp_w"]),
        busy_w: float | Mapping[str, float] | None = None,
        off_w: float | Mapping[str, float] | None = None,
        down_w: float | Mapping[str, float] | None = None,
        boot_s: float | Mapping[str, float] | None = None,
        boot_w: float | Mapping[str, float] | None = None,
        shutdown_s: float | Mapping[str, float] | None = None,
        shutdown_w: float | Mapping[str, float] | None = None,
        boot_cost: float | Mapping[str, float] | None = None,
        shared: bool = False,
    ) -> Platform:
        """A platform of slurm.conf, or of what ``scontrol show node`` and ``scontrol show partition`` print.

        Nodes are numbered in the order of the files; neighbours that are alike in everything are a class, which their
        host list names. A partition that has nodes is a queue, its ``PriorityTier`` the priority. A node's memory is
        ``RealMemory`` / 1024, its GPUs are those of ``Gres``, its features those that ``Features`` or
        ``AvailableFeatures`` say; nodes that are down or drained are nodes, FUTURE ones are not.

        Parameters
        ----------
        paths
            The files, each known by its content; what slurm.conf includes is read, too.
        idle_w, tdp_w
            Watts, as in `NodeClass`: one number, or by the name of a class or by feature, such as ``{"gpu": 900}``,
            with ``"*"`` for all others. Slurm's files have none: 100 W and 400 W are assumed, and said to be.
        busy_w, off_w, down_w, boot_s, boot_w, shutdown_s, shutdown_w, boot_cost
            The same, as in `NodeClass`. Where the file has ``ResumeTimeout`` and ``SuspendTimeout``, these limits are
            assumed to be `boot_s` and `shutdown_s`; where it puts nodes to sleep, Slurm's defaults of the two are, and
            an `off_w` of 10 W.
        shared
            Whether jobs share nodes: a node's slots are its CPUs. If not, a job gets whole nodes.

        Raises
        ------
        ConfigError
            If a file cannot be read, or says what cannot be: names file and line; lists all of them.

        Warns
        -----
        PlatformWarning
            Once, of all that is in the files and has no place in a platform, and of watts that are assumed.

        Examples
        --------
        >>> Platform.from_slurm("slurm.conf", tdp_w={"gpu": 1500, "*": 350})  # doctest: +SKIP
        <Platform: 12 nodes, 8 n[1-8], 4 g[1-4], 2 queues>
        """
        given = dict(locals())
        if not paths:
            raise ConfigError([("paths", "none", "slurm.conf, or what scontrol show node and show partition print")])
        faults = Faults()
        faults.flag("shared", shared)
        faults.check()
        machine = read_slurm(paths, {name: given[name] for name in SLURM_WATTS}, shared=shared)
        made = cls(machine.classes, exclusive=not shared, licences=machine.licences, queues=machine.queues)
        made._files = tuple(map(str, paths))
        if machine.said:
            warnings.warn(f"{listed(map(str, paths))}: {machine.said}", PlatformWarning, stacklevel=2)
        return made

    def to_dict(self) -> dict[str, Any]:
        """The platform as plain values: a table read from a file by the file's path, others by their content.

        Examples
        --------
        >>> platform = Platform.homogeneous(nodes=8, idle_w=100, tdp_w=250)
        >>> Platform.from_dict(platform.to_dict()) == platform
        True
        """
        return self._as_dict(lambda table: table.path or table.to_dict())

    def _content(self) -> dict[str, Any]:
        """Same as `to_dict`, but with every table's content."""
        return self._as_dict(VariationTable.to_dict)

    def _as_dict(self, described: Callable[[VariationTable], Any]) -> dict[str, Any]:
        return {
            "classes": [node_class.to_dict() for node_class in self._classes],
            "exclusive": self._exclusive,
            "known_draws": self._known_draws,
            **self._draws.to_dict(described),
            **({} if self._licences is None else {"licences": dict(self._licences)}),
            **({} if self._queues is None else {"queue": [queue.to_dict() for queue in self._queues]}),
            **self._facility,
        }

    @property
    def _facility(self) -> dict[str, Any]:
        """The parts of the facility that are known, as plain values."""
        return {
            **({} if self._pue is None else {"pue": self._pue.plain}),
            **({} if self._currency is None else {"currency": self._currency}),
        }

    def with_tables(
        self, *, actual: VariationTable | ByCap | None, predicted: VariationTable | ByCap | None = None
    ) -> Platform:
        """The same nodes with other tables.

        Parameters
        ----------
        actual
            The table that the run charges. None: no table. Or a dictionary from power cap (W a node) to table, as
            `VariationTable.by_cap` gives it, with ``math.inf``, no cap, among its keys: a node under a cap is served by
            the table of the largest key that is not above it.
        predicted
            The table that decisions believe; the same applications and nodes as `actual`, and the same caps. None: they
            know `actual`.

        Raises
        ------
        ConfigError
            If a table has another number of nodes than the platform, or the two differ in applications or in their
            power caps; if tables by cap lack the one without a cap, or come with a cap model.

        Examples
        --------
        >>> platform = Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250)
        >>> platform.with_tables(actual=VariationTable(["hpcg"], power_w=[[200.0, 220.0]])).actual.apps
        ('hpcg',)
        >>> free = VariationTable(["hpcg"], power_w=[[200.0, 220.0]], cap_w=float("inf"))
        >>> capped = free.under_cap(150.0, static_w=80.0)
        >>> list(platform.with_tables(actual={150.0: capped, float("inf"): free}).actual_by_cap)
        [150.0, inf]
        """
        return self._with(actual=actual, predicted=predicted)

    def with_cap_model(
        self,
        *,
        static_w: float | Sequence[float] | npt.NDArray[np.float64] | None = None,
        static_ratio: float | None = None,
        exponent: float = 1.0,
        bound_ratio: float | Mapping[str, float] = 1.0,
        least_speed_ratio: float = 0.2,
    ) -> Platform:
        """The same nodes, with a model of their watts and speed under any power cap.

        A node that draws P under a job without a cap, S of it static, draws a cap C < P under it, and runs at the speed
        f = ((C - S) / (P - S))^(1 / exponent), or draws what it does at its lowest speed. The job's time is multiplied
        by 1 + bound (1/f - 1). The same parameters serve the actual and the predicted draws; `VariationTable.under_cap`
        makes a table by this model.

        Parameters
        ----------
        static_w
            Watts that do not fall with the speed: one number, or one a node. Either this or `static_ratio` is needed.
        static_ratio
            In place of `static_w`: their share of what a node draws, 0 to 1.
        exponent
            With which power of the speed the other watts fall, 1 to 10.
        bound_ratio
            Share of the runtime that stretches with the clock, 0 to 1: one number, or one for each application, with
            ``"*"`` for all others.
        least_speed_ratio
            The lowest speed the nodes have, as a share of the nominal one.

        Raises
        ------
        ConfigError
            If a value is invalid, or the platform has tables by cap; lists all faults.

        Examples
        --------
        >>> platform = Platform.homogeneous(nodes=2, idle_w=50, tdp_w=250).with_cap_model(static_w=50)
        >>> platform.cap_model["static_w"], platform.has_caps
        (50.0, True)
        """
        given = {
            "static_w": static_w,
            "static_ratio": static_ratio,
            "exponent": exponent,
            "bound_ratio": bound_ratio,
            "least_speed_ratio": least_speed_ratio,
        }
        try:
            return self._with(cap_model=given)
        except ConfigError as error:
            raise error.mapped(lambda fault: fault.moved("cap_model", "")) from None

    def with_known_draws(self, known_draws: KnownDraws) -> Platform:
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

    def with_facility(self, *, pue: GivenPue | None = None, currency: str | None = None) -> Platform:
        """The same nodes in another facility.

        Parameters
        ----------
        pue, currency
            As in `Platform`. None: as it is.

        Raises
        ------
        ConfigError
            If a value is invalid.

        Examples
        --------
        >>> Platform.homogeneous(nodes=2, idle_w=100, tdp_w=250).with_facility(pue=1.4, currency="EUR").pue
        1.4
        """
        given = {"pue": pue, "currency": currency}
        return self._with(**{name: value for name, value in given.items() if value is not None})

    def _with(self, **changes: Any) -> Platform:
        made = Platform(self._classes, **self._options | changes)
        made._files = self._files
        return made

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "exclusive": self._exclusive,
            **self._draws.options,
            "known_draws": self._known_draws,
            "licences": self._licences,
            "queues": self._queues,
            "pue": self._pue,
            "currency": self._currency,
        }

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
        """True if a job gets whole nodes."""
        return self._exclusive

    @property
    def actual(self) -> VariationTable | None:
        """The table that the run charges; of tables by cap the one without a cap."""
        return self._draws.actual

    @property
    def predicted(self) -> VariationTable | None:
        """The table that decisions believe; of tables by cap the one without a cap. None: they know the actual one."""
        return self._draws.predicted

    @property
    def actual_by_cap(self) -> dict[float, VariationTable] | None:
        """The tables that the run charges by power cap, ascending, the one without a cap (infinite) last."""
        by_cap = self._draws.by_cap
        return None if by_cap is None else dict(by_cap.actual)

    @property
    def predicted_by_cap(self) -> dict[float, VariationTable] | None:
        """The tables that decisions believe by power cap; None if they know the actual ones."""
        by_cap = self._draws.by_cap
        return None if by_cap is None or by_cap.predicted is None else dict(by_cap.predicted)

    @property
    def cap_model(self) -> dict[str, Any] | None:
        """Parameters of the model of watts and speed under power caps."""
        return self._draws.model_dict.get("cap_model")

    @property
    def has_caps(self) -> bool:
        """True if it is known what nodes draw, and how fast they are, under power caps."""
        return self._draws.by_cap is not None or self._draws.model is not None

    @property
    def known_draws(self) -> KnownDraws:
        """Knowledge that decisions have of a job's own measured draw: ``"measured"``, ``"table"`` or ``"tdp"``."""
        return self._known_draws

    @property
    def licences(self) -> dict[str, int] | None:
        """Licences of each kind; None if nothing is said of them."""
        return None if self._licences is None else dict(self._licences)

    @property
    def queues(self) -> tuple[Queue, ...] | None:
        """The queues; None if there are none."""
        return self._queues

    @property
    def pue(self) -> float | dict[str, list[float]] | None:
        """Watts at the meter for each watt of the nodes: a number, or a table; None if nothing is said of it."""
        return None if self._pue is None else self._pue.plain

    @property
    def currency(self) -> str | None:
        """The unit of prices; None if nothing is said of it."""
        return self._currency

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
        slots = self._per_node("slots").astype(np.int64)
        slots.flags.writeable = False
        return slots

    @cached_property
    def node_names(self) -> tuple[str, ...] | None:
        """Names of the nodes, by number; None if they have numbers only.

        Examples
        --------
        >>> Platform.homogeneous(nodes=3, idle_w=100, tdp_w=250, node_names="n[08-10]").node_names
        ('n08', 'n09', 'n10')
        """
        if self._classes[0].node_names is None:
            return None
        return tuple(name for node_class in self._classes for name in node_class.node_names or ())

    def node_name(self, node: int) -> str:
        """A node as messages call it: its number, with its name if it has one.

        Parameters
        ----------
        node
            Its number, from 0.

        Examples
        --------
        >>> Platform.homogeneous(nodes=3, idle_w=100, tdp_w=250, node_names="n[08-10]").node_name(2)
        '2 (n10)'
        """
        names = self.node_names
        return f"{node}" if names is None or not 0 <= node < len(names) else f"{node} ({names[node]})"

    @cached_property
    def racks(self) -> dict[str, list[int]]:
        """Nodes of each rack, by its name; those of one name in several classes are one rack.

        Examples
        --------
        >>> Platform.homogeneous(nodes=72, idle_w=100, tdp_w=250, racks={"r1": "0-35", "r2": "36-71"}).racks["r2"][0]
        36
        """
        found: dict[str, list[int]] = {}
        first = 0
        for node_class in self._classes:
            for name, nodes in node_class.rack_nodes.items():
                found.setdefault(name, []).extend(first + node for node in nodes)
            first += node_class.count
        return found

    @cached_property
    def _machine(self) -> _core.Machine:
        """The platform as the engine holds it; converted once."""
        watts_and_seconds = ("busy_w", "tdp_w", "off_w", "down_w", "boot_w", "boot_s", "shutdown_w", "shutdown_s")
        per_node: dict[str, Any] = {name: self._per_node(name) for name in watts_and_seconds}
        return _core.Machine(
            idle_w=self.idle_w,
            slots=self.slots,
            exclusive=self._exclusive,
            known_draws=self._known_draws,
            **self._draws.core(self.nodes),
            **per_node,
        )

    @cached_property
    def sha256(self) -> str:
        """Sha256 over nodes, `known_draws`, cap model, licences, queues, facility; the tables have their own."""
        # What is not said counts as 0, and known_draws is named where it is no default: earlier versions' sums hold.
        unsaid = dict.fromkeys(SLEEP_KEYS, 0.0)
        classes = [unsaid | node_class.to_dict() for node_class in self._classes]
        known = {} if self._known_draws == "measured" else {"known_draws": self._known_draws}
        model = self._draws.model_dict
        licences = {} if self._licences is None else {"licences": self._licences}
        queues = {} if self._queues is None else {"queue": [queue.to_dict() for queue in self._queues]}
        own = {"classes": classes, "exclusive": self._exclusive, **known, **model, **licences, **queues}
        return json_sha256({**own, **self._facility})

    @cached_property
    def _tables_sha256(self) -> dict[str, str | None]:
        """Sha256 of the actual and of the predicted table, or of all tables by cap; None where there is none."""
        return self._draws.sums

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Platform):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[object, ...]:
        # The engine's copy, and all else that is derived, stays with the process.
        return partial(Platform, **self._options), (self._classes,), {"_files": self._files}

    def __repr__(self) -> str:
        names = [f"{c.count:,} {c.name}" for c in self._classes] if len(self._classes) > 1 else []
        queues = [] if self._queues is None else [many(len(self._queues), "queue")]
        return f"<Platform: {', '.join([many(self.nodes, 'node'), *names, *self._draws.words, *queues])}>"

    def _repr_html_(self) -> str:
        names = ("idle_w", "tdp_w", "off_w", "boot_s")
        rows = [
            [own.name, f"{own.count:,}", f"{own.slots:,}", *(_range(getattr(own, name)) for name in names)]
            for own in self._classes
        ]
        return card(repr(self).strip("<>"), None, table(["nodes", "number", "slots", *names], rows))

    def _identity(self) -> tuple[Any, ...]:
        licences = None if self._licences is None else tuple(self._licences.items())
        own = (self._classes, self._exclusive, self._draws, self._known_draws, licences, self._queues)
        return *own, self._pue, self._currency

    def _per_node(self, name: str) -> npt.NDArray[np.float64]:
        values = np.concatenate([node_class.per_node(name) for node_class in self._classes])
        values.flags.writeable = False
        return values


def _check_names(classes: Sequence[NodeClass], faults: Faults) -> None:
    """Names are of all nodes or of none, and each is one node's."""
    without = [one.name for one in classes if one.node_names is None]
    if without and len(without) < len(classes):
        faults.note(
            "node_names", f"none of class {few([shown(name) for name in without])}", "names of all nodes or of none"
        )
    elif not without and (twice := repeated([name for one in classes for name in one.node_names or ()])):
        faults.note("node_names", f"{few([shown(name) for name in twice])} in two classes", "each name once")


def _check_licences(licences: Any, faults: Faults) -> None:
    if licences is None:
        return
    if not isinstance(licences, Mapping):
        faults.add("licences", licences, "numbers by name, such as {'matlab': 10}")
        return
    for name, count in licences.items():
        if not is_licence(name):
            faults.add("licences", name, "names of letters, digits and _.@+-")
        faults.whole(f"licences.{name}", count, low=0, high=10**9)


def read_platform(path: str | Path) -> Platform:
    """Read a platform from a TOML file; as `Platform.from_toml`."""
    return Platform.from_toml(path)


def _range(values: Any) -> str:
    """Numbers of the nodes of a class: one, or the least and the most of them; a dash where they are not known."""
    if values is None:
        return "–"
    least, most = (f"{end:,g}" for end in (np.min(values), np.max(values)))
    return least if least == most else f"{least} to {most}"
