"""Measures a process from inside, and runs one from outside: on one core, for so long and no longer.

Needs nothing but Python, so that a peer in an environment of its own can use it, too. What is run prints one line of
JSON and ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RunError", "Stopwatch", "answer", "peak_bytes", "pinned", "run", "starts_sha256", "task"]

HERE = Path(__file__).parent
STATUS = Path("/proc/self/status")


class RunError(Exception):
    """A run that gave no numbers; says why in a line."""


class Stopwatch:
    """CPU seconds of this process, lap by lap.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> watch.lap("nothing")
    >>> list(watch.laps)
    ['nothing']
    """

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.process_time()

    def lap(self, name: str) -> None:
        """Ends the lap under way and gives it a name."""
        now = time.process_time()
        self.laps[name] = now - self._since
        self._since = now

    def total(self) -> float:
        """All laps together, s."""
        return sum(self.laps.values())


def pinned() -> int | None:
    """Keeps this process and the threads it will start on one core; which one, or None where that cannot be had."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def peak_bytes() -> int:
    """The most memory this process has held so far, the interpreter and all libraries included."""
    if STATUS.is_file():
        # Not `ru_maxrss`: a process inherits that from the one that started it.
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # noqa: PLC0415 - not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def starts_sha256(starts: Iterable[int]) -> str:
    """Digest of start times in whole seconds in the trace's order, -1 for a job that never started."""
    return hashlib.sha256(array("q", starts).tobytes()).hexdigest()


def task() -> dict[str, Any]:
    """Task of this process."""
    return dict(json.loads(sys.argv[1]))


def answer(numbers: Mapping[str, Any]) -> None:
    """Hands the numbers to the process that asked for them."""
    print(json.dumps(numbers))


def run(script: str, work: Mapping[str, Any], *, python: str = sys.executable, limit_s: float = 600) -> dict[str, Any]:
    """Has a script of this folder do some work in a process of its own.

    Parameters
    ----------
    script
        Its name; what it prints last is the answer.
    work
        Its task.
    python
        The interpreter to run it with.
    limit_s
        When to give up, s of real time.

    Raises
    ------
    RunError
        If there is no answer.
    """
    command = [python, str(HERE / script), json.dumps(work)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=environment, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise RunError(f"no answer in {limit_s:g} s") from None
    said = done.stdout.strip().splitlines()
    if done.returncode != 0 or not said:
        complaint = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise RunError(complaint[-1])
    return dict(json.loads(said[-1]))
