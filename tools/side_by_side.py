"""Run shell commands at the same time: ``python tools/side_by_side.py 'cargo test' 'python -m pytest'``.

The first that fails ends the others and gives its exit code. The last writes to the terminal; what the others write is
shown once they have ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, NamedTuple

POLL_S = 0.1


class _Running(NamedTuple):
    command: str
    process: subprocess.Popen[bytes]
    kept: IO[bytes] | None

    def show(self) -> None:
        """Print what it has written, below its name."""
        if self.kept is not None:
            self.kept.seek(0)
            print(f"\n== {self.command}: exit {self.process.returncode}", flush=True)
            sys.stdout.buffer.write(self.kept.read())
            sys.stdout.flush()


def _start(command: str, kept: IO[bytes] | None) -> _Running:
    print(f"\n== {command}", flush=True)
    # In a session of its own, which can be ended with all that it starts.
    process = subprocess.Popen(
        command, shell=True, stdout=kept, stderr=kept and subprocess.STDOUT, start_new_session=True
    )
    return _Running(command, process, kept)


def side_by_side(commands: Sequence[str]) -> int:
    """Exit code of the first command that fails, or 0."""
    running: list[_Running] = []
    try:
        running += [_start(command, tempfile.TemporaryFile()) for command in commands[:-1]]  # noqa: SIM115
        running.append(_start(commands[-1], None))
        while running:
            time.sleep(POLL_S)
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                one.show()
                if one.process.returncode != 0:
                    return int(abs(one.process.returncode))
    finally:
        for one in running:
            os.killpg(one.process.pid, signal.SIGTERM)
            one.process.wait()
    return 0


if __name__ == "__main__":
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, lambda number, _: sys.exit(128 + number))
    sys.exit(side_by_side(sys.argv[1:]))
