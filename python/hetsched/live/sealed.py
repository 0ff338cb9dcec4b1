"""Records in files with a checksum in front: a record is whole, or it is not there."""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress

# As in hetsched itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOM = 4096
"""Bytes that are taken on the disk for a record before they are needed."""

_DIGITS = 8


def sealed(record: dict[str, Any]) -> bytes:
    """A line with a record and its CRC-32."""
    text = json.dumps(record, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):0{_DIGITS}x} {text}\n".encode()


def unsealed(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if it is torn, damaged, or no object."""
    text = line[_DIGITS + 1 :].rstrip(b"\n")
    if line[: _DIGITS + 1] != f"{zlib.crc32(text):0{_DIGITS}x} ".encode():
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def read_sealed(path: str) -> dict[str, Any] | None:
    """The record in a file; None if there is none, or no whole one."""
    try:
        with open(path, "rb") as file:
            return unsealed(file.readline())
    except FileNotFoundError:
        return None


def write_new(path: str, record: dict[str, Any]) -> bool:
    """Make a file with a record, on the disk before it has its name; False if there is one of this name.

    Of several processes that try at once one succeeds, and none ever sees a part of the record. The name is on the disk
    after `sync_folder`.
    """
    own = f"{path}.{os.getpid()}"
    try:
        _write(own, sealed(record))
        os.link(own, path)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(own)
    return True


def write_json(path: str, value: dict[str, Any], *, mode: int = 0o644) -> None:
    """Put a JSON object in the place of a file, whole and on the disk; it needs no checksum."""
    own = f"{path}.{os.getpid()}"
    try:
        _write(own, json.dumps(value).encode(), mode)
        os.replace(own, path)
    except OSError:
        with suppress(OSError):
            os.unlink(own)
        raise
    sync_folder(os.path.dirname(path))


def reserve(path: str) -> None:
    """Make a file of `ROOM` bytes on the disk, into which a record can be written though the disk is full by then."""
    try:
        _write(path, bytes(ROOM))
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        raise


def write_into(path: str, record: dict[str, Any]) -> None:
    """Write a record into a file that was reserved."""
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(handle, sealed(record)[:ROOM], 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: str) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: str, data: bytes, mode: int = 0o644) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)
