"""Pictures: what they show, that they are the same bytes again, and that nothing in them is too small to read."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import hetsched as hs
from hetsched.analysis import ratios_to_baseline, run_bins, runs_frame, waiting_curve
from hetsched.errors import OutputError
from hetsched.report import figures
from hetsched.report.canvas import TimeAxis, picture_bytes, require_matplotlib, save, unix_zero
from hetsched.report.charts import MOST_JOBS
from hetsched.report.comparisons import FRONT
from hetsched.report.figures import energy_against_wait, gantt
from hetsched.report.ratios import ratio_text

NODES = 16
POLICIES = ("fcfs", "easy")


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(1)
    count = 60
    jobs = pl.DataFrame(
        {
            "job_id": np.arange(1, count + 1),
            "submit_s": np.sort(rng.integers(0, 60_000, count)),
            "runtime_s": rng.integers(60, 4000, count),
            "node_count": rng.integers(1, 12, count),
        }
    )
    workload = hs.Workload.from_polars(jobs)
    platform = hs.Platform.homogeneous(nodes=NODES, idle_w=100, tdp_w=300)
    return {policy: hs.simulate(workload, platform, policy) for policy in POLICIES}


@pytest.fixture(scope="module")
def pictures(results):
    bins = run_bins(results["easy"].jobs, results["easy"].timeline)
    curves = {policy: waiting_curve(result.jobs["wait_s"]) for policy, result in results.items()}
    table = ratios_to_baseline(results.values(), baseline="fcfs")
    return {
        "overview": lambda: figures.overview(bins, nodes=NODES, title="easy"),
        "power": lambda: figures.power(bins),
        "occupancy": lambda: figures.occupancy(bins, nodes=NODES),
        "waits": lambda: figures.waits(curves),
        "ratios": lambda: figures.ratios(table, baseline="fcfs"),
        "comparison": lambda: figures.comparison(table, curves, baseline="fcfs"),
        "gantt": lambda: gantt(results["easy"].jobs, nodes=NODES, title="easy"),
        "dated": lambda: figures.overview(bins, nodes=NODES, title="easy", budget_w=5e3, unix_zero_s=1.725e9),
        "energy-wait": lambda: energy_against_wait(runs_frame(results.values())),
    }


NAMES = ("overview", "power", "occupancy", "waits", "ratios", "comparison", "gantt", "dated", "energy-wait")


# How a format is written does not hang on what is drawn.
@pytest.mark.parametrize(
    ("name", "suffix"), [("overview", ".png"), ("overview", ".pdf"), *((name, ".svg") for name in NAMES)]
)
def test_the_same_picture_has_the_same_bytes(pictures, name, suffix):
    first, second = (picture_bytes(pictures[name](), suffix) for _ in range(2))
    assert first == second
    if suffix == ".svg":
        assert ET.fromstring(first).tag.endswith("svg")
        assert b"<dc:date>" not in first
    if suffix == ".pdf":
        assert first.startswith(b"%PDF")
        assert not [word for word in (b"CreationDate", b"Producer", b"/Type3") if word in first]


@pytest.mark.parametrize("name", NAMES)
def test_no_type_is_below_eight_points_at_half_a_page_or_a_whole_one(pictures, name):
    figure = pictures[name]()
    figure.draw_without_rendering()
    assert figure.get_figwidth() in ((7.2,) if name == "comparison" else (3.6,))
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(shown) > 5
    assert min(text.get_fontsize() for text in shown) >= 8.0


def axes_of(figure, label):
    return next(axes for axes in figure.axes if label in (axes.get_ylabel(), axes.get_xlabel().split("\n")[0]))


def test_power_is_stacked_from_the_jobs_to_the_total(results, pictures):
    figure = pictures["power"]()
    axes = axes_of(figure, "power (kW)")
    jobs, total = (area.get_paths()[0].vertices[:, 1].max() for area in axes.collections)
    # 16 nodes at 300 W are 4.8 kW at most, and idle nodes lie on top of those at work.
    assert jobs <= total <= 4.8 + 1e-9
    assert axes.lines[0].get_ydata().max() == pytest.approx(results["easy"].summary()["peak_power_w"] / 1000)
    assert axes.get_ylim()[0] == 0
    # 150 steps of a run of 67,466 s, in the legend.
    length_s = results["easy"].summary()["makespan_s"] / 150
    assert f"highest in each {length_s / 60:.2g} min" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_bins_taken_together_keep_their_mean_and_their_extremes():
    bins = pl.DataFrame({"start_s": range(7), "end_s": range(1, 8)}).with_columns(
        q_mean=pl.Series([1.0, 3, 5, 7, 9, 11, 2]), q_min=pl.Series([0.0, 2, 4, 6, 8, 10, 1]), q_max=pl.lit(20.0)
    )
    assert figures.coarser(bins, most=4).rows() == [
        (0, 2, 2.0, 0.0, 20.0),
        (2, 4, 6.0, 4.0, 20.0),
        (4, 6, 10.0, 8.0, 20.0),
        (6, 7, 2.0, 1.0, 20.0),
    ]
    assert figures.coarser(bins, most=7) is bins


def test_utilization_is_shown_in_percent_of_all_nodes(results, pictures):
    axes = axes_of(pictures["occupancy"](), "busy (%)")
    line = axes.lines[0].get_ydata()
    assert np.mean(line[:-1]) / 100 == pytest.approx(results["easy"].summary()["utilization_ratio"])


def test_jobs_that_do_not_wait_are_in_the_legend(results, pictures):
    figure = pictures["waits"]()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    shares = {policy: 100 * (result.jobs["wait_s"] == 0).mean() for policy, result in results.items()}
    assert labels == [f"{policy}: {shares[policy]:.0f} % did not wait" for policy in POLICIES]
    curve = figure.axes[0].lines[0]
    assert curve.get_ydata()[0] == pytest.approx(100 - shares["fcfs"])


def test_every_ratio_is_written_next_to_its_dot(results, pictures):
    axes = axes_of(pictures["ratios"](), "ratio to fcfs")
    table = ratios_to_baseline(results.values(), baseline="fcfs").filter(pl.col("policy") == "easy")
    assert [text.get_text() for text in axes.texts] == [ratio_text(ratio) for ratio in table["ratio"]]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.0, "0.000"), (1e-5, "< 0.001"), (0.99989, "1.000"), (1.00044, "1.000"), (9.9996, "10.0"), (156.3, "156")],
)
def test_ratios_are_written_with_three_decimals_or_three_digits(ratio, text):
    assert ratio_text(ratio) == text


def test_ratios_far_from_one_and_missing_ones_are_drawn():
    runs = pl.DataFrame(
        {"policy": ["a", "b", "c"], "mean_wait_s": [100.0, 1.0, 0.0], "energy_j": [0.0, 1.0, 2.0]},
    )
    table = ratios_to_baseline(runs, baseline="a", metrics=["mean_wait_s", "energy_j"])
    axes = axes_of(figures.ratios(table, baseline="a"), "ratio to a")
    # Of an energy of 0 there are no ratios, but the energies themselves, at the end of the axis.
    assert [text.get_text() for text in axes.texts] == ["0.010", "1.000 J", "0.000", "2.000 J"]
    arrows = [
        (line.get_marker(), *line.get_xdata())
        for line in axes.lines
        if line.get_marker() in "<>" and len(line.get_xdata())
    ]
    low, high = axes.get_xlim()
    assert arrows == [("<", low), (">", high), ("<", low), (">", high)]


def test_far_ratios_are_arrows_at_the_edge():
    runs = pl.DataFrame(
        {
            "policy": ["a", "a", "b", "b", "c", "c"],
            "mean_wait_s": [1.0, 1.0, 1.2, 0.1, 156.0, 156.0],
            "energy_j": [100.0, 100.0, 99.0, 98.0, 100.0, 101.0],
        }
    )
    table = ratios_to_baseline(runs, baseline="a", metrics=["mean_wait_s", "energy_j"])
    figure = figures.ratios(table, baseline="a")
    figure.draw_without_rendering()
    axes = axes_of(figure, "ratio to a")
    low, high = axes.get_xlim()
    assert (axes.get_xscale(), 0 < low < 1 < high < 5) == ("log", True)
    ends = [x for drawn in axes.collections for path in drawn.get_segments() for x, _ in path]
    assert min(ends) >= low
    assert max(ends) <= high
    assert [text.get_text() for text in axes.texts] == ["0.650", "0.985", "156", "1.005"]
    assert (">", [high]) in [(line.get_marker(), list(line.get_xdata())) for line in axes.lines]


def many_policies(count):
    runs = pl.DataFrame({"policy": [f"p{k}" for k in range(count)], "energy_j": [100.0 + k for k in range(count)]})
    curve = pl.DataFrame({"wait_s": [0.0, 60.0], "longer_ratio": [0.5, 0.0]})
    table = ratios_to_baseline(runs, baseline="p0", metrics=["energy_j"])
    return figures.comparison(table, {f"p{k}": curve for k in range(count)}, baseline="p0", runs=with_waits(runs))


def with_waits(runs):
    return runs.with_columns(mean_wait_s=pl.int_range(pl.len()).cast(pl.Float64))


def test_twenty_policies_look_different_in_all_panels():
    above, _, below = many_policies(20).axes
    dots = [drawn.lines[0] for drawn in above.containers]
    assert len({(dot.get_color(), dot.get_marker(), dot.get_fillstyle()) for dot in dots}) == 19
    looks = [(line.get_color(), line.get_marker(), line.get_fillstyle(), line.get_linestyle()) for line in below.lines]
    assert len({look[:3] for look in looks}) == len(looks) == 20
    # A policy looks the same in both; the baseline has no dot.
    assert [(dot.get_color(), dot.get_marker(), dot.get_fillstyle()) for dot in dots] == [own[:3] for own in looks[1:]]
    # Marks of equal curves lie apart, none behind the first.
    assert len({round(line.get_markevery()[0], 6) for line in below.lines}) == 20


def labels_of(runs):
    axes = axes_of(
        figures.ratios(ratios_to_baseline(runs, baseline="a", metrics=runs.columns[1:]), baseline="a"), "ratio to a"
    )
    return axes, [label.get_text() for label in axes.get_yticklabels()]


def test_a_row_of_ratios_is_named_in_full_with_what_its_one_stands_for():
    axes, labels = labels_of(pl.DataFrame({"policy": ["a", "b"], "job_energy_j": [3.6e6, 3.6e6], "max_wait_s": [0, 1]}))
    assert labels == [
        "energy of nodes at\nwork ↓\n1 = 1.000 kWh",
        "longest wait ↓\nno ratio to 0",
    ]
    assert axes.get_xlabel() == "ratio to a\n↓ lower is better"


@pytest.mark.parametrize("values", [[100.0, 0.727, 0.8], [100.0, 99.91, 100.21], [100.0] * 3, [1.0, 900.0, 2.0]])
def test_numbers_of_dots_stay_inside_of_the_axes(values):
    runs = pl.DataFrame({"policy": ["a", "b", "c"], "energy_j": values, "mean_wait_s": [100.0, 100.0, 99.0]})
    figure = figures.ratios(ratios_to_baseline(runs, baseline="a", metrics=["energy_j", "mean_wait_s"]), baseline="a")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    frame = axes.get_window_extent()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 4
    assert min(box.x0 for box in boxes) >= frame.x0
    assert max(box.x1 for box in boxes) <= frame.x1


def test_ratios_close_to_one_are_no_large_difference():
    axes, _ = labels_of(pl.DataFrame({"policy": ["a", "b", "c"], "energy_j": [1e6, 1_000_100.0, 999_980.0]}))
    assert [text.get_text() for text in axes.texts] == ["1.000", "1.000"]
    low, high = axes.get_xlim()
    assert low < 0.99 < 1.01 < high


@pytest.mark.parametrize(("waits_s", "sentence"), [([0.0, 0.0], "no job waited"), ([], "no job started")])
def test_waits_of_no_job_are_a_sentence(waits_s, sentence):
    curve = waiting_curve(pl.Series("wait_s", waits_s, dtype=pl.Float64))
    (axes,) = figures.waits({"fcfs": curve}).axes
    assert [text.get_text() for text in axes.texts] == [sentence]
    one = waiting_curve(pl.Series("wait_s", [0.0, 5.0]))
    assert not figures.waits({"fcfs": curve, "easy": one}).axes[0].texts


def test_a_gantt_chart_has_every_job_on_its_nodes(results, pictures):
    axes = axes_of(pictures["gantt"](), "node")
    jobs = results["easy"].jobs
    boxes = [box for drawn in axes.collections for box in drawn.get_paths()]
    area = sum(np.ptp(box.vertices[:, 0]) * np.ptp(box.vertices[:, 1]) for box in boxes)
    seconds = TimeAxis(0.0, results["easy"].summary()["makespan_s"]).scale
    assert area * seconds == pytest.approx((jobs["runtime_s"] * jobs["node_count"]).sum())
    assert axes.get_ylim() == (-0.5, NODES - 0.5)


def test_a_chart_of_too_many_jobs_is_refused():
    with pytest.raises(ValueError, match="301 jobs"):
        gantt(pl.DataFrame({"job_id": range(MOST_JOBS + 1)}), nodes=4)


def test_a_run_in_which_nothing_started_still_has_pictures(tmp_path):
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [9]})
    result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=1, tdp_w=2), "fcfs")
    bins = run_bins(result.jobs, result.timeline)
    save(figures.overview(bins, nodes=2), tmp_path / "overview.png")
    save(figures.waits({"fcfs": waiting_curve(result.jobs["wait_s"])}), tmp_path / "waits.png")
    save(gantt(result.jobs, nodes=2), tmp_path / "gantt.png")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("length_s", "label"),
    [(30.0, "seconds"), (600.0, "minutes"), (7200.0, "hours"), (172_800.0, "days"), (0.0, "seconds")],
)
def test_time_is_shown_in_the_unit_that_fits(length_s, label):
    assert TimeAxis(5.0, 5.0 + length_s).label == f"{label} since the first submission"


def test_a_picture_of_another_kind_or_place_is_refused(tmp_path, pictures):
    figure = pictures["power"]()
    with pytest.raises(hs.ConfigError, match=r"expected a name ending in \.png, \.svg, \.pdf"):
        save(figure, tmp_path / "a.jpg")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is not a folder"):
        save(figure, tmp_path / "file" / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_missing_matplotlib_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(hs.ConfigError) as caught:
        require_matplotlib("--plot")
    assert str(caught.value) == (
        "--plot: found an installation without matplotlib, expected matplotlib: pip install 'hetsched[plots]'"
    )


def test_a_budget_is_a_line_across_the_power_that_the_axis_leaves_room_for(results):
    bins = run_bins(results["easy"].jobs, results["easy"].timeline)
    for figure in (figures.power(bins, budget_w=9000.0), figures.overview(bins, nodes=NODES, budget_w=9000.0)):
        axes = axes_of(figure, "power (kW)")
        assert axes.lines[-1].get_ydata() == [9.0, 9.0]
        assert axes.get_ylim()[1] > 9.0
        assert "power budget" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert "power budget" not in [text.get_text() for text in figures.power(bins).legends[0].get_texts()]


# 30 August 2024, 06:40 UTC.
ZERO_S = 1.725e9


@pytest.mark.parametrize(
    ("length_s", "step_s", "first", "label"),
    [
        (6 * 86400.0, 86400.0, "31\nAug", "date in 2024 (UTC)"),
        (36_000.0, 3600.0, "08:00\n30 Aug", "date in 2024 (UTC)"),
        (400 * 86400.0, 86400.0, "Oct\n2024", "date (UTC)"),
    ],
)
def test_of_a_log_with_dates_the_axis_shows_them(length_s, step_s, first, label):
    timeline = pl.DataFrame({"time_s": [100.0, 100.0 + length_s], "power_w": [900.0, 100.0]})
    jobs = pl.DataFrame({"start_s": [100.0], "end_s": [100.0 + length_s], "energy_j": [length_s]})
    rows = timeline.with_columns(busy_nodes=1, queued_jobs=0)
    figure = figures.overview(run_bins(jobs, rows), nodes=NODES, unix_zero_s=ZERO_S - 100.0)
    figure.draw_without_rendering()
    axis = figure.axes[-1].xaxis
    shown = [label.get_text() for label in axis.get_ticklabels() if label.get_text()]
    low, high = figure.axes[-1].get_xlim()
    ticks = [place for place in axis.get_ticklocs() if low <= place <= high]
    assert figure.axes[-1].get_xlabel() == label
    assert low * 86400 == pytest.approx(ZERO_S)
    assert (high - low) * 86400 == pytest.approx(length_s)
    assert 3 <= len(ticks) == len(shown) <= 6
    assert np.ptp(np.diff(ticks)) <= 4
    assert [place * 86400 % step_s for place in ticks] == [0.0] * len(ticks)
    assert shown[0] == first
    assert axis.get_offset_text().get_text() == ""


def test_a_gantt_chart_of_dates_has_its_numbers_in_their_boxes(results):
    jobs = results["easy"].jobs
    plain, dated = (gantt(jobs, nodes=NODES, unix_zero_s=zero_s).axes[0] for zero_s in (None, ZERO_S))
    assert [text.get_text() for text in dated.texts] == [text.get_text() for text in plain.texts] != []
    assert dated.get_xlabel() == "date in 2024 (UTC)"


def test_dates_come_from_the_header_or_the_clock():
    said = {"report": {"header": {"unix_start_time": 843_480_031}}, "trace": {"history": ["read a.swf", "head(5)"]}}
    assert unix_zero(said, 599_850.0) == 843_480_031.0
    assert unix_zero(said, 1.668e9) == 0.0
    assert unix_zero({**said, "trace": {"history": ["read a.swf", "shift_to_zero()"]}}, 0.0) is None
    for header in (None, {}, {"unix_start_time": None}, {"unix_start_time": 0}, {"unix_start_time": -1}):
        assert unix_zero({**said, "report": {"header": header}}, 0.0) is None
    assert unix_zero({"report": {}, "trace": {"history": []}}, 5e9) is None


def test_energy_stands_against_wait_with_a_line_along_those_that_are_not_beaten():
    runs = pl.DataFrame(
        {
            "policy": ["a", "b", "b", "c", "d"],
            "mean_wait_s": [7200.0, 3600.0, 5400.0, 36_000.0, 36_000.0],
            "energy_j": [3.6e9, 7.2e9, 7.2e9, 1.8e9, 9e9],
        }
    )
    figure = energy_against_wait(runs)
    axes = axes_of(figure, "mean wait (h)")
    assert axes.get_ylabel() == "energy (MWh)"
    dots = {drawn.get_label(): drawn.lines[0].get_xydata().tolist() for drawn in axes.containers}
    assert dots == {"a": [[2.0, 1.0]], "b": [[1.25, 2.0]], "c": [[10.0, 0.5]], "d": [[10.0, 2.5]]}
    (line,) = [line for line in axes.lines if line.get_label() == FRONT]
    assert line.get_xydata().tolist() == [[1.25, 2.0], [2.0, 1.0], [10.0, 0.5]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c", "d", FRONT]


def test_an_energy_axis_that_does_not_start_at_zero_says_so():
    note = "energy axis does not start at 0"
    runs = pl.DataFrame({"policy": ["a", "b"], "mean_wait_s": [1.0, 2.0], "energy_j": [3.6e9, 3.3e9]})
    (axes,) = energy_against_wait(runs).axes
    assert axes.get_ylim()[0] > 0
    assert note in [text.get_text() for text in axes.texts]
    (axes,) = energy_against_wait(runs.with_columns(energy_j=pl.Series([3.6e9, 4e8]))).axes
    assert axes.get_ylim()[0] == 0
    assert not axes.texts


def test_policies_on_the_same_place_are_both_seen_and_no_wait_is_below_zero():
    rows = {"policy": ["a", "a", "b", "c"], "mean_wait_s": [0.0, 20.0, 10.0, 40.0], "energy_j": [1e9, 1e9, 1e9, 2e9]}
    (axes,) = energy_against_wait(pl.DataFrame(rows)).axes
    behind, before, other = (drawn.lines[0].get_markersize() for drawn in axes.containers)
    assert behind > before == other
    assert min(x for drawn in axes.collections for path in drawn.get_segments() for x, _ in path) >= 0


def test_few_waiting_jobs_are_visible_among_many():
    few, many = (waiting_curve(pl.Series([0.0] * zeros + [60.0] * (1000 - zeros))) for zeros in (997, 200))
    (axes,) = figures.waits({"few": few, "many": many}).axes
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "log"
    assert 0.01 <= low < 0.3 < 80 < high
    assert figures.waits({"many": many}).axes[0].get_yscale() == "linear"
    assert figures.waits({"none": waiting_curve(pl.Series([0.0])), "many": many}).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(
    ("waiting", "share"), [(0, "100"), (1, "99.9"), (4, "99.8"), (10, "99.5"), (20, "99"), (1000, "50"), (2000, "0")]
)
def test_a_hundred_percent_are_all_jobs(waiting, share):
    curve = waiting_curve(pl.Series([0.0] * (2000 - waiting) + [9.0] * waiting))
    (name,) = (text.get_text() for text in figures.waits({"easy": curve}).legends[0].get_texts())
    assert name == f"easy: {share} % did not wait"


LONG = ["easy:placement=lowest-power:power=system-budget:power.budget_w=420000", "power-slurm:on_excess=" + "x" * 60]


def long_names():
    """Pictures of policies with names of more than 60 letters, one with a letter that starts a formula."""
    policies = [*LONG, "cost $a_b$ easy", "fcfs"]
    rng = np.random.default_rng(3)
    runs = pl.DataFrame({"policy": policies * 3, "mean_wait_s": rng.exponential(60.0, 12), "energy_j": rng.random(12)})
    runs = runs.with_columns(mean_wait_s=pl.when(pl.col("policy") == LONG[1]).then(9400.0).otherwise("mean_wait_s"))
    curves = {policy: waiting_curve(pl.Series(rng.exponential(60.0, 50))) for policy in policies}
    table = ratios_to_baseline(runs, baseline=LONG[0], metrics=["mean_wait_s", "energy_j"])
    bins = pl.DataFrame({"start_s": [0.0], "end_s": [9.0]}).with_columns(
        pl.lit(1.0).alias(f"{name}_{kind}")
        for name in ("power_w", "job_power_w", "busy_nodes", "queued_jobs")
        for kind in ("mean", "min", "max")
    )
    return {
        "waits": figures.waits(curves),
        "ratios": figures.ratios(table, baseline=LONG[0]),
        "comparison": figures.comparison(table, curves, baseline=LONG[0], runs=runs),
        "energy-wait": energy_against_wait(runs),
        "overview": figures.overview(bins, nodes=4, title=f"{LONG[0]}, 1,152 nodes", budget_w=9.0),
    }


@pytest.mark.parametrize("name", ["waits", "ratios", "comparison", "energy-wait", "overview"])
def test_no_text_is_cut(name):
    figure = long_names()[name]
    figure.set_dpi(300)
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    for part in (figure, *figure.subfigs, *(below for own in figure.subfigs for below in own.subfigs)):
        assert 0 <= drawn.x0 < drawn.x1 <= figure.get_figwidth()
        assert 0 <= drawn.y0 < drawn.y1 <= figure.get_figheight()
        boxes = [text.get_window_extent() for own in part.legends for text in own.get_texts()]
        boxes += [] if part._suptitle is None else [part._suptitle.get_window_extent()]
        assert all(part.bbox.x0 <= box.x0 and box.x1 <= part.bbox.x1 for box in boxes)
    written = "".join(text.get_text() for text in figure.findobj(Text)).replace("\n", "").replace(" ", "")
    assert LONG[0].replace(" ", "") in written


def test_a_comparison_of_four_policies_by_ten_metrics_fits_a_page():
    keys = ["energy_j", "job_energy_j", "idle_energy_j", "mean_wait_s", "p95_wait_s", "max_wait_s"]
    keys += ["mean_bounded_slowdown", "utilization_ratio", "makespan_s", "peak_power_w"]
    runs = pl.DataFrame({"policy": list("abcd"), **{key: [1.0, 2.0, 3.0, 4.0] for key in keys}})
    curves = {policy: waiting_curve(pl.Series([0.0, 5.0])) for policy in "abcd"}
    figure = figures.comparison(ratios_to_baseline(runs, baseline="a", metrics=keys), curves, baseline="a", runs=runs)
    assert figure.get_figheight() * 300 <= 1600


def test_a_comparison_of_one_policy_is_its_waits():
    runs = pl.DataFrame({"policy": ["a"], "energy_j": [1.0]})
    figure = figures.comparison(
        ratios_to_baseline(runs, baseline="a", metrics=["energy_j"]),
        {"a": waiting_curve(pl.Series([0.0, 5.0]))},
        baseline="a",
    )
    assert [axes.get_xlabel() for axes in figure.axes] == ["wait"]


def test_wide_boxes_are_labelled_and_thin_boxes_have_no_outline(results):
    jobs = results["easy"].jobs
    assert figures.gantt_can_be_read(jobs, nodes=NODES)
    assert not figures.gantt_can_be_read(jobs, nodes=100 * NODES)
    assert not figures.gantt_can_be_read(jobs.clear(), nodes=NODES)
    assert not figures.gantt_can_be_read(pl.concat([jobs] * 6), nodes=NODES)
    for nodes, widths in ((NODES, {0.0, 0.4}), (100 * NODES, {0.0})):
        (boxes,) = axes_of(gantt(jobs, nodes=nodes), "node").collections
        assert set(boxes.get_linewidths()) == widths


def test_panels_keep_small_differences_small_and_large_ones_large():
    runs = pl.DataFrame({"policy": ["a", "b"], "mean_wait_s": [1.0, 3600.0], "energy_j": [3.6e9, 3.6001e9]})
    (axes,) = energy_against_wait(runs).axes
    assert np.ptp(axes.get_ylim()) >= 0.02
    assert axes.get_xscale() == "log"
    assert FRONT not in [line.get_label() for line in axes.lines]
    none = energy_against_wait(runs.with_columns(mean_wait_s=pl.lit(0.0)))
    none.draw_without_rendering()
    assert none.axes[0].get_xscale() == "linear"


def test_a_comparison_of_runs_has_energy_against_wait_and_every_panel_names_the_policies(pictures, results):
    curves = {policy: waiting_curve(result.jobs["wait_s"]) for policy, result in results.items()}
    table = ratios_to_baseline(results.values(), baseline="fcfs")
    figure = figures.comparison(table, curves, baseline="fcfs", runs=runs_frame(results.values()))
    labels = [axes.get_xlabel().split("\n")[0].partition(" (")[0] for axes in figure.axes]
    assert labels == ["ratio to fcfs", "mean wait", "wait"]
    looks = [drawn.lines[0].get_marker() for drawn in figure.axes[1].containers]
    assert looks == [line.get_marker() for line in figure.axes[2].lines]
    left, right = figure.subfigs
    names = [[text.get_text() for text in part.legends[0].get_texts()] for part in (left, *right.subfigs)]
    assert [own[:2] for own in names[:2]] == [["easy"], ["fcfs", "easy"]]
    assert [own.partition(":")[0] for own in names[2]] == ["fcfs", "easy"]


def test_energy_against_wait_is_drawn_of_repetitions_only():
    """Three workloads of one load are three repetitions, whatever their seeds; of three loads there is no mean."""
    wait_s = [100.0, 110.0, 120.0, 50.0, 60.0, 70.0]
    runs = pl.DataFrame(
        {
            "workload": ["w0", "w1", "w2"] * 2,
            "policy": ["easy"] * 3 + ["new"] * 3,
            "seed": [0] * 6,
            "mean_wait_s": wait_s,
            "energy_j": [1e6] * 6,
            "offered_load_ratio": [0.8] * 6,
        }
    )
    thrice = pl.concat(runs.with_columns(seed=pl.lit(seed)) for seed in range(3))

    def reaches(frame):
        (axes,) = energy_against_wait(frame).axes
        return [[path.vertices.tolist() for path in bars.get_paths()] for bars in axes.collections]

    assert reaches(thrice) == reaches(runs)
    with pytest.raises(hs.ConfigError, match=r"offered loads of 0\.7 .* to 0\.9"):
        energy_against_wait(runs.with_columns(offered_load_ratio=pl.Series([0.7, 0.8, 0.9] * 2)))
