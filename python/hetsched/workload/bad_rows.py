"""A job table of the good rows of a log, if most of them are: what is left out is counted, and the first are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hetsched.errors import TraceError
from hetsched.workload.checks import conformed
from hetsched.workload.conversion import BadRows, Origin

__all__ = ["conformed_rows", "told_bad_lines"]

_TOLD = 3


def conformed_rows(
    frame: pl.DataFrame, origin: Origin, before: Sequence[TraceError] = ()
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """What `conformed` makes of the rows that fit, and its counts with ``bad_lines`` and, if any, ``first_bad_lines``.

    Parameters
    ----------
    frame, origin
        As there; `origin` skips bad rows.
    before
        The faults of lines that did not even become rows.

    Raises
    ------
    TraceError
        If a column is missing or of another type; at the first bad line if more than half of all are bad.
    """
    rows, faults, bad_lines = np.arange(len(frame)), list(before), len(before)
    while True:
        try:
            table, counts = conformed(frame[rows], _of_rows(origin, rows))
            break
        except BadRows as bad:
            # Each costs a look through the file, and no more than a few are told.
            faults += [bad.fault_of(row) for row in bad.rows[:_TOLD]]
            bad_lines += len(bad.rows)
            rows = np.delete(rows, bad.rows)
    faults.sort(key=lambda fault: fault.line or 0)
    _refuse_mostly_bad(faults, bad_lines, len(frame) + len(before))
    told = {"first_bad_lines": told_bad_lines(faults)} if faults else {}
    return table, counts | {"bad_lines": bad_lines, **told}


def told_bad_lines(faults: Sequence[TraceError]) -> list[str]:
    """The first few faults as a report holds them: without the file's name, which the report has.

    Examples
    --------
    >>> told_bad_lines([TraceError(file="a.csv", line=7, found="2 fields", expected="4 fields")])
    ['line 7: found 2 fields, expected 4 fields']
    """
    return [str(fault).removeprefix(f"{fault.file}, ") for fault in faults[:_TOLD]]


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
