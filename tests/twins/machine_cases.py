"""Runs of the reference machine (`plain_machine`): drawn, made by the engine, and compared in all that they say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from plain_cells import cell_pass
from plain_machine import ORDERS, Happening, Job, Machine, Offer, Queue, Sleep, Wish
from plain_profile import count_pass
from plain_rest import counted_pass_and_rest
from plain_windows import named_pass

import hetsched as hs
from hetsched.testing import check_schedule

SECOND = 1_000_000
IDLE_W, BUSY_W, DOWN_W = 100.0, 300.0, 7.0
WATTS = {"busy": BUSY_W, "on": IDLE_W, "booting": IDLE_W, "stopping": IDLE_W, "off": 0.0, "down": DOWN_W}
"""Of a node that sleeps, by what it is doing."""
APPS = ("calm", "hungry")
FEATURES = ("cpu", "gpu", "big", "a100")
STATES = {"hopeless": "cancelled", "stranded": "pending", "unmet": "pending"}
REASONS = {
    "cancelled": "was cancelled before it ran",
    "hopeless": "the job that it depends on did not end as it asks",
    "stranded": "could not start, and nothing was to come that would have let it",
    "unmet": "waits for a job that never ends",
}


def seconds(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most).map(lambda value: value * SECOND)


# What is drawn.


@st.composite
def machines(draw: st.DrawFn, *, plan: bool) -> Machine:
    return Machine(
        nodes=draw(st.integers(1, 5)),
        slots=draw(st.sampled_from([1, 1, 2, 4] if plan else [1, 1, 1, 2, 4])),
        order=draw(st.sampled_from(["fcfs", *ORDERS])),
        depth=draw(st.sampled_from([inf, inf, 1, 2] if plan else [None, 0, 1, 1, 2, inf, inf])),
        plan=plan,
        horizon=draw(st.sampled_from([2_592_000, 60, 7, 0])) * SECOND,
        interval=draw(st.sampled_from([0, 0, 5, 30])) * SECOND if plan else 0,
        candidates=draw(st.sampled_from([None, None, *ORDERS])) if plan else None,
        requeue=draw(st.booleans()),
    )


@st.composite
def jobs_of(draw: st.DrawFn, machine: Machine) -> list[Job]:
    """Jobs for the machine's queues; where some are urgent, often a crowd that runs long, and then many urgent ones."""
    jobs, count = [], draw(st.sampled_from([1, 5, 10, 15, 20]))
    # Some runs pass midnight, where a day's shutdowns begin again.
    begins, later = ([0, 3, 86_350], [0, 0, 0, 1, 4, 11, 40, 100]) if machine.sleep else ([0, 3], [0, 0, 1, 4, 11])
    submit = draw(st.sampled_from(begins)) * SECOND
    high = [queue.name for queue in machine.queues if queue.preempts]
    low = [queue.name for queue in machine.queues if not queue.preempts] or [None]
    crowded = bool(high) and draw(st.sampled_from([True, True, False]))
    has_users = bool(machine.queues) or machine.order == "fair-share"
    for row in range(count):
        is_early = crowded and row < count // 2
        submit += draw(st.sampled_from([0, 0, 1] if is_early else later)) * SECOND
        job = Job(
            row,
            submit,
            draw(seconds(30 if is_early else 0, 40)),
            draw(st.none() | seconds(50 if is_early else 1, 60)),
            node_count=1,
            slots=draw(st.integers(1, machine.slots)),
            queue=draw(st.sampled_from(low if is_early else [*low, *high, *high])),
            user=draw(st.sampled_from([None, "ann", "bo", "cy"])) if has_users else None,
        )
        job.node_count = draw(st.integers(1, len(machine.queue_of(job).nodes) + (row % 5 == 4)))
        if machine.sleep:
            # Few large ones, so that some nodes sleep while others serve.
            job.node_count = min(job.node_count, draw(st.sampled_from([1, 1, 2, 3, job.node_count])))
        jobs.append(job)
    return jobs


@st.composite
def waits(draw: st.DrawFn, jobs: list[Job]) -> None:
    """Jobs that wait for an instant or for others, are withdrawn, or are few at a time."""
    count, limits = len(jobs), {array: draw(st.integers(1, 2)) for array in (1, 2)}
    first = jobs[0].submit // SECOND // 60 * 60
    for job in jobs:
        job.start_at = draw(st.none() | st.none() | seconds(first, first + 60))
        # Of a job that comes later or earlier, in no cycle: the first of a permutation waits for none.
        job.depends_on = draw(st.none() | st.integers(0, job.row - 1)) if job.row else None
        job.how = draw(st.sampled_from(["any", "any", "ok", "not_ok"]))
        job.think = draw(st.sampled_from([0, 0, 3, 20])) * SECOND
        job.cancel = draw(st.none() | st.none() | seconds(first, first + 80))
        job.array = draw(st.sampled_from([None, None, 1, 2]))
        job.limit = None if job.array is None else limits[job.array]
    if draw(st.booleans()):
        # Dependencies on later rows: the rows are mirrored, the submissions are not.
        others = [None if job.depends_on is None else count - 1 - job.depends_on for job in jobs]
        for job, other in zip(jobs, reversed(others), strict=True):
            job.depends_on = other


@st.composite
def queues_of(draw: st.DrawFn, machine: Machine, *, urgent: bool) -> list[Queue]:
    """Queues of any nodes, or of up to three pools where nodes are counted; those of one priority have one order."""
    orders = {priority: draw(st.sampled_from([None, None, *ORDERS])) for priority in (-1, 0, 3, 5, 7)}
    limits = st.sampled_from([inf, inf, 1, 2, 3])
    sets = st.sets(st.integers(0, machine.nodes - 1), min_size=1)
    if not machine.plan:
        owner = draw(st.lists(st.integers(-1, 2), min_size=machine.nodes, max_size=machine.nodes))
        pools = [{node for node in range(machine.nodes) if owner[node] == pool} for pool in range(3)]
        sets = st.sampled_from([pool for pool in pools if pool] or [set(range(machine.nodes))])

    def made(name: str, priority: int, preempts: list[str]) -> Queue:
        own = sorted(draw(sets))
        queue = Queue(name, own, priority, order=orders[priority], spreads=draw(st.booleans()), preempts=preempts)
        if draw(st.sampled_from([True, False, False] if urgent else [True])):
            longest = draw(st.none() | st.integers(5, 60))
            default = draw(st.none() | st.integers(5, longest or 60))
            queue.max_nodes = draw(st.sampled_from([inf, inf, 1, len(own)]))
            queue.max_slots = draw(st.sampled_from([inf, inf, machine.slots, 2 * machine.slots]))
            queue.max_walltime = None if longest is None else longest * SECOND
            queue.default_walltime = None if default is None else default * SECOND
            queue.max_running, queue.max_running_per_user = draw(limits), draw(limits)
            queue.users = draw(st.sampled_from([None, None, ["ann", "bo"]]))
        return queue

    low = ["a", "b", "c"][: draw(st.integers(1, 3))]
    queues = [made(name, draw(st.sampled_from([0, 0, 3, -1])), []) for name in low]
    if urgent:
        some = st.lists(st.sampled_from(low), min_size=1, unique=True)
        queues.append(made("u", 5, draw(some)))
        if draw(st.booleans()):
            more = ["u"] if draw(st.booleans()) else []
            queues.append(made("v", 7 if more else draw(st.sampled_from([5, 7])), [*draw(some), *more]))
    return queues


def either(one: Wish, other: Wish) -> Wish:
    return f"({one[0]}|{other[0]})", lambda features: one[1](features) or other[1](features)


def both(one: Wish, other: Wish) -> Wish:
    return f"{one[0]} & {other[0]}", lambda features: one[1](features) and other[1](features)


def neither(one: Wish) -> Wish:
    return f"!({one[0]})", lambda features: not one[1](features)


def named(word: str) -> Wish:
    return word, lambda features: word in features


WISHES = st.recursive(
    st.sampled_from([*FEATURES, "h100"]).map(named),
    lambda inner: st.builds(either, inner, inner) | st.builds(both, inner, inner) | st.builds(neither, inner),
    max_leaves=3,
)
KINDS = st.builds(Offer, st.frozensets(st.sampled_from(FEATURES)), st.sampled_from([0, 2]), st.sampled_from([1, 4]))


@st.composite
def unlike(draw: st.DrawFn, machine: Machine, *, budget: bool) -> None:
    """Nodes of up to four kinds, licences, and room for as many watts as are drawn."""
    adds = st.tuples(*[st.sampled_from([0, 100, 130, 170, 200])] * len(APPS))
    kinds = [replace(kind, adds_w=draw(adds)) for kind in draw(st.lists(KINDS, min_size=1, max_size=4))]
    machine.offers = [kind for kind in kinds for _ in range(draw(st.integers(1, 3)))]
    machine.nodes = len(machine.offers)
    machine.licences = draw(st.sampled_from([{}, {"matlab": 2}, {"ansys": 3, "matlab": 1}]))
    machine.slots = machine.slots if machine.plan else 1
    machine.room_w = draw(st.sampled_from([2, 3, 4, 6, 9])) * 100 if budget else None


@st.composite
def wishes(draw: st.DrawFn, machine: Machine, jobs: list[Job]) -> None:
    """Constraints, GPUs, memory and licences that jobs ask for."""
    for job in jobs:
        job.node_count = min(job.node_count, draw(st.sampled_from([1, 1, 2, 3, job.node_count])))
        job.wish = draw(st.none() | st.none() | WISHES)
        job.gpus = draw(st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3]))
        job.memory = draw(st.sampled_from([0, 0, 0, 1, 1, 3, 4, 5]))
        counts = {name: draw(st.sampled_from([0, 0, 1, count, count + 1])) for name, count in machine.licences.items()}
        job.licences = {name: count for name, count in counts.items() if count}
        job.app = draw(st.integers(0, len(APPS) - 1))


@st.composite
def worlds(draw: st.DrawFn, machine: Machine, jobs: list[Job]) -> list[Happening]:
    """Failures, repairs, maintenances and cancellations."""
    world = []
    first = jobs[0].submit // SECOND // 60 * 60
    last = first + (120 if machine.sleep else 60)
    node = st.integers(0, machine.nodes - 1)
    for _ in range(draw(st.sampled_from([1, 3, 6, 9]))):
        kind = draw(
            st.sampled_from(
                ["failed", "failed", "repaired", "repaired", "maintenance", "maintenance", "maintenance", "cancel"]
            )
        )
        time = draw(seconds(first, last))
        if kind == "cancel":
            world.append(Happening(time, kind, draw(st.integers(0, len(jobs) - 1))))
        elif kind == "maintenance":
            early = draw(st.sampled_from([0, 0, 10, 1000])) * SECOND if machine.plan else 0
            announced = -inf if early == 1000 * SECOND else max(0, time - early)
            world.append(Happening(time, kind, draw(node), time + draw(seconds(1, 40)), announced))
        else:
            world.append(Happening(time, kind, draw(node)))
    return sorted(world, key=lambda one: (one.time, one.kind in ("failed", "maintenance")))


HALF_LIVES = st.sampled_from([inf, 604_800 * SECOND, 20 * SECOND, 3 * SECOND, SECOND // 4])
SPANS = st.sampled_from([0, 0, 1, 3, 7, 20])


@st.composite
def sleeps(draw: st.DrawFn, nodes: int, boot: int, shutdown: int) -> Sleep:
    """Parameters of a sleep part where transitions take so many seconds."""
    min_idle, far = draw(SPANS), draw(st.sampled_from([0, 0, 5, 12, "break-even"]))
    stop, start = draw(SPANS | st.just("actual")), draw(SPANS | st.just("actual"))
    limit, min_on = draw(st.sampled_from(["none", "none", 1, 2])), draw(st.sampled_from([0, 0, 0, 1, 2]))
    exclude = draw(st.sampled_from(["", "", "0", f"{nodes - 1}"]))
    part = {
        "min_idle_s": min_idle,
        "estimated_off_s": far,
        "stop_margin_s": stop,
        "start_margin_s": start,
        "off_limit_per_day": limit,
        "min_on_nodes": min_on,
        "exclude": exclude,
    }
    return Sleep(
        boot * SECOND,
        shutdown * SECOND,
        min_idle * SECOND,
        # Rule 17 with idle = boot = shutdown = 100 W, off 0 W: the time of both transitions.
        (boot + shutdown if far == "break-even" else far) * SECOND,
        (shutdown if stop == "actual" else stop) * SECOND,
        (boot if start == "actual" else start) * SECOND,
        inf if limit == "none" else limit,
        min_on,
        frozenset([] if exclude == "" else [int(exclude)]),
        part=part,
    )


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    plan: bool,
    queues: bool = False,
    urgent: bool = False,
    wait: bool = False,
    outages: bool = False,
    cells: bool = False,
    budget: bool = False,
    sleep: bool = False,
    shares: bool = False,
) -> tuple[Machine, list[Job]]:
    """A machine and its jobs with some features; waits and outages are left out now and then."""
    machine = draw(machines(plan=plan))
    if shares:
        machine.order, machine.half_life = "fair-share", draw(HALF_LIVES)
        machine.by = draw(st.sampled_from(["user", "account"]))
    if sleep:
        # Nodes that are counted sleep only if jobs get whole ones.
        machine.slots, machine.candidates = machine.slots if plan else 1, None
        machine.nodes = draw(st.integers(2, 6) if plan else st.integers(1, 9))
        machine.horizon = max(machine.horizon, draw(st.sampled_from([0, 2_592_000, 2_592_000])) * SECOND)
        times = draw(st.tuples(st.sampled_from([0, 1, 6]), st.sampled_from([0, 2, 9])))
        machine.sleep = draw(sleeps(machine.nodes, *times))
    if cells:
        machine.kill = draw(st.booleans())
        draw(unlike(machine, budget=budget))
    if queues or urgent:
        machine.queues = draw(queues_of(machine, urgent=urgent))
    jobs = draw(jobs_of(machine))
    if wait and draw(st.booleans()):
        draw(waits(jobs))
    if cells:
        draw(wishes(machine, jobs))
    # A policy with a budget takes no other events.
    if outages and machine.room_w is None and draw(st.sampled_from([True, True, False])):
        machine.world = draw(worlds(machine, jobs))
    return machine, jobs


# The same in the engine.


def told(micros: float | None) -> float | None:
    return None if micros is None else micros / SECOND


def workload_of(jobs: list[Job]) -> hs.Workload:
    columns: dict[str, tuple[Any, list[Any]]] = {
        "job_id": (pl.Int64, [job.row for job in jobs]),
        "submit_s": (pl.Float64, [told(job.submit) for job in jobs]),
        "runtime_s": (pl.Float64, [told(job.runtime) for job in jobs]),
        "node_count": (pl.Int64, [job.node_count for job in jobs]),
        "walltime_s": (pl.Float64, [told(job.walltime) for job in jobs]),
        "slots": (pl.Int64, [job.slots for job in jobs]),
        "queue": (pl.String, [job.queue for job in jobs]),
        "user": (pl.String, [job.user for job in jobs]),
        "account": (pl.String, [job.user for job in jobs]),
        "start_at_s": (pl.Float64, [told(job.start_at) for job in jobs]),
        "depends_on": (pl.Int64, [job.depends_on for job in jobs]),
        "depends_how": (pl.String, [None if job.how == "any" and job.row % 2 else job.how for job in jobs]),
        "think_s": (pl.Float64, [told(job.think) if job.think else None for job in jobs]),
        "cancel_s": (pl.Float64, [told(job.cancel) for job in jobs]),
        "array_id": (pl.Int64, [job.array for job in jobs]),
        "array_limit": (pl.Int64, [job.limit for job in jobs]),
        "constraint": (pl.String, [job.wish and job.wish[0] for job in jobs]),
        "gpus": (pl.Int64, [job.gpus for job in jobs]),
        "memory_gb": (pl.Float64, [float(job.memory) for job in jobs]),
        "licences": (pl.String, [",".join(f"{name}:{n}" for name, n in job.licences.items()) or None for job in jobs]),
        "app": (pl.String, [APPS[job.app] for job in jobs]),
    }
    return hs.Workload.from_polars(pl.DataFrame([pl.Series(name, of, kind) for name, (kind, of) in columns.items()]))


def _limit(value: float) -> int | None:
    return None if value == inf else int(value)


def platform_of(machine: Machine) -> hs.Platform:
    queues = [
        hs.Queue(
            queue.name,
            queue.nodes,
            priority=queue.priority,
            max_nodes=_limit(queue.max_nodes),
            max_slots=_limit(queue.max_slots),
            max_walltime_s=told(queue.max_walltime),
            default_walltime_s=told(queue.default_walltime),
            max_running=_limit(queue.max_running),
            max_running_per_user=_limit(queue.max_running_per_user),
            users=queue.users,
            order=queue.order,
            allocation="spread" if queue.spreads else "concentrate",
            preempts=queue.preempts,
        )
        for queue in machine.queues
    ]
    given: dict[str, Any] = {"idle_w": IDLE_W, "tdp_w": BUSY_W, "down_w": DOWN_W, "slots": machine.slots}
    if machine.sleep is not None:
        given |= {"boot_s": told(machine.sleep.boot), "shutdown_s": told(machine.sleep.shutdown), "off_w": WATTS["off"]}
    more: dict[str, Any] = {"exclusive": machine.slots == 1, "queues": queues or None}
    if machine.offers is None:
        return hs.Platform.homogeneous(nodes=machine.nodes, **given, **more)
    classes = [
        hs.NodeClass(f"n{n}", 1, **given, gpus=one.gpus, memory_gb=one.memory, features=list(one.features))
        for n, one in enumerate(machine.offers)
    ]
    adds_w = np.array([one.adds_w for one in machine.offers], dtype=np.float64).T
    table = hs.VariationTable(list(APPS), power_w=IDLE_W + adds_w)
    return hs.Platform(classes, licences=machine.licences, **more).with_tables(actual=table)


def events_of(machine: Machine) -> hs.Events | None:
    kinds = {"failed": "node_failed", "repaired": "node_repaired"}
    rows = [
        {
            "time_s": told(one.time),
            "kind": kinds.get(one.kind, one.kind),
            "node": None if one.kind == "cancel" else one.about,
            "job_id": one.about if one.kind == "cancel" else None,
            "until_s": told(one.until) if one.kind == "maintenance" else None,
            "announced_s": told(one.announced) if one.kind == "maintenance" and one.announced > -inf else None,
        }
        for one in machine.world
    ]
    schema = {
        "time_s": pl.Float64,
        "kind": pl.String,
        "node": pl.Int64,
        "job_id": pl.Int64,
        "until_s": pl.Float64,
        "announced_s": pl.Float64,
    }
    return hs.Events.from_polars(pl.DataFrame(rows, schema=schema)) if rows else None


def policy_of(machine: Machine, sleep: Any = "timeout") -> hs.Policy:
    """Under the sleep part of that name, or under one of one's own."""
    depth = "unbounded" if machine.depth == inf else machine.depth
    rest = machine.sleep and ({"name": sleep, **machine.sleep.part} if isinstance(sleep, str) else sleep)
    order: Any = machine.order
    if order == "fair-share":
        half_life_s = "none" if machine.half_life == inf else machine.half_life / SECOND
        order = {"name": order, "half_life_s": half_life_s, "by": machine.by}
    if not machine.plan:
        by_name = {None: "none", 0: "first-fit"}.get(machine.depth)
        budget_w = None if machine.room_w is None else IDLE_W * machine.nodes + machine.room_w
        power = budget_w and {"name": "system-budget", "budget_w": budget_w}
        return hs.Policy(order, by_name or {"name": "reservations", "depth": depth}, power=power, sleep=rest)
    plan: dict[str, Any] = {
        "name": "plan",
        "depth": depth,
        "horizon_s": machine.horizon // SECOND,
        "interval_s": machine.interval // SECOND,
        "order": machine.candidates or "policy",
    }
    return hs.Policy(order, plan, sleep=rest)


def run(machine: Machine, jobs: list[Job], sleep: Any = "timeout") -> hs.Result:
    return hs.simulate(
        workload_of(jobs),
        platform_of(machine),
        policy_of(machine, sleep),
        events=events_of(machine),
        on_failure="requeue" if machine.requeue else "fail",
        kill_at_walltime=machine.kill,
    )


# What is compared.


def agrees(machine: Machine, jobs: list[Job], sleep: Any = "timeout") -> None:
    """The engine's run is the reference machine's: each time, node, stretch and event, and what was drawn."""
    result = run(machine, jobs, sleep)
    workload = workload_of(jobs)
    if machine.offers and not any(job.wish for job in jobs):
        # Features that no job asks for make no difference.
        machine.offers = [replace(one, features=frozenset()) for one in machine.offers]
    counted = count_pass if machine.sleep is None else counted_pass_and_rest
    machine.run(jobs, named_pass if machine.plan else counted if machine.offers is None else cell_pass)
    for job, row in zip(jobs, result.jobs.iter_rows(named=True), strict=True):
        expected = {name: value for name, value in of_job(job).items() if name in row}
        assert {name: row[name] for name in expected} == expected, job
        if machine.slots == 1 and machine.offers is None and job.attempts:
            assert row["energy_j"] == pytest.approx(job.ran() * BUSY_W / SECOND)
            assert row.get("lost_energy_j", 0.0) == pytest.approx(job.lost * BUSY_W / SECOND)
    if any(queue.preempts for queue in machine.queues):
        segments = result.segments.filter(pl.col("end_s") > pl.col("start_s"))
        assert segments.select("job_id", "attempt", "start_s", "end_s", "state").rows() == [
            (job.row, attempt, told(since), told(until), how)
            for job in jobs
            for attempt, since, until, how in job.stretches
        ]
        happened = result.events.filter(pl.col("kind").is_in(["suspend", "resume", "requeue"]))
        assert sorted(happened.select("time_s", "kind", "job_id").rows()) == sorted(
            (told(at), kind, row) for at, kind, row in machine.told
        )
    if machine.sleep is not None:
        steps = result.events.filter(pl.col("kind").is_in(["wake", "ready", "sleep", "off"]))
        rows = steps.select("time_s", "node", "kind").rows()
        taken = [(told(at), node, kind) for at, kind, node in machine.steps]
        assert sorted(rows, key=lambda row: row[:2]) == sorted(taken, key=lambda row: row[:2])
        counts = Counter((kind, number) for _, kind, number in machine.steps)
        boots = [(counts["wake", number], counts["sleep", number]) for number in range(machine.nodes)]
        assert result.nodes.select("boots", "shutdowns").rows() == boots
        if machine.slots == 1:
            energy = sum(WATTS[power] * time for power, time in machine.node_time().items()) / SECOND
            assert result.summary()["energy_j"] == pytest.approx(energy, rel=1e-12)
    summary = result.summary()
    begin, end = machine.window()
    assert summary["makespan_s"] == pytest.approx((end - begin) / SECOND, rel=1e-12)
    assert summary["down_energy_j"] == pytest.approx(machine.down_time() * DOWN_W / SECOND)
    assert result.nodes["down_s"].sum() == pytest.approx(machine.down_time() / SECOND)
    check_schedule(result, workload, platform_of(machine), events=events_of(machine))


def of_job(job: Job) -> dict[str, Any]:
    """Columns of a job's row; a result has some of them only where a feature is in play."""
    ended = job.state in ("completed", "timeout", "failed")
    still = [e - s for attempt, s, e, how in job.stretches if (attempt, how) == (job.attempts, "suspended")]
    found = {
        "state": STATES.get(job.state, job.state),
        "start_s": told(job.start) if ended else None,
        "end_s": told(job.end) if ended else None,
        "nodes": job.nodes if ended else None,
        "started_by": job.started_by if ended else None,
        "walltime_s": told(job.walltime),
        "eligible_s": told(job.eligible),
        "attempts": job.attempts,
    }
    return (
        found
        | ({"suspended_s": told(sum(still))} if ended else {})
        | ({"reason": REASONS[job.state]} if job.state in REASONS else {})
    )
