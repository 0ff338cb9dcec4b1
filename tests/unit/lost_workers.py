"""A task that ends the process it is run by, in a module that other processes find."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kills:
    """Leaves a mark in a folder each time it is run, and ends its process the first so many times."""

    number: int
    folder: str
    times: int

    @property
    def key(self):
        return str(self.number)

    @property
    def names(self):
        return {}

    def __str__(self):
        return f"run {self.number}"

    def execute(self):
        path = Path(self.folder) / self.key
        with path.open("a") as file:
            file.write("x")
        if len(path.read_text()) <= self.times:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"number": self.number}
