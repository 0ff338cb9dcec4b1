"""Processes that were forked while polars had threads: they lack these threads, and would wait for them for ever."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hetsched.errors import SimulationError

__all__ = ["check_threads"]

_OF_POLARS = re.compile(r"polars-\d|async-executor|tokio-rt")
"""Names of the threads that polars computes with; it starts them at its first work, not when it is imported."""


class _State:
    """Knowledge about this process."""

    had_threads = False
    """Whether there were threads of polars when the last fork began."""
    is_without = False
    """Whether they were lost in a fork."""


def _look() -> None:
    try:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    except OSError:  # a thread that has just ended, or no Linux
        return
    _State.had_threads = any(map(_OF_POLARS.match, names))


def _remember() -> None:
    _State.is_without = _State.is_without or _State.had_threads


os.register_at_fork(before=_look, after_in_child=_remember)


def check_threads() -> None:
    """Raise an error where work of polars would never end.

    Raises
    ------
    SimulationError
        If the process was forked from one in which polars had been at work.

    Examples
    --------
    >>> check_threads()
    """
    if _State.is_without:
        raise SimulationError(
            "this process was forked from one in which polars had been at work, and has lost its threads: start "
            'processes by multiprocessing.get_context("spawn") or "forkserver", or run hetsched.sweep'
        )
