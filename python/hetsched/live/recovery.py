"""The state in which one attempt of a job is found: by what is in its folder, and which of its processes live."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from hetsched.live.processes import Process
from hetsched.live.sealed import read_sealed


class Found(Enum):
    """The states."""

    UNCLAIMED = auto()
    """No shim has claimed it: it can be launched. A shim that is still on its way, or the new one, loses the claim."""
    HELD = auto()
    """Its shim lives, and will write down its end."""
    ENDED = auto()
    """Its end is written down."""
    NEVER = auto()
    """Its shim died before the command ran, which it never will."""
    ORPHAN = auto()
    """Its shim died, and its command lives."""
    LOST = auto()
    """Its shim died, and its command has ended, in a way that nobody wrote down."""


@dataclass(frozen=True)
class Attempt:
    """One attempt as it was found."""

    found: Found
    process: Process | None = None
    """The process to wait for: its shim, or its command where that is an orphan."""
    record: dict[str, Any] | None = None
    """Its end, if that is written down."""


def attempt_in(folder: str, boot: str) -> Attempt:
    """The state of the attempt in a folder, on a machine that is in this boot."""
    claim = read_sealed(f"{folder}/claim")
    if claim is None:
        return Attempt(Found.UNCLAIMED)
    is_now = claim["boot"] == boot
    # Looked at first: a shim that lives now may have written everything by the time its files are read.
    shim = Process.held(claim["pid"], claim["ticks"]) if is_now else None
    if shim is not None:
        return Attempt(Found.HELD, shim)
    if (record := read_sealed(f"{folder}/exit")) is not None:
        return Attempt(Found.ENDED, record=record)
    started = read_sealed(f"{folder}/started")
    if started is None:
        return Attempt(Found.NEVER)
    child = Process.held(started["pid"], started["ticks"]) if is_now else None
    return Attempt(Found.LOST if child is None else Found.ORPHAN, child)
