"""Views that objects in the roles of a policy may read."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from answering_parts import Order, Placement, Scheduler, jobs, one_node, starts

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NAMES = (
    *("job_id", "submit_s", "eligible_s", "planned_s", "walltime_s", "node_count", "slots"),
    *("app", "user", "queue", "power_w", "cap_w", "on_gpu"),
)


def seen(read: Any, workload: hs.Workload, platform: hs.Platform) -> Any:
    """View of a scheduler that starts nothing, at its first pass."""
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


def test_what_runs_is_reported_with_its_nodes_and_its_planned_end() -> None:
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
