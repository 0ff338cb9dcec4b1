"""The paper's guideline: how many processors a budget keeps at work (section V-E, equations 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hetsched.experiments.overprovision.machine import CAPS_W, SOCKETS, counts, slowed


@dataclass(frozen=True)
class Guideline:
    """Processors under a budget, for a mix of jobs."""

    budget_w: float
    nodes: int
    base_w: float  # of a processor, at work or not
    mix: str

    @property
    def installed(self) -> int:
        """Processors in all."""
        return SOCKETS * self.nodes

    @property
    def effective_w(self) -> float:
        """What is left to computing: the budget less the base of all processors."""
        return self.budget_w - self.base_w * self.installed

    @property
    def available(self) -> float:
        """Processors that this feeds, each with all of its watts; so the base of those at work counts twice."""
        return self.effective_w / float(np.average(CAPS_W, weights=counts(self.mix)))

    @property
    def at_work(self) -> float:
        """The paper's measure: no more than are installed."""
        return min(self.available, float(self.installed))

    @property
    def available_once(self) -> float:
        """Processors that the budget feeds if the base counts once, and each job for as long as it runs."""
        mean_w = float(np.average(CAPS_W, weights=np.array(counts(self.mix)) * slowed(np.array(CAPS_W))))
        return self.effective_w / (mean_w - self.base_w)

    @property
    def at_work_once(self) -> float:
        """The same, no more than are installed."""
        return min(self.available_once, float(self.installed))
