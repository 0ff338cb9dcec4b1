"""Allocations of Slurm: whether one has ended, and the sentence that its nodes are down with then."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from contextlib import suppress

_PATIENCE_S = 5.0
_ALIVE = ("CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
"""States of Slurm's job in which its nodes are there; a job that is requeued waits."""


class Question:
    """The question whether an allocation has ended, put to Slurm; nobody waits for the answer."""

    def __init__(self, allocation: str) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 -- it is closed with the answer
        self._until = time.monotonic() + _PATIENCE_S
        words = ["squeue", "-h", "-j", allocation, "-o", "%T"]
        self._process: subprocess.Popen[bytes] | None = None
        # Without the command nothing is known.
        with suppress(OSError):
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
            )

    def answer(self) -> bool | None:
        """True if Slurm says that it has ended; False if it may go on, as where nothing is said; None: not yet."""
        if self._process is None:
            return self._closed(has_ended=False)
        code = self._process.poll()
        if code is None and time.monotonic() < self._until:
            return None
        if code is None:
            self._process.kill()
            self._process.wait()
            return self._closed(has_ended=False)
        self._out.seek(0)
        text = self._out.read().decode(errors="replace")
        return self._closed(has_ended="Invalid job id" in text if code else text.strip() not in _ALIVE)

    def _closed(self, *, has_ended: bool) -> bool:
        self._out.close()
        return has_ended


def end_of(allocation: str) -> str:
    """The reason for which nodes of an allocation are down once it has ended."""
    return f"Slurm's job {allocation} is over"


def is_end_of_another(why: str, allocation: str) -> bool:
    """True if nodes were down as an allocation had ended that is not this one."""
    return why != end_of(allocation) and re.fullmatch(end_of(r"\S+"), why) is not None
