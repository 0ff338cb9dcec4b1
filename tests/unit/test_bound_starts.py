"""The bound given a run's starts: by hand, the jobs that it leaves out, and the nodes that jobs may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.run.metrics import OF_BOUND, OF_STARTS

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
BOUND, BLIND = "energy_bound_starts_j", "energy_blind_j"


def jobs(runtime_s: Sequence[float], **columns: Any) -> hs.Workload:
    """Jobs of application `a`, all submitted at 0, of one node each."""
    count = len(runtime_s)
    frame = {"job_id": range(count), "submit_s": [0.0] * count, "runtime_s": runtime_s, "node_count": [1] * count}
    frame["app"] = ["a"] * count
    return hs.Workload.from_polars(pl.DataFrame({**frame, **columns}))


def nodes(power_w: Sequence[float], time_ratio: Sequence[float] | None = None, **more: Any) -> hs.Platform:
    """Nodes that draw this under application `a`, and run it at this pace."""
    table = hs.VariationTable(["a"], power_w=[power_w], time_ratio=None if time_ratio is None else [time_ratio])
    return hs.Platform.homogeneous(nodes=len(power_w), idle_w=10.0, tdp_w=500.0, actual=table, **more)


def down(node: int, start_s: float, end_s: float, kind: str = "node_failed") -> hs.Events:
    """A node that is down in between."""
    rows = {"time_s": [start_s], "kind": [kind], "node": [node], "until_s": [end_s]}
    announced = {"announced_s": [start_s]} if kind == "maintenance" else {}
    return hs.Events.from_polars(pl.DataFrame(rows | announced))


def summary(workload: hs.Workload, platform: hs.Platform, policy: Any = "fcfs", **options: Any) -> dict[str, Any]:
    return hs.simulate(workload, platform, policy, bound="starts", **options).summary()


class TestByHand:
    def test_only_where_nodes_are_left_over_is_there_a_choice(self) -> None:
        # Two jobs of 10 s on three nodes, then one: 10 s × (100 W + 150 W) + 10 s × 100 W, at the starts 0, 0 and 10.
        found = summary(jobs([10.0, 10.0, 10.0], submit_s=[0.0, 0.0, 10.0]), nodes([300.0, 150.0, 100.0]))
        assert found[BOUND] == pytest.approx(3500.0, rel=1e-12)
        assert found[BLIND] == pytest.approx(30 * 550 / 3, rel=1e-12)
        assert found["job_energy_j"] == 10 * (300 + 150 + 300)
        assert found["placement_attained_ratio"] == pytest.approx((5500 - 7500) / (5500 - 3500), rel=1e-9)

    def test_a_slow_node_is_charged_for_its_own_length(self) -> None:
        # Node 0: 100 W × 20 s, node 1: 300 W × 10 s. The job may be over after 10 s: 10 s × min(200 W, 300 W).
        found = summary(jobs([10.0]), nodes([100.0, 300.0], [2.0, 1.0]))
        assert found[BOUND] == pytest.approx(2000.0, rel=1e-12)
        assert found[BLIND] == pytest.approx((2000 + 3000) / 2, rel=1e-12)

    def test_a_kill_cuts_slow_nodes_short(self) -> None:
        platform = nodes([100.0, 300.0], [2.0, 1.0])
        assert summary(jobs([10.0], walltime_s=[12.0]), platform)[BOUND] == pytest.approx(1200.0, rel=1e-12)
        stretched = summary(jobs([10.0], walltime_s=[12.0]), platform, walltimes="stretch")
        assert stretched[BOUND] == pytest.approx(2000.0, rel=1e-12)
        unkilled = summary(jobs([10.0], walltime_s=[12.0]), platform, kill_at_walltime=False)
        assert unkilled[BOUND] == pytest.approx(2000.0, rel=1e-12)

    def test_two_applications_trade_nodes(self) -> None:
        # Alone each would take node 0; together it goes to `b`, which has more to lose.
        table = hs.VariationTable(["a", "b"], power_w=[[100.0, 110.0], [100.0, 200.0]])
        platform = hs.Platform.homogeneous(nodes=2, idle_w=10.0, tdp_w=500.0, actual=table)
        found = summary(jobs([10.0, 10.0], app=["a", "b"]), platform)
        assert found[BOUND] == pytest.approx(2100.0, rel=1e-12)
        assert found["job_energy_j"] == 3000.0

    def test_until_cuts_every_length(self) -> None:
        # At 15 s the first job has ended on node 0, and might still run on node 1, at half the draw.
        found = summary(jobs([10.0, 60.0]), nodes([100.0, 50.0, 80.0], [1.0, 3.0, 1.0]), until_s=15.0)
        assert found["bound_left_out_jobs"] == 0
        # The first is there for 10 s, at 100, 75 or 80 W; the second for 15 s, at 100, 50 or 80 W.
        assert found[BOUND] == pytest.approx(10 * (80 + 50) + 5 * 50, rel=1e-12)

    def test_jobs_of_no_length_draw_nothing(self) -> None:
        found = summary(jobs([0.0, 0.0]), nodes([100.0, 200.0]))
        assert (found[BOUND], found[BLIND], found["placement_attained_ratio"]) == (0.0, 0.0, None)

    def test_nothing_to_run(self) -> None:
        found = summary(jobs([10.0]).head(0), nodes([100.0, 200.0]))
        assert (found[BOUND], found[BLIND], found["bound_left_out_jobs"]) == (0.0, 0.0, 0)


class TestNodesThatJobsMayUse:
    def test_constraints_gpus_and_memory(self) -> None:
        classes = [
            hs.NodeClass("plain", 1, 50, 500, busy_w=100, memory_gb=64, gpus=0, features=["x"]),
            hs.NodeClass("large", 1, 50, 500, busy_w=200, memory_gb=512, gpus=0, features=["y"]),
            hs.NodeClass("gpu", 1, 50, 500, busy_w=400, memory_gb=64, gpus=4, features=["x"]),
        ]
        platform = hs.Platform(classes)
        asked = ({"constraint": ["y"]}, {"gpus": [1]}, {"memory_gb": [100.0]}, {"constraint": ["x"]})
        found = [summary(jobs([10.0], app=[None], **columns), platform)[BOUND] for columns in asked]
        assert found == pytest.approx([2000.0, 4000.0, 2000.0, 1000.0], rel=1e-12)

    def test_queues(self) -> None:
        queues = [hs.Queue("west", nodes="0-1"), hs.Queue("east", nodes="2-3")]
        platform = nodes([300.0, 200.0, 150.0, 100.0], queues=queues)
        found = [summary(jobs([10.0], queue=[queue]), platform) for queue in ("west", "east")]
        assert [one[BOUND] for one in found] == pytest.approx([2000.0, 1000.0], rel=1e-12)
        assert [one[BLIND] for one in found] == pytest.approx([2500.0, 1250.0], rel=1e-12)

    def test_nodes_out_of_service_serve_nobody(self) -> None:
        # Node 1 fails at 2 s and is back at 6 s: for 4 of 10 s the job on node 0 has no better one.
        for kind in ("node_failed", "maintenance"):
            found = summary(jobs([10.0]), nodes([300.0, 100.0]), events=down(1, 2.0, 6.0, kind))
            assert found[BOUND] == pytest.approx(4 * 300 + 6 * 100, rel=1e-12)

    def test_nodes_that_sleep_are_in_service(self) -> None:
        platform = nodes([300.0, 100.0], off_w=0.0, boot_s=10.0, shutdown_s=10.0)
        workload = jobs([10.0, 10.0], submit_s=[0.0, 500.0])
        found = summary(workload, platform, "easy:sleep=timeout")
        assert found[BOUND] == pytest.approx(2000.0, rel=1e-12)

    def test_a_replay_elsewhere_may_use_every_node(self) -> None:
        queues = [hs.Queue("west", nodes="0")]
        workload = jobs([10.0], queue=["west"], observed_start_s=[0.0], observed_nodes=[[1]])
        found = summary(workload, nodes([300.0, 100.0], queues=queues), "replay")
        assert found[BOUND] == found["job_energy_j"] * (1 - 1e-13) or found[BOUND] == pytest.approx(1000.0, rel=1e-12)


class TestLeftOut:
    def test_jobs_of_nodes_that_fail(self) -> None:
        events = down(0, 2.0, 6.0)
        workload = jobs([10.0, 4.0])
        for on_failure in ("fail", "requeue"):
            result = hs.simulate(
                workload, nodes([300.0, 100.0]), "fcfs", events=events, on_failure=on_failure, bound="starts"
            )
            found, energy_j = result.summary(), result.jobs["energy_j"].to_list()
            assert (found["bound_left_out_jobs"], found["bound_left_out_energy_j"]) == (1, energy_j[0])
            assert found[BOUND] == pytest.approx(400.0, rel=1e-12)

    def test_a_metered_end_is_a_length_on_any_node(self) -> None:
        starts = pl.DataFrame({"job_id": [0], "start_s": [0.0], "nodes": [[0]], "end_s": [7.0]})
        found = hs.meter(jobs([10.0]), nodes([300.0, 100.0], [1.0, 2.0]), starts, bound="starts").summary()
        assert found["bound_left_out_jobs"] == 0
        assert found[BOUND] == pytest.approx(700.0, rel=1e-12)

    def test_metering_a_run_gives_its_bound(self) -> None:
        workload, platform = jobs([10.0, 20.0, 30.0]), nodes([300.0, 100.0], [1.0, 1.1])
        result = hs.simulate(workload, platform, "fcfs", bound="all")
        again = hs.meter(workload, platform, result.jobs.select("job_id", "start_s", "nodes"), bound="all").summary()
        keys = [*OF_BOUND, *OF_STARTS]
        assert {key: again[key] for key in keys} == {key: result.summary()[key] for key in keys}


def test_keys_and_records(tmp_path) -> None:
    workload, platform = jobs([10.0]), nodes([100.0, 200.0])
    plain, *asked = (hs.simulate(workload, platform, "fcfs", bound=bound) for bound in (False, True, "starts", "all"))
    added = [[key for key in result.summary() if key not in plain.summary()] for result in asked]
    assert added == [list(OF_BOUND), list(OF_STARTS), [*OF_BOUND, *OF_STARTS]]
    assert [result.provenance["options"]["bound"] for result in asked] == [True, "starts", "all"]
    asked[2].write(tmp_path)
    assert hs.read_result(tmp_path) == asked[2]


def test_other_words_are_refused() -> None:
    with pytest.raises(
        hs.ConfigError, match=r"bound: found `start`, expected true or false, or one of starts, all; did you"
    ):
        hs.simulate(jobs([10.0]), nodes([100.0]), bound="start")
    shared = hs.Platform.homogeneous(nodes=2, idle_w=10.0, tdp_w=500.0, slots=4, exclusive=False)
    with pytest.raises(hs.ConfigError, match="bound: found `starts`, expected False where jobs share nodes"):
        summary(jobs([10.0]), shared)


def test_large_jobs_waits() -> None:
    workload = jobs([10.0, 10.0, 10.0], node_count=[16, 16, 1])
    platform = hs.Platform.homogeneous(nodes=16, idle_w=10.0, tdp_w=500.0)
    found = summary(workload, platform)
    assert (found["large_mean_wait_s"], found["large_max_wait_s"]) == (5.0, 10.0)


@pytest.mark.parametrize("column", ["plain", "power_w", "comm_s", "walltime_s"])
def test_a_grid_is_a_bound_near_the_exact_one(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    count = 60
    runtime_s = rng.uniform(20.0, 100.0, count)
    columns = {
        "plain": {},
        "power_w": {"power_w": rng.uniform(100.0, 400.0, count)},
        "comm_s": {"comm_s": runtime_s * rng.uniform(0.0, 0.5, count)},
        "walltime_s": {"walltime_s": runtime_s * rng.uniform(0.9, 1.3, count)},
    }[column]
    cells = rng.normal(1.0, 0.1, (1, 12)).clip(0.6)
    powers = {"power_ratio": cells} if column == "power_w" else {"power_w": 300.0 * cells}
    table = hs.VariationTable(["a"], time_ratio=rng.uniform(0.9, 1.2, (1, 12)), **powers)
    platform = hs.Platform.homogeneous(nodes=12, idle_w=10.0, tdp_w=500.0, actual=table)
    workload = jobs(
        runtime_s.tolist(),
        node_count=rng.integers(1, 5, count),
        submit_s=np.sort(rng.uniform(0, 500, count)),
        **columns,
    )
    exact = summary(workload, platform)
    for name, few in (("_MOST_ROWS", 0), ("_MOST_OF_APP", 0), ("_MOST_AT_ONCE", 0), ("_MOST_LEVELS", 16)):
        monkeypatch.setattr(f"hetsched.bound.kinds.{name}", few)
    coarse = summary(workload, platform)
    assert coarse[BOUND] <= exact[BOUND]
    assert coarse[BOUND] >= exact[BOUND] * (1 - (1e-5 if column == "plain" else 5e-3))
