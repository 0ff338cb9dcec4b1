"""Which pairs of application and node a table holds, and how a message lists the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hetsched.checks import listed

__all__ = ["few", "many", "missing_pairs", "node_ranges", "too_few_nodes"]

_MOST_APPS = 10


def few(names: Sequence[str], *, most: int = 6) -> str:
    """Names as a message lists them, of many only the first and how many more there are.

    Examples
    --------
    >>> few(["n1", "n2", "n3", "n4"], most=2)
    'n1, n2 and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return listed(names[:most]) + more


def many(count: int, word: str) -> str:
    """A number of things.

    Examples
    --------
    >>> many(1, "node"), many(2000, "node")
    ('1 node', '2,000 nodes')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def node_ranges(nodes: npt.ArrayLike, *, most: int = 8) -> str:
    """Node numbers as a message lists them: in order, neighbours as a range.

    Examples
    --------
    >>> node_ranges([5, 0, 4, 3]), node_ranges(np.arange(0, 100, 2), most=3), node_ranges([7])
    ('nodes 0, 3-5', 'nodes 0, 2, 4 and 47 more', 'node 7')
    """
    numbers = np.unique(np.asarray(nodes, dtype=np.int64))
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    shown = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:most]]
    rest = sum(len(run) for run in runs[most:])
    return f"node{'s' if len(numbers) > 1 else ''} {', '.join(shown)}{f' and {rest:,} more' if rest else ''}"


def missing_pairs(is_wrong: npt.NDArray[np.bool_], apps: Sequence[str], found: str) -> list[str]:
    """What a message says of each application with wrong pairs.

    Parameters
    ----------
    is_wrong
        Shape (n_apps, n_nodes).
    apps
        Names of applications, a row each.
    found
        What is wrong with the pairs, such as ``"no row"``.

    Returns
    -------
    list of str
        One line an application; of many, the first ten and how many more there are.

    Examples
    --------
    >>> missing_pairs(np.array([[True, False, True], [False, False, False]]), ["a", "b"], "no row")
    ['no row for application a on nodes 0, 2']
    """
    rows = np.flatnonzero(is_wrong.any(axis=1))
    lines = [
        f"{found} for application {apps[row]} on {node_ranges(np.flatnonzero(is_wrong[row]))}" for row in rows.tolist()
    ]
    if len(lines) > _MOST_APPS:
        lines[_MOST_APPS:] = [f"{found} on some nodes for {len(lines) - _MOST_APPS:,} more applications"]
    return lines


def too_few_nodes(apps: Sequence[str], *, held: int, wanted: int) -> str:
    """What a table of another number of nodes should have held, and what it lacks.

    Examples
    --------
    >>> too_few_nodes(["hpcg", "*"], held=4, wanted=6)
    'a table of 6 nodes, as the platform has; nodes 4-5 have no row for any application (hpcg, *)'
    >>> too_few_nodes(["hpcg"], held=9, wanted=6)
    'a table of 6 nodes, as the platform has'
    """
    expected = f"a table of {wanted} nodes, as the platform has"
    if held >= wanted:
        return expected
    has = "have" if wanted - held > 1 else "has"
    return f"{expected}; {node_ranges(np.arange(held, wanted))} {has} no row for any application ({few(apps)})"
