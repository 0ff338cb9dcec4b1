"""A job table in numbers, and in words what reading it kept, changed, dropped and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.naming import named_in
from hetsched.units import floats

_COARSE_S = 2.0**33
"""From here on, 272 years, neighbouring 64-bit floats are two microseconds apart."""

_PHRASES = (
    ("dropped_no_size", "{} without a size dropped"),
    ("dropped_no_submit", "{} without a submit time dropped"),
    ("dropped_no_runtime", "{} without a runtime dropped"),
    ("dropped_pending", "{} still waiting at the log's end dropped"),
    ("dropped_never_ran", "{} cancelled before they started dropped"),
    ("never_ran", "{} cancelled before they started kept"),
    ("cut_by_end", "{} still running at the log's end kept with the time they had run"),
    ("kept_zero_runtime", "{} of runtime 0 kept"),
    ("kept_cancelled_or_failed", "{} cancelled or failed kept"),
    ("out_of_order", "{} submitted out of order, sorted"),
    ("size_from_allocated", "{} without a requested size, given that of the log's allocation"),
    ("rounded_up_nodes", "{} rounded up to whole nodes"),
    ("no_walltime", "{} without a walltime, planned with their runtime"),
    ("depends_on", "{} waiting for another job"),
    ("depends_on_cleared", "{} waiting for a job that is not there, made to wait for none"),
    ("comm_ignored", "{} whose profiles communicate, which is left out"),
    ("extra_columns", "{} with more than 18 fields"),
    ("coarse_clock", "{} submitted beyond 8.5e9 s, where times are exact to 2 us or worse (Workload.shift_to_zero)"),
    ("unknown_status", "{} of unknown status kept"),
    ("unknown_states", "{} of unknown state kept"),
    ("walltime_raised", "{} with a walltime below 1 µs, raised to that"),
    ("steps", "{} rows of steps"),
    ("other_records", "{} records of other kinds"),
    ("array_parents", "{} arrays, whose tasks are the jobs"),
    ("depends_cleared", "{} with dependencies that are not simulated"),
    ("merged", "{} rows that are attempts of others merged"),
    ("requeued", "{} of several attempts"),
    ("resized", "{} resized while they ran"),
    ("dropped_duplicate", "{} rows replaced by later ones of the same submission"),
    ("dropped_revoked", "{} run by another cluster of the federation dropped"),
    ("expanded", "{} more by lists of tasks"),
    ("array_cut", "{} lists of tasks that Slurm cut"),
    ("array_tasks", "{} tasks of arrays"),
    ("het_components", "{} components of heterogeneous jobs, which may start apart from each other"),
    ("reused_ids", "{} given a new number, as another has theirs"),
    ("submit_after_start", "{} submitted after their start, taken as submitted then"),
    ("inconsistent_times", "{} whose times contradict their length, which is kept"),
    ("ambiguous_times", "{} rows with local times that may be meant in two ways"),
    ("rounded_up_gpus", "{} whose GPUs are rounded up in each node"),
    ("all_memory", "{} asking for all memory of their nodes"),
    ("nodes_disagree", "{} whose list of nodes is not as long as their size"),
    ("constraint_loosened", "{} with constraints on nodes that are all alike, loosened"),
    ("constraint_unread", "{} with constraints that are not read"),
    ("repaired_separators", "{} rows with separators in a name, repaired"),
    ("joined_lines", "{} lines joined to the row before them"),
    ("cut_last_line", "the last line is cut, and left out"),
    ("bad_lines", "lines skipped as bad: {}"),
)


@named_in("hetsched.workload")
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
        counted = self.phrases().values()
        read_from: dict[str, list[str]] = {}
        for column, source in self._counts.get("read_from", {}).items():
            read_from.setdefault(source, []).append(column)
        converted = [f"{', '.join(columns)} read from {source}" for source, columns in read_from.items()]
        return "; ".join([head, *counted, *converted, *self._unread()])

    def phrases(self) -> dict[str, str]:
        """Each count above zero in words, by its name.

        Examples
        --------
        >>> Report("log.swf", {"jobs": 9, "dropped_no_size": 2, "bad_lines": 0}).phrases()
        {'dropped_no_size': '2 without a size dropped'}
        """
        return {name: phrase.format(f"{self._counts[name]:,}") for name, phrase in _PHRASES if self._counts.get(name)}

    def _unread(self) -> list[str]:
        """Advice to read a column of states that was not read."""
        name = self._counts.get("unread_states")
        line_of_states = f"column {name} says that jobs did not complete, and was not read: columns trace_status={name}"
        return [line_of_states] if name else []

    def to_dict(self) -> dict[str, Any]:
        """The counts, as ``summary.json`` holds them."""
        return dict(self._counts)


class Log(Protocol):
    """The parts of a workload that its clock and its files are made of."""

    @property
    def report(self) -> Report:
        """Facts that reading or making it has found."""
        ...

    @property
    def history(self) -> tuple[str, ...]:
        """Steps by which it came to be."""
        ...

    def to_polars(self) -> pl.DataFrame:
        """The jobs."""
        ...


def coarse_clock(submit_s: pl.Series) -> dict[str, int]:
    """Count of jobs whose clock is too far on for seconds to distinguish microseconds; empty if there are none."""
    if not len(submit_s) or submit_s[-1] < _COARSE_S:
        return {}
    return {"coarse_clock": int((submit_s >= _COARSE_S).sum())}


def described(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a quantity of the job table; see `Workload.describe`."""
    submit = frame["submit_s"]
    names = [name for name in frame.columns if name in ("runtime_s", "walltime_s", "node_count")]
    quantities = {name: frame[name] for name in names}
    quantities["area_node_s"] = frame["node_count"] * pl.Series(_nominal_s(frame))
    quantities["interarrival_s"] = submit.diff()
    if "power_w" in frame.columns:
        quantities["power_w"] = frame["power_w"].filter(frame["power_w"] > 0)
    quantities["span_s"] = (submit.tail(1) - submit.first()) if len(submit) else submit
    return pl.DataFrame([_row(name, values) for name, values in quantities.items()], schema=_SCHEMA, orient="row")


_NUMBERS = ("mean", "p5", "median", "p95", "max")
_SCHEMA = {"quantity": pl.String(), "count": pl.Int64(), **dict.fromkeys(_NUMBERS, pl.Float64())}


def _row(name: str, series: pl.Series) -> tuple[str | int | float | None, ...]:
    values = series.drop_nulls().cast(pl.Float64).to_numpy()
    if not len(values):
        return name, 0, *[None] * len(_NUMBERS)
    numbers = (values.mean(), *np.quantile(values, [0.05, 0.5, 0.95]), values.max())
    return name, len(values), *map(float, numbers)


def offered_load(frame: pl.DataFrame, nodes: int, slots: npt.NDArray[np.int64] | None) -> float | None:
    """Work submitted a second over what can be done (`slots`: of each node, where jobs share nodes)."""
    if not len(frame):
        return 0.0
    submit = frame["submit_s"].to_numpy()
    span_s = float(submit.max() - submit.min())
    if span_s <= 0:
        return None
    # Summed by numpy: its order of addition does not depend on the number of threads.
    area = frame["node_count"].to_numpy() * _nominal_s(frame)
    if slots is None:
        return float(area.sum() / (nodes * span_s))
    wanted = floats(frame["slots"], slots.mean()) if "slots" in frame.columns else float(slots.mean())
    return float((area * wanted).sum() / (slots.sum() * span_s))


def _nominal_s(frame: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Run length of each job on nominal nodes, communication included."""
    runtime_s = frame["runtime_s"].to_numpy()
    return runtime_s + floats(frame["comm_s"]) if "comm_s" in frame.columns else runtime_s
