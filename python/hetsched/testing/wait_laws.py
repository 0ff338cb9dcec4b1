"""The laws of jobs that wait for others, arrays, cancellations, and nodes that are down."""

from __future__ import annotations

import numpy as np
import polars as pl

from hetsched.testing.facts import Facts
from hetsched.testing.queue_laws import check_at_once
from hetsched.units import TICKS_S, micros

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
    start_at, cancel = (micros(run.asked_for(name).cast(pl.Float64)) for name in ("start_at_s", "cancel_s"))
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
    how, think = run.asked_for("depends_how").to_list(), micros(run.asked_for("think_s").cast(pl.Float64))
    for row, wanted in enumerate(run.asked_for("depends_on").to_list()):
        if wanted is None or run.state[row] == "rejected":
            continue
        other = place[wanted]
        state, told = run.state[other], f"{run.name(row)}, which depends on {run.name(other)}"
        is_met = state in _ENDS and {"ok": state == "completed", "not_ok": state != "completed"}.get(how[row], True)
        if run.joined[row] >= 0:
            assert is_met, f"{told} ({state}, asked for {how[row] or 'any'}): it joined the queue"
            if run.end[other] >= 0:
                earliest = run.end[other] + max(0, int(think[row]))
                assert run.joined[row] >= earliest, f"{told}: it joined the queue before {earliest / TICKS_S} s"
        elif state in _ENDS and not is_met and not run.is_stopped:
            assert run.state[row] == "cancelled", f"{told} ({state}): {run.state[row]}, though it cannot start"


def _check_arrays(run: Facts) -> None:
    """At no instant do more jobs of an array run than may."""
    if "array_id" not in run.asked.columns or "array_limit" not in run.asked.columns:
        return
    limits = dict(run.asked.select("array_id", "array_limit").drop_nulls().iter_rows())
    arrays = run.asked["array_id"].to_list()
    last = run.window[1] + 1
    for array, limit in limits.items():
        rows = [row for row, own in enumerate(arrays) if own == array and run.started[row]]
        check_at_once(
            [(run.start[row], run.end[row] if run.end[row] >= 0 else last) for row in rows], limit, f"array {array}"
        )


def _check_attempts(run: Facts) -> None:
    """Energies of the attempts sum to the job's; what was lost is that of those that a failure ended."""
    segments = run.result.segments
    sums = segments.group_by("job_id").agg(pl.col("energy_j").sum(), pl.col("attempt").n_unique())
    own = run.jobs.select("job_id", "attempts", "lost_energy_j", "state", known="energy_j").join(
        sums, on="job_id", how="left", maintain_order="left"
    )
    for job_id, attempts, lost_j, state, known_j, energy_j, told in own.iter_rows():
        if known_j is None:
            assert attempts == 0, f"job {job_id}: {attempts} attempts and no energy"
            continue
        scale = max(1.0, known_j)
        assert told == attempts, f"job {job_id}: {attempts} attempts, {told} in the segments"
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
