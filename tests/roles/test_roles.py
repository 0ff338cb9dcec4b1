"""Objects in the roles of a policy: what they are asked, what they may read, and what comes of wrong answers."""

from __future__ import annotations

import copy
import threading
import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from own_parts import Chance, Counting, FirstFit, LowestId, Shortest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NAMES = (
    *("job_id", "submit_s", "eligible_s", "planned_s", "walltime_s", "node_count", "slots"),
    *("app", "user", "queue", "power_w", "cap_w", "on_gpu"),
)


def jobs(**columns: Any) -> hs.Workload:
    """Four jobs of one node each on a machine of one node, unless columns say otherwise."""
    given = {"job_id": [11, 12, 13, 14], "submit_s": [0, 1, 2, 3], "runtime_s": [10, 30, 20, 5], "node_count": [1] * 4}
    return hs.Workload.from_polars(pl.DataFrame({**given, **columns}, strict=False))


def one_node(**more: Any) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300, **more)


class Order:
    """Ranks by whatever it was made with, and keeps what it was asked."""

    def __init__(self, answer: Any = None, changes: Any = "never") -> None:
        self._answer = answer or (lambda jobs, _: np.zeros(len(jobs)))
        self._asked: list[Any] = []
        self.changes = changes

    def fork(self) -> Order:
        """Every run notes in the same list what it asked."""
        return self

    def rank(self, jobs: Any, view: Any) -> Any:
        self._asked.append((view.now_s, jobs.job_id.tolist()))
        return self._answer(jobs, view)


class Placement:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        return self._answer(job, free, view)


class Scheduler:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def decide(self, view: Any) -> Any:
        return self._answer(view)


def starts(policy: Any, **options: Any) -> list[float]:
    return hs.simulate(jobs(), one_node(), policy, **options).jobs["start_s"].to_list()


# When an order is asked.


def test_a_static_order_is_asked_once_a_job_for_all_that_join_together() -> None:
    order = Order(lambda jobs, _: -jobs.runtime_s if hasattr(jobs, "runtime_s") else -jobs.planned_s)
    assert starts(hs.Policy(order=order)) == [0, 10, 40, 60]
    # The machine is full from 0 to 10: those that come meanwhile are sorted in when something is free.
    assert order._asked == [(0.0, [11]), (10.0, [12, 13, 14])]


def test_ties_go_by_submit_and_then_by_row() -> None:
    workload = jobs(submit_s=[5, 5, 0, 5])
    result = hs.simulate(workload, one_node(), hs.Policy(order=Order()))
    assert result.jobs.sort("start_s")["job_id"].to_list() == [13, 11, 12, 14]


def test_an_order_that_changes_is_asked_of_all_that_wait_in_each_pass() -> None:
    order = Order(changes="each-pass")
    starts(hs.Policy(order=order))
    assert order._asked == [(0, [11]), (10, [12, 13, 14]), (40, [13, 14]), (60, [14])]


def test_an_order_with_a_period_is_asked_at_the_first_pass_at_or_after_each_multiple() -> None:
    order = Order(changes=2.5)
    starts(hs.Policy(order=order))
    # Passes are at 0, 1, 2, 3, 10, 40, 60 and 65 s. The first after 2.5 is at 3, where all that came join;
    # at 10 and later a new multiple has passed each time.
    assert order._asked == [(0, [11]), (3, [12, 13, 14]), (10, [12, 13, 14]), (40, [13, 14]), (60, [14])]


@pytest.mark.parametrize("changes", ["sometimes", 0, -1.0, float("nan"), [1]])
def test_what_changes_cannot_be_is_refused(changes: Any) -> None:
    with pytest.raises(hs.ConfigError, match=r'policy\.order\.changes: .*"each-pass", or seconds'):
        starts(hs.Policy(order=Order(changes=changes)))


def test_an_order_may_rank_by_what_waits_longest_for_its_length() -> None:
    by_ratio = Order(lambda jobs, view: -(view.now_s - jobs.submit_s) / jobs.planned_s, "each-pass")
    # At 10: 9/30, 8/20, 7/5. At 15: 14/30, 13/20. Then the last.
    assert starts(hs.Policy(order=by_ratio)) == [0, 35, 15, 10]


# What they may read.


def seen(read: Any, workload: hs.Workload, platform: hs.Platform) -> Any:
    """What a scheduler reads that starts nothing, at its first pass."""
    found: list[Any] = []

    def decide(view: Any) -> Any:
        found.append(read(view))
        return []

    class Reader(Scheduler):
        def fork(self) -> Reader:
            return self

    hs.simulate(workload, platform, Reader(decide))
    return found[0]


def test_the_columns_of_the_queue() -> None:
    workload = jobs(
        submit_s=[0, 0, 0, 0],
        walltime_s=[12.5, None, 25, 5],
        app=["heat", None, "flow", "heat"],
        user=["bo", "ann", None, "bo"],
        queue=[None, "long", "long", "short"],
        power_w=[250.0, None, 0.0, 120.0],
        device=["gpu", "cpu", None, None],
    )

    def columns(view: Any) -> Any:
        queue = view.queue
        return {name: getattr(queue, name) for name in NAMES}, view.apps, view.users, view.queues, len(queue)

    found, apps, users, queues, count = seen(columns, workload, one_node())
    assert count == 4
    assert found["job_id"].tolist() == [11, 12, 13, 14]
    assert found["eligible_s"].tolist() == found["submit_s"].tolist() == [0, 0, 0, 0]
    assert found["planned_s"].tolist() == [12.5, 30, 25, 5]
    np.testing.assert_array_equal(found["walltime_s"], [12.5, np.nan, 25, 5])
    np.testing.assert_array_equal(found["power_w"], [250, np.nan, np.nan, 120])
    assert np.isinf(found["cap_w"]).all()
    assert [None if app < 0 else apps[app] for app in found["app"]] == ["heat", None, "flow", "heat"]
    assert [None if user < 0 else users[user] for user in found["user"]] == ["bo", "ann", None, "bo"]
    assert [None if queue < 0 else queues[queue] for queue in found["queue"]] == [None, "long", "long", "short"]
    assert found["node_count"].tolist() == found["slots"].tolist() == [1, 1, 1, 1]
    assert found["on_gpu"].tolist() == [True, False, False, False]
    assert all(not column.flags.writeable for column in found.values())


def test_the_machine_is_as_predicted_and_never_as_it_is() -> None:
    actual = hs.VariationTable(["heat"], power_w=[[150.0, 250.0]], time_ratio=[[1.0, 2.0]])
    predicted = hs.VariationTable(["heat"], power_w=[[160.0, 140.0]], time_ratio=[[1.5, 1.0]])
    platform = hs.Platform.homogeneous(nodes=2, idle_w=[90, 110], tdp_w=300)
    platform = platform.with_tables(actual=actual, predicted=predicted)

    def machine(view: Any) -> Any:
        return {
            "predicted": [view.predicted_w(0).tolist(), view.predicted_w("heat").tolist()],
            "nominal": [view.predicted_w(-1).tolist(), view.predicted_w(None).tolist()],
            "own": view.predicted_w(None, own_w=123.0).tolist(),
            "ratio": view.predicted_time_ratio("heat").tolist(),
            "nodes": (view.nodes, view.slots, view.free.tolist(), view.free_slots.tolist()),
            "watts": (view.idle_w.tolist(), view.tdp_w.tolist()),
            "same": view.predicted_w(0) is view.predicted_w("heat"),
            "names": dir(view),
        }

    found = seen(machine, jobs(app=["heat"] * 4), platform)
    assert found["predicted"] == [[160.0, 140.0]] * 2
    assert found["nominal"] == [[300.0, 300.0]] * 2
    assert found["own"] == [123.0, 123.0]
    assert found["ratio"] == [1.5, 1.0]
    assert found["nodes"] == (2, 1, [0, 1], [1, 1])
    assert found["watts"] == ([90.0, 110.0], [300.0, 300.0])
    assert found["same"]
    assert not [name for name in found["names"] if "actual" in name or "runtime" in name]


def test_what_runs_is_told_with_its_nodes_and_its_planned_end() -> None:
    found: list[Any] = []

    def note(jobs: Any, view: Any) -> Any:
        running = view.running
        columns = (running.job_id, running.start_s, running.planned_end_s, running.node_count)
        found.append((view.now_s, len(running), *(column.tolist() for column in columns)))
        found.append((running.nodes.tolist(), running.node_offsets.tolist(), running.slots.tolist()))
        found.append((running.app.tolist(), running.user.tolist()))
        return jobs.submit_s

    workload = jobs(node_count=[2, 1, 3, 1], walltime_s=[10, 40, 20, 5], user=["a", "b", "a", "a"])
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    hs.simulate(workload, platform, hs.Policy(order=Order(note), backfill="first-fit"))
    at_3 = next(place for place, one in enumerate(found) if one[0] == 3.0)
    assert found[at_3] == (3.0, 2, [11, 12], [0.0, 1.0], [10.0, 41.0], [2, 1])
    assert found[at_3 + 1] == ([0, 1, 2], [0, 2, 3], [1, 1])
    assert found[at_3 + 2] == ([-1, -1], [0, 1])


def test_a_job_has_attributes_of_the_names_of_the_columns() -> None:
    found: list[dict[str, Any]] = []

    def choose(job: Any, free: Any, view: Any) -> Any:
        found.append({name: getattr(job, name) for name in NAMES})
        return free[: job.node_count]

    workload = jobs(walltime_s=[10, 30, 20, 5], app=["heat"] * 4, user=["a"] * 4)
    hs.simulate(workload, one_node(), hs.Policy(placement=Placement(choose)))
    expected = {"job_id": 11, "submit_s": 0, "eligible_s": 0, "planned_s": 10, "walltime_s": 10, "node_count": 1}
    expected |= {"slots": 1, "app": 0, "user": 0, "queue": -1, "cap_w": np.inf, "on_gpu": False}
    assert {name: value for name, value in found[0].items() if name != "power_w"} == expected
    assert np.isnan(found[0]["power_w"])


def test_an_application_that_is_not_there_is_a_key_error() -> None:
    for app in (1, -2, "flow"):
        with pytest.raises(KeyError):
            seen(lambda view, app=app: view.predicted_w(app), jobs(app=["heat"] * 4), one_node())
    with pytest.raises(TypeError, match="an application is a number, a name or None"):
        seen(lambda view: view.predicted_w(1.5), jobs(), one_node())


def test_a_view_is_over_with_the_call_and_its_arrays_last() -> None:
    kept: list[Any] = []

    def rank(jobs: Any, view: Any) -> Any:
        kept.append((jobs, view, view.free, jobs.job_id))
        return jobs.submit_s

    starts(hs.Policy(order=Order(rank)))
    old_jobs, view, free, ids = kept[0]
    assert free.tolist() == [0]
    assert ids.tolist() == [11]
    for read in (lambda: view.now_s, lambda: view.running, lambda: old_jobs.submit_s):
        with pytest.raises(RuntimeError, match="can be read in the call only"):
            read()


def test_another_thread_cannot_read_a_view() -> None:
    raised: list[BaseException] = []

    def read(view: Any) -> None:
        try:
            _ = view.now_s
        except RuntimeError as error:
            raised.append(error)

    def rank(jobs: Any, view: Any) -> Any:
        thread = threading.Thread(target=read, args=(view,))
        thread.start()
        thread.join()
        return jobs.submit_s

    starts(hs.Policy(order=Order(rank)))
    assert raised


def test_only_what_decides_by_it_reads_the_queue() -> None:
    with pytest.raises(AttributeError, match="whole scheduler"):
        starts(hs.Policy(order=Order(lambda jobs, view: view.queue.submit_s)))


# Wrong answers.

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
def test_a_wrong_rank_is_told(message: str) -> None:
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
def test_wrong_nodes_are_told(message: str) -> None:
    four = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(jobs(node_count=[2] * 4), four, hs.Policy(placement=Placement(WRONG_NODES[message])))
    assert str(raised.value) == f"policy.placement: `choose` of Placement {message} at 0 s"


def test_a_node_that_is_busy_is_told() -> None:
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


class Backfill:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def select(self, queue: Any, view: Any) -> Any:
        return self._answer(queue, view)


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
def test_a_wrong_selection_is_told(message: str) -> None:
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
def test_wrong_starts_are_told(message: str) -> None:
    two = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(jobs(), two, Scheduler(WRONG_STARTS[message]))
    assert str(raised.value) == f"policy.scheduler: `decide` of Scheduler {message} at 0 s"


def test_a_scheduler_that_gives_one_node_to_two_jobs_is_told() -> None:
    both = jobs(submit_s=[0, 0, 0, 0])
    with pytest.raises(hs.SimulationError, match="gave node 0 to job 12, which is not free for it, at 0 s"):
        hs.simulate(both, one_node(), Scheduler(lambda view: [(11, [0]), (12, [0])]))


def test_jobs_that_a_scheduler_never_starts_stay_pending() -> None:
    result = hs.simulate(jobs(), one_node(), Scheduler(lambda view: []))
    assert result.summary()["pending"] == 4


# Exceptions.


class Broken(Exception):  # noqa: N818 -- a user's own
    """A user's own."""


def broken(*_: Any) -> Any:
    raise Broken("no idea")


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


# Copies, chance and identity.


def test_runs_share_nothing() -> None:
    own = Counting()
    policy = hs.Policy(order=own)
    first = hs.simulate(jobs(), one_node(), policy)
    assert own.calls == 0
    assert hs.simulate(jobs(), one_node(), policy) == first


def test_a_fork_goes_its_own_way() -> None:
    session = hs.Session(jobs(submit_s=[0, 12, 13, 14]), one_node(), hs.Policy(order=Counting()))
    session.step_until(11)
    fork = session.fork()
    whole = session.run()
    # Had both counted on one object, the fork would rank other numbers.
    assert fork.run() == whole


class Uncopied(Shortest):
    def __deepcopy__(self, memo: Any) -> Any:
        raise Broken("not to be copied")


def test_what_cannot_be_copied_is_told() -> None:
    with pytest.raises(Broken, match="not to be copied") as raised:
        starts(hs.Policy(order=Uncopied()))
    assert raised.value.__notes__ == ["policy.order: a run works on a copy of Uncopied, which could not be made"]


class OnlyOnce(Shortest):
    """Lets itself be copied for the run, and not for a fork of it."""

    def __init__(self) -> None:
        self._copies = 0

    def fork(self) -> OnlyOnce:
        if self._copies:
            raise Broken("not again")
        again = copy.copy(self)
        again._copies = 1
        return again


def test_a_fork_that_cannot_be_made_is_told() -> None:
    session = hs.Session(jobs(), one_node(), hs.Policy(order=OnlyOnce()))
    session.step_until(2)
    with pytest.raises(Broken, match="not again"):
        session.fork()


class Both(Shortest, LowestId):
    """Two roles that must see the same state."""

    def __init__(self) -> None:
        self._ranked: list[int] = []

    def rank(self, jobs: Any, view: Any) -> Any:
        self._ranked += jobs.job_id.tolist()
        return jobs.planned_s

    def choose(self, job: Any, free: Any, view: Any) -> Any:
        assert job.job_id in self._ranked
        return super().choose(job, free, view)


def test_an_object_in_two_roles_stays_one() -> None:
    own = Both()
    session = hs.Session(jobs(submit_s=[0, 12, 13, 14]), one_node(), hs.Policy(order=own, placement=own))
    session.step_until(12)
    fork = session.fork()
    assert session.run() == fork.run()
    assert own._ranked == []


def test_chance_comes_from_the_seed_of_the_run() -> None:
    policy = hs.Policy(order=Chance)
    assert policy.uses_chance
    assert not hs.Policy(order=Shortest).uses_chance
    assert starts(policy, seed=3) == starts(policy, seed=3)
    assert len({tuple(starts(policy, seed=seed)) for seed in range(12)}) > 1


class Parameters(Shortest):
    def __init__(self, alpha: float = 2.0) -> None:
        self.alpha = alpha
        self.weights = np.arange(3.0)
        self._hidden = 1


def test_who_an_object_is_stands_in_the_provenance() -> None:
    policy = hs.Policy.preset("easy", order=Parameters(alpha=0.5))
    order = policy.to_dict()["order"]
    assert order["name"] == "Parameters"
    assert order["python"].endswith(".Parameters")
    assert order["parameters"]["alpha"] == 0.5
    assert order["parameters"]["weights"]["array"] == [3]
    assert "_hidden" not in order["parameters"]
    assert len(order["source_sha256"]) == 64
    assert policy.name == "easy:order=Parameters(alpha=0.5)"
    assert policy == hs.Policy.preset("easy", order=Parameters(alpha=0.5))
    assert policy != hs.Policy.preset("easy", order=Parameters(alpha=0.6))
    assert hs.simulate(jobs(), one_node(), policy).provenance["policy"]["order"] == order
    assert hs.Policy(scheduler=FirstFit()).to_dict()["scheduler"]["name"] == "FirstFit"


def test_a_dictionary_or_a_file_holds_no_python(tmp_path: Any) -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.order: .*the object itself, as in hs\.Policy\(order=\.\.\.\)"):
        hs.Policy.from_dict(hs.Policy(order=Shortest()).to_dict())
    with pytest.raises(hs.ConfigError, match=r"scheduler: .*the object itself"):
        hs.Policy.from_dict(hs.Policy(scheduler=FirstFit()).to_dict())
    file = tmp_path / "policy.toml"
    file.write_text('[policy.order]\nname = "Shortest"\npython = "own_parts.Shortest"\n', encoding="utf-8")
    with pytest.raises(hs.ConfigError, match="a file holds no Python"):
        hs.Policy.from_toml(file)
    with pytest.raises(hs.ConfigError, match="a file holds no Python objects; fork the session instead"):
        hs.Session(jobs(), one_node(), hs.Policy(order=Shortest())).save(tmp_path / "s.hetsched")
    assert not (tmp_path / "s.hetsched").exists()


def test_what_has_no_role_is_refused_with_a_hint() -> None:
    for given, hint in [
        (hs.Policy, "method `rank`"),
        (LowestId(), "placement= takes it, by its method `choose`"),
        (FirstFit(), "scheduler= takes it"),
    ]:
        with pytest.raises(hs.ConfigError) as raised:
            hs.Policy(order=given)  # type: ignore[arg-type]
        assert hint in str(raised.value)
    with pytest.raises(hs.ConfigError, match=r'this is one role of it: hs\.Policy\.preset\("easy", order=\.\.\.\)'):
        hs.simulate(jobs(), one_node(), Shortest())  # type: ignore[arg-type]
    with pytest.raises(hs.ConfigError, match="nothing beside a scheduler"):
        hs.Policy(order="wfp3", scheduler=FirstFit())
    with pytest.raises(hs.ConfigError, match="the class needs arguments"):
        hs.Policy(order=type("Needy", (Shortest,), {"__init__": lambda self, alpha: None}))


def test_comparisons_take_objects_wherever_policies_stand() -> None:
    contestants = {"easy": "easy", "own": hs.Policy.preset("easy", order=Shortest), "whole": FirstFit()}
    found = hs.compare(jobs(), one_node(), contestants, progress=None)
    named = hs.compare(jobs(), one_node(), ["easy", "easy:order=shortest"], progress=None)
    assert found.value("own", "mean_wait_s") == named.value("easy:order=shortest", "mean_wait_s")
    assert set(found.summaries) == {"easy", "own", "whole"}


@pytest.mark.parametrize("workers", [1, 2])
def test_sweeps_take_objects_and_go_on_where_they_were(workers: int, tmp_path: Any) -> None:
    policies = ["easy", hs.Policy.preset("easy", order=Shortest()), FirstFit(), hs.Policy(order=Chance())]
    rows = hs.sweep(jobs(), one_node(), policies, seeds=2, workers=workers, out=tmp_path, progress=None)
    assert rows["policy"].unique(maintain_order=True).to_list() == [
        "easy",
        "easy:order=Shortest",
        "FirstFit",
        rows[6, 2],
    ]
    again = hs.sweep(jobs(), one_node(), policies, seeds=2, workers=1, out=tmp_path, progress=None)
    assert again.equals(rows)


def test_a_sweep_in_processes_refuses_what_cannot_get_there() -> None:
    def local() -> Any:
        return Order(lambda jobs, _: jobs.submit_s)

    policies = ["fcfs", hs.Policy(order=local())]
    with pytest.raises(
        hs.ConfigError, match=r"policy\.order: .*can be pickled, for runs in other processes; or workers=1"
    ):
        hs.sweep(jobs(), one_node(), policies, workers=2, progress=None)
    assert len(hs.sweep(jobs(), one_node(), policies, workers=1, progress=None)) == 2


def test_other_threads_get_their_turns_while_python_decides() -> None:
    ticks = [0]
    over = threading.Event()

    def count() -> None:
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    rng = np.random.default_rng(1)
    many = 20_000
    columns = {
        "job_id": np.arange(many),
        "submit_s": np.sort(rng.integers(0, 10 * many, many)),
        "node_count": [1] * many,
    }
    workload = hs.Workload.from_polars(pl.DataFrame({**columns, "runtime_s": [5.0] * many}))
    thread = threading.Thread(target=count)
    thread.start()
    try:
        hs.simulate(workload, one_node(), hs.Policy(order=Shortest(), placement=LowestId()))
    finally:
        over.set()
        thread.join()
    assert ticks[0] > 1
