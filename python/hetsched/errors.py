"""Every error hetsched raises on purpose, and every warning it gives: one base of each, and its children."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ConfigError",
    "DeviceWarning",
    "HetschedError",
    "LoadWarning",
    "OutputError",
    "PowerWarning",
    "ReplayWarning",
    "ResultWarning",
    "RunWarning",
    "SimulationError",
    "TraceError",
    "WorkWarning",
]


_MOST_TOLD = 21
"""Faults that a message lists: twenty of a kind, and the one that tells how many more there are."""


class HetschedError(Exception):
    """Base of all errors that hetsched raises on purpose."""


class TraceError(HetschedError):
    """A trace says something that cannot be.

    Parameters
    ----------
    file
        Name of the file, or of whatever the trace came from.
    line
        Line of a text file (from 1) or row of a table (from 0), if known.
    field
        The field, such as ``"field 4 (run time)"``, or the column's name, if known.
    found
        What stood there.
    expected
        What would have been right.
    counted
        What `line` counts: ``"line"`` of a text file or ``"row"`` of a table.

    Examples
    --------
    >>> print(TraceError(file="a.swf", line=7, field="field 4 (run time)", found="`12:30`", expected="whole seconds"))
    a.swf, line 7, field 4 (run time): found `12:30`, expected whole seconds
    """

    def __init__(
        self,
        *,
        file: str,
        found: str,
        expected: str,
        line: int | None = None,
        field: str | None = None,
        counted: str = "line",
    ) -> None:
        self.file = file
        self.line = line
        self.field = field
        self.found = found
        self.expected = expected
        self.counted = counted
        place = [file, *([] if line is None else [f"{counted} {line}"]), *([] if field is None else [field])]
        super().__init__(f"{', '.join(place)}: found {found}, expected {expected}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_trace_error, (self.__dict__.copy(),)


def _rebuild_trace_error(parts: dict[str, object]) -> TraceError:
    return TraceError(**parts)  # type: ignore[arg-type]


class ConfigError(HetschedError):
    """A platform, table, policy or option says something that cannot be.

    Parameters
    ----------
    faults
        All faults found, each as (parameter, value, what is allowed). The text tells the first of them.

    Examples
    --------
    >>> print(ConfigError([("nodes", "0", "at least 1")]))
    nodes: found 0, expected at least 1
    """

    def __init__(self, faults: Sequence[tuple[str, str, str]]) -> None:
        self.faults = list(faults)
        told = self.faults[:_MOST_TOLD]
        lines = [f"{parameter}: found {value}, expected {expected}" for parameter, value, expected in told]
        untold = len(self.faults) - len(told)
        more = [f"and {untold:,} more fault{'' if untold == 1 else 's'}"] if untold else []
        super().__init__("\n".join(lines + more))

    def __reduce__(self) -> tuple[object, ...]:
        return ConfigError, (self.faults,)


class SimulationError(HetschedError):
    """A run cannot go on, for example because a policy decided something that cannot be carried out."""


class OutputError(HetschedError):
    """A result cannot be written: the folder is not writable, the disk is full.

    Parameters
    ----------
    path
        What was to be written.
    reason
        Why it could not be.

    Examples
    --------
    >>> print(OutputError("out/jobs.parquet", "No space left on device"))
    out/jobs.parquet: cannot be written: No space left on device
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: cannot be written: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return OutputError, (self.path, self.reason)


class RunWarning(UserWarning):
    """Base of all warnings about a run: something to know before its numbers are trusted."""


class LoadWarning(RunWarning):
    """More work is submitted than the platform can serve, so the queue grows as long as jobs arrive."""


class DeviceWarning(RunWarning):
    """Jobs that need GPUs ran on nodes that have none, or that do not say whether they have any."""


class PowerWarning(RunWarning):
    """Jobs bring a measured draw that is far above what a node is built for."""


class ResultWarning(RunWarning):
    """What came of a run says little: most of its jobs were killed, or the machine was empty for long."""


class ReplayWarning(RunWarning):
    """A replay could not do all as the log says: jobs start later than they did, or have no observed start."""


class WorkWarning(RunWarning):
    """Jobs were killed before their work was done, or runs that are compared did not do the same work.

    The energy that was not drawn for it is none that was saved.
    """
