"""Many runs: what each answers, as soon as it is known, from a store of finished ones or from any executor.

Sweeps, comparisons, provisions and experiments all run here. Whatever has a key and an `execute` can be run: `store`
gives what a folder already holds of it, and keeps what comes.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from hetsched.errors import ConfigError, HetschedError, SimulationError, TraceError
from hetsched.many.carried import Build, build, check_build
from hetsched.many.far import MOST_LOSSES, Far, WorkerLost
from hetsched.many.store import Named, Store
from hetsched.resources import ended


class Task(Named, Protocol):
    """Something to run: plain values or more, as long as the executor can carry it."""

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

    Without an executor they run here, one after the other; with one, tasks of the same `files` follow each other, and
    of the answers no more are held than are outstanding at a time. A task whose process or machine was lost runs again,
    up to three times. The first error of a task is raised, with the task's `place` before its text, and what has not
    begun is not begun any more. Ctrl-C is never waited for: what runs meanwhile is the executor's to end.
    """
    missing, known = deque[AnyTask](), deque[AnyTask]()
    seen: set[str] = set()
    for task in tasks:
        if task.key not in seen:
            (missing if store is None or task.key not in store.answers else known).append(task)
            seen.add(task.key)
    # Nothing here holds a task that is over.
    del tasks, seen
    while known and store is not None:
        yield (task := known.popleft()), store.answers[task.key]
    losses: Counter[str] = Counter()
    for task, answer in _executed(missing, executor):
        try:
            try:
                found = answer()
            except WorkerLost as error:
                losses[task.key] += 1
                if losses[task.key] < MOST_LOSSES:
                    missing.append(task)
                    continue
                raise SimulationError(f"{error}; it was the {MOST_LOSSES}rd to be lost while running it") from error
            except BrokenExecutor as error:
                raise SimulationError(f"the executor has broken down: {error}") from error
        except HetschedError as error:
            if place is None:
                raise
            raise within(place(task), error) from error.__cause__ or error
        if isinstance(found, dict):
            # Answers of other processes bring their names along; those of ten thousand runs are most of what they take.
            found = {sys.intern(name): value for name, value in found.items()}
        if store is not None:
            store.add(task, found)
        yield task, found


def _executed(tasks: deque[AnyTask], executor: Executor | None) -> Iterator[tuple[AnyTask, Callable[[], Any]]]:
    """Each task with what gives its answer or raises its error; the caller may put one back among the tasks."""
    if executor is None:
        while tasks:
            task = tasks.popleft()
            yield task, task.execute
        return
    in_groups = _grouped(tasks)
    tasks.clear()
    while in_groups:
        tasks.append(in_groups.popleft())
    # Threads of this process have the code of here.
    own = None if isinstance(executor, ThreadPoolExecutor) else build()
    watch: dict[str, Any] = {"most": executor.outstanding, "look": executor.look} if isinstance(executor, Far) else {}
    for task, future in ended(lambda task: executor.submit(execute, task, own), tasks, **watch):
        yield task, future.result


def _grouped(tasks: Iterable[AnyTask]) -> deque[AnyTask]:
    """Tasks that read the same files one after the other, in the order in which files are first read."""
    place: dict[str, int] = {}

    def places(task: AnyTask) -> tuple[int, ...]:
        return tuple(place.setdefault(file, len(place)) for file in getattr(task, "files", ()))

    return deque(sorted(tasks, key=places))


def execute(task: Task, own: Build | None) -> Any:
    """The answer of a task, wherever this is called; where a build is given, only hetsched of that one may give it."""
    if own is not None:
        check_build(own)
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
