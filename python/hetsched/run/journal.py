"""The finished runs of a sweep on disk: a line a run, each safe before the next is counted as done."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from hetsched.checks import one_line, reason_of
from hetsched.errors import OutputError, TraceError
from hetsched.run.spec import Plan

__all__ = ["FILE", "Journal"]

FILE = "sweep.jsonl"
"""The journal's name in its folder."""

_START = b'{"key":'
_EXPECTED = "a line written by sweep, which is a finished run; take the line out to run it again"


class Journal:
    """Summaries by key, from a folder and into it; locked while it is open.

    Parameters
    ----------
    folder
        Made if it is not there.

    Raises
    ------
    OutputError
        If it cannot be read or written to, or another sweep is writing to it.
    TraceError
        If a line is none that `add` wrote. A last line that was cut off, which has no line's end, is dropped: its run
        counts as not done.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder)) as journal:
    ...         journal.add(Plan("may", "old", "easy", 0, key="1f"), {"energy_j": 5.0})
    ...     with Journal(Path(folder)) as journal:
    ...         journal.summaries
    {'1f': {'energy_j': 5.0}}
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.summaries: dict[str, dict[str, Any]] = {}
        self._line_of: dict[str, int] = {}
        self._length = 0
        self._file = _opened(self._path)
        try:
            self._lock()
            _keep_names(folder)
            self._read()
        except OSError as error:
            self._file.close()
            raise OutputError(str(self._path), reason_of(error)) from None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:  # noqa: PYI034 -- typing has no Self before Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, plan: Plan, summary: Mapping[str, Any]) -> None:
        """Write a finished run; it is on disk when this returns.

        Parameters
        ----------
        plan
            The run; its key is what it is found by, its names are for people.
        summary
            What came of it.

        Raises
        ------
        OutputError
            If it cannot be written whole; no part of it is left behind then.
        """
        names = {"workload": plan.workload, "platform": plan.platform, "policy": plan.policy, "seed": plan.seed}
        line = (json.dumps({"key": plan.key, **names, "summary": dict(summary)}) + "\n").encode()
        try:
            self._append(line)
        except OSError as error:
            raise OutputError(str(self._path), f"{reason_of(error)}{self._taken_back()}") from None
        self._length += len(line)
        self.summaries[plan.key] = dict(summary)

    def check(self, keys: Iterable[str], names: Collection[str]) -> None:
        """See that what was read is what a run of this sweep would have given.

        Parameters
        ----------
        keys
            The runs that are wanted of it.
        names
            What a summary holds.

        Raises
        ------
        TraceError
            At the first line whose summary lacks something, holds something else, or no number.
        """
        for key in keys:
            if key not in self._line_of:
                continue
            summary = self.summaries[key]
            odd = {**dict.fromkeys(names, ""), **summary}
            odd = {name: value for name, value in odd.items() if name not in names or not _is_metric(value)}
            if odd:
                name, value = next(iter(odd.items()))
                found = f"`{name}` {one_line(json.dumps(value), limit=40)}" if name in summary else f"no `{name}`"
                expected = f"a finished run's {len(names)} numbers; take the line out to run it again"
                raise TraceError(
                    file=str(self._path), line=self._line_of[key], field="summary", found=found, expected=expected
                )

    def _append(self, line: bytes) -> None:
        """Write all of it through to the disk, or raise the system's reason for less."""
        rest = memoryview(line)
        while rest:
            # A full disk takes a part and says so by the count only; the write after it is refused.
            taken = self._file.write(rest)
            if not taken:
                raise OSError(errno.EIO, "nothing is taken any more")
            rest = rest[taken:]
        os.fsync(self._file.fileno())

    def _taken_back(self) -> str:
        """Cut off what was written of a line, so that the next begins where it did; gives what to say if that fails."""
        try:
            self._file.truncate(self._length)
            os.fsync(self._file.fileno())
        except OSError:
            self._file.close()
            return "; its last line is cut off, and will be dropped"
        return ""

    def _lock(self) -> None:
        # The system lets go of it when the process ends, however that happens.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(str(self._path), "another sweep is writing to it") from None
        except OSError as error:
            raise OutputError(str(self._path), f"cannot be locked: {reason_of(error)}") from None

    def _read(self) -> None:
        self._file.seek(0)
        lines = self._file.read().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            key, summary = _run_in(line)
            if key:
                self.summaries[key] = summary
                self._line_of[key] = number
                self._length += len(line)
            elif number == len(lines) and _is_torn(line):
                self._file.truncate(self._length)
                os.fsync(self._file.fileno())
            else:
                found = f"`{one_line(line.decode(errors='replace').strip(), limit=60)}`"
                raise TraceError(file=str(self._path), line=number, found=found, expected=_EXPECTED)


def _opened(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b", buffering=0)
    except FileExistsError:
        raise OutputError(str(path.parent), "not a folder") from None
    except OSError as error:
        raise OutputError(str(path), reason_of(error)) from None


def _keep_names(folder: Path) -> None:
    """See to it that a file's name lasts as its lines do."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _run_in(line: bytes) -> tuple[str, dict[str, Any]]:
    """The run that a line holds; no key if it holds none."""
    try:
        content = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        content = None
    if isinstance(content, dict) and isinstance(content.get("key"), str) and isinstance(content.get("summary"), dict):
        return content["key"], content["summary"]
    return "", {}


def _is_torn(line: bytes) -> bool:
    """Whether a last line may be the beginning of one that was being written; zeros are what some disks leave."""
    start = line[: len(_START)]
    return not line.endswith(b"\n") and (start == _START[: len(start)] or not line.strip(b"\0"))


def _is_metric(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
