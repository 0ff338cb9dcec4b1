"""Rows of events: their kinds and columns, texts of dates, spans and nodes, and what they may hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone, tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.workload.convert import date_seconds, node_lists, span_seconds
from hetsched.workload.schema import MAX_SECONDS

TIMES = ("time_s", "until_s", "announced_s")
"""Columns of instants: seconds on the log's clock, or dates."""

WRITTEN = ("for_s", "nodes", "rack")
"""Columns that replace others: of ``until_s``, and of ``node``."""

WORDS = ("kind", *TIMES, *WRITTEN)
"""Columns that are read from separated text as they stand."""

_OFFSET = r"(?:[Zz]|[T ].*[+-]\d{2}:?(?:\d{2})?)\s*$"

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Instants:
    """Numbers of a column of instants, NaN where there is none, and which of them count from 1970."""

    seconds: npt.NDArray[np.float64]
    is_date: _Mask


def _instants_of(column: pl.Series, zone: tzinfo) -> Instants | None:
    """The instants of a column of numbers, dates or text of either; None if it is of another type.

    Dates that do not say how far they are from UTC are of `zone`.
    """
    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Null:
        return Instants(_floats(column), np.zeros(len(column), np.bool_))
    if dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        unix_s = column.dt.epoch("us").cast(pl.Float64) / 1e6
        seconds = _floats(unix_s if column.dtype.time_zone else _of_zone(unix_s, zone))
        return Instants(seconds, ~np.isnan(seconds))
    if dtype != pl.String:
        return None
    text = column.str.strip_chars()
    numbers, unix_s = text.cast(pl.Float64, strict=False), date_seconds(text)
    has_offset = text.str.contains(_OFFSET).fill_null(value=False)
    unix_s = pl.select(pl.when(has_offset).then(unix_s).otherwise(_of_zone(unix_s, zone))).to_series()
    is_date = numbers.is_null().to_numpy()
    seconds = np.where(is_date, _floats(unix_s), _floats(numbers))
    return Instants(seconds, is_date & ~np.isnan(seconds))


def _spans_of(column: pl.Series) -> npt.NDArray[np.float64] | None:
    """Seconds of a column of numbers, durations or text such as ``04:00:00``; None if it is of another type."""
    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return _floats(column)
    if isinstance(column.dtype, pl.Duration):
        return _floats(column.dt.total_microseconds().cast(pl.Float64) / 1e6)
    if column.dtype != pl.String:
        return None
    text = column.str.strip_chars()
    return _floats(text.cast(pl.Float64, strict=False).fill_null(span_seconds(text)))


def nodes_of(column: pl.Series, faults: Faults) -> pl.Series:
    """Lists of node numbers; notes what is none."""
    expected = "nodes such as `0-71` or `3,7-9` (ends included)"
    lists = node_lists(column) if column.dtype != pl.Null else (column.cast(pl.List(pl.UInt32)), column.is_not_null())
    if lists is None:
        faults.note("events.nodes", f"values of type {column.dtype}", expected)
        return pl.Series("nodes", [None] * len(column), dtype=pl.List(pl.UInt32))
    for row in lists[1].arg_true()[:10].to_list():
        faults.add("events.nodes", column[row], expected, row=row)
    return lists[0].alias("nodes")


def _of_zone(local_s: pl.Series, zone: tzinfo) -> pl.Series:
    """Seconds since 1970 of what a zone's clock shows, given as if it were UTC's."""
    if zone is timezone.utc:
        return local_s
    naive = (local_s * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    # An hour that the clock shows twice is the first of the two; one that it leaves out is taken as an hour later.
    known = naive.dt.replace_time_zone(str(zone), ambiguous="earliest", non_existent="null")
    known = known.fill_null(
        naive.dt.offset_by("1h").dt.replace_time_zone(str(zone), ambiguous="earliest", non_existent="null")
    )
    return known.dt.epoch("us").cast(pl.Float64) / 1e6


def _floats(column: pl.Series) -> npt.NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


FAILED, REPAIRED, MAINTENANCE, CANCEL = "node_failed", "node_repaired", "maintenance", "cancel"
HOLD = "hold"
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

OPEN_COLUMNS: dict[str, type[pl.DataType]] = {"rack": pl.String, "is_date": pl.Boolean}
"""Columns that say what only a run shows: the nodes of a rack, and seconds since 1970 on the log's clock."""

COLUMN_NAMES = listed([*EVENT_COLUMNS, *WRITTEN])

MOST_LISTED = 20
"""Faults of a kind that a message lists; the next line has the number of others."""

_MAX_VALUE = 1e12
_SECONDS = f"seconds up to {MAX_SECONDS:g}, or a date such as 2007-02-01T17:00:00"
_MOST_NODES = 10_000_000

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Kind:
    """Columns that rows of a kind use, besides time; `value` says what one means, `ends` whether all of them end."""

    uses: tuple[str, ...]
    value: str = ""
    low: float = -_MAX_VALUE
    ends: bool = False

    @property
    def needed(self) -> str:
        """The column that no row of the kind can do without."""
        return self.uses[0]


_KINDS = {
    FAILED: _Kind(("node", "until_s")),
    REPAIRED: _Kind(("node",)),
    MAINTENANCE: _Kind(("node", "until_s", "announced_s"), ends=True),
    CANCEL: _Kind(("job_id",)),
    HOLD: _Kind(("until_s",), ends=True),
    BUDGET: _Kind(("value", "until_s", "announced_s"), "watts of the whole machine, from 0", 0.0),
    PRICE: _Kind(("value", "until_s"), "a price in cost units per kWh"),
    CARBON: _Kind(("value", "until_s"), "grams of CO2 per kWh, from 0", 0.0),
}


def no_rows() -> pl.DataFrame:
    """A frame of no events."""
    return pl.DataFrame(schema={**EVENT_COLUMNS, **OPEN_COLUMNS})


def checked_rows(frame: pl.DataFrame, zone: tzinfo = timezone.utc) -> pl.DataFrame:
    """The frame in one form and order, or every fault of it; dates that name no offset are of `zone`."""
    kinds = _refuse_missing(frame)
    faults = Faults()
    for name in frame.columns:
        if name not in (*EVENT_COLUMNS, *WRITTEN) and frame[name].null_count() < len(frame):
            faults.note(f"events.{name}", "values", "nothing: no kind of event that is simulated uses it")
    found = _Rows(frame, np.array(kinds, dtype=object), faults, zone)
    found.check_kinds()
    found.check_times()
    found.check_nodes()
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
    # Failures are reported first where rows of several kinds lack their columns.
    needed = [_KINDS[kind].needed for kind in _KINDS if kind in kinds] or (["node"] if not kinds else [])
    wanted = ["time_s", "kind", *needed[:1]]
    is_there = {name: not {name, *_IN_PLACE.get(name, ())}.isdisjoint(frame.columns) for name in needed}
    missing = [name for name in ("time_s", "kind", *needed) if not is_there.get(name, name in frame.columns)]
    if missing:
        expected = (
            f"columns {', '.join(wanted[:-1])} and {wanted[-1]}" if len(wanted) > 2 else "columns time_s and kind"
        )
        hint = did_you_mean(missing[0], frame.columns)
        raise ConfigError([("events", f"columns {listed(frame.columns)}", expected + hint)])
    return kinds


_IN_PLACE = {"node": ("nodes", "rack"), "until_s": ("for_s",)}
"""Columns that replace others."""


class _Rows:
    """Rows under check: the kind of each, and its numbers, NaN where there is none."""

    def __init__(self, frame: pl.DataFrame, kind: npt.NDArray[Any], faults: Faults, zone: tzinfo) -> None:
        self.frame = frame
        self.kind = kind
        self.faults = faults
        self.unreadable: set[str] = set()
        self.is_date = np.zeros(len(frame), np.bool_)
        self.dates: dict[str, _Mask] = {}
        self.numbers = {name: self._instants(name, zone) for name in TIMES}
        self.numbers |= {name: self._numbers(name) for name in ("node", "value", "job_id")}
        self.numbers["for_s"] = self._spans()
        self.nodes = self._node_lists()
        self.rack = self._racks()
        self.has_span = ~np.isnan(self.numbers["for_s"])
        self.has_until = ~np.isnan(self.numbers["until_s"])
        self.numbers["until_s"] = np.where(
            self.has_span & ~self.has_until, self.numbers["time_s"] + self.numbers["for_s"], self.numbers["until_s"]
        )

    def _instants(self, name: str, zone: tzinfo) -> _Floats:
        if name not in self.frame.columns:
            return np.full(len(self.frame), np.nan)
        found = _instants_of(self.frame[name], zone)
        if found is None:
            self.faults.note(f"events.{name}", f"values of type {self.frame[name].dtype}", _SECONDS)
            self.unreadable.add(name)
            return np.full(len(self.frame), np.nan)
        if name == "time_s":
            self.is_date = found.is_date
        else:
            self.dates[name] = found.is_date
        given = self.frame[name].is_not_null().to_numpy()
        self.note(name, given & np.isnan(found.seconds), _SECONDS)
        return found.seconds

    def _spans(self) -> _Floats:
        nothing = np.full(len(self.frame), np.nan)
        if "for_s" not in self.frame.columns:
            return nothing
        column = self.frame["for_s"]
        found = _spans_of(column)
        expected = "seconds above 0, or a span such as 04:00:00 or 1-02:03:04"
        if found is None:
            self.faults.note("events.for_s", f"values of type {column.dtype}", expected)
            return nothing
        self.note("for_s", column.is_not_null().to_numpy() & ~((found > 0) & (found <= MAX_SECONDS)), expected)
        return found

    def _node_lists(self) -> pl.Series:
        if "nodes" in self.frame.columns:
            return nodes_of(self.frame["nodes"], self.faults)
        return pl.Series("nodes", [None] * len(self.frame), dtype=pl.List(pl.UInt32))

    def _racks(self) -> pl.Series:
        nothing = pl.Series("rack", [None] * len(self.frame), dtype=pl.String)
        if "rack" not in self.frame.columns or self.frame["rack"].dtype == pl.Null:
            return nothing
        column = self.frame["rack"]
        if column.dtype != pl.String and not column.dtype.is_integer():
            self.faults.note("events.rack", f"values of type {column.dtype}", "the name of a rack of the platform")
            return nothing
        return column.cast(pl.String)

    def _numbers(self, name: str) -> _Floats:
        nothing = np.full(len(self.frame), np.nan)
        if name not in self.frame.columns:
            return nothing
        column = self.frame[name]
        if column.null_count() == len(column):
            return nothing
        if not column.dtype.is_numeric():
            expected = {"node": "a node's number", "job_id": "a job's number", "value": "numbers"}[name]
            self.faults.note(f"events.{name}", f"values of type {column.dtype}", expected)
            self.unreadable.add(name)
            return nothing
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()

    def note(self, name: str, bad: _Mask, expected: str) -> None:
        """Note the first rows of a column that are bad; shows its values."""
        if name in self.unreadable:
            return
        values = self.frame[name] if name in self.frame.columns else [None] * len(self.frame)
        note_first(self.faults, name, bad, values, expected)

    def check_kinds(self) -> None:
        """Note kinds that there are not."""
        for row, kind in enumerate(self.kind):
            if kind not in _KINDS:
                hint = did_you_mean(str(kind), _KINDS)
                self.faults.note("events.kind", shown(kind), f"one of {listed(_KINDS)}{hint}", row=row)

    def check_times(self) -> None:
        """Note times that are none."""
        given = ~np.isnan(self.numbers["time_s"])
        is_unread = self.frame["time_s"].is_not_null().to_numpy() & ~given
        self.note("time_s", ~is_unread & ~(np.abs(self.numbers["time_s"]) <= MAX_SECONDS), _SECONDS)
        for name, is_date in self.dates.items():
            other = ~np.isnan(self.numbers[name]) & given & (is_date != self.is_date)
            if name == "until_s":
                other &= self.has_until
            self.note(name, other, "a date where time_s is one, and seconds where it is not")
        self.note("for_s", self.has_span & self.has_until, "nothing with until_s")

    def check_nodes(self) -> None:
        """Note rows that name nodes in several ways, or too many of them; nodes in a list replace a number."""
        by_number, by_list = ~np.isnan(self.numbers["node"]), self.nodes.is_not_null().to_numpy()
        by_rack = self.rack.is_not_null().to_numpy()
        self.note("nodes", by_list & by_number, "nothing with node")
        self.note("rack", by_rack & (by_number | by_list), "nothing with node or nodes")
        if (count := int(self.nodes.list.len().sum() or 0)) > _MOST_NODES:
            self.faults.note("events.nodes", f"{count:,} nodes in all", f"at most {_MOST_NODES:,}")
        empty = by_list & (self.nodes.list.len().fill_null(1) == 0).to_numpy()
        self.note("nodes", empty, "at least one node")
        first = self.nodes.list.first().cast(pl.Float64).fill_null(np.nan).to_numpy()
        # Of a rack that the platform names the numbers are not known yet.
        numbers = np.where(by_rack, 0.0, np.where(by_list, first, self.numbers["node"]))
        self.numbers["node"] = numbers

    def check_use(self, name: str) -> None:
        """Note values that a row's kind does not use, and needed ones that are not there."""
        given = ~np.isnan(self.numbers[name])
        for kind, row in _KINDS.items():
            rows = self.kind == kind
            if name not in row.uses:
                self.note(self._given_name(name), rows & given, f"nothing: an event `{kind}` has no {name}")

    def _given_name(self, name: str) -> str:
        """The column that a frame gives it in."""
        return next((one for one in (name, *_IN_PLACE.get(name, ())) if one in self.frame.columns), name)

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
        """The rows in their types, as they stand, one a node; a failure that ends is one and a repair."""
        kinds = pl.Series("kind", self.kind.tolist(), dtype=pl.String)
        columns = [
            kinds if name == "kind" else pl.Series(name, self.numbers[name]).fill_nan(None).cast(dtype)
            for name, dtype in EVENT_COLUMNS.items()
        ]
        rows = pl.DataFrame([*columns, self.rack, pl.Series("is_date", self.is_date), self.nodes])
        rows = rows.with_columns(nodes=pl.coalesce("nodes", pl.concat_list(pl.col("node").cast(pl.UInt32))))
        by_node = rows.explode("nodes").with_columns(node=pl.col("nodes").cast(pl.Int64)).drop("nodes")
        by_node = by_node.with_columns(node=pl.when(pl.col("rack").is_null()).then("node"))
        ends = (pl.col("kind") == FAILED) & pl.col("until_s").is_not_null()
        repaired = by_node.filter(ends).with_columns(kind=pl.lit(REPAIRED), time_s=pl.col("until_s"), until_s=None)
        lasting = by_node.with_columns(until_s=pl.when(~ends).then("until_s"))
        return pl.concat([lasting, repaired.cast(by_node.schema)])


def on_clock(rows: pl.DataFrame, zero_s: float | None, log: str) -> pl.DataFrame:
    """Rows with all instants in seconds on the log's clock, which began at `zero_s`, in seconds since 1970."""
    if zero_s is None:
        first = rows.filter("is_date").row(0, named=True)
        date = pl.select(pl.from_epoch(pl.lit(int(first["time_s"])), "s")).item()
        expected = f"seconds on the log's clock: {log} does not say the date of its second 0"
        raise ConfigError([("events.time_s", f"the date {date:%Y-%m-%dT%H:%M:%S} (UTC)", expected)])
    moved = [pl.when("is_date").then(pl.col(name) - zero_s).otherwise(name).alias(name) for name in TIMES]
    return rows.with_columns(moved).with_columns(is_date=pl.lit(value=False))


def on_nodes(rows: pl.DataFrame, racks: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """Rows with a row for each node of a rack in place of the rack's."""
    faults = Faults()
    unknown = rows["rack"].drop_nulls().unique(maintain_order=True)
    for name in unknown.filter(~unknown.is_in(list(racks))).head(MOST_LISTED).to_list():
        expected = (
            f"one of the platform's racks: {listed(racks)}" if racks else "no rack: the platform names none (racks)"
        )
        faults.add("events.rack", name, expected + did_you_mean(name, racks))
    faults.check()
    nodes = pl.DataFrame(
        {"rack": list(racks), "of_rack": [list(own) for own in racks.values()]},
        schema={"rack": pl.String, "of_rack": pl.List(pl.Int64)},
    )
    named = rows.join(nodes, on="rack", how="left", maintain_order="left")
    each = named.with_columns(of_rack=pl.coalesce("of_rack", pl.concat_list("node"))).explode("of_rack")
    return each.with_columns(node=pl.col("of_rack"), rack=pl.lit(None, pl.String)).drop("of_rack")


def note_rows(faults: Faults, name: str, rows: pl.DataFrame, expected: str) -> None:
    """Note a column of rows that have their number in ``row``: each value once, where it is first, and its count."""
    values = rows.group_by(name, maintain_order=True).agg(pl.first("row", "time_s"), pl.len().alias("count"))
    listed_ones = values.head(MOST_LISTED)
    for row in listed_ones.iter_rows(named=True):
        found = f"{shown(row[name])} at {row['time_s']:g} s{_and_more(row['count'] - 1)}"
        faults.note(f"events.{name}", found, expected, row=row["row"])
    note_others(faults, name, len(rows) - int(listed_ones["count"].sum()), expected)


def note_first(faults: Faults, name: str, bad: _Mask, values: pl.Series | Sequence[Any], expected: str) -> None:
    """Note the first rows of a column that are bad, by their values, and how many more there are."""
    rows = np.flatnonzero(bad).tolist()
    for row in rows[:MOST_LISTED]:
        faults.add(f"events.{name}", values[row], expected, row=row)
    note_others(faults, name, len(rows) - MOST_LISTED, expected)


def note_others(faults: Faults, name: str, others: int, expected: str) -> None:
    """Note how many rows have a fault of a kind whose list ends before them, if there are any."""
    if others > 0:
        faults.note(f"events.{name}", f"the same fault in {_rows(others)}", expected)


def _and_more(count: int) -> str:
    return f" and in {_rows(count)}" if count else ""


def _rows(count: int) -> str:
    return f"{count:,} more row{'' if count == 1 else 's'}"
