"""Draws of a platform's nodes: tables, tables by cap, or tables and a model of what caps do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hetsched.checks import Faults, typed
from hetsched.platform.caps import (
    ByCap,
    CapModel,
    CapTables,
    check_size,
    check_together,
    checked_model,
    plain_tables,
    sum_of,
    tables_by_cap,
)
from hetsched.variation.table import VariationTable


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
        exclusive: bool,
        faults: Faults,
    ) -> Draws:
        """Draws in one form; notes what is invalid, or does not fit the nodes."""
        actual, predicted = _table("actual", actual, faults), _table("predicted", predicted, faults)
        by_cap = tables_by_cap(actual, predicted, faults) if isinstance(actual, Mapping) else None
        if isinstance(actual, Mapping):
            actual, predicted = _without_caps(by_cap)
        for name, table in (("actual", actual), ("predicted", predicted)):
            if isinstance(table, VariationTable):
                check_size(name, table, nodes, faults)
        if by_cap is None:
            predicted = plain_tables(actual, predicted, faults)
        model = checked_model(cap_model, nodes, () if actual is None else actual.apps, faults)
        check_together(has_tables=by_cap is not None, has_model=model is not None, exclusive=exclusive, faults=faults)
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

    def to_dict(self, told: Callable[[VariationTable], Any]) -> dict[str, Any]:
        """Draws as plain values; a single table as `told` has it."""
        if self.by_cap is None:
            tables = {"actual": self.actual, "predicted": self.predicted}
            named = {name: told(table) for name, table in tables.items() if table is not None}
        else:
            named = {
                name: [{**table.to_dict(), "cap_w": cap_w} for cap_w, table in tables]
                for name, tables in _sets(self.by_cap).items()
                if tables is not None
            }
        return {**named, **self.model_dict}

    @property
    def model_dict(self) -> dict[str, Any]:
        """The model alone, if there is one."""
        return {} if self.model is None else {"cap_model": self.model.to_dict()}

    def core(self, nodes: int) -> dict[str, Any]:
        """Tables and caps as the engine takes them: tables by cap stand alone."""
        if self.by_cap is not None:
            return {"cap_tables": self.by_cap.core}
        tables = {"actual": self.actual, "predicted": self.predicted}
        model = {} if self.model is None else {"cap_model": self.model.core(nodes)}
        return {**{name: None if table is None else table.core for name, table in tables.items()}, **model}

    @property
    def sums(self) -> dict[str, str | None]:
        """Sha256 of the actual and of the predicted table, or of all tables by cap; None where there is none."""
        if self.by_cap is None:
            tables = {"actual": self.actual, "predicted": self.predicted}
            return {name: None if table is None else table.sha256 for name, table in tables.items()}
        return {name: None if tables is None else sum_of(tables) for name, tables in _sets(self.by_cap).items()}

    @property
    def words(self) -> list[str]:
        """Draws in words."""
        word = "table" if self.by_cap is None else f"tables by {len(self.by_cap.actual)} caps"
        tables = [f"{k} {word}" for k, t in (("actual", self.actual), ("predicted", self.predicted)) if t is not None]
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
    faults.note(name, found, "a VariationTable, such as VariationTable.read of a file, or tables by power cap")
    return None
