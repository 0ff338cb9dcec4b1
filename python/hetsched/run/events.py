"""Events from outside a run: what befalls the machine while jobs run on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, many, read_toml, shown
from hetsched.errors import ConfigError
from hetsched.files import frame_sha256
from hetsched.tables import Table, read_csv_table, read_parquet_table
from hetsched.workload.schema import MAX_SECONDS

FAILED, REPAIRED = "node_failed", "node_repaired"
_TO_COME = ("budget", "maintenance", "cancel", "price", "carbon")
_COLUMNS = "time_s, kind and node"


class Events:
    """Failures and repairs of nodes, each at its instant.

    Made by `from_polars`, `read_csv`, `read_parquet` or `from_toml`. Rows stand in order of time; of one instant,
    repairs come first. What changes nothing is no event: a node fails that is down, or is repaired and is not.

    Examples
    --------
    >>> frame = pl.DataFrame({"time_s": [60.0, 90.0], "kind": ["node_failed", "node_repaired"], "node": [3, 3]})
    >>> Events.from_polars(frame)
    <Events: 2 events>
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    @classmethod
    def from_polars(cls, frame: pl.DataFrame) -> Events:
        """Events from a frame of ``time_s`` (seconds on the log's clock), ``kind`` and ``node``.

        Parameters
        ----------
        frame
            ``kind`` is ``node_failed`` (the node is down from then on, and jobs on it have failed) or
            ``node_repaired`` (it is back, and idle).

        Raises
        ------
        ConfigError
            If a column is missing or a value is invalid; lists all faults with their rows.
        """
        if not isinstance(frame, pl.DataFrame):
            raise ConfigError([("events", type(frame).__name__, f"a polars.DataFrame with columns {_COLUMNS}")])
        return cls(_checked(frame))

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str]) -> Events:
        """Events from a CSV file (``.csv``, also packed) with the columns of `from_polars`; raises as that."""
        return cls._of(read_csv_table(os.fspath(path), f"a CSV file with columns {_COLUMNS}", words=["kind"]))

    @classmethod
    def read_parquet(cls, path: str | os.PathLike[str]) -> Events:
        """Events from a Parquet file with the columns of `from_polars`; raises as that."""
        return cls._of(read_parquet_table(os.fspath(path), f"a Parquet file with columns {_COLUMNS}"))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Events:
        """Events from a TOML file: a table ``[[events]]`` each, with the keys of `from_polars`; raises as that."""
        name = os.fspath(path)
        rows = read_toml(name).get("events")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError([(name, "no tables [[events]]", f"a table [[events]] each, with keys {_COLUMNS}")])
        frame = pl.DataFrame(rows, infer_schema_length=None, strict=False) if rows else _empty()
        return cls._of(Table(name, frame))

    @classmethod
    def _of(cls, table: Table) -> Events:
        try:
            return cls.from_polars(table.frame)
        except ConfigError as error:
            located = error.mapped(lambda fault: fault.moved("events", "runs"))
            raise table.located(located) from None

    def to_polars(self) -> pl.DataFrame:
        """The rows, in order."""
        return self._frame.clone()

    def __len__(self) -> int:
        return len(self._frame)

    def __eq__(self, other: object) -> bool:
        return self._frame.equals(other._frame) if isinstance(other, Events) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<Events: {many(len(self), 'event')}>"

    @property
    def sha256(self) -> str:
        """Sha256 over the rows."""
        return frame_sha256(self._frame)

    def check_for(self, nodes: int) -> None:
        """Raise a `ConfigError` for each row that names a node which a platform of `nodes` has not."""
        node = self._frame["node"].to_numpy()
        faults = Faults()
        for row in np.flatnonzero(node >= nodes)[:20].tolist():
            faults.note("events.node", str(node[row]), f"a node of the platform, 0 to {nodes - 1}", row=row)
        faults.check()


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema={"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64})


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in one form and order, or every fault of it."""
    faults = Faults()
    missing = [name for name in _empty().columns if name not in frame.columns]
    if missing:
        hint = did_you_mean(missing[0], frame.columns)
        raise ConfigError([("events", f"columns {listed(frame.columns)}", f"columns {_COLUMNS}{hint}")])
    for name in frame.columns:
        if name not in _empty().columns and frame[name].null_count() < len(frame):
            faults.note(f"events.{name}", "values", "nothing: no kind of event that is simulated uses it")
    time_s = _numbers(frame, "time_s", f"seconds up to {MAX_SECONDS:g}", faults)
    node = _numbers(frame, "node", "a node's number", faults)
    _note_kinds(frame["kind"].to_list(), faults)
    _note(~(np.abs(time_s) <= MAX_SECONDS), frame["time_s"], f"seconds up to {MAX_SECONDS:g}", faults)
    _note(~((node >= 0) & (node == np.floor(node))), frame["node"], "a node's number", faults)
    faults.check()
    taken = pl.DataFrame({"time_s": time_s, "kind": frame["kind"].cast(pl.String), "node": node.astype(np.int64)})
    rank = (pl.col("kind") == FAILED).cast(pl.Int8)
    return taken.with_columns(rank=rank).sort("time_s", "rank", maintain_order=True).drop("rank")


def _numbers(frame: pl.DataFrame, name: str, expected: str, faults: Faults) -> Any:
    column = frame[name]
    if not column.dtype.is_numeric() and column.dtype != pl.Null:
        faults.note(f"events.{name}", f"values of type {column.dtype}", expected)
        return np.zeros(len(frame))
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _note(bad: Any, column: pl.Series, expected: str, faults: Faults) -> None:
    if not faults.has(f"events.{column.name}"):
        for row in np.flatnonzero(bad)[:20].tolist():
            faults.note(f"events.{column.name}", shown(column[row]), expected, row=row)


def _note_kinds(kinds: Sequence[Any], faults: Faults) -> None:
    for row, kind in enumerate(kinds):
        if kind in (FAILED, REPAIRED):
            continue
        hint = "; that kind is not simulated yet" if kind in _TO_COME else did_you_mean(str(kind), (FAILED, REPAIRED))
        faults.note("events.kind", shown(kind), f"`{FAILED}` or `{REPAIRED}`{hint}", row=row)
