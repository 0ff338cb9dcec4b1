"""Laws of nodes that differ: each job runs where it may, and licences and shared nodes are never overdrawn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hetsched.features.eligibility import Eligibility
from hetsched.testing.facts import Facts, Ints
from hetsched.units import TICKS_S


def check_eligibility(run: Facts) -> None:
    """Check nodes, licences, and what jobs take of shared nodes; raises AssertionError at the first broken law."""
    found = run.serving
    if found is None:
        return
    _check_nodes(run, found)
    if run.metered is None:
        _check_licences(run, found)
    if found.takes_stock:
        _check_stock(run, found)


def _check_nodes(run: Facts, found: Eligibility) -> None:
    """A job runs only on nodes that have what it asks for."""
    served = run.served.select("job", "node", "start").sort("start", "job", maintain_order=True)
    job, node = served["job"].to_numpy(), served["node"].to_numpy()
    allowed = np.zeros((len(found.wants), len(found.cells)), dtype=np.bool_)
    for number, want in enumerate(found.wants):
        allowed[number, list(want.cells)] = True
    wrong = np.flatnonzero(~allowed[found.of_job[job], found.of_node[node]])
    if len(wrong):
        where = f"node {node[wrong[0]]}, which does not have what it asks for"
        raise AssertionError(f"{run.placed(int(job[wrong[0]]))}: {where}")


def _check_licences(run: Facts, found: Eligibility) -> None:
    """At no instant do jobs hold more licences than there are."""
    for kind, (name, there) in enumerate(zip(found.names, found.licences, strict=True)):
        of_want = np.array([dict(want.licences).get(kind, 0) for want in found.wants], dtype=np.int64)
        _check_held(run, of_want[found.of_job], run.started, there, f"licence {name}")


def _check_stock(run: Facts, found: Eligibility) -> None:
    """On no node do jobs take more GPUs or memory than it has."""
    for what in ("gpus", "memory"):
        taken = np.array([getattr(want, what) for want in found.wants], dtype=np.int64)[found.of_job]
        for (node,), here in run.served.group_by("node"):
            rows = np.zeros(len(run.start), dtype=np.bool_)
            rows[here["job"].to_numpy()] = True
            there = getattr(found.cells[int(found.of_node[node])], what)
            _check_held(run, taken, rows, there, f"{what} of node {node}")


def _check_held(run: Facts, taken: Ints, rows: npt.NDArray[np.bool_], there: int, name: str) -> None:
    end = np.where(run.end >= 0, run.end, run.window[1])
    held = np.flatnonzero(rows & (taken > 0) & (end > run.start))
    at = np.concatenate([run.start[held], end[held]])
    change = np.concatenate([taken[held], -taken[held]])
    # What ends at an instant is free for what starts then.
    order = np.lexsort((change, at))
    over = np.flatnonzero(np.cumsum(change[order]) > there)
    if len(over):
        instant = at[order[over[0]]]
        here = held[(run.start[held] <= instant) & (end[held] > instant)]
        raise AssertionError(f"{name} at {instant / TICKS_S} s: {there} there, held by {_names(run, here)}")


def _names(run: Facts, rows: Iterable[int]) -> str:
    return ", ".join(run.name(int(row)) for row in rows)
