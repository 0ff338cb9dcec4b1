"""Jobs whose shim was killed: held to their walltime from here, and their nodes free once nothing of them is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from hetsched.live import cgroups
from hetsched.live.processes import Process, Seen, below, marked, now_us, signalled

PERIOD_S = 0.05
"""Seconds between two looks at an orphan."""

_KILL_US = 10_000_000
"""Time that killed processes may take to be gone."""


class Standstill:
    """The time for which a run has stood still, which its limit does not count."""

    def __init__(self) -> None:
        self._before_us = 0
        self._since_us: int | None = None

    def note(self, number: int, at_us: int) -> None:
        """Note that it stands still (SIGUSR1) or goes on (SIGUSR2) from an instant of the machine's clock on."""
        if number == signal.SIGUSR1 and self._since_us is None:
            self._since_us = at_us
        elif number == signal.SIGUSR2 and self._since_us is not None:
            self._before_us += max(0, at_us - self._since_us)
            self._since_us = None

    def until(self, now_us: int) -> int:
        """Microseconds up to now."""
        return self._before_us + (0 if self._since_us is None else max(0, now_us - self._since_us))


class Orphan:
    """A job without a shim. Its processes are those below its command, and those with its mark."""

    def __init__(
        self,
        command: Process | None,
        mark: Mapping[str, str],
        *,
        limit_us: int | None = None,
        grace_us: int = 0,
        cgroup: str | None = None,
        stood: Standstill | None = None,
    ) -> None:
        self._command = command
        self._stood = stood or Standstill()
        self._mark = [f"{name}={value}".encode() for name, value in mark.items()]
        self._limit_us = limit_us
        self._grace_us = grace_us
        self._cgroup = cgroup
        self._kill_at_us: int | None = None if command is not None else now_us()
        self.is_over_limit = False
        self.left = 0
        """Processes that could not be killed, once it is gone."""

    def terminate(self) -> None:
        """Ask its processes to end, and kill them after the time of grace."""
        if self._kill_at_us is None:
            processes = self._processes()
            signalled(processes, signal.SIGTERM)
            signalled(processes, signal.SIGCONT)
            self._kill_at_us = now_us() + self._grace_us

    def signal(self, number: int) -> None:
        """Let its processes stand still, or go on: SIGUSR1 or SIGUSR2, as its shim would have it."""
        if self._kill_at_us is None:
            signalled(self._processes(), signal.SIGSTOP if number == signal.SIGUSR1 else signal.SIGCONT)

    def is_gone(self) -> bool:
        """Do what is to be done now; True once nothing is left of it, or what is left cannot be killed."""
        now = now_us()
        limit_us = None if self._limit_us is None else self._limit_us + self._stood.until(now)
        if limit_us is not None and now >= limit_us and self._kill_at_us is None:
            self.is_over_limit = True
            self.terminate()
        if self._command is not None and not self._command.is_alive:
            self._command.close()
            self._command = None
            self._kill_at_us = now
        if self._kill_at_us is None or now < self._kill_at_us:
            return False
        cgroups.kill(self._cgroup)
        processes = self._processes()
        signalled(processes, signal.SIGKILL)
        self.left = len(processes)
        return not processes or now > self._kill_at_us + _KILL_US

    def _processes(self) -> list[Seen]:
        known = marked(self._mark)
        roots = {seen.pid for seen in known} | ({self._command.pid} if self._command is not None else set())
        found = {(seen.pid, seen.ticks): seen for seen in [*known, *below(roots)] if seen.pid != os.getpid()}
        return list(found.values())


def began_us(ticks: int) -> int:
    """The microsecond since the machine's boot in which a process of these ticks started."""
    return ticks * 1_000_000 // os.sysconf("SC_CLK_TCK")
