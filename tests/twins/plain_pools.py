"""Pools in plain Python: each is run as a machine of its own by the plain scheduler, and the schedules are merged.

Rule 6 of the operations page on machines: a pass at any instant looks at every pool, so that each pool is run again
with passes at the instants of the others, until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from plain_scheduler import ORDERS, Job, NamedNodes, Schedule, schedule


@dataclass
class Queue:
    """A queue of a pool, in microseconds."""

    name: str
    nodes: tuple[int, ...]
    priority: int
    order: str | None
    max_running: float
    max_running_per_user: float
    max_walltime: int | None
    default_walltime: int | None


@dataclass
class Asked:
    """A job, its queue and its user."""

    job: Job
    queue: Queue
    user: str | None

    def settled(self) -> Job:
        """With the walltime that its queue gives to jobs without one."""
        default = self.queue.default_walltime
        own = self.queue.max_walltime if default is None else default
        return self.job if self.job.walltime is not None else self.job._replace(walltime=own)

    @property
    def is_rejected(self) -> bool:
        """Rule 2."""
        longest, walltime = self.queue.max_walltime, self.settled().walltime
        return self.job.node_count > len(self.queue.nodes) or (
            longest is not None and walltime is not None and walltime > longest
        )

    def place(self, order: str) -> tuple[int, int]:
        """Rule 4, but for the ties."""
        return -self.queue.priority, ORDERS[self.queue.order or order](self.settled())

    def groups(self) -> list[tuple[str, float]]:
        """Rule 3."""
        own = (f"{self.queue.name} of {self.user}", inf if self.user is None else self.queue.max_running_per_user)
        return [(self.queue.name, self.queue.max_running), own]


def run_pools(asked: list[Asked], slots: int, *, depth: float | None, order: str, kill_at_walltime: bool) -> Schedule:
    """Runs all jobs, pool by pool."""
    pools = sorted({one.queue.nodes for one in asked})
    rows = {pool: [row for row, one in enumerate(asked) if one.queue.nodes == pool] for pool in pools}
    instants: dict[tuple[int, ...], set[int]] = {pool: set() for pool in pools}
    while True:
        parts = {}
        for pool in pools:
            own = [asked[row] for row in rows[pool] if not asked[row].is_rejected]
            others = set().union(*(instants[other] for other in pools if other != pool))
            parts[pool] = schedule(
                [one.settled() for one in own],
                NamedNodes(len(pool), slots),
                depth=depth,
                kill_at_walltime=kill_at_walltime,
                places=[one.place(order) for one in own],
                groups=[one.groups() for one in own],
                also_at=sorted(others),
            )
        now = {
            pool: {asked[row].job.submit for row in rows[pool]} | {end for end in parts[pool].end if end is not None}
            for pool in pools
        }
        if now == instants:
            return _merged(asked, rows, parts)
        instants = now


def _merged(
    asked: list[Asked], rows: dict[tuple[int, ...], list[int]], parts: dict[tuple[int, ...], Schedule]
) -> Schedule:
    n = len(asked)
    done = Schedule([None] * n, [None] * n, [None] * n, ["rejected"] * n, [None] * n)
    for pool, part in parts.items():
        taken = [row for row in rows[pool] if not asked[row].is_rejected]
        for place, row in enumerate(taken):
            for whole, own in zip(done, part, strict=True):
                whole[row] = own[place]  # type: ignore[call-overload, index]
            local = part.nodes[place]
            done.nodes[row] = None if local is None else [pool[node] for node in local]
    return done
