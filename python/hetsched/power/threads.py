"""Parts of a computation side by side: in threads, as numpy and the tree growers release the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from importlib import import_module
from types import TracebackType
from typing import Any, TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")

_STEP_S = 0.1
_MOST_WORKERS = 16
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
    """As `side_by_side`, of parts that take seconds each: tells (done, total), and ends with Ctrl-C or a fault.

    What `tell` raises ends the work, too.
    """
    stop, done, is_patient = threading.Event(), 0, True

    def one(part: Part) -> Done | None:
        return None if stop.is_set() else work(part)

    workers = 1 if _is_worker() else min(len(parts), _cores(), _MOST_WORKERS)
    pool = ThreadPoolExecutor(workers, initializer=_become_worker if workers > 1 or _is_worker() else None)
    try:
        tell(0, len(parts))
        with _one_blas_thread:
            futures = [pool.submit(one, part) for part in parts]
            while done < len(parts):
                done = _count_done(futures)
                tell(done, len(parts))
        return [future.result() for future in futures]  # type: ignore[misc]  # None only after a stop
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        stop.set()
        pool.shutdown(wait=is_patient, cancel_futures=True)


def _count_done(futures: Sequence[Future[Any]]) -> int:
    """How many have ended after a short wait; raises what one of them raised."""
    # In small steps: Ctrl-C does not wake a waiting thread, because polars handles it with SA_RESTART.
    done, _ = wait(futures, timeout=_STEP_S, return_when=FIRST_EXCEPTION)
    for future in futures:
        if future in done:
            future.result()
    return len(done)


def _cores() -> int:
    # Not all cores of the machine need be ours.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _become_worker() -> None:
    _own.is_worker = True


def _is_worker() -> bool:
    return getattr(_own, "is_worker", False)


class _OneBlasThread:
    """While any computation is inside, linear algebra stays in the thread that asks for it: cores are shared already.

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


_one_blas_thread = _OneBlasThread()
