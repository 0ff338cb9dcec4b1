"""Processes that run specs side by side, each with an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Generator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from hetsched.checks import one_line
from hetsched.errors import HetschedError, SimulationError
from hetsched.run.spec import Spec, summary_of
from hetsched.run.sweep_checks import within

__all__ = ["WorkerTraceback", "finished"]

Answer = tuple[dict[str, Any] | None, BaseException | None, str]

_STEP_S = 0.5
# The modules are found where this process finds them. Nothing is imported before that but what is built in.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2].split({!r}); import hetsched.run.worker as w; w.main(int(sys.argv[1]))"
)
# A process a core: threads inside would only be in each other's way.
_ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerTraceback(Exception):  # noqa: N818 -- no error, but where one happened
    """Where in another process an error was raised; the cause of the error that is raised here."""


def finished(todo: Sequence[Spec], *, workers: int) -> Generator[tuple[Spec, dict[str, Any]], None, None]:
    """Run specs, and give each with its summary as soon as it is done.

    Parameters
    ----------
    todo
        What to run, begun in this order.
    workers
        How many at a time. A single one is this process itself.

    Raises
    ------
    HetschedError
        The first that any run raises, with the run's name; the other runs are stopped.
    """
    if workers == 1:
        return _alone(todo)
    return _side_by_side(todo, workers)


def _alone(todo: Sequence[Spec]) -> Generator[tuple[Spec, dict[str, Any]], None, None]:
    for spec in todo:
        try:
            summary = summary_of(spec)
        except HetschedError as error:
            raise within(str(spec), error) from error
        yield spec, summary


def _side_by_side(todo: Sequence[Spec], workers: int) -> Generator[tuple[Spec, dict[str, Any]], None, None]:
    waiting = deque(todo)
    crew: list[_Worker] = []
    try:
        for _ in range(min(workers, len(todo))):
            crew.append(_Worker())
            crew[-1].take(waiting.popleft())
        while busy := {worker.connection: worker for worker in crew if worker.spec is not None}:
            # A step at a time, so that Ctrl-C is never waited for.
            for connection in wait(list(busy), timeout=_STEP_S):
                worker = busy[connection]  # type: ignore[index]
                done = worker.answered()
                # First the next run, then the caller: a worker must not wait for a disk.
                if waiting:
                    worker.take(waiting.popleft())
                yield done
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process at the other end of a socket, and what it is doing."""

    def __init__(self) -> None:
        self.connection: Connection[Any, Any]
        self.connection, theirs = Pipe()
        self.spec: Spec | None = None
        # Not a pipe, which would have to be read; it is looked at only if the process breaks down.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- closed in `end`
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(os.pathsep), str(theirs.fileno()), os.pathsep.join(sys.path)],
                env={**os.environ, **_ONE_THREAD},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,
                stdout=self._said,
                stderr=self._said,
            )
        except OSError as error:
            self.connection.close()
            self._said.close()
            raise SimulationError(f"a process for runs cannot be started: {error.strerror or error}") from None
        finally:
            theirs.close()

    def take(self, spec: Spec) -> None:
        """Give it a run to do."""
        self.spec = spec
        try:
            self.connection.send(spec)
        except (BrokenPipeError, ConnectionResetError):
            self._raise_end()

    def answered(self) -> tuple[Spec, dict[str, Any]]:
        """What it has done, or the error that it met."""
        spec = self.spec
        assert spec is not None
        try:
            summary, error, trace = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._raise_end()
        self.spec = None
        if isinstance(error, HetschedError):
            raise within(str(spec), error) from WorkerTraceback(trace)
        if isinstance(error, MemoryError):
            raise SimulationError(f"{spec}: not enough memory for this run beside others; take fewer workers")
        if error is not None:
            raise SimulationError(f"{spec}: {type(error).__name__}: {error}") from WorkerTraceback(trace)
        return spec, summary

    def end(self) -> None:
        """End it at once, whatever it is doing: what it has not answered, nobody has counted as done."""
        self.connection.close()
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._said.close()

    def _raise_end(self) -> NoReturn:
        code = self._process.wait()
        if code < 0:
            how = f"was ended by the system with {signal.Signals(-code).name}"
            how += (
                "; that is what Linux does when memory runs out: take fewer workers" if code == -signal.SIGKILL else ""
            )
        else:
            how = f"ended by itself with exit code {code}"
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip().splitlines()
        last = f" ({one_line(said[-1])})" if said else ""
        raise SimulationError(f"{self.spec}: the process running it {how}{last}") from None
