"""Order in which a log starts what waits: queues that go first, and later jobs before earlier ones (rule 33)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched.validation.finding import Finding
from hetsched.validation.observed import Observed

Ints = npt.NDArray[np.int64]

_LOOKED_AT = 100
_PAIRS_AT_ONCE = 2_000_000
_FEWEST_PAIRS = 100
_MOST_BACK = 0.1
_OUT_OF_ORDER = 0.2
_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class _Passed:
    """Jobs that were passed over: by pair of queues, and the starts that passed one of their own queue."""

    queues: list[str | None]
    pairs: dict[tuple[int, int], int]
    inverted: int


def priority_findings(jobs: Observed) -> Iterator[Finding]:
    """Rule 33: starts while an earlier job waited that is no larger and no longer."""
    passed = _passed(jobs)
    for (first, second), count in sorted(passed.pairs.items()):
        if first == second or count < _FEWEST_PAIRS:
            continue
        back = passed.pairs.get((second, first), 0)
        names = ["none" if passed.queues[code] is None else passed.queues[code] for code in (first, second)]
        found = Finding(
            "priority", f"queue {names[0]} over {names[1]}", count, "pairs", None, None, count, back / count
        )
        if back <= _MOST_BACK * count:
            setting = {"priorities": [{"queue": passed.queues[first], "over": passed.queues[second]}]}
            found = found._replace(suggestion=f"queue {names[0]} before {names[1]}", setting=setting)
        yield found
    ratio = passed.inverted / len(jobs)
    said = "an order other than of submission: fair share, or size" if ratio >= _OUT_OF_ORDER else None
    yield Finding("inversion_ratio", "", ratio, "", None, None, passed.inverted, ratio, said)


def _passed(jobs: Observed) -> _Passed:
    names, queue = jobs.coded("queue")
    order = np.argsort(jobs.start, kind="stable")
    starts = jobs.start[order]
    # A job is looked at from its submit on, once fewer than a hundred earlier ones wait, and until its start.
    begins = np.maximum(_largest_before(jobs.start, _LOOKED_AT), jobs.submit)
    firsts = np.searchsorted(starts, begins, side="left")
    counts = np.maximum(np.searchsorted(starts, jobs.start, side="left") - firsts, 0)
    pairs, inverted = np.zeros(0, np.int64), np.zeros(len(jobs), np.bool_)
    sums = np.zeros(0, np.int64)
    for waiting in _chunks(counts):
        own = np.repeat(waiting, counts[waiting])
        ends = np.cumsum(counts[waiting])
        place = np.arange(len(own)) - np.repeat(ends - counts[waiting], counts[waiting])
        started = order[firsts[own] + place]
        fits = (jobs.submit[own] < jobs.submit[started]) & (jobs.held[own] <= jobs.held[started])
        fits &= jobs.walltime[own] <= jobs.walltime[started]
        own, started = own[fits], started[fits]
        codes = np.concatenate([pairs, queue[started] * len(names) + queue[own]])
        weights = np.concatenate([sums, np.ones(len(own), np.int64)])
        pairs, places = np.unique(codes, return_inverse=True)
        sums = np.bincount(places, weights, minlength=len(pairs)).astype(np.int64)
        inverted[started[queue[started] == queue[own]]] = True
    keys = [divmod(code, len(names)) for code in pairs.tolist()]
    return _Passed(names, dict(zip(keys, sums.tolist(), strict=True)), int(inverted.sum()))


def _largest_before(values: Ints, rank: int) -> Ints:
    """The value of that rank, from the largest, among those before each place; the least number if there are fewer."""
    stream = values
    for _ in range(rank):
        largest = np.maximum.accumulate(stream)
        before = np.concatenate([[_LEAST], largest[:-1]])
        stream = np.minimum(before, stream)
    return before


def _chunks(counts: Ints) -> Iterator[Ints]:
    """Places with counts above zero, in chunks of which each has about as many pairs as are looked at at once."""
    places = np.flatnonzero(counts)
    sums = np.cumsum(counts[places])
    total = int(sums[-1]) if len(sums) else 0
    bounds = np.searchsorted(sums, np.arange(_PAIRS_AT_ONCE, total, _PAIRS_AT_ONCE))
    yield from (chunk for chunk in np.split(places, np.unique(bounds)) if len(chunk))
