"""Wrong answers of objects in the roles of a policy, and errors that they raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from answering_parts import Backfill, Broken, Order, Placement, Scheduler, broken, jobs, one_node, starts

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


WRONG_RANKS = {
    "gave 2 numbers for 1 job": lambda jobs, _: [1.0, 2.0],
    "gave 0 numbers for 1 job": lambda jobs, _: [],
    "gave NaN for job 11": lambda jobs, _: np.full(len(jobs), np.nan),
    "gave values of type <U1 where numbers were asked for": lambda jobs, _: ["a"],
    "gave values of type complex128 where numbers were asked for": lambda jobs, _: np.array([1j]),
    "gave a NoneType where numbers in one dimension were asked for": lambda jobs, _: None,
    "gave a float where numbers in one dimension were asked for": lambda jobs, _: 1.0,
    "gave an array of 2 dimensions where numbers in one dimension were asked for": lambda jobs, _: [[1.0]],
    "gave a list where numbers were asked for": lambda jobs, _: [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("message", WRONG_RANKS)
def test_a_wrong_rank_is_reported(message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        starts(hs.Policy(order=Order(WRONG_RANKS[message])))
    assert str(raised.value) == f"policy.order: `rank` of Order {message} at 0 s"


def test_ranks_may_be_numbers_of_any_kind() -> None:
    for dtype in (np.float32, np.int8, np.uint64, ">f8"):
        assert starts(hs.Policy(order=Order(lambda jobs, _, t=dtype: jobs.planned_s.astype(t)))) == [0, 35, 15, 10]
    strided = Order(lambda jobs, _: np.repeat(jobs.planned_s, 2)[::2])
    assert starts(hs.Policy(order=strided)) == [0, 35, 15, 10]
    infinite = Order(lambda jobs, _: np.where(jobs.job_id == 12, -np.inf, np.inf))
    assert starts(hs.Policy(order=infinite)) == [0, 10, 40, 60]


WRONG_NODES = {
    "gave 1 node to job 11, which asks for 2,": lambda job, free, _: free[:1],
    "gave 3 nodes to job 11, which asks for 2,": lambda job, free, _: free[:3],
    "gave node 0 twice to job 11": lambda job, free, _: [0, 0],
    "gave node 7 to job 11 on a machine of 4 nodes": lambda job, free, _: [0, 7],
    "gave node -1 to job 11 on a machine of 4 nodes": lambda job, free, _: [-1, 0],
    "gave values of type float64 where node numbers were asked for, to job 11,": lambda job, free, _: [0.0, 1.0],
    "gave a str where node numbers in one dimension were asked for, to job 11,": lambda job, free, _: "01",
}


@pytest.mark.parametrize("message", WRONG_NODES)
def test_wrong_nodes_are_reported(message: str) -> None:
    four = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(jobs(node_count=[2] * 4), four, hs.Policy(placement=Placement(WRONG_NODES[message])))
    assert str(raised.value) == f"policy.placement: `choose` of Placement {message} at 0 s"


def test_a_node_that_is_busy_is_reported() -> None:
    two = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    with pytest.raises(hs.SimulationError, match=r"gave node 0 to job 12, which is not free for it, at 1 s"):
        hs.simulate(jobs(), two, hs.Policy(placement=Placement(lambda job, free, view: [0])))


def test_a_placement_that_refuses_has_the_job_wait() -> None:
    # Two nodes of which it gives the second only: as if there were one.
    two = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    own = Placement(lambda job, free, view: [1] if 1 in free else None)
    result = hs.simulate(jobs(), two, hs.Policy(placement=own))
    assert result.jobs["start_s"].to_list() == [0, 10, 40, 60]
    assert result.jobs["nodes"].to_list() == [[1]] * 4


def test_a_backfill_has_jobs_started_in_its_order_if_they_fit() -> None:
    asked: list[Any] = []

    def select(queue: Any, view: Any) -> Any:
        asked.append((view.now_s, queue.job_id.tolist(), view.queue.job_id.tolist()))
        return queue.job_id[::-1]

    class Told(Backfill):
        def fork(self) -> Told:
            return self

    result = hs.simulate(jobs(), one_node(), hs.Policy(backfill=Told(select)))
    assert result.jobs["start_s"].to_list() == [0, 35, 15, 10]
    assert asked == [(0, [11], [11]), (10, [12, 13, 14], [12, 13, 14]), (15, [12, 13], [12, 13]), (35, [12], [12])]
    assert result.jobs["started_by"].to_list() == ["immediate", "reservation", "backfill", "backfill"]


WRONG_SELECTIONS = {
    "gave job 12, which is not in the queue,": lambda queue, view: [12],
    "gave job 99, which is not in the queue,": lambda queue, view: [99],
    "gave job 11 twice": lambda queue, view: [11, 11],
    "gave values of type float64 where job numbers were asked for": lambda queue, view: [11.0],
    "gave a NoneType where job numbers in one dimension were asked for": lambda queue, view: None,
}


@pytest.mark.parametrize("message", WRONG_SELECTIONS)
def test_a_wrong_selection_is_reported(message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        starts(hs.Policy(backfill=Backfill(WRONG_SELECTIONS[message])))
    assert str(raised.value) == f"policy.backfill: `select` of Backfill {message} at 0 s"


WRONG_STARTS = {
    "gave `5` where a list of (job_id, nodes) was asked for": lambda view: 5,
    "gave `7` where (job_id, nodes) was asked for": lambda view: [7],
    "gave `(11, [0], 3)` where (job_id, nodes) was asked for": lambda view: [(11, [0], 3)],
    "gave `'x'` where a job_id was asked for": lambda view: [("x", [0])],
    "gave job 12, which is not in the queue,": lambda view: [(12, [0])],
    "gave job 11 twice": lambda view: [(11, [0]), (11, [1])],
    "gave 2 nodes to job 11, which asks for 1,": lambda view: [(11, [0, 1])],
    "gave node 4 to job 11 on a machine of 2 nodes": lambda view: [(11, [4])],
}


@pytest.mark.parametrize("message", WRONG_STARTS)
def test_wrong_starts_are_reported(message: str) -> None:
    two = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(jobs(), two, Scheduler(WRONG_STARTS[message]))
    assert str(raised.value) == f"policy.scheduler: `decide` of Scheduler {message} at 0 s"


def test_a_scheduler_that_gives_one_node_to_two_jobs_is_reported() -> None:
    both = jobs(submit_s=[0, 0, 0, 0])
    with pytest.raises(hs.SimulationError, match="gave node 0 to job 12, which is not free for it, at 0 s"):
        hs.simulate(both, one_node(), Scheduler(lambda view: [(11, [0]), (12, [0])]))


def test_jobs_that_a_scheduler_never_starts_stay_pending() -> None:
    result = hs.simulate(jobs(), one_node(), Scheduler(lambda view: []))
    assert result.summary()["pending"] == 4


# Exceptions.


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        (hs.Policy(order=Order(broken)), "policy.order: `rank` of Order, for job 11 at 0 s"),
        (hs.Policy(placement=Placement(broken)), "policy.placement: `choose` of Placement, for job 11 at 0 s"),
        (hs.Policy(backfill=Backfill(broken)), "policy.backfill: `select` of Backfill, with 1 job waiting, at 0 s"),
        (Scheduler(broken), "policy.scheduler: `decide` of Scheduler, with 1 job waiting, at 0 s"),
    ],
)
def test_an_exception_comes_back_as_itself_with_a_note(policy: Any, note: str) -> None:
    with pytest.raises(Broken, match="no idea") as raised:
        starts(policy)
    assert raised.value.__notes__ == [note]
    assert any(entry.name == "broken" for entry in raised.traceback)


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_an_interrupt_comes_out_as_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        starts(hs.Policy(order=Order(interrupted)))


def test_a_session_that_failed_is_of_no_more_use() -> None:
    session = hs.Session(jobs(), one_node(), hs.Policy(order=Order(broken)))
    with pytest.raises(Broken):
        session.step_until(5)
    with pytest.raises(hs.SimulationError, match="failed or was used up"):
        session.step_until(6)
