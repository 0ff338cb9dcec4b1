"""Draw of a platform's nodes: tables, tables by power cap, or tables and a model of watts and speed under any cap."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched import _core
from hetsched.checks import Faults, listed, many, plain, typed
from hetsched.files import json_sha256
from hetsched.params import Declared, Parameter, number
from hetsched.platform.node_class import watts_of
from hetsched.variation.frame import check_caps, checked_cap, too_few_nodes
from hetsched.variation.table import VariationTable

ByCap = Mapping[float, VariationTable]

ANY_APP = "*"
"""The application that stands for all that have no row, or no share, of their own."""


@dataclass(frozen=True)
class CapTables:
    """Tables by cap, ascending, infinity last; the predicted ones hold the same caps."""

    actual: tuple[tuple[float, VariationTable], ...]
    predicted: tuple[tuple[float, VariationTable], ...] | None = None

    @property
    def core(self) -> list[tuple[float, _core.PowerTable, _core.PowerTable | None]]:
        """The tables as the engine takes them."""
        predicted = dict(self.predicted or ())
        return [
            (cap_w, table._core_table, predicted[cap_w]._core_table if cap_w in predicted else None)
            for cap_w, table in self.actual
        ]


def _tables_by_cap(actual: ByCap, predicted: ByCap | VariationTable | None, faults: Faults) -> CapTables | None:
    """The tables in one order of caps and applications; notes what is invalid, and gives None then."""
    before = len(faults.found)
    own = _ordered("actual", actual, faults)
    if isinstance(predicted, VariationTable):
        faults.note("predicted", "a single table", "a table for each cap, as `actual` has")
        return None
    believed = None if predicted is None else _ordered("predicted", predicted, faults)
    if len(faults.found) > before:
        return None
    if believed is not None:
        if list(believed) != list(own):
            faults.note("predicted", f"caps of {_watts(believed)} W", f"those of `actual`, {_watts(own)} W")
            return None
        believed = {
            cap_w: _like(table, own[math.inf], f"predicted[{cap_w:g}]", faults) for cap_w, table in believed.items()
        }
    return CapTables(tuple(own.items()), None if believed is None else tuple(believed.items()))


def _ordered(name: str, given: Mapping[Any, Any], faults: Faults) -> dict[float, VariationTable]:
    """The tables by ascending cap, with applications and nodes as the uncapped one has them."""
    found: dict[float, VariationTable] = {}
    for key, table in given.items():
        place, own = f"{name}[{key!r}]", Faults()
        cap_w = checked_cap(key, own)
        if cap_w is None:
            faults.note(name, f"the key {key!r}", "watts above 0 as keys, or infinite: without a cap")
        elif not isinstance(table, VariationTable):
            faults.note(place, f"a {type(table).__name__}", "a VariationTable")
        else:
            _check_key(table, cap_w, place, faults)
            found[cap_w] = table
    if not faults.found and math.inf not in found:
        caps = f"caps of {_watts(found)} W" if found else "no tables"
        faults.note(name, caps, "a table without a cap among them, with the key `math.inf`")
    if faults.found:
        return {}
    return {cap_w: _like(found[cap_w], found[math.inf], f"{name}[{cap_w:g}]", faults) for cap_w in sorted(found)}


def _check_key(table: VariationTable, cap_w: float, place: str, faults: Faults) -> None:
    """Note a table that says it is of another cap than its key."""
    if table.cap_w is not None and table.cap_w != cap_w:
        faults.note(place, f"a table under a cap of {table.cap_w:g} W", f"one of {cap_w:g} W, its key")


def _like(table: VariationTable, base: VariationTable, place: str, faults: Faults) -> VariationTable:
    own = Faults()
    ordered = table._in_order_of(base, own)
    faults.extend(own, lambda fault: fault.moved("predicted", place))
    return ordered


def _watts(caps: Mapping[float, Any]) -> str:
    return listed(f"{cap_w:g}" for cap_w in caps)


def _plain_tables(
    actual: VariationTable | None, predicted: VariationTable | ByCap | None, faults: Faults
) -> VariationTable | None:
    """The predicted table in the order of the actual one; notes what does not fit."""
    if predicted is None:
        return None
    if isinstance(predicted, Mapping):
        faults.note("predicted", "tables by cap", "a single table, as `actual` is")
        return None
    if actual is None:
        faults.add("predicted", "a table", "an actual table with it")
        return predicted
    ordered = predicted._in_order_of(actual, faults)
    check_caps(actual.cap_w, predicted.cap_w, faults)
    return ordered


def _check_size(name: str, table: VariationTable | None, nodes: int, faults: Faults) -> None:
    """Note a table of another number of nodes than the platform's."""
    if table is not None and table.nodes != nodes and not faults.found:
        faults.add(name, many(table.nodes, "node"), too_few_nodes(table.apps, held=table.nodes, wanted=nodes))


def _bound(value: Any, name: str, faults: Faults) -> Any:
    """The share of a runtime that stretches with the clock, or that of each application, in order."""
    value = dict(value) if isinstance(value, tuple) else plain(value)
    if not isinstance(value, Mapping):
        faults.number(name, value, low=0.0, high=1.0)
        return None if faults.has(name) else float(value)
    for app, share in value.items():
        faults.number(f"{name}[{app}]", share, low=0.0, high=1.0)
    return None if faults.has(name) else tuple(sorted((str(app), float(share)) for app, share in value.items()))


@dataclass(frozen=True)
class CapModel(Declared):
    """Watts and speed of nodes under any cap; `Platform.with_cap_model` says what each parameter means."""

    static_w: float | tuple[float, ...] | None = None
    static_ratio: float | None = field(default=None, metadata=number(0.0, 1.0))
    exponent: float = field(default=1.0, metadata=number(1.0, 10.0))
    bound_ratio: float | tuple[tuple[str, float], ...] = field(default=1.0, metadata=Parameter(take=_bound))
    least_speed_ratio: float = field(default=0.2, metadata=number(1e-3, 1.0))

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        del values
        if (self.static_w is None) == (self.static_ratio is None):
            said = "neither" if self.static_w is None else "both"
            faults.note("static_w, static_ratio", said, "exactly one of the two: what does not fall with the speed")

    def to_dict(self) -> dict[str, Any]:
        """The parameters that are set, as plain values."""
        static_w, bound = self.static_w, self.bound_ratio
        values = {
            "static_w": list(static_w) if isinstance(static_w, tuple) else static_w,
            "static_ratio": self.static_ratio,
            "exponent": self.exponent,
            "bound_ratio": dict(bound) if isinstance(bound, tuple) else bound,
            "least_speed_ratio": self.least_speed_ratio,
        }
        return {name: value for name, value in values.items() if value is not None}

    def core(self, nodes: int) -> dict[str, Any]:
        """The model as the engine takes it: static watts one a node."""
        each_w: npt.NDArray[np.float64] | None = None
        if self.static_w is not None:
            each_w = np.array(np.broadcast_to(np.asarray(self.static_w, dtype=np.float64), (nodes,)))
        return {"static_ratio": None, **self.to_dict(), "static_w": each_w}


_PARAMETERS = tuple(one.name for one in fields(CapModel))


def _checked_model(given: Any, nodes: int, apps: tuple[str, ...], faults: Faults) -> CapModel | None:
    """The model of its parameters; notes what is invalid, and gives None then."""
    if given is None:
        return None
    if not isinstance(given, Mapping | CapModel):
        faults.note("cap_model", type(given).__name__, f"a dictionary of {listed(_PARAMETERS)}")
        return None
    own = Faults("cap_model")
    if isinstance(given, Mapping):
        own.unknown_keys(given, _PARAMETERS)
        given = CapModel(**{name: given[name] for name in _PARAMETERS if given.get(name) is not None})
    model = given.checked(own)
    if model.static_w is not None:
        model = replace(model, static_w=watts_of("static_w", model.static_w, nodes, own))
    _check_apps(model.bound_ratio, apps, own)
    faults.extend(own)
    return None if own.found else model


def _check_apps(bound_ratio: Any, apps: tuple[str, ...], faults: Faults) -> None:
    """Note applications of the table that have no share of their own; further names are those of other jobs."""
    if not isinstance(bound_ratio, Mapping | tuple) or ANY_APP in dict(bound_ratio):
        return
    missing = [app for app in apps if app != ANY_APP and app not in dict(bound_ratio)]
    if missing:
        expected = f"a share for each application of the table, or one for `{ANY_APP}`: all others"
        faults.note("bound_ratio", f"nothing for {listed(missing)}", expected)


def _check_together(*, has_tables: bool, has_model: bool, faults: Faults) -> None:
    """Note what does not go together: tables by cap next to a model."""
    if has_tables and has_model:
        faults.note(
            "cap_model", "a model with tables by cap", "one of the two; a model goes with single tables or none"
        )


def _sum_of(tables: tuple[tuple[float, VariationTable], ...]) -> str:
    """Sha256 over all tables and their caps."""
    return json_sha256([[cap_w, table.sha256] for cap_w, table in tables])


@dataclass(frozen=True)
class Draws:
    """The tables, and what is said of caps; of tables by cap, the single tables are those without a cap."""

    actual: VariationTable | None
    predicted: VariationTable | None
    by_cap: CapTables | None
    model: CapModel | None

    @classmethod
    def checked(
        cls,
        actual: VariationTable | ByCap | None,
        predicted: VariationTable | ByCap | None,
        cap_model: CapModel | Mapping[str, Any] | None,
        *,
        nodes: int,
        faults: Faults,
    ) -> Draws:
        """Draws in one form; notes what is invalid, or does not fit the nodes."""
        actual, predicted = _table("actual", actual, faults), _table("predicted", predicted, faults)
        by_cap = _tables_by_cap(actual, predicted, faults) if isinstance(actual, Mapping) else None
        if isinstance(actual, Mapping):
            actual, predicted = _without_caps(by_cap)
        for name, table in (("actual", actual), ("predicted", predicted)):
            if isinstance(table, VariationTable):
                _check_size(name, table, nodes, faults)
        if by_cap is None:
            predicted = _plain_tables(actual, predicted, faults)
        model = _checked_model(cap_model, nodes, () if actual is None else actual.apps, faults)
        _check_together(has_tables=by_cap is not None, has_model=model is not None, faults=faults)
        assert not isinstance(predicted, Mapping)
        return cls(actual, predicted, by_cap, model)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of a platform that make the same."""
        by_cap = self.by_cap
        return {
            "actual": self.actual if by_cap is None else dict(by_cap.actual),
            "predicted": self.predicted if by_cap is None else by_cap.predicted and dict(by_cap.predicted),
            "cap_model": self.model,
        }

    def to_dict(self, described: Callable[[VariationTable], Any]) -> dict[str, Any]:
        """Draws as plain values; a single table as `described` has it."""
        if self.by_cap is None:
            named = {name: described(table) for name, table in self._tables.items() if table is not None}
        else:
            named = {
                name: [{**table.to_dict(), "cap_w": cap_w} for cap_w, table in tables]
                for name, tables in _sets(self.by_cap).items()
                if tables is not None
            }
        return {**named, **self.model_dict}

    @property
    def _tables(self) -> dict[str, VariationTable | None]:
        return {"actual": self.actual, "predicted": self.predicted}

    @property
    def model_dict(self) -> dict[str, Any]:
        """The model alone, if there is one."""
        return {} if self.model is None else {"cap_model": self.model.to_dict()}

    def core(self, nodes: int) -> dict[str, Any]:
        """Tables and caps as the engine takes them: tables by cap stand alone."""
        if self.by_cap is not None:
            return {"cap_tables": self.by_cap.core}
        model = {} if self.model is None else {"cap_model": self.model.core(nodes)}
        return {**{name: None if table is None else table._core_table for name, table in self._tables.items()}, **model}

    @property
    def sums(self) -> dict[str, str | None]:
        """Sha256 of the actual and of the predicted table, or of all tables by cap; None where there is none."""
        if self.by_cap is None:
            return {name: None if table is None else table.sha256 for name, table in self._tables.items()}
        return {name: None if tables is None else _sum_of(tables) for name, tables in _sets(self.by_cap).items()}

    @property
    def words(self) -> list[str]:
        """Draws in words."""
        word = "table" if self.by_cap is None else f"tables by {len(self.by_cap.actual)} caps"
        tables = [f"{name} {word}" for name, table in self._tables.items() if table is not None]
        return [*tables, *([] if self.model is None else ["cap model"])]


def _sets(by_cap: CapTables) -> dict[str, tuple[tuple[float, VariationTable], ...] | None]:
    return {"actual": by_cap.actual, "predicted": by_cap.predicted}


def _without_caps(tables: CapTables | None) -> tuple[VariationTable | None, VariationTable | None]:
    """The actual and the predicted table without a cap, the last of their sets."""
    if tables is None:
        return None, None
    return tables.actual[-1][1], None if tables.predicted is None else tables.predicted[-1][1]


def _table(name: str, given: Any, faults: Faults) -> VariationTable | ByCap | None:
    """Returns the value if it is a table or tables; notes a fault otherwise."""
    if isinstance(given, VariationTable | Mapping | None):
        return given
    found = typed(given) if isinstance(given, str) else type(given).__name__
    faults.note(name, found, "a VariationTable, such as read_table reads, or tables by power cap")
    return None
