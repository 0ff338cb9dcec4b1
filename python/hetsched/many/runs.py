"""Runs of which more is kept than a summary: here on threads, or with all that they are made of on any executor."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hetsched.engine import engine
from hetsched.files import write_whole
from hetsched.many.carried import content_of, held, inputs_folder
from hetsched.many.executors import Where, executor_of
from hetsched.many.many import many
from hetsched.many.progress import Bars, Reporting, teller
from hetsched.many.spec import check_engine, unless_gone
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.resources import threads
from hetsched.run.memory import most_at_once
from hetsched.run.options import RunOptions
from hetsched.run.result import Result
from hetsched.run.simulation import Progress, Run
from hetsched.workload import Workload

Kept = Callable[[Run, Result], Any]
"""A function that gives what is kept of a run's result; one that pickle takes goes to other processes."""


def summary_of(run: Run, result: Result) -> dict[str, Any]:
    """The summary, of all that there is."""
    del run
    return result.summary()


@dataclass(frozen=True)
class RunTask:
    """A run, and what is kept of its result; `str` of it is its place in messages."""

    key: str
    names: Mapping[str, Any]
    run: Run
    keep: Kept
    title: str = ""
    tell: Progress | None = None

    def __str__(self) -> str:
        return self.title

    def execute(self) -> Any:
        """The part of the result that is kept."""
        result = self.run.execute(self.tell)
        if self.tell is not None:
            self.tell(1, 1, 0.0)
        return self.keep(self.run, result)


@dataclass(frozen=True)
class RunElsewhere:
    """The same for any process that can read its files, which hold the workload and the platform as they are."""

    key: str
    names: Mapping[str, Any]
    files: tuple[str, str]
    policy: Policy
    options: RunOptions
    keep: Kept
    engine: str | None

    def execute(self) -> Any:
        """The part of the result that is kept."""
        check_engine(self.engine)
        workload, platform = map(_read, self.files)
        run = Run(workload, platform, self.policy, self.options)
        return self.keep(run, run.execute())


def answers_of(
    tasks: Sequence[RunTask], progress: Reporting, where: Where = None
) -> Generator[tuple[RunTask, Any], None, None]:
    """Each run with its answer, as they come: on an executor, or on as many threads as memory suffices for."""
    yield from _on_threads(tasks, progress) if where is None else _elsewhere(tasks, progress, where)


def _on_threads(tasks: Sequence[RunTask], progress: Reporting) -> Generator[tuple[RunTask, Any], None, None]:
    """Answers of threads of this process; a bar is a run's."""
    workloads, platforms = [task.run.workload for task in tasks], [task.run.platform for task in tasks]
    # Made here, so that threads don't make them twice.
    _ = [workload._core_columns for workload in workloads], [platform._machine for platform in platforms]
    tell = teller(progress)
    tell(0, len(tasks))
    with Bars(shown=progress == "bar") as bars:
        count = min(len(tasks), most_at_once(workloads, platforms, in_processes=False))
        shown = [replace(task, tell=bars.bar(task.title, unit="jobs")) for task in tasks]
        with threads(count, stop=bars.stop) as executor, closing(many(shown, executor=executor)) as answers:
            for done, answer in enumerate(answers, 1):
                yield answer
                tell(done, len(tasks))


def _elsewhere(
    tasks: Sequence[RunTask], progress: Reporting, where: Where
) -> Generator[tuple[RunTask, Any], None, None]:
    """Answers of an executor; one bar is all runs'."""
    given = {task.key: task for task in tasks}
    with (
        Bars(shown=progress == "bar") as bars,
        executor_of(where, None, len(given), (), ()) as executor,
        inputs_folder(None) as folder,
    ):
        tell = bars.bar("runs", unit="runs") if progress == "bar" else teller(progress)
        tell(0, len(tasks))
        with closing(many(list(_carried(tasks, folder)), executor=executor)) as answers:
            for done, (task, answer) in enumerate(answers, 1):
                yield given[task.key], answer
                tell(done, len(tasks))


def _carried(tasks: Sequence[RunTask], folder: Path) -> Iterator[RunElsewhere]:
    """The tasks as executors take them; each workload and platform is written to the folder once."""
    paths: dict[int, str] = {}

    def written(thing: Workload | Platform) -> str:
        if id(thing) not in paths:
            path = folder / f"{type(thing).__name__.lower()}-{len(paths)}.pickle"
            write_whole(path, pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))
            paths[id(thing)] = str(path)
        return paths[id(thing)]

    for task in tasks:
        run = task.run
        files = (written(run.workload), written(run.platform))
        yield RunElsewhere(task.key, task.names, files, run.policy, run.options, task.keep, engine().package)


@held
def _read(path: str) -> Any:
    """A workload or a platform as it was written."""
    with unless_gone(path, "what a run is made of"):
        found = content_of(path)
        return pickle.loads(Path(found).read_bytes() if isinstance(found, str) else found.read())
