"""Mixes of jobs: classes of jobs with exact counts, and shares of applications and sizes."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, typed
from hetsched.errors import ConfigError, Fault
from hetsched.naming import named_in
from hetsched.params import Parameter, Record, whole, word
from hetsched.workload.generators.distributions import Distribution, distribution_of

Whole = npt.NDArray[np.int64]

_MOST_NODES = 2**31 - 1
_MOST_JOBS = 100_000_000


def _sizes(value: object, name: str, faults: Faults) -> int | dict[int, float]:
    """One size, or shares of sizes that sum to 1."""
    sizes = sizes_of(value, name, faults)
    return next(iter(sizes)) if len(sizes) == 1 else sizes


@named_in("hetsched.workload")
@dataclass(frozen=True)
class JobClass(Record):
    """Jobs that are alike: so many of one application.

    Parameters
    ----------
    count
        How many; in a mix that is scaled to a number of jobs, a share.
    app
        Its application.
    node_count
        Nodes of each job, or shares of node counts such as ``{2: 0.7, 4: 0.3}``; held as one size, or as shares that
        sum to 1.
    runtime_s
        Seconds, a distribution, or a text such as ``"uniform:130:151"``; held as a distribution.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> JobClass(774, "hpcg", 1, 140.5)
    JobClass(count=774, app='hpcg', node_count=1, runtime_s=Fixed(length_s=140.5))
    >>> JobClass(3.0, "hpcg", 1, -5)
    Traceback (most recent call last):
    hetsched.errors.ConfigError: count: found `3.0`, expected a whole number between 0 and 100000000
    runtime_s: found `-5`, expected SECONDS above 0 and at most 1e+09, as in fixed:SECONDS
    """

    count: int = field(metadata=whole(0, _MOST_JOBS))
    app: str = field(metadata=word())
    node_count: int | Mapping[int, float] = field(metadata=Parameter(take=_sizes))
    runtime_s: float | str | Distribution = field(metadata=Parameter(take=distribution_of))

    def __str__(self) -> str:
        sizes = shares_text(self.node_count) if isinstance(self.node_count, Mapping) else self.node_count
        return f"{self.count} {self.app} {sizes} {self.runtime_s}"


Mix = tuple[JobClass, ...]
"""Classes of jobs."""

_MIX = "COUNT APP NODES RUNTIME of each class, `;` between them, as in `34 hpcg 1 392; 57 stream 1 uniform:200:260`"


def mix_of(value: object, parameter: str, faults: Faults) -> Mix:
    """A mix from what a user gave: classes, or a text; faults are noted class by class."""
    if isinstance(value, str):
        return _parsed(value, parameter, faults)
    if not isinstance(value, Iterable):
        faults.add(parameter, value, f"JobClass after JobClass, or {_MIX}")
        return ()
    classes = list(value)
    if not classes or not all(isinstance(one, JobClass) for one in classes):
        faults.add(parameter, classes, f"JobClass after JobClass, at least one, or {_MIX}")
        return ()
    return tuple(classes)


def _parsed(text: str, parameter: str, faults: Faults) -> Mix:
    rows = [row.split() for row in text.split(";") if row.strip()]
    if not rows or any(len(row) != 4 or not row[0].isdecimal() for row in rows):
        faults.add(parameter, text, _MIX)
        return ()
    classes = []
    for place, (count, app, nodes, runtime_s) in enumerate(rows):
        try:
            classes.append(JobClass(int(count), app, int(nodes) if nodes.isdecimal() else nodes, runtime_s))  # type: ignore[arg-type]
        except ConfigError as error:
            faults.extend(error, partial(Fault.under, place=f"{parameter}[{place}]"))
    return tuple(classes)


def mix_text(mix: Iterable[JobClass]) -> str:
    """A mix as `mix_of` reads it."""
    return "; ".join(str(one) for one in mix)


def shares_text(shares: Mapping[str, float] | Mapping[int, float]) -> str:
    """Shares as `shares_of` and `sizes_of` read them: ``2:0.25,4:0.75``."""
    return ",".join(f"{name}:{share:g}" for name, share in shares.items())


def shares_of(value: object, parameter: str, faults: Faults) -> dict[str, float]:
    """Shares of applications that sum to 1, from a name, a mapping, or a text such as ``"hpcg:1,stream:3"``."""
    shares = _shares(value)
    if not shares or "" in shares:
        faults.add(parameter, value, "shares above 0 of named applications, as in hpcg:0.4,stream:0.6")
        return {"": 1.0}
    return shares


def sizes_of(value: object, parameter: str, faults: Faults) -> dict[int, float]:
    """Shares of node counts that sum to 1, from one count, a mapping, or a text such as ``"1:3,8:1"``."""
    if isinstance(value, numbers.Integral):
        faults.whole(parameter, value, low=1, high=_MOST_NODES)
        return {int(value): 1.0}
    shares = _shares(value)
    if not shares or not all(name.isdecimal() and 1 <= int(name) <= _MOST_NODES for name in shares):
        expected = "a whole number of nodes from 1, or shares of such, as in 1:0.75,8:0.25"
        faults.note(parameter, typed(value), expected)
        return {1: 1.0}
    return {int(name): share for name, share in shares.items()}


def _shares(value: object) -> dict[str, float]:
    """Names and their shares of the whole; empty if any is invalid."""
    pairs = _pairs(value)
    total = sum(pairs.values())
    if not pairs or min(pairs.values()) < 0 or not 0 < total < np.inf:
        return {}
    return {name: share / total for name, share in pairs.items()}


def _pairs(value: object) -> dict[str, float]:
    """Names and numbers; empty where there are none."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, str):
        pairs = [_pair(part.strip()) for part in value.split(",")]
    if any(isinstance(share, bool) for _, share in pairs):
        return {}
    try:
        named = {str(name): float(share) for name, share in pairs}
    except (TypeError, ValueError):
        return {}
    return named if len(named) == len(pairs) else {}


def _pair(text: str) -> tuple[str, str]:
    name, colon, share = text.rpartition(":")
    return (name, share) if colon else (share, "1")


def apportioned(weights: Iterable[float], total: int) -> Whole:
    """Whole counts in proportion to `weights` that sum to `total`: largest remainders, ties to the first."""
    share = np.asarray(list(weights), dtype=np.float64)
    exact = share / share.sum() * total
    counts: Whole = np.floor(exact).astype(np.int64)
    rest = np.argsort(-(exact - counts), kind="stable")[: total - int(counts.sum())]
    counts[rest] += 1
    return counts


def drawn_sizes(sizes: int | Mapping[int, float], rng: np.random.Generator, count: int) -> Whole:
    """Node counts of that many jobs: all one count, or drawn by shares of counts."""
    if isinstance(sizes, int):
        return np.full(count, sizes, dtype=np.int64)
    chosen: Whole = rng.choice(np.array(list(sizes), dtype=np.int64), size=count, p=np.array(list(sizes.values())))
    return chosen
