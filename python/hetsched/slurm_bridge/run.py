"""Beats in a row: a bridge on this machine's clocks, until it is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable

from hetsched.slurm_bridge.bridge import Bridge
from hetsched.slurm_bridge.pace import Pace


class BridgeClock:
    """Microseconds since 1970 at its start, and from then on by the clock that counts from the boot."""

    def __init__(self) -> None:
        self._origin_us = time.time_ns() // 1000 - self._boot_us()

    @staticmethod
    def _boot_us() -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000

    def __call__(self) -> int:
        """The present instant, which no setting of the wall clock moves."""
        return self._origin_us + self._boot_us()


def run_beats(
    bridge: Bridge,
    pace: Pace,
    *,
    beats: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
    hasten: Callable[[float], None] | None = None,
    now: Callable[[], float] = time.monotonic,
) -> int:
    """Make beats, so many or without an end, each when the last one's time is over; gives those with a reading.

    `hasten` waits in place of `sleep`, and less if there is news; not while Slurm answers slowly.
    """
    done = good = 0
    while beats is None or done < beats:
        began = now()
        good += bridge.beat()
        done += 1
        took_s = now() - began
        wait_s = pace.after(took_s) - took_s
        if wait_s > 0 and done != beats:
            (sleep if hasten is None or pace.is_slowed else hasten)(wait_s)
    return good
