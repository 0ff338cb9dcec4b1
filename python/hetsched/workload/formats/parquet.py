"""Logs in Apache Parquet, with a site's own column names."""

from __future__ import annotations

from collections.abc import Mapping

from hetsched.checks import reason_of
from hetsched.errors import TraceError
from hetsched.files import UNREADABLE
from hetsched.tables import read_parquet
from hetsched.workload.formats.raw import Format, RawTrace, Source, contents
from hetsched.workload.formats.renaming import renamed

__all__ = ["FORMAT", "read"]


def read(source: Source, *, columns: Mapping[str, str] | None = None) -> RawTrace:
    """Read a log in Parquet.

    Parameters
    ----------
    source
        Path or content.
    columns
        From the file's column names to hetsched's; columns that are not named keep their name.

    Raises
    ------
    TraceError
        If the file cannot be read, is no Parquet, or lacks a column that `columns` names.
    """
    data, name, sha256 = contents(source, "a Parquet file")
    try:
        frame = read_parquet(data)
    except UNREADABLE as error:
        raise TraceError(file=name, found=f"no Parquet ({reason_of(error)})", expected="a Parquet file") from None
    settings = {"columns": dict(columns)} if columns else {}
    return RawTrace(renamed(frame, columns, name), source=name, sha256=sha256, settings=settings)


FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    doc="Apache Parquet with hetsched's column names, or with a mapping to them",
    read=read,
    options=("columns",),
)
