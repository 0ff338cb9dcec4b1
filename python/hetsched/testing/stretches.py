"""Segments of a run as arrays, and laws of their sizes and draws."""

from __future__ import annotations

import numpy as np
import polars as pl

from hetsched.platform import VariationTable
from hetsched.run.stretches import RESIZED
from hetsched.testing.facts import Facts, Floats, Ints, Mask
from hetsched.units import TICKS_S, micros


class Stretches:
    """The segments of a run as arrays: a row a stretch, times in whole microseconds."""

    def __init__(self, run: Facts, segments: pl.DataFrame) -> None:
        self.run, self.frame = run, segments
        row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
        self.job = np.array([row_of.get(job_id, -1) for job_id in segments["job_id"].to_list()], dtype=np.int64)
        self.attempt = segments["attempt"].cast(pl.Int64).to_numpy()
        self.start, end = micros(segments["start_s"]), micros(segments["end_s"])
        self.end = np.where(end >= 0, end, run.window[1])
        self.runs = (segments["state"] == "running").to_numpy()
        self.speed = segments["speed_ratio"].to_numpy()
        self.power_w, self.energy_j = segments["power_w"].to_numpy(), segments["energy_j"].to_numpy()
        self.cap_w = segments["cap_w"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        self.lasts_s: Floats = (self.end - self.start) / TICKS_S
        self.slots: Ints = run.slots[self.job]
        self.part: Floats = self.slots / run.slots_per_node
        same = (self.job[1:] == self.job[:-1]) & (self.attempt[1:] == self.attempt[:-1])
        self.goes_on = np.append(False, same) if len(self.job) else np.zeros(0, dtype=np.bool_)
        last_attempt = np.zeros(len(run.start), dtype=np.int64)
        np.maximum.at(last_attempt, self.job, self.attempt)
        self.attempts = last_attempt
        nodes = segments["nodes"].to_list()
        self.changed = self.goes_on & np.array(
            [here != there for here, there in zip(nodes, [[], *nodes], strict=False)]
        )
        self.is_last = (self.attempt == last_attempt[self.job]) & run.started[self.job]
        self.goes_beyond = self.is_last & (run.end[self.job] < 0) & (self.end == run.window[1])

    def name(self, place: int) -> str:
        """Name of a stretch in messages."""
        attempt = f", attempt {self.attempt[place]}" if self.attempt[place] > 1 else ""
        return f"{self.run.name(int(self.job[place]))}{attempt}, from {self.start[place] / TICKS_S} s"

    def refuse(self, broken: np.ndarray, law: str) -> None:
        """Raise at the first stretch that breaks a law."""
        places = np.flatnonzero(broken)
        if len(places):
            raise AssertionError(f"{self.name(int(places[np.argmin(self.start[places])]))}: {law}")

    def by_node(self) -> pl.DataFrame:
        """A row a stretch and node: ``place, node``."""
        frame = self.frame.select(pl.int_range(pl.len()).alias("place"), pl.col("nodes").alias("node"))
        return frame.explode("node").with_columns(pl.col("node").cast(pl.Int64))


def resizes(run: Facts) -> tuple[list[int], list[int], list[str], list[int]]:
    """Changes that events show: rows of jobs, instants, kinds and numbers of nodes from then on."""
    recorded = run.result.events.filter(pl.col("kind").is_in(RESIZED))
    row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
    rows = [row_of[job_id] for job_id in recorded["job_id"].to_list()]
    return (
        rows,
        micros(recorded["time_s"]).tolist(),
        recorded["kind"].to_list(),
        recorded["value"].cast(pl.Int64).to_list(),
    )


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
        text = f"{run.name(job)}: events tell {steps[0][0]} at {at / TICKS_S} s, its segments do not"
        assert len(steps) > 1 or (job, at) in seen, text


def _check_change(name: str, before: list[int], after: list[int], steps: list[tuple[str, int]]) -> None:
    """The nodes that a job gives up are those with the highest numbers; it keeps its own when it gets some."""
    kinds, recorded = {kind for kind, _ in steps}, steps[-1][1]
    assert recorded == len(after), f"{name}: {len(after)} nodes, events tell {recorded}"
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
    is_exact = options["walltimes"] == "fixed" and options["kill_at_walltime"] and options["kill_grace_s"] == 0
    if not is_exact or run.platform.has_caps or run.platform.predicted is not None:
        return
    jobs = len(run.start)
    done, changes, allowed, is_resized = np.zeros(jobs), np.zeros(jobs), np.zeros(jobs), np.zeros(jobs, dtype=np.bool_)
    last = np.flatnonzero(own.is_last)
    np.add.at(done, own.job[last], ((own.end - own.start) * own.speed)[last])
    np.add.at(changes, own.job[last], 1.0)
    is_resized[own.job[last[own.changed[last]]]] = True
    first = np.flatnonzero(own.is_last & ~own.goes_on)
    size = own.frame["nodes"].list.len().cast(pl.Int64).to_numpy()[first]
    walltime = micros(run.asked_for("walltime_s"))
    row = own.job[first]
    allowed[row] = walltime[row] * run.size_ratio(row, size) * own.speed[first]
    slack = 2.0 * (changes + 1.0) + 1e-9 * allowed
    judged = is_resized & (walltime > 0)
    for state, broken in (("timeout", np.abs(done - allowed) > slack), ("completed", done > allowed + slack)):
        found = run.first(judged & (run.state == state) & broken)
        assert found is None, f"{run.placed(found or 0)}: {state} after {done[found or 0]} us of {allowed[found or 0]}"


def draws_and_factors(run: Facts, job: Ints, node: Ints, cap_w: Floats, own_w: Floats) -> tuple[Floats, Floats]:
    """Watts and time factor of each pair of job, of this own draw, and node under a cap each; NaN: none."""
    by_cap = run.platform.actual_by_cap
    if by_cap is None:
        return _by_model(run, job, node, cap_w, own_w)
    keys = np.array(list(by_cap))
    served = np.where(np.isnan(cap_w), len(keys) - 1, np.searchsorted(keys, cap_w, side="right") - 1)
    assert (served >= 0).all(), "a cap below the lowest that there is a table of"
    watts, factors = np.empty(len(job)), np.empty(len(job))
    for place, table in enumerate(by_cap.values()):
        here = served == place
        watts[here] = run.draw_w(table, job[here], node[here], own_w=own_w[here])
        factors[here] = _factors(run, table, job[here], node[here])
    return watts, factors


def _factors(run: Facts, table: VariationTable | None, job: Ints, node: Ints) -> Floats:
    if table is None or table.time_ratio is None:
        return np.ones(len(job))
    row = run.row_of_jobs(table)[job]
    return np.where(row >= 0, table.time_ratio[row, node], 1.0)


def _by_model(run: Facts, job: Ints, node: Ints, cap_w: Floats, own_w: Floats) -> tuple[Floats, Floats]:
    table, model = run.platform.actual, run.platform.cap_model
    full_w, factor = run.draw_w(table, job, node, own_w=own_w), _factors(run, table, job, node)
    if model is None:
        assert np.isnan(cap_w).all(), "a cap on a platform that knows of none"
        return full_w, factor
    static_w = full_w * model["static_ratio"] if "static_ratio" in model else _per_node(run, model["static_w"])[node]
    static_w = np.minimum(static_w, full_w)
    least, exponent = model["least_speed_ratio"], model["exponent"]
    binds = cap_w < full_w
    dynamic_w = np.where(binds, full_w - static_w, 1.0)
    left_w = np.where(binds, np.maximum(cap_w - static_w, 0.0), 1.0)
    # A node with static watts only runs at its lowest speed.
    share = np.where(dynamic_w > 0, left_w / np.where(dynamic_w > 0, dynamic_w, 1.0), 0.0)
    speed = np.maximum(share ** (1.0 / exponent), least)
    least_w = static_w + (full_w - static_w) * least**exponent
    slowed = factor * (1.0 + _bounds(run, model["bound_ratio"])[job] * (1.0 / speed - 1.0))
    return np.where(binds, np.maximum(cap_w, least_w), full_w), np.where(binds, slowed, factor)


def _per_node(run: Facts, static_w: float | list[float]) -> Floats:
    return np.array(np.broadcast_to(np.asarray(static_w, dtype=np.float64), (run.platform.nodes,)))


def _bounds(run: Facts, bound_ratio: float | dict[str, float]) -> Floats:
    """The share of each job's time that stretches; 1 where nothing is said of it."""
    if not isinstance(bound_ratio, dict):
        return np.full(len(run.asked), bound_ratio)
    return np.array([bound_ratio.get(app, bound_ratio.get("*", 1.0)) for app in run.asked_for("app").to_list()])


def own_draws(own: Stretches) -> tuple[Floats, Mask]:
    """Own draw of each stretch's job in it, W: what its profile says of the place where it is by then, or ``power_w``.

    The mask says of which stretches that is known: of those of a few ticks it is not. Raises AssertionError at a
    stretch in which a profile says several things.
    """
    run = own.run
    found: Floats = run.asked_for("power_w").cast(pl.Float64).fill_null(0.0).to_numpy()[own.job]
    known = np.ones(len(found), dtype=np.bool_)
    if run.profiles is None:
        return found, known
    table = run.platform.actual
    in_watts = np.zeros(len(run.asked), dtype=np.bool_)
    if table is not None and table.power_w is not None:
        in_watts = run.row_of_jobs(table) >= 0
    place = np.flatnonzero(((run.profiles.lengths > 0) & ~in_watts)[own.job] & own.runs)
    job, ahead = own.job[place], _progress(own)[place]
    done = ((own.end - own.start) * _pace(own))[place]
    # Each change of speed rounds the instant of the next turn up.
    slack = np.minimum(2.0 * (_changes(own)[place] + 1.0), done / 2.0)
    first, last = (ahead + slack) / TICKS_S, (ahead + done - slack) / TICKS_S
    middle_w = run.profiles.at(job, (first + last) / 2.0)
    mean_w = run.profiles.between(job, first, last) / np.where(last > first, last - first, 1.0)
    several = np.zeros(len(own.job), dtype=np.bool_)
    several[place] = (last - first > 1e-5) & (np.abs(mean_w - middle_w) > 1e-6 * middle_w)
    if not run.platform.has_caps:
        own.refuse(several, "its job's profile changes in it")
    found = found.copy()
    # Under a cap nodes may draw the same in several intervals.
    found[place], known[place] = middle_w, (last - first > 1e-5) & ~several[place]
    return found, known


def _pace(own: Stretches) -> Floats:
    """Progress of each stretch in its profile, in a tick of the clock."""
    run = own.run
    pace: Floats = np.where((own.speed > 0) & run.has_given_ends, 1.0, own.speed)
    if run.profiling_ratio is None or run.has_given_ends:
        return pace
    return np.where(run.profiled[own.job], pace / run.profiling_ratio, pace)


def _progress(own: Stretches) -> Floats:
    """Work of its attempt that was done before each stretch, in ticks at nominal speed."""
    done = (own.end - own.start) * _pace(own)
    before = np.cumsum(done) - done
    first = np.maximum.accumulate(np.where(own.goes_on, 0, np.arange(len(done)))) if len(done) else np.zeros(0, int)
    found: Floats = before - before[first]
    return found


def _changes(own: Stretches) -> Ints:
    """Number of the stretch in its attempt."""
    place = np.arange(len(own.job))
    first = np.maximum.accumulate(np.where(own.goes_on, 0, place)) if len(place) else place
    found: Ints = place - first
    return found
