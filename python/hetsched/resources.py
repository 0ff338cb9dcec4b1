"""Memory: what is left of it, and frames that take as little as they can; and work side by side in threads."""

from __future__ import annotations

import os
import queue
import re
import resource
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ContextDecorator, contextmanager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

import polars as pl

from hetsched.errors import ConfigError, SimulationError


def available_bytes() -> int | None:
    """Memory that the system and this process's own limit still leave; None where neither says."""
    limits = [limit for limit in (system_bytes(), _of_process()) if limit is not None]
    return min(limits, default=None)


def system_bytes() -> int | None:
    """Memory that the system has left for all processes, swap included; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return (kib["MemAvailable"] + kib["SwapFree"]) * 1024 if {"MemAvailable", "SwapFree"} <= set(kib) else None


def _of_process() -> int | None:
    """The rest of the address space (``ulimit -v``)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)


def gib(size_b: int) -> str:
    """A size as a message shows it."""
    gib = size_b / 2**30
    return f"{gib:,.0f} GiB" if gib >= 100 else f"{gib:.1f} GiB" if gib >= 1 else f"{gib:.2f} GiB"


_ROWS_AT_ONCE = 2**16


class Columns(Protocol):
    """Columns as the engine hands them over."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Those that are handed over, by the Arrow C stream interface."""
        ...

    @property
    def left_out(self) -> list[tuple[int, str, str, int | None]]:
        """Those that hold the same in every row: place, name, type and value."""
        ...


def frame_of(columns: Columns) -> pl.DataFrame:
    """The engine's columns as a frame.

    Those that hold the same in every row and that the engine has left out are constants, which take memory only once
    they are changed.
    """
    frame = pl.DataFrame(columns)
    if not columns.left_out:
        return frame
    whole = [pl.col(name) for name in frame.columns]
    for place, name, dtype, value in columns.left_out:
        whole.insert(place, pl.lit(value, getattr(pl, dtype)).alias(name))
    return frame.select(whole)


def counts_of(words: pl.Series) -> dict[str, int]:
    """Number of rows with each word; stretch by stretch, as the hashes of all rows at once take more than the rows."""
    counts: Counter[str] = Counter()
    for first in range(0, len(words), _ROWS_AT_ONCE):
        counts.update(dict(words.slice(first, _ROWS_AT_ONCE).value_counts().rows()))
    return dict(counts)


Part = TypeVar("Part")
Done = TypeVar("Done")

_STEP_S = 0.1
_MOST_WORKERS = 16
_MOST_OUTSTANDING = 1000
_own = threading.local()


def side_by_side(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """The result of each part, in order: the same on one core as on many, if the parts do not depend on their number.

    Inside another computation's threads one part after the other, so that there are never more threads than cores.
    """
    if len(parts) < 2 or _is_worker():
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(len(parts), _cores()), initializer=_become_worker) as threads:
        return list(threads.map(work, parts))


def watched(work: Callable[[Part], Done], parts: Sequence[Part], tell: Callable[[int, int], object]) -> list[Done]:
    """Same as `side_by_side`, of parts that take seconds each: reports (done, total), and ends with Ctrl-C or a fault.

    What `tell` raises ends the work, too.
    """
    done: dict[int, Done] = {}
    with threads(len(parts)) as pool:
        tell(0, len(parts))
        for place, future in ended(lambda place: pool.submit(work, parts[place]), deque(range(len(parts)))):
            done[place] = future.result()
            tell(len(done), len(parts))
    return [done[place] for place in range(len(parts))]


@contextmanager
def threads(most: int, *, stop: Callable[[], object] = lambda: None) -> Iterator[Executor]:
    """An executor of threads, no more than cores, that are not waited for after Ctrl-C.

    Whatever has not begun at the end is not begun; `stop` is called then, to end what still runs.
    """
    count = 1 if _is_worker() else min(most, _cores(), _MOST_WORKERS)
    pool, is_patient = (
        ThreadPoolExecutor(count, initializer=_become_worker if count > 1 or _is_worker() else None),
        True,
    )
    try:
        with one_blas_thread:
            yield pool
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        stop()
        pool.shutdown(wait=is_patient, cancel_futures=True)


def ended(
    submit: Callable[[Part], Future[Done]],
    parts: deque[Part],
    *,
    most: Callable[[], int] = lambda: _MOST_OUTSTANDING,
    look: Callable[[], object] = lambda: None,
) -> Iterator[tuple[Part, Future[Done]]]:
    """Each part with its future, as they end; what has not begun is cancelled at the end.

    Parts are taken from the left, and no more than `most` of them are outstanding at a time; the caller
    may put a part back. `look` is called now and then, and ends it all by an error.
    """
    over: queue.SimpleQueue[Future[Done]] = queue.SimpleQueue()
    waiting: dict[Future[Done], Part] = {}
    try:
        while parts or waiting:
            while parts and len(waiting) < most():
                part = parts.popleft()
                future = submit(part)
                waiting[future] = part
                future.add_done_callback(over.put)
            # What a future answers may be large: once it has been given out, nothing here holds it any more.
            future = part = done = None  # type: ignore[assignment]
            done = _soon(over)
            if done is None:
                # Not in the clause of the empty queue, which an error of `look`, Ctrl-C too, would show as its cause.
                look()
            else:
                yield waiting.pop(done), done
    finally:
        for future in waiting:
            future.cancel()


def _soon(over: queue.SimpleQueue[Future[Done]]) -> Future[Done] | None:
    """The next future that ended; None after a step in which none did."""
    try:
        # In small steps: Ctrl-C does not wake a waiting thread, because polars handles it with SA_RESTART.
        return over.get(timeout=_STEP_S)
    except queue.Empty:
        return None


def _cores() -> int:
    # Not all cores of the machine need be ours.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _become_worker() -> None:
    _own.is_worker = True


def _is_worker() -> bool:
    return getattr(_own, "is_worker", False)


class _OneBlasThread(ContextDecorator):
    """While any computation is inside, linear algebra stays in the thread that asks for it.

    Cores are shared already, or matrices so small that threads cost more than they bring.

    The limit is the process's, so the first one in sets it and the last one out lifts it. Without threadpoolctl, which
    comes with scikit-learn, there is none.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                try:
                    self._limits = import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
                except ImportError:
                    self._limits = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()


one_blas_thread = _OneBlasThread()


_OF_POLARS = re.compile(r"polars-\d|async-executor|tokio-rt")
"""Names of the threads that polars computes with; it starts them at its first work, not when it is imported."""


class _State:
    """Knowledge about this process."""

    had_threads = False
    """True if there were threads of polars when the last fork began."""
    is_without = False
    """True if they were lost in a fork."""


def _look() -> None:
    try:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    except OSError:  # a thread that has just ended, or no Linux
        return
    _State.had_threads = any(map(_OF_POLARS.match, names))


def _remember() -> None:
    _State.is_without = _State.is_without or _State.had_threads


os.register_at_fork(before=_look, after_in_child=_remember)


def check_threads() -> None:
    """Raise an error where work of polars would never end.

    Raises
    ------
    SimulationError
        If the process was forked from one in which polars had been at work.
    ConfigError
        If polars is to have no threads.

    Examples
    --------
    >>> check_threads()
    """
    if os.environ.get("POLARS_MAX_THREADS", "").strip() == "0":
        # Polars would panic, and not say why.
        raise ConfigError([("POLARS_MAX_THREADS", "`0`", "a number of threads from 1, or no such variable")])
    if _State.is_without:
        raise SimulationError(
            "this process was forked from one in which polars had been at work, and has lost its threads: start "
            'processes by multiprocessing.get_context("spawn") or "forkserver", or run hetsched.sweep'
        )
