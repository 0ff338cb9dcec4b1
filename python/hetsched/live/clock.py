"""The clock of a live run: microseconds since its start, which no setting of the wall clock moves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from hetsched.checks import reason_of
from hetsched.errors import LiveError, OutputError
from hetsched.live.processes import boot_id, now_us
from hetsched.live.sealed import write_json


def real_s() -> float:
    """Seconds since 1970, as the wall clock has it; for people only."""
    return time.time()


class Clock:
    """The time of a run, over all boots of the machine in which it was under way.

    Within a boot it follows the clock that counts from the boot. After another boot it goes on from the last instant
    that is known, with as much as the wall clock has gone on since, if that is not backwards.
    """

    def __init__(
        self,
        origins: dict[str, int],
        *,
        boot: str | None = None,
        now: Callable[[], int] = now_us,
    ) -> None:
        self.origins = origins
        """By boot: the run's instant 0 on the clock of that boot, in microseconds; less than 0 after the first."""
        self.boot = boot_id() if boot is None else boot
        self._now = now

    @classmethod
    def started(cls, *, boot: str | None = None, now: Callable[[], int] = now_us) -> Clock:
        """The clock of a run that starts now."""
        boot = boot_id() if boot is None else boot
        return cls({boot: now()}, boot=boot, now=now)

    def resumed(self, last_us: int, last_real_s: float, *, real: Callable[[], float] = real_s) -> None:
        """Go on after an instant, on whatever boot this is."""
        if self.boot not in self.origins:
            gone_us = max(0, round((real() - last_real_s) * 1e6))
            self.origins[self.boot] = self._now() - (last_us + gone_us)

    @property
    def t_us(self) -> int:
        """The present instant."""
        return self._now() - self.origins[self.boot]

    def instant(self, boot: str, boot_us: int) -> int | None:
        """The instant of the run that a boot's own clock showed so; None for a boot that it knows nothing of."""
        return boot_us - self.origins[boot] if boot in self.origins else None

    def boot_us(self, t_us: int) -> int:
        """An instant of the run on the clock of the present boot."""
        return t_us + self.origins[self.boot]

    def write(self, folder: str) -> None:
        """Write the origins down; raises OutputError if that cannot be."""
        path = f"{folder}/clock.json"
        try:
            write_json(path, {"origin_us": self.origins})
        except OSError as error:
            raise OutputError(path, reason_of(error)) from None

    @classmethod
    def read(cls, folder: str, **given: Any) -> Clock:
        """The clock of the run in a folder; raises LiveError if it does not read."""
        path = f"{folder}/clock.json"
        try:
            with open(path, encoding="utf-8") as file:
                return cls(json.load(file)["origin_us"], **given)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LiveError(
                f"{path}: found no clock of a run ({reason_of(error)}), expected origin_us by boot"
            ) from None
