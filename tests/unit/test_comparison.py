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
