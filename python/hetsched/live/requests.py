"""Requests to an executor from another shell: files in the run's folder, which it heeds and takes away."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from hetsched.checks import reason_of
from hetsched.errors import OutputError

FOLDER = "asked"
"""The folder of requests in that of a run."""

WAKING = signal.SIGURG
"""The signal that has an executor look at them; a process that does not know of it goes on as if there were none."""

_CANCEL = "cancel-"


def executor_of(folder: str) -> int | None:
    """The process that works on the run in a folder; None if none does."""
    try:
        handle = os.open(Path(folder) / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(handle, 100, 0).decode(errors="replace").strip()
        return int(text) if text.isdecimal() else None
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def ask_to_cancel(folder: str, jobs: Iterable[int]) -> None:
    """Ask that jobs be cancelled, now or when the run goes on; raises OutputError."""
    asked = Path(folder) / FOLDER
    try:
        asked.mkdir(exist_ok=True)
        for job in jobs:
            (asked / f"{_CANCEL}{job}").touch()
        if (pid := executor_of(folder)) is not None:
            os.kill(pid, WAKING)
    except ProcessLookupError:
        # It has ended meanwhile; the next one finds the files.
        return
    except OSError as error:
        raise OutputError(str(asked), reason_of(error)) from None


def asked_to_cancel(folder: str) -> list[int]:
    """Jobs that somebody wants to be cancelled."""
    try:
        names = [path.name for path in (Path(folder) / FOLDER).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name[len(_CANCEL) :]) for name in names if name.removeprefix(_CANCEL).isdecimal())


def forget_cancel(folder: str, job: int) -> None:
    """Take a request away."""
    (Path(folder) / FOLDER / f"{_CANCEL}{job}").unlink(missing_ok=True)
