"""Every error hetsched raises on purpose, and every warning it gives: one base of each, and its children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

__all__ = [
    "ConfigError",
    "DeviceWarning",
    "Fault",
    "HetschedError",
    "LiveError",
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

_MOST_SHOWN = 21
"""Faults that a message lists: twenty of a kind, and the one with the number of others."""


class HetschedError(Exception):
    """Base of all errors that hetsched raises on purpose."""


class TraceError(HetschedError):
    """A trace is invalid.

    Parameters
    ----------
    file
        Name of the file, or of whatever the trace came from.
    line
        Line of a text file (from 1) or row of a table (from 0), if known.
    field
        The field, such as ``"field 4 (run time)"``, or the column's name, if known.
    found
        The text that stood there.
    expected
        A description of what is right.
    counted
        Unit of `line`: ``"line"`` of a text file or ``"row"`` of a table.

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


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the path of a parameter, the value found there, and what was expected."""

    path: str
    found: str
    expected: str
    row: int | None = None

    def __str__(self) -> str:
        return f"{self.place}: found {self.found}, expected {self.expected}"

    @property
    def place(self) -> str:
        """Path and row, as a message shows them."""
        return self.path if self.row is None else f"{self.path}, row {self.row}"

    @property
    def triple(self) -> tuple[str, str, str]:
        """Place, found and expected: one of `ConfigError.faults`."""
        return self.place, self.found, self.expected

    def is_of(self, parameter: str) -> bool:
        """True if it is about `parameter` or something inside of it, such as ``parameter[0]`` or ``parameter: x``."""
        return self.path == parameter or self.path.startswith((f"{parameter}.", f"{parameter}[", f"{parameter}:"))

    def under(self, place: str, joint: str = ".") -> Fault:
        """The same fault inside of a place: ``order`` of ``policies[0]`` is ``policies[0].order``."""
        if not self.path or not place:
            return replace(self, path=place or self.path)
        is_item = joint == "." and self.path.startswith("[")
        return replace(self, path=f"{place}{'' if is_item else joint}{self.path}")

    def moved(self, old: str, new: str) -> Fault:
        """The same fault with the parameter `old` called `new`, and what is inside of it as well."""
        if not self.is_of(old):
            return self
        rest = self.path[len(old) :]
        return replace(self, path=f"{new}{rest}" if new else rest.removeprefix("."))

    def at(self, path: str) -> Fault:
        """The same fault at a whole other path, without a row."""
        return replace(self, path=path, row=None)

    def hinting(self, hint: str) -> Fault:
        """The same fault with a hint after what was expected."""
        return replace(self, expected=self.expected + hint)


class ConfigError(HetschedError):
    """A platform, table, policy or option is invalid.

    Parameters
    ----------
    faults
        All faults found, each as (parameter, value, what is allowed). The text shows the first of them.

    Examples
    --------
    >>> print(ConfigError([("nodes", "0", "at least 1")]))
    nodes: found 0, expected at least 1
    """

    def __init__(self, faults: Sequence[Fault | tuple[str, str, str]]) -> None:
        self.details = [fault if isinstance(fault, Fault) else Fault(*fault) for fault in faults]
        self.faults = [fault.triple for fault in self.details]
        lines = [str(fault) for fault in self.details[:_MOST_SHOWN]]
        left_out = len(self.details) - len(lines)
        more = [f"and {left_out:,} more fault{'' if left_out == 1 else 's'}"] if left_out else []
        super().__init__("\n".join(lines + more))

    def __reduce__(self) -> tuple[object, ...]:
        return ConfigError, (self.details,)

    def mapped(self, change: Callable[[Fault], Fault]) -> ConfigError:
        """The same error with every fault changed, such as moved to where its reader finds it."""
        return ConfigError([change(fault) for fault in self.details])


class SimulationError(HetschedError):
    """A run cannot go on, for example because a policy made an impossible decision."""


class LiveError(HetschedError):
    """A live run cannot go on as it stands: a notice that cannot be true, or a damaged journal."""


class OutputError(HetschedError):
    """A result cannot be written: the folder is not writable, the disk is full.

    Parameters
    ----------
    path
        The file or folder.
    reason
        Why it could not be written.

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


class PlatformWarning(RunWarning):
    """A platform was made of files that say more than a platform holds, or with assumed watts."""


class PolicyWarning(RunWarning):
    """A policy was made of a slurm.conf that says more than is simulated."""


class PowerWarning(RunWarning):
    """Jobs bring a measured draw that is far above their nodes' TDP."""


class ResultWarning(RunWarning):
    """A run's result says little: most of its jobs were killed, the machine was empty for long, or energy unpriced."""


class ReplayWarning(RunWarning):
    """A replay could not do all as the log says: jobs start later than they did, or have no observed start."""


class WorkWarning(RunWarning):
    """Jobs were killed before their work was done, or runs that are compared did not do the same work.

    Energy not drawn for lost work is not energy saved.
    """


def __dir__() -> list[str]:
    return sorted(__all__)
