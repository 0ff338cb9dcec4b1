"""What reading a workload kept, changed, dropped and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

__all__ = ["Report", "coarse_clock"]

_COARSE_S = 2.0**33
"""From here on, 272 years, neighbouring 64-bit floats are two microseconds apart."""

_PHRASES = (
    ("dropped_no_size", "{} without a size dropped"),
    ("dropped_no_submit", "{} without a submit time dropped"),
    ("dropped_no_runtime", "{} without a runtime dropped"),
    ("kept_zero_runtime", "{} of runtime 0 kept"),
    ("kept_cancelled_or_failed", "{} cancelled or failed kept"),
    ("out_of_order", "{} submitted out of order, sorted"),
    ("size_from_allocated", "{} sized by the processors they got"),
    ("rounded_up_nodes", "{} rounded up to whole nodes"),
    ("no_walltime", "{} without a walltime, planned with their runtime"),
    ("depends_on_ignored", "{} with a dependency, ignored"),
    ("extra_columns", "{} with more than 18 fields"),
    ("coarse_clock", "{} submitted beyond 8.5e9 s, where times are exact to 2 us or worse (Workload.shift_to_zero)"),
    ("unknown_status", "{} of unknown status kept"),
    ("walltime_raised", "{} with a walltime below 1 µs, raised to that"),
    ("bad_lines", "lines skipped as bad: {}"),
)


class Report(Mapping[str, Any]):
    """Counts by name, and a sentence of them.

    Parameters
    ----------
    source
        What was read.
    counts
        At least ``jobs``; see `line` for the others. ``header`` holds what the log says of its machine, if it says so.

    Examples
    --------
    >>> report = Report("log.swf", {"jobs": 1234, "kept_zero_runtime": 2, "out_of_order": 0})
    >>> report["kept_zero_runtime"]
    2
    >>> print(report.line())
    1,234 jobs read from log.swf; 2 of runtime 0 kept
    """

    def __init__(self, source: str, counts: Mapping[str, Any]) -> None:
        self.source = source
        self._counts = dict(counts)

    def __getitem__(self, name: str) -> Any:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"Report({self.line()!r})"

    def line(self) -> str:
        """All counts above zero in one line, as the command line prints them."""
        jobs = self._counts["jobs"]
        head = f"{jobs:,} job{'' if jobs == 1 else 's'} read from {self.source}"
        counted = [phrase.format(f"{self._counts[k]:,}") for k, phrase in _PHRASES if self._counts.get(k)]
        read_from: dict[str, list[str]] = {}
        for column, source in self._counts.get("read_from", {}).items():
            read_from.setdefault(source, []).append(column)
        converted = [f"{', '.join(columns)} read from {source}" for source, columns in read_from.items()]
        return "; ".join([head, *counted, *converted])

    def to_dict(self) -> dict[str, Any]:
        """The counts, as ``summary.json`` holds them."""
        return dict(self._counts)


def coarse_clock(submit_s: pl.Series) -> dict[str, int]:
    """How many jobs have a clock that is too far on for seconds to tell microseconds apart; empty if none has.

    Parameters
    ----------
    submit_s
        When each was submitted, ascending.

    Examples
    --------
    >>> coarse_clock(pl.Series([0.0, 1.7e9])), coarse_clock(pl.Series([0.0, 1e11]))
    ({}, {'coarse_clock': 1})
    """
    if not len(submit_s) or submit_s[-1] < _COARSE_S:
        return {}
    return {"coarse_clock": int((submit_s >= _COARSE_S).sum())}
