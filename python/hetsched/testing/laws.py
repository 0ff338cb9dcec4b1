"""Laws of jobs: their states, nodes, starts and ends; and all laws of a run in which attempts are one stretch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isnan

import numpy as np
import polars as pl

from hetsched.run.outcome import names_in_result
from hetsched.testing.balance_laws import (
    TOLERANCE,
    check_balance,
    check_budget,
    check_job_energy,
    check_node_books,
    check_summary,
    check_timeline,
    check_work,
    close,
)
from hetsched.testing.facts import Facts, Floats, Ints, Mask
from hetsched.testing.start_laws import check_waits
from hetsched.units import TICKS_S, floats


def check_laws(run: Facts) -> None:
    """Check a run in which every attempt is one stretch; raises AssertionError at the first broken law."""
    check_rows(run, _recorded(run))
    _check_states(run)
    _check_started_by(run)
    _check_observed(run)
    check_nodes_of_jobs(run)
    _check_profiled(run)
    _check_ends(run)
    _check_no_slot_serves_two(run)
    _check_derived_columns(run)
    check_balance(run)
    if run.all_powered:
        check_job_energy(run)
        check_node_books(run)
        check_timeline(run)
    check_summary(run)
    check_work(run)
    check_budget(run)
    check_waits(run)


def _recorded(run: Facts) -> tuple[str, ...]:
    """Columns that the run has put next to the workload's."""
    profiled = () if run.profiling_ratio is None else ("profiled",)
    eligible = ("eligible_s",) if run.can_wait else ()
    stood = ("suspended_s",) if run.makes_way else ()
    return (*profiled, *eligible, *stood, *(("attempts", "lost_energy_j") if run.has_outages else ()))


def check_rows(run: Facts, recorded: Sequence[str]) -> None:
    """Rows are in the workload's order and bring its columns along unchanged."""
    for asked, name in names_in_result(run.asked.columns, recorded).items():
        assert name in run.jobs.columns, f"column {name} is missing"
        values = run.asked[asked].cast(run.jobs[name].dtype)
        if run.jobs[name].equals(values):
            continue
        for row, (here, there) in enumerate(zip(run.jobs[name].to_list(), values.to_list(), strict=True)):
            assert here == there, f"{run.name(row)}: {name} is {here}, the workload says {there}"


def _check_states(run: Facts) -> None:
    """A job that never started has no times and, if rejected, a reason; no job starts before its submission."""
    states = {"completed", "timeout", "failed", "rejected", "cancelled", "running", "pending"}
    needs_start = {"completed", "timeout", "failed", "running"}
    nullable = ["end_s", "wait_s", "turnaround_s", "bounded_slowdown", "runtime_s", "nodes", "energy_j", "started_by"]
    too_large = (run.fewest_nodes > run.platform.nodes) | (
        floats(run.asked_for("slots"), 1) > int(run.platform.slots.max())
    )
    if run.serving is not None and run.metered is None:
        too_large |= run.serving.lacks(run.asked["node_count"].to_numpy())
    if run.queueing is not None:
        too_large |= (run.queueing.bars > 0) | _lacks_in_queue(run)
    too_much_power, on_the_edge = _beyond_the_budget(run)
    without_profile = _rejected_without_profile(run)
    known = {name: run.jobs[name].to_list() for name in ("start_s", "reason", *nullable)}
    for row, state in enumerate(run.state):
        name = run.name(row)
        assert state in states, f"{name}: state {state!r}"
        assert run.started[row] == (state in needs_start), f"{name}: {state}, start_s {known['start_s'][row]}"
        is_open = state in ("running", "pending")
        assert run.is_stopped or run.is_stuck[row] or not is_open, f"{name}: {state}, although the run is complete"
        can_never_run = too_large[row] or too_much_power[row] or without_profile[row]
        agrees = can_never_run == (state == "rejected") or (on_the_edge[row] and not too_large[row])
        # An earlier policy's budget may have rejected it, or it had started before a later one's could.
        agrees |= run.has_former and not too_large[row]
        assert is_open or agrees, f"{name}: {state}, which disagrees with what it asks for"
        if state == "rejected":
            assert known["reason"][row], f"{name}: rejected without a reason"
        if not run.started[row]:
            lost = ("energy_j",) if run.attempts[row] else ()
            given = [column for column in nullable if column not in lost and known[column][row] is not None]
            assert not given, f"{name}: {state}, but has {', '.join(given)}"
            continue
        cause = known["started_by"][row]
        assert cause in ("immediate", "backfill", "reservation"), f"{name}: started by {cause!r}"
        at = f"at {known['start_s'][row]} s"
        assert run.start[row] >= run.submit[row], f"{name} starts {at}, before it is submitted"
        assert run.start[row] >= run.joined[row] >= 0, f"{name} starts {at}, before it is eligible"


def _lacks_in_queue(run: Facts) -> Mask:
    """Jobs whose queue has too few nodes with what they ask for."""
    found, queues = run.serving, run.queueing
    lacks = np.zeros(len(run.asked), dtype=np.bool_)
    if found is None or queues is None:
        return lacks
    for row, count in enumerate(run.asked["node_count"].to_list()):
        own = found.of_node[list(queues.queues[queues.of_job[row]].numbers)]
        lacks[row] = np.isin(own, found.wants[found.of_job[row]].cells).sum() < count
    return lacks


def _check_started_by(run: Facts) -> None:
    """A backfilled job left an earlier one in the queue; a job that waited did not start immediately."""
    cause, start, submit = run.jobs["started_by"].to_numpy(), run.start, run.in_queue_from
    # An instant at which a job of length zero ends, or a node turns in no time, has another round, in which jobs of the
    # first round may start.
    rounds = np.isin(start, start[run.started & (run.end == start)]) | np.isin(start, run.instant_turns)
    waits = submit >= 0
    still = waits & ~run.started
    start_s = run.jobs["start_s"].to_list()
    for row in np.flatnonzero(run.started).tolist():
        text, at = f"{run.name(row)} starts at {start_s[row]} s", start[row]
        if cause[row] == "immediate":
            assert at == submit[row], f"{text}, after waiting, but started_by is immediate"
        elif cause[row] == "reservation":
            assert at > submit[row] or rounds[row] or run.has_former, (
                f"{text}, when it is submitted, but started_by is reservation"
            )
        else:
            later = waits & run.started & ((start > at) | (rounds[row] & (start == at)))
            later[row] = False
            overtaken = (still | later) & (submit <= at)
            assert overtaken.any(), f"{text}, with no earlier job left waiting, but started_by is backfill"


def _check_observed(run: Facts) -> None:
    """A replay starts no job before its observed start, leaves out jobs without one, and counts late starts."""
    observed = run.observed_start
    assert run.metered is not None or observed is not None or not run.left_out.any(), "pending with a reason, no replay"
    if observed is None:
        return
    known = run.asked["observed_start_s"].is_not_null().to_numpy()
    row = run.first(run.started & known & (run.start < observed))
    assert row is None, f"{run.name(row or 0)} starts before its observed start, at {observed[row or 0] / TICKS_S} s"
    here = (run.state == "pending") & ~known
    rows = np.flatnonzero(here != run.left_out)
    assert not len(rows), f"{run.name(int(rows[0]))}: its reason disagrees with its observed start"
    late = int((run.started & known & (run.start > observed)).sum())
    recorded = run.result.provenance["replay"]
    expected = {"late_starts": late, "left_out_jobs": int(run.left_out.sum())}
    assert recorded == expected, f"provenance says {recorded} of the replay, the jobs make it {expected}"


def _beyond_the_budget(run: Facts) -> tuple[Mask, Mask]:
    """Jobs that would exceed the budget on any nodes, and jobs within rounding of it."""
    none = np.zeros(len(run.start), dtype=np.bool_)
    if run.budget is None:
        return none, none
    if not run.budget.is_known or run.has_budgets_in_time:
        return none, ~none
    least_w = run.budget.least_w
    if run.profiling_ratio is not None:
        flag = run.asked_for("first_run").cast(pl.Boolean)
        # A job without application never has a profile.
        never_known = flag.fill_null(run.asked_for("app").is_null()).to_numpy()
        least_w = np.where(never_known, run.budget.tdp_w, least_w)
    excess_w = float(run.platform.idle_w.sum()) + least_w - run.budget.watts * (1 + TOLERANCE)
    return excess_w > 0, np.abs(excess_w) <= 10 * TOLERANCE * run.budget.watts


def _rejected_without_profile(run: Facts) -> Mask:
    """Rejected jobs that fit the budget with a profile but not at TDP, and came before their application had run."""
    rejected = run.state == "rejected"
    if run.budget is None or run.profiling_ratio is None:
        return np.zeros(len(run.start), dtype=np.bool_)
    flag, app = run.asked_for("first_run").is_null().to_numpy(), run.asked_for("app")
    excess_w = float(run.platform.idle_w.sum()) + run.budget.tdp_w - run.budget.watts * (1 + TOLERANCE)
    held = rejected & flag & app.is_not_null().to_numpy() & (excess_w > -10 * TOLERANCE * run.budget.watts)
    for row in np.flatnonzero(held).tolist():
        teaches = run.started & flag & (app == app[row]).fill_null(value=False).to_numpy()
        held[row] = not (run.start[teaches] < run.submit[row]).any()
    return np.asarray(held, dtype=np.bool_)


def _check_profiled(run: Facts) -> None:
    """Only first runs are profiled: those flagged in the trace, and the first of each application among other jobs.

    Sets of nodes that are scheduled by themselves have first runs of their own.
    """
    if run.profiling_ratio is None:
        assert "profiled" not in run.jobs.columns or "profiled" in run.asked.columns, "a policy without profiling"
        return
    flag, app = run.asked_for("first_run").to_list(), run.asked_for("app").to_list()
    own, first = list(zip(run.lane, app, strict=True)), dict[tuple[int, str], int]()
    for row in np.flatnonzero(run.started).tolist():
        if flag[row] is None and app[row] is not None:
            first[own[row]] = min(first.get(own[row], run.start[row]), run.start[row])
    for row in range(len(run.start)):
        name, is_profiled = run.name(row), bool(run.profiled[row])
        if flag[row] is not None:
            expected = bool(flag[row]) and bool(run.started[row])
            assert is_profiled == expected, f"{name}: profiled is {is_profiled}, its flag says {flag[row]}"
        elif app[row] is None:
            assert is_profiled == bool(run.started[row]), f"{name}, of no application: profiled is {is_profiled}"
        elif is_profiled:
            assert run.start[row] == first[own[row]], f"{run.placed(row)}: profiled, though {app[row]} ran before"
    for of, at in first.items():
        rows = [row for row in np.flatnonzero(run.start == at).tolist() if own[row] == of and flag[row] is None]
        assert run.profiled[rows].any(), f"{of[1]}: none of its jobs that start first, at {at / TICKS_S} s, is profiled"


def check_nodes_of_jobs(run: Facts) -> None:
    """A job has as many nodes as it asked for, or as it can run on, each once, ascending."""
    of_jobs = run.jobs["nodes"].to_list()
    for row in np.flatnonzero(run.started).tolist():
        nodes, low, high = of_jobs[row], run.fewest_nodes[row], run.most_nodes[row]
        count = low if low == high else f"{low} to {high}"
        assert low <= len(nodes) <= high, f"{run.placed(row)}: {len(nodes)} nodes, it asked for {count}"
        assert all(low < high for low, high in pairwise(nodes)), f"{run.placed(row)}: they do not ascend"
        assert nodes[-1] < run.platform.nodes, f"{run.placed(row)}: node {nodes[-1]} does not exist"


def _check_ends(run: Facts) -> None:
    """A job ends when its work is done, or at its walltime (stretched, with its grace) if jobs are killed at theirs."""
    ran = run.end - run.start - run.stood
    must_stop = (run.limit >= 0) & (run.full_length > run.limit)
    if run.has_given_ends:
        _check_given_ends(run, ran, must_stop & (ran >= run.limit))
        return
    if run.limits_on_a_grid:
        _check_ends_on_a_grid(run, ran)
        return
    for state, expected, law in (
        ("timeout", run.limit, "its walltime"),
        ("completed", run.full_length, "its runtime at the pace of its slowest node"),
    ):
        row = run.first((run.state == state) & (ran != expected))
        if row is not None:
            raise AssertionError(f"{run.placed(row)}: {state} after {ran[row]} us, {law} is {expected[row]} us")
    row = run.first((run.state == "timeout") & ~must_stop)
    assert row is None, f"{run.name(row or 0)}: timeout, although its walltime suffices or no job is killed"
    row = run.first((run.state == "completed") & must_stop)
    assert row is None, f"{run.name(row or 0)} outlasts its walltime, although jobs are killed at it"


def _check_ends_on_a_grid(run: Facts, ran: Ints) -> None:
    """A job that completes has done its work; one that is ended has passed its limit, and had work left."""
    row = run.first((run.state == "completed") & (ran != run.full_length))
    assert row is None, f"{run.placed(row or 0)}: completed after {ran[row or 0]} us, its runtime is another"
    row = run.first((run.state == "timeout") & ((ran < run.limit) | (ran > run.full_length)))
    assert row is None, f"{run.placed(row or 0)}: timeout after {ran[row or 0]} us, before its limit or after its work"


def _check_given_ends(run: Facts, ran: Ints, is_killed: Mask) -> None:
    """Check, with given ends, that a job that ran for its walltime and had work left was killed; others completed."""
    row = run.first(run.started & (ran < 0))
    assert row is None, f"{run.placed(row or 0)}: it ends before it starts"
    for state, which in (("timeout", is_killed), ("completed", ~is_killed)):
        row = run.first(run.started & (run.state == state) & ~which)
        assert row is None, f"{run.placed(row or 0)}: {state} after {ran[row or 0]} us, which is wrong"


def _check_derived_columns(run: Facts) -> None:
    """Wait, turnaround, slowdown, duration and mean power follow from the instants and the energy."""
    jobs, places = run.jobs, np.flatnonzero(run.end >= 0)
    start, end, submit = (floats(jobs[name], np.nan)[places] for name in ("start_s", "end_s", "submit_s"))
    ran = end - start
    energy_j = _last_energy(run)[places]
    expected = {
        "runtime_s": ran,
        "wait_s": start - submit,
        "turnaround_s": end - submit,
        "bounded_slowdown": np.fmax(1.0, (end - submit) / np.fmax(ran, 10.0)),
        "mean_power_w": np.divide(energy_j, ran, out=np.full(len(ran), np.nan), where=ran > 0),
    }
    # Differences of seconds are exact to what the instants themselves are rounded by.
    size = max(1.0, float(end.max(initial=0.0)))
    for name, worked_out in expected.items():
        recorded = jobs[name].to_list()
        for row, there in zip(places.tolist(), worked_out.tolist(), strict=True):
            here = recorded[row]
            same = here is None if isnan(there) else here is not None and close(here, there, size * 1e-3)
            assert same, f"job {run.job_id[row]}: {name} is {here}, its times and energy make it {there}"


def _last_energy(run: Facts) -> Floats:
    """Energy of each job's last attempt: of all its energy, what was not lost with earlier ones."""
    energy_j = floats(run.jobs["energy_j"], np.nan)
    if not run.has_outages:
        return energy_j
    earlier_j = np.where(run.state == "failed", 0.0, floats(run.jobs["lost_energy_j"], np.nan))
    return np.where(run.attempts > 1, energy_j - earlier_j, energy_j)


def _check_no_slot_serves_two(run: Facts) -> None:
    """At no instant do the jobs on a node take more slots than it has, including jobs of length zero."""
    books, free = run.books, run.slots_per_node - run.books.used
    lasting = books.until > books.since
    overbooked = np.flatnonzero(lasting & (free < 0))
    if len(overbooked):
        place = overbooked[np.argmin(books.since[overbooked])]
        node, at = int(books.node[place]), int(books.since[place])
        here = run.served.filter((pl.col("node") == node) & (pl.col("start") <= at) & (pl.col("end") > at))
        names = ", ".join(run.name(job) for job in here["job"])
        raise AssertionError(f"node {node} at {at / TICKS_S} s: {run.slots_per_node} slots serve {names} at once")
    is_empty = run.served["start"] == run.served["end"]
    for job, start, end, slots, node in run.served.filter(is_empty).iter_rows() if is_empty.any() else ():
        if run.is_urgent(job):  # What makes way for it goes on at the same instant.
            continue
        around = lasting & (books.node == node) & (books.since < start) & (books.until > start)
        crowded = bool((free[around] < slots).any())
        assert not crowded, f"{run.name(job)}, of length zero at {end / TICKS_S} s: node {node} is busy"
