"""Laws of jobs whose nodes change while they run."""

from __future__ import annotations

import numpy as np
import polars as pl

from hetsched.run.stretches import RESIZED
from hetsched.testing.facts import Facts
from hetsched.testing.stretches import Stretches
from hetsched.units import TICKS_S, micros


def resizes(run: Facts) -> tuple[list[int], list[int], list[str], list[int]]:
    """Changes that events show: rows of jobs, instants, kinds and numbers of nodes from then on."""
    told = run.result.events.filter(pl.col("kind").is_in(RESIZED))
    row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
    rows = [row_of[job_id] for job_id in told["job_id"].to_list()]
    return rows, micros(told["time_s"]).tolist(), told["kind"].to_list(), told["value"].cast(pl.Int64).to_list()


def check_sizes(own: Stretches) -> None:
    """A job has as many nodes as it can run on, and events show each change."""
    run, nodes = own.run, own.frame["nodes"].to_list()
    size = own.frame["nodes"].list.len().cast(pl.Int64).to_numpy()
    own.refuse((size < run.fewest_nodes[own.job]) | (size > run.most_nodes[own.job]), "nodes beyond the job's range")
    happened: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for row, at, kind, count in zip(*resizes(run), strict=True):
        happened.setdefault((row, at), []).append((kind, count))
    for place in np.flatnonzero(own.changed).tolist():
        steps = happened.get((int(own.job[place]), int(own.start[place])), [])
        assert steps, f"{own.name(place)}: other nodes than in the stretch before it, and events tell nothing of it"
        _check_change(own.name(place), nodes[place - 1], nodes[place], steps)
    seen = set(zip(own.job.tolist(), own.end.tolist(), strict=True))
    seen |= set(zip(own.job.tolist(), own.start.tolist(), strict=True))
    for (job, at), steps in happened.items():
        told = f"{run.name(job)}: events tell {steps[0][0]} at {at / TICKS_S} s, its segments do not"
        assert len(steps) > 1 or (job, at) in seen, told


def _check_change(name: str, before: list[int], after: list[int], steps: list[tuple[str, int]]) -> None:
    """The nodes that a job gives up are those with the highest numbers; it keeps its own when it gets some."""
    kinds, told = {kind for kind, _ in steps}, steps[-1][1]
    assert told == len(after), f"{name}: {len(after)} nodes, events tell {told}"
    if kinds == {"shrink"}:
        assert after == before[: len(after)], f"{name}: nodes {after}, not the lowest of {before}"
    if kinds == {"grow"}:
        assert set(before) < set(after), f"{name}: nodes {after}, which are not more than {before}"


def check_pauses(own: Stretches, rests: np.ndarray) -> None:
    """A job makes no progress for its `resize_s` after its nodes have changed, and at no other time."""
    pause = own.run.pause[own.job]
    own.refuse(own.changed & own.runs & (pause > 0) & ~rests, "its nodes have changed, and it makes progress at once")
    since = 0
    for place in range(len(rests)):
        # What stands still in the middle of a pause goes on with it.
        is_start = bool(own.changed[place]) or not own.goes_on[place]
        since = place if is_start or not (rests[place] or not own.runs[place]) else since
        if rests[place]:
            assert own.changed[since], f"{own.name(place)}: it makes no progress, though its nodes have not changed"
    after = np.append(own.goes_on[1:] & own.runs[1:] & ~rests[1:], False)[: len(rests)]
    whole = rests & own.changed & after & ~np.append(False, rests[:-1])[: len(rests)]
    own.refuse(whole & (np.abs(own.end - own.start - pause) > 1), "it makes no progress for longer, or not as long")


def check_limits(own: Stretches) -> None:
    """The same share of walltime and work is left after a change: a job is killed after the same share of it."""
    run, options = own.run, own.run.result.provenance["options"]
    is_told = options["walltimes"] == "fixed" and options["kill_at_walltime"] and options["kill_grace_s"] == 0
    if not is_told or run.platform.has_caps or run.platform.predicted is not None:
        return
    jobs = len(run.start)
    done, changes, allowed, is_resized = np.zeros(jobs), np.zeros(jobs), np.zeros(jobs), np.zeros(jobs, dtype=np.bool_)
    last = np.flatnonzero(own.is_last)
    np.add.at(done, own.job[last], ((own.end - own.start) * own.speed)[last])
    np.add.at(changes, own.job[last], 1.0)
    is_resized[own.job[last[own.changed[last]]]] = True
    first = np.flatnonzero(own.is_last & ~own.goes_on)
    size = own.frame["nodes"].list.len().cast(pl.Int64).to_numpy()[first]
    walltime = micros(run.asked_for("walltime_s").cast(pl.Float64))
    row = own.job[first]
    allowed[row] = walltime[row] * run.size_ratio(row, size) * own.speed[first]
    slack = 2.0 * (changes + 1.0) + 1e-9 * allowed
    judged = is_resized & (walltime > 0)
    for state, broken in (("timeout", np.abs(done - allowed) > slack), ("completed", done > allowed + slack)):
        found = run.first(judged & (run.state == state) & broken)
        assert found is None, f"{run.placed(found or 0)}: {state} after {done[found or 0]} us of {allowed[found or 0]}"
