"""Parts of a computation side by side: in threads, as numpy and LightGBM let go of the interpreter while they work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

__all__ = ["side_by_side", "watched"]

Part = TypeVar("Part")
Done = TypeVar("Done")

_STEP_S = 0.1
_MOST_WORKERS = 16


def side_by_side(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """What comes of each part, in order: the same on one core as on many.

    Parameters
    ----------
    work
        Reads what it shares with other parts and changes nothing of it.
    parts
        How the work is divided must not depend on the number of cores.

    Examples
    --------
    >>> side_by_side(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(min(len(parts), _cores())) as threads:
        return list(threads.map(work, parts))


def watched(work: Callable[[Part], Done], parts: Sequence[Part], tell: Callable[[int, int], object]) -> list[Done]:
    """As `side_by_side`, of parts that take seconds each: tells how many are done, and ends with Ctrl-C or a fault.

    Parameters
    ----------
    work, parts
        As for `side_by_side`.
    tell
        Called with (parts done, parts in all) now and then and at the end; what it raises ends the work.

    Examples
    --------
    >>> watched(abs, [-1, 2, -3], lambda done, total: None)
    [1, 2, 3]
    """
    stop, done, is_patient = threading.Event(), 0, True

    def one(part: Part) -> Done | None:
        return None if stop.is_set() else work(part)

    pool = ThreadPoolExecutor(min(len(parts), _cores(), _MOST_WORKERS))
    try:
        tell(0, len(parts))
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
