"""Runs on the workers of dask: of a cluster that is there, or of one made of Slurm jobs."""

from __future__ import annotations

import shutil
import signal
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import dask
from distributed import Client, KilledWorker
from distributed import Future as Remote

from hetsched.errors import ConfigError, HetschedError, SimulationError
from hetsched.many.carried import Call, called_with
from hetsched.many.far import MOST_LOSSES, Far

Answer = TypeVar("Answer")

_ANSWERS_WITHIN_S = 10.0
_LOOKS_EVERY_S = 1.0
_PATIENCE_S = 120.0
_KEPT = 2
"""Files that stay on the workers though no run that is outstanding reads them: the next may."""
_OF_A_JOB = {"cores": 1, "memory": "2GiB"}
"""Settings of Slurm jobs where dask-jobqueue's own configuration is silent."""


@contextmanager
def at_scheduler(address: str) -> Iterator[OnDask]:
    """The workers of the scheduler at ``host:port``."""
    name = f"dask://{address}"
    try:
        client: Any = Client(f"tcp://{address}", timeout=_ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, TimeoutError):
        expected = f"a dask scheduler that answers there within {_ANSWERS_WITHIN_S:.0f} s: `dask scheduler` starts one"
        raise ConfigError([("executor", f"`{name}`", expected)]) from None
    with client, OnDask(client, name, patience_s=_PATIENCE_S) as executor:
        yield executor


@contextmanager
def in_slurm(jobs: int) -> Iterator[OnDask]:
    """So many Slurm jobs, each with the workers that dask-jobqueue's configuration gives it; they end with the runs."""
    with _signals_kept():
        from dask_jobqueue import SLURMCluster  # noqa: PLC0415 -- an extra of its own

    if shutil.which("sbatch") is None:
        raise ConfigError(
            [("executor", "`dask-slurm`", "a machine that has sbatch, such as a login node of the cluster")]
        )
    silent = {
        name: value for name, value in _OF_A_JOB.items() if dask.config.get(f"jobqueue.slurm.{name}", None) is None
    }
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": MOST_LOSSES - 1}),
        SLURMCluster(**silent) as cluster,
    ):
        # Between equal bounds: a job that ends before its time is submitted again.
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        with Client(cluster, set_as_default=False) as client, OnDask(client, "dask-slurm") as executor:
            yield executor


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ctrl-C means what it did before: dask-jobqueue, when it is imported, makes it an exit without a word."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class OnDask(Far):
    """Workers of dask as an executor; they get each file that a run reads once, for all runs that read it.

    A file is a task of dask whose answer is its content: it moves between workers as they need it, and is made again
    where the only worker that had it is lost. Runs of a lost worker are given to others by dask itself.
    """

    def __init__(self, client: Any, name: str, *, patience_s: float | None = None) -> None:
        self._client = client
        self._name = name
        self._patience_s = patience_s
        self._files: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._last: list[Any] = []
        self._runs: dict[Future[Any], tuple[Any, list[Any]]] = {}
        self._cores = 0
        self._looked_s = float("-inf")
        self._seen_s = time.monotonic()

    def submit(self, fn: Callable[..., Answer], /, *args: Any, **kwargs: Any) -> Future[Answer]:
        """Have a worker call it; the files of its arguments go along."""
        paths = [path for one in args for path in getattr(one, "files", ())]
        files = [self._file(path) for path in paths]
        run: Any = self._client.submit(
            called_with, Call(fn, args, kwargs), paths, *files, key=f"hetsched-run-{uuid.uuid4().hex}", pure=False
        )
        future: Future[Answer] = Future()
        # What is with dask is no more cancelled than what runs: it is left to `shutdown`.
        future.set_running_or_notify_cancel()
        self._runs[future] = run, files
        run.add_done_callback(partial(self._is_over, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Take back what has not been answered; a run that a worker has begun goes on there to its end."""
        del wait, cancel_futures
        runs = [run for run, _ in self._runs.values()]
        self._runs.clear()
        self._last.clear()
        if runs and self._client.status == "running":
            self._client.cancel(runs, force=True)

    def outstanding(self) -> int:
        """Some more than there are threads, so that none waits for the next run."""
        self.look()
        return 4 + 4 * self._cores

    def look(self) -> None:
        """Raise an error if the scheduler is gone, or has had no worker for a while."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOKS_EVERY_S:
            return
        self._looked_s = now_s
        if self._client.status == "running":
            self._cores = sum(self._client.nthreads().values())
        if self._cores:
            self._seen_s = now_s
        elif self._patience_s is not None and now_s - self._seen_s > self._patience_s:
            raise SimulationError(f"{self._name} has had no worker for {self._patience_s:.0f} s")

    def _file(self, path: str) -> Any:
        """The content of a file as dask holds it."""
        file = self._files.get(path)
        if file is None:
            with warnings.catch_warnings():
                # Of a large graph, which this is no part of.
                warnings.simplefilter("ignore")
                key = f"hetsched-file-{Path(path).stem[:16]}-{uuid.uuid4().hex}"
                file = self._client.submit(_same, Path(path).read_bytes(), key=key, pure=False)
            self._files[path] = file
        self._last = [*(one for one in self._last if one is not file), file][-_KEPT:]
        return file

    def _is_over(self, future: Future[Any], run: Remote) -> None:
        """Pass on what a run has answered, or the error that it met."""
        if self._runs.pop(future, None) is None:
            return
        try:
            future.set_result(run.result())
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is raised where the answer is asked for
            future.set_exception(self._ours(error))
        finally:
            run.release()

    def _ours(self, error: BaseException) -> BaseException:
        """The error in words of a run."""
        if isinstance(error, HetschedError):
            return error
        if isinstance(error, KilledWorker):
            lost = error.allowed_failures + 1
            own = SimulationError(f"{lost} workers of {self._name} were lost while running it; their logs may say why")
        elif isinstance(error, CancelledError):
            own = SimulationError(f"the scheduler of {self._name} has ended, or was restarted")
        elif isinstance(error, ImportError):
            own = SimulationError(f"a worker of {self._name} cannot import what it needs: {error}")
        else:
            own = SimulationError(f"{type(error).__name__}: {error}")
        own.__cause__ = error
        return own


def _same(content: bytes) -> bytes:
    return content
