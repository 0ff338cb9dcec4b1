"""Pools of nodes beside their twin in plain Python: every start, end and node (machine page, rules 2 to 6)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_pools import Asked, Queue, run_pools
from plain_scheduler import ORDERS, Job

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000

BACKFILLS: dict[str, tuple[Any, float | None]] = {
    "none": ("none", None),
    "first-fit": ("first-fit", 0),
    "easy": ({"name": "reservations", "depth": 1}, 1),
    "two": ({"name": "reservations", "depth": 2}, 2),
    "conservative": ({"name": "reservations", "depth": "unbounded"}, inf),
}


@st.composite
def queues(draw: st.DrawFn, nodes: int) -> list[Queue]:
    """Queues of up to three pools, which need not be all nodes; several may have one pool."""
    owner = draw(st.lists(st.integers(-1, 2), min_size=nodes, max_size=nodes))
    pools = [tuple(node for node in range(nodes) if owner[node] == pool) for pool in range(3)]
    pools = [pool for pool in pools if pool] or [tuple(range(nodes))]
    orders = {priority: draw(st.sampled_from([None, None, *ORDERS])) for priority in (0, 3)}
    limits = st.sampled_from([inf, inf, 1, 2, 3])
    made = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        priority = draw(st.sampled_from(list(orders)))
        longest = draw(st.none() | st.integers(5, 60))
        default = draw(st.none() | st.integers(5, longest or 60))
        made.append(
            Queue(
                name,
                draw(st.sampled_from(pools)),
                priority,
                orders[priority],
                draw(limits),
                draw(limits),
                None if longest is None else longest * SECOND,
                None if default is None else default * SECOND,
            )
        )
    return made


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, list[Queue], list[Asked]]:
    nodes, slots = draw(st.integers(1, 8)), draw(st.sampled_from([1, 1, 3]))
    known = draw(queues(nodes))
    asked, submit = [], draw(st.sampled_from([0, 3])) * SECOND
    for _ in range(draw(st.integers(1, 16))):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11])) * SECOND
        walltime = draw(st.none() | st.integers(1, 60).map(lambda seconds: seconds * SECOND))
        asked.append(
            Asked(
                Job(
                    submit,
                    draw(st.integers(0, 40)) * SECOND,
                    draw(st.integers(1, min(nodes, 4))),
                    walltime,
                    draw(st.none() | st.integers(1, slots)),
                ),
                draw(st.sampled_from(known)),
                draw(st.sampled_from([None, "ann", "bo"])),
            )
        )
    return nodes, slots, known, asked


def _told(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND


def _limit(value: float) -> int | None:
    return None if value == inf else int(value)


def run(nodes: int, slots: int, known: list[Queue], asked: list[Asked], policy: hs.Policy, kill: bool) -> pl.DataFrame:
    """The same in the engine."""
    jobs = [one.job for one in asked]
    frame = pl.DataFrame(
        {
            "job_id": list(range(len(jobs))),
            "submit_s": [job.submit / SECOND for job in jobs],
            "runtime_s": [job.runtime / SECOND for job in jobs],
            "node_count": [job.node_count for job in jobs],
            "walltime_s": pl.Series([_told(job.walltime) for job in jobs], dtype=pl.Float64),
            "slots": pl.Series([job.slots for job in jobs], dtype=pl.Int64),
            "queue": [one.queue.name for one in asked],
            "user": pl.Series([one.user for one in asked], dtype=pl.String),
        }
    )
    platform = hs.Platform.homogeneous(
        nodes=nodes,
        idle_w=100.0,
        tdp_w=300.0,
        slots=slots,
        exclusive=slots == 1,
        queues=[
            hs.Queue(
                queue.name,
                queue.nodes,
                priority=queue.priority,
                order=queue.order,
                max_running=_limit(queue.max_running),
                max_running_per_user=_limit(queue.max_running_per_user),
                max_walltime_s=_told(queue.max_walltime),
                default_walltime_s=_told(queue.default_walltime),
            )
            for queue in known
        ],
    )
    return hs.simulate(hs.Workload.from_polars(frame), platform, policy, kill_at_walltime=kill).jobs


@given(cases(), st.sampled_from(list(BACKFILLS)), st.sampled_from(list(ORDERS)), st.booleans())
def test_each_pool_is_scheduled_as_if_it_were_the_machine(
    case: tuple[int, int, list[Queue], list[Asked]], backfill: str, order: str, kill: bool
) -> None:
    nodes, slots, known, asked = case
    part, depth = BACKFILLS[backfill]
    jobs = run(nodes, slots, known, asked, hs.Policy(order, part), kill)
    twin = run_pools(asked, slots, depth=depth, order=order, kill_at_walltime=kill)
    expected = list(
        zip(
            twin.state,
            map(_told, twin.start),
            map(_told, twin.end),
            twin.nodes,
            twin.started_by,
            strict=True,
        )
    )
    assert jobs.select("state", "start_s", "end_s", "nodes", "started_by").rows() == expected
