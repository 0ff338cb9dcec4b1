"""The gate: a reservation of all licences that jobs ask for, which ends by itself when nobody renews it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hetsched.checks import reason_of
from hetsched.errors import ConfigError, OutputError
from hetsched.live.points import point
from hetsched.slurm_bridge.calls import CallError, Slurm
from hetsched.slurm_bridge.standing import GATE

_END = re.compile(r"\bEndTime=([0-9]+)\b")


class Gate:
    """The reservation that holds jobs back, one for all of them.

    Parameters
    ----------
    slurm
        The cluster.
    total
        Licences that the cluster has.
    lease_s
        Seconds after which it ends unless it is renewed: Slurm then starts all jobs by its own rules.
    user
        The account that runs the bridge.
    real
        Seconds since 1970.
    folder
        The journal's, which one bridge at a time works in. The end that was set last is noted there, so that a bridge
        that starts again knows the gate for its own.
    """

    def __init__(
        self, slurm: Slurm, *, total: int, lease_s: float, user: str, real: Callable[[], float], folder: str
    ) -> None:
        self._slurm, self._total, self._lease_s, self._user, self._real = slurm, total, lease_s, user, real
        self._note = Path(folder) / "gate"

    def end_s(self) -> int | None:
        """The second at which it ends; None if there is no gate. Raises CallError."""
        return gate_end_s(self._slurm)

    def take(self, sleep: Callable[[float], None]) -> None:
        """Make it, or take one over that nobody renews.

        Raises
        ------
        ConfigError
            If another bridge lives, which has renewed it meanwhile.
        CallError
            If it cannot be made.
        """
        before = self.end_s()
        # An end that stands as this folder's last bridge has set it was moved by nobody since.
        if before is not None and str(before) != self._noted():
            sleep(self._lease_s / 3 + 2)
            after = self.end_s()
            if after is not None and after != before:
                raise _another("a gate that another bridge renews")
        # Anyone who waits at this moment sees the end move.
        self._set(self.end_s())

    def keep(self) -> None:
        """Renew it if a third of the lease is over; make it if there is none. Raises as `take`."""
        end_s = self.end_s()
        if end_s is not None and end_s - self._real() > self._lease_s * 2 / 3:
            return
        self._set(end_s)

    def _set(self, end_s: int | None) -> None:
        until = f"EndTime=now+{self._lease_s:.0f}"
        name = f"ReservationName={GATE}"
        if end_s is None:
            point("gate.absent")
            own = (f"Licenses={GATE}:{self._total}", "Flags=LICENSE_ONLY,IGNORE_JOBS", f"Users={self._user}")
            answer = self._slurm.call("scontrol", "create", "reservation", name, "StartTime=now", until, *own)
            if "Duplicate reservation name" in answer.err + answer.out and self.end_s() is not None:
                raise _another("a gate that another bridge has made at this moment")
        else:
            answer = self._slurm.call("scontrol", "update", name, until)
            point("gate.renewed")
        # A call that failed may have been carried out, and one that did not may come too late.
        end_s = self.end_s()
        if end_s is None:
            raise CallError(f"the gate could not be made: {answer.why}")
        self._write(str(end_s))

    def _noted(self) -> str:
        try:
            return self._note.read_text(encoding="ascii", errors="replace")
        except OSError:
            # A folder without a note is a new one; if it cannot be read the gate is taken for another bridge's.
            return ""

    def _write(self, text: str) -> None:
        new = self._note.with_suffix(".new")
        try:
            self._note.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(text, encoding="ascii")
            new.replace(self._note)
        except OSError as error:
            raise OutputError(str(self._note), reason_of(error)) from None


def _another(found: str) -> ConfigError:
    return ConfigError([("--act", found, "one bridge a cluster, or the end of the other one")])


def gate_end_s(slurm: Slurm) -> int | None:
    """The second at which the gate ends; None if there is none. Raises CallError."""
    text = reservation_text(slurm, GATE)
    return None if text is None else end_s_of(text, GATE)


def remove_gate(slurm: Slurm) -> bool:
    """Take the gate away; False if there was none. Raises CallError if it is still there."""
    return remove_reservation(slurm, GATE)


def reservation_text(slurm: Slurm, name: str) -> str | None:
    """The record of a reservation; None if there is none. Raises CallError."""
    answer = slurm.call("scontrol", "-o", "show", "reservation", name)
    if answer.code != 0:
        if "not found" in answer.out + answer.err:
            return None
        answer.checked()
    return answer.out


def end_s_of(text: str, name: str) -> int:
    """The second at which a reservation ends, by its record; raises CallError."""
    found = _END.search(text)
    if found is None:
        raise CallError(f"scontrol show reservation {name}: no end that reads")
    return int(found[1])


def remove_reservation(slurm: Slurm, name: str) -> bool:
    """Take a reservation away; False if there was none. Raises CallError if it is still there."""
    if reservation_text(slurm, name) is None:
        return False
    answer = slurm.call("scontrol", "delete", f"ReservationName={name}")
    if reservation_text(slurm, name) is not None:
        raise CallError(f"the reservation {name} could not be taken away: {answer.why}")
    return True
