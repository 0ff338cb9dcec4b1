"""Nodes that sleep under a budget where they are counted by cell, by hand: rule 11 of docs/background."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def jobs(*rows: tuple[float, float, int], **columns: list[Any]) -> hs.Workload:
    """Jobs 1, 2, … as (submit, runtime, nodes)."""
    schema = {"submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("job_id", offset=1)
    return hs.Workload.from_polars(frame.with_columns(pl.Series(name, values) for name, values in columns.items()))


PLAIN = {"idle_w": 100.0, "tdp_w": 300.0, "off_w": 10.0, "boot_s": 5.0, "boot_w": 120.0, "shutdown_s": 2.0}


def machine(plain: int, fast: int, queues: list[hs.Queue] | None = None, **values: Any) -> hs.Platform:
    """Nodes of 100 W idle and 300 W busy, off at 10 W, that boot in 5 s at 120 W and shut down in 2 s as if idle; after
    the plain ones come those with a GPU, of which some values are other ones."""
    kinds = [{"name": "plain", "count": plain, "gpus": 0, "features": ["plain"]} | PLAIN]
    kinds += [{"name": "fast", "count": fast, "gpus": 1, "features": ["fast"]} | PLAIN | values] if fast else []
    return hs.Platform(kinds, queues=queues)


def run(
    workload: hs.Workload, platform: hs.Platform, budget_w: float, backfill: Any = "reservations", **sleep: Any
) -> hs.Result:
    part = {"name": "timeout", "estimated_off_s": 0, "min_idle_s": 5, **sleep}
    power = {"name": "system-budget", "budget_w": budget_w}
    result = hs.simulate(workload, platform, hs.Policy("fcfs", backfill, power=power, sleep=part))
    check_schedule(result, workload, platform)
    assert result.summary()["over_budget_s"] == 0.0
    return result


def happened(result: hs.Result, *kinds: str) -> list[tuple[float, str, int]]:
    rows = result.events.select("time_s", "kind", "node").rows()
    return [row for row in rows if row[1] in kinds or not kinds]


def starts(result: hs.Result) -> list[float | None]:
    return result.jobs["start_s"].to_list()


def nodes(result: hs.Result) -> list[list[int]]:
    return result.jobs["nodes"].to_list()


LARGE = {"idle_w": 200.0, "tdp_w": 600.0, "off_w": 20.0, "boot_s": 10.0, "boot_w": 250.0}


def test_each_kind_is_woken_for_its_own_jobs_with_its_own_watts() -> None:
    """Off nodes save 540 W. Job 2 takes 180 W for its nodes to idle and 400 of its own, job 3 as much.

    Of 1000 W, 600 are those of the idle machine: 940 are left, and 360 next to job 2. The node of job 3 is woken 10 s
    before job 2 ends.
    """
    workload = jobs((0, 10, 1), (100, 50, 2), (100, 50, 1), constraint=["plain", "plain", None], gpus=[0, 0, 1])
    result = run(workload, machine(2, 2, **LARGE), 1000)
    assert happened(result, "wake") == [(100.0, "wake", 0), (100.0, "wake", 1), (145.0, "wake", 2)]
    assert (starts(result), nodes(result)) == ([0.0, 105.0, 155.0], [[0], [0, 1], [2]])
    ample = run(workload, machine(2, 2, **LARGE), 1220)
    assert happened(ample, "wake") == [(100.0, "wake", 0), (100.0, "wake", 1), (100.0, "wake", 2)]
    assert starts(ample) == [0.0, 105.0, 110.0]
    assert starts(run(workload, machine(2, 2, **LARGE), 1219)) == [0.0, 105.0, 155.0]


def test_nodes_that_boot_faster_are_woken_later() -> None:
    """A job of three nodes has two plain ones and one with a GPU, which boots for 10 s."""
    workload = jobs((0, 10, 1), (100, 50, 3), gpus=[1, 0])
    result = run(workload, machine(2, 2, boot_s=10.0), 2000)
    assert happened(result, "wake") == [(100.0, "wake", 2), (105.0, "wake", 0), (105.0, "wake", 1)]
    assert starts(result) == [0.0, 110.0]


@pytest.mark.parametrize(("fast_boot_s", "first"), [(10.0, 100.0), (5.0, 105.0)])
def test_watts_are_there_when_the_nodes_of_each_cell_are_woken(fast_boot_s: float, first: float) -> None:
    """Jobs 2 and 3 have nodes 3 and 4 until 105, with 150 W each that off nodes save. Job 4 has 18 W on three others.

    Of 650 W, 500 are those of the idle machine and 270 are saved: 120 are left at 100. Node 2 boots for 10 s and takes
    90 of them from then on, nodes 0 and 1 take 180 more from 105 on. If it booted for 5 s as they do, it would wait.
    """
    more = {"boot_w": 100.0, "gpus": 0}
    kinds = [{"name": "plain", "count": 2, "features": ["plain"]} | PLAIN | more]
    kinds += [{"name": "fast", "count": 1, "features": ["fast", "new"]} | PLAIN | more | {"boot_s": fast_boot_s}]
    kinds += [{"name": "other", "count": 2, "features": ["other", "new", "odd"]} | PLAIN | more]
    workload = jobs(
        (0, 10, 1),
        (20, 85, 1),
        (20, 85, 1),
        (100, 50, 3),
        constraint=["fast", "other", "other", "plain | fast"],
        power_w=[101.0, 250.0, 250.0, 106.0],
    )
    result = run(workload, hs.Platform(kinds), 650, exclude="3,4")
    woken = [(105.0, "wake", 0), (105.0, "wake", 1), (first, "wake", 2)]
    assert happened(result, "wake") == sorted(woken, key=lambda row: (row[0], row[2]))
    assert (starts(result), nodes(result)[3]) == ([0.0, 20.0, 20.0, 110.0], [0, 1, 2])


def test_each_cell_has_its_own_grant() -> None:
    """All 325 W but 25 are those of the idle machine. Job 2 needs 24 on three nodes, all of them off. Each draws 20 W
    beyond idle while it boots: the two plain ones are granted 25, and the one with a GPU gets what is left of them."""
    workload = jobs((0, 10, 1), (100, 50, 3), (300, 1, 1), gpus=[0, 0, 1], power_w=[108.0, 108.0, 108.0])
    result = run(workload, machine(2, 1), 325)
    assert [one for one in happened(result, "wake") if one[0] < 300] == [
        (100.0, "wake", 0),
        (105.0, "wake", 1),
        (110.0, "wake", 2),
    ]
    assert starts(result) == [0.0, 115.0, 305.0]


def test_a_job_keeps_the_nodes_of_its_cells() -> None:
    """Job 2 needs both nodes with a GPU, of which node 2 is off: it starts at 15. Job 3 would hold node 1 longer, job 5
    not, and job 4 has a plain node."""
    workload = jobs((0, 1, 1), (10, 20, 2), (11, 100, 1), (11, 100, 1), (11, 4, 1), gpus=[1, 1, 1, 0, 1])
    result = run(workload, machine(1, 2), 2000, "first-fit", min_idle_s=3, exclude="0,1")
    assert starts(result) == [0.0, 15.0, 35.0, 11.0, 11.0]
    assert nodes(result)[3] == [0]


def test_a_job_takes_nodes_that_are_on_before_plainer_ones_that_are_off() -> None:
    result = run(jobs((0, 1, 1), (20, 50, 1), gpus=[1, 0]), machine(2, 2), 2000, exclude="2,3")
    assert happened(result, "wake") == []
    assert (starts(result), nodes(result)) == ([0.0, 20.0], [[2], [2]])


def test_a_node_stays_on_for_jobs_of_its_own_kind() -> None:
    """At 5, when nodes have idled for long enough, job 2 is to have both nodes with a GPU in 95 s, and less than 96 are
    too few to sleep. Node 3 stays on; no job wants a plain node."""
    workload = jobs((0, 100, 1), (0, 50, 2), gpus=[1, 1])
    result = run(workload, machine(2, 2), 2000, estimated_off_s=96)
    assert happened(result, "sleep") == [(5.0, "sleep", 1), (5.0, "sleep", 0)]
    assert (starts(result), nodes(result)) == ([0.0, 100.0], [[2], [2, 3]])


def test_where_nothing_runs_the_best_nodes_of_those_that_may_serve_are_woken() -> None:
    """75 W are left with nodes 0, 2 and 3 off. Job 2 takes 200 W on nodes 1 and 2, and 50 on node 3; it may not use
    node 0, where it would take 10."""
    table = hs.VariationTable(
        ["x", "y"], power_w=np.array([[110.0, 300.0, 300.0, 150.0], [110.0, 110.0, 110.0, 110.0]])
    )
    more = {"off_w": 95.0, "boot_w": 100.0}
    kinds: list[dict[str, Any]] = [{"name": "plain", "count": 1, "gpus": 0}, {"name": "fast", "count": 3, "gpus": 1}]
    platform = hs.Platform([PLAIN | more | kind for kind in kinds]).with_tables(actual=table)
    workload = jobs((0, 1, 1), (20, 30, 1), app=["y", "x"], gpus=[0, 1])
    result = run(workload, platform, 460, exclude="1")
    assert happened(result, "wake") == [(20.0, "wake", 3)]
    assert result.jobs.select("start_s", "nodes").rows()[1] == (25.0, [3])


def test_a_job_gets_the_watts_of_off_nodes_in_no_queue() -> None:
    """Idle machine 300 W, job 1 200 W more: of 620 W 120 are left, and job 2 needs 200. From 12 s on node 2, in no
    queue, and node 1 save 90 W each, and 300 are left: enough to wake node 1 and for the job."""
    workload = jobs((0, 100, 1), (1, 50, 1), queue=["a", "a"])
    result = run(workload, machine(3, 0, [hs.Queue("a", "0-1")]), 620, min_idle_s=10)
    assert starts(result) == [0.0, 17.0]
    assert happened(result)[:6] == [
        (10.0, "sleep", 2),
        (10.0, "sleep", 1),
        (12.0, "off", 2),
        (12.0, "off", 1),
        (12.0, "wake", 1),
        (17.0, "ready", 1),
    ]


@pytest.mark.parametrize(("budget_w", "woken", "start"), [(920, 1000.0, 1005.0), (900, 1050.0, 1055.0)])
def test_queues_that_share_nodes_wake_those_that_fewest_have(budget_w: float, woken: float, start: float) -> None:
    """Job 2 has the two nodes that are only b's. Of 900 W, 500 are those of the idle machine and 450 are saved: 850 are
    left, job 2 takes 580 with its nodes, and job 3, which needs 290, waits for its end; of 920 W it does not."""
    queues = [hs.Queue("a", "0-2"), hs.Queue("b", "2-4")]
    workload = jobs((0, 10, 1), (1000, 50, 2), (1000, 50, 1), queue=["a", "b", "a"])
    result = run(workload, machine(5, 0, queues), budget_w)
    assert happened(result, "wake") == sorted(
        [(1000.0, "wake", 3), (1000.0, "wake", 4), (woken, "wake", 0)], key=lambda row: (row[0], row[2])
    )
    assert (starts(result), nodes(result)) == ([0.0, 1005.0, start], [[0], [3, 4], [0]])


def test_a_head_without_backfill_keeps_only_its_own_set_waiting() -> None:
    """Under `none`. Job 1 has nodes 0 and 1 until 1000; job 2 of a waits for three nodes until then, and job 3 of a for
    its turn. Job 4 of b has a node woken at once."""
    queues = [hs.Queue("a", "0-2"), hs.Queue("b", "2-4")]
    workload = jobs((0, 1000, 2), (500, 50, 3), (500, 50, 1), (500, 50, 1), queue=["a", "a", "a", "b"])
    result = run(workload, machine(5, 0, queues), 5000, "none")
    assert happened(result, "wake") == [(500.0, "wake", 3), (995.0, "wake", 2)]
    assert starts(result) == [0.0, 1000.0, 1050.0, 505.0]
