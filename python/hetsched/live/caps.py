"""Caps of a policy, set as limits of the machine's processors (RAPL), and taken back at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hetsched.checks import Faults, reason_of
from hetsched.live.power import ZONES
from hetsched.live.sealed import write_json

LIMIT = "constraint_0_power_limit_uw"
"""The file of a package's long-term limit, in microwatts."""

NAME = "caps.json"
"""The file in a run's folder with the limits that were there before."""


class CappedRun(Protocol):
    """A run on nodes with a cap."""

    @property
    def nodes(self) -> Sequence[int]:
        """Its nodes."""
        ...

    @property
    def capped_w(self) -> float | None:
        """The cap on each of them by now, if it has one."""
        ...


class ProcessorCaps:
    """Limits of the machine's processors that follow the caps of its nodes.

    The processors are the machine's, never a node's: together they may draw the sum of what the nodes may, a node
    without a cap its `tdp_w`, in equal parts, and never more than they were limited to before. Without any cap they
    have those limits again.

    Parameters
    ----------
    folder
        The run's, where the limits that were there before are written down before any is changed.
    tdp_w
        Draw of each node without a cap.
    zones
        Folders of the packages.
    say
        Takes a line if a limit cannot be set; none is set any more then.
    """

    def __init__(
        self, folder: str, tdp_w: Sequence[float], zones: Sequence[Path], say: Callable[[str], object]
    ) -> None:
        self._note, self._tdp_w, self._say = Path(folder) / NAME, tdp_w, say
        self._limits = {str(zone / LIMIT): int((zone / LIMIT).read_text()) for zone in zones}
        self._set: int | None = None
        """Microwatts of each package by now; None: what was there before."""

    def follow(self, runs: Iterable[CappedRun]) -> None:
        """Set what the caps of these runs make of the limits."""
        if not self._limits:
            return
        caps = {node: run.capped_w for run in runs if run.capped_w is not None for node in run.nodes}
        wanted = self._wanted_uw(caps) if caps else None
        if wanted == self._set:
            return
        try:
            if self._set is None:
                write_json(str(self._note), self._limits)
            for path, before in self._limits.items():
                Path(path).write_text(str(before if wanted is None else min(wanted, before)))
        except OSError as error:
            self._say(f"caps: {error.filename or self._note}: {reason_of(error)}; no more caps are set")
            self.restore()
            self._limits = {}
            return
        self._set = wanted
        if wanted is None:
            self._note.unlink(missing_ok=True)

    def restore(self) -> None:
        """Set the limits that were there before."""
        restored(str(self._note.parent), self._say)
        self._set = None

    def _wanted_uw(self, caps: Mapping[int, float]) -> int:
        watts = sum(caps.get(node, tdp_w) for node, tdp_w in enumerate(self._tdp_w))
        return round(1e6 * watts / len(self._limits))


def capped_zones(faults: Faults, folder: str = ZONES) -> list[Path]:
    """Packages whose limits can be set; notes it if there are none."""
    zones = [zone for zone in sorted(Path(folder).glob("intel-rapl:*")) if zone.name.count(":") == 1]
    found = "no processors with limits" if not zones else ""
    for zone in zones:
        path = zone / LIMIT
        try:
            text = path.read_text()
            with path.open("r+") as file:
                file.write(text)
        except OSError as error:
            found = f"{path}: {reason_of(error)}"
    if found:
        faults.note("--act-caps", found, f"limits that may be written, {folder}/intel-rapl:*/{LIMIT}, as root may")
        return []
    return zones


def restored(folder: str, say: Callable[[str], object]) -> bool:
    """Set the limits that were there before a run changed them; False if it has not, or has done so already."""
    path = Path(folder) / NAME
    try:
        limits: Any = json.loads(path.read_text())
    except FileNotFoundError:
        return False
    except ValueError:
        limits = None
    if not isinstance(limits, dict):
        say(f"{path}: found no limits, expected files and their microwatts: processors are as a run has left them")
        return False
    for name, value in limits.items():
        try:
            Path(name).write_text(str(value))
        except OSError as error:
            say(f"caps: {name} cannot be set to {value} uW again: {reason_of(error)}")
            return False
    path.unlink(missing_ok=True)
    return True
