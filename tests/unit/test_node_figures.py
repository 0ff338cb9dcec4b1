"""Pictures of nodes that sleep or fail, and of queues: what they show of runs whose numbers are known."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import hetsched as hs
from hetsched.analysis import NODE_STATES, busy_grid, node_states
from hetsched.many.outcome import Keep, Outcome
from hetsched.report.canvas import picture_bytes
from hetsched.report.node_states import MOST_ROWS, node_map, node_use, queue_waits, states_over_time

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SLEEP: dict[str, Any] = {"off_w": 0.0, "boot_s": 60.0, "shutdown_s": 60.0}
MACHINE: dict[str, Any] = {"nodes": 4, "idle_w": 50.0, "tdp_w": 200.0, **SLEEP}
QUEUES = [hs.Queue("short", "0-1"), hs.Queue("long", "2-3")]


def run(policy: str = "easy:sleep=timeout", *, fails: bool = True, **machine: Any) -> hs.Result:
    """Two jobs far apart; node 3 is down for a while."""
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 4000.0], "runtime_s": [500.0, 1000.0], "node_count": [2, 2]}
    jobs["queue"] = ["short", "long"]
    rows = pl.DataFrame({"time_s": [1000.0, 2000.0], "kind": ["node_failed", "node_repaired"], "node": [3, 3]})
    events = hs.Events.from_polars(rows) if fails else None
    platform = hs.Platform.homogeneous(**{**MACHINE, **machine})
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, policy, events=events)


@pytest.fixture(scope="module")
def result() -> hs.Result:
    return run()


@pytest.fixture(scope="module")
def pictures(result: hs.Result) -> dict[str, Any]:
    return {
        "nodes": lambda: states_over_time(result.timeline, title="four"),
        "node-map": lambda: node_map(node_states(result), nodes=4, title="four"),
        "queue-waits": lambda: queue_waits(result.jobs, title="four"),
    }


NAMES = ["nodes", "node-map", "queue-waits"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_picture_has_the_same_bytes(pictures: dict[str, Any], name: str) -> None:
    first, second = (picture_bytes(pictures[name](), ".svg") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", NAMES)
def test_no_type_is_below_eight_points(pictures: dict[str, Any], name: str) -> None:
    shown = [text for text in pictures[name]().findobj(Text) if text.get_text() and text.get_visible()]
    assert len(shown) > 5
    assert min(text.get_fontsize() for text in shown) >= 8.0


@pytest.mark.parametrize("name", NAMES)
def test_the_legend_stays_inside_of_the_picture(pictures: dict[str, Any], name: str) -> None:
    figure = pictures[name]()
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1


def test_areas_are_the_nodes_in_each_state(result: hs.Result, pictures: dict[str, Any]) -> None:
    (axes,) = pictures["nodes"]().axes
    heights = []
    for area in axes.collections:
        points = area.get_paths()[0].vertices
        # Twice the area of a polygon.
        x, y = points.T
        heights.append(abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2)
    hours = result.nodes.select("busy_s", "idle_s", "transition_s", "off_s", "down_s").sum().row(0)
    assert heights == pytest.approx([seconds / axes_unit(axes) for seconds in hours], rel=1e-6)
    assert axes.get_ylim() == pytest.approx((0, 4))


def axes_unit(axes: Any) -> float:
    return {"hours": 3600.0, "minutes": 60.0, "seconds": 1.0}[axes.get_xlabel().split()[0]]


def test_the_map_shows_each_node_in_its_row(result: hs.Result, pictures: dict[str, Any]) -> None:
    (axes,) = pictures["node-map"]().axes
    (image,) = axes.get_images()
    grid = np.asarray(image.get_array())
    assert grid.shape[0] == 4
    width_s = 5060.0 / grid.shape[1]
    names = [NODE_STATES[place] for place in (grid[3, int(1500 / width_s)], grid[0, 5], grid[0, int(3000 / width_s)])]
    assert names == ["down", "busy", "off"]
    told = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert told == ["working", "idle", "boot, shutdown", "off", "down"]


def test_the_legend_has_only_what_there_is() -> None:
    told = [text.get_text() for text in states_over_time(run("easy", fails=False).timeline).legends[0].get_texts()]
    assert told == ["working", "idle"]


def test_nodes_of_a_large_machine_share_rows() -> None:
    states = node_states(run(nodes=4 * MOST_ROWS, fails=False))
    (image,) = node_map(states, nodes=4 * MOST_ROWS).axes[0].get_images()
    assert image.get_array().shape[0] == MOST_ROWS


def busy_by_states(result: hs.Result, *, rows: int, bins: int) -> np.ndarray:
    """The share of time at work from the stretches of each node, one after the other."""
    states = node_states(result).filter(state="busy")
    nodes, (from_s, until_s) = len(result.nodes), result.timeline["time_s"].to_numpy()[[0, -1]]
    edges, found = np.linspace(from_s, until_s, bins + 1), np.zeros((rows, bins))
    for node, start_s, end_s in states.select("node", "start_s", "end_s").iter_rows():
        inside = np.clip(np.minimum(end_s, edges[1:]) - np.maximum(start_s, edges[:-1]), 0.0, None)
        found[node * rows // nodes] += inside / np.diff(edges)
    return found / np.bincount(np.arange(nodes) * rows // nodes, minlength=rows)[:, None]


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("rows", [7, 3])
def test_the_share_of_time_at_work_is_that_of_the_states(
    is_shared: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    jobs = {
        "job_id": np.arange(200),
        "submit_s": np.sort(rng.integers(0, 9000, 200)),
        "runtime_s": rng.integers(1, 900, 200),
        "node_count": rng.integers(1, 4, 200),
    }
    machine = hs.Platform.homogeneous(7, 50.0, 200.0, slots=3, exclusive=not is_shared)
    if is_shared:
        jobs["slots_per_node"] = rng.integers(1, 3, 200)
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), machine, "easy")
    from_s, until_s = result.timeline["time_s"].to_numpy()[[0, -1]].tolist()
    monkeypatch.setattr(sys.modules["hetsched.analysis.timeline"], "_AT_ONCE", 23)
    found = busy_grid(result.segments, nodes=7, rows=rows, bins=11, from_s=from_s, until_s=until_s)
    assert found == pytest.approx(busy_by_states(result, rows=rows, bins=11), abs=1e-9)
    assert 0.1 < found.mean() < 1


def test_a_map_of_use_is_blue_for_work_and_grey_for_idling() -> None:
    busy = np.array([[0.0, 1.0], [0.5, 0.25]])
    figure = node_use(busy, nodes=2, window=(0.0, 7200.0), title="easy, 2 nodes")
    (axes,) = figure.axes
    (image,) = axes.get_images()
    assert np.asarray(image.get_array()).tolist() == busy.tolist()
    assert image.get_extent() == [0.0, 2.0, -0.5, 1.5]
    grey, between, blue = (image.to_rgba(np.array([[share]]))[0, 0, :3] for share in (0.0, 0.5, 1.0))
    assert np.ptp(grey) == 0
    assert blue[2] > 0.5 > blue[0]
    assert grey.sum() > between.sum() > blue.sum()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "idle",
        "working half of the time",
        "working",
    ]


def test_waits_of_queues_are_their_quantiles() -> None:
    waits = {"a": np.arange(101.0), "b": np.full(7, 30.0)}
    jobs = pl.concat(pl.DataFrame({"queue": name, "wait_s": own}) for name, own in waits.items())
    jobs = pl.concat([jobs, pl.DataFrame({"queue": [None, "c"], "wait_s": [5.0, None]})])
    (axes,) = queue_waits(jobs).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a (101)", "b (7)"]
    box = axes.patches[0]
    assert (box.get_x(), box.get_x() + box.get_width()) == (25.0, 75.0)
    range_, median, mean = (line.get_xdata() for line in axes.lines[:3])
    assert (list(range_), list(median), list(mean)) == ([5.0, 95.0], [50.0], [50.0])


def drawn(result: hs.Result) -> Any:
    return Outcome.of("p", result, Keep(drawn=True)).machine


def test_runs_have_the_pictures_that_show_something() -> None:
    asleep, plain = drawn(run()), drawn(run("easy", fails=False))
    queued = drawn(run(hs.Policy("fcfs", "plan"), fails=False, queues=QUEUES))  # type: ignore[arg-type]
    assert all(len(own.timeline) for own in (asleep, plain, queued))
    assert [own.states is not None for own in (asleep, plain, queued)] == [True, False, False]
    assert [own.waits is not None for own in (asleep, plain, queued)] == [False, False, True]
    assert [own.busy is not None for own in (asleep, plain, queued)] == [False, True, True]
    # Nodes that sleep are no reason for a picture of a power budget.
    power = Outcome.of("p", run(), Keep(drawn=True)).power
    assert power is not None
    assert power.timeline is None


def test_nothing_to_draw_is_an_empty_picture() -> None:
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [0.0], "node_count": [1]})
    done = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(**MACHINE), "easy")
    assert states_over_time(done.timeline).axes
    assert node_map(node_states(done), nodes=4).axes
    assert queue_waits(done.jobs).axes
