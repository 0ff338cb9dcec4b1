"""Laws of starts: nodes that have what a job asks for, limits of queues, and what jobs wait for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.features.eligibility import Eligibility
from hetsched.features.queues import Queueing
from hetsched.testing.facts import Facts, Ints
from hetsched.units import TICKS_S, micros


def check_eligibility(run: Facts) -> None:
    """Check nodes, licences, and what jobs take of shared nodes; raises AssertionError at the first broken law."""
    found = run.serving
    if found is None:
        return
    _check_eligible_nodes(run, found)
    if run.metered is None:
        _check_licences(run, found)
    if found.takes_stock:
        _check_stock(run, found)


def _check_eligible_nodes(run: Facts, found: Eligibility) -> None:
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


def check_queues(run: Facts) -> None:
    """Check nodes and limits of queues; raises AssertionError at the first broken law."""
    found = run.queueing
    if found is None:
        return
    _check_nodes_of_queues(run, found)
    for number, queue in enumerate(found.queues):
        own = found.of_job == number
        if queue.max_running is not None:
            _check_running(run, own, queue.max_running, f"queue {queue.name}")
        if queue.max_running_per_user is not None:
            for user in np.unique(found.users[own & (found.users >= 0)]).tolist():
                name = f"queue {queue.name}, user {run.asked['user'][int(np.argmax(found.users == user))]}"
                _check_running(run, own & (found.users == user), queue.max_running_per_user, name)


def _check_nodes_of_queues(run: Facts, found: Queueing) -> None:
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
    _check_at_once(
        ((int(run.start[row]), int(run.end[row]) if run.end[row] >= 0 else last) for row in rows), limit, name
    )


def _check_at_once(spans: Iterable[tuple[int, int]], limit: int, name: str) -> None:
    """At no instant are there more spans than may be; what ends at an instant makes room for what begins then."""
    changes = sorted(change for start, end in spans if end > start for change in ((start, 1), (end, -1)))
    active = 0
    for at, change in changes:
        active += change
        assert active <= limit, f"{name} at {at / TICKS_S} s: {active} jobs run, and {limit} may"


_ENDS = ("completed", "timeout", "failed", "rejected", "cancelled")


def check_waits(run: Facts) -> None:
    """Check what jobs waited for, and what outages did to them; raises AssertionError at the first broken law."""
    if run.can_wait:
        _check_dependencies(run)
        _check_starts(run)
        _check_arrays(run)
    if run.has_outages:
        _check_attempts(run)
        _check_outages(run)


def _check_starts(run: Facts) -> None:
    """No job joins the queue before it may, nor starts once it is cancelled."""
    start_at, cancel = (micros(run.asked_for(name)) for name in ("start_at_s", "cancel_s"))
    joined = run.joined >= 0
    row = run.first(joined & (run.joined < np.maximum(start_at, run.submit)))
    assert row is None, f"{run.name(row or 0)} is eligible at {run.joined[row or 0] / TICKS_S} s, before it may be"
    # A job that was queued again may start again after the instant at which it was not cancelled, as it ran.
    late = run.started & (cancel >= 0) & (run.start >= np.maximum(cancel, run.submit)) & (run.attempts == 1)
    row = run.first(late)
    assert row is None, f"{run.placed(row or 0)}: it was cancelled at {cancel[row or 0] / TICKS_S} s"


def _check_dependencies(run: Facts) -> None:
    """A job that depends on another joins the queue after its end, and only if that is as it asks."""
    place = {job_id: row for row, job_id in enumerate(run.job_id)}
    how, think = run.asked_for("depends_how").to_list(), micros(run.asked_for("think_s"))
    for row, wanted in enumerate(run.asked_for("depends_on").to_list()):
        if wanted is None or run.state[row] == "rejected":
            continue
        other = place[wanted]
        state, text = run.state[other], f"{run.name(row)}, which depends on {run.name(other)}"
        is_met = state in _ENDS and {"ok": state == "completed", "not_ok": state != "completed"}.get(how[row], True)
        if run.joined[row] >= 0:
            assert is_met, f"{text} ({state}, asked for {how[row] or 'any'}): it joined the queue"
            if run.end[other] >= 0:
                earliest = run.end[other] + max(0, int(think[row]))
                assert run.joined[row] >= earliest, f"{text}: it joined the queue before {earliest / TICKS_S} s"
        elif state in _ENDS and not is_met and not run.is_stopped:
            assert run.state[row] == "cancelled", f"{text} ({state}): {run.state[row]}, though it cannot start"


def _check_arrays(run: Facts) -> None:
    """At no instant do more jobs of an array run than may."""
    if "array_id" not in run.asked.columns or "array_limit" not in run.asked.columns:
        return
    limits = dict(run.asked.select("array_id", "array_limit").drop_nulls().iter_rows())
    arrays = run.asked["array_id"].to_list()
    last = run.window[1] + 1
    for array, limit in limits.items():
        rows = [row for row, own in enumerate(arrays) if own == array and run.started[row]]
        _check_at_once(
            [(run.start[row], run.end[row] if run.end[row] >= 0 else last) for row in rows], limit, f"array {array}"
        )


def _check_attempts(run: Facts) -> None:
    """Energies of the attempts sum to the job's; what was lost is that of those that a failure ended."""
    segments = run.result.segments
    sums = segments.group_by("job_id").agg(pl.col("energy_j").sum(), pl.col("attempt").n_unique())
    own = run.jobs.select("job_id", "attempts", "lost_energy_j", "state", known="energy_j").join(
        sums, on="job_id", how="left", maintain_order="left"
    )
    for job_id, attempts, lost_j, state, known_j, energy_j, in_segments in own.iter_rows():
        if known_j is None:
            assert attempts == 0, f"job {job_id}: {attempts} attempts and no energy"
            continue
        scale = max(1.0, known_j)
        assert in_segments == attempts, f"job {job_id}: {attempts} attempts, {in_segments} in the segments"
        assert abs(energy_j - known_j) <= 1e-9 * scale, f"job {job_id}: {known_j} J, its attempts {energy_j} J"
        whole = state in ("completed", "timeout", "running")
        last = segments.filter(pl.col("job_id") == job_id, pl.col("attempt") == attempts)
        last_j = last["energy_j"].sum() if whole else 0.0
        assert abs(known_j - last_j - lost_j) <= 1e-9 * scale, f"job {job_id}: {lost_j} J lost of {known_j} J"


def _check_outages(run: Facts) -> None:
    """No job runs on a node that is down."""
    served = run.result.segments.select("job_id", "start_s", "end_s", node="nodes").explode("node")
    down = _down_spans(run.result.events)
    both = served.cast({"node": pl.Int32}).join(down, on="node", how="inner")
    bad = both.filter((pl.col("start_s") < pl.col("up_s")) & (pl.col("end_s") > pl.col("down_s")))
    assert bad.is_empty(), f"job {bad['job_id'][0]} runs on node {bad['node'][0]}, which is down"


def _down_spans(events: pl.DataFrame) -> pl.DataFrame:
    """Spans in which each node is down."""
    change = {"failed": 1, "out": 1, "repaired": -1, "back": -1}
    causes: dict[int, int] = {}
    since: dict[int, float] = {}
    spans = []
    for at, kind, node in (
        events.filter(pl.col("kind").is_in(list(change))).select("time_s", "kind", "node").iter_rows()
    ):
        causes[node] = causes.get(node, 0) + change[kind]
        if causes[node] == 1 and change[kind] == 1:
            since[node] = at
        elif causes[node] == 0:
            spans.append((node, since.pop(node), at))
    spans += [(node, at, float("inf")) for node, at in since.items()]
    return pl.DataFrame(spans, schema={"node": pl.Int32, "down_s": pl.Float64, "up_s": pl.Float64}, orient="row")
