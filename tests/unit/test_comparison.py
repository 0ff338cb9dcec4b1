"""Comparisons with a baseline, worked out by hand."""

import math
from html import escape

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import measured, ratios_to_baseline, runs_frame
from hetsched.cli import main
from hetsched.many.longer_waits import LongerWaits

# Three runs of a policy that draws lots against one that does not.
#   lots:  mean 110, deviations -10, 0, 10: s = 10, half width 4.302652729911275 * 10 / sqrt(3) = 24.843
RUNS = pl.DataFrame(
    {
        "policy": ["fcfs", "lots", "lots", "lots"],
        "seed": [0, 0, 1, 2],
        "mean_wait_s": [200.0, 100.0, 110.0, 120.0],
        "energy_j": [0.0, 1.0, 1.0, 1.0],
    }
)
HALF_WIDTH = 4.302652729911275 * 10 / math.sqrt(3)


def test_ratio_and_interval_of_runs_under_several_seeds():
    table = ratios_to_baseline(RUNS, baseline="fcfs", metrics=["mean_wait_s"])
    assert table.columns == ["policy", "metric", "runs", "mean", "half_width_95", "ratio", "ratio_half_width_95"]
    assert table.row(0) == ("fcfs", "mean_wait_s", 1, 200.0, None, 1.0, None)
    lots = table.row(1, named=True)
    assert (lots["policy"], lots["runs"], lots["mean"], lots["ratio"]) == ("lots", 3, 110.0, 0.55)
    assert lots["half_width_95"] == pytest.approx(HALF_WIDTH)
    assert lots["ratio_half_width_95"] == pytest.approx(HALF_WIDTH / 200.0)


def test_an_uncertain_baseline_makes_every_ratio_uncertain_but_its_own():
    table = ratios_to_baseline(RUNS, baseline="lots", metrics=["mean_wait_s"])
    fcfs, lots = table.rows(named=True)
    assert fcfs["ratio"] == pytest.approx(200 / 110)
    assert fcfs["ratio_half_width_95"] == pytest.approx(200 / 110 * HALF_WIDTH / 110)
    assert (lots["ratio"], lots["ratio_half_width_95"]) == (1.0, None)


def test_runs_under_the_same_seeds_are_held_against_each_other_seed_by_seed():
    # Differences from the ratio of the means, 1.2: 126 - 120, 130 - 132, 140 - 144, i.e. 6, -2, -4: s = sqrt(28).
    waits = {"policy": "more", "seed": [1, 0, 2], "mean_wait_s": [130.0, 126.0, 140.0], "energy_j": [1.0] * 3}
    more = ratios_to_baseline(
        pl.concat([RUNS, pl.DataFrame(waits, schema=RUNS.schema)]), baseline="lots", metrics=["mean_wait_s"]
    )
    row = more.row(2, named=True)
    assert row["ratio"] == pytest.approx(1.2)
    assert row["ratio_half_width_95"] == pytest.approx(4.302652729911275 * math.sqrt(28 / 3) / 110, rel=1e-3)


def test_errors_of_means_over_different_seeds_add_as_squares():
    others = RUNS.filter(pl.col("policy") == "lots").with_columns(policy=pl.lit("more"), seed=pl.col("seed") + 7)
    runs = pl.concat([RUNS, others])
    more = ratios_to_baseline(runs, baseline="lots", metrics=["mean_wait_s"]).row(2, named=True)
    assert more["ratio_half_width_95"] == pytest.approx(math.sqrt(2) * HALF_WIDTH / 110)


def test_a_baseline_of_zero_gives_no_ratio():
    table = ratios_to_baseline(RUNS, baseline="fcfs", metrics=["energy_j"])
    assert table["ratio"].to_list() == [None, None]


def test_a_metric_that_is_unknown_for_a_run_gives_no_number():
    runs = pl.DataFrame({"policy": ["a", "b"], "offered_load_ratio": [None, 0.5]})
    table = ratios_to_baseline(runs, baseline="a", metrics=["offered_load_ratio"])
    assert table["mean"].to_list() == [None, 0.5]
    assert table["ratio"].to_list() == [None, None]


def test_policies_and_metrics_keep_their_order_and_the_frame_is_not_changed():
    before = RUNS.clone()
    table = ratios_to_baseline(RUNS.reverse(), baseline="fcfs", metrics=["mean_wait_s", "energy_j"])
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
        ratios_to_baseline(runs, baseline=baseline, metrics=metrics)
    assert str(caught.value) == message


def test_results_become_a_frame_with_a_row_a_run():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 90], "runtime_s": [60, 30], "node_count": [2, 1]})
    workload, platform = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    results = [hs.simulate(workload, platform, "random", seed=seed) for seed in (3, 4)]
    frame = runs_frame(results)
    assert frame.columns == ["policy", "seed", *results[0].summary()]
    assert frame.select("policy", "seed").rows() == [("random", 3), ("random", 4)]
    # 60 s on two nodes at 300 W, 30 s of both idle at 100 W, 30 s on one at 300 W next to an idle one.
    assert ratios_to_baseline(results, baseline="random", metrics=["energy_j"])["mean"].item() == pytest.approx(
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


def test_different_work_is_warned_of_with_energy_per_work():
    with pytest.warns(hs.errors.WorkWarning) as said:
        table = ratios_to_baseline(unlike_runs(), baseline="fcfs", metrics=["mean_wait_s", "energy_j"])
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
    with pytest.warns(hs.errors.WorkWarning) as said:
        ratios_to_baseline([hs.simulate(workload, platform, policy) for policy in ("fcfs", budget)], baseline="fcfs")
    assert [str(one.message) for one in said] == [
        (
            "jobs that never started: 1 of 2 (would exceed the power budget on any nodes: job 1); energy is lower by "
            "their work"
        ),
        (
            "the runs did different work: budget did 80 % less than fcfs (jobs rejected: 1). Energy is lower by as "
            "much work as was not done: compare energy per work."
        ),
    ]


def test_other_metrics_are_compared_as_they_are():
    with pytest.warns(hs.errors.WorkWarning, match="different work"):
        table = ratios_to_baseline(unlike_runs(), baseline="fcfs", metrics=["mean_wait_s"])
    assert table["metric"].to_list() == ["mean_wait_s"] * 2
    with pytest.warns(hs.errors.WorkWarning, match="different work"):
        table = ratios_to_baseline(unlike_runs(), baseline="fcfs", metrics=["energy_per_work_j_per_node_s", "energy_j"])
    assert table["metric"].to_list()[:2] == ["energy_per_work_j_per_node_s", "energy_j"]


def test_of_equal_work_nothing_is_said():
    for options in ({"walltimes": "stretch"}, {"kill_at_walltime": False}, {"kill_grace_s": 100}):
        table = ratios_to_baseline(unlike_runs(**options), baseline="fcfs", metrics=["energy_j"])
        assert table.select("metric", "ratio").rows() == [("energy_j", 1.0), ("energy_j", 1.5)]


def test_stopped_runs_of_different_work_are_reported_without_a_kill():
    runs = unlike_runs(until_s=150.0, kill_at_walltime=False)
    with pytest.warns(hs.errors.WorkWarning) as said:
        ratios_to_baseline(runs, baseline="fcfs")
    assert str(said[0].message) == (
        "the runs did different work: fcfs:placement=lowest-power did 100 % less than fcfs. "
        "Energy is lower by as much work as was not done: compare energy per work."
    )


# hetsched.compare


def contest(**options):
    rng = np.random.default_rng(4)
    jobs = {
        "job_id": range(60),
        "submit_s": np.sort(rng.uniform(0, 3000, 60)),
        "runtime_s": rng.uniform(60, 600, 60),
        "walltime_s": np.full(60, 900.0),
        "node_count": rng.integers(1, 5, 60),
        "app": ["a"] * 60,
    }
    table = hs.VariationTable(["a"], power_w=rng.uniform(200.0, 300.0, (1, 8)))
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300).with_tables(actual=table)
    return hs.Workload.from_polars(pl.DataFrame(jobs)), platform


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_comparing_gives_the_table_of_single_runs():
    workload, platform = contest()
    found = hs.compare(workload, platform, ["fcfs", "random", "easy"], "random", seeds=3, seed=5, bound=True)
    runs = [("fcfs", 5), *(("random", seed) for seed in (5, 6, 7)), ("easy", 5)]
    alone = [hs.simulate(workload, platform, policy, seed=seed, bound=True) for policy, seed in runs]
    assert found.runs.drop("longer_waits").equals(runs_frame(alone))
    metrics = [key for key in dict.fromkeys(found.table["metric"]) if key != "longer_waits"]
    of_runs = found.table.filter(pl.col("metric") != "longer_waits")
    assert of_runs.equals(ratios_to_baseline(alone, baseline="random", metrics=metrics))
    assert found.baseline == "random"
    assert set(found.attained) == {"fcfs", "easy"}
    assert any("placement could save at most" in note for note in found.notes)


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_comparing_writes_every_run_and_the_table(tmp_path):
    workload, platform = contest()
    policies = {"one": "fcfs", "other": {"preset": "easy", "depth": 4}}
    found = hs.compare(workload, platform, policies, out=tmp_path, metrics=["energy_j"], progress=None)
    assert found.table.select("policy", "metric").rows() == [("one", "energy_j"), ("other", "energy_j")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.csv", "one", "other"]
    assert pl.read_csv(tmp_path / "comparison.csv")["policy"].to_list() == ["one", "other"]
    assert hs.read_result(tmp_path / "other") == hs.simulate(workload, platform, "easy:depth=4")


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_a_window_is_measured_of_every_run():
    workload, platform = contest()
    found = hs.compare(workload, platform, "easy", window=(500.0, 2000.0), metrics=["jobs", "energy_j"])
    expected = measured(hs.simulate(workload, platform), from_s=500.0, until_s=2000.0)
    assert found.runs.select("jobs", "energy_j").row(0) == (expected["jobs"], expected["energy_j"])


def test_what_cannot_be_compared_is_reported_at_once():
    workload, platform = contest()
    with pytest.raises(hs.ConfigError) as caught:
        hs.compare(workload, platform, ["esay", "fcfs"], seeds=0, metrics=["enrgy_j"], progress="dots")
    assert [name for name, _, _ in caught.value.faults] == ["policies[0]", "seeds", "progress", "metrics"]
    with pytest.raises(hs.ConfigError, match="baseline: found `easy`, expected one of fcfs"):
        hs.compare(workload, platform, ["fcfs"], "easy")
    with pytest.raises(TypeError, match=r"compare\(\) got an unexpected keyword argument 'untl_s'"):
        hs.compare(workload, platform, ["fcfs"], untl_s=5)
    with pytest.raises(hs.ConfigError, match="workload: found `DataFrame`"):
        hs.compare(workload.to_polars(), platform, ["fcfs"])


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_each_matter_is_warned_of_once_at_the_callers_line():
    workload, platform = contest()
    high = hs.Workload.from_polars(workload.to_polars().with_columns(power_w=pl.lit(5000.0)))
    with pytest.warns(hs.errors.PowerWarning) as said:
        hs.compare(high, platform, ["fcfs", "easy"])
    (warning,) = [one for one in said if one.category is hs.errors.PowerWarning]
    assert warning.filename == __file__


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_a_comparison_shows_itself_as_the_command_line_does(tmp_path, capfd):
    workload, _ = contest()
    workload.to_polars().write_parquet(tmp_path / "jobs.parquet")
    found = hs.compare(workload, hs.Platform.homogeneous(8, 100, 400), ["fcfs", "easy:placement=random"])
    assert repr(found) == "<Comparison: fcfs against easy:placement=random, 2 runs>"
    policies = ["--policies", "fcfs,easy:placement=random", "--nodes", "8"]
    assert main(["compare", str(tmp_path / "jobs.parquet"), *policies]) == 0
    assert str(found) in capfd.readouterr().out
    html = found._repr_html_()
    assert "<table" in html
    assert all(f"<p>{escape(note)}</p>" in html for note in found.notes)


def test_what_sleep_attains_is_reported_those_that_sleep() -> None:
    platform = hs.Platform.homogeneous(nodes=2, idle_w=600, tdp_w=2100, boot_s=60, shutdown_s=120, off_w=0)
    frame = pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [0.0, 10_000.0], "runtime_s": [600.0] * 2, "node_count": [1, 2]}
    )
    policies = ["easy", "easy:sleep=timeout"]
    notes = hs.compare(hs.Workload.from_polars(frame), platform, policies, baseline="easy", bound=True).notes
    told = [note for note in notes if note.startswith("of what sleeping nodes could save")]
    assert len(told) == 1
    assert "easy:sleep=timeout 9" in told[0]
    assert "easy " not in told[0].partition(": ")[2]
    assert not any("sleeping" in note for note in hs.compare(hs.Workload.from_polars(frame), platform, policies).notes)


def test_no_policy_writes_outside_its_own_folder_or_over_another(tmp_path):
    (tmp_path / "summary.json").write_text("precious")
    log = hs.Workload.from_polars(
        pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]})
    )
    names = ["..", ".", "comparison.csv", "a/b", "a-b", "x" * 300, "ä" * 300]
    policies = [hs.Policy.from_dict({"name": name, "preset": "easy"}) for name in names]
    hs.compare(log, hs.Platform.homogeneous(2, 1, 2), policies, out=tmp_path / "runs", progress=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "summary.json"]
    assert (tmp_path / "summary.json").read_text() == "precious"
    folders = [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
    assert len(folders) == len(names)
    assert {"--", "-", "comparison.csv-", "a-b"} <= {path.name for path in folders}
    assert sorted(hs.read_result(path).provenance["policy"]["name"] for path in folders) == sorted(names)


# Repetitions in the frame of a sweep

SWEPT = pl.DataFrame(
    {
        "workload": ["w0", "w1", "w2"] * 2,
        "platform": ["p"] * 6,
        "policy": ["easy"] * 3 + ["new"] * 3,
        "seed": [0] * 6,
        "mean_wait_s": [100.0, 1000.0, 10000.0, 50.0, 510.0, 4900.0],
    }
)


def ratio_of(runs, **keywords):
    """The last policy's ratio of mean waits, with half of its interval."""
    table = ratios_to_baseline(runs, baseline="easy", metrics=["mean_wait_s"], **keywords)
    return table["ratio"][-1], table["ratio_half_width_95"][-1]


def test_runs_on_workloads_that_repeat_one_another_are_pairs():
    """Paired, the difference of 0.49 to 0.51 counts; not the hundredfold between the workloads."""
    by_seed = SWEPT.drop("workload", "platform").with_columns(seed=pl.Series([0, 1, 2] * 2))
    assert ratio_of(SWEPT) == ratio_of(by_seed)
    ratio, half_width = ratio_of(SWEPT.sample(fraction=1.0, shuffle=True, seed=1).sort("policy"))
    assert (round(ratio, 3), round(half_width, 3)) == (0.492, 0.012)
    # The mean is of workloads a hundredfold apart, and has their interval.
    assert ratios_to_baseline(SWEPT, baseline="easy", metrics=["mean_wait_s"])["runs"].to_list() == [3, 3]


def test_without_pairs_both_means_have_their_say():
    other = SWEPT.with_columns(workload=pl.Series(["w0", "w1", "w2", "w3", "w4", "w5"]))
    ratio, half_width = ratio_of(other)
    assert (round(ratio, 3), round(half_width, 3)) == (0.492, 2.549)


def test_seeds_repeat_no_workload_that_is_the_same_under_each():
    """A policy without chance has the same numbers under every seed: three workloads are three repetitions."""
    thrice = pl.concat(SWEPT.with_columns(seed=pl.lit(seed)) for seed in range(3))
    table = ratios_to_baseline(thrice, baseline="easy", metrics=["mean_wait_s"])
    assert table["runs"].to_list() == [9, 9]
    assert table.drop("runs").equals(ratios_to_baseline(SWEPT, baseline="easy", metrics=["mean_wait_s"]).drop("runs"))


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("offered_load_ratio", [0.7, 0.8, 0.9], "offered loads of 0.7 (`w0`) to 0.9 (`w2`) under policy easy"),
        ("jobs", [1000, 500, 990], "numbers of jobs of 500 (`w1`) to 1e+03 (`w0`) under policy easy"),
    ],
)
def test_workloads_of_different_load_are_not_pooled(column, values, found):
    runs = SWEPT.with_columns(pl.Series(column, values * 2))
    with pytest.raises(hs.ConfigError) as caught:
        ratio_of(runs)
    message = str(caught.value)
    assert message.startswith(f"results: found {found}, expected workloads alike in load")
    assert all(way in message for way in ('runs.filter(workload="...")', 'by="workload"', "function of the seed"))
    assert ratio_of(runs.filter(workload="w0")) == (0.5, None)
    apart = ratios_to_baseline(runs, baseline="easy", metrics=["mean_wait_s"], by="workload")
    assert apart.columns[:3] == ["workload", "policy", "metric"]
    assert apart.filter(policy="new")["ratio"].to_list() == [0.5, 0.51, 0.49]


def test_draws_of_a_function_are_repetitions_whatever_their_loads():
    drawn = SWEPT.with_columns(workload=pl.lit("drawn"), seed=pl.Series([0, 1, 2] * 2), jobs=pl.Series([1, 2, 3] * 2))
    assert tuple(round(number, 3) for number in ratio_of(drawn)) == (0.492, 0.012)
    # On two machines each seed is a repetition on each.
    both = pl.concat([drawn, drawn.with_columns(platform=pl.lit("q"))])
    loads = both.with_columns(offered_load_ratio=pl.Series([0.7, 0.8, 0.9] * 4), jobs=pl.lit(9))
    table = ratios_to_baseline(loads, baseline="easy", metrics=["mean_wait_s"])
    assert table["ratio_half_width_95"][-1] == pytest.approx(
        # Student's t of six pairs for three, and the spread of the same three values twice.
        ratio_of(drawn)[1] * (2.570582 / 6**0.5 * 0.8**0.5) / (4.302653 / 3**0.5)
    )


def test_platforms_of_another_size_are_not_pooled():
    both = pl.concat([SWEPT.head(1), SWEPT.head(1).with_columns(platform=pl.lit("q"))])
    with pytest.raises(
        hs.ConfigError, match=r'loads of 0.5 \(`p`\) to 0.8 \(`q`\).* expected platforms alike .*by="plat'
    ):
        ratios_to_baseline(
            both.with_columns(offered_load_ratio=pl.Series([0.5, 0.8])), baseline="easy", metrics=["mean_wait_s"]
        )


def test_results_on_several_workloads_are_pairs_by_their_content():
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)

    def jobs(seed):
        return hs.workload.poisson(nodes=4, jobs=60, load=0.9, sizes="1:1,3:1", walltime_factor=2.0, seed=seed)

    results = [hs.simulate(jobs(seed), platform, policy) for policy in ("fcfs", "easy") for seed in range(4)]
    paired = ratios_to_baseline(results, baseline="fcfs", metrics=["mean_wait_s"])
    seeded = runs_frame(results).with_columns(seed=pl.Series([0, 1, 2, 3] * 2))
    assert paired.equals(ratios_to_baseline(seeded, baseline="fcfs", metrics=["mean_wait_s"]))
    unpaired = ratios_to_baseline(runs_frame(results), baseline="fcfs", metrics=["mean_wait_s"])
    assert paired["ratio_half_width_95"][1] < unpaired["ratio_half_width_95"][1]
    twice = [hs.simulate(jobs(0).scale_arrivals(k), platform, name) for name in ("fcfs", "easy") for k in (0.5, 1.0)]
    with pytest.raises(hs.ConfigError, match=r"offered loads of 0\.46.*`poisson .*to 0\.9.*`poisson "):
        ratios_to_baseline(twice, baseline="fcfs", metrics=["mean_wait_s"])


def test_columns_to_compare_by_are_those_of_the_frame():
    with pytest.raises(
        hs.ConfigError, match=r"^by: found `load`, expected one of the columns workload, platform, seed"
    ):
        ratios_to_baseline(SWEPT, baseline="easy", metrics=["mean_wait_s"], by=["load"])


def test_progress_may_be_a_function_of_runs():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 900], "runtime_s": [60, 30], "node_count": [1, 2]})
    log, machine, told = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(2, 100, 300), []
    hs.compare(log, machine, ["fcfs", "easy"], progress=lambda done, runs: told.append((done, runs)))
    assert told == [(0, 2), (1, 2), (2, 2)]
    told.clear()
    hs.provision(900, 25, {70: 1}, nodes=[4], sockets=2, workload=log, progress=lambda *numbers: told.append(numbers))
    assert told == [(0, 1), (1, 1)]


def heavy():
    """Jobs of hours that wait for each other, some of which ask for too much, on twelve nodes."""
    rng, count = np.random.default_rng(3), 200
    jobs = {
        "job_id": np.arange(count),
        "submit_s": np.sort(rng.integers(0, 400_000, count)),
        "runtime_s": rng.integers(600, 20_000, count),
        "node_count": np.where(np.arange(count) % 40 == 7, 13, rng.integers(1, 9, count)),
    }
    return hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(nodes=12, idle_w=100, tdp_w=300)


def longer(result, base, window=None):
    """Jobs that wait over an hour longer, one by one."""
    waits = dict(base.jobs.select("job_id", "wait_s").rows())
    return sum(
        own is not None and waits[job] is not None and own - waits[job] > 3600
        for job, submit_s, own in result.jobs.select("job_id", "submit_s", "wait_s").rows()
        if window is None or window[0] <= submit_s <= window[1]
    )


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("window", [None, (50_000.0, 300_000.0)])
def test_jobs_that_wait_over_an_hour_longer_are_counted(window):
    workload, platform = heavy()
    policies = ["easy", "easy:order=shortest", "easy:order=largest"]
    found = hs.compare(workload, platform, policies, "easy:order=shortest", window=window)
    alone = {policy: hs.simulate(workload, platform, policy) for policy in policies}
    expected = {policy: longer(own, alone["easy:order=shortest"], window) for policy, own in alone.items()}
    assert dict(found.runs.select("policy", "longer_waits").rows()) == expected
    assert expected["easy:order=shortest"] == 0
    assert min(expected["easy"], expected["easy:order=largest"]) > 0
    rows = found.table.filter(metric="longer_waits").select("policy", "mean", "ratio").rows()
    assert rows == [(policy, expected[policy], None) for policy in policies], "no ratio to 0"
    asked = hs.compare(workload, platform, policies, metrics=["longer_waits"], window=window)
    assert asked.value("easy:order=largest", "longer_waits") == longer(
        alone["easy:order=largest"], alone["easy"], window
    )


def test_pairs_of_runs_are_counted_in_any_order_and_then_let_go_of():
    runs = [("base", 4), ("base", 5), ("own", 4), ("own", 5), ("fixed", 4)]
    waits = {
        ("base", 4): [0.0, 100.0, np.nan, 0.0],
        ("base", 5): [0.0, 0.0, 0.0, 0.0],
        ("own", 4): [3600.0, 3701.0, 9e9, np.nan],
        ("own", 5): [3601.0, 3600.5, 3599.0, 1e6],
        ("fixed", 4): [1e6, 1e6, 1e6, 1e6],
    }
    expected = {("base", 4): 0, ("base", 5): 0, ("own", 4): 1, ("own", 5): 3, ("fixed", 4): 3}
    for order in (runs, runs[::-1], [runs[2], runs[0], runs[3], runs[4], runs[1]]):
        counting = LongerWaits(runs, "base")
        for run in order:
            counting.add(run, np.array(waits[run]))
        assert counting.counts == expected
        assert not counting._waits


def test_a_single_run_of_the_baseline_serves_all_seeds():
    runs = [("fixed", 2), ("lots", 2), ("lots", 3)]
    counting = LongerWaits(runs, "fixed")
    for run, wait in zip(runs, (0.0, 3601.0, 10.0), strict=True):
        counting.add(run, np.array([wait]))
    assert counting.counts == {("fixed", 2): 0, ("lots", 2): 1, ("lots", 3): 0}


def test_metrics_of_comparisons_are_refused_where_there_is_none():
    workload, platform = heavy()
    with pytest.raises(hs.ConfigError, match="metrics: found `longer_waits`, expected metrics of a run"):
        hs.what_if(workload, platform, "easy", {"nodes": [13]}, metrics=["energy_j", "longer_waits"])
