"""Rows of events: the kinds there are, what each uses, and every fault of a frame of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.workload.schema import MAX_SECONDS

FAILED, REPAIRED, MAINTENANCE, CANCEL = "node_failed", "node_repaired", "maintenance", "cancel"
BUDGET, PRICE, CARBON = "budget", "price", "carbon"

EVENT_COLUMNS: dict[str, type[pl.DataType]] = {
    "time_s": pl.Float64,
    "kind": pl.String,
    "node": pl.Int64,
    "value": pl.Float64,
    "until_s": pl.Float64,
    "announced_s": pl.Float64,
    "job_id": pl.Int64,
}
"""Columns of events, in order."""

COLUMN_NAMES = listed(EVENT_COLUMNS)

MOST_LISTED = 20
"""Faults of a kind that a message lists; the next line has the number of others."""

_MAX_VALUE = 1e12
_SECONDS = f"seconds up to {MAX_SECONDS:g}"

_Mask = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Kind:
    """What rows of a kind use beside their time; `value` says what one means, `ends` whether all of them end."""

    uses: tuple[str, ...]
    value: str = ""
    low: float = -_MAX_VALUE
    ends: bool = False

    @property
    def needed(self) -> str:
        """The column that no row of the kind can do without."""
        return self.uses[0]


_NODE = _Kind(("node",))
_KINDS = {
    FAILED: _NODE,
    REPAIRED: _NODE,
    MAINTENANCE: _Kind(("node", "until_s", "announced_s"), ends=True),
    CANCEL: _Kind(("job_id",)),
    BUDGET: _Kind(("value", "until_s", "announced_s"), "watts of the whole machine, from 0", 0.0),
    PRICE: _Kind(("value", "until_s"), "a price in cost units per kWh"),
    CARBON: _Kind(("value", "until_s"), "grams of CO2 per kWh, from 0", 0.0),
}


def no_rows() -> pl.DataFrame:
    """A frame of no events."""
    return pl.DataFrame(schema=EVENT_COLUMNS)


def checked_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in one form and order, or every fault of it."""
    kinds = _refuse_missing(frame)
    faults = Faults()
    for name in frame.columns:
        if name not in EVENT_COLUMNS and frame[name].null_count() < len(frame):
            faults.note(f"events.{name}", "values", "nothing: no kind of event that is simulated uses it")
    found = _Rows(frame, np.array(kinds, dtype=object), faults)
    found.check_kinds()
    found.check_times()
    for name in ("node", "value", "until_s", "announced_s", "job_id"):
        found.check_use(name)
    found.check_values()
    faults.check()
    return in_order(found.table())


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows by time, and of one instant as they stood; but what takes nodes out of service comes last."""
    rank = pl.col("kind").is_in([FAILED, MAINTENANCE]).cast(pl.Int8)
    return rows.with_columns(rank=rank).sort("time_s", "rank", maintain_order=True).drop("rank")


def _refuse_missing(frame: pl.DataFrame) -> list[Any]:
    """The kinds of all rows; a `ConfigError` if a column is not there that some row needs."""
    kinds = frame["kind"].to_list() if "kind" in frame.columns else []
    # Failures are told first where rows of several kinds lack their columns.
    needed = [_KINDS[kind].needed for kind in _KINDS if kind in kinds] or (["node"] if not kinds else [])
    wanted = ["time_s", "kind", *needed[:1]]
    missing = [name for name in ("time_s", "kind", *needed) if name not in frame.columns]
    if missing:
        expected = (
            f"columns {', '.join(wanted[:-1])} and {wanted[-1]}" if len(wanted) > 2 else "columns time_s and kind"
        )
        hint = did_you_mean(missing[0], frame.columns)
        raise ConfigError([("events", f"columns {listed(frame.columns)}", expected + hint)])
    return kinds


class _Rows:
    """Rows under check: the kind of each, and its numbers, NaN where there is none."""

    def __init__(self, frame: pl.DataFrame, kind: npt.NDArray[Any], faults: Faults) -> None:
        self.frame = frame
        self.kind = kind
        self.faults = faults
        self.unreadable: set[str] = set()
        self.numbers = {name: self._numbers(name) for name in EVENT_COLUMNS if name != "kind"}

    def _numbers(self, name: str) -> _Floats:
        nothing = np.full(len(self.frame), np.nan)
        if name not in self.frame.columns:
            return nothing
        column = self.frame[name]
        if column.null_count() == len(column):
            return nothing
        if not column.dtype.is_numeric():
            expected = {"node": "a node's number", "job_id": "a job's number", "value": "numbers"}.get(name, _SECONDS)
            self.faults.note(f"events.{name}", f"values of type {column.dtype}", expected)
            self.unreadable.add(name)
            return nothing
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()

    def note(self, name: str, bad: _Mask, expected: str) -> None:
        """Note the first rows of a column that are bad; shows its values."""
        if name in self.unreadable:
            return
        for row in np.flatnonzero(bad)[:MOST_LISTED].tolist():
            value = self.frame[name][row] if name in self.frame.columns else None
            self.faults.note(f"events.{name}", shown(value), expected, row=row)
        note_others(self.faults, name, int(np.count_nonzero(bad)) - MOST_LISTED, expected)

    def check_kinds(self) -> None:
        """Note kinds that there are not."""
        for row, kind in enumerate(self.kind):
            if kind not in _KINDS:
                hint = did_you_mean(str(kind), _KINDS)
                self.faults.note("events.kind", shown(kind), f"one of {listed(_KINDS)}{hint}", row=row)

    def check_times(self) -> None:
        """Note times that are none."""
        self.note("time_s", ~(np.abs(self.numbers["time_s"]) <= MAX_SECONDS), _SECONDS)

    def check_use(self, name: str) -> None:
        """Note values that a row's kind does not use, and needed ones that are not there."""
        given = ~np.isnan(self.numbers[name])
        for kind, row in _KINDS.items():
            rows = self.kind == kind
            if name not in row.uses:
                self.note(name, rows & given, f"nothing: an event `{kind}` has no {name}")

    def check_values(self) -> None:
        """Note values out of their bounds, and times in the wrong order."""
        node, job_id, time_s = self.numbers["node"], self.numbers["job_id"], self.numbers["time_s"]
        of_node = np.isin(self.kind, (FAILED, REPAIRED, MAINTENANCE))
        self.note("node", of_node & ~((node >= 0) & (node == np.floor(node))), "a node's number")
        self.note("job_id", (self.kind == CANCEL) & ~(job_id == np.floor(job_id)), "a job's number")
        for kind, row in _KINDS.items():
            fits = (self.numbers["value"] >= row.low) & (self.numbers["value"] <= _MAX_VALUE)
            self.note("value", (self.kind == kind) & (row.needed == "value") & ~fits, row.value)
            if row.ends:
                has_none = np.isnan(self.numbers["until_s"])
                self.note("until_s", (self.kind == kind) & has_none, "seconds after time_s, when it is over")
        for name, order, expected in (
            ("until_s", np.less_equal, "seconds after time_s, or nothing: to the end of the run"),
            ("announced_s", np.greater, "seconds up to time_s, or nothing: always known"),
        ):
            is_time = np.abs(self.numbers[name]) <= MAX_SECONDS
            self.note(name, np.abs(self.numbers[name]) > MAX_SECONDS, _SECONDS)
            self.note(name, is_time & order(self.numbers[name], time_s), expected)

    def table(self) -> pl.DataFrame:
        """The rows in their types, as they stand."""
        kinds = pl.Series("kind", self.kind.tolist(), dtype=pl.String)
        columns = [
            kinds if name == "kind" else pl.Series(name, self.numbers[name]).fill_nan(None).cast(dtype)
            for name, dtype in EVENT_COLUMNS.items()
        ]
        return pl.DataFrame(columns)


def note_rows(faults: Faults, name: str, rows: pl.DataFrame, expected: str) -> None:
    """Note a column of rows that have their number in ``row``: each value once, where it is first, and its count."""
    values = rows.group_by(name, maintain_order=True).agg(pl.first("row", "time_s"), pl.len().alias("count"))
    listed_ones = values.head(MOST_LISTED)
    for row in listed_ones.iter_rows(named=True):
        found = f"{shown(row[name])} at {row['time_s']:g} s{_and_more(row['count'] - 1)}"
        faults.note(f"events.{name}", found, expected, row=row["row"])
    note_others(faults, name, len(rows) - int(listed_ones["count"].sum()), expected)


def note_others(faults: Faults, name: str, others: int, expected: str) -> None:
    """Note how many rows have a fault of a kind whose list ends before them, if there are any."""
    if others > 0:
        faults.note(f"events.{name}", f"the same fault in {_rows(others)}", expected)


def _and_more(count: int) -> str:
    return f" and in {_rows(count)}" if count else ""


def _rows(count: int) -> str:
    return f"{count:,} more row{'' if count == 1 else 's'}"
