"""Runs of the reference machine (`plain_machine`), drawn at random: any of its features, alone and together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import hypothesis.strategies as st
from plain_draws import SECOND, Draws
from plain_jobs import ORDERS, Job, Queue, Wish
from plain_machine import Machine
from plain_nodes import Happening, Offer, Sleep, Switch
from plain_sizes import Sizes, Sizing
from power_cases import (
    APPS,
    RATIOS,
    VAHRMS,
    appetites,
    draws_of,
    powers,
    profiles,
    told_draws,
    unlike_draws,
)

SPANS = st.sampled_from([0, 1, 3, 5, 8, 13, 13, 21])
FEATURES = ("cpu", "gpu", "big", "a100")


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
    jobs, count = [], draw(st.sampled_from([1, 5, 10, 15, 20] if machine.power is None else [1, 5, 8, 12]))
    # Some runs pass midnight, where a day's shutdowns begin again.
    begins, later = ([0, 3, 86_350], [0, 0, 0, 1, 4, 11, 40, 100]) if machine.sleep else ([0, 3], [0, 0, 1, 4, 11])
    lengths = seconds(0, 40)
    if machine.candidates is not None and not machine.plan:
        # So many wait that there are some behind the last reservation.
        count, later = draw(st.sampled_from([12, 20])), [0, 0, 0, 1, 4]
    if machine.power is not None:
        # Within the time in which budgets change.
        begins, later, lengths = [0, 0, 3], [0, 0, 0, 1, 2, 4], SPANS.map(lambda value: value * SECOND)
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
            draw(seconds(30, 40) if is_early else lengths),
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
def queues_of(
    draw: st.DrawFn,
    machine: Machine,
    *,
    urgent: bool,
    one_pool: bool = False,
    all_nodes: bool = False,
    any_sets: bool = False,
) -> list[Queue]:
    """Queues of any nodes, or of up to three pools where nodes are counted; those of one priority have one order."""
    orders = {priority: draw(st.sampled_from([None, None, *ORDERS])) for priority in (-1, 0, 3, 5, 7)}
    limits = st.sampled_from([inf, inf, 1, 2, 3])
    sets = st.sets(st.integers(0, machine.nodes - 1), min_size=1)
    if one_pool:
        sets = st.just(set(range(machine.nodes)) if machine.sleep or all_nodes else draw(sets))
    elif not machine.plan and not any_sets:
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
def unlike(draw: st.DrawFn, machine: Machine) -> None:
    """Nodes of up to four kinds, and licences."""
    kinds = draw(st.lists(KINDS, min_size=1, max_size=4))
    machine.offers = [kind for kind in kinds for _ in range(draw(st.integers(1, 3)))]
    machine.nodes = len(machine.offers)
    machine.licences = draw(st.sampled_from([{}, {"matlab": 2}, {"ansys": 3, "matlab": 1}]))
    machine.slots = machine.slots if machine.plan else 1


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
        job.app = draw(st.sampled_from(APPS))


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


PATIENCES = [0, 0, SECOND, 4 * SECOND, 9_500_000, 30 * SECOND, inf]
MARGINS = st.sampled_from([0, 0, 1, 3, 7, 20])
HALF_LIVES = st.sampled_from([inf, 604_800 * SECOND, 20 * SECOND, 3 * SECOND, SECOND // 4])


@st.composite
def sleeps(draw: st.DrawFn, nodes: int, boot: int, shutdown: int) -> Sleep:
    """Parameters of a sleep part where transitions take so many seconds."""
    min_idle, far = draw(MARGINS), draw(st.sampled_from([0, 0, 5, 12, "break-even"]))
    stop, start = draw(MARGINS | st.just("actual")), draw(MARGINS | st.just("actual"))
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
        None if far == "break-even" else far * SECOND,
        (shutdown if stop == "actual" else stop) * SECOND,
        (boot if start == "actual" else start) * SECOND,
        inf if limit == "none" else limit,
        min_on,
        frozenset([] if exclude == "" else [int(exclude)]),
        part=part,
    )


def with_reserve(sleep: Sleep, ratio: float) -> Sleep:
    """The part `newsvendor` of the same parameters."""
    return replace(sleep, reserve=ratio, as_backfilled=True, part={**sleep.part, "reserve_ratio": ratio})


@st.composite
def switches(draw: st.DrawFn, machine: Machine) -> list[Switch]:
    """Draws of nodes that are switched, alike or not."""
    one = st.builds(
        Switch,
        st.sampled_from([0.0, 5.5, 20.0, 60.25]),
        st.sampled_from([0.0, 30.0, 60.25, 90.0, 150.0]),
        st.sampled_from([0.0, 30.0, 60.25, 120.0]),
    )
    nodes = machine.nodes
    return [draw(one)] * nodes if draw(st.booleans()) else draw(st.lists(one, min_size=nodes, max_size=nodes))


@st.composite
def sizes_of(draw: st.DrawFn, machine: Machine, jobs: list[Job]) -> None:
    """Ranges of sizes, and how speeds follow them; some jobs are rigid, some only moldable."""
    shares = st.sampled_from([0.0, 0.1, 0.5, 1.0])
    for job in jobs:
        least, most = draw(st.integers(1, job.node_count)), job.node_count + draw(st.integers(0, machine.nodes))
        most = int(min(most, machine.queue_of(job).max_nodes))
        if most < job.node_count or least == most or draw(st.integers(0, 4)) == 0:
            continue
        speeds = st.lists(st.sampled_from([0.5, 1.0, 1.7, 3.0]), min_size=most - least + 1, max_size=most - least + 1)
        job.sizes = Sizes(
            least,
            most,
            draw(st.sampled_from(["linear", "amdahl", "amdahl", "downey", "downey", "table"])),
            draw(shares),
            draw(st.sampled_from([1.0, 2.5, 4.0, 8.0])),
            draw(st.sampled_from([0.0, 0.5, 1.0, 1.6])),
            tuple(sorted(draw(speeds))),
            malleable=draw(st.sampled_from([True, True, True, False])),
            pause=draw(st.sampled_from([0, 0, SECOND, 2_500_000, 10 * SECOND])),
        )


@dataclass(frozen=True)
class Asked:
    """Features of a case."""

    plan: bool = False
    queues: bool = False
    urgent: bool = False
    wait: bool = False
    outages: bool = False
    cells: bool = False
    sleep: bool = False
    shares: bool = False
    shared: bool | None = None
    """True if nodes have several slots; None: they may."""
    draws: str | None = None
    """Word for how nodes draw and how long jobs take: `any`, `alike`, `exact` (alike, and known), `unlike` (in every
    node and application), `analyzed` or `measured`."""
    power: str | None = None
    """Budgets, as in `powers`."""
    vahrm: bool = False
    first_runs: bool = False
    malleable: bool = False
    reserve: bool = False
    pools: bool = False
    """True if budgets may be over several pools."""
    any_sets: bool = False
    """True if queues may share nodes where these are counted."""
    matches: bool = False
    """True if all jobs of a pass are matched to nodes together: with draws that are `unlike` no two matchings weigh the
    same."""
    candidates: bool = False
    """True if the jobs behind the last reservation are looked at in another order."""
    patience: bool = False
    """True if all start that fit, and long waits hold reservations."""


@st.composite
def cases(draw: st.DrawFn, **features: Any) -> tuple[Machine, list[Job]]:
    """A machine and its jobs with the features of `Asked`; waits and outages are left out now and then."""
    asked = Asked(**features)
    machine = draw(machines(plan=asked.plan))
    if asked.shared is not None:
        machine.slots = draw(st.sampled_from([2, 3, 4])) if asked.shared else 1
    draw(turns(machine, asked))
    if asked.cells:
        machine.kill = draw(st.booleans())
        draw(unlike(machine))
    if asked.sleep:
        draw(rests(machine, asked))
    if asked.draws is not None:
        machine.draws = draw(ways_to_draw(machine, asked))
    if asked.malleable:
        # Sizes go with whole nodes of one pool that are alike in what jobs ask for.
        machine.slots, machine.sizing = 1, draw(st.builds(Sizing, st.integers(0, 99), st.sampled_from([0.2, 0.6, 1.0])))
    draw(queues_and_budgets(machine, asked))
    jobs = draw(jobs_of(machine))
    draw(demands(machine, jobs, asked))
    # A policy with a budget takes no other events.
    if asked.outages and asked.power is None and draw(st.sampled_from([True, True, False])):
        machine.world = draw(worlds(machine, jobs))
    return machine, jobs


@st.composite
def turns(draw: st.DrawFn, machine: Machine, asked: Asked) -> None:
    """The order in which jobs come to their turns, and who may start before those ahead."""
    if asked.candidates or asked.patience:
        machine.depth = draw(st.sampled_from([1, 1, 2, 3]))
        machine.candidates = draw(st.sampled_from(sorted(ORDERS))) if asked.candidates else None
        machine.patience = draw(st.sampled_from(PATIENCES)) if asked.patience else None
    if asked.shares:
        machine.order, machine.half_life = "fair-share", draw(HALF_LIVES)
        machine.by = draw(st.sampled_from(["user", "account"]))
    if asked.vahrm:
        machine.vahrm, machine.order, machine.by_power = draw(VAHRMS), "vahrm", draw(st.booleans()) and not asked.plan
        machine.vahrm.profiling_ratio = draw(RATIOS) if asked.first_runs else None
        if asked.sleep and asked.power is not None:
            # No rule says what long waits do to wake plans under a budget.
            machine.vahrm.starvation_limit = inf


@st.composite
def rests(draw: st.DrawFn, machine: Machine, asked: Asked) -> None:
    """Nodes that sleep, with a reserve or without."""
    # Nodes that are counted sleep only if jobs get whole ones.
    machine.slots, machine.candidates = machine.slots if asked.plan else 1, None
    if machine.offers is None:
        machine.nodes = draw(st.integers(2, 6) if asked.plan else st.integers(1, 9))
    machine.horizon = max(machine.horizon, draw(st.sampled_from([0, 2_592_000, 2_592_000])) * SECOND)
    times = draw(st.tuples(st.sampled_from([0, 1, 6]), st.sampled_from([0, 2, 9])))
    machine.sleep = draw(sleeps(machine.nodes, *times))
    if not asked.plan and not asked.reserve:
        boots = st.lists(st.sampled_from([0, SECOND, 6 * SECOND]), min_size=machine.nodes, max_size=machine.nodes)
        machine.boots = draw(st.none() | boots)
    if asked.reserve:
        machine.sleep = with_reserve(machine.sleep, draw(st.sampled_from([0.02, 0.08, 0.3, 1.0])))


def ways_to_draw(machine: Machine, asked: Asked) -> st.SearchStrategy[Draws]:
    """Draws of nodes by their word."""
    if asked.draws in ("any", "alike", "exact"):
        is_exact, capped = asked.draws == "exact", asked.power is not None and not asked.sleep
        return draws_of(machine.nodes, equal=asked.draws != "any", exact=is_exact, capped=capped)
    if asked.draws == "unlike":
        return unlike_draws(machine.nodes)
    return told_draws(machine.nodes, analyzed=asked.draws == "analyzed")


@st.composite
def queues_and_budgets(draw: st.DrawFn, machine: Machine, asked: Asked) -> None:
    """Queues over pools of nodes, switches of nodes, and budgets."""
    if asked.queues or asked.urgent:
        all_nodes = asked.malleable or (asked.reserve and not asked.plan and not asked.any_sets)
        one_pool = (asked.power is not None and not asked.pools) or all_nodes
        kinds = {"one_pool": one_pool, "all_nodes": all_nodes, "any_sets": asked.any_sets}
        machine.queues = draw(queues_of(machine, urgent=asked.urgent, **kinds))
    if asked.sleep and asked.power is not None:
        machine.switches = draw(switches(machine))
    if asked.power is not None:
        machine.power = draw(powers(machine, kind=asked.power))
    if not asked.plan and len(machine.sets) > 1 and not machine.has_lanes:
        # Pools that share nothing have no licences in common.
        machine.licences = {}


@st.composite
def demands(draw: st.DrawFn, machine: Machine, jobs: list[Job], asked: Asked) -> None:
    """Draws, sizes, waits and wishes of jobs, and which are first runs."""
    if asked.draws is not None:
        draw(appetites(machine, jobs, walltimes=asked.power == "foreseen"))
    if asked.draws == "measured":
        draw(profiles(jobs))
    if asked.draws == "analyzed":
        for job in jobs:
            # It is planned for a microsecond at least where it is an analyzer that says how long.
            job.walltime, job.comm, job.runtime = None, 0, max(job.runtime, SECOND)
    if asked.matches:
        machine.matches = True
        for job in jobs:
            # One that takes no time has the same weight on all nodes.
            job.runtime = max(job.runtime, SECOND)
    if asked.malleable:
        draw(sizes_of(machine, jobs))
    if asked.wait and draw(st.booleans()):
        draw(waits(jobs))
    if asked.cells:
        draw(wishes(machine, jobs))
    if asked.first_runs:
        for job in jobs:
            job.first_run, job.cancel = draw(st.sampled_from([None, None, True, False])), None
