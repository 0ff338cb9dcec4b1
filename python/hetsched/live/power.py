"""Power of a live run: the machine's counters (RAPL), or what the platform says that its nodes draw."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path

import numpy as np

from hetsched.checks import Faults
from hetsched.platform import Platform

SOURCES = ("auto", "rapl", "model", "none")
"""Words for the source of power."""

ZONES = "/sys/class/powercap"
_HEAD = "t_us,energy_j\n"
_PERIOD_S = 1.0
"""Seconds between two readings: counters wrap after a minute or more."""


class Rapl:
    """Energy of the machine's processors since the first reading; never that of one node."""

    def __init__(self, zones: Sequence[Path]) -> None:
        self._zones = zones
        self._wraps_uj = [int((zone / "max_energy_range_uj").read_text()) for zone in zones]
        self._last_uj = [_counter(zone) for zone in zones]
        self._read_at = time.monotonic()
        self.energy_j = 0.0
        self.power_w: float | None = None
        """Mean draw between the last two readings."""

    @classmethod
    def of(cls, folder: str = ZONES, faults: Faults | None = None) -> Rapl | None:
        """The counters of all packages; None where there are none, or none that may be read, with a note of it."""
        # Zones of a package, such as its memory, have two numbers, and count in it.
        zones = [zone for zone in sorted(Path(folder).glob("intel-rapl:*")) if zone.name.count(":") == 1]
        try:
            if zones:
                return cls(zones)
            found, expected = "no counters", f"a machine that has {folder}/intel-rapl:*"
        except PermissionError:
            found = "counters that only root may read"
            expected = f"counters that may be read: as root, chmod a+r {folder}/intel-rapl:*/energy_uj"
        except (OSError, ValueError) as error:
            found, expected = f"counters that cannot be read ({error})", "counters of energy"
        if faults is not None:
            faults.note("--power rapl", found, expected)
        return None

    def read(self) -> bool:
        """Read them, if it is time; False if it is not."""
        now = time.monotonic()
        if now - self._read_at < _PERIOD_S:
            return False
        counts = [_counter(zone) for zone in self._zones]
        pairs = zip(counts, self._last_uj, self._wraps_uj, strict=True)
        # A counter goes on from 0 when it has come to the end of its range.
        gone_j = sum((count - last) % (wrap + 1) for count, last, wrap in pairs) / 1e6
        self.energy_j += gone_j
        self.power_w = gone_j / (now - self._read_at)
        self._last_uj, self._read_at = counts, now
        return True


def _counter(zone: Path) -> int:
    return int((zone / "energy_uj").read_text())


class EnergyFile:
    """The machine's energy, over all processes that took part in a run: a line a reading of each."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / "rapl.csv"

    def begin(self, t_us: int) -> None:
        """Add the first reading of this process, behind the last whole one of an earlier process."""
        if self._path.exists():
            data = self._path.read_bytes()
            os.truncate(self._path, data.rfind(b"\n") + 1)
        self.add(t_us, 0.0)

    def add(self, t_us: int, energy_j: float) -> None:
        """Add a reading: the energy since this process's first.

        On a full disk none is added, and a run goes on: the next reading holds what this one did.
        """
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            before = os.fstat(file).st_size
            line = f"{'' if before else _HEAD}{t_us},{energy_j:.6f}\n".encode()
            if not _is_written(file, line):
                os.ftruncate(file, before)
        finally:
            os.close(file)

    def total_j(self) -> float | None:
        """All energy that was read; None if there was no reading."""
        if not self._path.exists():
            return None
        total = last = 0.0
        for energy_j in self._readings():
            # Less than before: another process has begun to count.
            total += energy_j if energy_j < last else energy_j - last
            last = energy_j
        return total

    def _readings(self) -> Iterator[float]:
        """Readings, without a last one that is torn."""
        for line in self._path.read_text(encoding="ascii").split("\n")[1:-1]:
            yield float(line.partition(",")[2])


def _is_written(file: int, line: bytes) -> bool:
    """True if a line is in a file as a whole; a full disk takes a part of it, or nothing."""
    try:
        return os.write(file, line) == len(line)
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT):
            raise
        return False


def tdp_of(platform: Platform) -> list[float]:
    """The most that each node draws, as the platform's classes have it."""
    return [one.tdp_w for one in platform.classes for _ in range(one.count)]


def model_w(platform: Platform, busy: Collection[int]) -> float:
    """Watts of the machine with some of its nodes busy, as the platform's classes have it."""
    at_work = [one.tdp_w if one.busy_w is None else one.busy_w for one in platform.classes]
    each = np.repeat(at_work, [one.count for one in platform.classes])
    nodes = list(busy)
    return float(platform.idle_w.sum() + (each - platform.idle_w)[nodes].sum())
