"""Moldable jobs: sizes chosen before they start, worked out by hand, and the laws that hold of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MACHINE = hs.Platform.homogeneous(nodes=8, idle_w=50.0, busy_w=150.0, tdp_w=200.0)


def log(rows: list[dict[str, Any]]) -> hs.Workload:
    base = {"submit_s": 0.0, "runtime_s": 100.0, "node_count": 4}
    frame = pl.DataFrame([{"job_id": number, **base, **row} for number, row in enumerate(rows, 1)])
    return hs.Workload.from_polars(frame)


HALF = {"min_nodes": 1, "max_nodes": 8, "speedup": "amdahl", "serial_ratio": 0.5}
"""On n nodes 0.5 + 0.5/n of the time on one."""


class Sizes:
    """Chooses by a rule, and keeps what it was told."""

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self._told: list[Any] = []

    def fork(self) -> Sizes:
        return self

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        names = ("job_id", "node_count", "asked_nodes", "min_nodes", "max_nodes")
        self._told.append((view.now_s, watts, *(getattr(queue, name).tolist() for name in names)))
        return self._rule(queue)


def policy(rule: Any, backfill: str = "reservations", **parts: Any) -> hs.Policy:
    return hs.Policy(backfill={"name": backfill, "sizing": Sizes(rule)}, **parts)


def run(workload: hs.Workload, given: Any, platform: hs.Platform = MACHINE, **options: Any) -> hs.Result:
    result = hs.simulate(workload, platform, given, **options)
    check_schedule(result, workload, platform)
    return result


def smallest(queue: Any) -> Any:
    return queue.min_nodes


def largest(queue: Any) -> Any:
    return queue.max_nodes


@pytest.mark.parametrize(
    ("model", "parameters", "times_s"),
    [
        # At 4 nodes 100 s: at 1, 2, 8.
        ("linear", {}, (400.0, 200.0, 50.0)),
        ("amdahl", {"serial_ratio": 0.5}, (160.0, 120.0, 90.0)),
        ("downey", {"downey_a": 4.0, "downey_sigma": 0.0}, (400.0, 200.0, 100.0)),
        ("table", {"speedup_table": "2 4 5 8 8 8 8 10"}, (400.0, 200.0, 80.0)),
    ],
)
def test_a_job_takes_as_long_as_its_model_says(
    model: str, parameters: dict[str, Any], times_s: tuple[float, ...]
) -> None:
    workload = log([{"min_nodes": 1, "max_nodes": 8, "speedup": model, **parameters}])
    for size, time_s in zip((1, 2, 8), times_s, strict=True):
        jobs = run(workload, policy(lambda queue, size=size: [size])).jobs
        assert jobs["runtime_s"].to_list() == [pytest.approx(time_s, abs=1e-6)]
        assert len(jobs["nodes"][0]) == size
        assert jobs["node_count"].to_list() == [4], "what it asked for comes back"


def test_energy_work_and_segments_follow_the_size() -> None:
    result = run(log([HALF]), policy(smallest))
    summary = result.summary()
    # One node for 160 s, the others idle; the work is that of 4 nodes for 100 s.
    assert summary["energy_j"] == 160 * (150 + 7 * 50)
    assert summary["completed_work_ratio"] == 1.0
    assert summary["energy_per_work_j_per_node_s"] == summary["energy_j"] / 400
    (segment,) = result.segments.to_dicts()
    assert (segment["speed_ratio"], segment["power_w"], segment["nodes"]) == (100 / 160, 150.0, [0])


def test_walltimes_and_plans_follow_the_size() -> None:
    rows = [{**HALF, "walltime_s": 110.0}, {**HALF, "runtime_s": 200.0, "walltime_s": 110.0}]
    jobs = run(log(rows), policy(smallest)).jobs
    # On one node 160 s and killed after 176 s; the second would take 320 s.
    assert jobs["state"].to_list() == ["completed", "timeout"]
    assert jobs["end_s"].to_list() == [160.0, 176.0]
    lengths: list[Any] = []

    class Planned(Sizes):
        def sizes(self, queue: Any, watts: float, view: Any) -> Any:
            lengths.append((queue.node_count.tolist(), queue.planned_s.tolist()))
            return queue.min_nodes

    full = [{"node_count": 8, "runtime_s": 10.0}, {**HALF, "walltime_s": 110.0}]
    run(log(full), hs.Policy(backfill={"name": "reservations", "sizing": Planned(None)}))
    assert lengths == [([8, 4], [10.0, 110.0]), ([1], [176.0])]


def test_a_size_lets_a_job_start_that_would_wait() -> None:
    rows = [{"node_count": 6}, {**HALF, "submit_s": 1.0}]
    waits = run(log(rows), policy(lambda queue: queue.asked_nodes))
    fits = run(
        log(rows),
        policy(
            lambda queue: (
                np.minimum(queue.max_nodes, np.maximum(queue.min_nodes, 2))
                if len(queue) == 1 and queue.job_id[0] == 2
                else queue.asked_nodes
            )
        ),
    )
    assert waits.jobs["start_s"].to_list() == [0.0, 100.0]
    assert fits.jobs["start_s"].to_list() == [0.0, 1.0]
    assert fits.jobs["end_s"].to_list() == pytest.approx([100.0, 121.0], abs=2e-6)


def test_it_knows_what_waits_at_what_size() -> None:
    own = Sizes(smallest)
    rows = [{"node_count": 8}, {**HALF, "submit_s": 1.0}, {**HALF, "submit_s": 2.0, "min_nodes": 3}]
    platform_policy = hs.Policy(
        backfill={"name": "reservations", "sizing": own}, power={"name": "system-budget", "budget_w": 1150.0}
    )
    run(log(rows), platform_policy)
    # The first cannot start on 8 nodes at 150 W under 1150 W, and is rejected; the others come one by one.
    assert own._told[0] == (1.0, pytest.approx(750.0), [2], [4], [4], [1], [8])
    assert own._told[1] == (2.0, pytest.approx(650.0), [3], [4], [4], [3], [8])


def test_a_job_is_rejected_only_if_its_smallest_size_never_fits() -> None:
    rows = [
        {**HALF, "node_count": 20, "max_nodes": 20},
        {**HALF, "node_count": 20, "min_nodes": 9, "max_nodes": 20},
    ]
    for given in (policy(largest_that_fits), hs.Policy(backfill="reservations")):
        jobs = run(log(rows), given).jobs
        assert jobs["state"].to_list() == ["completed", "rejected"]
        assert jobs["reason"][1] == "asks for more nodes than the platform has"
    power = {"name": "system-budget", "budget_w": 8 * 50 + 350.0}
    rows = [HALF, {**HALF, "min_nodes": 4}]
    assert run(log(rows), policy(smallest, power=power)).jobs["state"].to_list() == ["completed", "rejected"]
    assert run(log(rows), hs.Policy(power=power)).jobs["state"].to_list() == ["rejected", "rejected"]


def largest_that_fits(queue: Any) -> Any:
    return np.minimum(queue.max_nodes, np.maximum(queue.min_nodes, 8))


WRONG = {
    "gave 9 nodes to job 1, which runs on 1 to 8,": lambda queue: [9],
    "gave 0 nodes to job 1, which runs on 1 to 8,": lambda queue: [0],
    "gave 2 numbers for 1 job": lambda queue: [1, 1],
    "gave values of type float64 where numbers of nodes were asked for": lambda queue: [1.5],
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_answer_is_reported(message: str) -> None:
    with pytest.raises(hs.SimulationError) as raised:
        hs.simulate(log([HALF]), MACHINE, policy(WRONG[message]))
    assert str(raised.value) == f"policy.backfill.sizing: `sizes` of Sizes {message} at 0 s"


class Wide:
    """A whole scheduler that gives each job all that is free."""

    def decide(self, view: Any) -> Any:
        return [(view.queue.job_id[0], view.free[: view.queue.max_nodes[0]])]


def test_a_whole_scheduler_chooses_a_size_by_the_nodes_it_gives() -> None:
    jobs = run(log([HALF, HALF]), Wide()).jobs
    assert jobs["end_s"].to_list() == pytest.approx([90.0, 180.0], abs=3e-6)
    with pytest.raises(hs.SimulationError, match="gave 8 nodes to job 1, which asks for 4"):
        hs.simulate(log([{}]), MACHINE, WideAnyhow())


class WideAnyhow:
    def decide(self, view: Any) -> Any:
        return [(view.queue.job_id[0], view.free)]


def drawn(seed: int, count: int = 60) -> hs.Workload:
    rng = np.random.default_rng(seed)
    low, asked, more = rng.integers(1, 4, count), rng.integers(0, 4, count), rng.integers(0, 4, count)
    runtime = rng.integers(1, 100, count)
    return hs.Workload.from_polars(
        pl.DataFrame(
            {
                "job_id": np.arange(count),
                "submit_s": np.sort(rng.integers(0, 600, count)).astype(float),
                "runtime_s": runtime.astype(float),
                "walltime_s": (runtime * rng.choice([0.8, 1.0, 1.5], count)),
                "node_count": low + asked,
                "min_nodes": low,
                "max_nodes": low + asked + more,
                "speedup": rng.choice(["linear", "amdahl", "downey"], count),
                "serial_ratio": rng.uniform(0, 1, count),
                "downey_a": rng.uniform(1, 8, count),
                "downey_sigma": rng.uniform(0, 2, count),
            }
        )
    )


class AnySize:
    """Sizes at random, other ones at each pass; the smallest where nothing would end that they could wait for."""

    def seed(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        drawn = self._rng.integers(queue.min_nodes, queue.max_nodes + 1)
        return drawn if len(view.running) else queue.min_nodes


@pytest.mark.parametrize(
    "backfill",
    [
        "none",
        "first-fit",
        {"name": "reservations"},
        {"name": "reservations", "depth": 3},
        {"name": "reservations", "depth": "unbounded"},
        "patience",
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_any_sizes_keep_the_laws(backfill: Any, seed: int) -> None:
    part = {"name": backfill} if isinstance(backfill, str) else backfill
    powers = [None, {"name": "system-budget", "pcr": 0.6}]
    given = hs.Policy(
        backfill={**part, "sizing": AnySize()},
        power=powers[seed % 2],
        order=["fcfs", "wfp3"][seed // 2],
        placement=["lowest-id", "assignment"][seed // 2],
    )
    result = run(drawn(seed), given, seed=seed)
    again = hs.simulate(drawn(seed), MACHINE, given, seed=seed)
    assert result.jobs.equals(again.jobs)
    session = hs.Session(drawn(seed), MACHINE, given, seed=seed)
    session.step_until(200.0)
    session.fork().run()
    assert session.run().jobs.equals(result.jobs)


@pytest.mark.parametrize("seed", range(3))
def test_the_sizes_asked_for_are_those_of_a_log_without_sizes(seed: int) -> None:
    own = drawn(seed)
    rigid = hs.Workload.from_polars(own.to_polars().drop("min_nodes", "max_nodes"))
    for backfill in ("none", "reservations"):
        with_sizes = run(own, policy(lambda queue: queue.asked_nodes, backfill))
        unsized = run(own, hs.Policy(backfill=backfill))
        plain = run(rigid, hs.Policy(backfill=backfill))
        names = plain.jobs.columns
        assert with_sizes.jobs.select(names).equals(plain.jobs)
        assert unsized.jobs.select(names).equals(plain.jobs)
        assert unsized.timeline.equals(plain.timeline)


FAULTS = [
    (
        {"min_nodes": 5, "max_nodes": 8, "speedup": "linear"},
        "column `min_nodes`: found `5`, expected at most `node_count`",
    ),
    ({"max_nodes": 3, "speedup": "linear"}, "column `max_nodes`: found `3`, expected at least `node_count`"),
    ({"max_nodes": 8}, "column `speedup`: found nothing, expected one of linear, amdahl, downey, table"),
    ({"max_nodes": 8, "speedup": "amdal"}, "did you mean `amdahl`?"),
    ({"max_nodes": 8, "speedup": "amdahl"}, "column `serial_ratio`"),
    ({"max_nodes": 5, "speedup": "table", "speedup_table": "1 2 3"}, "a number above 0 for each size"),
]


@pytest.mark.parametrize(("row", "message"), FAULTS)
def test_what_is_invalid_is_reported(row: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.TraceError) as raised:
        log([row])
    assert message in str(raised.value)
