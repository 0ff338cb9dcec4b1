"""The folder of a live run: held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from hetsched.checks import reason_of, shown
from hetsched.errors import ConfigError, OutputError


class Held:
    """A folder that no other process works in; the system lets go of it when this one ends, however that is.

    Raises
    ------
    ConfigError
        If another `worker` has it, of the folder's `option`.
    OutputError
        If the folder cannot be written, or its file system has no locks.
    """

    def __init__(self, folder: str, option: str = "--out", worker: str = "hetsched run") -> None:
        path = Path(folder) / "lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(str(path), reason_of(error)) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.pread(self._handle, 100, 0).decode(errors="replace").strip()
            os.close(self._handle)
            by = f" by process {other}" if other.isdecimal() else ""
            expected = f"a folder that no other {worker} works in"
            raise ConfigError([(option, f"{shown(folder)}, in use{by}", expected)]) from None
        except OSError as error:
            os.close(self._handle)
            raise OutputError(str(path), f"no lock can be had there: {reason_of(error)}") from None
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(self._handle)
            raise OutputError(str(path), reason_of(error)) from None

    def close(self) -> None:
        """Let go of it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
