"""Every format of job logs by name, and logs read in the format that a name or the content implies.

A new format is a file next to this one with a `Format`, and its name in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import PurePath
from typing import Any

from hetsched.checks import did_you_mean, listed, shown
from hetsched.errors import ConfigError
from hetsched.workload.formats import batsim, csv, parquet, pbs, sacct, swf
from hetsched.workload.formats.raw import Format, Source, head_of, piped
from hetsched.workload.jobs import Workload

FORMATS: dict[str, Format] = {
    f.name: f for f in (swf.FORMAT, parquet.FORMAT, batsim.FORMAT, pbs.FORMAT, csv.FORMAT, sacct.FORMAT)
}
"""Every format by its name; the first one that fits is taken."""

READERS: tuple[str, ...] = tuple(dict.fromkeys(suffix for f in FORMATS.values() for suffix in f.suffixes))
"""Endings of the names of files that can be read."""


def read_jobs(source: Source, *, format: str | None = None, **options: Any) -> Workload:
    r"""Read a job log in any format, known by its file's name or by its content.

    Parameters
    ----------
    source
        Path, ``"-"`` for standard input, or content.
    format
        Name of a format, such as ``"swf"``. None: by the name's ending; where that says nothing or several formats
        share it, or there is no name, by the content: Parquet by its first bytes, SWF by a comment or a line of 18
        numbers, Batsim's JSON by one of its keys, PBS by the stamp of a record, CSV by a line with one of hetsched's
        names of columns, a dump of sacct by its header line or JSON. Content that is none of these is in the first
        format that has the options.
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
    >>> len(read_jobs(b"job_id,submit_s,runtime_s,node_count\n1,0,60,2\n"))
    1
    >>> read_jobs("jobs.log", format="cvs")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.ConfigError: format: found `cvs`, expected one of swf, parquet, ...; did you mean `csv`?
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, str) and source == "-":
        source = piped()
    chosen = format_of(source, format, options=given)
    allowed = f"options of {chosen.name} logs: {listed(chosen.options)}"
    faults = [(name, shown(value), allowed) for name, value in given.items() if name not in chosen.options]
    if faults:
        raise ConfigError(faults)
    return chosen.read(source, **given)


def format_of(source: Source, name: str | None, *, options: Collection[str] = ()) -> Format:
    """The format of a log: of that name, or known by the path's ending, by the content, or by the options given."""
    if name is not None:
        if name not in FORMATS:
            raise ConfigError([("format", shown(name), f"one of {listed(FORMATS)}{did_you_mean(name, FORMATS)}")])
        return FORMATS[name]
    path = None if isinstance(source, bytes) else os.fspath(source)
    likely = [] if path is None else _ending_as(path)
    if len(likely) == 1:
        return likely[0]
    head = head_of(source)
    for one in likely or FORMATS.values():
        if one.fits(head):
            return one
    if path is not None and not likely:
        expected = f"a name ending in {listed(READERS)}, or format= one of {listed(FORMATS)}"
        raise ConfigError([("format", f"`{path}`", expected)])
    texts = likely or [one for one in FORMATS.values() if not one.magic]
    return next((one for one in texts if set(options) <= set(one.options)), texts[0])


def _ending_as(path: str) -> list[Format]:
    """Formats whose files' names may end as that of a path."""
    name = PurePath(path).name.lower()
    return [one for one in FORMATS.values() if name.endswith(one.suffixes)]
