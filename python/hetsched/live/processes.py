"""Processes of this machine: which of them are whose, and signals that never reach another one by mistake.

A number of a process is used again once it is gone. So a process is known by its number and the tick it started at, a
`pidfd` is opened first and compared afterwards, and signals go through that.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from errno import EINVAL, ENOENT, ESRCH

# As in hetsched itself: a shim that loads typing and dataclasses takes twice as long to start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BOOT = "/proc/sys/kernel/random/boot_id"
# The parent of the kernel's own threads, which have no environment.
_KERNEL = 2
_NO_PROCESS = (ESRCH, EINVAL, ENOENT)
"""No process has a number, or a thread of some process has it by now: EINVAL, and ENOENT of newer kernels."""
_READINGS = 4
_MOMENT_S = 0.001


def now_us() -> int:
    """Microseconds since the machine was booted, those in which it slept among them; no setting of a clock moves it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def boot_id() -> str:
    """Name of the time since the machine was booted."""
    with open(_BOOT, encoding="ascii") as file:
        return file.read().strip()


class Seen:
    """A process as ``/proc`` shows it: its parent, and when it started, in ticks of the machine's clock since its boot.

    A zombie is dead: it has ended, and its parent has not asked yet.
    """

    __slots__ = ("is_dead", "parent", "pid", "ticks")

    def __init__(self, pid: int, parent: int, ticks: int, *, is_dead: bool) -> None:
        self.pid, self.parent, self.ticks, self.is_dead = pid, parent, ticks, is_dead


def look(pid: int) -> Seen | None:
    """The process of this number; None if there is none, or one that this user may not see (`hidepid` of /proc)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name stands in brackets, and may hold any character.
    rest = text[text.rindex(b")") + 2 :].split()
    return Seen(pid, int(rest[1]), int(rest[19]), is_dead=rest[0] in (b"Z", b"X"))


def everything() -> Iterator[Seen]:
    """All processes that can be seen."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and (seen := look(int(name))) is not None:
            yield seen


def below(roots: Iterable[int]) -> list[Seen]:
    """Descendants of some processes that have not ended, parents first."""
    children: dict[int, list[Seen]] = {}
    for seen in everything():
        children.setdefault(seen.parent, []).append(seen)
    found, known, at = [], set(roots), list(roots)
    while at:
        for seen in children.get(at.pop(), ()):
            if seen.pid not in known:
                known.add(seen.pid)
                found.append(seen)
                at.append(seen.pid)
    return [seen for seen in found if not seen.is_dead]


def marked(mark: Iterable[bytes]) -> list[Seen]:
    """Processes of this user's whose environment holds all of these settings."""
    wanted = set(mark)
    found = []
    for seen in everything():
        with suppress(OSError):
            if not seen.is_dead and wanted <= _environment(seen):
                found.append(seen)
    return found


def _environment(seen: Seen) -> set[bytes]:
    """Settings of a process's environment, read again if it is empty: for a moment in the middle of `exec` it is."""
    for _ in range(_READINGS):
        with open(f"/proc/{seen.pid}/environ", "rb") as file:
            text = file.read()
        if text or seen.parent == _KERNEL:
            break
        time.sleep(_MOMENT_S)
    return set(text.split(b"\0"))


class Process:
    """A process that is held: its number is taken for no other's as long as it is."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self.handle = handle
        """The `pidfd`, readable once the process has ended."""

    @classmethod
    def held(cls, pid: int, ticks: int) -> Process | None:
        """The process of this number that started at these ticks; None if it has ended."""
        try:
            handle = os.pidfd_open(pid)
        except OSError as error:
            if error.errno in _NO_PROCESS:
                return None
            raise
        process, seen = cls(pid, handle), look(pid)
        if seen is not None and seen.ticks == ticks and process.is_alive:
            return process
        process.close()
        return None

    @property
    def is_alive(self) -> bool:
        """True until it has ended."""
        ended = select.poll()
        ended.register(self.handle, select.POLLIN)
        return not ended.poll(0)

    def send(self, number: int) -> bool:
        """Signal it; False if it has ended."""
        try:
            signal.pidfd_send_signal(self.handle, number)
        except ProcessLookupError:
            return False
        return True

    def close(self) -> None:
        """Hold it no longer."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def signalled(processes: Iterable[Seen], number: int) -> int:
    """Signal processes that were seen, but none that has their numbers since; gives how many there were."""
    count = 0
    for seen in processes:
        process = Process.held(seen.pid, seen.ticks)
        if process is not None:
            with suppress(PermissionError):
                count += process.send(number)
            process.close()
    return count
