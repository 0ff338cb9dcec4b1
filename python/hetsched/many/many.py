"""Many runs: what each answers, as soon as it is known, from a store of finished ones or from any executor.

Sweeps, comparisons and experiments all run here. Whatever has a key and an `execute` can be run: `store` gives what a
folder already holds of it, and keeps what comes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

from hetsched.errors import ConfigError, HetschedError, TraceError
from hetsched.many.store import Store
from hetsched.threads import ended


class Task(Protocol):
    """Something to run: plain values or more, as long as the executor can carry it."""

    @property
    def key(self) -> str:
        """Unlike that of every other task that may answer otherwise."""

    @property
    def names(self) -> Mapping[str, Any]:
        """Names for people to read, for the store's lines."""

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
    for task, future in ended({executor.submit(_execute, task): task for task in tasks}):
        yield task, future.result


def _execute(task: Task) -> Any:
    return task.execute()


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
