"""Lines of a journal: notices and decisions of a controller, on disk before they are carried out.

``DIR/journal.jsonl`` has a head in its first line and then a line an instant, each after its CRC-32; ``DIR/start.zip``
is what the run was made of. A line is written and synchronised before anything in it is carried out: a last line that
is torn has never happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
from typing_extensions import Self

from hetsched import _core
from hetsched.checks import reason_of
from hetsched.errors import ConfigError, LiveError, OutputError
from hetsched.features.feature import Setting
from hetsched.files import UNREADABLE
from hetsched.live.decisions import Decision, decision_of
from hetsched.live.notices import Notice, notice_of
from hetsched.live.snapshot import Snapshot
from hetsched.run.session_file import Saved, write_saved

LINES, START = "journal.jsonl", "start.zip"
FORMAT = 1
_CRC_DIGITS = 8


@dataclass(frozen=True)
class Instant:
    """A line of a journal: notices of an instant and decisions upon them, or jobs that were added before the next."""

    t_us: int
    notices: tuple[Notice, ...] = ()
    decisions: tuple[Decision, ...] = ()
    real: str | None = None
    """The time of the wall clock, for people."""
    jobs: pl.DataFrame | None = None
    snapshot: Snapshot | None = None
    """The state from which the controller was rebuilt."""
    policy: Mapping[str, Any] | None = None
    """The policy that decides from there on, if it is another one."""
    state: bytes | None = None
    """Memory of a policy, with which it goes on from there."""
    took_us: int | None = None
    """The time that the decisions took, where a host has measured it."""
    broken_off: int = 0
    """Steps that a host has broken off since the line before, as they took too long."""

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        own: dict[str, Any] = {"t_us": self.t_us}
        if self.real is not None:
            own["real"] = self.real
        if self.took_us is not None:
            own["took_us"] = self.took_us
        if self.broken_off:
            own["broken_off"] = self.broken_off
        if self.jobs is not None:
            return own | {"jobs": self.jobs.to_dict(as_series=False), "types": _types(self.jobs)}
        if self.snapshot is not None:
            after: dict[str, Any] = {} if self.policy is None else {"policy": dict(self.policy)}
            if self.state is not None:
                after["state"] = self.state.decode()
            return own | {"snapshot": self.snapshot.to_json(), **after}
        told = [notice.to_json() for notice in self.notices]
        return own | {"notices": told, "decisions": [decision.to_json() for decision in self.decisions]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Instant:
        """The line of a JSON object; raises LiveError if it is none."""
        try:
            t_us, real = values["t_us"], values.get("real")
            if "jobs" in values:
                types = {name: _TYPES[kind] for name, kind in values["types"].items()}
                return cls(t_us, real=real, jobs=pl.DataFrame(values["jobs"], schema=types))
            if "snapshot" in values:
                snapshot = Snapshot.from_json(values["snapshot"])
                state = None if "state" not in values else values["state"].encode()
                return cls(t_us, real=real, snapshot=snapshot, policy=values.get("policy"), state=state)
            told, decided = values["notices"], values["decisions"]
        except (KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
            raise LiveError(f"found no instant ({reason_of(error)}), expected t_us, notices and decisions") from None
        notices, decisions = tuple(map(notice_of, told)), tuple(map(decision_of, decided))
        return cls(
            t_us, notices, decisions, real, took_us=values.get("took_us"), broken_off=values.get("broken_off", 0)
        )


_TYPES: dict[str, Any] = {
    str(kind): kind
    for scalar in (
        pl.Int64,
        pl.Int32,
        pl.Int16,
        pl.Int8,
        pl.UInt32,
        pl.UInt8,
        pl.Float64,
        pl.Float32,
        pl.String,
        pl.Boolean,
    )
    for kind in (scalar, pl.List(scalar))
} | {"Null": pl.Null}


def _types(jobs: pl.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in jobs.schema.items()}


class JournalWriter:
    """A journal under way: a line is on the disk when `append` returns.

    Parameters
    ----------
    folder
        Where it is; made if it is not there.
    setting
        What the run is made of.
    more
        What the host adds to the head, such as its boot and the origin of its clock.
    durable
        Whether each line is synchronised with the disk; without, only at the end. Then only its user may read it, as a
        host's head holds the environments of commands.

    Raises
    ------
    OutputError
        If there is a journal already, or it cannot be written.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        setting: Setting,
        *,
        more: Mapping[str, Any] | None = None,
        durable: bool = True,
    ) -> None:
        self._folder, self._durable = Path(folder), durable
        path = self._folder / LINES
        if path.exists():
            raise OutputError(str(path), "there is a journal already")
        write_saved(self._folder / START, Saved(setting, None, ()))
        self._file = _opened(path, 0o600 if durable else 0o666)
        if durable:
            with _writing(self._folder / START):
                _sync(self._folder / START)
        self._write({"format": FORMAT, **_head(self._folder, setting), **(more or {})}, durable)
        if durable:
            with _writing(self._folder):
                _sync(self._folder)

    @classmethod
    def resumed(cls, folder: str | os.PathLike[str]) -> JournalWriter:
        """The writer of a journal that goes on; a torn last line is cut off. Raises as `read_journal`."""
        made = cls.__new__(cls)
        made._folder, made._durable = Path(folder), True
        path = made._folder / LINES
        _, length = read_lines(path)
        made._file = _opened(path, 0o600)
        with _writing(path):
            os.ftruncate(made._file, length)
            os.fsync(made._file)
        return made

    def append(self, instant: Instant) -> None:
        """Write a line and synchronise it with the disk; raises OutputError, and leaves nothing of it, if it cannot."""
        self._write(instant.to_json(), self._durable)

    def _write(self, values: Mapping[str, Any], durable: bool) -> None:
        with _writing(self._folder / LINES):
            before = os.fstat(self._file).st_size
            try:
                _write_all(self._file, _line(values))
                if durable:
                    os.fdatasync(self._file)
            except OSError:
                os.ftruncate(self._file, before)
                raise

    def close(self) -> None:
        """Synchronise and close it."""
        with _writing(self._folder / LINES):
            os.fsync(self._file)
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Errors of writing as OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(str(path), reason_of(error)) from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Errors of reading as ConfigError."""
    try:
        yield
    except UNREADABLE as error:
        raise ConfigError([(str(path), reason_of(error), "a journal, as `simulate(journal=...)` writes it")]) from None


def _opened(path: Path, mode: int) -> int:
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _line(values: Mapping[str, Any]) -> bytes:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def file_sha256(path: Path) -> str:
    """Sha256 of a file's bytes."""
    with _reading(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _head(folder: Path, setting: Setting) -> dict[str, Any]:
    return {
        "version": _core.__version__,
        "seed": setting.options.seed,
        "policy": setting.policy.to_dict(),
        "jobs": len(setting.workload),
        "jobs_sha256": setting.as_submitted.sha256,
        "nodes": setting.platform.nodes,
        "start_sha256": file_sha256(folder / START),
    }


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines of a journal that have happened, and their length in bytes."""
    with _reading(path):
        data = path.read_bytes()
    # What follows the last line end was torn while it was written.
    whole = data[: data.rfind(b"\n") + 1]
    lines = [_checked(path, number, row) for number, row in enumerate(whole.split(b"\n")[:-1], start=1)]
    if not lines:
        raise LiveError(f"{path}, line 1: found no head, expected a journal of format {FORMAT}")
    return lines, len(whole)


def _checked(path: Path, number: int, row: bytes) -> dict[str, Any]:
    """A line, if its CRC-32 is right."""
    crc, text = row[: _CRC_DIGITS + 1], row[_CRC_DIGITS + 1 :]
    if crc != b"%08x " % zlib.crc32(text):
        raise LiveError(f"{path}, line {number}: its CRC-32 is not that of its text: it was changed or damaged")
    values = json.loads(text)
    if not isinstance(values, dict):
        raise LiveError(f"{path}, line {number}: found no object")
    return values
