"""Pages of runs as text: what they say, and that nothing in a name becomes markup or script."""

import base64
import json
import re
import sys

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.report.page import charts
from hetsched.report.page.document import Chart, Grid, Number, Page, Section, Words
from hetsched.report.page.runs import RunsPage, page_of_results
from hetsched.report.page.shown import BINS, RunShown, Shown

pytest.importorskip("plotly")
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

HOSTILE = "</script><script>alert(1)</script> \"quoted\" 'too' & \x1b[31mred\u2028"


def machine(nodes=4, **more):
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, **more)


def log(count=60, user="ann", seed=1):
    rng = np.random.default_rng(seed)
    runtime = rng.integers(200, 9000, count)
    return hs.Workload.from_polars(
        pl.DataFrame(
            {
                "job_id": range(1, count + 1),
                "submit_s": np.sort(rng.integers(0, 80_000, count)),
                "runtime_s": runtime,
                "walltime_s": 2 * runtime,
                "node_count": rng.integers(1, 4, count),
                "user": [user if job % 2 else "bo" for job in range(count)],
            }
        )
    )


def shown(*policies, workload=None, platform=None):
    runs = [hs.simulate(workload or log(), platform or machine(), policy) for policy in policies]
    return [RunShown.of(run) for run in runs]


def own_part(html):
    """The page without its charting library."""
    return re.sub(r"<script>(?!\n?\"use strict\").*?</script>", "", html, flags=re.DOTALL)


def figures(html):
    return json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', html, re.DOTALL)[1])


def test_names_are_text_wherever_they_stand():
    blocks = [
        Words(HOSTILE),
        Grid(HOSTILE, [HOSTILE], [[HOSTILE]]),
        Chart(HOSTILE, HOSTILE, charts.bars([HOSTILE], [charts.Bars(HOSTILE, [1.0])], title=HOSTILE)),
    ]
    page = Page(
        HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE], [HOSTILE], [Number(HOSTILE, HOSTILE)], [Section("a", HOSTILE, blocks)]
    )
    html = page.html()
    assert html.count("<script") == 3, "of ours alone: data, library, and ours"
    assert "alert(1)</script>" not in html
    assert "\x1b" not in html, "control characters are left out"
    bar = figures(html)["chart-1"]["data"][0]
    assert bar["y"][0].replace("<br>", "").startswith("&lt;/script&gt;"), "plotly.js takes tags in text for markup"


def test_a_page_asks_for_nothing_from_elsewhere():
    html = RunsPage(shown("easy")).page().html()
    own = own_part(html)
    assert not re.findall(r"(?:src|href)=[\"'](?!#|data:)", own)
    assert "http" not in own
    assert len(html) < 8e6


def test_numbers_come_back_as_they_were_packed():
    values = np.array([0.0, 1.5, -2.25, 1e9])
    own = charts.packed(values)
    assert np.frombuffer(base64.b64decode(own["bdata"]), dtype="<f4").tolist() == values.tolist()
    dates = charts.TimeAxis(0.0, 10.0, unix_zero_s=1.7e9).packed([0.25])
    assert np.frombuffer(base64.b64decode(dates["bdata"]), dtype="<f8").tolist() == [1.7e12 + 250.0]


def test_the_answer_is_of_the_policy_with_the_least_energy():
    platform = machine(boot_s=60, shutdown_s=30, off_w=5)
    runs = shown("easy", "fcfs", "easy:sleep=timeout", platform=platform)
    page = RunsPage(runs).page()
    saved = runs[0].summary["energy_j"] - runs[2].summary["energy_j"]
    assert saved > 0
    assert page.answer[0].startswith("Of 2 policies held against easy, easy:sleep=timeout uses ")
    assert f"{100 * saved / runs[0].summary['energy_j']:.1f} %" in page.answer[0]
    assert page.numbers[0].name == "energy saved"
    assert any("boots in 60 s" in line or "boots in 1.0 min" in line for line in page.assumptions)


def test_jobs_that_wait_over_an_hour_longer_are_counted():
    runs = shown("easy", "fcfs", workload=log(120))
    waits = [run.jobs["wait_s"].to_list() for run in runs]
    expected = sum(after - before > 3600 for before, after in zip(*waits, strict=True))
    own = Shown(runs)
    assert own.best is runs[1]
    assert int(own.worse.sum()) == expected > 0
    assert f"{expected} job" in RunsPage(runs).page().answer[1]


def test_no_saving_is_claimed_of_work_that_was_not_done():
    whole = hs.simulate(log(), machine(), "easy")
    cut = hs.simulate(log(), machine(), "fcfs", until_s=30_000)
    answer = RunsPage([RunShown.of(whole), RunShown.of(cut)]).page().answer
    assert "no saving" in answer[1]


def test_a_line_has_a_bounded_number_of_intervals():
    run = shown("easy", workload=log(3000))[0]
    assert len(run.bins) == BINS
    mean = run.bins["power_w_mean"].to_numpy()
    length = (run.bins["end_s"] - run.bins["start_s"]).to_numpy()
    assert (mean * length).sum() == pytest.approx(run.summary["energy_j"], rel=1e-9)


def test_a_budget_in_time_is_drawn_and_shaded():
    row = {"time_s": [10_000.0], "kind": ["budget"], "value": [700.0], "until_s": [40_000.0]}
    policy = hs.Policy.preset("easy", power={"name": "system-budget", "budget_w": 1200})
    result = hs.simulate(log(), machine(), policy, events=hs.Events.from_polars(pl.DataFrame(row)))
    page = RunsPage([RunShown.of(result)]).page()
    chart = next(section for section in page.sections if section.key == "power").blocks[0]
    assert chart.figure["data"][-1]["name"] == "budget"
    assert "budget in force" in chart.note


def test_every_node_is_on_the_map():
    run = shown("easy", platform=machine(nodes=7))[0]
    section = next(one for one in RunsPage([run]).page().sections if one.key == "nodes")
    cells = [cell for row in section.blocks[0].figure["data"][0]["z"] for cell in row if cell is not None]
    assert cells == [round(joules / 3.6e6, 3) for joules in run.nodes["energy_j"]]


def test_results_of_one_policy_share_its_charts_and_have_intervals_in_the_table():
    platform = machine(nodes=4)
    results = [hs.simulate(log(seed=seed), platform, policy) for policy in ("easy", "fcfs") for seed in (1, 2, 3)]
    page = page_of_results(results, baseline="fcfs")
    assert [run.policy for run in page.runs] == ["fcfs", "easy"]
    assert page.table.filter(policy="easy", metric="energy_j")["runs"].item() == 3


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(hs.ConfigError, match=r"installation without plotly.*hetsched\[report\]"):
        hs.simulate(log(), machine(), "easy").report("run.html")


@pytest.mark.parametrize("path", ["run.png", "", 7, None])
def test_a_page_is_an_html_file(path):
    with pytest.raises(hs.ConfigError, match=r"ending in \.html"):
        hs.simulate(log(), machine(), "easy").report(path)


def test_a_chart_of_bars_has_room_for_the_longest_name_in_each_row():
    names = ["a", "package power saved vs sequence, ids uncorrelated, run time as in the paper, %"]
    lines = charts.bars(names, [charts.Bars("ours", [1.0, 2.0])], title="")["data"][0]["y"][1].count("<br>") + 1
    assert lines >= 3
    assert charts.bar_height(names * 8) >= 16 * 16 * lines
