"""The laws of queues: each job runs on nodes of its own, and no more of them at once than may."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hetsched.features.queues import Queueing
from hetsched.testing.facts import Facts
from hetsched.units import TICKS_S


def check_queues(run: Facts) -> None:
    """Check nodes and limits of queues; raises AssertionError at the first broken law."""
    found = run.queueing
    if found is None:
        return
    _check_nodes(run, found)
    for number, queue in enumerate(found.queues):
        own = found.of_job == number
        if queue.max_running is not None:
            _check_running(run, own, queue.max_running, f"queue {queue.name}")
        if queue.max_running_per_user is not None:
            for user in np.unique(found.users[own & (found.users >= 0)]).tolist():
                name = f"queue {queue.name}, user {run.asked['user'][int(np.argmax(found.users == user))]}"
                _check_running(run, own & (found.users == user), queue.max_running_per_user, name)


def _check_nodes(run: Facts, found: Queueing) -> None:
    """A job runs only on nodes of its queue."""
    job, node = run.served["job"].to_numpy(), run.served["node"].to_numpy()
    allowed = np.zeros((len(found.queues), run.platform.nodes), dtype=np.bool_)
    for number, queue in enumerate(found.queues):
        allowed[number, list(queue.numbers)] = True
    wrong = np.flatnonzero(~allowed[found.of_job[job], node])
    if len(wrong):
        raise AssertionError(f"{run.placed(int(job[wrong[0]]))}: node {node[wrong[0]]}, which is not one of its queue")


def _check_running(run: Facts, own: npt.NDArray[np.bool_], limit: int, name: str) -> None:
    """At no instant do more of these jobs run than may."""
    last = run.window[1] + 1
    rows = np.flatnonzero(own & run.started)
    check_at_once(
        ((int(run.start[row]), int(run.end[row]) if run.end[row] >= 0 else last) for row in rows), limit, name
    )


def check_at_once(spans: Iterable[tuple[int, int]], limit: int, name: str) -> None:
    """At no instant are there more spans than may be; what ends at an instant makes room for what begins then."""
    changes = sorted(change for start, end in spans if end > start for change in ((start, 1), (end, -1)))
    active = 0
    for at, change in changes:
        active += change
        assert active <= limit, f"{name} at {at / TICKS_S} s: {active} jobs run, and {limit} may"
