"""Published experiments: the machines, repetitions, policies of one's own, and what every report must hold to."""

import dataclasses
import json
import time
from typing import get_args

import hypothesis
import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.experiments import EXPERIMENTS, reproduce
from hetsched.experiments import experiment as experiment_module
from hetsched.experiments import reproduction as reproduction_module
from hetsched.experiments import shares as shares_module
from hetsched.experiments.claims import statement, value
from hetsched.experiments.experiment import Report, Verdict, assumed, measured, printed
from hetsched.experiments.ito import FFT2D, IMPLIED, WIDTH_SD, capped_nodes, fft2d_nodes, single_nodes
from hetsched.experiments.registry import experiment_named
from hetsched.experiments.reproduction import repetition_seeds
from hetsched.experiments.swa import by_length, by_size, speed_ranks, spread_inside_jobs
from hetsched.experiments.vahrm.system import QUICK_JOBS
from hetsched.report.experiment import experiment_figure, reasons, settings


class TestMachines:
    def test_watts_have_the_printed_ranges_and_do_not_change_with_the_times(self):
        alike, vary = (single_nodes(3, nodes=20_000, times_vary=vary).actual for vary in (False, True))
        np.testing.assert_array_equal(alike.power_w, vary.power_w)
        assert alike.time_ratio is None
        # HPCG: 107-124 W and 30-40 W; STREAM: 119-123 W and 60-78 W, all as 6.8 standard deviations.
        expected = [np.hypot(17, 10) / WIDTH_SD, np.hypot(4, 18) / WIDTH_SD]
        assert vary.power_w.mean(axis=1) == pytest.approx([115.5 + 35, 121 + 69], rel=1e-3)
        assert vary.power_w.std(axis=1) == pytest.approx(expected, rel=0.02)
        assert np.corrcoef(vary.power_w)[0, 1] == pytest.approx(IMPLIED.value, abs=0.02)

    def test_times_vary_as_printed_and_have_nothing_to_do_with_watts(self):
        table = single_nodes(3, nodes=20_000, times_vary=True).actual
        assert table.time_ratio.std(axis=1) == pytest.approx([21 / 140.5 / WIDTH_SD] * 2, rel=0.02)
        assert abs(np.corrcoef(table.power_w[0], table.time_ratio[0])[0, 1]) < 0.02

    def test_under_the_cap_the_package_draws_alike_and_speeds_differ(self):
        table = capped_nodes(3, nodes=20_000).actual
        assert table.power_w.mean() == pytest.approx(40 + 35, rel=1e-3)
        assert table.power_w.std() == pytest.approx(10 / WIDTH_SD, rel=0.02)
        assert table.time_ratio.mean() == pytest.approx(1.0, abs=2e-3)
        assert table.time_ratio.std() == pytest.approx(150 / 325 / WIDTH_SD, rel=0.02)

    def test_what_is_said_of_fft2ds_memory_is_what_is_drawn(self):
        said = {one.name: one.value for one in FFT2D}
        machine = fft2d_nodes(3, nodes=20_000, apps=("a",), id_correlation=0.0, is_known=False)
        spread = machine.memory_w.std() * WIDTH_SD / machine.memory_w.mean()
        assert spread == pytest.approx(said["fft2d_dram_range_ratio"], rel=0.02)

    def test_fft2d_splits_its_watts_as_the_papers_savings_say(self):
        # 0.602 % in all from 0.748 % and 0.341 %: a share of (0.602 - 0.341) / (0.748 - 0.341) is the package's.
        machine = fft2d_nodes(3, nodes=20_000, apps=("a", "b"), id_correlation=0.0, is_known=False)
        share = machine.package_w.mean() / (machine.package_w + machine.memory_w).mean()
        assert share == pytest.approx((0.602 - 0.341) / (0.748 - 0.341), abs=0.005)
        assert share == pytest.approx((1.339 - 0.951) / (1.555 - 0.951), abs=0.005)
        actual, predicted = machine.platform.actual.power_w, machine.platform.predicted.power_w
        np.testing.assert_array_equal(actual[0], machine.package_w + machine.memory_w)
        np.testing.assert_array_equal(actual[0], actual[1])
        np.testing.assert_array_equal(predicted[0], predicted[1])
        assert 0 < np.corrcoef(actual[0], predicted[0])[0, 1] < 0.9

    @pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.7])
    def test_node_numbers_carry_what_was_asked_for_and_change_no_node(self, correlation):
        make = {"nodes": 5000, "apps": ("a",), "is_known": False}
        machine = fft2d_nodes(3, id_correlation=correlation, **make)
        other = fft2d_nodes(3, id_correlation=0.1, **make)
        watts = machine.platform.predicted.power_w[0]
        assert np.corrcoef(np.arange(5000), watts)[0, 1] == pytest.approx(correlation, abs=0.05)
        np.testing.assert_allclose(np.sort(watts), np.sort(other.platform.predicted.power_w[0]))


def test_ranks_go_by_time_then_watts_then_number():
    table = hs.VariationTable(["a"], power_w=[[5.0, 4.0, 4.0, 9.0]], time_ratio=[[1.0, 1.0, 1.0, 0.9]])
    assert speed_ranks(table).tolist() == [3, 1, 2, 0]


def test_the_spread_inside_jobs_by_hand():
    # Ranks are node numbers. Job 1 takes nodes 0 and 1, job 2 is single, job 3 takes nodes 3 and 4.
    table = hs.VariationTable(["a"], power_w=[[9.0] * 5], time_ratio=[[1.0, 1.5, 2.0, 2.0, 2.0]])
    platform = hs.Platform.homogeneous(nodes=5, idle_w=0, tdp_w=9).with_tables(actual=table)
    frame = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": [0, 0, 0], "runtime_s": [9, 9, 9], "node_count": [2, 1, 2], "app": ["a"] * 3}
    )
    result = hs.simulate(hs.Workload.from_polars(frame), platform, "fcfs")
    found = spread_inside_jobs(result, table, window=1)
    # 1.5 / 1.25 - 1 = 0.2 for job 1 and nothing for job 3; two ranks fit into a job of two.
    assert found == {"spread_ratio": pytest.approx(0.1), "missed_ratio": 0.0}
    # Node 2 busy throughout: the job gets nodes 0, 1 and 3, which span four ranks.
    frame = pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [9, 9], "node_count": [1, 3], "app": ["a"] * 2}
    )
    busy = hs.VariationTable(["a"], power_w=[[9.0] * 4], time_ratio=[[2.0, 1.0, 1.0, 1.0]])
    platform = hs.Platform.homogeneous(nodes=4, idle_w=0, tdp_w=9).with_tables(actual=busy)
    result = hs.simulate(hs.Workload.from_polars(frame), platform, "fcfs")
    # Nodes 0, 1 and 2 have the ranks 3, 0 and 1.
    assert spread_inside_jobs(result, busy, window=3)["missed_ratio"] == 1.0
    assert spread_inside_jobs(result, busy, window=4)["missed_ratio"] == 0.0


def test_sums_by_size_and_by_length_by_hand():
    frame = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": [0, 0, 0], "runtime_s": [9, 20, 10], "node_count": [1, 2, 1]}
    )
    platform = hs.Platform.homogeneous(nodes=4, idle_w=0, tdp_w=3)
    result = hs.simulate(hs.Workload.from_polars(frame), platform, "fcfs")
    assert by_size(result) == {"single_run_s": 19.0, "wide_run_s": 20.0}
    # 9 s × 3 W below the border, and 20 s × 2 × 3 W + 10 s × 3 W from it on.
    assert by_length(result, [10.0]) == {"class_0_j": 27.0, "class_1_j": 150.0}


def test_repetitions_of_two_seeds_or_two_experiments_have_nothing_in_common():
    one, other, third = repetition_seeds("pools", 0, 50), repetition_seeds("pools", 1, 50), repetition_seeds("x", 0, 50)
    assert len({*one, *other, *third}) == 150


def test_an_unknown_name_is_reported_with_the_nearest_one():
    with pytest.raises(hs.ConfigError, match="did you mean `swa-multi`"):
        reproduce("swa-mutli")
    with pytest.raises(hs.ConfigError) as caught:
        reproduce("pools", seed=-1, quick="yes")
    assert [parameter for parameter, _, _ in caught.value.faults] == ["seed", "quick"]


@pytest.fixture(scope="module")
def swa(quick_report):
    return quick_report("swa-multi", now=True)


def test_the_same_seed_gives_the_same_report_and_another_seed_another(swa):
    told = []
    again = reproduce("swa-multi", quick=True, repetitions=2, progress=lambda *said: told.append(said))
    assert told == sorted(told)
    assert told[-1] == (2, 2)
    # That whole reports are the same is tested where one was stopped (test_many.py).
    assert again.runs.equals(swa.runs.filter(pl.col("repetition") < 2))
    other = reproduce("swa-multi", quick=True, repetitions=2, seed=1)
    assert not set(other.runs["job_energy_j"]) & set(swa.runs["job_energy_j"])


def test_what_stops_one_repetition_stops_all(monkeypatch):
    begun = []

    def repeat(repetition):
        begun.append(repetition)
        if repetition.number == 0:
            raise hs.SimulationError("cannot go on")
        # The rest would take seconds: however slowly this process gets its turn, the fault is seen before they end.
        time.sleep(0.02)
        return []

    broken = dataclasses.replace(experiment_named("pools"), repeat=repeat, repetitions=100)
    monkeypatch.setattr(reproduction_module, "experiment_named", lambda name: broken)
    with pytest.raises(hs.SimulationError, match="cannot go on"):
        reproduce("pools")
    assert len(begun) < 100


def test_further_runs_are_in_the_first_repetitions_of_a_full_run_alone(monkeypatch):
    def further(repetition):
        return [{"scenario": "more", "policy": "naive", "jobs": repetition.number}]

    short = dataclasses.replace(
        experiment_named("swa-multi"), repetitions=3, quick_repetitions=2, further=further, further_repetitions=2
    )
    monkeypatch.setattr(reproduction_module, "experiment_named", lambda name: short)
    found = {quick: reproduce("swa-multi", quick=quick).runs.filter(scenario="more") for quick in (False, True)}
    assert found[False]["repetition"].to_list() == [0, 1]
    assert found[True].is_empty()


YOURS = "sjf:placement=lowest-power"
"""Policy that `quick_report` has after the paper's."""


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_quick_runs_have_three_repetitions_at_least_and_no_more_than_full_ones(name):
    experiment = experiment_named(name)
    assert 3 <= experiment.quick_repetitions <= experiment.repetitions
    assert {one.name for one in experiment.quick_parameters} <= {one.name for one in experiment.parameters}


def test_shares_by_hand_are_averaged_over_workloads_then_repetitions():
    def run(repetition, mix, policy, energy_j, bound_j, *, left_out=0, setting=""):
        return {
            "repetition": repetition,
            "preset": "busy",
            "workload": int(mix[0]),
            "mix": mix,
            "policy": policy,
            "scenario": f"busy, {mix}{setting}",
            "job_energy_j": energy_j,
            "energy_bound_starts_j": bound_j,
            "placement_attained_ratio": (110.0 - energy_j) / (110.0 - bound_j),
            "bound_left_out_jobs": left_out,
            "bound_left_out_energy_j": 0.0,
            "running": 0,
            "pending": 0,
            **dict.fromkeys(shares_module.WAITS[:-1], 60.0 * repetition),
            shares_module.WAITS[-1]: None,
        }

    rows = [
        run(number, mix, policy, energy_j - drop * (policy == "base"), bound_j, left_out=left_out, setting=setting)
        for number in (0, 1)
        for mix, drop in (("9:1-small", 0.0), ("5:5-large", 2.0))
        for policy, energy_j, bound_j, left_out, setting in (
            ("base", 100.0, 90.0, 0, ""),
            ("own", 95.0 - number, 88.0, 0, ", beta 0.5"),
            ("other", 95.0, 88.0, 1, ""),
        )
    ]
    found = shares_module.shares_of(pl.DataFrame(rows), "base")
    assert found["scenario"].to_list() == ["busy", "busy, beta 0.5", "busy"]
    own = found.row(1, named=True)
    # Against the base of the same jobs, which ran at no beta: 5 of 100 and 3 of 98, then 6 of 100 and 4 of 98.
    saved = np.array([5.0 + 300.0 / 98.0, 6.0 + 400.0 / 98.0]) / 2.0
    assert own["saved_percent"] == pytest.approx(saved.mean())
    assert own["saved_percent_half"] == pytest.approx(hs.analysis.mean_and_half_width(saved)[1])
    assert own["timing_percent"] == pytest.approx((2.0 + 200.0 / 98.0) / 2.0)
    assert own["saved_percent"] == pytest.approx(own["placement_percent"] + own["timing_percent"])
    assert (own["mean_wait_s"], own["large_max_wait_s"]) == (30.0, None)
    other = found.row(2, named=True)
    assert other["attained_percent"] is not None
    assert (other["saved_percent"], other["placement_percent"], other["timing_percent"]) == (None, None, None)


def test_policies_of_ones_own_change_nothing_of_the_rest(swa):
    beside = reproduce("swa-multi", quick=True, policies=["easy", {"order": "shortest"}])
    own = len(beside.rows) - len(swa.rows)
    assert list(beside.rows[:-own]) == list(swa.rows)
    assert beside.runs.filter(~pl.col("policy").str.starts_with("yours: ")).equals(swa.runs)
    # EASY on a machine on which nobody waits is naive.
    assert [(row.quantity, row.here) for row in beside.rows[-own:][:2]] == [
        (f"yours: easy: job energy saved over naive, {state}, %", 0.0) for state in ("busy", "free")
    ]


def test_a_policy_that_refuses_all_jobs_is_refused():
    # 75 W a node: under 300 W no job of eight nodes runs, under 10 W none at all.
    short = dataclasses.replace(experiment_named("swa-multi"), quick_repetitions=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction_module, "experiment_named", lambda name: short)
        row = reproduce("swa-multi", quick=True, policies="vu-fcfs:budget_w=300").rows[-1]
        assert row.reason == "3.61% of its jobs never ran: not the others' work"
        with pytest.raises(hs.ConfigError, match=r"^policies: vu-fcfs:power.budget_w=10: found no job runs to its end"):
            reproduce("swa-multi", quick=True, policies="vu-fcfs:budget_w=10")


def test_policies_are_checked_before_the_first_run():
    with pytest.raises(hs.ConfigError) as caught:
        reproduce("tsmva", policies=["easy", "esay", 3, "easy"])
    assert [parameter for parameter, _, _ in caught.value.faults] == [
        "policies[1]",
        "policies[2]",
        "policies",
        "policies",
    ]


@pytest.fixture(scope="module", params=sorted(EXPERIMENTS))
def report(request, quick_report):
    """Each experiment's quick run, with a policy of one's own next to the paper's."""
    return quick_report(request.param, beside=True)


def of_yours(rows):
    return [row for row in rows if row.quantity.startswith(f"yours: {YOURS}: ")]


@pytest.mark.slow
class TestEveryReport:
    def test_says_of_policies_of_ones_own_what_they_do_and_claims_nothing(self, report):
        own = of_yours(report.rows)
        if report.name == "tsmva":
            assert not own
            return
        assert list(report.rows[-len(own) :]) == own
        assert {(row.reproduced, row.paper) for row in own} == {(None, None)}
        label = f"yours: {YOURS}"
        assert (report.savings["label"] == label).any()
        repetitions = report.runs.filter(policy=label)["repetition"].n_unique()
        assert repetitions == experiment_named(report.name).quick_repetitions

    def test_has_shares_with_waits_or_says_why_not(self, report):
        assert report.shares.is_empty() == bool(report.no_shares)
        if report.no_shares:
            assert "energy_bound_starts_j" not in report.runs.columns
            return
        shares = report.shares
        assert shares["attained_percent"].null_count() == 0
        waits = shares.select("mean_turnaround_s", "mean_wait_s", "max_wait_s")
        assert sum(waits.null_count().row(0)) == 0
        parts = shares["placement_percent"] + shares["timing_percent"] - shares["saved_percent"]
        assert parts.drop_nulls().abs().max() < 1e-9
        base = shares.filter(policy=experiment_named(report.name).baseline)
        assert len(base) > 0
        assert base["saved_percent"].abs().max() < 1e-9
        assert (shares["policy"] == f"yours: {YOURS}").any()

    def test_a_quick_run_says_what_is_smaller(self, report):
        found = {one.name: one.value for one in report.parameters}
        assert found["quick"] is True
        if report.name.startswith("vahrm") or report.name == "hetsched":
            assert found["jobs"] == QUICK_JOBS
            assert (report.runs["jobs"] == QUICK_JOBS).all()
        if report.name == "tsmva":
            assert found["in_sample_devices"] == 12

    def test_holds_what_json_users_rely_on(self, report):
        found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert list(found) == ["name", "seed", "rows", "parameters", "no_shares" if report.no_shares else "shares"]
        for row in found["rows"]:
            assert {"quantity", "paper", "here", "reproduced", "reason"} <= set(row)
            assert row["reproduced"] is None
            assert row["paper"] is None or isinstance(row["paper"], float)
            assert row["interval"][0] <= row["here"] <= row["interval"][1]
            assert row["reason"]
        quantities = [row["quantity"] for row in found["rows"]]
        assert len(set(quantities)) == len(quantities)
        assert len(found["parameters"]) == len(report.parameters)

    def test_a_full_run_judges_every_row_that_a_paper_has(self, report):
        judged = experiment_named(report.name).rows(report.runs)
        for row in judged:
            assert row.reproduced in (*get_args(Verdict), None)
            assert row.reproduced is not None or row.paper is None
        assert any(row.reproduced for row in judged) or report.name == "sleep"

    def test_compares_the_same_jobs_all_run_to_their_end(self, report):
        if "completed" not in report.runs.columns:
            pytest.skip("its rows are errors of models, no runs")
        assert (report.runs["completed"] == report.runs["jobs"]).all()
        assert report.runs.group_by("repetition", "scenario").agg(pl.col("jobs").n_unique() == 1)["jobs"].all()

    def test_no_run_in_the_baselines_window_needs_less_than_its_bound(self, report):
        if "energy_bound_j" not in report.runs.columns:
            pytest.skip("no row of this experiment needs the bound")
        keys = ["repetition", "scenario"]
        bounds = report.runs.drop_nulls("energy_bound_j").select(*keys, least_j="energy_bound_j", window_s="makespan_s")
        within = report.runs.join(bounds, on=keys).filter(pl.col("makespan_s") <= pl.col("window_s"))
        assert len(within) > len(bounds)
        assert (within["least_j"] <= within["job_energy_j"]).all()

    def test_keeps_the_machine_as_busy_as_the_paper_does(self, report):
        # The mean over the whole run lies below the target: filling and emptying count, too.
        if report.name in ("coa-single", "swa-multi", "swa-history"):
            mean = report.runs.filter(policy="naive").group_by("scenario").agg(pl.col("utilization_ratio").mean())
            for scenario, ratio in mean.iter_rows():
                target = 0.8 if scenario.startswith("busy") else 0.4
                assert 0.7 * target < ratio < 1.03 * target

    def test_is_written_whole_and_only_where_it_was_asked_for(self, report, tmp_path, monkeypatch):
        # Of one family, whose figures are made in a test of their own, one is drawn.
        is_drawn = not report.name.startswith("vahrm-") or hypothesis.settings.get_current_profile_name() == "long"
        monkeypatch.setattr(experiment_module, "can_draw", lambda: is_drawn)
        names = [name.rsplit("/", 1)[1] for name in report.write(tmp_path / "out")]
        assert names[:4] == ["table.csv", "rows.json", "parameters.csv", "runs.parquet"]
        kinds = report.savings["figure"].unique(maintain_order=True) if "figure" in report.savings.columns else [None]
        figures = ["figure.png" if kind is None else f"figure-{kind}.png" for kind in kinds]
        shares = [] if report.no_shares else ["shares.csv"]
        assert names[4:] == [*shares, *(figures if is_drawn else [])]
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert json.loads((tmp_path / "out" / "rows.json").read_text()) == report.to_dict()
        assert pl.read_parquet(tmp_path / "out" / "runs.parquet").equals(report.runs)
        assert pl.read_csv(tmp_path / "out" / "table.csv", schema=report.table.schema).equals(report.table)
        assert all((tmp_path / "out" / one).read_bytes().startswith(b"\x89PNG") for one in names if one in figures)
        for one in shares:
            assert pl.read_csv(tmp_path / "out" / one, schema=report.shares.schema).equals(report.shares)


def by_hand():
    """A report with numbers that can be worked out."""
    rows = [value("saving, %", [1.0, 2.0, 3.0], paper=2.5), statement("more, %", [-1.0, -1.1], claim="more")]
    savings = pl.DataFrame(
        {
            "panel": ["busy"] * 4 + ["free"] * 2,
            "label": ["a", "a", "b", "b", "a", "a"],
            "saving": [1.0, 3.0, 4.0, 6.0, -2.0, -4.0],
            "attainable": [None, None, 8.0, 10.0, None, None],
            "paper": [None, None, 7.0, 7.0, None, None],
        }
    )
    parameters = [printed("nodes", 8), assumed("idle_w", 0.0)]
    return Report("by-hand", 7, rows, parameters, pl.DataFrame({"repetition": [0]}), savings)


def test_parameters_say_where_they_are_from_in_a_word_and_in_full():
    found = [
        printed("nodes", 8),
        printed("jobs", 9, "A and B"),
        assumed("idle_w", 0.0, "none"),
        measured("load", 1, "x"),
    ]
    assert [one.kind for one in found] == ["printed", "printed", "assumed", "measured"]
    assert [one.note for one in found] == ["printed", "printed: A and B", "assumed: none", "measured: x"]
    assert [(one.is_printed, one.is_measured) for one in found] == [(True, False)] * 2 + [(False, False), (False, True)]


def test_without_matplotlib_all_but_the_figure_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(experiment_module, "can_draw", lambda: False)
    assert "figure.png" not in str(by_hand().write(tmp_path))
    assert (tmp_path / "rows.json").exists()


def test_the_figure_shows_the_means_what_is_attainable_and_the_paper():
    pytest.importorskip("matplotlib")
    figure = experiment_figure(by_hand().savings, title="by hand")
    busy, free = figure.axes
    assert [one.get_title(loc="left") for one in (busy, free)] == ["busy", "free"]
    assert [text.get_text() for text in busy.get_yticklabels()] == ["a", "b"]
    # Bars from left to right: a here, b attainable, b here.
    assert [bar.get_width() for bar in busy.patches] == [2.0, 9.0, 5.0]
    assert [bar.get_width() for bar in free.patches] == [-3.0]
    assert [text.get_text() for text in busy.texts] == ["2.00", "5.00"]
    paper = [line for line in busy.lines if line.get_label() == "paper"]
    assert [list(line.get_xdata()) for line in paper] == [[7.0, 7.0]]
    low, high = busy.get_xlim()
    assert low <= -4.0
    assert high > 9.0


def test_reasons_in_common_are_reported_once():
    rows = pl.DataFrame(
        {
            "reproduced": ["shape", "yes", "shape", "uncertain", None],
            "paper": [1.0, 2.0, 3.0, None, None],
            "reason": ["half; no watts", "fine", "twice; no watts", "more: not certain", "a number"],
        }
    )
    assert list(reasons(rows)) == ["shape: no watts (1: half; 3: twice)", "uncertain: more: not certain (4)"]


def test_parameters_of_all_kinds_fit_into_a_line():
    found = settings({"nodes": 1990, "utilization": {"busy": 0.8}, "time_range_s": [130.0, 151.0], "sr": [1, 2, 3]})
    assert found == "nodes 1990, utilization (busy 0.8), time_range_s 130 to 151, sr 1/2/3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": None}, [f"name: found `None`, expected one of {', '.join(EXPERIMENTS)}"]),
        (
            {"name": [], "seed": -1, "progress": 3},
            [
                "seed: found `-1`, expected a whole number between 0 and 18446744073709551615",
                "progress: found `3`, expected a function of two numbers, or None",
                f"name: found `[]`, expected one of {', '.join(EXPERIMENTS)}",
            ],
        ),
    ],
)
def test_what_cannot_be_reproduced_is_reported_at_once(arguments, said):
    with pytest.raises(hs.ConfigError) as caught:
        reproduce(**arguments)
    assert str(caught.value).splitlines() == said
