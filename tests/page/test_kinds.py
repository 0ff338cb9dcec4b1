"""Pages of every kind of answer as text: what they lead with, and that it is what the numbers say."""

import base64
import math

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.experiments import Report
from hetsched.experiments.claims import number
from hetsched.experiments.experiment import Parameter, Row
from hetsched.report.page import words
from hetsched.report.page.reproductions import page_of_reproduction
from hetsched.report.page.runs import RunsPage
from hetsched.report.page.shown import RunShown
from hetsched.report.page.sweeps import page_of_sweep
from hetsched.report.page.validations import page_of_validation

pytest.importorskip("plotly")
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def block(page, section, place=0, kind=None):
    """A block of a section, of all or of those of a kind."""
    (found,) = [one for one in page.sections if one.key == section]
    return [one for one in found.blocks if kind in (None, one.kind)][place]


def unpacked(values):
    """Numbers of a chart as they were packed."""
    return np.frombuffer(base64.b64decode(values["bdata"]), dtype=f"<{values['dtype']}")


def test_a_validation_says_how_far_off_it_is_and_who_is_nearer(answers):
    found = answers["validate"]
    page, scores = found._page(), found.scores
    assert page.numbers[0].value == f"×{math.exp(scores['log_error']):.2f}"
    rivals = [scores[name] for name in ("null_log_error", "naive_log_error", "naive_median_log_error")]
    assert f"({math.exp(min(rivals)):.2f})" in page.answer[0]
    assert ("no better than" in page.answer[0]) == (scores["log_error"] >= min(rivals))
    smaller = "smaller" if scores["skill_best"] >= 0 else "larger"
    assert page.numbers[1].value == f"{100 * abs(scores['skill_best']):.0f} % {smaller}"
    assert words.length(abs(scores["bias_s"])) in page.numbers[2].value
    assert block(page, "rivals").rows[1][0] == "fcfs, as it is"


def test_what_was_observed_lies_under_what_was_simulated_in_steps_that_can_be_seen(answers):
    found = answers["validate"]
    chart = block(found._page(), "time")
    observed, simulated = chart.figure["data"]
    assert (observed["name"], simulated["name"]) == ("observed", "simulated")
    assert observed["stackgroup"]
    long = pl.DataFrame({"time_s": np.arange(5000) * 3600.0, **dict.fromkeys(found.series.columns[1:], 1.0)})
    many = page_of_validation(hs.Validation(found.scores, found.jobs, long, provenance=found.provenance))
    assert len(unpacked(block(many, "time").figure["data"][1]["y"])) <= 700


def test_a_what_if_names_the_best_setting_that_no_other_beats_and_its_price(log, answers):
    found = answers["whatif"]
    page = found._page()
    own = found.table.filter(pl.col("pareto") & (pl.col("row") > 0) & (pl.col("energy_j_change") < 0))
    best = own.sort("energy_j").row(0, named=True)
    assert best["setting"] in page.answer[0]
    assert f"{100 * best['energy_j_change'] / found.table['energy_j'][0]:+.3g}"[:4] in page.numbers[0].value
    assert page.numbers[2].value == str(int(found.table["pareto"][1:].sum()))
    assert any("boots in" in line for line in page.assumptions), "of settings with sleep"
    worse = hs.what_if(log, hs.Platform.homogeneous(6, 100, 300), "easy", {"nodes": [12]}, workers=1, progress=None)
    assert "None of 1 setting has a better energy" in worse._page().answer[0]


def test_a_price_is_what_the_best_setting_makes_worse(log):
    machine = hs.Platform.homogeneous(6, idle_w=100, tdp_w=300, boot_s=600, shutdown_s=30, off_w=0)
    found = hs.what_if(log, machine, "easy", {"sleep": ["timeout:min_idle_s=0"]}, workers=1, progress=None)
    change = found.changes.filter(row=1, metric="mean_wait_s").row(0, named=True)
    assert change["change"] > 0
    page = found._page()
    assert page.answer[1].startswith("Its price: ")
    assert page.numbers[1].name.startswith("its price: ")


def test_a_provision_says_how_many_nodes(answers):
    found = answers["provision"]
    page = found._page()
    runs = found.table.filter(metric="throughput_jobs_per_hour").sort("mean", "nodes", descending=[True, False])
    assert page.numbers[0].value == f"{runs['nodes'][0]}"
    assert [one.value for one in page.numbers[1:]] == [f"{int(cpus):,}" for cpus in found.best_cpus.values()]
    assert answers["guideline"]._page().numbers[0].value == page.numbers[1].value


def reproduced(*rows, quick=False):
    parameters = [Parameter("quick", quick, ""), Parameter("repetitions", 4, ""), Parameter("idle_w", 0, "assumed")]
    empty = pl.DataFrame()
    return Report("made-up", 7, list(rows), parameters, empty, empty, source="nobody, 1999")


def row(quantity, paper, here, verdict):
    return Row(quantity, paper, here, (here - 0.1, here + 0.1), verdict, "why; common")


def test_a_reproduction_counts_its_verdicts_and_shows_differences():
    found = reproduced(
        row("a", 2.0, 2.1, "yes"), row("b", 4.0, 8.0, "no"), row("c", None, 1.0, "yes"), row("d", 0.0, 0.0, "yes")
    )
    page = page_of_reproduction(found)
    assert page.answer == [
        "Of the 3 numbers that the paper prints, 2 were reproduced, 1 not.",
        "Of 1 claim in words, 1 holds, and 0 fail.",
    ]
    assert [one.value for one in page.numbers] == ["2 of 3", "52.5 %", "1 of 1"]
    grid = block(page, "numbers", kind="grid")
    assert [line[-1] for line in grid.rows] == ["+5.0 %", "+100.0 %", "–", "–"]
    assert [line[2] for line in grid.rows] == ["yes", "no", "claim holds", "yes"]
    dots = block(page, "numbers").figure["data"][0]
    assert (dots["y"], dots["x"]) == (["1: a", "2: b"], [105.0, 200.0])
    assert "idle_w 0" in page.assumptions[0]


def test_a_quick_reproduction_decides_nothing():
    page = page_of_reproduction(reproduced(number("a", np.array([1.0, 2.0])).unjudged(), quick=True))
    assert "decides nothing" in page.answer[0]
    assert page.assumptions[0].startswith("A quick run")
    assert not any("reproduced" in name for name in block(page, "numbers", kind="grid").header)


def test_a_sweep_says_which_policy_is_best_over_all_cells(answers):
    runs = answers["sweep"]
    page = page_of_sweep(runs)
    ratios = [
        own.filter(policy="easy")["energy_j"][0] / own.filter(policy="fcfs")["energy_j"][0]
        for _, own in runs.group_by("workload", "platform", maintain_order=True)
    ]
    assert f"on average {np.mean(ratios):.3f} times that of fcfs" in page.answer[0]
    assert page.numbers[0].value == f"×{np.mean(ratios):.3f}"
    assert page.numbers[2].value == str(len(runs))
    assert [line[1] for line in block(page, "cells").rows] == [f"{ratio:.3f}" for ratio in ratios]
    assert page_of_sweep(runs, baseline="easy").answer[0].count("of easy") == 1


def test_a_number_in_the_names_is_the_axis_of_a_sweep(log):
    machine, loads = hs.Platform.homogeneous(6, 100, 300), {f"load={load}": log for load in (0.5, 0.9)}
    figure = block(page_of_sweep(hs.sweep(loads, machine, ["fcfs", "easy"], workers=1, progress=None)), "axes").figure
    assert figure["layout"]["xaxis"]["title"]["text"] == "load"
    assert unpacked(figure["data"][0]["x"]).tolist() == pytest.approx([0.5, 0.9])


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (pl.DataFrame({"policy": ["a"]}), {}, "no column workload, platform, seed"),
        (None, {}, "the frame of a sweep"),
        ("own", {"baseline": "esay"}, "did you mean `easy`"),
        ("own", {"metrics": ["energy"]}, "metrics: found `energy`"),
    ],
)
def test_a_frame_of_something_else_is_refused(answers, tmp_path, runs, options, message):
    runs = answers["sweep"] if isinstance(runs, str) else runs
    with pytest.raises(hs.ConfigError, match=message):
        hs.report.sweeps.write_page(runs, tmp_path / "s.html", **options)


def test_windows_of_a_contract_are_shaded_under_their_names(log, answers):
    page = answers["compare"]._page().page()
    figure = block(page, "power").figure
    name = "08:00–12:00: 1.200 kW"
    assert [trace["name"] for trace in figure["data"][-2:]] == ["contract's limit", name]
    shapes = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]
    # The axis is one of days, as the log does not say its dates.
    assert [24 * (shape["x1"] - shape["x0"]) for shape in shapes[1:-1]] == pytest.approx([4.0] * (len(shapes) - 2))
    assert len(shapes) >= 20
    assert page.answer


def test_limits_at_once_are_shaded_under_the_lowest_one(log):
    limits = [{"limit_w": 1000, "days": "mon"}, {"limit_w": 800, "from": "10:00", "until": "11:00"}]
    contract = hs.Contract(limits=limits, starts="2026-03-02T00:00")
    machine = hs.Platform.homogeneous(6, 100, 300)
    found = hs.compare(log, machine, ["easy", "fcfs"], contract=contract, progress=None)
    windows = found._page().runs[0].windows
    assert windows["name"].unique(maintain_order=True).to_list() == ["mon: 1.000 kW", "10:00–11:00: 800.0 W"]
    assert windows["limit_w"].to_list()[:3] == [1000.0, 800.0, 1000.0]


def test_nodes_by_state_are_all_nodes_at_any_time(answers):
    page = RunsPage([RunShown.of(answers["simulate"])]).page()
    (chart,) = [one for one in block_list(page, "nodes") if one.label.startswith("States")]
    names = [trace["name"] for trace in chart.figure["data"]]
    assert names == ["at work", "idle", "off", "booting or shutting down"]
    whole = sum(unpacked(trace["y"]) for trace in chart.figure["data"])
    assert whole == pytest.approx(np.full(len(whole), 6.0), rel=1e-5)


def block_list(page, section):
    (found,) = [one for one in page.sections if one.key == section]
    return found.blocks


@pytest.mark.parametrize("kind", ["validate", "whatif", "provision", "guideline", "reproduce"])
@pytest.mark.parametrize("path", ["page.png", "", 7, None])
def test_a_page_is_an_html_file(answers, kind, path):
    with pytest.raises(hs.ConfigError, match=r"ending in \.html"):
        answers[kind].report(path)


def test_a_sweep_without_a_ratio_has_three_numbers_too(log):
    machine = hs.Platform.homogeneous(400, 100, 300)
    idle = hs.sweep(log, machine, ["fcfs", "easy"], workers=1, progress=None)
    assert idle["mean_wait_s"].to_list() == [0.0, 0.0]
    numbers = page_of_sweep(idle).numbers
    assert [one.value for one in numbers] == ["×1.000", "–", "2"]
    alone = page_of_sweep(idle.head(1))
    assert len(alone.numbers) == 3
    assert len(alone.answer) == 2
    assert len(page_of_sweep(idle, metrics=["energy_j"]).numbers) == 3
