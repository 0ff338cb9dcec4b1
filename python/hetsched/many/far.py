"""Executors whose workers are elsewhere, and workers that are lost."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import Executor

from hetsched.errors import SimulationError

MOST_LOSSES = 3
"""Workers that a run may be lost with; then it is held to be the cause."""


class WorkerLost(SimulationError):  # noqa: N818 -- an error that is mended by running again
    """The process or machine that a run was on has ended; another may run it."""


class Far(Executor):
    """An executor whose workers are elsewhere."""

    @abstractmethod
    def outstanding(self) -> int:
        """Number of calls to give it at a time, so that no worker is idle."""

    @abstractmethod
    def look(self) -> None:
        """Raise an error if there is nothing more to wait for."""
