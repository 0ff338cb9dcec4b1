"""Comparisons with a baseline, worked out by hand."""

import math

import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import compare, runs_frame

# Three runs of a policy that draws lots against one that does not.
#   lots:  mean 110, deviations -10, 0, 10: s = 10, half width 4.303 * 10 / sqrt(3) = 24.843
RUNS = pl.DataFrame(
    {
        "policy": ["fcfs", "lots", "lots", "lots"],
        "seed": [0, 0, 1, 2],
        "mean_wait_s": [200.0, 100.0, 110.0, 120.0],
        "energy_j": [0.0, 1.0, 1.0, 1.0],
    }
)
HALF_WIDTH = 4.303 * 10 / math.sqrt(3)


def test_ratio_and_interval_of_runs_under_several_seeds():
    table = compare(RUNS, baseline="fcfs", metrics=["mean_wait_s"])
    assert table.columns == ["policy", "metric", "runs", "mean", "half_width_95", "ratio", "ratio_half_width_95"]
    assert table.row(0) == ("fcfs", "mean_wait_s", 1, 200.0, None, 1.0, None)
    lots = table.row(1, named=True)
    assert (lots["policy"], lots["runs"], lots["mean"], lots["ratio"]) == ("lots", 3, 110.0, 0.55)
    assert lots["half_width_95"] == pytest.approx(HALF_WIDTH)
    assert lots["ratio_half_width_95"] == pytest.approx(HALF_WIDTH / 200.0)


def test_an_uncertain_baseline_makes_every_ratio_uncertain_but_its_own():
    table = compare(RUNS, baseline="lots", metrics=["mean_wait_s"])
    fcfs, lots = table.rows(named=True)
    assert fcfs["ratio"] == pytest.approx(200 / 110)
    assert fcfs["ratio_half_width_95"] == pytest.approx(200 / 110 * HALF_WIDTH / 110)
    assert (lots["ratio"], lots["ratio_half_width_95"]) == (1.0, None)


def test_errors_of_both_means_add_as_squares():
    runs = pl.concat([RUNS, RUNS.filter(pl.col("policy") == "lots").with_columns(policy=pl.lit("more"))])
    more = compare(runs, baseline="lots", metrics=["mean_wait_s"]).row(2, named=True)
    assert more["ratio_half_width_95"] == pytest.approx(math.sqrt(2) * HALF_WIDTH / 110)


def test_a_baseline_of_zero_gives_no_ratio():
    table = compare(RUNS, baseline="fcfs", metrics=["energy_j"])
    assert table["ratio"].to_list() == [None, None]


def test_a_metric_that_is_unknown_for_a_run_gives_no_number():
    runs = pl.DataFrame({"policy": ["a", "b"], "offered_load_ratio": [None, 0.5]})
    table = compare(runs, baseline="a", metrics=["offered_load_ratio"])
    assert table["mean"].to_list() == [None, 0.5]
    assert table["ratio"].to_list() == [None, None]


def test_policies_and_metrics_keep_their_order_and_the_frame_is_not_changed():
    before = RUNS.clone()
    table = compare(RUNS.reverse(), baseline="fcfs", metrics=["mean_wait_s", "energy_j"])
    assert table["policy"].to_list() == ["lots", "lots", "fcfs", "fcfs"]
    assert table["metric"].to_list() == ["mean_wait_s", "energy_j"] * 2
    assert RUNS.equals(before)


@pytest.mark.parametrize(
    ("runs", "baseline", "metrics", "message"),
    [
        (RUNS, "fcsf", ["energy_j"], "baseline: found `fcsf`, expected one of fcfs, lots; did you mean `fcfs`?"),
        (
            RUNS,
            "fcfs",
            ["jobs"],
            "metrics: found `jobs`, expected one of the columns policy, seed, mean_wait_s, energy_j",
        ),
        (RUNS.head(0), "fcfs", ["energy_j"], "results: found none, expected at least one run"),
        (pl.DataFrame({"energy_j": [1.0]}), "fcfs", ["energy_j"], "results: found none, expected at least one run"),
    ],
)
def test_what_cannot_be_compared_is_said(runs, baseline, metrics, message):
    with pytest.raises(hs.ConfigError) as caught:
        compare(runs, baseline=baseline, metrics=metrics)
    assert str(caught.value) == message


def test_results_become_a_frame_with_a_row_a_run():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 90], "runtime_s": [60, 30], "node_count": [2, 1]})
    workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    results = [hs.simulate(workload, platform, "random", seed=seed) for seed in (3, 4)]
    frame = runs_frame(results)
    assert frame.columns == ["policy", "seed", *results[0].summary()]
    assert frame.select("policy", "seed").rows() == [("random", 3), ("random", 4)]
    # 60 s on two nodes at 300 W, 30 s of both idle at 100 W, 30 s on one at 300 W beside an idle one.
    assert compare(results, baseline="random", metrics=["energy_j"])["mean"].item() == pytest.approx(
        36_000 + 6_000 + 12_000
    )


# Different work: two jobs of 100 s ask for 100 s, on fast nodes that draw 400 W or on slow ones that draw 300 W. Killed
# on the slow ones half done they take 60 kJ for 100 node-seconds, against 80 kJ for 200.
UNLIKE = hs.Platform.homogeneous(nodes=4, idle_w=0.0, tdp_w=400.0).with_tables(
    actual=hs.VariationTable(["*"], power_w=[[400.0] * 2 + [300.0] * 2], time_ratio=[[1.0] * 2 + [2.0] * 2])
)


def unlike_runs(**options):
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [100, 100], "walltime_s": [100, 100]}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, "node_count": [1, 1], "app": ["a", "a"]}))
    policies = ("fcfs", "fcfs:placement=lowest-power")
    return runs_frame(hs.simulate(workload, UNLIKE, policy, **options) for policy in policies)


def test_different_work_is_warned_of_and_energy_per_work_stands_beside_energy():
    with pytest.warns(hs.WorkWarning) as said:
        table = compare(unlike_runs(), baseline="fcfs", metrics=["mean_wait_s", "energy_j"])
    (warning,) = [one for one in said if "different work" in str(one.message)]
    assert str(warning.message) == (
        "the runs did different work: fcfs:placement=lowest-power did 50 % less than fcfs (jobs killed before their "
        "work was done: 2). Energy is lower by as much work as was not done: compare energy per work; where nodes are "
        'slower than nominal, walltimes="stretch" gives jobs the time they need.'
    )
    assert warning.filename == __file__
    assert table.select("metric", "ratio").rows() == [
        *(("mean_wait_s", None), ("energy_j", 1.0), ("energy_per_work_j_per_node_s", 1.0)),
        *(("mean_wait_s", None), ("energy_j", 0.75), ("energy_per_work_j_per_node_s", 1.5)),
    ]


def test_work_that_a_budget_rejects_is_no_fault_of_walltimes():
    # Two nodes that add 100 W each; 300 W let one of them work. The job of two nodes is rejected.
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [100, 50], "node_count": [2, 1]})
    workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(2, 100, 200)
    budget = hs.Policy(power={"name": "system-budget", "budget_w": 300.0}, name="budget")
    with pytest.warns(hs.WorkWarning) as said:
        compare([hs.simulate(workload, platform, policy) for policy in ("fcfs", budget)], baseline="fcfs")
    assert str(said[0].message) == (
        "the runs did different work: budget did 80 % less than fcfs (jobs rejected: 1). Energy is lower by as much "
        "work as was not done: compare energy per work."
    )


def test_other_metrics_are_compared_as_they_are():
    with pytest.warns(hs.WorkWarning, match="different work"):
        table = compare(unlike_runs(), baseline="fcfs", metrics=["mean_wait_s"])
    assert table["metric"].to_list() == ["mean_wait_s"] * 2
    with pytest.warns(hs.WorkWarning, match="different work"):
        table = compare(unlike_runs(), baseline="fcfs", metrics=["energy_per_work_j_per_node_s", "energy_j"])
    assert table["metric"].to_list()[:2] == ["energy_per_work_j_per_node_s", "energy_j"]


def test_of_equal_work_nothing_is_said():
    for options in ({"walltimes": "stretch"}, {"kill_at_walltime": False}, {"kill_grace_s": 100}):
        table = compare(unlike_runs(**options), baseline="fcfs", metrics=["energy_j"])
        assert table.select("metric", "ratio").rows() == [("energy_j", 1.0), ("energy_j", 1.5)]


def test_runs_that_were_stopped_at_different_work_are_told_without_a_kill():
    runs = unlike_runs(until_s=150.0, kill_at_walltime=False)
    with pytest.warns(hs.WorkWarning) as said:
        compare(runs, baseline="fcfs")
    assert str(said[0].message) == (
        "the runs did different work: fcfs:placement=lowest-power did 100 % less than fcfs. "
        "Energy is lower by as much work as was not done: compare energy per work."
    )
