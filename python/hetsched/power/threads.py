"""Parts of a computation side by side: in threads, as numpy and LightGBM let go of the interpreter while they work."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["side_by_side"]

Part = TypeVar("Part")
Done = TypeVar("Done")


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


def _cores() -> int:
    # Not all cores of the machine need be ours.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
