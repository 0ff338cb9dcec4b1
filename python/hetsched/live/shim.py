"""The shim: one small process a job, which runs its command, holds it to its walltime, and writes down how it ended.

It stands in a session of its own and needs no other process, so the one that started it may die at any time; it is
the compute-node kernel (CNK) of the Hierarchy pool paper. ``python -I -S shim.py FOLDER`` works in the folder of one
attempt of a job:

* ``spec.json`` is there: the command.
* ``claim``: made by one shim only, which may run the command. Every other one goes away.
* ``started``: valid, by its checksum, before the child may run the command. The child waits at a pipe for one byte; its
  end without one means that the shim is dead, and the child goes away. Without ``started`` the command never ran.
* ``exit``: valid once nothing of the job is left. Both files are made before the claim, with room on the disk: it may
  be full by then.

All of a job's processes are below the shim, which takes in orphans (`PR_SET_CHILD_SUBREAPER`): none escapes by
`setsid` or by ignoring SIGTERM. SIGTERM to the shim ends the job with the grace of its limit, SIGUSR1 makes it stand
still, and SIGUSR2 lets it go on. Standard library only, and little of it: this starts with every job.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress

# As in hetsched itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

if __name__ == "__main__":
    # Isolated from everything else that is installed: behind the standard library, only hetsched itself.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hetsched.live import cgroups
from hetsched.live.points import point
from hetsched.live.processes import Seen, below, boot_id, look, now_us, signalled
from hetsched.live.sealed import reserve, sync_folder, write_into, write_new

SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that the shim waits for; all others that ask it to end are ignored."""

_LONGEST_WHY = 500
_NOT_RUN = 127
_KILL_S = 10.0
"""Time for which it tries to kill what forks faster than it is found."""
_PAUSE_S = 0.005


def main(folder: str) -> None:
    """Run the job of a folder, unless another shim does."""
    point("shim.begin")
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    take_in_orphans()
    with open(f"{folder}/spec.json", encoding="utf-8") as file:
        spec = json.load(file)
    if not claimed(folder):
        return
    point("shim.claimed")
    record = Job(folder, spec).run()
    point("shim.ended")
    write_into(f"{folder}/exit", record)
    point("shim.recorded")


def claimed(folder: str) -> bool:
    """True for the one process that may run the job; there is room for all that it has to write down then."""
    rooms = {f"{folder}/{name}.{os.getpid()}": f"{folder}/{name}" for name in ("started", "exit")}
    try:
        for room in rooms:
            reserve(room)
        if not write_new(f"{folder}/claim", {**_named(os.getpid()), "boot": boot_id()}):
            return False
        for room, name in rooms.items():
            os.rename(room, name)
        # Without the names of all three a machine that stops would forget that the command has run.
        sync_folder(folder)
    finally:
        for room in rooms:
            with suppress(FileNotFoundError):
                os.unlink(room)
    return True


def _named(pid: int) -> dict[str, int]:
    seen = look(pid)
    if seen is None:
        raise ProcessLookupError(pid)
    return {"pid": seen.pid, "ticks": seen.ticks}


def take_in_orphans() -> None:
    """Become the parent of every process below whose own parent ends."""
    import ctypes  # noqa: PLC0415 -- slow, and only those that are run for this need it

    set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Job:
    """One run of a job's command."""

    def __init__(self, folder: str, spec: dict[str, Any]) -> None:
        self.folder = folder
        self.spec = spec
        self.child = 0
        self.status: int | None = None
        self.why = ""
        self.begin_us = now_us()
        self.stood_us = 0
        """Microseconds in which it stood still; a limit does not count them."""
        self.stands_since: int | None = None

    def run(self) -> dict[str, Any]:
        """Run it until nothing of it is left; gives the record of its end."""
        told = self._begin()
        self._watch()
        killed, left = self._clear()
        why = ""
        with suppress(BlockingIOError):
            why = os.read(told, _LONGEST_WHY).decode(errors="replace")
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            **({"code": None, "signal": None} if why else _how(self.status)),
            "why": why or self.why or ("out of memory" if cgroups.ran_out_of_memory(self.spec.get("cgroup")) else ""),
            "begin_us": self.begin_us,
            "end_us": now_us(),
            "stood_us": self.stood_us,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "max_rss_kb": usage.ru_maxrss,
            "killed": killed,
            "left": left,
        }

    def _begin(self) -> int:
        """Start the command; gives a pipe in which the reason stands if that cannot be."""
        go, told = os.pipe(), os.pipe()
        self.child = os.fork()
        if not self.child:
            os.close(go[1])
            become(self.spec, go[0], told[1])
        os.close(go[0])
        os.close(told[1])
        os.set_blocking(told[0], False)
        point("shim.forked")
        write_into(f"{self.folder}/started", _named(self.child))
        point("shim.started")
        self.begin_us = now_us()
        with suppress(BrokenPipeError):
            os.write(go[1], b"!")
        os.close(go[1])
        point("shim.running")
        return told[0]

    def _watch(self) -> None:
        """Wait for the end of the command, or end it at its limit."""
        limit = self.spec.get("limit_s")
        while self.reap() and self.status is None:
            rest = None if limit is None else limit - self._ran_us() / 1e6
            if rest is not None and rest <= 0:
                self.why = "timeout"
                return self._terminate()
            caught = signal.sigtimedwait(SIGNALS, 3600.0 if rest is None or self.stands_since is not None else rest)
            number = None if caught is None else caught.si_signo
            if number == signal.SIGTERM:
                self.why = "asked"
                return self._terminate()
            self._stand(number)
        return None

    def _ran_us(self) -> int:
        now = now_us()
        stands = 0 if self.stands_since is None else now - self.stands_since
        return now - self.begin_us - self.stood_us - stands

    def _stand(self, number: int | None) -> None:
        if number == signal.SIGUSR1 and self.stands_since is None:
            self.stands_since = now_us()
            stop_all(os.getpid())
        elif number == signal.SIGUSR2 and self.stands_since is not None:
            signalled(below([os.getpid()]), signal.SIGCONT)
            self.stood_us += now_us() - self.stands_since
            self.stands_since = None

    def _terminate(self) -> None:
        """Ask all of its processes to end, and give them the time of grace to do so."""
        processes = below([os.getpid()])
        signalled(processes, signal.SIGTERM)
        # One that stands still would not hear of it.
        signalled(processes, signal.SIGCONT)
        until = time.monotonic() + self.spec.get("grace_s", 5.0)
        while self.reap() and (rest := until - time.monotonic()) > 0:
            caught = signal.sigtimedwait(SIGNALS, rest)
            if caught is not None and caught.si_signo == signal.SIGTERM:
                return

    def _clear(self) -> tuple[int, int]:
        """Kill what is left of it; gives how many processes were killed, and how many could not be."""
        killed, until = set[tuple[int, int]](), time.monotonic() + _KILL_S
        while self.reap():
            if time.monotonic() > until:
                return len(killed), len(below([os.getpid()]))
            killed |= {(seen.pid, seen.ticks) for seen in kill_all(os.getpid(), self.spec.get("cgroup"))}
            signal.sigtimedwait((signal.SIGCHLD,), _PAUSE_S)
        return len(killed), 0

    def reap(self) -> bool:
        """Take the status of what has ended; True while anything below lives."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status


def _how(status: int | None) -> dict[str, int | None]:
    """The exit code of a command, or the signal that ended it; neither of one that could not be killed."""
    code = None if status is None else os.waitstatus_to_exitcode(status)
    is_signal = code is not None and code < 0
    return {"code": None if is_signal else code, "signal": -code if code is not None and is_signal else None}


def stop_all(root: int) -> list[Seen]:
    """Make all processes below stand still, also those that are forked meanwhile, as far as they can be found."""
    stopped: dict[tuple[int, int], Seen] = {}
    for _ in range(20):
        fresh = [seen for seen in below([root]) if (seen.pid, seen.ticks) not in stopped]
        if not fresh:
            break
        signalled(fresh, signal.SIGSTOP)
        stopped |= {(seen.pid, seen.ticks): seen for seen in fresh}
    return list(stopped.values())


def kill_all(root: int, cgroup: str | None = None) -> list[Seen]:
    """Kill all processes below: stopped first, so that they fork no more; gives those that were found."""
    cgroups.kill(cgroup)
    found = stop_all(root)
    signalled(found, signal.SIGKILL)
    return found


def become(spec: dict[str, Any], go: int, told: int) -> NoReturn:
    """Become the command of a job, once the shim says so; tell it why if that cannot be."""
    place = ""
    try:
        if os.read(go, 1) != b"!":
            os._exit(_NOT_RUN)
        os.setsid()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            # Those that are kept for threads cannot be set.
            with suppress(OSError):
                signal.signal(number, signal.SIG_DFL)
        place = "cwd"
        os.chdir(spec["cwd"])
        for target, place in enumerate(("stdin", "stdout", "stderr")):
            os.dup2(_opened(spec[place], target), target)
        place = "cpus"
        if spec.get("cpus"):
            os.sched_setaffinity(0, spec["cpus"])
        place = "limits"
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _enter(spec.get("cgroup"))
        place = "command"
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the shim has to hear of it
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        value = spec["argv"][0] if place == "command" else spec.get(place, "")
        os.write(told, f"{place}: {value}: {reason}".encode(errors="replace"))
    os._exit(_NOT_RUN)


def _opened(path: str, target: int) -> int:
    if target == 0:
        return os.open(path, os.O_RDONLY)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _enter(cgroup: str | None) -> None:
    if cgroup is not None:
        with suppress(OSError), open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")


if __name__ == "__main__":
    main(sys.argv[1])
