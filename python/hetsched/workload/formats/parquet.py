"""Logs in Apache Parquet, with a site's own column names."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from hetsched import tables
from hetsched.checks import Faults, reason_of
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE
from hetsched.workload.formats.mappings import Columns, check_columns, mapped
from hetsched.workload.formats.raw import Format, Source, as_workload, contents
from hetsched.workload.jobs import Workload
from hetsched.workload.writers.tables import KEPT, NOTE


def read_parquet(source: Source, *, columns: Columns = None) -> Workload:
    """Read a site's own log from Parquet.

    Parameters
    ----------
    source
        Path, ``"-"`` for standard input, or content.
    columns
        From the file's column names to hetsched's, such as ``{"nodes": "node_count"}``; columns that are not named keep
        their name. ``"#row"`` is the number of a row, from 1: ``{"#row": "job_id"}`` numbers the jobs, and a column
        ``job_id`` of the file's own is ``log_id``. Or the name of a published table of jobs, such as ``"kestrel"``,
        whose columns are known. ``submit_s`` may be a Datetime, spans Durations.

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
    faults = Faults()
    check_columns(faults, columns)
    faults.check()
    data, name, sha256 = contents(source, "a Parquet file")
    try:
        frame = tables.read_parquet(data)
    except UNREADABLE as error:
        raise TraceError(file=name, found=f"no Parquet ({reason_of(error)})", expected="a Parquet file") from None
    named = columns if isinstance(columns, str) else dict(columns or {})
    settings: dict[str, object] = {"columns": named} if named else {}
    own = mapped(frame, columns, name)
    return as_workload(own, source=name, sha256=sha256, settings=settings, counts=_noted(data, name))


def _noted(data: bytes, name: str) -> dict[str, Any]:
    """Words of the log that a file was made of on its machine and clock; empty if the file does not say it."""
    try:
        text = pl.read_parquet_metadata(io.BytesIO(data)).get(NOTE)
        noted = {} if text is None else json.loads(text)
        is_good = isinstance(noted, dict) and all(
            isinstance(noted[key], kind) for key, kind in KEPT.items() if key in noted
        )
    except (*UNREADABLE, ValueError, TypeError):
        is_good = False
    if not is_good:
        expected = "what hetsched writes there, or no such key"
        raise TraceError(file=name, field=f"metadata `{NOTE}`", found="something else", expected=expected)
    return {key: noted[key] for key in KEPT if key in noted}


FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    doc="Apache Parquet with hetsched's column names, or with a mapping to them",
    read=read_parquet,
    magic=b"PAR1",
)
