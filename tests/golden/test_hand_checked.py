"""Schedules small enough to check on paper; each comment does so. Times in seconds, watts whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")

IDLE_W, BUSY_W = 100.0, 300.0


def run(jobs: list[dict[str, Any]], nodes: int | hs.Platform, policy: Any = "fcfs", **options: Any) -> hs.Result:
    """Simulates jobs given as rows; a walltime that a row lacks is null, a node count is 1."""
    columns = dict.fromkeys(("submit_s", "runtime_s", "walltime_s", "power_w"), pl.Float64)
    rows = [{"job_id": number, "node_count": 1, **job} for number, job in enumerate(jobs, start=1)]
    present = {key for row in rows for key in row}
    frame = pl.DataFrame(
        {key: [row.get(key) for row in rows] for key in sorted(present)},
        schema_overrides={key: dtype for key, dtype in columns.items() if key in present},
    )
    if isinstance(nodes, int):
        nodes = hs.Platform.homogeneous(nodes=nodes, idle_w=IDLE_W, tdp_w=BUSY_W)
    return hs.simulate(hs.Workload.from_polars(frame), nodes, policy=policy, **options)


def column(result: hs.Result, name: str) -> list[Any]:
    return result.jobs[name].to_list()


def test_extra_nodes_count_everything_released_at_exactly_the_shadow_time() -> None:
    # 4 nodes. From 0 to 10 job 1 holds two of them and job 2 one, so one is free.
    # Job 3 (three nodes) comes at 1 and is blocked. Job 1's two nodes and the free one make three: its shadow time is
    # 10.
    # At exactly 10 job 2's node comes back too: four are free then, three are needed, one is extra.
    # Job 4 asks for one node and far more time than until 10: it fits the extra node and starts at once.
    # A scheduler that stops counting once the head has its three nodes sees no extra node and keeps job 4 waiting.
    result = run(
        [
            {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "node_count": 2},
            {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "node_count": 1},
            {"submit_s": 1, "runtime_s": 5, "walltime_s": 5, "node_count": 3},
            {"submit_s": 2, "runtime_s": 100, "walltime_s": 100, "node_count": 1},
        ],
        4,
        "easy",
    )
    assert column(result, "start_s") == [0.0, 0.0, 10.0, 2.0]
    assert column(result, "started_by") == ["immediate", "immediate", "reservation", "backfill"]


def test_extra_nodes_shrink_with_each_job_that_outlasts_the_shadow_time() -> None:
    # 5 nodes: job 1 holds three until 10, two are free. Job 2 (four nodes) has the shadow time 10 and one extra node.
    # Job 3 (one node, 50 s) takes that extra node. Job 4 (one node, 50 s) fits the free node but no extra node is left.
    # Job 5 (one node, 7 s) comes at 3 and ends at 10, no later than the shadow time: it starts.
    # At 10 job 2 takes four nodes. Job 4 starts when job 2 has run its 5 s.
    result = run(
        [
            {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "node_count": 3},
            {"submit_s": 1, "runtime_s": 5, "walltime_s": 5, "node_count": 4},
            {"submit_s": 2, "runtime_s": 50, "walltime_s": 50},
            {"submit_s": 2, "runtime_s": 50, "walltime_s": 50},
            {"submit_s": 3, "runtime_s": 7, "walltime_s": 7},
        ],
        5,
        "easy",
    )
    assert column(result, "start_s") == [0.0, 10.0, 2.0, 15.0, 3.0]


CROWD = [
    {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "node_count": 2},
    {"submit_s": 1, "runtime_s": 10, "walltime_s": 10, "node_count": 2},
    {"submit_s": 2, "runtime_s": 5, "walltime_s": 5, "node_count": 3},
    {"submit_s": 3, "runtime_s": 30, "walltime_s": 30, "node_count": 1},
]


@pytest.mark.parametrize(
    ("policy", "starts"),
    [
        # 3 nodes; job 1 holds two until 10, one is free. Job 2 (two nodes) runs from 10 to 20 in every case.
        # FCFS: job 3 needs all three, so it starts at 20; job 4 after it, at 25.
        ("fcfs", [0.0, 10.0, 20.0, 25.0]),
        # EASY protects job 2 alone: of three nodes at 10 one is extra, so job 4 takes it at 3 and keeps it until 33.
        # Job 3 is promised nothing and waits for all three nodes until 33.
        ("easy", [0.0, 10.0, 33.0, 3.0]),
        # Conservative also promises job 3 [20, 25) on all three nodes. Job 4 would still hold one of them: it has to
        # come after, at 25.
        ("conservative", [0.0, 10.0, 20.0, 25.0]),
        # Two reservations are enough to protect jobs 2 and 3.
        (hs.Policy(order="fcfs", backfill={"name": "reservations", "depth": 2}, placement="lowest-id"),
         [0.0, 10.0, 20.0, 25.0]),
        # Greedy first fit protects nobody: at 3 job 4 fits, as with EASY. At 10 job 2 fits next to it.
        (hs.Policy(order="fcfs", backfill="first-fit", placement="lowest-id"), [0.0, 10.0, 33.0, 3.0]),
    ],
    ids=["fcfs", "easy", "conservative", "two-reservations", "first-fit"],
)  # fmt: skip
def test_who_is_protected_by_how_many_reservations(policy: Any, starts: list[float]) -> None:
    assert column(run(CROWD, 3, policy), "start_s") == starts


def test_a_walltime_kills() -> None:
    # One node. Job 1 needs 100 s but asked for 60: killed at 60. Job 2 asked for exactly what it needs: it completes,
    # at 90. Job 3 asked for nothing and is never killed: 90 to 290.
    jobs = [
        {"submit_s": 0, "runtime_s": 100, "walltime_s": 60},
        {"submit_s": 0, "runtime_s": 30, "walltime_s": 30},
        {"submit_s": 0, "runtime_s": 200},
    ]
    result = run(jobs, 1)
    assert column(result, "end_s") == [60.0, 90.0, 290.0]
    assert column(result, "state") == ["timeout", "completed", "completed"]
    assert column(result, "runtime_s") == [60.0, 30.0, 200.0]
    assert column(result, "nominal_runtime_s") == [100.0, 30.0, 200.0]
    # 60 s, 30 s and 200 s at 300 W.
    assert column(result, "energy_j") == [18_000.0, 9_000.0, 60_000.0]

    spared = run(jobs, 1, kill_at_walltime=False)
    assert column(spared, "end_s") == [100.0, 130.0, 330.0]
    assert column(spared, "state") == ["completed"] * 3


def unlike(*time_ratio: float) -> hs.Platform:
    """Nodes of these time factors that all draw 300 W under every application."""
    count = len(time_ratio)
    table = hs.VariationTable(["*"], power_w=np.full((1, count), BUSY_W), time_ratio=np.array([time_ratio]))
    return hs.Platform.homogeneous(nodes=count, idle_w=IDLE_W, tdp_w=BUSY_W).with_tables(actual=table)


def test_a_walltime_that_stretches_kills_who_would_have_been_killed_at_nominal_speed() -> None:
    # Node 0 takes 1.5 times as long as nominal, node 1 half as long; all jobs at 0, none has to wait but for a node.
    # Job 1 (node 0) needs exactly its walltime of 10 s: 15 s there, and 15 s is what it may have. Job 2 (node 1, from
    # 0) needs 20 s and asks for 10: 10 s there, but it may have 5. Job 3 (node 1, from 5) is like job 1: 5 s of 5.
    # Job 4 (node 1, from 10) is like job 2: killed at 15. Job 5 (node 0, from 15) again: 30 s, killed after 15, at 30.
    jobs = [{"submit_s": 0, "runtime_s": runtime, "walltime_s": 10, "app": "a"} for runtime in (10, 20, 10, 20, 20)]
    result = run(jobs, unlike(1.5, 0.5), walltimes="stretch")
    assert column(result, "nodes") == [[0], [1], [1], [1], [0]]
    assert column(result, "end_s") == [15.0, 5.0, 10.0, 15.0, 30.0]
    assert column(result, "state") == ["completed", "timeout", "completed", "timeout", "timeout"]
    # Each of the killed has done half of its 20 nominal seconds, whatever its node.
    assert result.summary()["work_lost_node_s"] == 3 * 10
    # Fixed walltimes kill job 1 at 10 and let job 2, on its fast node, have all it needs, to its walltime.
    fixed = run(jobs, unlike(1.5, 0.5))
    assert (column(fixed, "end_s")[:2], column(fixed, "state")[:2]) == ([10.0, 10.0], ["timeout", "completed"])


def test_stretched_walltimes_are_planned_for_the_slowest_node_until_the_start() -> None:
    # Node 0 is nominal, node 1 takes twice as long. Job 1 holds node 0 and is planned to end at 10, as it asks for 10 s
    # and its node is nominal. Job 2 (both nodes) comes at 1 and is blocked: its shadow time is 10.
    # Job 3 asks for 5 s at 2: up to 10 s somewhere on the machine, until 12, so it must not start. Job 4 asks for 4 s,
    # 8 at most: it starts at 2 on node 1 and ends at 10. Then job 2 needs 2 x 5 s, and job 3 follows at 20, on node 0.
    jobs = [
        {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "app": "a"},
        {"submit_s": 1, "runtime_s": 5, "walltime_s": 5, "node_count": 2, "app": "a"},
        {"submit_s": 2, "runtime_s": 5, "walltime_s": 5, "app": "a"},
        {"submit_s": 2, "runtime_s": 4, "walltime_s": 4, "app": "a"},
    ]
    result = run(jobs, unlike(1.0, 2.0), "easy", walltimes="stretch")
    assert column(result, "start_s") == [0.0, 10.0, 20.0, 2.0]
    assert column(result, "end_s") == [10.0, 20.0, 25.0, 10.0]
    # Fixed: job 3 is planned to end at 7, starts at 2 on node 1, and is killed at 7 with half of its work done; job 4
    # would end at 11 and waits. Job 2 is killed after 5 of 10 s, at 15.
    fixed = run(jobs, unlike(1.0, 2.0), "easy")
    assert column(fixed, "start_s") == [0.0, 10.0, 2.0, 15.0]
    assert column(fixed, "state") == ["completed", "timeout", "timeout", "completed"]


@pytest.mark.parametrize(
    ("policy", "walltimes", "starts"),
    [
        # One node, free at 10. Job 2 asks for 30 s, job 3 for 20, and its application takes twice as long: up to 40 s.
        # Fixed, job 3 is the shortest and is killed at 30. Stretched, job 2 is, and ends at 40.
        ("sjf", "fixed", [0.0, 30.0, 10.0]),
        ("sjf", "stretch", [0.0, 10.0, 40.0]),
        # Most energy first; all draw 300 W. Fixed, that is job 2, for 30 s. Stretched it is job 3, for 40.
        ("vahrm:length=walltime:beta=1", "fixed", [0.0, 10.0, 40.0]),
        ("vahrm:length=walltime:beta=1", "stretch", [0.0, 50.0, 10.0]),
    ],
)
def test_orders_by_length_go_by_the_stretched_one(policy: str, walltimes: str, starts: list[float]) -> None:
    table = hs.VariationTable(["a", "b"], power_w=np.full((2, 1), BUSY_W), time_ratio=np.array([[1.0], [2.0]]))
    platform = hs.Platform.homogeneous(nodes=1, idle_w=IDLE_W, tdp_w=BUSY_W).with_tables(actual=table)
    jobs = [
        {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "app": "a"},
        {"submit_s": 1, "runtime_s": 30, "walltime_s": 30, "app": "a"},
        {"submit_s": 1, "runtime_s": 20, "walltime_s": 20, "app": "b"},
    ]
    assert column(run(jobs, platform, policy, walltimes=walltimes), "start_s") == starts


def test_decisions_stretch_by_the_predicted_table_and_kills_by_the_actual_one() -> None:
    # The same two nodes and first three jobs as above, but node 1 is predicted to be nominal: job 3 is planned for 5 s,
    # starts at 2, and is not killed before 2 + 2 x 5 s. It is overdue from 7 on; job 2 starts when it has ended, at 12.
    jobs = [
        {"submit_s": 0, "runtime_s": 10, "walltime_s": 10, "app": "a"},
        {"submit_s": 1, "runtime_s": 5, "walltime_s": 5, "node_count": 2, "app": "a"},
        {"submit_s": 2, "runtime_s": 5, "walltime_s": 5, "app": "a"},
    ]
    actual, predicted = unlike(1.0, 2.0), unlike(1.0, 1.0)
    platform = actual.with_tables(actual=actual.actual, predicted=predicted.actual)
    result = run(jobs, platform, "easy", walltimes="stretch")
    assert column(result, "start_s") == [0.0, 12.0, 2.0]
    assert column(result, "state") == ["completed"] * 3


def test_a_grace_lets_jobs_run_past_their_walltime_and_plans_go_by_the_walltime() -> None:
    # One node. Job 1 needs 100 s, asked for 60 and has a grace of 20: killed at 80. Job 2 needs its walltime and all of
    # its grace: it completes, at 110. Job 3 brings no walltime.
    jobs = [
        {"submit_s": 0, "runtime_s": 100, "walltime_s": 60},
        {"submit_s": 0, "runtime_s": 30, "walltime_s": 10},
        {"submit_s": 0, "runtime_s": 200},
    ]
    result = run(jobs, 1, kill_grace_s=20)
    assert column(result, "end_s") == [80.0, 110.0, 310.0]
    assert column(result, "state") == ["timeout", "completed", "completed"]
    # As where nobody is killed, below: job 1 is overdue from 10 on, so at 20 the shadow time of job 2 is now.
    overdue = [
        {"submit_s": 0, "runtime_s": 50, "walltime_s": 10},
        {"submit_s": 20, "runtime_s": 10, "walltime_s": 10, "node_count": 2},
        {"submit_s": 20, "runtime_s": 5, "walltime_s": 5},
    ]
    result = run(overdue, 2, "easy", kill_grace_s=30)
    assert column(result, "start_s") == [0.0, 40.0, 50.0]
    assert column(result, "state") == ["timeout", "completed", "completed"]
    # A grace is the same on slow nodes: 1.5 x 10 s and 4.
    slow = run(
        [{"submit_s": 0, "runtime_s": 50, "walltime_s": 10, "app": "a"}],
        unlike(1.5),
        kill_grace_s=4,
        walltimes="stretch",
    )
    assert column(slow, "end_s") == [19.0]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "sjf"])
@pytest.mark.parametrize("time_ratio", [1.2, 0.75])
def test_slow_nodes_and_long_runtimes_are_one_machine(policy: str, time_ratio: float) -> None:
    # Jobs without walltimes, in two ways: nominal runtimes on nodes that all take so many times as long, and runtimes
    # so many times as long on nominal nodes. Wherever a plan knows only the nominal runtime, they differ.
    rng = np.random.default_rng(1)
    count, nodes = 400, 16
    size, runtime = 2 ** rng.integers(0, 4, count), np.round(np.exp(rng.normal(7, 1.2, count))) + 1
    submit = np.cumsum(rng.exponential((size * runtime).mean() / nodes, count)).round()

    def starts(runtime_s: Any, time_ratio: float, **options: Any) -> list[Any]:
        jobs = {"submit_s": submit, "runtime_s": runtime_s, "node_count": size}
        rows = pl.DataFrame(jobs).with_columns(app=pl.lit("a")).to_dicts()
        return column(run(rows, unlike(*[time_ratio] * nodes), policy, **options), "start_s")

    slow = starts(runtime, time_ratio, walltimes="stretch")
    assert slow == starts(runtime * time_ratio, 1.0)
    if policy in ("easy", "conservative"):
        assert slow != starts(runtime, time_ratio)


def test_an_overdue_job_counts_as_ending_now() -> None:
    # Two nodes, nobody is killed. Job 1 promised to end at 10 and runs until 40 on one node; the other is free.
    # At 20 jobs 2 (two nodes) and 3 (one node, 5 s) come. Job 1 is overdue, so the shadow time of job 2 is now, 20,
    # with no extra node. Job 3 would end at 25, after the shadow time: it may not start, though a node stands idle.
    # At 40 job 2 starts, and job 3 when it has ended, at 50.
    result = run(
        [
            {"submit_s": 0, "runtime_s": 40, "walltime_s": 10},
            {"submit_s": 20, "runtime_s": 10, "walltime_s": 10, "node_count": 2},
            {"submit_s": 20, "runtime_s": 5, "walltime_s": 5},
        ],
        2,
        "easy",
        kill_at_walltime=False,
    )
    assert column(result, "start_s") == [0.0, 40.0, 50.0]


def test_a_job_of_length_zero_makes_another_round_of_its_instant() -> None:
    # One node, two jobs at 7. Round one: job 1, of length zero, starts; job 2 finds the node taken. Job 1 ends at 7, so
    # there is a second round at 7: job 2 starts. It was submitted in round one and had to wait for round two, so it did
    # not start immediately, although its wait is 0 s.
    result = run([{"submit_s": 7, "runtime_s": 0}, {"submit_s": 7, "runtime_s": 3}], 1)
    assert column(result, "start_s") == [7.0, 7.0]
    assert column(result, "end_s") == [7.0, 10.0]
    assert column(result, "started_by") == ["immediate", "reservation"]
    assert column(result, "energy_j") == [0.0, 900.0]
    assert column(result, "mean_power_w") == [None, 300.0]
    # The timeline shows the state after the last pass of an instant: one row for 7, with job 2 running.
    assert result.timeline["time_s"].to_list() == [7.0, 10.0]
    assert result.timeline["running_jobs"].to_list() == [1, 0]


def test_a_job_of_length_zero_at_the_head_is_not_delayed_either() -> None:
    # Two nodes, one of them taken until 10. Job 2 wants both, for no time at all; its shadow time is 10 with no extra
    # node. Job 3 (one node, 20 s) would delay it: it waits. So it is with one reservation and with two.
    jobs = [
        {"submit_s": 0, "runtime_s": 10, "walltime_s": 10},
        {"submit_s": 1, "runtime_s": 0, "node_count": 2},
        {"submit_s": 2, "runtime_s": 20, "walltime_s": 20},
    ]
    for depth in (1, 2):
        policy = hs.Policy(order="fcfs", backfill={"name": "reservations", "depth": depth}, placement="lowest-id")
        assert column(run(jobs, 2, policy), "start_s") == [0.0, 10.0, 10.0]


def test_lowest_power_takes_the_nodes_that_draw_least_for_the_application() -> None:
    # Three nodes. For `heat` they draw 300, 100, 200 W: job 1 takes the two cheapest, nodes 1 and 2.
    # Job 2 finds node 0 alone. When both have ended, at 10, all three are free again.
    # For `flow` they draw 100, 300, 100 W: job 3 takes node 0, equal to node 2 but lower.
    table = hs.VariationTable(
        apps=["heat", "flow"], power_w=np.array([[300.0, 100.0, 200.0], [100.0, 300.0, 100.0]])
    )  # fmt: skip
    platform = hs.Platform.homogeneous(nodes=3, idle_w=50.0, tdp_w=400.0).with_tables(actual=table)
    result = run(
        [
            {"submit_s": 0, "runtime_s": 10, "node_count": 2, "app": "heat"},
            {"submit_s": 0, "runtime_s": 10, "app": "heat"},
            {"submit_s": 10, "runtime_s": 10, "app": "flow"},
        ],
        platform,
        hs.Policy(order="fcfs", backfill="none", placement="lowest-power"),
    )
    assert column(result, "nodes") == [[1, 2], [0], [0]]
    # 10 s at 100 + 200 W; 10 s at 300 W; 10 s at 100 W.
    assert column(result, "energy_j") == [3_000.0, 3_000.0, 1_000.0]
    # Nodes 1 and 2 idle from 10 to 20 at 50 W.
    assert result.summary()["idle_energy_j"] == 1_000.0


def test_decisions_read_the_predicted_table_and_charges_the_actual_one() -> None:
    # Predicted, node 1 is the cheaper; actually it draws 500 W. The job goes there and is charged 10 s x 500 W.
    actual = hs.VariationTable(apps=["heat"], power_w=np.array([[200.0, 500.0]]))
    predicted = hs.VariationTable(apps=["heat"], power_w=np.array([[250.0, 150.0]]))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=50.0, tdp_w=400.0).with_tables(
        actual=actual, predicted=predicted
    )
    policy = hs.Policy(order="fcfs", backfill="none", placement="lowest-power")
    result = run([{"submit_s": 0, "runtime_s": 10, "app": "heat"}], platform, policy)
    assert column(result, "nodes") == [[1]]
    assert column(result, "energy_j") == [5_000.0]


def test_a_job_runs_at_the_pace_of_its_slowest_node() -> None:
    # Factors 1, 1.5 and 1.25: on nodes 0, 1 a nominal 10 s takes 15 s; on node 2 alone, 12.5 s.
    # Job 3 gets 14 s and would need 15 s on node 1: killed at its own limit, which is not stretched.
    table = hs.VariationTable(
        apps=["*"], power_w=np.full((1, 3), 200.0), time_ratio=np.array([[1.0, 1.5, 1.25]])
    )  # fmt: skip
    platform = hs.Platform.homogeneous(nodes=3, idle_w=50.0, tdp_w=400.0).with_tables(actual=table)
    result = run(
        [
            {"submit_s": 0, "runtime_s": 10, "node_count": 2, "app": "any"},
            {"submit_s": 0, "runtime_s": 10, "app": "any"},
            {"submit_s": 20, "runtime_s": 10, "walltime_s": 14, "node_count": 2, "app": "any"},
            {"submit_s": 40, "runtime_s": 1e-6, "node_count": 2, "app": "any"},
        ],
        platform,
    )
    # The last one: 1 us x 1.5 is rounded up to 2 us.
    assert column(result, "end_s") == [15.0, 12.5, 34.0, 40.000002]
    assert column(result, "state") == ["completed", "completed", "timeout", "completed"]


def test_communication_comes_on_top_of_the_slowest_node() -> None:
    # Nodes with factors 1 and 1.25: job 1's 10 s take 12.5 s, and its 3 s of communication are stretched by neither.
    table = hs.VariationTable(["*"], power_w=np.full((1, 3), 250.0), time_ratio=np.array([[1.0, 1.25, 1.0]]))
    platform = hs.Platform.homogeneous(nodes=3, idle_w=IDLE_W, tdp_w=BUSY_W).with_tables(actual=table)
    jobs = [
        {"submit_s": 0, "runtime_s": 10, "comm_s": 3.0, "node_count": 2, "walltime_s": 15, "app": "a"},
        {"submit_s": 0, "runtime_s": 10, "comm_s": None, "node_count": 3, "app": "a"},
        {"submit_s": 0, "runtime_s": 10, "comm_s": 4.0, "node_count": 1, "app": "a"},
        {"submit_s": 0, "runtime_s": 10, "comm_s": 6.0, "node_count": 1, "app": "a"},
    ]
    result = run(jobs, platform, "easy", kill_at_walltime=False)
    # Job 1 runs 12.5 + 3 s. Job 2 is blocked, its shadow time is job 1's walltime, 15. Of the two that fit next to job
    # 1, job 3 is planned to end at 14 and starts; job 4, planned for 16 s, would end later than 15 and waits.
    assert column(result, "start_s") == [0.0, 15.5, 0.0, 28.0]
    assert column(result, "end_s") == [15.5, 28.0, 14.0, 44.0]


def test_the_energy_of_two_jobs_by_hand() -> None:
    # Two nodes, idle 100 W. Job 1 runs 0-10 on node 0 at 300 W; job 2 runs 5-15 on node 1 and was measured at 250 W.
    #   from   to   node 0   node 1   system
    #      0    5      300      100      400
    #      5   10      300      250      550
    #     10   15      100      250      350
    # Jobs 3,000 + 2,500 J; idle 5 x 100 (node 1) + 5 x 100 (node 0) = 1,000 J; together 6,500 J.
    result = run([{"submit_s": 0, "runtime_s": 10}, {"submit_s": 5, "runtime_s": 10, "power_w": 250.0}], 2)
    assert result.timeline.select("time_s", "power_w").rows() == [
        (0.0, 400.0),
        (5.0, 550.0),
        (10.0, 350.0),
        (15.0, 200.0),
    ]
    assert result.timeline["busy_nodes"].to_list() == [1, 2, 1, 0]
    assert column(result, "energy_j") == [3_000.0, 2_500.0]
    assert column(result, "mean_power_w") == [300.0, 250.0]
    assert result.nodes["energy_j"].to_list() == [3_500.0, 3_000.0]
    assert result.nodes["busy_s"].to_list() == [10.0, 10.0]
    assert result.nodes["idle_s"].to_list() == [5.0, 5.0]
    summary = result.summary()
    assert summary["energy_j"] == 6_500.0
    assert (summary["job_energy_j"], summary["idle_energy_j"]) == (5_500.0, 1_000.0)
    assert (summary["makespan_s"], summary["peak_power_w"]) == (15.0, 550.0)
    # 20 busy node-seconds of 2 x 15; two jobs in 15 s are 480 an hour.
    assert summary["utilization_ratio"] == pytest.approx(20 / 30, rel=1e-15)
    assert summary["throughput_jobs_per_hour"] == pytest.approx(480.0, rel=1e-15)
    assert summary["mean_power_w"] == pytest.approx(6_500 / 15, rel=1e-15)
    assert summary["energy_delay_product_js"] == pytest.approx(6_500 * 15, rel=1e-15)


def test_shared_nodes_are_filled_slot_by_slot() -> None:
    # Two nodes of four slots, shared.
    #   job 1: 3 slots            -> node 0 (one left)
    #   job 2: 2 slots            -> node 0 has one: node 1 (two left)
    #   job 3: 1 slot             -> node 0, the lowest with one (none left)
    #   job 4: 2 nodes x 1 slot   -> node 0 is full until 10: waits, and job 5 behind it
    # At 10 job 1 returns three slots of node 0: job 4 takes one on each node, job 5 (2 slots) two of node 0.
    platform = hs.Platform.homogeneous(nodes=2, idle_w=IDLE_W, tdp_w=BUSY_W, slots=4, exclusive=False)
    result = run(
        [
            {"submit_s": 0, "runtime_s": 10, "slots": 3},
            {"submit_s": 0, "runtime_s": 40, "slots": 2},
            {"submit_s": 0, "runtime_s": 40, "slots": 1},
            {"submit_s": 0, "runtime_s": 10, "slots": 1, "node_count": 2},
            {"submit_s": 0, "runtime_s": 10, "slots": 2},
        ],
        platform,
    )
    assert column(result, "start_s") == [0.0, 0.0, 0.0, 10.0, 10.0]
    assert column(result, "nodes") == [[0], [1], [0], [0, 1], [0]]
    # Both nodes serve somebody from 0 to 40.
    assert result.nodes["busy_s"].to_list() == [40.0, 40.0]


def test_a_job_larger_than_the_machine_is_rejected_and_delays_no_job() -> None:
    result = run([{"submit_s": 0, "runtime_s": 10, "node_count": 3}, {"submit_s": 5, "runtime_s": 10}], 2)
    assert column(result, "state") == ["rejected", "completed"]
    assert column(result, "start_s") == [None, 5.0]
    assert result.jobs["reason"][0]
    # Its submit counts: the window is [0, 15], both nodes idle until 5 and node 1 to the end.
    summary = result.summary()
    assert (summary["rejected"], summary["completed"], summary["makespan_s"]) == (1, 1, 15.0)
    assert summary["energy_j"] == 10 * BUSY_W + (2 * 15 - 10) * IDLE_W


def test_the_submit_of_a_job_that_is_rejected_is_an_event_like_any_other() -> None:
    # Three nodes, nobody is killed. Jobs 1 and 2 promise to end at 10 and 12 and run until 40; one node is free.
    # Job 3 (two nodes) comes at 1: its shadow time is 10, with job 1's node and no extra one.
    # Job 4 (one node, 30 s) comes at 9: it would end at 39, so it may not start. Walltimes run out at 10 and 12, but
    # nothing happens then, so there is no pass.
    # At 15 a job of nine nodes comes. It is rejected; but something happened, so there is a pass: jobs 1 and 2 are both
    # overdue, the shadow time of job 3 is now, and of the three nodes in the plan one is extra then. Job 4 starts.
    result = run(
        [
            {"submit_s": 0, "runtime_s": 40, "walltime_s": 10},
            {"submit_s": 0, "runtime_s": 40, "walltime_s": 12},
            {"submit_s": 1, "runtime_s": 5, "walltime_s": 5, "node_count": 2},
            {"submit_s": 9, "runtime_s": 30, "walltime_s": 30},
            {"submit_s": 15, "runtime_s": 1, "walltime_s": 1, "node_count": 9},
        ],
        3,
        "easy",
        kill_at_walltime=False,
    )
    assert column(result, "start_s") == [0.0, 0.0, 40.0, 15.0, None]
