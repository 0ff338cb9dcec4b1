"""Clauses in force over time: of those that hold, the one that comes first in rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hetsched.contract.windows import Floats, Ints, Window

NONE = -1
"""In place of a clause: none holds."""


@dataclass(frozen=True)
class Series:
    """The clause in force from each instant until the next; the last instant is the end of the series."""

    at_s: Floats
    clause: Ints

    @staticmethod
    def of(windows: Sequence[Window], rank: Sequence[int], from_s: float, until_s: float) -> Series:
        """The series of clauses with these windows between two instants; `rank` lists them, the first counts most."""
        spans = [window.spans(from_s, until_s) for window in windows]
        at_s = np.unique(np.concatenate([[from_s, until_s], *(ends for span in spans for ends in span)]))
        clause = np.full(len(at_s) - 1, NONE, dtype=np.int64)
        for own in reversed(rank):
            begin_s, end_s = spans[own]
            inside = np.searchsorted(begin_s, at_s[:-1], side="right") > np.searchsorted(end_s, at_s[:-1], side="right")
            clause[inside] = own
        changes = np.append(True, clause[1:] != clause[:-1])
        return Series(np.append(at_s[:-1][changes], at_s[-1]), clause[changes])

    def at(self, unix_s: Floats) -> Ints:
        """The clause in force at each instant of the series."""
        return self.clause[np.clip(np.searchsorted(self.at_s, unix_s, side="right") - 1, 0, len(self.clause) - 1)]
