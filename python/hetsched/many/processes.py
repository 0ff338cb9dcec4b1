"""Processes as an executor: each with an interpreter of its own, which knows nothing of the user's script.

Unlike `concurrent.futures.ProcessPoolExecutor` it needs no ``if __name__ == "__main__"`` around the call, works from a
notebook, forks nothing in which polars has threads, and says what ended a process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from hetsched.checks import one_line
from hetsched.errors import HetschedError, SimulationError
from hetsched.many.far import Far, WorkerLost
from hetsched.policy.own_files import FOLDERS

Work = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
Answer = TypeVar("Answer")

# The modules are found where this process finds them. Nothing is imported before that but what is built in.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2].split({!r}); import hetsched.many.worker as w; w.main(int(sys.argv[1]))"
)
# A process a core: threads inside would only be in each other's way.
_ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerTraceback(Exception):  # noqa: N818 -- no error, but where one happened
    """Place in another process at which an error was raised; the cause of the error that is raised here."""


class Processes(Far):
    """Up to `count` processes; `shutdown` ends them at once, whatever they are doing.

    What is submitted must be importable from hetsched, and picklable as its arguments are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: deque[tuple[Future[Any], Work]] = deque()
        self._crew: list[_Worker] = []
        self._lock = threading.Lock()
        self._wake, self._woken = Pipe()
        self._is_over = False
        self._keeper: threading.Thread | None = None

    def submit(self, fn: Callable[..., Answer], /, *args: Any, **kwargs: Any) -> Future[Answer]:
        """Have a process call it as soon as one is free."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._is_over:
                raise RuntimeError("the processes have been ended")
            self._waiting.append((future, (fn, args, kwargs)))
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, daemon=True)
                self._keeper.start()
        self._wake.send(None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End every process at once: what it has not answered is not done."""
        del cancel_futures
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._wake.send(None)
        if wait and self._keeper is not None:
            self._keeper.join()
        for worker in self._crew:
            worker.end()
        for future, _ in self._waiting:
            future.cancel()

    def outstanding(self) -> int:
        """Some more than there are processes, so that none waits; answers, which may be large, do not pile up here."""
        return 4 + 4 * self._count

    def look(self) -> None:
        """Nothing ends a wait: what ends a process is raised where its answer is asked for."""

    def _keep(self) -> None:
        """Hand out work and take in answers until all is over."""
        while not self._is_over:
            self._hand_out()
            busy = {worker.connection: worker for worker in self._crew if worker.future is not None}
            for connection in wait([self._woken, *busy]):
                if connection is self._woken:
                    self._woken.recv()
                else:
                    busy[connection].answered()  # type: ignore[index]

    def _hand_out(self) -> None:
        """Give every free process something to do; start those that are missing."""
        for gone in [worker for worker in self._crew if worker.is_gone]:
            self._crew.remove(gone)
            gone.end()
        while self._waiting:
            free = next((worker for worker in self._crew if worker.future is None and not worker.is_gone), None)
            if free is None and len(self._crew) >= self._count:
                return
            future, work = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if free is None:
                    free = _Worker()
                    self._crew.append(free)
            except SimulationError as error:
                future.set_exception(error)
            else:
                free.take(future, work)


class _Worker:
    """A process at the other end of a socket, and what it is doing."""

    def __init__(self) -> None:
        self.connection: Connection[Any, Any]
        self.connection, theirs = Pipe()
        self.future: Future[Any] | None = None
        self.is_gone = False
        # Not a pipe, which would have to be read; it is looked at only if the process breaks down.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- closed in `end`
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(os.pathsep), str(theirs.fileno()), os.pathsep.join(_path())],
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

    def take(self, future: Future[Any], work: Work) -> None:
        """Give it something to do."""
        self.future = future
        try:
            self.connection.send(work)
        except (BrokenPipeError, ConnectionResetError):
            self._fail()
        except Exception as error:  # noqa: BLE001 -- what cannot be pickled is the caller's to hear of
            self.future = None
            future.set_exception(error)

    def answered(self) -> None:
        """Pass on what it has done, or the error that it met."""
        future = self.future
        assert future is not None
        try:
            answer, error, trace = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._fail()
            return
        self.future = None
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(_with_traceback(error, trace))

    def end(self) -> None:
        """End it at once, whatever it is doing."""
        self.connection.close()
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._said.close()

    def _fail(self) -> None:
        """It has ended though it was not asked to."""
        future, self.future, self.is_gone = self.future, None, True
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
        assert future is not None
        future.set_exception(WorkerLost(f"the process running it {how}{last}"))


def _path() -> list[str]:
    """Places of modules, but for folders of policies: their files come along, and may be called as what runs need."""
    left = [*sys.path]
    for folder in FOLDERS:
        if folder in left:
            left.remove(folder)
    return left


def _with_traceback(error: BaseException, trace: str) -> BaseException:
    """The error as it is raised here."""
    if isinstance(error, MemoryError):
        return SimulationError("not enough memory for this run next to others; take fewer workers")
    raised = error if isinstance(error, HetschedError) else SimulationError(f"{type(error).__name__}: {error}")
    raised.__cause__ = WorkerTraceback(trace)
    return raised
