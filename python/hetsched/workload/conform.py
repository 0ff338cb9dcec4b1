"""Holds a frame to the job table's schema: what is missing, invalid or repeated is a `TraceError` at its row.

Where a log's bad rows are to be skipped, the good ones become the table if most of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import did_you_mean, listed, more_in_brackets
from hetsched.errors import TraceError
from hetsched.resources import check_threads
from hetsched.tables import refuse_other_frames
from hetsched.workload.convert import BadRows, Origin, converted, nodes_text, other_nodes
from hetsched.workload.profiles import refuse_profiles, with_mean_draws
from hetsched.workload.schema import COLUMNS, SHORTEST_S, Column
from hetsched.workload.sizes import refuse_sizes
from hetsched.workload.waits import HOWS, check_references, cleared

_MOST_SHOWN = 3
"""Bad lines that a report shows."""

_OTHER_UNITS = frozenset(
    "ns us ms sec secs second seconds min mins minute minutes h hr hrs hour hours d day days mw kw".split()  # noqa: SIM905
)

_BY_ROW = "; to number the jobs by row: columns={'#row': 'job_id'}, or --columns job_id=#row"

# Not `comm_s`, whose stem is what some logs call the command.
_BARE = {name[:-2]: name for name in ("submit_s", "runtime_s", "walltime_s", "power_w", "observed_start_s")}


def conformed(frame: pl.DataFrame, origin: Origin) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The frame as a job table (see `schema`), sorted by submit time, and the counts of a `Report`.

    Raises `BadRows` with all invalid rows of a column in place of a `TraceError` if `origin` skips such rows.
    """
    check_threads()
    refuse_other_frames(frame)
    _refuse_other_units(frame, origin)
    _refuse_missing(frame, origin)
    known = []
    for column in COLUMNS.values():
        if column.name in frame.columns:
            values = converted(frame[column.name], column, origin)
            _refuse_values(values, column, origin)
            known.append(values)
    _refuse_repeated_ids(known[0], origin)
    _refuse_other_nodes({values.name: values for values in known}, origin)
    refuse_sizes({values.name: values for values in known}, origin)
    refuse_profiles({values.name: values for values in known}, origin)
    known = list(with_mean_draws({values.name: values for values in known}).values())
    others = [series for series in frame.get_columns() if series.name not in COLUMNS]
    _refuse_objects(others, origin)
    table, counts = _settled(pl.DataFrame(known + others))
    if origin.skips_bad_rows:
        table, gone = cleared(table)
        counts |= {"depends_on_cleared": gone} if gone else {}
    check_references(table, origin.source)
    return table, counts | ({"read_from": dict(origin.read_from)} if origin.read_from else {})


def _settled(table: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rounds submits to whole microseconds, sorts by them, makes walltimes <= 0 null, and counts."""
    counts = {"jobs": len(table), "out_of_order": 0, "no_walltime": len(table)}
    # The engine's clock ticks in microseconds: a submit between two ticks would come back with a negative wait.
    ticks = (table["submit_s"] * 1e6).round().to_numpy()
    # Divided by numpy: polars multiplies by the reciprocal, and misses the nearest number of seconds.
    submit = pl.Series("submit_s", ticks / 1e6)
    if not submit.equals(table["submit_s"]):
        table = table.with_columns(submit)
    if not submit.is_sorted():
        # Counted as for SWF: a job is out of order if the one before it was submitted later.
        counts["out_of_order"] = int((submit.diff() < 0).sum())
        table = table.sort("submit_s", maintain_order=True)
    if "walltime_s" in table.columns:
        walltime = table["walltime_s"]
        if (walltime < SHORTEST_S).any():
            # A walltime between two ticks of the engine's clock is rounded up once: at none, its job would never run.
            is_short = (walltime > 0) & (walltime < SHORTEST_S)
            counts["walltime_raised"] = int(is_short.sum())
            table = table.with_columns(walltime.set(walltime <= 0, None).set(is_short, SHORTEST_S))
        counts["no_walltime"] = table["walltime_s"].null_count()
    if "depends_on" in table.columns:
        counts["depends_on"] = len(table) - table["depends_on"].null_count()
    counts["kept_zero_runtime"] = int((table["runtime_s"] == 0).sum())
    return table, counts


def _refuse_missing(frame: pl.DataFrame, origin: Origin) -> None:
    for column in COLUMNS.values():
        if column.is_required and column.name not in frame.columns:
            hint = did_you_mean(column.name, [name for name in frame.columns if name not in COLUMNS])
            if column.name == "job_id" and not hint:
                by_frame = '; number the rows with frame.with_row_index("job_id")'
                hint = _BY_ROW if origin.is_file else by_frame
            unit = f" in {column.unit}" if column.unit else ""
            found = f"columns {listed(frame.columns)}" if frame.width else "no columns"
            raise origin.misfit(column.name, found, f"a column `{column.name}`{unit}: {column.meaning}{hint}")


def _refuse_other_units(frame: pl.DataFrame, origin: Origin) -> None:
    """A column like `walltime_h` or `walltime` would be kept as a user's own, its jobs silently without a walltime."""
    for name in frame.columns:
        own = _BARE.get(name.lower())
        if own is not None and own not in frame.columns:
            expected = f"`{own}`, in {COLUMNS[own].unit}; to read it so: columns=, or --columns {own}={name}"
            raise origin.misfit(name, "no unit in its name", expected)
        stem, _, unit = name.rpartition("_")
        meant = COLUMNS.get(f"{stem}_s") or COLUMNS.get(f"{stem}_w")
        if meant is not None and meant.name not in frame.columns and unit.lower() in _OTHER_UNITS:
            raise origin.misfit(name, f"the unit `{unit}`", f"`{meant.name}`, in {meant.unit}")


def _refuse_values(values: pl.Series, column: Column, origin: Origin) -> None:
    # One pass for a whole column of good values; masks are built only where there is something to find.
    missing = values.null_count()
    if column.is_required and missing:
        origin.refuse(values, values.is_null(), column.expected)
    if missing == len(values):
        return
    if column.name == "device":
        origin.refuse(values, ~values.is_in(["cpu", "gpu"]), "`cpu`, `gpu` or nothing")
    if column.name == "depends_how":
        origin.refuse(values, ~values.is_in(HOWS), "`any`, `ok`, `not_ok` or nothing")
    if column.dtype is pl.Float64 and np.isfinite(values.to_numpy()).sum() < len(values) - missing:
        origin.refuse(values, ~values.is_finite(), column.expected)
    is_bounded = (column.low, column.high, column.above) != (None, None, None) and not values.dtype.is_nested()
    lowest, highest = (values.min(), values.max()) if is_bounded else (None, None)
    if column.low is not None and lowest is not None and lowest < column.low:  # type: ignore[operator]
        origin.refuse(values, values < column.low, column.expected)
    if column.above is not None and lowest is not None and lowest <= column.above:  # type: ignore[operator]
        origin.refuse(values, values <= column.above, column.expected)
    if column.high is not None and highest is not None and highest > column.high:  # type: ignore[operator]
        origin.refuse(values, values > column.high, column.expected)


def _refuse_other_nodes(known: dict[str, pl.Series], origin: Origin) -> None:
    if (nodes := known.get("observed_nodes")) is not None and nodes.null_count() < len(nodes):
        bad = other_nodes(nodes, known["node_count"])
        origin.refuse(nodes_text(nodes), bad, "as many nodes as `node_count` says, each once")


def _refuse_repeated_ids(job_id: pl.Series, origin: Origin) -> None:
    ids = job_id.to_numpy()
    if len(ids) < 2 or bool((ids[1:] > ids[:-1]).all()):
        return
    rows = np.argsort(ids, kind="stable")
    repeats = rows[1:][ids[rows][1:] == ids[rows][:-1]]
    if len(repeats):
        row = int(repeats.min())
        first = int(np.flatnonzero(ids == ids[row])[0])
        more = more_in_brackets(len(repeats) - 1, " repeats")
        earlier = origin.fault("job_id", first, "", "").line
        where = f"{'row' if origin.line_of is None else 'line'} {earlier}"
        expected = f"a number of its own; {where} has it already{_BY_ROW if origin.is_file else ''}"
        if origin.skips_bad_rows:
            own = "a number that no other job has"
            raise BadRows(sorted(repeats.tolist()), lambda row: origin.fault("job_id", row, f"`{ids[row]}`", own))
        raise origin.fault("job_id", row, f"`{ids[row]}`{more}", expected)


def _refuse_objects(others: list[pl.Series], origin: Origin) -> None:
    for series in others:
        if series.dtype == pl.Object:
            raise origin.misfit(series.name, "Python objects", "a type that polars stores, or no such column")


def conformed_rows(
    frame: pl.DataFrame, origin: Origin, before: Sequence[TraceError] = ()
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Job table of the rows that fit, with ``bad_lines`` and, if any, ``first_bad_lines`` among its counts.

    `before` holds the faults of lines that did not even become rows. An error if more than half of all are bad.
    """
    rows, faults, bad_lines = np.arange(len(frame)), list(before), len(before)
    while True:
        try:
            table, counts = conformed(frame[rows], _of_rows(origin, rows))
            break
        except BadRows as bad:
            # Each costs a look through the file, and no more than a few are reported.
            faults += [bad.fault_of(row) for row in bad.rows[:_MOST_SHOWN]]
            bad_lines += len(bad.rows)
            rows = np.delete(rows, bad.rows)
    faults.sort(key=lambda fault: fault.line or 0)
    _refuse_mostly_bad(faults, bad_lines, len(frame) + len(before))
    shown = {"first_bad_lines": first_bad_lines(faults)} if faults else {}
    return table, counts | {"bad_lines": bad_lines, **shown}


def first_bad_lines(faults: Sequence[TraceError]) -> list[str]:
    """The first few faults as a report holds them: without the file's name, which the report has."""
    return [str(fault).removeprefix(f"{fault.file}, ") for fault in faults[:_MOST_SHOWN]]


def _of_rows(origin: Origin, rows: np.ndarray) -> Origin:
    """The same origin for a frame that holds some of its rows."""
    line_of = origin.line_of
    assert line_of is not None
    return replace(origin, line_of=lambda row: line_of(int(rows[row])), read_from={})


def _refuse_mostly_bad(faults: Sequence[TraceError], bad_lines: int, lines: int) -> None:
    if 2 * bad_lines <= lines:
        return
    first = faults[0]
    more = f" (the first of {bad_lines:,} bad lines among {lines:,})" if bad_lines > 1 else ""
    raise TraceError(
        file=first.file, line=first.line, field=first.field, found=first.found + more, expected=first.expected
    )
