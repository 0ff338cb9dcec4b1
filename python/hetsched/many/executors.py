"""Executors of runs: processes of this machine, a cluster by a word such as ``dask://host:8786``, or a user's own.

Each word is a row of `_KINDS`: how it is written, the package it needs, and what opens the executor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from hetsched.checks import Faults
from hetsched.many.processes import Processes
from hetsched.platform import Platform
from hetsched.run.memory import MOST_WORKERS, most_at_once
from hetsched.workload import Workload

Where = Executor | str | None
"""Executors as callers give them: an object, a word, or none."""

FORMS = "processes:N, dask://HOST:PORT, dask-slurm, dask-slurm:N or mpi"
_SLURM_JOBS = 8


@dataclass(frozen=True)
class _Kind:
    """A kind of executor by its word."""

    form: re.Pattern[str]
    open: Callable[[re.Match[str], int], AbstractContextManager[Executor]]
    """From the word and the number of runs."""
    package: str | None = None
    extra: str = ""


def _processes(word: re.Match[str], runs: int) -> AbstractContextManager[Executor]:
    return Processes(min(int(word[1]), max(runs, 1)))


def _dask(word: re.Match[str], runs: int) -> AbstractContextManager[Executor]:
    from hetsched.many.on_dask import at_scheduler  # noqa: PLC0415 -- an extra

    del runs
    return at_scheduler(word[1])


def _slurm(word: re.Match[str], runs: int) -> AbstractContextManager[Executor]:
    from hetsched.many.on_dask import in_slurm  # noqa: PLC0415 -- an extra

    return in_slurm(min(int(word[1] or _SLURM_JOBS), max(runs, 1)))


def _mpi(word: re.Match[str], runs: int) -> AbstractContextManager[Executor]:
    from hetsched.many.on_mpi import on_ranks  # noqa: PLC0415 -- an extra

    del word, runs
    return on_ranks()


_KINDS = (
    _Kind(re.compile(r"processes:(\d+)"), _processes),
    _Kind(re.compile(r"dask://((?:[^\s/:\[\]]+|\[[^\s\]]+\]):\d+)"), _dask, "distributed", "dask"),
    _Kind(re.compile(r"dask-slurm(?::(\d+))?"), _slurm, "dask_jobqueue", "slurm"),
    _Kind(re.compile(r"mpi"), _mpi, "mpi4py", "mpi"),
)


def _found(word: str) -> tuple[_Kind, re.Match[str]] | None:
    matches = ((kind, kind.form.fullmatch(word)) for kind in _KINDS)
    return next(((kind, match) for kind, match in matches if match is not None), None)


def check_word(word: str, faults: Faults, place: str) -> None:
    """Note a word that is none of an executor, and one whose package is not installed."""
    found = _found(word)
    if found is None:
        faults.add(place, word, FORMS)
        return
    kind, match = found
    if match.re.groups and (match[1] or "").isdigit():
        faults.whole(place, int(match[1]), low=1, high=MOST_WORKERS)
    if kind.package is not None and find_spec(kind.package) is None:
        needed = f"{kind.package.replace('_', '-')}: pip install 'hetsched[{kind.extra}]'"
        faults.note(place, f"an installation without {kind.package.replace('_', '-')}", needed)


def check_where(workers: object, executor: object, faults: Faults) -> None:
    """Note what cannot be where runs are made: `workers` are processes of this machine, and an executor has its own."""
    if isinstance(executor, str):
        check_word(executor, faults, "executor")
    elif executor is not None and not isinstance(executor, Executor):
        faults.add("executor", type(executor).__name__, f"an Executor of concurrent.futures, or {FORMS}")
    if workers is not None:
        faults.whole("workers", workers, low=1, high=MOST_WORKERS)
        if executor is not None:
            faults.add("workers", workers, "nothing with an executor, which has its own")


@contextmanager
def executor_of(
    given: Where,
    workers: int | None,
    runs: int,
    workloads: Iterable[Workload],
    platforms: Iterable[Platform],
) -> Iterator[Executor | None]:
    """The user's own executor, processes, or none: one run after the other, in this process.

    Raises
    ------
    ConfigError
        If what a word names cannot be reached.
    """
    if isinstance(given, str):
        found = _found(given)
        assert found is not None
        with found[0].open(found[1], runs) as opened:
            yield opened
        return
    if given is not None:
        yield given
        return
    most = most_at_once(workloads, platforms, in_processes=True) if workers is None else workers
    count = min(runs, most)
    if count == 1:
        yield None
    else:
        with Processes(count) as processes:
            yield processes
