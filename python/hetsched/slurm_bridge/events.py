"""Events: datagrams to a socket, which make the next reading sooner and say nothing else, so that none can lie.

A hook of Slurm's sends one at a job's start or end and never waits. What it holds is not read. Where the socket is
full, deleted or flooded, readings go on as without it.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable, Collection
from pathlib import Path

from hetsched.checks import reason_of, shown
from hetsched.errors import ConfigError, OutputError

LEAST_GAP_S = 0.2
"""Seconds between two readings, however many events come."""

MOST_BYTES = 1024
_MOST_AT_ONCE = 1000
_CREDENTIALS = struct.Struct("3i")
_MOST_PATH = 100
"""Bytes of a path that a Unix socket may have, with some to spare."""


class Events:
    """A socket that hooks of trusted users send datagrams to.

    Parameters
    ----------
    path
        The socket, in a folder that only this user can enter; the folder is made if it is absent.
    uids
        Users whose datagrams count: this one, root, and Slurm's.

    Raises
    ------
    ConfigError
        If others can enter the folder, or something else is at the path.
    OutputError
        If the socket cannot be made.
    """

    def __init__(
        self, path: str, uids: Collection[int], *, say: Callable[[str], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._uids, self._say, self._now = Path(path), frozenset(uids), say, now
        self.strangers = 0
        """Datagrams of other users, which do not count."""
        if len(os.fsencode(path)) > _MOST_PATH:
            raise ConfigError([("--events", shown(path), f"a path of at most {_MOST_PATH} bytes, as sockets have it")])
        self._socket, self._inode = self._bound()

    def sleep(self, seconds: float) -> None:
        """Wait so long, or until an event has come, but never less than `LEAST_GAP_S`."""
        end_s = self._now() + seconds
        time.sleep(max(0.0, min(LEAST_GAP_S, seconds)))
        self._bind_again()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while (left_s := end_s - self._now()) > 0:
            if poll.poll(1000 * left_s) and self._drained():
                return

    def close(self) -> None:
        """Take the socket away, if it is still this one's."""
        if self._is_own():
            self._path.unlink(missing_ok=True)
        self._socket.close()

    def _bound(self) -> tuple[socket.socket, int]:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check()
            self._path.unlink(missing_ok=True)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            made.bind(str(self._path))
            self._path.chmod(0o600)
            return made, self._path.stat().st_ino
        except OSError as error:
            made.close()
            raise OutputError(str(self._path), reason_of(error)) from None
        except ConfigError:
            made.close()
            raise

    def _check(self) -> None:
        folder = self._path.parent.stat()
        if folder.st_mode & 0o077 or folder.st_uid != os.geteuid():
            found = f"the folder {shown(str(self._path.parent))} of mode {stat.S_IMODE(folder.st_mode):o}"
            raise ConfigError([("--events", found, "a folder of your own that nobody else can enter: mode 700")])
        if self._path.exists() and not self._path.is_socket():
            raise ConfigError([("--events", shown(str(self._path)), "no file, or a socket that a bridge has left")])

    def _is_own(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            # It is gone, or out of reach: not this one's in either case.
            return False

    def _bind_again(self) -> None:
        """Make the socket again if somebody has deleted it."""
        if self._is_own():
            return
        try:
            made = self._bound()
        except (ConfigError, OutputError) as error:
            self._say(f"events: {error}; readings go on without")
            return
        self._socket.close()
        self._socket, self._inode = made
        self._say(f"events: {self._path} was gone and is there again")

    def _drained(self) -> bool:
        """Take what has come, so much at once and no more; True if any of it counts."""
        counts = False
        for _ in range(_MOST_AT_ONCE):
            try:
                _, others, flags, _ = self._socket.recvmsg(MOST_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                break
            is_whole = not flags & socket.MSG_TRUNC
            is_known = any(
                (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
                and _CREDENTIALS.unpack_from(data)[1] in self._uids
                for level, kind, data in others
            )
            self.strangers += not is_known
            counts |= is_whole and is_known
        return counts


def hook_lines(path: str) -> list[str]:
    """The lines of a program for PrologSlurmctld and EpilogSlurmctld that sends an event."""
    return [
        "#!/usr/bin/python3 -IS",
        "# PrologSlurmctld and EpilogSlurmctld: the bridge reads at once. It never waits, and never fails, as a prolog",
        "# that fails stops its job.",
        "import socket",
        "try:",
        "    hook = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)",
        f"    hook.sendto(b'slurm', {path!r})",
        "except OSError:",
        "    raise SystemExit(0)",
    ]
