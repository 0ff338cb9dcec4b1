"""Jobs that wait for others, and arrays of jobs: what is invalid about them, and references to jobs left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults

HOWS = ("any", "ok", "not_ok")
"""Ends of a job that another one may wait for, in the engine's order."""

WAIT_COLUMNS = (
    "start_at_s",
    "depends_on",
    "depends_how",
    "think_s",
    "cancel_s",
    "array_id",
    "array_limit",
)
"""Columns that keep a job from the queue, or take it out of it."""

_MOST_FAULTS = 10

Rows = npt.NDArray[np.int64]


def check_references(table: pl.DataFrame, name: str) -> None:
    """Raise a `ConfigError` for unknown jobs in ``depends_on``, cycles of them, and arrays with several limits."""
    faults = Faults(name)
    if _may_depend(table):
        rows = predecessors(table)
        _note_unknown(table, rows, faults)
        if not faults.found:
            _note_cycle(table, rows, faults)
    if "array_id" in table.columns and "array_limit" in table.columns:
        _note_limits(table, faults)
    faults.check()


def _may_depend(table: pl.DataFrame) -> bool:
    """True if a job waits for the end of another."""
    return "depends_on" in table.columns and table["depends_on"].null_count() < len(table)


def predecessors(table: pl.DataFrame) -> Rows:
    """Row of the job that each one waits for; -1 for none, -2 for one that is not there."""
    wanted = table["depends_on"]
    if wanted.null_count() == len(wanted):
        return np.full(len(table), -1, dtype=np.int64)
    ids = table["job_id"].to_numpy()
    order = np.argsort(ids, kind="stable")
    asked = wanted.fill_null(0).to_numpy()
    place = np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)
    rows = np.where(ids[order][place] == asked, order[place], -2)
    return np.where(wanted.is_null().to_numpy(), -1, rows).astype(np.int64)


def cleared(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The jobs without references to jobs that are not there, nor of a job to itself; and how many were cleared."""
    if not _may_depend(table):
        return table, 0
    rows = predecessors(table)
    lost = (rows == -2) | (rows == np.arange(len(table)))
    if not lost.any():
        return table, 0
    names = [name for name in ("depends_on", "depends_how", "think_s") if name in table.columns]
    mask = pl.Series(lost)
    return table.with_columns(pl.when(~mask).then(pl.col(name)).alias(name) for name in names), int(lost.sum())


def array_codes(table: pl.DataFrame) -> tuple[Rows, Rows] | None:
    """Each job's array as a place in the limits, -1 for one without a limit; and the limits. None if there is none."""
    if "array_id" not in table.columns or "array_limit" not in table.columns:
        return None
    # In order of first jobs, so that further jobs change no number.
    limited = table.select("array_id", "array_limit").drop_nulls().unique("array_id", keep="first", maintain_order=True)
    if not len(limited):
        return None
    places = limited.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64)).select("array_id", "place")
    joined = table.select("array_id").join(places, on="array_id", how="left", maintain_order="left")
    return joined["place"].fill_null(-1).to_numpy(), limited["array_limit"].cast(pl.Int64).to_numpy()


def has_waits(table: pl.DataFrame) -> bool:
    """True if a job waits for anything, may be withdrawn, or belongs to an array."""
    return any(name in table.columns and table[name].null_count() < len(table) for name in WAIT_COLUMNS)


def engine_columns(table: pl.DataFrame) -> dict[str, Any]:
    """Columns of what jobs wait for; none where no job waits for anything."""
    if not has_waits(table):
        return {}
    columns: dict[str, Any] = {
        name: table[name].to_numpy() for name in ("start_at_s", "think_s", "cancel_s") if name in table.columns
    }
    if "depends_on" in table.columns:
        columns["depends_on"] = predecessors(table)
    if "depends_how" in table.columns:
        how = table["depends_how"].fill_null("any").cast(pl.Enum(HOWS))
        columns["depends_how"] = how.to_physical().cast(pl.Int64).to_numpy()
    if (arrays := array_codes(table)) is not None:
        columns["array"], columns["array_limits"] = arrays
    return columns


def _note_unknown(table: pl.DataFrame, rows: Rows, faults: Faults) -> None:
    unknown = np.flatnonzero(rows == -2)
    found = (f"{table['depends_on'][row]} of job {table['job_id'][row]}" for row in unknown.tolist())
    expected, of_rest = "the job_id of a job of the workload, or null", "jobs of the workload, or null"
    faults.some("depends_on", found, len(unknown), expected, of_rest=of_rest)


def _note_cycle(table: pl.DataFrame, rows: Rows, faults: Faults) -> None:
    """Note a cycle: the jobs left once all that wait for nothing, or for those, are taken away."""
    left = rows >= 0
    # Each round halves the way to the last predecessor: none is left after as many as there are bits.
    ahead = rows.copy()
    for _ in range(len(rows).bit_length() + 1):
        ahead = np.where(ahead >= 0, ahead[np.maximum(ahead, 0)], -1)
        left = ahead >= 0
        if not left.any():
            return
    start = int(ahead[np.flatnonzero(left)[0]])
    cycle = [start]
    while (row := int(rows[cycle[-1]])) != start:
        cycle.append(row)
    first = cycle.index(min(cycle))
    names = [int(table["job_id"][row]) for row in cycle[first:] + cycle[:first]]
    chain = " on ".join(str(name) for name in [*names[:_MOST_FAULTS], names[0]])
    faults.note("depends_on", f"a cycle: job {chain}", "no job that waits for itself, be it through others")


def _note_limits(table: pl.DataFrame, faults: Faults) -> None:
    limits = table.select("array_id", "array_limit").drop_nulls().unique().sort("array_id", "array_limit")
    several = limits.group_by("array_id", maintain_order=True).agg("array_limit")
    for array_id, own in several.filter(pl.col("array_limit").list.len() > 1).head(_MOST_FAULTS).iter_rows():
        found = f"limits {', '.join(map(str, own))} of array {array_id}"
        faults.note("array_limit", found, "one limit an array")
