"""Size of the machine, and how much of the waiting had room (rules 24 and 26)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hetsched.platform import Platform
from hetsched.validation.finding import Finding, part
from hetsched.validation.observed import LONG_WAIT, Observed
from hetsched.workload import Workload

_SHARES = {"use_p50": 0.5, "use_p99": 0.99, "use_p999": 0.999}
_MOST_OVER = 0.05
_NOTED_OVER = 0.001


@dataclass(frozen=True)
class Machine:
    """The machine that a log suggests; sizes as `Observed.held`."""

    size: int
    header: int | None
    use_max: int
    uses: dict[str, int]
    over_ratio: float | None

    @classmethod
    def of(cls, jobs: Observed, header: int | None) -> Machine:
        """The suggested machine: as the header says, if use is above that for no more than a twentieth of the time."""
        use, lasting = jobs.use, jobs.use.lasting()
        total = int(lasting.sum())
        order = np.argsort(use.values, kind="stable")
        until = np.cumsum(lasting[order])
        uses = {name: int(use.values[order][np.argmax(until >= share * total)]) for name, share in _SHARES.items()}
        over = part(int(lasting[use.values > header].sum()), total) if header is not None else None
        size = header if header is not None and (over or 0.0) <= _MOST_OVER else uses["use_p999"]
        return cls(max(size, int(jobs.held.max())), header, int(use.values.max()), uses, over)

    def findings(self, jobs: Observed) -> Iterator[Finding]:
        """Rule 24."""
        if self.header is not None:
            yield Finding("header_nodes", value=jobs.nodes(self.header), unit="nodes")
            yield Finding("over_ratio", value=self.over_ratio, evidence_ratio=self.over_ratio)
        yield Finding("use_max", value=jobs.nodes(self.use_max), unit="nodes")
        for name, held in self.uses.items():
            yield Finding(name, value=jobs.nodes(held), unit="nodes")
        nodes = -(-self.size // jobs.whole)
        yield Finding(
            "machine",
            value=jobs.nodes(self.size),
            unit="nodes",
            evidence=len(jobs),
            evidence_ratio=self.over_ratio,
            suggestion=f"nodes = {nodes}",
            setting={"nodes": nodes},
        )

    def notes(self) -> Iterator[str]:
        """Remarks on the size."""
        over = self.over_ratio
        if over is not None and over > _MOST_OVER:
            yield f"the log uses more nodes than its header says for {over:.1%} of the time: the header is not believed"
        elif over is not None and over > _NOTED_OVER:
            yield f"use is above the machine's size for {over:.2%} of the time: records overlap, or nodes are shared"


def header_size(workload: Workload, platform: Platform | None, whole: int) -> int | None:
    """The machine's size as the platform says it, else the log's header; None if neither does."""
    if platform is not None:
        return int(platform.nodes) * whole
    header: dict[str, Any] = workload.report.get("header") or {}
    nodes, procs = header.get("max_nodes") or 0, header.get("max_procs") or 0
    each = workload.report.get("procs_per_node")
    # Sizes are nodes if the reader made them so, else processors.
    size = (procs or nodes) if each is None else (nodes or -(-procs // each))
    return int(size) or None


def room_findings(jobs: Observed, machine: Machine) -> Iterator[Finding]:
    """Jobs that waited though they had room at their submit, and those that started when room came (rule 26)."""
    waited = jobs.waited
    count = int(waited.sum())
    had_room = int((jobs.room(machine.size) & waited).sum())
    limits = machine.size - jobs.held[waited]
    first = jobs.use.first_at_most(jobs.submit[waited], limits)
    start = jobs.start[waited]
    prompt = int((start <= np.minimum(first, start) + LONG_WAIT).sum())
    for name, some in (("room_ratio", had_room), ("first_room_ratio", prompt)):
        ratio = part(some, count)
        yield Finding(name, value=ratio, evidence=some, evidence_ratio=ratio)
