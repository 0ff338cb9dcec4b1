"""Pictures of power in time: what they show of a run whose numbers are known, and that other runs keep theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import hetsched as hs
from hetsched.features.feature import terms_of
from hetsched.many.outcome import Keep, Outcome
from hetsched.report import figures
from hetsched.report.budgets import MOST_STEPS, power_and_budget, speeds
from hetsched.report.canvas import picture_bytes
from hetsched.report.charts import MOST_JOBS
from hetsched.run.options import RunOptions

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES = 4
ROWS = {"time_s": [40.0, 90.0], "kind": ["budget"] * 2, "value": [450.0, 250.0], "until_s": [60.0, 120.0]}


def run(*, on_excess: tuple[str, ...] = ("lower-caps", "suspend"), events: bool = True, **rules: Any) -> hs.Result:
    """Two jobs on three of four nodes of 50 to 200 W."""
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [100.0, 90.0], "node_count": [2, 1]}
    machine = hs.Platform.homogeneous(NODES, 50.0, 200.0).with_cap_model(static_w=50.0)
    policy = hs.Policy.preset("power-slurm", budget_w=1000.0, on_excess=list(on_excess), caps_w=[120.0], **rules)
    rows = hs.Events.from_polars(pl.DataFrame(ROWS)) if events else None
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), machine, policy, events=rows)


@pytest.fixture(scope="module")
def result() -> hs.Result:
    return run()


@pytest.fixture(scope="module")
def pictures(result: hs.Result) -> dict[str, Any]:
    return {
        "budget": lambda: power_and_budget(result.timeline, result.events, title="two"),
        "speeds": lambda: speeds(result.segments, nodes=NODES, title="two"),
    }


@pytest.mark.parametrize("name", ["budget", "speeds"])
def test_the_same_picture_has_the_same_bytes(pictures: dict[str, Any], name: str) -> None:
    first, second = (picture_bytes(pictures[name](), ".svg") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["budget", "speeds"])
def test_no_type_is_below_eight_points(pictures: dict[str, Any], name: str) -> None:
    shown = [text for text in pictures[name]().findobj(Text) if text.get_text() and text.get_visible()]
    assert len(shown) > 5
    assert min(text.get_fontsize() for text in shown) >= 8.0


def test_the_draw_and_the_budget_are_those_of_the_timeline(result: hs.Result, pictures: dict[str, Any]) -> None:
    above, marks = pictures["budget"]().axes
    draw, budget = (line.get_ydata() for line in above.lines)
    unit = 1000.0 if "kW" in above.get_ylabel() else 1.0
    assert (np.asarray(draw) * unit).tolist() == pytest.approx(result.timeline["power_w"].to_list())
    assert (np.asarray(budget) * unit).tolist() == pytest.approx(result.timeline["budget_w"].to_list())
    counts = dict(result.events.filter(pl.col("kind") != "budget")["kind"].value_counts().rows())
    assert {"alert", "lower-cap", "raise-cap", "suspend", "resume"} <= counts.keys()
    told = [tick.get_text() for tick in marks.get_yticklabels()]
    assert sorted(told) == sorted(f"{kind} ({count})" for kind, count in counts.items())
    assert [len(line.get_xdata()) for line in marks.lines] == [counts[name.split(" ")[0]] for name in told]


def test_the_excess_is_filled_with_time_and_energy_in_the_legend() -> None:
    timeline, events = beyond()
    figure = power_and_budget(timeline, events)
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    (excess,) = [area for area in figure.axes[0].collections if area.get_label().startswith("beyond")]
    boxes = [[*path.vertices.min(axis=0), *path.vertices.max(axis=0)] for path in excess.get_paths()]
    assert np.array(boxes) == pytest.approx(np.array([[40.0, 0.45, 60.0, 0.65], [90.0, 0.25, 100.0, 0.65]]))
    rows = timeline.with_columns(
        length_s=pl.col("time_s").shift(-1) - pl.col("time_s"), over=pl.col("power_w") - pl.col("budget_w")
    )
    rows = rows.filter(pl.col("over") > 0).drop_nulls()
    energy_j = (rows["over"] * rows["length_s"]).sum()
    assert told == [
        "draw",
        "power budget",
        f"beyond the budget: {rows['length_s'].sum():.2f} s, {energy_j / 3600:.3f} Wh",
    ]
    inside = run(on_excess=("lower-caps", "suspend"))
    figure = power_and_budget(inside.timeline, inside.events)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["draw", "power budget"]


def beyond() -> tuple[pl.DataFrame, pl.DataFrame]:
    result = run(on_excess=())
    assert result.summary()["over_budget_s"] > 0
    return result.timeline, result.events


def test_without_budgets_in_time_the_fixed_one_is_drawn() -> None:
    result = run(events=False)
    (axes,) = power_and_budget(result.timeline, result.events, budget_w=1000.0).axes
    assert set(axes.lines[1].get_ydata()) == {1.0}
    (axes,) = power_and_budget(result.timeline, result.events).axes
    assert len(axes.lines) == 1


def test_a_long_timeline_is_drawn_as_means_and_its_shortest_excess_stays() -> None:
    rows = MOST_STEPS * 3
    power_w = 200.0 + 100.0 * (np.arange(rows + 1) % 2)
    power_w[700] = 900.0
    timeline = pl.DataFrame({"time_s": np.arange(rows + 1.0), "power_w": power_w, "budget_w": 500.0})
    figure = power_and_budget(timeline, run(events=False).events)
    (axes,) = figure.axes
    draw = axes.lines[0].get_ydata()
    assert len(draw) == MOST_STEPS + 1
    assert draw.mean() == pytest.approx(250.0, abs=1.0)
    (excess,) = [area for area in axes.collections if area.get_label().startswith("beyond")]
    assert [path.vertices[:4].tolist() for path in excess.get_paths()] == [
        [[700 / 60, 500.0], [701 / 60, 500.0], [701 / 60, 900.0], [700 / 60, 900.0]]
    ]
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == ["draw, mean of each 3 s", "power budget", "beyond the budget: 1.000 s, 400.0 J"]


def test_boxes_are_the_stretches(result: hs.Result, pictures: dict[str, Any]) -> None:
    axes, bar = pictures["speeds"]().axes
    runs, stands, frames = axes.collections
    assert len(runs.get_paths()) == len(result.segments.filter(state="running"))
    assert len(stands.get_paths()) == len(result.segments.filter(state="suspended")) > 0
    assert len(frames.get_paths()) == 2
    assert bar.get_xlim() == (result.segments.filter(state="running")["speed_ratio"].min(), 1.0)
    written = [text.get_text() for text in axes.texts]
    assert any(text.endswith("120 W") for text in written)
    # Slower is darker.
    slow = result.segments.filter(state="running")["speed_ratio"].to_numpy() < 1.0
    light = runs.get_facecolor()[:, :3].sum(axis=1)
    assert light[slow].max() < light[~slow].min()


def test_at_one_speed_there_is_no_bar_of_speeds() -> None:
    plain = run(events=False)
    assert len(speeds(plain.segments, nodes=NODES).axes) == 1


def test_more_jobs_than_can_be_numbered_are_refused(result: hs.Result) -> None:
    one = result.segments.head(1)
    many = pl.concat([one.with_columns(job_id=pl.lit(job, dtype=pl.Int64)) for job in range(MOST_JOBS + 1)])
    with pytest.raises(ValueError, match=f"{MOST_JOBS + 1} jobs, a chart shows at most {MOST_JOBS}"):
        speeds(many, nodes=NODES)


def test_nothing_to_draw_is_an_empty_chart() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [0.0], "node_count": [1]})
    machine = hs.Platform.homogeneous(NODES, 50.0, 200.0).with_cap_model(static_w=50.0)
    done = hs.simulate(hs.Workload.from_polars(jobs), machine, "power-slurm")
    assert speeds(done.segments, nodes=NODES).axes
    assert power_and_budget(done.timeline, done.events).axes


def test_budgets_in_time_are_steps_in_the_overview(result: hs.Result) -> None:
    outcome = Outcome.of("power-slurm", result, Keep(drawn=True))
    assert isinstance(outcome.budget_w, pl.DataFrame)
    line = figures.power(outcome.bins, budget_w=outcome.budget_w).axes[0].lines[-1]
    assert sorted(set(line.get_ydata())) == [0.25, 0.45, 1.0]


def test_a_run_without_budgets_in_time_has_none_of_these_pictures() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [60.0], "node_count": [1]})
    done = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(NODES, 50.0, 200.0))
    power = Outcome.of("easy", done, Keep(drawn=True)).power
    assert power is not None
    assert power.timeline is None
    assert power.segments is None


def test_a_policy_without_a_budget_is_drawn_under_its_contract() -> None:
    """Three of four nodes draw 650 W for three hours; from one to two o'clock 450 W are allowed."""
    window = {"limit_w": 450.0, "from": "01:00", "until": "02:00"}
    contract = hs.Contract(limits=[window], starts="2024-09-02T00:00")
    jobs = {"job_id": [1], "submit_s": [0.0], "runtime_s": [3 * 3600.0], "node_count": [3]}
    machine, log = hs.Platform.homogeneous(NODES, 50.0, 200.0), hs.Workload.from_polars(pl.DataFrame(jobs))
    result = hs.simulate(log, machine, "easy", contract=contract)
    terms = terms_of(log, machine, RunOptions(contract=contract))
    outcome = Outcome.of("easy", result, Keep(drawn=True), terms)
    assert outcome.power is not None
    timeline = outcome.power.timeline
    assert timeline is not None
    assert timeline["budget_w"].to_list() == [800.0, 450.0, 800.0, 800.0]
    assert timeline["time_s"].to_list() == [0.0, 3600.0, 7200.0, 10800.0]
    figure = power_and_budget(timeline, result.events)
    assert figure.legends[0].get_texts()[-1].get_text() == "beyond the budget: 1.000 h, 200.0 Wh"
    without = Outcome.of("easy", result, Keep(drawn=True)).power
    assert without is not None
    assert without.timeline is None
