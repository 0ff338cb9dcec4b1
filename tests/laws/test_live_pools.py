"""Live machines with queues of some nodes decide as simulations do; where queues share none, as one machine a queue."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_live import dependent, folded_alike, replayed

import hetsched as hs
from hetsched.live import Ended, NodeDown, NodeUp, Requeued, Started, StartFailed, Submitted, Withdrawn
from hetsched.testing import workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

SECOND = 1_000_000
POOLS = {"a": (0, 2, 4), "b": (1, 3)}
JOBS, FIRST_DUMMY, STEPS = 6, 1000, 12


def platform(nodes: int, queues: list[hs.Queue] | None = None, slots: int = 1) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, queues=queues, slots=slots, exclusive=slots == 1)


@dataclass
class Host:
    """A queue's nodes, counted from 0, and its jobs, as they really are."""

    jobs: pl.DataFrame
    nodes: int
    new: list[int] = field(default_factory=list)
    waiting: set[int] = field(default_factory=set)
    running: dict[int, tuple[int, ...]] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    starts: dict[int, int] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.new = [job for job in self.jobs["job_id"].to_list() if job < FIRST_DUMMY]
        self.sizes = dict(zip(self.jobs["job_id"], self.jobs["node_count"], strict=True))

    def free(self) -> set[int]:
        return set(range(self.nodes)) - self.down - {node for own in self.running.values() for node in own}

    def what_happens(self, data: st.DataObject, dummy: int) -> list[tuple[Any, ...]]:
        """Notices of an instant, as kinds and their values, in the order in which a controller takes them."""
        told: list[tuple[Any, ...]] = []
        for job in sorted(self.running):
            match data.draw(st.sampled_from(["runs", "runs", "ends", "fails", "never began"])):
                case "ends" | "fails" as how:
                    told.append((Ended, job, self.starts[job], "completed" if how == "ends" else "failed"))
                    self.over.add(job)
                    del self.running[job]
                case "never began":
                    told.append((StartFailed, job, self.starts[job], "no shell", ()))
                    self.waiting.add(job)
                    del self.running[job]
        for node in sorted(self.down):
            if data.draw(st.booleans()):
                told.append((NodeUp, (node,)))
                self.down.discard(node)
        if data.draw(st.integers(0, 4)) == 0:
            node = data.draw(st.integers(0, self.nodes - 1))
            if node not in self.down:
                told.append((NodeDown, node))
                self.down.add(node)
                for job in [job for job, own in self.running.items() if node in own]:
                    self.over.add(job)
                    del self.running[job]
        for job in sorted(self.over):
            if data.draw(st.integers(0, 3)) == 0:
                told.append((Requeued, job))
                self.over.discard(job)
                self.waiting.add(job)
        for job in self.new[: data.draw(st.integers(0, 3))]:
            told.append((Submitted, job))
            self.waiting.add(job)
        self.new = [job for job in self.new if job not in self.waiting]
        # A pass is made here and there.
        told += [(Submitted, dummy), (Withdrawn, dummy)]
        for job in sorted({*self.running, *self.waiting}):
            strays = data.draw(st.integers(0, 2)) == 0
            if strays and job in self.running:
                told += self.stray(data, job, set(self.running.pop(job)), self.starts[job])
            elif strays and len(self.free()) >= self.sizes[job]:
                told += self.stray(data, job, set(), self.starts.get(job, 0) + 1)
                self.waiting.discard(job)
        return told

    def stray(self, data: st.DataObject, job: int, own: set[int], attempt: int) -> list[tuple[Any, ...]]:
        """A start that nobody has decided, on nodes that are free or its own."""
        places = sorted(data.draw(st.permutations(sorted(self.free() | own)))[: self.sizes[job]])
        self.running[job], self.starts[job] = tuple(places), attempt
        return [(Started, job, attempt, tuple(places))]

    def follow(self, decisions: list[tuple[Any, ...]]) -> None:
        for kind, job, attempt, nodes in decisions:
            assert kind == "Start"
            assert set(nodes) <= self.free(), "it starts a job on a node that serves another one, or none"
            self.waiting.discard(job)
            self.running[job], self.starts[job] = nodes, attempt


def told_of(rows: list[tuple[Any, ...]], numbers: tuple[int, ...]) -> list[Any]:
    """Notices with the numbers that nodes have on the whole machine."""
    notices = []
    for kind, *values in rows:
        if kind is NodeDown:
            notices.append(kind(numbers[values[0]]))
        elif kind in (NodeUp, Started, StartFailed):
            *rest, places = values
            notices.append(kind(*rest, tuple(numbers[place] for place in places)))
        else:
            notices.append(kind(*values))
    return notices


def decided(decisions: list[Any]) -> list[tuple[Any, ...]]:
    return [(type(one).__name__, one.job, one.attempt, tuple(one.nodes)) for one in decisions]


@st.composite
def logs(draw: st.DrawFn) -> dict[str, pl.DataFrame]:
    """Jobs of each queue."""
    jobs = {}
    for place, (queue, numbers) in enumerate(POOLS.items()):
        ids = [place + 2 * row for row in range(JOBS)]
        sizes = draw(st.lists(st.integers(1, len(numbers)), min_size=JOBS, max_size=JOBS))
        lengths = draw(st.lists(st.integers(1, 9).map(float), min_size=JOBS, max_size=JOBS))
        dummies = [FIRST_DUMMY + place + 2 * step for step in range(STEPS)]
        jobs[queue] = pl.DataFrame(
            {
                "job_id": ids + dummies,
                "submit_s": [0.0] * (JOBS + STEPS),
                "walltime_s": lengths + [1.0] * STEPS,
                "node_count": sizes + [1] * STEPS,
                "queue": [queue] * (JOBS + STEPS),
            }
        )
    return jobs


BACKFILLS: list[Any] = ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
POLICIES = ["fcfs", "easy", "conservative", "ljf", {"order": "fcfs", "backfill": "first-fit"}]


def decide_alike(
    data: st.DataObject,
    pools: dict[str, tuple[int, ...]],
    jobs: dict[str, pl.DataFrame],
    whole: hs.Controller,
    alone: dict[str, hs.Controller],
) -> None:
    """Give the same reports to a machine with queues and to a machine for each, and compare what they decide."""
    whole.add_jobs(pl.concat([jobs[name] for name in pools]).sort("job_id"))
    hosts = {name: Host(jobs[name], len(numbers)) for name, numbers in pools.items()}
    for name, controller in alone.items():
        controller.add_jobs(jobs[name].drop("queue"))
    for step in range(data.draw(st.integers(1, STEPS))):
        now_us = step * 2 * SECOND
        if step and data.draw(st.integers(0, 3)) == 0:
            for controller in (whole, *alone.values()):
                controller.rebuild(now_us - SECOND, controller.snapshot(), state=controller.policy_state())
        rows = {
            name: host.what_happens(data, FIRST_DUMMY + place + 2 * step)
            for place, (name, host) in enumerate(hosts.items())
        }
        ours = decided(whole.step(now_us, [one for name in pools for one in told_of(rows[name], pools[name])]))
        for name, numbers in pools.items():
            own = decided(alone[name].step(now_us, told_of(rows[name], tuple(range(len(numbers))))))
            hosts[name].follow(own)
            as_here = [(*one[:3], tuple(numbers[place] for place in one[3])) for one in own]
            assert [one for one in ours if set(one[3]) <= set(numbers)] == as_here
        assert sum(len(host.running) for host in hosts.values()) == len(whole.snapshot().running)


@settings(max_examples=3 * settings().max_examples)
@given(st.data(), logs(), st.sampled_from(POLICIES))
def test_each_pool_is_decided_on_as_a_machine_of_its_own(
    data: st.DataObject, jobs: dict[str, pl.DataFrame], policy: Any
) -> None:
    queues = [hs.Queue(name, numbers) for name, numbers in POOLS.items()]
    alone = {name: hs.Controller(platform(len(numbers)), policy) for name, numbers in POOLS.items()}
    decide_alike(data, POOLS, jobs, hs.Controller(platform(5, queues), policy), alone)


@settings(max_examples=3 * settings().max_examples)
@given(st.data(), logs(), st.sampled_from(BACKFILLS), st.integers(1, 3))
def test_the_only_pool_is_a_machine_with_what_others_leave_of_a_budget(
    data: st.DataObject, jobs: dict[str, pl.DataFrame], backfill: Any, busy: int
) -> None:
    numbers, slots = POOLS["a"], data.draw(st.sampled_from([1, 2]))
    queues = [hs.Queue("a", numbers)]

    def policy(nodes: int) -> hs.Policy:
        budget_w = 100.0 * nodes + 200.0 * busy + 1.0
        return hs.Policy("fcfs", backfill, power={"name": "system-budget", "budget_w": budget_w})

    whole = hs.Controller(platform(5, queues, slots), policy(5))
    jobs = {"a": jobs["a"].with_columns(node_count=pl.col("node_count").clip(upper_bound=busy))}
    decide_alike(data, {"a": numbers}, jobs, whole, {"a": hs.Controller(platform(3, None, slots), policy(3))})


SETS = {
    "some": {"a": (1, 3)},
    "apart": {"a": (0, 2, 4), "b": (1, 3)},
    "apart, and some nodes in none": {"a": (1, 4), "b": (2,)},
    "overlapping": {"a": (0, 1, 2), "b": (2, 3, 4)},
    "one in the other": {"a": (0, 1, 2, 3, 4), "b": (3, 4)},
}
SLEEPS: list[Any] = [None, None, {"name": "timeout", "min_idle_s": 0}, {"name": "timeout", "min_idle_s": 3}]


def machine(sets: dict[str, tuple[int, ...]], data: st.DataObject) -> hs.Platform:
    """Five nodes that take a while to boot and to shut down, in queues."""
    spans, watts = st.sampled_from([0.0, 1.0, 2.5, 7.0]), st.sampled_from([50.0, 100.0])
    limits = st.sampled_from([None, None, 1, 2])
    return hs.Platform.homogeneous(
        nodes=5,
        idle_w=data.draw(st.lists(watts, min_size=5, max_size=5)),
        tdp_w=300.0,
        off_w=5.0,
        boot_s=data.draw(spans),
        shutdown_s=data.draw(spans),
        boot_w=120.0,
        shutdown_w=80.0,
        queues=[
            hs.Queue(name, nodes, priority=data.draw(st.integers(0, 1)), max_running=data.draw(limits))
            for name, nodes in sets.items()
        ],
    )


def log_of(sets: dict[str, tuple[int, ...]], data: st.DataObject) -> hs.Workload:
    """Jobs of these queues, some of which wait for others or are in an array."""
    workload = dependent(data.draw(workloads(walltimes=True, max_nodes=3, min_jobs=2)), data)
    jobs = workload.to_polars()

    def column(values: list[Any]) -> list[Any]:
        return data.draw(st.lists(st.sampled_from(values), min_size=len(jobs), max_size=len(jobs)))

    arrays = column([None, None, 1])
    jobs = jobs.with_columns(
        pl.Series("queue", column(sorted(sets))),
        pl.Series("array_id", arrays, dtype=pl.Int64),
        pl.Series("array_limit", [None if array is None else 2 for array in arrays], dtype=pl.Int64),
    )
    return hs.Workload.from_polars(jobs)


def policy_of(data: st.DataObject, platform: hs.Platform) -> hs.Policy:
    """A policy that counts nodes, perhaps with a part that switches them off, or with a budget that may bind."""
    order = data.draw(st.sampled_from(["fcfs", "smallest", "fair-share"]))
    backfill, sleep, power = data.draw(st.sampled_from(BACKFILLS)), data.draw(st.sampled_from(SLEEPS)), None
    if sleep is None and data.draw(st.booleans()):
        busy = data.draw(st.integers(1, 5))
        power = {"name": "system-budget", "budget_w": float(platform.idle_w.sum()) + busy * 250.0}
    return hs.Policy(order, backfill, sleep=sleep, power=power)


@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_queues_of_some_nodes_decide_live_as_they_do_in_a_simulation(
    sets: dict[str, tuple[int, ...]], data: st.DataObject
) -> None:
    platform = machine(sets, data)
    replayed(log_of(sets, data), platform, policy_of(data, platform), seed=data.draw(st.integers(0, 3)))


@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
@settings(max_examples=2 * settings().max_examples)
@given(data=st.data())
def test_a_controller_of_queues_that_is_rebuilt_decides_what_it_would_have(
    sets: dict[str, tuple[int, ...]], data: st.DataObject
) -> None:
    workload, platform = log_of(sets, data), machine(sets, data)
    policy = policy_of(data, platform)
    with tempfile.TemporaryDirectory() as folder:
        hs.simulate(workload, platform, policy, journal=folder)
        instants = hs.read_journal(folder).instants
    assume(instants)
    cut = data.draw(st.integers(1, len(instants)))
    before = hs.Controller(platform, policy, workload=workload)
    for instant in instants[:cut]:
        before.step(instant.t_us, instant.notices)
    after = hs.Controller(platform, policy, workload=workload)
    after.rebuild(instants[cut - 1].t_us, before.snapshot(), state=before.policy_state())
    assert after.snapshot() == before.snapshot()
    for instant in instants[cut:]:
        decided_now = [replace(decision, number=0) for decision in after.step(instant.t_us, instant.notices)]
        assert decided_now == [replace(decision, number=0) for decision in instant.decisions]


@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
@given(data=st.data())
def test_a_controller_of_queues_that_folds_is_the_same_as_one_that_does_not(
    sets: dict[str, tuple[int, ...]], data: st.DataObject
) -> None:
    platform = machine(sets, data)
    folded_alike(data, log_of(sets, data), platform, policy_of(data, platform))
