"""Pools that sleep beside their twin in plain Python: every start, end, node and step, and the energy (machine page,
rules 2 to 6, 14 to 22, 29 and 30)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_scheduler import ORDERS, Job
from plain_sleepy_pools import Asked, Outage, Queue, SleepyPools
from test_plain_sleep import numbers

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
WATTS = {"busy": 300, "on": 100, "booting": 100, "stopping": 100, "off": 0, "down": 7}
STEPS = ("wake", "ready", "sleep", "off", "failed", "repaired", "out", "back")


@st.composite
def outages(draw: st.DrawFn, nodes: int, begin: int) -> list[Outage]:
    """Failures and windows of maintenance, those of one node one after the other."""
    made = []
    for node in range(nodes):
        at = begin
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            start = at + draw(st.integers(1, 120)) * SECOND
            at = start + draw(st.integers(1, 60)) * SECOND
            made.append(Outage(node, start, at, draw(st.booleans())))
    return made


@st.composite
def queues(draw: st.DrawFn, nodes: int) -> list[Queue]:
    """Queues of one or two pools, and perhaps of a third; some nodes may be in none."""
    owner = draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, None]), min_size=nodes, max_size=nodes))
    pools = [tuple(node for node in range(nodes) if owner[node] == pool) for pool in range(3)]
    pools = [pool for pool in pools if pool] or [tuple(range(nodes))]
    order = draw(st.sampled_from([None, None, *ORDERS]))
    limits = st.sampled_from([inf, inf, 1, 2])
    made = []
    for place in range(draw(st.integers(1, 4))):
        longest, default = draw(st.none() | st.integers(30, 60)), draw(st.none() | st.integers(5, 30))
        times = [None if one is None else one * SECOND for one in (longest, default)]
        pool, priority = pools[place % len(pools)], draw(st.sampled_from([0, 0, 3]))
        made.append(Queue("abcd"[place], pool, priority, order, draw(limits), draw(limits), *times))
    return made


@st.composite
def jobs(draw: st.DrawFn, known: list[Queue], begin: int) -> list[Asked]:
    """Jobs that their queues take."""
    submit, asked = begin, []
    for _ in range(draw(st.integers(1, 8) | st.integers(8, 18))):
        submit += draw(st.sampled_from([0, 0, 0, 1, 4, 11, 40, 100])) * SECOND
        queue = draw(st.sampled_from(known))
        longest = 60 if queue.max_walltime is None else queue.max_walltime // SECOND
        walltime = draw(st.none() | st.integers(1, longest).map(lambda seconds: seconds * SECOND))
        need = draw(st.integers(1, min(3, len(queue.nodes))) | st.integers(1, len(queue.nodes)))
        job = Job(submit, draw(st.integers(0, 40)) * SECOND, need, walltime, 1)
        asked.append(Asked(job, queue, draw(st.sampled_from([None, "ann", "bo"]))))
    return asked


Case = tuple[SleepyPools, list[Queue], list[Asked], dict[str, Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes, boot, shutdown = draw(st.integers(2, 10)), draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([0, 2, 9]))
    known = draw(queues(nodes))
    twin, part = draw(numbers(nodes, boot, shutdown))
    # Some runs pass midnight, where a day's shutdowns begin anew.
    begin = draw(st.sampled_from([0, 3, 86_350])) * SECOND
    asked = draw(jobs(known, begin))
    machine = SleepyPools(
        nodes,
        boot * SECOND,
        shutdown * SECOND,
        twin,
        draw(st.sampled_from(["none", "first-fit", "reservations", "reservations"])),
        draw(st.sampled_from([inf, inf, 1, 2])),
        draw(st.sampled_from([*ORDERS, "fcfs", "fcfs"])),
        draw(st.booleans()),
        draw(outages(nodes, asked[0].job.submit)) if draw(st.booleans()) else [],
        watts=WATTS,
    )
    return machine, known, asked, part


def _told(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND


def _queue(queue: Queue) -> hs.Queue:
    limits = [None if limit == inf else int(limit) for limit in (queue.max_running, queue.max_running_per_user)]
    return hs.Queue(
        queue.name,
        queue.nodes,
        priority=queue.priority,
        order=queue.order,
        max_running=limits[0],
        max_running_per_user=limits[1],
        max_walltime_s=_told(queue.max_walltime),
        default_walltime_s=_told(queue.default_walltime),
    )


def _workload(asked: list[Asked]) -> hs.Workload:
    columns = {
        "job_id": list(range(len(asked))),
        "submit_s": [one.job.submit / SECOND for one in asked],
        "runtime_s": [one.job.runtime / SECOND for one in asked],
        "node_count": [one.job.node_count for one in asked],
        "walltime_s": pl.Series([_told(one.job.walltime) for one in asked], dtype=pl.Float64),
        "queue": [one.queue.name for one in asked],
        "user": pl.Series([one.user for one in asked], dtype=pl.String),
    }
    return hs.Workload.from_polars(pl.DataFrame(columns))


def _events(outages: list[Outage]) -> hs.Events | None:
    rows: list[tuple[float, str, int, float | None]] = []
    for one in outages:
        if one.is_known:
            rows.append((one.start / SECOND, "maintenance", one.node, one.end / SECOND))
        else:
            rows.append((one.start / SECOND, "node_failed", one.node, None))
            rows.append((one.end / SECOND, "node_repaired", one.node, None))
    if not rows:
        return None
    frame = pl.DataFrame(
        rows, {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64, "until_s": pl.Float64}, orient="row"
    )
    return hs.Events.from_polars(
        frame.with_columns(announced_s=pl.when(pl.col("kind") == "maintenance").then("time_s")).sort("time_s")
    )


def simulated(case: Case, queues: list[hs.Queue] | None, name: str = "timeout") -> hs.Result:
    """The same in the engine, held to the laws of a run."""
    machine, _, asked, part = case
    platform = hs.Platform.homogeneous(
        machine.nodes,
        idle_w=WATTS["on"],
        tdp_w=WATTS["busy"],
        down_w=WATTS["down"],
        boot_s=machine.boot / SECOND,
        shutdown_s=machine.shutdown / SECOND,
        off_w=0.0,
        queues=queues,
    )
    backfill: dict[str, Any] = {"name": machine.backfill}
    if machine.backfill == "reservations":
        backfill["depth"] = "unbounded" if machine.depth == inf else machine.depth
    policy = hs.Policy(machine.order, backfill, sleep={"name": name, **part})
    events, workload = _events(machine.outages), _workload(asked)
    on_failure: Any = "requeue" if machine.requeues else "fail"
    result = hs.simulate(workload, platform, policy, events=events, on_failure=on_failure)
    check_schedule(result, workload, platform, events=events)
    keeps_on(result, machine.nodes, part["min_on_nodes"])
    return result


def keeps_on(result: hs.Result, nodes: int, least: int) -> None:
    """No node is put to sleep that leaves fewer on, of the whole platform (rule 16)."""
    on = set(range(nodes))
    for kind, node in result.events.filter(pl.col("kind").is_in(STEPS)).select("kind", "node").rows():
        if kind in ("wake", "repaired", "back"):
            on.add(node)
        elif kind in ("sleep", "failed", "out"):
            on.discard(node)
        assert kind != "sleep" or len(on) >= least


@given(cases())
def test_pools_that_sleep_agree_with_their_twin(case: Case) -> None:
    machine, known, asked, _ = case
    result = simulated(case, [_queue(queue) for queue in known])
    runs = machine.run(asked)
    told = [(one.row, one.state, one.start / SECOND, one.end / SECOND, one.nodes) for one in runs]
    assert result.jobs.select("job_id", "state", "start_s", "end_s", "nodes").rows() == told
    expected = sorted(((at / SECOND, node, kind) for at, kind, node in machine.events), key=lambda row: row[:2])
    rows = result.events.filter(pl.col("kind").is_in(STEPS)).select("time_s", "node", "kind").rows()
    assert sorted(rows, key=lambda row: row[:2]) == expected
    assert result.summary()["energy_j"] == pytest.approx(machine.energy / SECOND, rel=1e-12)


@given(cases())
def test_pools_with_a_reserve_each_keep_the_laws(case: Case) -> None:
    _, known, _, _ = case
    simulated(case, [_queue(queue) for queue in known], "newsvendor")


@st.composite
def lone_pools(draw: st.DrawFn) -> tuple[Case, list[int], int]:
    """A machine, its nodes' numbers on a larger one, and how large that is."""
    machine, _, _, part = draw(cases())
    numbers = sorted(draw(st.permutations(range(machine.nodes + 3)))[: machine.nodes])
    own = Queue("own", tuple(range(machine.nodes)), 0, None, inf, inf, None, None)
    begin = draw(st.sampled_from([0, 86_350])) * SECOND
    outages = [one for one in machine.outages if one.start > begin]
    asked = draw(jobs([own], begin))
    return (replace(machine, outages=outages), [own], asked, part), numbers, machine.nodes + 3


@given(lone_pools(), st.sampled_from(["timeout", "newsvendor", "newsvendor"]))
def test_a_pool_of_some_nodes_sleeps_as_if_it_were_the_machine(drawn: tuple[Case, list[int], int], name: str) -> None:
    """Where the other nodes never sleep, and stay on beside those that have to."""
    case, numbers, nodes = drawn
    machine, _, asked, part = case
    others = [node for node in range(nodes) if node not in numbers]
    kept = [*others, *(numbers[int(node)] for node in part["exclude"].split(",") if node)]
    more = {"exclude": ",".join(map(str, kept)), "min_on_nodes": part["min_on_nodes"] + len(others)}
    outages = [replace(one, node=numbers[one.node]) for one in machine.outages]
    whole = (replace(machine, nodes=nodes, outages=outages), [], asked, {**part, **more})
    here, there = simulated(whole, [hs.Queue("own", numbers)], name), simulated(case, None, name)
    columns = ["job_id", "state", "start_s", "end_s", "started_by"]
    assert here.jobs.select(columns).equals(there.jobs.select(columns))
    nodes_there = there.jobs["nodes"].to_list()
    assert here.jobs["nodes"].to_list() == [None if own is None else [numbers[n] for n in own] for own in nodes_there]
    steps = [frame.select("time_s", "kind", "node").drop_nulls().rows() for frame in (here.events, there.events)]
    assert steps[0] == [(time_s, kind, numbers[node]) for time_s, kind, node in steps[1]]
