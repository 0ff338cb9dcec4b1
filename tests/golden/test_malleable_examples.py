"""Malleable jobs, worked out by hand (rules page, "Malleable jobs").

Amdahl with half of the work serial: 1 node takes 1.6 times as long as the 4 asked for, 2 take 1.2, 8 take 0.9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MACHINE = hs.Platform.homogeneous(nodes=8, idle_w=50.0, busy_w=150.0, tdp_w=200.0)
HALF = {"min_nodes": 1, "max_nodes": 8, "speedup": "amdahl", "serial_ratio": 0.5, "malleable": True}


def near(value: Any) -> Any:
    """Within the microseconds that each change rounds up, and what the nodes draw in them."""
    return pytest.approx(value, rel=1e-7, abs=4e-6)


def log(rows: list[dict[str, Any]]) -> hs.Workload:
    base = {"submit_s": 0.0, "runtime_s": 100.0, "node_count": 4}
    frame = pl.DataFrame([{"job_id": number, **base, **row} for number, row in enumerate(rows, 1)])
    return hs.Workload.from_polars(frame)


class Plan:
    """Sizes of running jobs by instant and job; `told` keeps what it was asked."""

    def __init__(self, plan: dict[tuple[float, int], int], told: list[Any] | None = None) -> None:
        self.plan, self.told = plan, [] if told is None else told

    def fork(self) -> Plan:
        return self

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        return queue.node_count

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        names = ("job_id", "node_count", "asked_nodes", "min_nodes", "max_nodes")
        self.told.append((view.now_s, watts, *(getattr(runs, name).tolist() for name in names)))
        now = zip(runs.job_id.tolist(), runs.node_count.tolist(), strict=True)
        return [self.plan.get((view.now_s, job), count) for job, count in now]


def run(
    rows: list[dict[str, Any]],
    plan: Plan | dict[tuple[float, int], int],
    platform: hs.Platform = MACHINE,
    *,
    backfill: str = "reservations",
    parts: dict[str, Any] | None = None,
    **options: Any,
) -> hs.Result:
    sizing = plan if isinstance(plan, Plan) else Plan(plan)
    policy = hs.Policy(backfill={"name": backfill, "sizing": sizing}, **(parts or {}))
    workload = log(rows)
    result = hs.simulate(workload, platform, policy, **options)
    check_schedule(result, workload, platform, events=options.get("events"))
    return result


def stretches(result: hs.Result, job: int = 1) -> list[tuple[Any, ...]]:
    own = result.segments.filter(job_id=job).select("start_s", "end_s", "nodes", "power_w", "energy_j")
    return [(start, end, tuple(nodes), power, energy) for start, end, nodes, power, energy in own.iter_rows()]


def other(at: float, **more: Any) -> dict[str, Any]:
    """A rigid job that comes at an instant: the pass at which sizes are asked for."""
    return {"submit_s": at, "node_count": 1, "runtime_s": 1.0, **more}


def test_work_left_takes_longer_on_fewer_nodes() -> None:
    result = run([HALF, other(40.0, node_count=6, runtime_s=10.0)], {(40.0, 1): 2})
    # 60 of 100 s are left, which take 72 s on two nodes.
    assert result.jobs["end_s"].to_list() == near([112.0, 50.0])
    assert result.jobs["nodes"].to_list() == [[0, 1], [2, 3, 4, 5, 6, 7]]
    assert stretches(result) == [
        (0.0, 40.0, (0, 1, 2, 3), 600.0, 24_000.0),
        (40.0, near(112.0), (0, 1), 300.0, near(21_600.0)),
    ]
    assert result.segments["speed_ratio"].to_list()[:2] == near([1.0, 1 / 1.2])
    assert result.jobs["energy_j"].to_list() == near([45_600.0, 9000.0])
    assert result.jobs["mean_power_w"][0] == near(45_600.0 / 112.0)
    summary = result.summary()
    busy_node_s = 4 * 40 + 2 * 72 + 6 * 10
    assert summary["utilization_ratio"] == near(busy_node_s / (8 * 112))
    assert summary["energy_j"] == near(150 * busy_node_s + 50 * (8 * 112 - busy_node_s))
    assert summary["completed_work_ratio"] == 1.0
    assert result.timeline.select("time_s", "busy_nodes").rows()[:3] == [(0.0, 4), (40.0, 8), (50.0, 2)]
    row = result.events.row(0, named=True)
    told = {name: row[name] for name in ("time_s", "kind", "job_id", "value", "power_before_w", "power_after_w")}
    assert told == {
        "time_s": 40.0,
        "kind": "shrink",
        "job_id": 1,
        "value": 2.0,
        "power_before_w": 800.0,
        "power_after_w": 600.0,
    }


def test_more_nodes_are_those_that_the_placement_chooses_for_the_missing_ones() -> None:
    class Highest:
        def choose(self, job: Any, free: Any, view: Any) -> Any:
            counts.append(job.node_count)
            return free[-job.node_count :]

        def fork(self) -> Highest:
            return self

    counts: list[int] = []
    result = run([HALF, other(40.0)], {(40.0, 1): 6}, parts={"placement": Highest()})
    # 6 nodes take (0.5 + 0.5 / 6) / 0.625 = 14/15 of the time: 60 s become 56.
    assert result.jobs["end_s"].to_list() == near([96.0, 41.0])
    assert [nodes for _, _, nodes, *_ in stretches(result)] == [(4, 5, 6, 7), (2, 3, 4, 5, 6, 7)]
    assert counts == [4, 2, 1]
    assert result.events["kind"].to_list() == ["grow"]


def test_a_placement_that_refuses_leaves_a_job_as_it_is() -> None:
    class Choosy:
        def choose(self, job: Any, free: Any, view: Any) -> Any:
            return free[: job.node_count] if view.now_s == 0 or job.job_id == 2 else None

    result = run([HALF, other(40.0)], {(40.0, 1): 6}, parts={"placement": Choosy()})
    assert result.jobs["end_s"].to_list() == [100.0, 41.0]
    assert result.events.is_empty()


def test_all_that_shrink_do_before_the_first_grows() -> None:
    rows = [{**HALF, "job_id": 1}, {**HALF, "job_id": 2}, other(40.0)]
    result = run(rows, {(40.0, 1): 6, (40.0, 2): 1})
    assert [nodes for _, _, nodes, *_ in stretches(result, 1)] == [(0, 1, 2, 3), (0, 1, 2, 3, 5, 6)]
    assert [nodes for _, _, nodes, *_ in stretches(result, 2)] == [(4, 5, 6, 7), (4,)]
    assert result.events["kind"].to_list() == ["shrink", "grow"]
    assert result.jobs["start_s"][2] == 40.0


def test_a_change_costs_its_pause_in_which_the_nodes_work() -> None:
    rows = [{**HALF, "resize_s": 5.0}, other(40.0), other(50.0)]
    result = run(rows, {(40.0, 1): 2, (50.0, 1): 8 - 1})
    # At 40: 60 s left, on two nodes 72 and 5. At 50: 67 of them left; 7 nodes take (0.5 + 0.5 / 7) / 0.625 = 32/35.
    seven = 32 / 35 / 1.2
    assert result.jobs["end_s"][0] == near(50 + 67 * seven + 5)
    own = result.segments.filter(job_id=1)
    assert own["speed_ratio"].to_list() == near([1.0, 0.0, 1 / 1.2, 0.0, 35 / 32])
    assert own["start_s"].to_list() == [0.0, 40.0, 45.0, 50.0, 55.0]
    assert own["power_w"].to_list() == [600.0, 300.0, 300.0, 1050.0, 1050.0]
    assert own["state"].unique().to_list() == ["running"]


def test_what_is_left_of_a_pause_is_stretched_by_the_next_change() -> None:
    rows = [{**HALF, "resize_s": 10.0}, other(40.0), other(44.0)]
    result = run(rows, {(40.0, 1): 2, (44.0, 1): 4})
    # At 40: 72 + 10 s. At 44: 78 are left, of them 6 of the pause; on four nodes 65, and another 10.
    assert result.jobs["end_s"][0] == near(44 + 65 + 10)
    own = result.segments.filter(job_id=1)
    assert own["start_s"].to_list() == near([0.0, 40.0, 44.0, 44 + 5 + 10])
    assert own["speed_ratio"].to_list() == [1.0, 0.0, 0.0, 1.0]


def test_changes_within_an_instant_count_as_one() -> None:
    # The job of length zero makes another round of its instant.
    rows = [{**HALF, "resize_s": 5.0}, other(40.0, runtime_s=0.0), other(60.0, runtime_s=0.0)]

    class Twice(Plan):
        def resizes(self, runs: Any, watts: float, view: Any) -> Any:
            asked.append(view.now_s)
            turn = asked.count(view.now_s) - 1
            wanted = {40.0: [2, 8], 60.0: [2, 8]}.get(view.now_s, [int(runs.node_count[0])])
            return [wanted[min(turn, len(wanted) - 1)]]

    asked: list[float] = []
    result = run(rows, Twice({}))
    # At 40 from four to eight, with one pause: 54 + 5 s. At 60 it has its eight nodes again: nothing has changed.
    assert result.jobs["end_s"][0] == near(40.0 + 54.0 + 5.0)
    assert asked[:2] == [40.0, 40.0]
    assert asked[2:4] == [60.0, 60.0]
    assert result.events["kind"].to_list() == ["shrink", "grow", "shrink", "grow"]
    assert [len(nodes) for _, _, nodes, *_ in stretches(result)] == [4, 8, 8]


def test_a_job_resized_as_it_starts_starts_with_its_last_nodes() -> None:
    rows = [{**HALF, "resize_s": 5.0, "walltime_s": 110.0}, other(0.0, runtime_s=0.0)]
    result = run(rows, {(0.0, 1): 2})
    assert result.jobs["end_s"].to_list() == near([120.0, 0.0])
    assert stretches(result) == [(0.0, near(120.0), (0, 1), 300.0, near(36_000.0))]


def test_plans_and_kills_follow_the_size() -> None:
    told: list[float] = []

    class Watching(Plan):
        def sizes(self, queue: Any, watts: float, view: Any) -> Any:
            told.extend(view.running.planned_end_s.tolist()[:1])
            return queue.node_count

    rows = [{**HALF, "runtime_s": 200.0, "walltime_s": 110.0, "resize_s": 6.0}, other(40.0)]
    result = run(rows, Watching({(40.0, 1): 2}))
    # 70 s were left of the walltime: 84 on two nodes, and the pause.
    assert told == near([130.0])
    assert (result.jobs["state"][0], result.jobs["end_s"][0]) == ("timeout", near(130.0))
    assert result.summary()["work_lost_node_s"] == near(4 * (200 - 40 - 70))


def test_a_kill_within_the_pause_leaves_all_that_was_left_before_it() -> None:
    failed = pl.DataFrame({"time_s": [43.0], "kind": ["node_failed"], "node": [0]})
    rows = [{**HALF, "resize_s": 6.0}, other(40.0)]
    result = run(rows, {(40.0, 1): 2}, events=hs.Events.from_polars(failed))
    assert result.jobs["state"][0] == "failed"
    assert result.summary()["work_lost_node_s"] == pytest.approx(4 * 60, abs=1e-4)


def test_the_shadow_of_the_head_follows_the_size_at_once() -> None:
    # The head needs all eight nodes when the first job is over: at 100, or at 112 on two nodes.
    rows = [HALF, other(40.0, node_count=8, runtime_s=10.0), other(41.0, node_count=1, runtime_s=70.0)]
    alike = run(rows, {})
    assert alike.jobs["start_s"].to_list() == [0.0, 100.0, 110.0]
    smaller = run(rows, {(40.0, 1): 2})
    assert smaller.jobs["start_s"].to_list() == near([0.0, 112.0, 41.0])


def test_on_heterogeneous_nodes_the_slowest_of_a_job_counts() -> None:
    table = hs.VariationTable(["a"], power_w=[[150.0] * 8], time_ratio=[[1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]])
    platform = MACHINE.with_tables(actual=table)
    rows = [{**HALF, "app": "a"}, other(40.0, app="a", runtime_s=0.0)]
    result = run(rows, {(40.0, 1): 2}, platform)
    # 200 s on four nodes, the slowest of which takes twice as long; of 160 that are left, 160 × 1.2 / 2 on the others.
    assert result.jobs["end_s"][0] == near(40.0 + 96.0)


def test_watts_of_a_budget_follow_the_size() -> None:
    power = {"power": {"name": "system-budget", "budget_w": 400.0 + 450.0}}
    told: list[Any] = []
    rows = [{**HALF, "node_count": 4}, other(40.0, runtime_s=20.0), other(50.0)]
    result = run(rows, Plan({(40.0, 1): 3}, told), parts=power)
    # 400 W are taken at 100 W a node beyond idle, of 450; three nodes leave room for the other job at 40.
    assert result.jobs["start_s"].to_list() == [0.0, 40.0, 60.0]
    assert told[:2] == [(40.0, near(50.0), [1], [4], [4], [1], [8]), (50.0, near(50.0), [1], [3], [4], [1], [8])]
    with pytest.raises(hs.SimulationError) as raised:
        run(rows, {(40.0, 1): 5}, parts=power)
    assert str(raised.value).endswith(
        ", at 40 s: cannot let job 1 go on on 5 nodes: the system would draw 900 W, more than the budget of 850 W"
    )


def test_a_wrong_answer_is_reported() -> None:
    rows = [HALF, {**HALF, "malleable": False}, other(40.0)]
    gave = "policy.backfill.sizing: `resizes` of Plan gave"
    for plan, message in (
        ({(40.0, 1): 9}, f"{gave} 9 nodes to job 1, which runs on 1 to 8, at 40 s"),
        ({(40.0, 1): 0}, f"{gave} 0 nodes to job 1, which runs on 1 to 8, at 40 s"),
        ({(40.0, 1): 6}, "at 40 s: cannot let job 1 go on on 6 nodes: it needs 2 more nodes, and 0 are free"),
    ):
        with pytest.raises(hs.SimulationError) as raised:
            run(rows, plan)
        assert str(raised.value).endswith(message)

    class Few(Plan):
        def resizes(self, runs: Any, watts: float, view: Any) -> Any:
            return []

    with pytest.raises(hs.SimulationError, match=r"`resizes` of Few gave 0 numbers for 1 job at 40 s"):
        run(rows, Few({}))

    class Raising(Plan):
        def resizes(self, runs: Any, watts: float, view: Any) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        run(rows, Raising({}))
    assert caught.value.__notes__ == [
        "policy.backfill.sizing: `resizes` of Raising, with 1 malleable job running, at 40 s"
    ]


def test_it_is_asked_only_of_malleable_jobs_that_run() -> None:
    told: list[Any] = []
    rows = [{**HALF, "malleable": False}, other(10.0), {**HALF, "submit_s": 20.0}, other(30.0)]
    run(rows, Plan({}, told))
    assert {(at, *jobs) for at, _, jobs, *_ in told} == {(30.0, 3), (100.0, 3), (101.0, 3)}


def test_queued_again_a_job_waits_with_the_size_that_it_had_last() -> None:
    rows = [HALF, other(40.0)]
    happened = pl.DataFrame({"time_s": [60.0], "kind": ["node_failed"], "node": [0]})
    result = run(rows, {(40.0, 1): 2}, events=hs.Events.from_polars(happened), on_failure="requeue")
    assert (result.jobs["start_s"][0], result.jobs["end_s"][0]) == (60.0, near(180.0))
    assert result.jobs["nodes"][0].to_list() == [1, 2]
    own = result.segments.filter(job_id=1).select("attempt", "start_s", "nodes").rows()
    assert own == [(1, 0.0, [0, 1, 2, 3]), (1, 40.0, [0, 1]), (2, 60.0, [1, 2])]
    assert result.jobs["lost_energy_j"][0] == 600.0 * 40 + 300.0 * 20


def test_malleable_jobs_without_resizes_run_like_moldable_ones() -> None:
    rows = [HALF, other(40.0), {**HALF, "submit_s": 50.0}]
    moldable = [{name: value for name, value in row.items() if name != "malleable"} for row in rows]
    here, there = (hs.simulate(log(own), MACHINE, "easy") for own in (rows, moldable))
    assert here.jobs.drop("malleable").equals(there.jobs)
    assert here.summary() == there.summary()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"malleable": True}, "column `malleable`: found `True`, expected false for a job of one size"),
        ({**HALF, "resize_s": -1.0}, "column `resize_s`: found `-1`, expected seconds from 0"),
    ],
)
def test_what_is_invalid_is_reported(row: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.TraceError) as raised:
        log([row])
    assert message in str(raised.value)


def test_what_it_does_not_go_with_is_refused() -> None:
    shared = hs.Platform.homogeneous(nodes=8, idle_w=50.0, busy_w=150.0, tdp_w=200.0, slots=4, exclusive=False)
    with pytest.raises(hs.ConfigError, match="jobs keep their size on shared nodes"):
        run([HALF], {}, shared)
    halves = [hs.NodeClass(name, count=4, idle_w=50.0, tdp_w=200.0, features=[name]) for name in ("x", "y")]
    with pytest.raises(hs.ConfigError, match="where nodes differ in what jobs ask for, a job keeps the size"):
        run([{**HALF, "constraint": "x"}], {}, hs.Platform(classes=halves))
    with pytest.raises(hs.ConfigError, match="nothing with `plan`"):
        run([HALF], {}, backfill="plan")
    with pytest.raises(hs.ConfigError, match="jobs on as many nodes as they ask for"):
        run([HALF], {}, bound=True)
    some = hs.Platform.homogeneous(nodes=8, idle_w=50.0, tdp_w=200.0, queues=[hs.Queue("q", "0-6")])
    with pytest.raises(hs.ConfigError, match="no size is chosen where a queue has some nodes and not all"):
        run([{**HALF, "queue": "q"}], {}, some)
    all_nodes = hs.Platform.homogeneous(nodes=8, idle_w=50.0, tdp_w=200.0, queues=[hs.Queue("q", "0-7", max_nodes=6)])
    with pytest.raises(hs.ConfigError, match="8 of job 1, expected at most the max_nodes of its queue"):
        run([{**HALF, "queue": "q"}], {}, all_nodes)
    assert run([{**HALF, "queue": "q", "max_nodes": 6}, other(40.0, queue="q")], {(40.0, 1): 6}, all_nodes)


def test_a_change_that_a_result_hides_is_found() -> None:
    rows = [{**HALF, "resize_s": 5.0}, other(40.0)]
    workload = log(rows)
    result = run(rows, {(40.0, 1): 2})
    first = (pl.col("job_id") == 1) & (pl.col("start_s") == 0.0)
    faults = [
        pl.when(first).then(pl.lit([0, 1, 2, 4])).otherwise("nodes").alias("nodes"),
        pl.when(first).then(pl.lit([0, 1])).otherwise("nodes").alias("nodes"),
        pl.when(pl.col("speed_ratio") == 0.0).then(1.0).otherwise("speed_ratio").alias("speed_ratio"),
    ]
    for change in faults:
        tampered = result.segments.with_columns(change.cast(result.segments.schema[change.meta.output_name()]))
        with pytest.raises(AssertionError, match=r"job 1, from|node 3: busy_s"):
            check_schedule(_with(result, segments=tampered), workload, MACHINE)
    with pytest.raises(AssertionError, match="events tell"):
        check_schedule(_with(result, events=result.events.clear()), workload, MACHINE)


def _with(result: hs.Result, **frames: pl.DataFrame) -> Any:
    """The result with other frames."""

    class Tampered:
        def __getattr__(self, name: str) -> Any:
            return frames.get(name, getattr(result, name))

    return Tampered()


def test_saved_and_forked_sessions_go_on_alike(tmp_path: Any) -> None:
    rows = [{**HALF, "resize_s": 5.0}, other(40.0), other(70.0)]
    policy = hs.Policy(backfill={"name": "reservations", "sizing": Fixed()})
    whole = hs.simulate(log(rows), MACHINE, policy)
    session = hs.Session(log(rows), MACHINE, policy)
    session.step_until(42.0)
    fork = session.fork()
    for one in (session, fork):
        assert one.run().segments.equals(whole.segments)
    assert np.unique(whole.segments.filter(job_id=1)["nodes"].list.len()).tolist() == [2, 4, 7]


class Fixed:
    """Two nodes from 40 s on, seven from 70 s on."""

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        return queue.node_count

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        return [7 if view.now_s >= 70 else 2 if view.now_s >= 40 else 4]
