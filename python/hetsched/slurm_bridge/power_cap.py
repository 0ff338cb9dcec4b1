"""A cap on the watts of running jobs: each asks for a licence a watt, and a reservation holds what is not to be used.

As the gate, it ends by itself when nobody renews it. What runs is never touched: a cap below what is in use holds new
jobs back until enough have ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hetsched.errors import ConfigError
from hetsched.slurm_bridge.calls import CallError, Slurm
from hetsched.slurm_bridge.gate import end_s_of, remove_reservation, reservation_text

WATTS = "watts"
"""The licence: one is a watt."""
NAME = "hetsched_watts"
"""The reservation."""

_HELD = re.compile(rf"\bLicenses={WATTS}:([0-9]+)\b")


class PowerCap:
    """The reservation that keeps jobs within a cap.

    Parameters
    ----------
    slurm
        The cluster.
    total
        Licences `watts` that it has; None if it has none of this name.
    cap_w
        Watts that jobs may have at a time, at most the total.
    lease_s, user, real
        As of a `Gate`.

    Raises
    ------
    ConfigError
        If there are no such licences, or fewer than the cap.
    """

    def __init__(
        self, slurm: Slurm, *, total: int | None, cap_w: int, lease_s: float, user: str, real: Callable[[], float]
    ) -> None:
        if total is None or cap_w > total:
            found = f"no licence `{WATTS}`" if total is None else f"{total:,} licences `{WATTS}`"
            raise ConfigError(
                [("--cap-w", f"{cap_w:,} with {found}", f"at least as many, one a watt: Licenses={WATTS}:…")]
            )
        self._slurm, self._held, self._lease_s, self._user, self._real = slurm, total - cap_w, lease_s, user, real

    def keep(self) -> None:
        """Make it, renew it once a third of the lease is over, or set it right; raises CallError if it is not there."""
        if not self._held:
            remove_reservation(self._slurm, NAME)
            return
        text = reservation_text(self._slurm, NAME)
        if text is not None and self._is_right(text) and end_s_of(text, NAME) - self._real() > self._lease_s * 2 / 3:
            return
        name, licences = f"ReservationName={NAME}", f"Licenses={WATTS}:{self._held}"
        until = f"EndTime=now+{self._lease_s:.0f}"
        if text is None:
            own = ("StartTime=now", until, licences, "Flags=LICENSE_ONLY,IGNORE_JOBS", f"Users={self._user}")
            answer = self._slurm.call("scontrol", "create", "reservation", name, *own)
        else:
            answer = self._slurm.call("scontrol", "update", name, until, licences)
        # What an exit code says may have been otherwise.
        text = reservation_text(self._slurm, NAME)
        if text is None or not self._is_right(text):
            raise CallError(f"the cap could not be set: {answer.why}")

    def _is_right(self, text: str) -> bool:
        found = _HELD.search(text)
        return found is not None and int(found[1]) == self._held
