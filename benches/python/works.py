"""Works that are measured, and what each figure should reach."""

from __future__ import annotations

from dataclasses import dataclass

import traces

__all__ = ["ALL", "QUICK", "TEN_MILLION", "Reach", "Work"]


@dataclass(frozen=True)
class Policy:
    """A policy as the engine and the peers call it.

    Parameters
    ----------
    engine
        What hetsched is told.
    peer
        The peers' policy that gives the same starts; empty: no peer has one.
    apps
        How many applications the nodes' table tells apart; 0 = no table.
    """

    engine: str
    peer: str
    apps: int = 0


POLICIES = {
    "fcfs": Policy("fcfs", "fcfs"),
    "easy": Policy("easy", "easy"),
    "easy, by power": Policy("easy:placement=lowest-power", "easy", traces.APPS),
    "conservative": Policy("conservative", "conservative"),
    "vahrm": Policy("vahrm", "", traces.APPS),
    "vahrm, pcr 0.5": Policy("vahrm:pcr=0.5", "", traces.APPS),
    "hetsched": Policy("hetsched", "", traces.APPS),
}


@dataclass(frozen=True)
class Reach:
    """Goal of a figure; None: nothing is asked of it."""

    cpu_s: float | None = None
    jobs_per_s: float | None = None
    peak_mb: float | None = None
    twin_ratio: float | None = None


@dataclass(frozen=True)
class Work:
    """One trace under one policy."""

    trace: traces.Trace
    policy_name: str
    reach: Reach = Reach()
    peers: tuple[str, ...] = ("twin",)

    @property
    def policy(self) -> Policy:
        """The policy."""
        return POLICIES[self.policy_name]

    @property
    def name(self) -> str:
        """Name that ``--only`` looks in: ``1m-0.8 easy``."""
        return f"{self.trace.name} {self.policy_name}"


def _works(jobs: int, load: float, reaches: dict[str, Reach], peers: tuple[str, ...] = ("twin",)) -> list[Work]:
    trace = traces.Trace(jobs, load)
    return [Work(trace, policy, reach, peers) for policy, reach in reaches.items()]


_NONE = Reach()
_BOTH = ("twin", "accasim")
_SMALL = {"fcfs": _NONE, "easy": _NONE, "easy, by power": _NONE}

ALL = [
    *_works(10_000, 0.8, {**_SMALL, "conservative": _NONE}, _BOTH),
    *_works(10_000, 1.0, {**_SMALL, "conservative": Reach(jobs_per_s=20_000)}, _BOTH),
    *_works(100_000, 0.8, _SMALL),
    *_works(100_000, 1.0, {**_SMALL, "easy": Reach(jobs_per_s=300_000, twin_ratio=10)}),
    *_works(
        1_000_000,
        0.8,
        {
            "fcfs": Reach(cpu_s=2.5, peak_mb=600),
            "easy": Reach(cpu_s=3.0, peak_mb=600, twin_ratio=4),
            "easy, by power": Reach(peak_mb=600),
        },
    ),
    *_works(1_000_000, 1.0, {"fcfs": Reach(cpu_s=2.5, peak_mb=600)}),
    # The twin takes five minutes for this one; what it would say is said by the 100,000 jobs above.
    *_works(1_000_000, 1.0, {"easy": Reach(cpu_s=3.0, peak_mb=600), "easy, by power": Reach(peak_mb=600)}, peers=()),
    # Nobody else's simulator has these: power by node and application, and budgets, inside the decision. Jobs of up to
    # 64 nodes as in the paper on VAHRM (9 nodes on average), and of up to a quarter of the machine (50).
    *(
        Work(traces.Trace(1_000_000, load, nodes=10_000, largest=largest), policy, reach, peers=())
        for largest, load in ((64, 0.8), (64, 1.0), (None, 0.8))
        for policy, reach in (("vahrm", Reach(cpu_s=6.0)), ("vahrm, pcr 0.5", _NONE), ("hetsched", _NONE))
    ),
]
"""The works of a full run, in the order of the table."""

QUICK = _works(10_000, 0.8, {**_SMALL, "conservative": _NONE})
"""A few seconds' worth that touches everything."""

TEN_MILLION = [
    Work(traces.Trace(10_000_000, 0.8, nodes=10_000), policy, Reach(peak_mb=16_000), peers=())
    for policy in ("fcfs", "easy")
]
"""Needs some ten GB of memory, and minutes."""
