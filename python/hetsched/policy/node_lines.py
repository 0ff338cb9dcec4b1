"""Lines of nodes as the backfill ``slurm`` takes them: count, CPUs and weight of each, ``4*8*1+2*16*10``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, cycle

Line = tuple[int, int, int]
"""Nodes, CPUs of each, and weight of each."""

_LINE = re.compile(r"([0-9]+)\*([0-9]+)\*([0-9]+)")


def text_of(lines: Iterable[Line]) -> str:
    """The lines as text."""
    return "+".join("*".join(map(str, line)) for line in lines)


def lines_in(text: str) -> list[Line]:
    """The lines of a text; none of one that does not read, which the engine refuses."""
    found = [_LINE.fullmatch(one) for one in text.split("+")]
    return [(int(one[1]), int(one[2]), int(one[3])) for one in found if one is not None] if all(found) else []


def counts_of(text: str) -> list[int]:
    """The number of nodes of each line."""
    return [count for count, _, _ in lines_in(text)]


def by_class(lines: Sequence[Line], before: Sequence[int], after: Sequence[int]) -> list[list[Line]]:
    """The lines of each class of a machine whose classes had so many nodes, and have other numbers of them.

    Of a class that shrinks the last nodes go; one that grows has copies of its nodes, from the first on, behind them.
    """
    firsts = accumulate(before, initial=0)
    return [
        _first(new, _between(lines, first, first + old))
        for first, old, new in zip(firsts, before, after, strict=False)  # There is one more first than classes.
    ]


def _between(lines: Sequence[Line], first: int, end: int) -> list[Line]:
    """The parts of the lines from one node to before another."""
    found, at = [], 0
    for count, cpus, weight in lines:
        inside = min(at + count, end) - max(at, first)
        if inside > 0:
            found.append((inside, cpus, weight))
        at += count
    return found


def _first(count: int, lines: Sequence[Line]) -> list[Line]:
    """The first `count` nodes of the lines, which are repeated until there are enough."""
    found: list[Line] = []
    for nodes, cpus, weight in cycle(lines):
        if count <= 0:
            break
        found.append((min(nodes, count), cpus, weight))
        count -= nodes
    return found
