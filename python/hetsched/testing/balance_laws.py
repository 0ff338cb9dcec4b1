"""Laws of sums: energies balance, and timeline, summary and budget agree with the jobs and nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hetsched.testing.facts import Facts, Floats, Ints
from hetsched.units import TICKS_S, micros

TOLERANCE = 1e-9


def close(here: float, there: float, scale: float = 0.0) -> bool:
    """True if two numbers are one but for rounding, of their own size or of `scale`."""
    return abs(here - there) <= TOLERANCE * max(abs(here), abs(there), abs(scale), 1e-300)


def blur(end: Any, lasts: Any) -> Any:
    """Relative error of a length that is the difference of two times in seconds, from its end and length in us."""
    return 2.0**-52 * np.abs(end) / np.maximum(lasts, 1)


def check_balance(run: Facts) -> None:
    """Energy by kind, by node and over time is the same number; so is the energy of jobs."""
    summary, nodes, timeline = run.result.summary(), run.result.nodes, run.result.timeline
    kinds = ("job_energy_j", "idle_energy_j", "transition_energy_j", "off_energy_j", "down_energy_j")
    lasts_s, power_w = np.diff(micros(timeline["time_s"])) / TICKS_S, timeline["power_w"].to_numpy()
    total = summary["energy_j"]
    ways = {
        "the five kinds": sum(summary[kind] for kind in kinds),
        "the nodes": float(nodes["energy_j"].sum()),
        "the timeline's integral": float((lasts_s * power_w[:-1]).sum()),
    }
    for way, energy in ways.items():
        assert close(total, energy), f"energy_j is {total}, {way} make it {energy}"
    jobs = float(run.jobs["energy_j"].sum() or 0.0)
    assert close(summary["job_energy_j"], jobs), f"job_energy_j is {summary['job_energy_j']}, the jobs' sum is {jobs}"


def check_job_energy(run: Facts) -> None:
    """A job's energy is its share of its nodes' draws, over its time."""
    books = run.books
    # What a slot in use bears of its node's unused slots, as a running integral over all rows of the books.
    by_slot_w = np.where(books.used > 0, books.unused_w / np.maximum(books.used, 1), 0.0)
    borne = np.concatenate([[0.0], np.cumsum(by_slot_w * books.seconds)])
    span = run.window[1] + 2
    key = books.node * span + books.since
    job, node, start, end, slots = (run.drawn[name].to_numpy() for name in ("job", "node", "start", "end", "slots"))
    first, last = (np.searchsorted(key, node * span + instant) for instant in (start, end))
    own = run.whole_draw_w * slots / run.slots_per_node * (np.minimum(end, run.window[1]) - start) / TICKS_S
    energy = np.zeros(len(run.start))
    np.add.at(energy, job, np.where(end > start, own + slots * (borne[last] - borne[first]), 0.0))
    for row in np.flatnonzero(run.started).tolist():
        here, there = run.jobs["energy_j"][row], energy[row]
        assert close(here, there, borne[-1]), f"{run.placed(row)}: energy_j is {here}, its nodes drew {there} J"


def check_node_books(run: Facts) -> None:
    """Each node's hours and energy follow from the jobs it served."""
    books, nodes = run.books, run.result.nodes
    window_s = (run.window[1] - run.window[0]) / TICKS_S
    assert nodes["node"].to_list() == list(range(run.platform.nodes)), "row k of nodes is not node k"
    for name, worth in (("busy_s", books.used > 0), ("idle_s", books.used == 0), ("energy_j", books.draw_w)):
        expected = np.zeros(run.platform.nodes)
        np.add.at(expected, books.node, worth * books.seconds)
        for node, (here, there) in enumerate(zip(nodes[name], expected, strict=True)):
            assert close(here, there, window_s * 1e-3), f"node {node}: {name} is {here}, its jobs make it {there}"


def check_timeline(run: Facts) -> None:
    """At every instant at which anything changes, the timeline agrees with the jobs."""
    timeline, books = run.result.timeline, run.books
    times = micros(timeline["time_s"])
    assert len(times) or not len(run.asked), "the timeline is empty"
    assert bool((np.diff(times) > 0).all()), "the timeline's instants do not ascend"
    stays = (run.joined >= 0) & ~run.may_have_waited
    accepted = run.joined[stays] if run.started.any() else run.submit[:0]
    withdrawn = np.sort(run.withdrawn)
    started = np.sort(run.start[run.started])
    begins, ends = (np.sort(instants) for instants in run.running)
    instants = np.unique(np.concatenate([times, accepted, begins, ends, withdrawn]))
    instants = instants[(instants >= run.window[0]) & (instants <= run.window[1])]
    row = np.searchsorted(times, instants, side="right") - 1

    def after(moments: Ints) -> Ints:
        return np.searchsorted(np.sort(moments), instants, side="right")

    goes_on = np.append(False, books.node[1:] == books.node[:-1])
    by_time = np.argsort(books.since, kind="stable")

    def over_nodes(quantity: Floats) -> Floats:
        """The sum over all nodes at each instant; a node's part changes where one of its intervals begins."""
        change = quantity - np.where(goes_on, np.append(0.0, quantity[:-1]), 0.0)
        return np.concatenate([[0.0], np.cumsum(change[by_time])])[after(books.since)]

    drawn = over_nodes(books.draw_w)
    expected: dict[str, Ints | Floats] = {
        "running_jobs": after(begins) - after(ends),
        "queued_jobs": after(accepted) - after(started) - after(withdrawn),
        "busy_nodes": over_nodes((books.used > 0).astype(np.float64)),
        "power_w": drawn,
    }
    more = {"queued_jobs": after(run.in_queue_from[run.may_have_waited])}
    scale = float(np.abs(drawn).max(initial=0.0))
    for name, there in expected.items():
        here = timeline[name].to_numpy()[row]
        off = here - np.clip(here, there, there + more.get(name, 0))
        wrong = np.flatnonzero(np.abs(off) > TOLERANCE * (scale if name == "power_w" else 0.0))
        if len(wrong):
            at = instants[wrong[0]] / TICKS_S
            raise AssertionError(f"at {at} s: {name} is {here[wrong[0]]}, the jobs make it {there[wrong[0]]}")
    nodes = np.zeros(len(timeline), dtype=np.int64)
    for name in timeline.columns:
        if name.endswith("_nodes"):
            nodes += timeline[name].to_numpy()
    assert (nodes == run.platform.nodes).all(), "busy, idle, sleeping, transition and down nodes are not all nodes"


def check_summary(run: Facts) -> None:
    """Every number of the summary, from the frames."""
    summary, jobs, nodes = run.result.summary(), run.jobs, run.result.nodes
    makespan_s = (run.window[1] - run.window[0]) / TICKS_S
    off = float(blur(run.window[1], run.window[1] - run.window[0]))
    per_s = 1 / makespan_s if makespan_s > 0 else 0.0
    expected: dict[str, Any] = {
        "jobs": len(jobs),
        "makespan_s": makespan_s,
        "throughput_jobs_per_hour": int((run.state == "completed").sum()) * per_s * 3600,
        "utilization_ratio": float(nodes["busy_s"].sum()) * per_s / run.platform.nodes,
        "mean_power_w": summary["energy_j"] * per_s,
        "energy_delay_product_js": summary["energy_j"] * makespan_s,
    }
    for state in ("completed", "timeout", "failed", "rejected", "cancelled", "running", "pending"):
        expected[state] = int((run.state == state).sum())
    if run.started.any():
        wait = jobs["wait_s"].drop_nulls()
        expected |= {"mean_wait_s": wait.mean(), "median_wait_s": wait.median(), "max_wait_s": wait.max()}
        expected["p95_wait_s"] = wait.quantile(0.95, "linear")
        expected["peak_power_w"] = run.result.timeline["power_w"].max()
    if (run.end >= 0).any():
        expected["mean_turnaround_s"] = jobs["turnaround_s"].mean()
        expected["mean_bounded_slowdown"] = jobs["bounded_slowdown"].mean()
    for name, there in expected.items():
        here = summary[name]
        near = close(here, there, makespan_s * 1e-3) or abs(here - there) <= off * abs(there)
        assert near, f"summary: {name} is {here}, the frames make it {there}"
    assert summary["profiled_jobs"] == int(run.profiled.sum()), f"summary: profiled_jobs is {summary['profiled_jobs']}"


def check_work(run: Facts) -> None:
    """Completed and lost work of the jobs that ended."""
    summary = run.result.summary()
    started_node_s, done_node_s = run.work_node_s
    expected = {
        "work_lost_node_s": started_node_s - done_node_s,
        "completed_work_ratio": done_node_s / started_node_s if started_node_s > 0 else 1.0,
    }
    # The engine counts whole node-microseconds, a job's share rounded down.
    scale = started_node_s + 1e3 * len(run.jobs)
    for name, there in expected.items():
        here, unit = summary[name], 1.0 if name == "work_lost_node_s" else max(started_node_s, 1e-300)
        assert close(here, there, scale / unit), f"summary: {name} is {here}, the jobs make it {there}"
    here = summary["energy_per_work_j_per_node_s"]
    assert (here is None) == (done_node_s == 0), f"summary: energy_per_work_j_per_node_s is {here} of {done_node_s}"
    if here is not None and done_node_s > 1e-3 * len(run.jobs):
        there = summary["energy_j"] / done_node_s
        assert close(here, there, there * scale / done_node_s), (
            f"summary: energy_per_work_j_per_node_s is {here}, the jobs make it {there}"
        )


def check_budget(run: Facts) -> None:
    """The budget is kept where it must be, and draws above it are counted in spells."""
    summary, timeline = run.result.summary(), run.result.timeline
    expected: dict[str, float | None] = dict.fromkeys(("over_budget_count", "over_budget_s", "over_budget_peak_w"), 0)
    watts = None if run.budget is None else run.budget.watts
    if run.has_former:
        watts = summary["budget_w"]
    if watts is not None and len(timeline):
        power_w, at = timeline["power_w"].to_numpy(), micros(timeline["time_s"])
        lasts = np.append(np.diff(at), 0)
        in_force = np.full(len(timeline), watts)
        if run.has_budgets_in_time or (run.has_former and "budget_w" in timeline.columns):
            in_force = timeline["budget_w"].fill_null(np.inf).to_numpy()
        beyond = (power_w > in_force * (1 + TOLERANCE)) & (lasts > 0)
        spells = np.flatnonzero(beyond & ~np.append(False, beyond[:-1]))
        expected["over_budget_count"] = len(spells)
        expected["over_budget_s"] = float(lasts[beyond].sum()) / TICKS_S
        expected["over_budget_peak_w"] = float((power_w - in_force)[beyond].max(initial=0.0))
        first = timeline["time_s"][int(spells[0])] if len(spells) else None
        may_fall = bool((in_force[1:] < in_force[:-1]).any())
        assert may_fall or not (_must_keep(run) and len(spells)), (
            f"at {first} s the system draws more than its budget, {watts} W"
        )
    for name, there in expected.items() if not run.is_under_contract else ():
        here = summary[name]
        assert close(here, there or 0.0, watts or 0.0), f"summary: {name} is {here}, the timeline makes it {there}"
    here = summary["budget_w"]
    same = here is watts if watts is None or here is None else close(here, watts)
    assert same, f"summary: budget_w is {here}, the policy makes it {watts}"


def _must_keep(run: Facts) -> bool:
    """True if the policy knows enough to keep the budget: all draws of nodes that are on, or switched off by it."""
    if run.budget is None or not run.in_service or not run.budget.is_exact:
        return False
    # A first run counts with its nodes' TDP, whatever it draws.
    over_tdp = run.whole_draw_w > run.platform.tdp_w[run.drawn["node"].to_numpy()]
    return not bool((over_tdp & run.profiled[run.drawn["job"].to_numpy()]).any())
