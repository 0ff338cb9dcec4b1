"""From a file to a `Workload`, format by format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from hetsched.checks import listed, shown
from hetsched.errors import ConfigError
from hetsched.workload.bad_rows import conformed_rows, told_bad_lines
from hetsched.workload.checks import conformed
from hetsched.workload.conversion import Origin
from hetsched.workload.formats import FORMATS, RawTrace, format_of
from hetsched.workload.formats.raw import Source, piped
from hetsched.workload.report import Report, coarse_clock
from hetsched.workload.schema import TEXT_COLUMNS
from hetsched.workload.table import Workload

__all__ = ["read_csv", "read_parquet", "read_swf", "read_trace"]


def read_swf(
    source: Source,
    *,
    procs_per_node: int | None = None,
    on_bad_line: str = "error",
    progress: Callable[[int, int], object] | None = None,
) -> Workload:
    r"""Read a log in the Standard Workload Format.

    Strict by the Parallel Workloads Archive's definition: 18 fields a line, header lines begin with ``;``, -1 is
    unknown. What was kept, dropped or counted is in the workload's ``report``.

    Parameters
    ----------
    source
        Path (``.swf``, ``.swf.gz``, ``.swf.zst``), ``"-"`` for standard input, or content; compression is told by the
        content.
    procs_per_node
        Processors that make one node; sizes are rounded up to whole nodes. None: a processor is a node.
    on_bad_line
        ``"error"``: a malformed line is an error. ``"skip"``: it is left out and counted, and the report names the
        first few, unless more than half of all job lines are malformed.
    progress
        Called now and then with (bytes read, bytes in all).

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        At the first malformed line, with its number, field and value; or if the file cannot be read.
    ConfigError
        If `procs_per_node` is below 1, or `on_bad_line` is none of its words.

    Examples
    --------
    >>> log = b"; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 120 -1 1 3 1 7 1 -1 -1 -1\n"
    >>> workload = read_swf(log, procs_per_node=4)
    >>> workload.to_polars().select("job_id", "runtime_s", "node_count", "walltime_s", "app").rows()
    [(1, 60.0, 1, 120.0, '7')]
    >>> read_swf(log + b"2 0 -1 1h 4\n", on_bad_line="skip").report["first_bad_lines"]
    ['line 3, field 4 (run time): found `1h`, expected seconds from 0 to 1e12, or -1 for unknown']
    """
    return _workload(
        FORMATS["swf"].read(source, procs_per_node=procs_per_node, on_bad_line=on_bad_line, progress=progress)
    )


def read_parquet(source: Source, *, columns: Mapping[str, str] | None = None) -> Workload:
    """Read a site's own log from Parquet.

    Parameters
    ----------
    source
        Path, ``"-"`` for standard input, or content.
    columns
        From the file's column names to hetsched's, such as ``{"nodes": "node_count"}``; columns that are not named
        keep their name. ``submit_s`` may be a Datetime, spans Durations.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        If the file cannot be read, or its columns are not those of a workload.

    Examples
    --------
    >>> import io, polars as pl
    >>> file = io.BytesIO()
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "nodes": [2]})
    >>> jobs.write_parquet(file)
    >>> read_parquet(file.getvalue(), columns={"nodes": "node_count"}).to_polars()["node_count"].to_list()
    [2]
    """
    return _workload(FORMATS["parquet"].read(source, columns=columns))


def read_csv(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str = ",",
    on_bad_line: str = "error",
) -> Workload:
    r"""Read a site's own log from comma-separated values; the first line names the columns.

    Parameters
    ----------
    source
        Path (plain, gzip, zstd), ``"-"`` for standard input, or content.
    columns
        From the file's column names to hetsched's, such as ``{"nodes": "node_count"}``; columns that are not named
        keep their name. Instants may be dates in ISO 8601 (``2024-08-30T12:00:00``, ``2024-08-30 12:00:00+02:00``),
        which become seconds since 1970, UTC unless an offset says otherwise; spans may be written ``01:00:00`` or
        ``1-02:03:04``. One column holds one of these or plain seconds, and the report says which.
    separator
        One character between fields.
    on_bad_line
        ``"error"``: a line that does not fit is an error. ``"skip"``: it is left out and counted, and the report names
        the first few, unless more than half of all lines do not fit.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        If the file cannot be read, or its columns are not those of a workload; names the line.
    ConfigError
        If `separator` is no single character, or `on_bad_line` is none of its words.

    Examples
    --------
    >>> log = b"id,submit_s,runtime_s,node_count\n1,0,60,2\n2,5,nan,1\n"
    >>> read_csv(log, columns={"id": "job_id"})
    Traceback (most recent call last):
    hetsched.errors.TraceError: bytes, line 3, column `runtime_s`: found `NaN`, expected seconds from 0 to 1e+12
    """
    options = {"columns": columns, "separator": separator, "on_bad_line": on_bad_line}
    return _workload(FORMATS["csv"].read(source, **options, text_columns=TEXT_COLUMNS))


def read_trace(source: Source, *, format: str | None = None, **options: Any) -> Workload:
    """Read a log in any format, told by its file's name or, from standard input, by its content.

    Parameters
    ----------
    source
        Path, or ``"-"`` for standard input.
    format
        ``"swf"``, ``"parquet"`` or ``"csv"``; None: told by the name's ending. Of standard input: Parquet by its first
        bytes, CSV if there are options that only CSV has, SWF otherwise.
    **options
        Of that format's reader, such as ``procs_per_node``; those that are None count as not given.

    Returns
    -------
    Workload
        Sorted by submit time.

    Raises
    ------
    TraceError
        As the format's reader.
    ConfigError
        If the format is unknown, or an option is not one of its reader's.

    Examples
    --------
    >>> read_trace("jobs.log", format="cvs")
    Traceback (most recent call last):
    hetsched.errors.ConfigError: format: found `cvs`, expected one of swf, parquet, csv; did you mean `csv`?
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, str) and source == "-":
        source = piped()
    chosen = format_of(source, format, options=given)
    allowed = f"options of {chosen.name} logs: {listed(chosen.options)}"
    faults = [(name, shown(value), allowed) for name, value in given.items() if name not in chosen.options]
    if faults:
        raise ConfigError(faults)
    if chosen.name == "csv":
        given["text_columns"] = TEXT_COLUMNS
    return _workload(chosen.read(source, **given))


def _workload(raw: RawTrace) -> Workload:
    frame, counts = raw.frame, raw.counts
    origin = Origin(raw.source, raw.line_of, skips_bad_rows=raw.skips_bad_rows)
    if raw.skips_bad_rows:
        frame, counts = conformed_rows(frame, origin, raw.bad_lines)
    elif not raw.is_checked:
        frame, counts = conformed(frame, origin)
    elif raw.bad_lines:
        counts = counts | {"first_bad_lines": told_bad_lines(raw.bad_lines)}
    name = os.path.basename(raw.source)
    settings = ", ".join(f"{option}={value}" for option, value in raw.settings.items())
    return Workload(
        frame,
        source=raw.source,
        report=Report(name, {**counts, **coarse_clock(frame["submit_s"])}),
        history=[f"read {name}{f' with {settings}' if settings else ''}"],
        source_sha256=raw.sha256,
    )
