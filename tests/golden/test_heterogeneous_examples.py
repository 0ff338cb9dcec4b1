"""Runs on nodes that differ in what jobs ask for, counted by hand: the rules of the section "Heterogeneous nodes"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


def jobs(*rows: tuple[float, float, int, float], **more: Sequence[Any]) -> hs.Workload:
    """Jobs of one application; each row: submit, run time, nodes, memory of each."""
    names = ("submit_s", "runtime_s", "node_count", "memory_gb")
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return hs.Workload.from_polars(
        pl.DataFrame({"job_id": range(1, len(rows) + 1), "app": ["a"] * len(rows)} | columns | more)
    )


def machine(plain_w: Sequence[float], big_w: Sequence[float]) -> hs.Platform:
    """Nodes without and with memory of 4 GB, that draw so much under the application."""
    classes = [
        {"name": name, "count": len(watts), "idle_w": 50.0, "tdp_w": 400.0, "memory_gb": memory}
        for name, watts, memory in (("plain", plain_w, 1), ("big", big_w, 4))
    ]
    table = hs.VariationTable(["a"], power_w=[[*plain_w, *big_w]])
    return hs.Platform(classes).with_tables(actual=table)


def run(workload: hs.Workload, platform: hs.Platform, policy: hs.Policy) -> hs.Result:
    result = hs.simulate(workload, platform, policy)
    check_schedule(result, workload, platform)
    return result


def test_rule_7_jobs_are_matched_within_the_cells_of_their_splits() -> None:
    # Job 1 is counted with a plain node, job 2 with the other and a big one, job 3 with a big one. Plain nodes: job 2
    # on the one of 200 W and job 1 on that of 250 W take 100 x 200 + 10 x 250 = 22,500 J, the other way round 27,000 J.
    # Big nodes: job 2 on 210 W and job 3 on 300 W take 39,000 J, the other way round 42,600 J. It would take 900 J less
    # if job 1 had the big node of 300 W, and job 2 both plain ones; but they were not counted with these.
    workload = jobs((0, 10, 1, 1), (0, 100, 2, 1), (0, 60, 1, 4))
    result = run(workload, machine([200.0, 250.0], [210.0, 300.0]), hs.Policy("fcfs", "none", "assignment"))
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 0.0]
    assert result.jobs["nodes"].to_list() == [[1], [0, 2], [3]]
    assert result.jobs["energy_j"].sum() == 22_500 + 39_000


def test_rule_11_draws_of_jobs_that_are_matched_together_count() -> None:
    # The idle machine draws 200 W. Job 1 alone takes the plain node of 200 W. With job 2, which runs longer, that one
    # is job 2's, and both draw 150 + 200 W beyond idle: within 560 W. Job 3 would add 160 W on the big node of 210 W.
    workload = jobs((0, 10, 1, 1), (0, 100, 1, 1), (0, 60, 1, 4))
    policy = hs.Policy("fcfs", "none", "assignment", power={"name": "system-budget", "budget_w": 560.0})
    result = run(workload, machine([200.0, 250.0], [210.0, 300.0]), policy)
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 10.0]
    assert result.jobs["nodes"].to_list() == [[1], [0], [2]]


def test_rule_6_candidates_in_an_order_of_their_own() -> None:
    # Job 2 waits for both nodes, of which job 1 has the big one until 100. Jobs 3 and 4 come together: the shorter one
    # has the plain node until 42, and the other would not be done by 100. In policy order it is the other way round.
    workload = jobs((0, 100, 1, 4), (1, 10, 2, 1), (2, 60, 1, 1), (2, 40, 1, 1))
    easy, sjbf = hs.Policy("fcfs", "reservations"), hs.Policy("fcfs", {"name": "reservations", "order": "shortest"})
    platform = machine([200.0], [200.0])
    assert run(workload, platform, sjbf).jobs["start_s"].to_list() == [0.0, 100.0, 110.0, 2.0]
    assert run(workload, platform, easy).jobs["start_s"].to_list() == [0.0, 100.0, 2.0, 110.0]


def test_rule_6_a_long_wait_holds_nodes_of_its_cells() -> None:
    # Job 1 has a big node until 100; job 3 has the plain and the other big one until 52, though job 2 came first. By
    # then job 2 has waited for more than 20 s: it holds both big nodes from 100 on. Job 4 takes the plain node,
    # which is nothing to job 2. Job 5 would take the free big one until 112, and has to wait; job 6 takes it until 92.
    workload = jobs((0, 100, 1, 4), (1, 10, 2, 4), (2, 50, 2, 1), (30, 60, 1, 1), (31, 60, 1, 1), (32, 40, 1, 1))
    result = run(workload, machine([200.0], [200.0, 200.0]), hs.Policy("fcfs", {"name": "patience", "patience_s": 20}))
    assert result.jobs["start_s"].to_list() == [0.0, 100.0, 2.0, 52.0, 110.0, 52.0]
    assert result.jobs["nodes"].to_list() == [[1], [1, 2], [0, 2], [0], [1], [2]]
