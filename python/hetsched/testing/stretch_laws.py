"""Laws of runs whose jobs do not run in one stretch: under power caps, emergencies and budgets in time."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import numpy as np
import polars as pl

from hetsched.run.events import Events
from hetsched.testing.balance_laws import TOLERANCE, blur, check_balance, check_summary, close
from hetsched.testing.facts import Facts, Floats
from hetsched.testing.laws import check_nodes_of_jobs, check_rows
from hetsched.testing.shared_stretches import Shares, check_slots
from hetsched.testing.stretches import (
    Stretches,
    check_limits,
    check_pauses,
    check_sizes,
    draws_and_factors,
    own_draws,
    resizes,
)
from hetsched.units import TICKS_S, floats, micros

_RECORDED = ("profiled", "attempts", "suspended_s", "lost_energy_j", "lowest_cap_w")


def check_stretches(run: Facts, segments: pl.DataFrame, events: Events | None) -> None:
    """Check a run by its stretches; raises AssertionError at the first broken law."""
    check_rows(run, [name for name in _RECORDED if name in run.jobs.columns])
    check_nodes_of_jobs(run)
    own = Stretches(run, segments)
    check_order_of_stretches(own)
    check_attempts_of_stretches(own)
    check_sizes(own)
    check_states_of_stretches(own)
    shares = None if run.platform.exclusive else Shares(own)
    if shares is None:
        _check_no_node_serves_two(own)
    else:
        check_slots(own)
    _check_draws(own, shares)
    _check_work(own)
    _check_walltimes(own)
    check_limits(own)
    _check_energies(own)
    check_balance(run)
    if run.all_powered:
        _check_nodes(own, shares)
        _check_power(own, shares)
    check_summary(run)
    _check_happened(own)
    _check_budget(own, events)


def check_order_of_stretches(own: Stretches) -> None:
    """Stretches stand by job and time; those of an attempt abut, and differ from the one before."""
    assert (own.job >= 0).all(), "segments: a job that the workload has not"
    in_order = np.lexsort((own.start, own.attempt, own.job))
    assert (in_order == np.arange(len(own.job))).all(), "segments do not stand by job, attempt and time"
    own.refuse(own.end < own.start, "it ends before it starts")
    before = np.append(-1, own.end[:-1])[: len(own.end)]
    own.refuse(own.goes_on & (own.start != before), "it does not begin where the stretch before it ends")
    own.refuse((own.attempt > 1) & ~own.goes_on & (own.start < before), "it begins before the attempt before it ends")
    single = ~own.goes_on & ~np.append(own.goes_on[1:], False)[: len(own.goes_on)]
    own.refuse((own.lasts_s == 0) & ~single, "a stretch of length zero in an attempt that lasts")
    recorded = own.frame.select(pl.struct("nodes", "cap_w", "speed_ratio", "power_w", "state").alias("all"))[
        "all"
    ].to_list()
    again = np.array(
        [False, *(here == there for here, there in zip(recorded[1:], recorded, strict=False))][: len(recorded)]
    )
    own.refuse(own.goes_on & again, "it is like the stretch before it")


def check_attempts_of_stretches(own: Stretches) -> None:
    """Attempts are counted from 1; the last one of a job that started has its times and nodes."""
    run, first = own.run, ~own.goes_on
    number = np.ones(len(own.job), dtype=np.int64)
    same_job = np.append(False, own.job[1:] == own.job[:-1])[: len(own.job)]
    number[same_job & first] = (np.append(0, own.attempt[:-1])[: len(own.job)] + 1)[same_job & first]
    own.refuse(first & (own.attempt != number), "attempts are not numbered from 1")
    own.refuse((own.attempt > 1) & first & ~same_job, "an attempt without the one before it")
    assert (own.attempts[run.started] > 0).all(), "a job that started has no segment"
    if "attempts" in run.jobs.columns:
        recorded = run.jobs["attempts"].cast(pl.Int64).fill_null(0).to_numpy()
        row = run.first(recorded != own.attempts)
        assert row is None, f"{run.name(row or 0)}: attempts is {recorded[row or 0]}, it has {own.attempts[row or 0]}"
    begin, end = np.full(len(run.start), -1), np.full(len(run.start), -1)
    last = np.flatnonzero(own.is_last)
    begin[own.job[last[::-1]]], end[own.job[last]] = own.start[last[::-1]], own.end[last]
    row = run.first(run.started & (begin != run.start))
    assert row is None, f"{run.placed(row or 0)}: its segments begin at {begin[row or 0] / TICKS_S} s"
    until = np.where(run.end >= 0, run.end, run.window[1])
    row = run.first(run.started & (end != until))
    assert row is None, f"{run.placed(row or 0)}: its segments end at {end[row or 0] / TICKS_S} s"
    nodes, kept = own.frame["nodes"].to_list(), run.jobs["nodes"].to_list()
    own.refuse(own.changed & ~run.may_resize[own.job], "other nodes than in the stretch before it")
    # What is resized and ended in one instant has no stretch on its last nodes.
    at_its_end = set(zip(*resizes(run)[:2], strict=True))
    ends = own.is_last & ~np.append(own.goes_on[1:], False)[: len(nodes)]
    ends &= np.array([(job, end) not in at_its_end for job, end in zip(own.job, own.end, strict=True)], dtype=np.bool_)
    other = [bool(ends[place]) and nodes[place] != kept[own.job[place]] for place in range(len(nodes))]
    own.refuse(np.array(other, dtype=np.bool_), "other nodes than the job's")


def check_states_of_stretches(own: Stretches) -> None:
    """No attempt begins before the submit; a suspended job stands still and draws nothing."""
    run = own.run
    own.refuse(own.start < run.submit[own.job], "it begins before the job is submitted")
    own.refuse(~own.frame["state"].is_in(["running", "suspended"]).to_numpy(), "neither running nor suspended")
    own.refuse(~own.runs & ((own.speed != 0) | (own.power_w != 0)), "suspended, but it draws or gets on")
    rests = (own.speed == 0) & run.may_resize[own.job] & (run.pause[own.job] > 0)
    own.refuse(own.runs & ~(own.speed > 0) & ~rests, "running, but it does not get on")
    check_pauses(own, rests & own.runs)
    off = np.abs(own.energy_j - own.power_w * own.lasts_s) > TOLERANCE * np.maximum(own.energy_j, 1e-3)
    own.refuse(off, "its energy is not its power times its length")
    if "suspended_s" in run.jobs.columns:
        stood_s = np.zeros(len(run.start))
        still = own.is_last & ~own.runs
        np.add.at(stood_s, own.job[still], own.lasts_s[still])
        recorded_s = run.jobs["suspended_s"].fill_null(0.0).to_numpy()
        row = run.first(run.started & (np.abs(recorded_s - stood_s) > 1e-6))
        assert row is None, f"{run.name(row or 0)}: suspended_s is {recorded_s[row or 0]}, not {stood_s[row or 0]}"


def _check_no_node_serves_two(own: Stretches) -> None:
    """A node belongs to one attempt at a time, suspended or not."""
    served = own.by_node()
    place, node = served["place"].to_numpy(), served["node"].to_numpy()
    start, end = own.start[place], own.end[place]
    # Of several changes of nodes in one instant stretches show the last: between them others may have served.
    kept = (end > start) | ~np.isin(start, resizes(own.run)[1])
    place, node, start, end = (column[kept] for column in (place, node, start, end))
    order = np.lexsort((end, start, node))
    node, start, end, place = node[order], start[order], end[order], place[order]
    crowded = np.flatnonzero((node[1:] == node[:-1]) & (start[1:] < end[:-1]))
    if len(crowded):
        first = crowded[np.argmin(start[1:][crowded])]
        names = f"{own.run.name(int(own.job[place[first]]))} and {own.run.name(int(own.job[place[first + 1]]))}"
        raise AssertionError(f"node {node[first]} at {start[first + 1] / TICKS_S} s: it serves {names} at once")


def _has_one_cap_a_job(own: Stretches) -> bool:
    """True if all nodes of a job have one cap, so that the mean shows each node's; an object may set one for each."""
    allocator = (own.run.policy["power"] or {}).get("allocator")
    return isinstance(allocator, str | None) and (allocator != "equal-slowdown" or own.run.platform.cap_model is None)


def _check_draws(own: Stretches, shares: Shares | None) -> None:
    """A stretch draws, and is as fast as, the tables or the model say of its nodes under its cap."""
    alone_w, blur_w = (own.power_w, 0.0) if shares is None else (shares.alone_w, shares.blur_w)
    run, served = own.run, own.by_node()
    place, node = served["place"].to_numpy(), served["node"].to_numpy()
    count = np.bincount(place, minlength=len(own.job))
    known = np.full(len(own.job), _has_one_cap_a_job(own)) | (count == 1)
    cap_w = np.where(known[place], own.cap_w[place], np.nan)
    own_w, is_told = own_draws(own)
    watts, factor = draws_and_factors(run, own.job[place], node, cap_w, own_w[place])
    power_w, slowest = np.zeros(len(own.job)), np.zeros(len(own.job))
    np.add.at(power_w, place, watts)
    np.maximum.at(slowest, place, factor)
    slowest *= run.size_ratio(own.job, count)
    speed = 1.0 / np.where(slowest > 0, slowest, 1.0)
    judged = own.runs & (own.lasts_s > 0) & is_told
    exact, bounded = judged & known, judged & ~known
    moves = own.speed > 0
    own.refuse(exact & (np.abs(alone_w - power_w) > TOLERANCE * power_w + blur_w), "its nodes draw other watts")
    own.refuse(exact & moves & (np.abs(own.speed - speed) > TOLERANCE), "its slowest node has another speed")
    own.refuse(bounded & (alone_w > power_w * (1 + TOLERANCE) + blur_w), "it draws more than without caps")
    own.refuse(bounded & (own.speed > speed * (1 + TOLERANCE)), "it is faster than without caps")


def _check_work(own: Stretches) -> None:
    """A job that completed did its work, no more and no less, but for the microseconds that each change rounds up."""
    run, jobs = own.run, len(own.run.start)
    if run.has_given_ends:
        return
    done, changes, first_speed = np.zeros(jobs), np.zeros(jobs), np.zeros(jobs)
    mine = np.flatnonzero(own.is_last)
    np.add.at(done, own.job[mine], ((own.end - own.start) * own.speed)[mine])
    np.add.at(changes, own.job[mine], 1.0)
    moving = mine[own.speed[mine] > 0]
    first_speed[own.job[moving[::-1]]] = own.speed[moving[::-1]]
    factor = 1.0 / np.where(first_speed > 0, first_speed, 1.0)
    if run.profiling_ratio is not None:
        factor = np.where(run.profiled, factor * run.profiling_ratio, factor)
    length = micros(run.asked["runtime_s"]) * factor + run.comm
    work = length * first_speed
    slack = 2.0 * (changes + 1.0) + TOLERANCE * np.maximum(work, 1.0)
    row = run.first((run.state == "completed") & (np.abs(done - work) > slack))
    assert row is None, f"{run.placed(row or 0)}: completed after {done[row or 0]} us of work, it has {work[row or 0]}"
    row = run.first(run.started & (done > work + slack))
    assert row is None, f"{run.placed(row or 0)}: it did more work than it has"


def _check_walltimes(own: Stretches) -> None:
    """A job in one stretch, under no cap but its own, is killed at its walltime and not before."""
    run, options = own.run, own.run.result.provenance["options"]
    if options["walltimes"] != "fixed" or not options["kill_at_walltime"]:
        return
    count, cap_w = np.zeros(len(run.start)), np.full(len(run.start), np.nan)
    np.add.at(count, own.job[own.is_last], 1.0)
    cap_w[own.job[own.is_last]] = own.cap_w[own.is_last]
    asked_w = floats(run.asked_for("cap_w"), np.nan)
    plain = (count == 1) & ((cap_w == asked_w) | (np.isnan(cap_w) & np.isnan(asked_w))) & (run.limit >= 0)
    ran = run.end - run.start
    for state, broken in (("timeout", ran != run.limit), ("completed", ran > run.limit)):
        row = run.first(plain & (run.state == state) & broken)
        assert row is None, f"{run.placed(row or 0)}: {state} after {ran[row or 0]} us of {run.limit[row or 0]}"


def _check_energies(own: Stretches) -> None:
    """A job's energy is that of all its stretches; what it lost is that of attempts that came to nothing."""
    run, jobs = own.run, len(own.run.start)
    whole_j, last_j = np.zeros(jobs), np.zeros(jobs)
    np.add.at(whole_j, own.job, own.energy_j)
    np.add.at(last_j, own.job[own.is_last], own.energy_j[own.is_last])
    recorded_j = run.jobs["energy_j"].fill_null(0.0).to_numpy()
    row = run.first(run.started & (np.abs(recorded_j - whole_j) > TOLERANCE * np.maximum(whole_j, 1.0)))
    assert row is None, (
        f"{run.placed(row or 0)}: energy_j is {recorded_j[row or 0]}, its segments sum to {whole_j[row or 0]}"
    )
    mean_w, ran_s = run.jobs["mean_power_w"].to_numpy(), (run.end - run.start) / TICKS_S
    off = blur(run.end, run.end - run.start)
    for row in np.flatnonzero(run.started & (run.end > run.start)).tolist():
        there = last_j[row] / ran_s[row]
        near = close(mean_w[row], there) or abs(mean_w[row] - there) <= off[row] * there
        assert near, f"{run.placed(row)}: mean_power_w is {mean_w[row]}, not {there}"
    if "lost_energy_j" not in run.jobs.columns:
        return
    lost_j = run.jobs["lost_energy_j"].fill_null(0.0).to_numpy()
    before_j = whole_j - last_j
    near = np.abs(lost_j - before_j) <= TOLERANCE * np.maximum(whole_j, 1.0)
    is_killed = (run.state == "failed") & (np.abs(lost_j - whole_j) <= TOLERANCE * np.maximum(whole_j, 1.0))
    row = run.first(~(near | is_killed))
    assert row is None, (
        f"{run.name(row or 0)}: lost_energy_j is {lost_j[row or 0]}, lost attempts drew {before_j[row or 0]}"
    )


def _check_nodes(own: Stretches, shares: Shares | None) -> None:
    """Each node is busy while a job runs on it, and idle otherwise, also under a suspended one."""
    run, served = own.run, own.by_node()
    place, node = served["place"].to_numpy(), served["node"].to_numpy()
    busy_s = np.zeros(run.platform.nodes)
    np.add.at(busy_s, node, np.where(own.runs, own.lasts_s, 0.0)[place])
    if shares is not None:
        busy_s = shares.busy_s
    window_s = (run.window[1] - run.window[0]) / TICKS_S
    recorded = run.result.nodes
    for name, there in (("busy_s", busy_s), ("idle_s", window_s - busy_s)):
        off = np.flatnonzero(np.abs(recorded[name].to_numpy() - there) > 1e-6 + TOLERANCE * window_s)
        assert not len(off), (
            f"node {off[0]}: {name} is {recorded[name][int(off[0])]}, its segments make it {there[off[0]]}"
        )
    system_j = float(own.energy_j.sum() + ((window_s - busy_s) * run.platform.idle_w).sum())
    here = run.result.summary()["energy_j"]
    assert close(here, system_j), f"energy_j is {here}, segments and idle nodes make it {system_j}"


def _check_power(own: Stretches, shares: Shares | None) -> None:
    """The timeline's watts and busy nodes are those of the stretches that run, and of the idle nodes."""
    run, timeline = own.run, own.run.result.timeline
    served = own.by_node()
    place, node = served["place"].to_numpy(), served["node"].to_numpy()
    idle_w, count = np.zeros(len(own.job)), np.zeros(len(own.job))
    np.add.at(idle_w, place, run.platform.idle_w[node])
    np.add.at(count, place, 1.0)
    lasting = own.runs & ((own.end > own.start) | own.goes_beyond)
    # A job that still runs where the run was stopped draws at that instant, too.
    end = own.end + own.goes_beyond
    at, times = np.concatenate([own.start[lasting], end[lasting]]), micros(timeline["time_s"])
    instants = np.unique(np.concatenate([times, at[(at >= run.window[0]) & (at <= run.window[1])]]))
    if run.is_stopped and (run.profiles is not None or shares is not None):
        # A profile that turns where the run is stopped has no stretch there; one of no length has no mean watts.
        instants = instants[instants < run.window[1]]
    row = np.searchsorted(times, instants, side="right") - 1
    order = np.argsort(at, kind="stable")
    until = np.searchsorted(at[order], instants, side="right")

    def over_time(each: Floats) -> Floats:
        change = np.concatenate([each[lasting], -each[lasting]])[order]
        total: Floats = np.concatenate([[0.0], np.cumsum(change)])[until]
        return total

    alone_w, blur_w = (own.power_w, np.zeros(len(own.job))) if shares is None else (shares.alone_w, shares.blur_w)
    more_w = over_time(own.part * (alone_w - idle_w))
    expected = {
        "power_w": float(run.platform.idle_w.sum()) + more_w,
        "busy_nodes": over_time(count) if shares is None else shares.busy_nodes(instants),
    }
    blurs = over_time(own.part * blur_w)
    for name, there in expected.items():
        here = timeline[name].to_numpy()[row]
        wrong = np.flatnonzero(np.abs(here - there) > 1e-6 + blurs + TOLERANCE * np.abs(there).max(initial=0.0))
        if len(wrong):
            when = instants[wrong[0]] / TICKS_S
            raise AssertionError(f"at {when} s: {name} is {here[wrong[0]]}, the segments make it {there[wrong[0]]}")


def _check_happened(own: Stretches) -> None:
    """Events show what the stretches and the states show: suspensions, requeues, kills, alerts."""
    run, happened = own.run, own.run.result.events
    summary, row_of = run.result.summary(), {job_id: row for row, job_id in enumerate(run.job_id)}
    at = micros(happened["time_s"])
    assert (np.diff(at) >= 0).all(), "events do not stand in order of time"
    kinds, jobs = happened["kind"].to_list(), [row_of.get(job_id) for job_id in happened["job_id"].to_list()]

    def recorded(kind: str) -> list[tuple[int, int]]:
        rows = zip(jobs, at.tolist(), kinds, strict=True)
        return sorted((job, when) for job, when, named in rows if named == kind and job is not None)

    if "alerts" in summary:
        alerts = kinds.count("alert")
        assert summary["alerts"] == alerts, f"alerts is {summary['alerts']}, events tell {alerts}"
    check_suspensions(own, recorded("suspend"), recorded("resume"), recorded("kill"))
    for job, when in recorded("kill"):
        assert run.state[job] == "failed", f"{run.name(job)} was killed at {when / TICKS_S} s, but is {run.state[job]}"
        assert run.end[job] == when, f"{run.name(job)} was killed at {when / TICKS_S} s, but ends elsewhere"
    check_requeues(own, recorded("requeue"))
    less = happened.filter(pl.col("kind").is_in(["lower-cap", "suspend", "requeue", "kill"]))
    rises = less.filter(pl.col("power_after_w") > pl.col("power_before_w") * (1 + TOLERANCE))
    assert rises.is_empty(), f"at {rises['time_s'][0]} s: {rises['kind'][0]} raises the draw"


_Instants: TypeAlias = list[tuple[int, int]]


def check_suspensions(own: Stretches, suspended: _Instants, resumed: _Instants, killed: _Instants) -> None:
    """Suspensions and resumptions are where stretches say so; what an instant takes back leaves no trace in them."""
    before = np.append(True, own.runs[:-1])[: len(own.runs)]
    stops, resumes = ~own.runs & (~own.goes_on | before), own.runs & own.goes_on & ~before
    both = Counter(suspended) & Counter(resumed)
    at_once = Counter(suspended) - both & Counter(killed)
    for kind, places, recorded in (("suspend", stops, suspended), ("resume", resumes, resumed)):
        taken_back = at_once if kind == "suspend" else Counter()
        here = sorted((Counter(recorded) - both - taken_back).elements())
        # A job that started there, too, has one stretch of length zero in the state it had last.
        shown = Counter(zip(own.job[places].tolist(), own.start[places].tolist(), strict=True))
        there = sorted((shown - taken_back).elements())
        assert here == there, f"events tell {kind} {here}, the segments {there} (row of the job, us)"


def check_requeues(own: Stretches, recorded: list[tuple[int, int]]) -> None:
    """An attempt that is not the last was requeued at its end; the last one only if it came to nothing."""
    run, over = own.run, ~np.append(own.goes_on[1:], False)[: len(own.goes_on)]
    ends = [(int(own.job[place]), int(own.end[place]), int(own.attempt[place])) for place in np.flatnonzero(over)]
    lost = {(job, end) for job, end, attempt in ends if attempt < own.attempts[job]}
    # A job that was queued again may be withdrawn or turned away there, or wait when the run ends.
    over_there = ("pending", "failed", "cancelled", "rejected")
    may_be_lost = lost | {(job, end) for job, end, _ in ends if run.state[job] in over_there}
    for job, when in sorted(lost - set(recorded)):
        raise AssertionError(f"{run.name(job)}: an attempt is lost at {when / TICKS_S} s, where events tell no requeue")
    for job, when in sorted(set(recorded) - may_be_lost):
        raise AssertionError(f"{run.name(job)} was requeued at {when / TICKS_S} s, where no attempt is lost")


def _check_budget(own: Stretches, events: Events | None) -> None:
    """The draw is compared with the budget in force, and is within it where the policy knows enough."""
    run, timeline, summary = own.run, own.run.result.timeline, own.run.result.summary()
    if run.policy["power"] is None or not len(timeline):
        return
    fixed_w = summary["budget_w"]
    budget_w = timeline["budget_w"].to_numpy() if "budget_w" in timeline.columns else np.full(len(timeline), fixed_w)
    power_w, lasts = timeline["power_w"].to_numpy(), np.append(np.diff(micros(timeline["time_s"])), 0)
    beyond = (power_w > budget_w * (1 + TOLERANCE)) & (lasts > 0)
    expected = {
        "over_budget_s": float(lasts[beyond].sum()) / TICKS_S,
        "over_budget_peak_w": float((power_w - budget_w)[beyond].max(initial=0.0)),
    }
    for name, there in expected.items() if not run.is_under_contract else ():
        here = summary[name]
        assert close(here, there, float(np.max(budget_w))), f"summary: {name} is {here}, the timeline makes it {there}"
    if _must_keep(own, budget_w, events):
        assert not beyond.any(), (
            f"at {timeline['time_s'][int(np.flatnonzero(beyond)[0])]} s the system draws more than its budget, "
            f"{budget_w[beyond][0]} W"
        )


def _must_keep(own: Stretches, budget_w: Floats, events: Events | None) -> bool:
    """True if predictions are exact, no job overstays its plan, and the budget never falls unforeseen."""
    run, platform, options = own.run, own.run.platform, own.run.result.provenance["options"]
    is_exact = platform.predicted is None and platform.known_draws == "measured" and options["predictor"] is None
    if not is_exact or not run.in_service or bool(run.profiled.any()) or run.profiles is not None:
        return False
    if (np.diff(budget_w) >= 0).all():
        return True
    if events is None or run.policy["power"].get("foresight_s") != "all":
        return False
    overstays = options["kill_grace_s"] > 0 or not options["kill_at_walltime"]
    return not overstays and bool(np.isneginf(events._of_budgets()[2]).all())
