"""Pictures that can be read: no axis below what there is, no name cut, no words over dots, no outlines over boxes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import ratios_to_baseline
from hetsched.many.outcome import Keep, Outcome
from hetsched.report import budgets, experiment, figures, node_states
from hetsched.report.over_axis import over_axis
from hetsched.report.whatifs import setting_figure

pytest.importorskip("matplotlib")
pytestmark = [
    pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"),
    # Where names leave no room for axes, matplotlib says so and draws something else.
    pytest.mark.filterwarnings("error:constrained_layout not applied"),
]

LONG = "accounting-queue-of-the-department-of-applied-mathematics-and-physics"


def laid_out(figure: Any) -> Any:
    """A figure with all its parts in their places."""
    figure.set_dpi(300)
    figure.draw_without_rendering()
    return figure


def is_inside(figure: Any) -> bool:
    """True if nothing that is drawn leaves the picture."""
    drawn = laid_out(figure).get_tightbbox()
    wide, high = figure.get_figwidth(), figure.get_figheight()
    return bool(0 <= drawn.x0 < drawn.x1 <= wide and 0 <= drawn.y0 < drawn.y1 <= high)


def repeated() -> pl.DataFrame:
    """Waits of three seeds that lie so far apart that half the width of their interval is more than their mean."""
    waits = [10.0, 500.0, 4000.0, 100.0, 1000.0, 10_000.0]
    rows = {"load": [0.6] * 6, "policy": ["a"] * 3 + ["b"] * 3, "seed": [0, 1, 2] * 2, "mean_wait_s": waits}
    return ratios_to_baseline(pl.DataFrame(rows), baseline="b", metrics=["mean_wait_s"], by="load")


@pytest.mark.parametrize("show", ["ratio", "mean"])
def test_an_interval_of_waits_reaches_no_lower_than_zero(show: str) -> None:
    table = repeated()
    assert (table["half_width_95"] > table["mean"]).all()
    (axes,) = over_axis(table, "mean_wait_s", axis="load", show=show).axes
    assert axes.get_ylim()[0] == 0.0
    ends = [y for drawn in axes.collections for path in drawn.get_segments() for _, y in path]
    assert min(ends) >= 0.0


def test_an_axis_of_values_below_zero_shows_them() -> None:
    table = repeated().with_columns(mean=-pl.col("mean"))
    (axes,) = over_axis(table, "mean_wait_s", axis="load", show="mean").axes
    assert axes.get_ylim()[0] < float(table["mean"].min() / 3600)  # type: ignore[operator]


def settings(waits_s: list[float], half_s: float) -> pl.DataFrame:
    """Settings without a common row that beats another."""
    count = len(waits_s)
    wait, energy = np.array(waits_s), 3.6e9 * np.arange(count, 0, -1.0)
    return pl.DataFrame(
        {
            "row": range(count),
            "setting": ["today", *(f"nodes={place}" for place in range(1, count))],
            "pareto": [True] * count,
            "mean_wait_s": wait,
            "energy_j": energy,
            **{f"mean_wait_s_change{end}": wait - wait[0] + by for end, by in _ends(half_s)},
            **{f"energy_j_change{end}": energy - energy[0] for end, _ in _ends(0.0)},
        }
    )


def _ends(half: float) -> list[tuple[str, float]]:
    return [("", 0.0), ("_low", -half), ("_high", half)]


def test_a_setting_waits_no_less_than_no_time() -> None:
    (axes,) = setting_figure(settings([3600.0, 1800.0, 600.0], 7200.0), ("mean_wait_s", "energy_j")).axes
    ends = [x for drawn in axes.collections for path in drawn.get_segments() for x, _ in path]
    assert min(ends) == 0.0


def test_words_on_an_axis_of_energy_cover_no_dot() -> None:
    rows = {"policy": ["a", "b"], "mean_wait_s": [1.0, 60.0], "energy_j": [9.0e9, 9.9e9]}
    (axes,) = laid_out(figures.energy_against_wait(pl.DataFrame(rows))).axes
    (words,) = [text.get_window_extent() for text in axes.texts if "does not start" in text.get_text()]
    dots = [axes.transData.transform(drawn.lines[0].get_xydata()[0]) for drawn in axes.containers]
    assert len(dots) == 2
    assert all(y > words.y1 for _, y in dots)


def with_long_names() -> dict[str, Any]:
    """Pictures with a name in each place where a user's own may stand."""
    jobs = pl.DataFrame({"queue": [LONG, "b"] * 20, "wait_s": np.random.default_rng(0).exponential(1000, 40)})
    rows = {"workload": [LONG, "b"] * 2, "policy": [LONG] * 2 + ["easy"] * 2, "mean_wait_s": [40.0, 90.0, 10.0, 60.0]}
    table = ratios_to_baseline(pl.DataFrame(rows), baseline="easy", metrics=["mean_wait_s"], by="workload")
    saved = {"panel": "busy", "label": [LONG, LONG, "b", "b"], "saving": [1.0, 2.0, 3.0, 4.0]}
    savings = pl.DataFrame({**saved, "attainable": 5.0, "paper": [None, None, 3.0, 3.0]})
    return {
        "queues": node_states.queue_waits(jobs, title=LONG * 2),
        "over an axis": over_axis(table, "mean_wait_s", axis="workload"),
        "an experiment": experiment.experiment_figure(savings, title=LONG * 2),
    }


@pytest.mark.parametrize("name", ["queues", "over an axis", "an experiment"])
def test_long_names_are_whole_and_leave_room_for_what_they_name(name: str) -> None:
    figure = with_long_names()[name]
    assert is_inside(figure)
    for axes in figure.axes:
        assert axes.get_window_extent().width > 0.35 * figure.bbox.width
        assert axes.get_window_extent().height > 0.25 * figure.bbox.height
    written = "".join(text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text")))
    assert LONG in written.replace("\n", "").replace(" ", "")


def panels(ticks: list[str], columns: int = 1) -> Any:
    """A picture of an experiment with those ticks in each column."""
    values = np.random.default_rng(0).random((3, len(ticks)))
    curves = [
        experiment.curve(values, row="saving", column=f"c{column}", label="easy", ticks=ticks)
        for column in range(columns)
    ]
    return laid_out(experiment.panel_figure(pl.concat(curves)))


@pytest.mark.parametrize(
    ("ticks", "columns", "rotation"),
    [
        (["as it is", "move 2", "share all"], 1, 0.0),
        (["as it is", "move 2", "share all"] * 6, 1, 90.0),
        (["400", "", "680", "", "960"], 5, 0.0),
        (["9:1-small", "9:1-medium", "9:1-large"], 5, 90.0),
    ],
)
def test_ticks_of_experiments_are_upright_where_they_fit_and_never_overlap(
    ticks: list[str], columns: int, rotation: float
) -> None:
    figure = panels(ticks, columns)
    assert is_inside(figure)
    for axes in figure.axes:
        shown = [tick for tick in axes.get_xticklabels() if tick.get_text()]
        assert {tick.get_rotation() for tick in shown} == {rotation}
        boxes = [tick.get_window_extent() for tick in shown]
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def run(count: int, nodes: int, *, runtime_s: float = 3600.0, **options: Any) -> hs.Result:
    """Jobs of one node that are submitted every ten minutes."""
    jobs = {"job_id": range(count), "submit_s": np.arange(count) * 600.0, "runtime_s": runtime_s, "node_count": 1}
    machine = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, **options)
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), machine, "easy")


@pytest.mark.parametrize("nodes", [1, 900])
def test_every_run_has_its_nodes_by_state_and_by_node(nodes: int) -> None:
    own = Outcome.of("easy", run(40, nodes), Keep(drawn=True)).machine
    assert own is not None
    assert own.busy is not None
    (axes,) = node_states.states_over_time(own.timeline).axes
    assert axes.get_ylim()[1] == nodes


def test_boxes_of_a_few_pixels_have_no_outline() -> None:
    segments = run(250, 900).segments
    (axes,) = budgets.speeds(segments, nodes=900).axes
    frames = axes.collections[-1]
    assert set(frames.get_linewidths()) == {0.0}
    (axes,) = budgets.speeds(run(5, 2).segments, nodes=2).axes
    assert min(axes.collections[-1].get_linewidths()) > 0.0


def test_an_arrow_at_the_edge_of_ratios_covers_no_name() -> None:
    rows = {"policy": ["a", "b"], "mean_wait_s": [1000.0, 10.0], "energy_j": [1.0, 1.1]}
    table = ratios_to_baseline(pl.DataFrame(rows), baseline="a", metrics=["mean_wait_s", "energy_j"])
    (axes,) = laid_out(figures.ratios(table, baseline="a")).axes
    (arrow,) = [line for line in axes.lines if line.get_marker() == "<"]
    reach = arrow.get_markersize() / 2 / 72 * 300
    left = axes.transData.transform((arrow.get_xdata()[0], 0.0))[0] - reach
    gap = 2 / 72 * 300
    assert max(label.get_window_extent().x1 for label in axes.get_yticklabels()) < left - gap
