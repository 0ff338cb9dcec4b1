"""Corners in which schedules once went wrong, each small enough to check on paper. Times in seconds, watts whole."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


def run(frame: dict[str, Any], platform: hs.Platform, policy: Any, **options: Any) -> hs.Result:
    workload = hs.Workload.from_polars(pl.DataFrame(frame))
    result = hs.simulate(workload, platform, policy, **options)
    check_schedule(result, workload, platform)
    return result


def columns(result: hs.Result, *names: str) -> list[list[Any]]:
    return [result.jobs[name].to_list() for name in names]


@pytest.mark.parametrize("fillers", [0, 40, 60, 61, 62, 63, 64, 126, 190])
@pytest.mark.parametrize("depth", [2, 3, "unbounded"])
def test_the_second_reservation_is_kept_wherever_the_queue_is_cut(fillers: int, depth: int | str) -> None:
    # 10 nodes: A holds 4 until 10, B 6 until 100. All else comes at 1: fillers of length zero, gone at 10, when A's
    # nodes are free; H (8 nodes) is promised 100; C (1 node, 5 s) starts at 10 and delays no reservation; V (10 nodes)
    # is promised 110, when H is over; X (1 node, 1000 s) fits next to H but would keep V waiting until 1010.
    rows = [(0, 0.0, 10.0, 4), (1, 0.0, 100.0, 6)]
    rows += [(100 + filler, 1.0, 0.0, 1) for filler in range(fillers)]
    rows += [(10, 1.0, 10.0, 8), (11, 1.0, 5.0, 1), (12, 1.0, 10.0, 10), (13, 1.0, 1000.0, 1)]
    frame = pl.DataFrame(rows, schema=["job_id", "submit_s", "runtime_s", "node_count"], orient="row")
    policy = hs.Policy.preset("conservative", depth=depth)
    jobs = hs.simulate(hs.Workload.from_polars(frame), hs.Platform.homogeneous(10, 100, 300), policy).jobs
    start = dict(zip(jobs["job_id"], jobs["start_s"], strict=True))
    assert (start[10], start[12], start[13]) == (100.0, 110.0, 120.0)


@pytest.mark.parametrize("budget_w", [None, 1200.0, 1300.0])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_job_backfills_under_a_budget_that_nothing_reaches(depth: int, budget_w: float | None) -> None:
    # Four nodes of at most 300 W. Job 1 holds two until 1, job 2 needs three and is promised 1; job 3 takes the node
    # that neither needs, at once.
    frame = {"job_id": [1, 2, 3], "submit_s": [0.0, 0.0, 0.5], "runtime_s": [1.0, 1.0, 1.0], "node_count": [2, 3, 1]}
    power = None if budget_w is None else {"name": "system-budget", "budget_w": budget_w}
    policy = hs.Policy(order="fcfs", backfill={"name": "reservations", "depth": depth}, power=power)
    result = run(frame, hs.Platform.homogeneous(nodes=4, idle_w=0, tdp_w=300), policy)
    assert columns(result, "start_s", "started_by") == [[0.0, 1.0, 0.5], ["immediate", "reservation", "backfill"]]


# First runs under a budget. Nodes idle at 100 W, are built for 400 and draw 150 under application x: four nodes add
# 1200 W as a first run, 200 W as predicted. The budget leaves 700 W: two first runs on one node each, or a job of four
# nodes whose draw is known.
FOUR = hs.Platform.homogeneous(4, 100, 400).with_tables(
    actual=hs.VariationTable(["x", "y"], power_w=[[150.0] * 4, [150.0] * 4])
)
REASON = "fits the power budget only once its application has a profile, and no queued job can give it one"


def vahrm(**others: Any) -> hs.Policy:
    return hs.Policy.preset("vahrm", first_run=True, budget_w=1100.0, **others)


def profiled(large: float, small: float | None, **others: Any) -> dict[str, Any]:
    """A job of four nodes of x, a job of one node of x or none, and later one of y."""
    rows = {1: (large, 4, "x"), 2: (small, 1, "x"), 3: (1e6, 1, "y")}
    rows = {job: row for job, row in rows.items() if row[0] is not None}
    submit, nodes, app = zip(*rows.values(), strict=True)
    return {"job_id": list(rows), "submit_s": submit, "runtime_s": [100.0] * len(rows), "node_count": nodes, "app": app}


@pytest.mark.parametrize("backfill", ["none", "first-fit", "reservations", {"name": "reservations", "depth": 2}])
def test_a_job_is_held_while_a_queued_job_can_profile_it(backfill: Any) -> None:
    # The job of one node runs first, 5 % longer, until 105; then the draw of the other is known.
    result = run(profiled(0.0, 0.0), FOUR, vahrm(backfill=backfill))
    assert columns(result, "start_s", "state") == [[105.0, 0.0, 1e6], ["completed"] * 3]
    assert result.jobs["started_by"].to_list() == ["reservation", "immediate", "immediate"]


@pytest.mark.parametrize("small", [None, 5.0, 700_000.0])
def test_a_job_whose_profile_no_queued_job_can_give_is_rejected_at_once(small: float | None) -> None:
    # What is submitted later decides nothing that came before: the job's fate is the same with and without it.
    result = run(profiled(0.0, small), FOUR, vahrm())
    assert result.jobs.row(0, named=True)["state"] == "rejected"
    assert result.jobs.row(0, named=True)["reason"] == REASON
    assert set(result.jobs["state"][1:]) == {"completed"}
    assert result.timeline["queued_jobs"].max() == 0


def test_a_held_job_starves_no_other() -> None:
    # Job 1 holds all nodes until 1000. Then the longest waits go first: job 2, held for the profile that job 3 gives,
    # has waited longest, but it is in no queue. Job 3 starts, and job 4 next to it; job 2 when job 3 is over.
    frame = {
        "job_id": [1, 2, 3, 4],
        "submit_s": [0.0, 1.0, 1.0, 3.0],
        "runtime_s": [1000.0, 10.0, 100.0, 10.0],
        "node_count": [4, 4, 1, 1],
        "app": ["y", "x", "x", "y"],
        "first_run": [False, None, None, False],
    }
    result = run(frame, FOUR, vahrm(starvation_limit_s=50.0))
    assert columns(result, "start_s") == [[0.0, 1105.0, 1000.0, 1000.0]]


def test_a_smaller_job_that_was_rejected_itself_gives_no_profile() -> None:
    # Job 1 alone would draw 1000 W on its node; job 2 fits as measured, but not at TDP.
    frame = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 0.0, 50.0],
        "runtime_s": [100.0] * 3,
        "node_count": [1, 4, 1],
        "app": ["x", "x", "y"],
        "power_w": [1000.0, 150.0, 150.0],
    }
    result = run(frame, hs.Platform.homogeneous(4, 100, 400), vahrm())
    assert columns(result, "state") == [["rejected", "rejected", "completed"]]


# Joint placement under a budget. Application a draws 300 or 310 W, b 300 or 400: one after the other a takes node 0
# and b node 1, 700 W together; matched, they draw 610.
TWO = hs.Platform.homogeneous(2, 100, 500).with_tables(
    actual=hs.VariationTable(["a", "b"], power_w=[[300.0, 310.0], [300.0, 400.0]])
)
PAIR = {"job_id": [1, 2], "submit_s": [0.0] * 2, "runtime_s": [100.0] * 2, "node_count": [1] * 2, "app": ["a", "b"]}


@pytest.mark.parametrize("backfill", ["none", "first-fit", "reservations"])
@pytest.mark.parametrize("budget_w", [None, 1000.0, 720.0, 690.0, 610.0])
def test_jobs_that_start_together_are_matched_together_under_a_budget(backfill: str, budget_w: float | None) -> None:
    power = None if budget_w is None else {"name": "system-budget", "budget_w": budget_w}
    result = run(PAIR, TWO, hs.Policy("fcfs", backfill, "assignment", power=power))
    assert columns(result, "nodes", "start_s") == [[[1], [0]], [0.0, 0.0]]
    assert result.summary()["peak_power_w"] == 610.0


def test_jobs_that_no_matching_keeps_within_the_budget_run_one_after_the_other() -> None:
    power = {"name": "system-budget", "budget_w": 609.0}
    result = run(PAIR, TWO, hs.Policy("fcfs", "first-fit", "assignment", power=power))
    assert columns(result, "nodes", "start_s") == [[[0], [0]], [0.0, 100.0]]


def test_a_job_that_needs_few_slots_is_not_refused_for_one_that_needs_many() -> None:
    # Two nodes of 4 slots; a job of application a that takes all of node 0 adds 50 W, of node 1 200 W. The budget
    # leaves 200 W. Job 1 has node 0. Job 2 would add 200 W on node 1: 150 W are left. Job 3 needs one slot there: 50 W.
    table = hs.VariationTable(["a"], power_w=[[150.0, 300.0]])
    platform = hs.Platform.homogeneous(2, 100, 300, slots=4, exclusive=False, actual=table)
    frame = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 1.0, 1.0],
        "runtime_s": [100.0] * 3,
        "node_count": [1] * 3,
        "slots": [4, 4, 1],
        "app": ["a"] * 3,
    }
    power = {"name": "system-budget", "budget_w": 400}
    for placement in ("lowest-power", "best-rank"):
        result = run(frame, platform, hs.Policy("fcfs", "first-fit", placement, power=power))
        assert columns(result, "start_s", "started_by") == [
            [0.0, 100.0, 1.0],
            ["immediate", "reservation", "backfill"],
        ]


@pytest.mark.parametrize("policy", ["hetsched", "easy:placement=opportunity-cost"])
def test_nodes_have_prices_where_jobs_share_them(policy: str) -> None:
    # Two nodes of 4 slots, six jobs of one slot: the prices once counted a node for each job on it, five nodes of two.
    frame = {"job_id": range(6), "submit_s": [0.0] * 4 + [10.0, 20.0], "runtime_s": [100.0] * 6, "node_count": [1] * 6}
    platform = hs.Platform.homogeneous(2, 100, 300, slots=4, exclusive=False)
    result = run({**frame, "slots": [1] * 6}, platform, policy)
    assert columns(result, "nodes") == [[[0]] * 4 + [[1]] * 2]


def test_a_run_cut_short_lasts_until_the_cut() -> None:
    # Passes at 0, 100, …: job 1 runs from 0 to 10, job 2 waits from 5 for 100. 200 W idle, 400 W with one node busy.
    frame = {"job_id": [1, 2], "submit_s": [0.0, 5.0], "runtime_s": [10.0] * 2, "node_count": [1] * 2}
    result = run(frame, hs.Platform.homogeneous(2, 100, 300), "coa:interval_s=100", until_s=50.0)
    summary = result.summary()
    assert (summary["pending"], summary["makespan_s"], summary["energy_j"]) == (1, 50.0, 10 * 400.0 + 40 * 200.0)


def test_more_slots_than_32_bits_can_count() -> None:
    # 65,538 nodes of 65,535 slots: 2³² + 65,534 slots.
    platform = hs.Platform.homogeneous(65_538, 1, 2, slots=65_535, exclusive=False)
    frame = {
        "job_id": [1, 2],
        "submit_s": [0.0] * 2,
        "runtime_s": [10.0] * 2,
        "node_count": [2, 1],
        "slots": [65_535, 9],
    }
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(frame)), platform, "easy")
    assert columns(result, "start_s") == [[0.0, 0.0]]


def test_of_preset_hetsched_a_job_overtakes_only_those_that_stay_queued() -> None:
    # Two nodes. Jobs 1 and 2 start together, whichever suits the nodes first; nothing stays queued.
    table = hs.VariationTable(["a", "b"], power_w=[[100.0, 200.0], [100.0, 300.0]])
    platform = hs.Platform.homogeneous(2, 50, 400, actual=table)
    frame = {
        "job_id": range(12),
        "submit_s": [float(10 * (job // 2)) for job in range(12)],
        "runtime_s": [10.0] * 12,
        "node_count": [1] * 12,
        "app": ["a", "b"] * 6,
    }
    assert set(run(frame, platform, "hetsched:beta=0").jobs["started_by"]) == {"immediate"}
