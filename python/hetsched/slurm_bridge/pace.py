"""The pace of readings: slower once Slurm answers slowly."""

from __future__ import annotations

SLOW_S = 2.0
_SLOW_ANSWERS = 3
MOST_S = 30.0


class Pace:
    """Seconds between readings. Three slow answers in a row double them, up to 30; a fast one halves them again.

    Examples
    --------
    >>> pace = Pace(1.0)
    >>> [pace.after(seconds) for seconds in (3, 3, 3, 3, 3, 3, 0.1, 0.1, 0.1)]
    [1.0, 1.0, 2.0, 2.0, 2.0, 4.0, 2.0, 1.0, 1.0]
    """

    def __init__(self, beat_s: float) -> None:
        self._least_s = self.beat_s = beat_s
        self._slow = 0

    @property
    def is_slowed(self) -> bool:
        """True while Slurm has answered slowly."""
        return self.beat_s > self._least_s

    def after(self, seconds: float) -> float:
        """The seconds to the next reading, once one took so long."""
        if seconds <= SLOW_S:
            self._slow = 0
            self.beat_s = max(self._least_s, self.beat_s / 2)
            return self.beat_s
        self._slow += 1
        if self._slow == _SLOW_ANSWERS:
            self._slow = 0
            self.beat_s = max(self._least_s, min(2 * self.beat_s, MOST_S))
        return self.beat_s
