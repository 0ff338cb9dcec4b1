"""Names of the nodes in a dump, and their numbers: by a machine that is given, or in natural order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, shown
from hetsched.errors import TraceError
from hetsched.hostlists import HostListError, expanded, natural_key

_MACHINE = "a platform with names of nodes, as Platform.from_slurm makes it, names, or a host list such as n[1-8]"


def given_names(faults: Faults, nodes: Any) -> list[str] | None:
    """Names of a platform's nodes, of a host list, or those given themselves; None if none are."""
    if nodes is None:
        return None
    names = getattr(nodes, "node_names", nodes)
    if isinstance(names, str):
        try:
            return expanded(names)
        except HostListError as error:
            faults.add("nodes", names, error.expected)
            return []
    own = list(names) if isinstance(names, Iterable) else []
    if not own or not all(isinstance(name, str) for name in own):
        faults.add("nodes", nodes, _MACHINE)
        return []
    if len(set(own)) < len(own):
        faults.add("nodes", nodes, "each name once")
    return own


def ranked(
    names: Sequence[str], lines: Sequence[int], given: Sequence[str] | None, *, source: str, unit: str, column: str
) -> tuple[list[str], npt.NDArray[np.uint32]]:
    """The names in the order of their numbers, and the number of each of `names`.

    `lines` say where each was first seen, for the error about one that is not among those given; the first of them is
    no name.
    """
    known = list(given) if given is not None else sorted(names[1:], key=natural_key)
    numbers = {name: number for number, name in enumerate(known)}
    rank = np.zeros(len(names), dtype=np.uint32)
    for at, name in enumerate(names[1:], start=1):
        if name not in numbers:
            hint = did_you_mean(name, known)
            raise _stranger(name, lines[at], source, hint, unit=unit, column=column)
        rank[at] = numbers[name]
    return known, rank


def _stranger(name: str, line: int, source: str, hint: str, *, unit: str, column: str) -> TraceError:
    expected = f"a node of those that nodes= (--nodes-from) names{hint}"
    if unit == "line":
        return TraceError(file=source, line=line, field=f"column `{column}`", found=shown(name), expected=expected)
    return TraceError(file=source, field=f"jobs[{line - 1}], `nodes`", found=shown(name), expected=expected)
