"""Fair share in plain Python: what each group has used, as the integral says it, and who is next by that.

Written from docs/background/rules.md with nothing in it that is there for speed. Whole nodes that are only counted;
first come, first served within a group. Times are seconds. What was used is exact where nothing decays, and has fifty
digits where it does, so that two groups have used as much as each other only if they did.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import inf
from typing import NamedTuple

DIGITS = 50
SAME = Decimal("1e-12")
"""Relative difference up to which two groups have used the same."""


class Job(NamedTuple):
    """A job's request, and its group."""

    submit: int
    runtime: int
    node_count: int
    group: str | None


class Stretch(NamedTuple):
    """Nodes that a group has used; `end` is None while it goes on."""

    group: str | None
    nodes: int
    start: int
    end: int | None


def used(stretches: list[Stretch], group: str | None, now: int, half_life: float) -> Decimal:
    """The sum over stretches of nodes x the integral of 2^(-(now - s) / half-life) over them."""
    with localcontext() as context:
        context.prec = DIGITS
        total = Decimal(0)
        for stretch in stretches:
            if stretch.group != group:
                continue
            start, end = stretch.start, now if stretch.end is None else stretch.end
            if half_life == inf:
                total += stretch.nodes * (end - start)
                continue
            half = Decimal(str(half_life))
            old, new = (Decimal(2) ** (-(now - at) / half) for at in (start, end))
            total += stretch.nodes * half / Decimal(2).ln() * (new - old)
        return total


def schedule(jobs: list[Job], nodes: int, half_life: float, *, overtakes: bool) -> list[int | None]:
    """The start of each job. `overtakes`: any that fits starts; otherwise the first that does not blocks the rest."""
    starts: list[int | None] = [None] * len(jobs)
    stretches: list[Stretch] = []
    ends: list[tuple[int, int]] = []  # end, place in stretches
    free, now = nodes, -1
    while True:
        submits = [job.submit for job in jobs if job.submit > now]
        instants = [*submits, *(end for end, _ in ends)]
        if not instants:
            return starts
        now = min(instants)
        while True:  # what takes no time ends in the same instant, and another pass follows
            for end, place in [one for one in ends if one[0] == now]:
                ends.remove((end, place))
                stretches[place] = stretches[place]._replace(end=now)
                free += stretches[place].nodes
            fits = [
                j for j, job in enumerate(jobs) if job.submit <= now and starts[j] is None and job.node_count <= nodes
            ]
            for j in in_turn(fits, jobs, stretches, now, half_life):
                job = jobs[j]
                if job.node_count > free:
                    if overtakes:
                        continue
                    break
                starts[j] = now
                free -= job.node_count
                ends.append((now + job.runtime, len(stretches)))
                stretches.append(Stretch(job.group, job.node_count, now, None))
            if all(end > now for end, _ in ends):
                break


def in_turn(waiting: list[int], jobs: list[Job], stretches: list[Stretch], now: int, half_life: float) -> list[int]:
    """Jobs of the group that has used least first; those that have used as much by submit, then by row."""
    by_group = {group: used(stretches, group, now, half_life) for group in {jobs[j].group for j in waiting}}
    ranks: dict[str | None, int] = {}
    rank, last = 0, None
    for group, amount in sorted(by_group.items(), key=lambda one: one[1]):
        rank += int(last is not None and amount - last > SAME * amount)
        ranks[group], last = rank, amount
    return sorted(waiting, key=lambda j: (ranks[jobs[j].group], jobs[j].submit, j))
