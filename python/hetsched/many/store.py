"""Finished tasks on disk: a line each, safe before the next is counted as done; and what code computed them.

Lines of JSON rather than a database: any tool can read them, and they hold on the shared file systems of clusters,
where SQLite's write-ahead log does not.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

from hetsched import __version__
from hetsched.checks import one_line, reason_of
from hetsched.errors import OutputError, TraceError

FILE = "sweep.jsonl"
"""A sweep's in its folder."""

_START = b'{"key":'
_EXPECTED = "a line written by {}, which is a finished run; take the line out to run it again"


class Named(Protocol):
    """Something that can be run, by its key."""

    @property
    def key(self) -> str:
        """Key that differs from that of every task with another answer."""

    @property
    def names(self) -> Mapping[str, Any]:
        """Names for people to read, for the store's lines."""


class Store:
    """Answers by key, from a folder and into it; locked while it is open.

    A last line that was cut off, which has no line's end, is dropped: its task counts as not done. Any other line that
    `add` did not write is a TraceError.
    """

    def __init__(self, folder: Path, file: str = FILE, *, field: str = "summary", by: str = "sweep") -> None:
        self._path = folder / file
        self._field = field
        self._by = by
        self._line_of: dict[str, int] = {}
        self._length = 0
        self._file = _opened(self._path)
        self.answers = _Answers(self._file, field)
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

    def __enter__(self) -> Store:  # noqa: PYI034 -- typing has no Self before Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, task: Named, answer: Any) -> None:
        """Write what a task answers; it is on disk when this returns, or no part of it is."""
        line = (json.dumps({"key": task.key, **task.names, self._field: answer}) + "\n").encode()
        try:
            self._append(line)
        except OSError as error:
            raise OutputError(str(self._path), f"{reason_of(error)}{self._taken_back()}") from None
        self._note(task.key, len(line))

    def check(self, keys: Iterable[str], names: Collection[str], optional: Collection[str] = ()) -> None:
        """See that what was read of these keys has just these numbers; a TraceError at the first line that has not.

        It may have `optional` ones besides them.
        """
        for key in keys:
            if key not in self._line_of:
                continue
            summary = self.answers[key]
            odd = {**dict.fromkeys(names, ""), **summary}
            odd = {
                name: value for name, value in odd.items() if name not in (*names, *optional) or not _is_metric(value)
            }
            if odd:
                name, value = next(iter(odd.items()))
                found = f"`{name}` {one_line(json.dumps(value), limit=40)}" if name in summary else f"no `{name}`"
                expected = f"a finished run's {len(names)} numbers; take the line out to run it again"
                raise TraceError(
                    file=str(self._path), line=self._line_of[key], field=self._field, found=found, expected=expected
                )

    def malformed(self, key: str) -> TraceError:
        """The error that the line of this key holds no answer of a run."""
        found = f"`{one_line(json.dumps(self.answers[key]), limit=60)}`"
        line = self._line_of.get(key)
        return TraceError(
            file=str(self._path), line=line, field=self._field, found=found, expected=_EXPECTED.format(self._by)
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
            raise OutputError(str(self._path), f"another {self._by} is writing to it") from None
        except OSError as error:
            raise OutputError(str(self._path), f"cannot be locked: {reason_of(error)}") from None

    def _read(self) -> None:
        self._file.seek(0)
        lines = self._file.read().splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            key = self._key_in(line)
            if key:
                self._line_of[key] = number
                self._note(key, len(line))
            elif number == len(lines) and _is_torn(line):
                self._file.truncate(self._length)
                os.fsync(self._file.fileno())
            else:
                found = f"`{one_line(line.decode(errors='replace').strip(), limit=60)}`"
                raise TraceError(file=str(self._path), line=number, found=found, expected=_EXPECTED.format(self._by))

    def _note(self, key: str, length: int) -> None:
        """Know that the next line is that of a key."""
        self.answers.places[key] = (self._length, length)
        self._length += length

    def _key_in(self, line: bytes) -> str:
        """The key of a line; nothing if it is invalid."""
        try:
            content = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            content = None
        if not isinstance(content, dict) or not isinstance(content.get("key"), str):
            return ""
        return content["key"] if isinstance(content.get(self._field), dict | list) else ""


class _Answers(Mapping[str, Any]):
    """Answers by key, read where they stand: what ten thousand runs have answered stays on disk."""

    def __init__(self, file: BinaryIO, field: str) -> None:
        self.places: dict[str, tuple[int, int]] = {}
        self._file, self._field = file, field

    def __getitem__(self, key: str) -> Any:
        start, length = self.places[key]
        return json.loads(os.pread(self._file.fileno(), length, start))[self._field]

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


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


def _is_torn(line: bytes) -> bool:
    """True if a last line may be the beginning of one that was being written; zeros are what some disks leave."""
    start = line[: len(_START)]
    return not line.endswith(b"\n") and (start == _START[: len(start)] or not line.strip(b"\0"))


def _is_metric(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


@functools.cache
def code_sha256() -> str:
    """Sha256 of the compiled module that runs simulate with: built again, it may run them in another way."""
    # Only its bytes are wanted, nothing of what it does.
    module = find_spec("hetsched._core")
    assert module is not None
    assert module.origin is not None
    return hashlib.sha256(Path(module.origin).read_bytes()).hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """Versions of everything that computes an answer: of the engine, its build, and the libraries."""
    found = []
    for library in ("numpy", "polars", "scipy", "scikit-learn", "lightgbm"):
        with suppress(PackageNotFoundError):
            found.append(f"{library} {version(library)}")
    return (__version__, code_sha256(), *found)
