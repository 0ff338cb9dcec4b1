"""Logs in Apache Parquet, with a site's own column names."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from hetsched import tables
from hetsched.checks import reason_of
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE
from hetsched.workload.formats.raw import Format, Source, as_workload, contents, renamed
from hetsched.workload.jobs import Workload


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
    data, name, sha256 = contents(source, "a Parquet file")
    try:
        frame = tables.read_parquet(data)
    except UNREADABLE as error:
        raise TraceError(file=name, found=f"no Parquet ({reason_of(error)})", expected="a Parquet file") from None
    settings = {"columns": dict(columns)} if columns else {}
    return as_workload(renamed(frame, columns, name), source=name, sha256=sha256, settings=settings)


def _parts(workload: Workload) -> Iterator[bytes]:
    file = io.BytesIO()
    workload.to_polars().write_parquet(file)
    yield file.getvalue()


FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    doc="Apache Parquet with hetsched's column names, or with a mapping to them",
    read=read_parquet,
    write={".parquet": _parts},
    magic=b"PAR1",
)
