"""Inputs of a guideline of provisioning: a budget, the base of every CPU, a mix of caps, and jobs that get them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from hetsched.chance import stream
from hetsched.checks import Faults, plain, shown
from hetsched.params import MAX_NODE_W, Declared, Parameter, number, whole
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.workload import Workload

_MOST = 10_000_000
_MOST_SHARE = 1e12
_LEAST_SPEED = 0.2
_NOT_TAKEN = ("power_w", "app", "cap_w")
"""Columns of a log that a trial leaves out: its jobs draw what the mix says."""


def _mix(given: Any, name: str, faults: Faults) -> Any:
    """Shares by cap."""
    mix = plain(given)
    if not isinstance(mix, Mapping) or not mix:
        faults.add(name, mix, "shares by cap, such as {85: 3, 70: 2, 55: 1}")
        return None
    for cap_w, weight in mix.items():
        faults.number(name, cap_w, low=0.0, high=MAX_NODE_W)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= _MOST_SHARE:
            faults.note(name, f"{shown(weight)} for {shown(cap_w)}", "a share above 0; a cap without one is left out")
    return mix


@dataclass(frozen=True)
class Budget(Declared):
    """Inputs of the guideline: watts of the machine, watts of a CPU that does nothing, and the mix of caps."""

    budget_w: float = field(metadata=number(0.0, 1e12, unit="W"))
    base_w: float = field(metadata=number(0.0, MAX_NODE_W, unit="W"))
    mix: Mapping[float, float] = field(metadata=Parameter(take=_mix))
    sockets: int = field(default=1, metadata=whole(1, 1000))

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        """Note caps that leave nothing above the base, or less than the model of speed allows."""
        del values
        if faults.has("mix", "base_w"):
            return
        least_w = self.base_w + _LEAST_SPEED * (self.uncapped_w - self.base_w)
        for cap_w in self.mix:
            if self.uncapped_w <= self.base_w:
                faults.add("mix", cap_w, f"watts above base_w, {self.base_w:g}")
            elif cap_w < least_w:
                expected = f"at least {least_w:g} W: below it a CPU is slower than {_LEAST_SPEED:g} of its speed"
                faults.add("mix", cap_w, expected)

    def check_nodes(self, nodes: Sequence[Any], faults: Faults) -> None:
        """Note numbers of nodes that are none, or whose CPUs take the whole budget while they do nothing."""
        for count in nodes:
            own = Faults()
            own.whole("nodes", count, low=1, high=_MOST)
            if not own.found and list(nodes).count(count) > 1:
                own.add("nodes", count, "each number of nodes once")
            if not own.found and not faults.has("budget_w", "base_w", "sockets"):
                base_w = self.base_w * count * self.sockets
                if base_w > self.budget_w:
                    found = f"{self.budget_w:g}, below the base of {count:,} nodes"
                    own.note("budget_w", found, f"at least {base_w:g} W: {count * self.sockets:,} CPUs of base_w each")
            faults.extend(own)

    @property
    def uncapped_w(self) -> float:
        """Draw without a cap: the highest of the mix."""
        return max(self.mix)

    def factor(self, cap_w: float) -> float:
        """Slowdown of a job under a cap: speed goes with the watts above the base."""
        return (self.uncapped_w - self.base_w) / (cap_w - self.base_w)

    @property
    def mean_w(self) -> float:
        """Watts of a CPU, averaged over jobs."""
        return sum(cap_w * weight for cap_w, weight in self.mix.items()) / sum(self.mix.values())

    @property
    def steady_mean_w(self) -> float:
        """Watts of a CPU, averaged over the time that it runs: slower jobs run longer than their share."""
        lengths = {cap_w: weight * self.factor(cap_w) for cap_w, weight in self.mix.items()}
        return sum(cap_w * length for cap_w, length in lengths.items()) / sum(lengths.values())

    @property
    def best_cpus(self) -> dict[str, float]:
        """The installed CPUs of which all can just run: more of them run fewer, by the guideline and in fact."""
        return {"guideline": self.budget_w / (self.mean_w + self.base_w), "steady": self.budget_w / self.steady_mean_w}

    def row(self, nodes: int) -> dict[str, float]:
        """Both readings for a number of nodes."""
        cpus = nodes * self.sockets
        effective_w = self.budget_w - self.base_w * cpus
        available = effective_w / self.mean_w
        steady = effective_w / (self.steady_mean_w - self.base_w)
        return {
            "nodes": nodes,
            "cpus": cpus,
            "effective_w": effective_w,
            "mean_w": self.mean_w,
            "available_cpus": available,
            "effective_cpus": min(available, float(cpus)),
            "steady_mean_w": self.steady_mean_w,
            "steady_available_cpus": steady,
            "steady_effective_cpus": min(steady, float(cpus)),
        }

    def platform(self, nodes: int) -> Platform:
        """Equal nodes whose draw above the base goes with their speed."""
        base_w, busy_w = self.base_w * self.sockets, self.uncapped_w * self.sockets
        plain_nodes = Platform.homogeneous(nodes, base_w, busy_w)
        return plain_nodes.with_cap_model(static_w=base_w, least_speed_ratio=_LEAST_SPEED)

    def policy(self) -> Policy:
        """EASY under the budget, with the mix's caps as levels."""
        caps_w = sorted(cap_w * self.sockets for cap_w in self.mix)
        return Policy.preset("power-slurm", budget_w=float(self.budget_w), caps_w=caps_w)

    def capped(self, workload: Workload, seed: int) -> Workload:
        """The jobs with caps in the mix's shares, drawn at random; walltimes as much longer as jobs take."""
        jobs = workload.to_polars()
        caps_w = stream(seed, "caps of a mix").permutation(_shares(self.mix, len(jobs)))
        factors = np.array([self.factor(cap_w) for cap_w in caps_w], dtype=np.float64)
        is_capped = pl.Series(factors > 1.0)
        own = pl.Series("cap_w", caps_w * self.sockets, dtype=pl.Float64)
        made = [own.set(~is_capped, None)]
        if "walltime_s" in jobs.columns:
            walltime_s = jobs["walltime_s"].cast(pl.Float64)
            # The next whole second: rounding must not kill a job that asked for exactly what it needs.
            longer_s = (walltime_s * pl.Series(factors)).floor() + 1.0
            made.append(longer_s.zip_with(is_capped, walltime_s).alias("walltime_s"))
        left = [name for name in _NOT_TAKEN if name in jobs.columns]
        return Workload.from_polars(jobs.drop(left).with_columns(made))


def _shares(mix: Mapping[float, float], jobs: int) -> np.ndarray:
    """Caps in their shares, as near as whole numbers of jobs come; what is left goes to the largest remainders."""
    caps_w, weights = (np.array(list(own), dtype=np.float64) for own in (mix.keys(), mix.values()))
    exact = weights / weights.sum() * jobs
    counts = np.floor(exact).astype(np.int64)
    most = np.argsort(counts - exact, kind="stable")[: jobs - int(counts.sum())]
    counts[most] += 1
    return np.repeat(caps_w, counts)


def parse_mix(text: str) -> dict[float, float]:
    """A mix from text such as ``85:3,70:2,55:1``: caps in watts and their shares.

    Raises
    ------
    ConfigError
        If it is none.
    """
    faults, found = Faults(), dict[float, float]()
    for pair in text.split(","):
        cap_w, colon, weight = (part.strip() for part in pair.partition(":"))
        try:
            key, share = float(cap_w), float(weight)
        except ValueError:
            faults.add("mix", pair if pair.strip() else text, "WATTS:SHARE with commas between, such as 85:3,70:2,55:1")
            continue
        if not (math.isfinite(key) and math.isfinite(share)):
            faults.add("mix", pair, "finite numbers")
        elif key in found:
            faults.note("mix", f"{shown(cap_w)} twice", "each cap once")
        found[key] = share
        del colon
    faults.check()
    return found
