"""Memory that is left, for callers about to ask for much."""

from __future__ import annotations

import os
import resource
from pathlib import Path


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
