"""A work's numbers: the engine's, its peers', and whether the figures reach what they should."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import measure
from works import Work

__all__ = ["Check", "Outcome", "Peers", "measured"]

Run = dict[str, Any]

SAME_RULES = {"twin": ("fcfs", "easy", "conservative"), "accasim": ("fcfs",)}
"""The policies under which a peer must give every job the same start."""

EXACT = 1e-9
"""How far the two sides of the energy balance may be apart, relatively."""


@dataclass(frozen=True)
class Check:
    """A figure next to what it should reach."""

    text: str
    met: bool


@dataclass
class Outcome:
    """Outcome of a work."""

    work: Work
    engine: Run
    runs: list[float]
    peers: dict[str, Run | measure.RunError] = field(default_factory=dict)

    @property
    def cpu_s(self) -> float:
        """Median over the runs."""
        return statistics.median(self.runs)

    @property
    def jobs_per_s(self) -> float:
        """Ratio of CPU times."""
        return float(self.engine["jobs"]) / self.cpu_s

    @property
    def peak_mb(self) -> float:
        """In millions of bytes."""
        return float(self.engine["peak_bytes"]) / 1e6

    def peer(self, name: str) -> Run | None:
        """Time that a peer took, if it ran."""
        run = self.peers.get(name)
        return run if isinstance(run, dict) else None

    def ratio(self, name: str) -> float | None:
        """CPU time of a peer over the engine's."""
        run = self.peer(name)
        return None if run is None else float(run["cpu_s"]) / self.cpu_s

    def checks(self) -> list[Check]:
        """Goals of this work, and whether each is reached; those not measured are left out."""
        reach, ratio = self.work.reach, self.ratio("twin")
        found = []
        if reach.cpu_s is not None:
            found.append(Check(f"{reach.cpu_s:g} s", self.cpu_s <= reach.cpu_s))
        if reach.jobs_per_s is not None:
            found.append(Check(f"{reach.jobs_per_s / 1000:g}k/s", self.jobs_per_s >= reach.jobs_per_s))
        if reach.peak_mb is not None:
            found.append(Check(f"{reach.peak_mb:,.0f} MB", self.peak_mb <= reach.peak_mb))
        if reach.twin_ratio is not None and ratio is not None:
            found.append(Check(f"{reach.twin_ratio:g} x twin", ratio >= reach.twin_ratio))
        return found

    def is_same_as(self, peer: str) -> bool | None:
        """True if every job starts as by a peer; None where it did not run or goes by other rules."""
        run = self.peer(peer)
        if run is None or self.work.policy.peer not in SAME_RULES[peer]:
            return None
        return bool(run["starts_sha256"] == self.engine["starts_sha256"])

    def faults(self) -> list[str]:
        """Faults that no speed excuses: another schedule by the same rules, energy that does not balance."""
        found = [
            f"{self.work.name}: the starts differ from those of {peer}"
            for peer in SAME_RULES
            if self.is_same_as(peer) is False
        ]
        if not self.engine["balance_relative_error"] <= EXACT:
            found.append(f"{self.work.name}: the energy is off by {self.engine['balance_relative_error']:.1e}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Row of ``--json``."""
        return {
            "work": self.work.name,
            "trace": self.work.trace.name,
            "policy": self.work.policy_name,
            "cpu_s": self.cpu_s,
            "runs_cpu_s": self.runs,
            "jobs_per_s": self.jobs_per_s,
            "peak_mb": self.peak_mb,
            "engine": self.engine,
            "peers": {name: run if isinstance(run, dict) else {"failed": str(run)} for name, run in self.peers.items()},
            "ratios": {name: self.ratio(name) for name in self.peers},
            "reach": {check.text: check.met for check in self.checks()},
        }


class Peers:
    """Runs peers, each once for all works that it schedules alike.

    Parameters
    ----------
    pythons
        The interpreter of each peer that was asked for, or why there is none.
    limit_s
        How long a peer may take, s.
    """

    def __init__(self, pythons: dict[str, str | measure.RunError], limit_s: float) -> None:
        self._pythons = pythons
        self._limit_s = limit_s
        self._known: dict[tuple[str, str, str], Run | measure.RunError] = {}

    def run(self, name: str, work: Work) -> Run | measure.RunError | None:
        """Time that a peer took for a work; None if it was not asked for or does not know the policy."""
        if name not in self._pythons or (name == "accasim" and work.policy.peer == "conservative"):
            return None
        key = (name, work.trace.name, work.policy.peer)
        if key not in self._known:
            self._known[key] = self._tried(name, work)
        return self._known[key]

    def _tried(self, name: str, work: Work) -> Run | measure.RunError:
        python = self._pythons[name]
        if isinstance(python, measure.RunError):
            return python
        trace = work.trace
        task = {"peer": name, "trace": str(trace.path), "nodes": trace.nodes, "policy": work.policy.peer}
        try:
            return measure.run("peers.py", task, python=python, limit_s=self._limit_s)
        except measure.RunError as failure:
            return failure


def measured(work: Work, peers: Peers, *, repeat: int, tell: Callable[[str], object]) -> Outcome:
    """Runs a work and its peers, the trace made first."""
    if not work.trace.is_made():
        tell(f"making {work.trace.name}")
        measure.run("traces.py", work.trace.to_dict(), limit_s=3_600)
    task = {
        "trace": str(work.trace.path),
        "nodes": work.trace.nodes,
        "policy": work.policy.engine,
        "apps": work.policy.apps,
    }
    runs = []
    for turn in range(repeat):
        tell(f"{work.name} ({turn + 1} of {repeat})")
        runs.append(measure.run("engine.py", task, limit_s=3_600))
    by_cpu = sorted(runs, key=lambda run: float(run["cpu_s"]))
    outcome = Outcome(work, by_cpu[len(by_cpu) // 2], [float(run["cpu_s"]) for run in runs])
    for name in work.peers:
        tell(f"{work.name}: {name}")
        run = peers.run(name, work)
        if run is not None:
            outcome.peers[name] = run
    return outcome
