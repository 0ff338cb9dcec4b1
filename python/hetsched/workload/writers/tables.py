"""Jobs as tables with hetsched's names of columns: comma-separated values and Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

from hetsched.files import for_csv
from hetsched.workload.clock import unix_zero
from hetsched.workload.describe import Log
from hetsched.workload.writers.swf import in_nodes

_ROWS_A_PART = 50_000


def csv(log: Log) -> Iterator[bytes]:
    """The content of a file of comma-separated values."""
    frame = for_csv(log.to_polars())
    yield frame.clear().write_csv().encode()
    yield from (part.write_csv(include_header=False).encode() for part in frame.iter_slices(_ROWS_A_PART))


NOTE = "hetsched"
"""Key of the file's metadata with what the log says besides its jobs."""

KEPT = {"header": dict, "node_names": list, "read_from": dict, "time_zone": str}
"""Parts of a report that a file keeps: of the machine and the clock."""


def _note(log: Log) -> dict[str, str]:
    kept = {key: log.report[key] for key in KEPT if log.report.get(key)}
    if "header" in kept:
        kept["header"], _ = in_nodes(log)
        if unix_zero(log) is None:
            # Its jobs may have been moved since on the clock that the header speaks of.
            kept["header"] |= {"unix_start_time": None}
    return {NOTE: json.dumps(kept)} if kept else {}


def parquet(log: Log) -> Iterator[bytes]:
    """The content of a Parquet file, in one part."""
    file = io.BytesIO()
    log.to_polars().write_parquet(file, metadata=_note(log))
    yield file.getvalue()
