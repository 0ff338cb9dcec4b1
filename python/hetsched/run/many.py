"""Many runs: what each answers, as soon as it is known, from a store of finished ones or from any executor.

Sweeps, comparisons and experiments all run here. Whatever has a key and an `execute` can be run: `store` gives what a
folder already holds of it, and keeps what comes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from hetsched.errors import ConfigError, HetschedError, TraceError
from hetsched.run.store import Store

_STEP_S = 0.1


class Task(Protocol):
    """Something to run: plain values or more, as long as the executor can carry it."""

    @property
    def key(self) -> str:
        """Unlike that of every other task that may answer otherwise."""

    @property
    def names(self) -> Mapping[str, Any]:
        """What people call it, for the store's lines."""

    def execute(self) -> Any:
        """The answer."""


AnyTask = TypeVar("AnyTask", bound=Task)


def many(
    tasks: Sequence[AnyTask],
    *,
    executor: Executor | None = None,
    store: Store | None = None,
    place: Callable[[AnyTask], str] | None = None,
) -> Generator[tuple[AnyTask, Any], None, None]:
    """Each task with its answer, in the order in which answers come; of tasks of one key only the first.

    Without an executor they run here, one after the other. The first error of a task is raised, with the task's
    `place` before its text, and what has not begun is not begun any more. Ctrl-C is never waited for: what runs
    meanwhile is the executor's to end.
    """
    first: dict[str, AnyTask] = {}
    for task in tasks:
        first.setdefault(task.key, task)
    known = {} if store is None else store.answers
    yield from [(task, known[key]) for key, task in first.items() if key in known]
    missing = [task for key, task in first.items() if key not in known]
    for task, answer in _executed(missing, executor):
        try:
            found = answer()
        except HetschedError as error:
            if place is None:
                raise
            raise within(place(task), error) from error.__cause__ or error
        if store is not None:
            store.add(task, found)
        yield task, found


def _executed(tasks: Sequence[AnyTask], executor: Executor | None) -> Iterator[tuple[AnyTask, Callable[[], Any]]]:
    """Each task with what gives its answer or raises its error."""
    if executor is None:
        for task in tasks:
            yield task, task.execute
        return
    waiting: dict[Future[Any], AnyTask] = {executor.submit(_execute, task): task for task in tasks}
    try:
        while waiting:
            # In small steps: Ctrl-C does not wake a waiting thread, because polars handles it with SA_RESTART.
            done, _ = wait(waiting, timeout=_STEP_S, return_when=FIRST_COMPLETED)
            for future in [future for future in waiting if future in done]:
                yield waiting.pop(future), future.result
    finally:
        for future in waiting:
            future.cancel()


def _execute(task: Task) -> Any:
    return task.execute()


@contextmanager
def threads(count: int, *, stop: Callable[[], object]) -> Iterator[Executor]:
    """Threads that are not waited for after Ctrl-C; `stop` is called at the end, to stop those that still run."""
    pool, is_patient = ThreadPoolExecutor(count), True
    try:
        yield pool
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        stop()
        pool.shutdown(wait=is_patient, cancel_futures=True)


def within(place: str, error: HetschedError) -> HetschedError:
    """The same error with where it happened before its text; of other errors than a run's own, the same error."""
    if isinstance(error, ConfigError):
        return error.mapped(lambda fault: fault.under(place, ": "))
    if isinstance(error, TraceError):
        return TraceError(**{**vars(error), "file": f"{place}: {error.file}"})
    try:
        return type(error)(f"{place}: {error}")
    except TypeError:
        return error
