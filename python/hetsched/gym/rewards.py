"""Rewards: what an agent is paid between two decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, listed, plain
from hetsched.errors import ConfigError
from hetsched.platform import Platform

REWARDS = {
    "wait": "- ∫ (queued jobs) dt / (3600 s × N)",
    "bounded_slowdown": "- ∫ Σ over queued jobs of 1 / max(runtime, 10 s) dt / N",
    "energy": "- ∫ (system power) dt / (TDP of the machine × 3600 s)",
}
"""Each reward by its name; the integrals run from one decision to the next, and N is the number of the episode's jobs.

Over a whole episode they add up to: ``wait``, minus the mean wait in hours; ``bounded_slowdown``, 1 minus the mean
bounded slowdown, where jobs are no shorter than 10 s and run as long as the workload says; ``energy``, minus the energy
of the run, in hours of the machine's TDP.
"""


class Reward:
    """A weighted sum of the rewards."""

    def __init__(self, given: object, platform: Platform) -> None:
        self.weights = _weights(given)
        self._weights = np.array([self.weights.get(name, 0.0) for name in REWARDS])
        self._full_j = float(sum(platform.tdp_w)) * 3600.0

    def scale(self, jobs: int) -> npt.NDArray[np.float64]:
        """Factor of the engine's sums in an episode of so many jobs."""
        count = max(jobs, 1)
        scale: npt.NDArray[np.float64] = -self._weights / np.array([3600.0 * count, count, self._full_j])
        return scale


def _weights(given: object) -> dict[str, float]:
    """Weights by name, from a name or a mapping."""
    if isinstance(given, str):
        given = {given: 1.0}
    expected = f"one of {listed(REWARDS)}, or a dictionary of these names and weights"
    if not isinstance(given, Mapping) or not given:
        raise ConfigError([("reward", repr(given), expected)])
    faults, weights = Faults(), {name: plain(weight) for name, weight in given.items()}
    for name, weight in weights.items():
        if name not in REWARDS:
            faults.add("reward", name, f"{expected}{did_you_mean(str(name), REWARDS)}")
        else:
            faults.number(f"reward.{name}", weight, low=0.0, high=1e12)
    faults.check()
    return {str(name): float(weight) for name, weight in weights.items()}


def described(weights: Mapping[str, Any]) -> str:
    """The weights in words: ``wait``, or ``1·wait + 0.1·energy``."""
    if list(weights.values()) == [1.0]:
        return next(iter(weights))
    return " + ".join(f"{weight:g}·{name}" for name, weight in weights.items())
