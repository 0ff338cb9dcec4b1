"""A policy's memory between bridges: a file next to the journals, for what no reading of Slurm shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hetsched.checks import reason_of
from hetsched.errors import OutputError
from hetsched.live.memory import memory_in

NAME = "policy-state"
PERIOD_US = 10_000_000
"""Microseconds between two writings: a bridge that is killed forgets no more than that."""


class Remembered:
    """The file ``policy-state`` of a bridge's folder."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / NAME
        self._next_us = 0

    def is_due(self, t_us: int) -> bool:
        """True if it is to be written at this instant."""
        if t_us < self._next_us:
            return False
        self._next_us = t_us + PERIOD_US
        return True

    def read(self, say: Callable[[str], None]) -> bytes | None:
        """The state that was kept last; None if nothing was, or it is of another version, which is said."""
        try:
            state = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            say(f"{self._path}: {reason_of(error)}; the policy begins without it")
            return None
        if memory_in(state) is None:
            say(f"{self._path}: of another version of hetsched, or damaged; the policy begins without it")
            return None
        return state

    def write(self, state: bytes | None) -> None:
        """Put it in the place of the last one, whole; raises OutputError."""
        if state is None:
            return
        new = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(state)
            new.replace(self._path)
        except OSError as error:
            raise OutputError(str(self._path), reason_of(error)) from None
