"""Points of a run at which its processes can be made to fail, for tests: `HETSCHED_FAULT` in the environment.

``HETSCHED_FAULT=run.launched`` kills the process that comes to this point by SIGKILL, ``ENOSPC@journal`` makes the
write there fail, and ``LiveError@run.step`` the step there, as a notice that cannot be true does. Behind a colon a file
may stand: the fault happens once, and makes the file. Several have commas between.
"""

from __future__ import annotations

import errno
import os
import signal

VARIABLE = "HETSCHED_FAULT"
"""The variable of the environment that names faults."""

POINTS = (
    *("journal.torn", "journal.written", "run.decided", "run.before_launch", "run.launched"),
    *("shim.begin", "shim.claimed", "shim.forked", "shim.started", "shim.running", "shim.ended", "shim.recorded"),
)
"""Every point of an executor and its shims, in the order in which a job passes them."""

BRIDGE_POINTS = ("gate.absent", "gate.renewed", "release.decided", "release.sent")
"""Points of a bridge: before its gate is made, after it was renewed, and before and after jobs are let go."""


def point(name: str) -> None:
    """Die here if that is asked for, or raise the error of a write that is to fail."""
    asked = os.environ.get(VARIABLE)
    if asked:
        for fault in asked.split(","):
            _fail(fault, name)


def is_armed(name: str) -> bool:
    """True if a point will kill: for what has to be half done by then."""
    faults = os.environ.get(VARIABLE, "").split(",")
    return any(fault.partition(":")[0] == name and not os.path.exists(fault.partition(":")[2]) for fault in faults)


def _fail(fault: str, name: str) -> None:
    what, _, once = fault.partition(":")
    kind, at, place = what.rpartition("@")
    if place != name or (once and not _is_first(once)):
        return
    if kind == "LiveError":
        from hetsched.errors import LiveError  # noqa: PLC0415 -- no shim comes here, and it would have to load it

        raise LiveError(f"the step at {name} fails, as {VARIABLE} has it")
    if at:
        number = getattr(errno, kind)
        raise OSError(number, os.strerror(number), name)
    os.kill(os.getpid(), signal.SIGKILL)


def _is_first(file: str) -> bool:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    except FileExistsError:
        return False
    return True
