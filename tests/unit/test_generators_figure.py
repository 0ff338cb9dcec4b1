"""The picture of a workload: what it shows, the same bytes again, nothing too small to read."""

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

from hetsched.report.canvas import picture_bytes
from hetsched.report.workload import workload_overview
from hetsched.workload import generate

# Two jobs on four nodes. Demand: 3 nodes from 0 to 100 s, none to 200 s, 6 nodes (of two jobs) to 300 s.
JOBS = pl.DataFrame(
    {
        "submit_s": [0.0, 200.0, 200.0],
        "runtime_s": [100.0, 100.0, 100.0],
        "node_count": [3, 1, 5],
    }
)


def drawn(figure, label):
    return next(axes for axes in figure.axes if label in (axes.get_ylabel(), axes.get_xlabel()))


def test_demand_is_what_the_nodes_would_be_asked_for():
    axes = drawn(workload_overview(JOBS, nodes=4), "demand\n(% of nodes)")
    x, y = axes.lines[0].get_data()
    # The axis is in minutes: 50, 150 and 250 seconds.
    assert [y[np.searchsorted(x, minute) - 1] for minute in (5 / 6, 2.5, 25 / 6)] == [75.0, 0.0, 150.0]
    assert axes.get_ylim()[1] > 150
    # A dotted line stands where the machine ends.
    assert axes.lines[1].get_ydata() == [100.0, 100.0]


def test_sizes_are_shares_of_jobs_and_of_work():
    axes = drawn(workload_overview(JOBS, nodes=4), "nodes of a job")
    heights = [bar.get_height() for bar in axes.patches]
    # Classes 1, 2, 3-4, 5-8: a third of the jobs each in the first and the last two, work 100, 300, 500 of 900.
    assert heights == pytest.approx([100 / 3, 0, 100 / 3, 100 / 3, 100 / 9, 0, 300 / 9, 500 / 9])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3–4", "5–8"]


def test_run_lengths_end_at_all_of_the_jobs():
    axes = drawn(workload_overview(JOBS, nodes=4), "run length up to")
    for line in axes.lines:
        x, y = line.get_data()
        assert (x[-1], y[-1]) == (100.0, pytest.approx(100.0))
        assert y[np.searchsorted(x, 99.0) - 1] == 0.0


@pytest.mark.parametrize("kind", ["coa-single", "lublin-feitelson"])
def test_the_same_workload_has_the_same_picture_and_no_type_below_eight_points(kind):
    jobs = generate(kind, seed=1).to_polars()
    figure = workload_overview(jobs, nodes=128, title=kind)
    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in shown) >= 8.0
    assert 3.4 <= figure.get_figwidth() <= 4.0
    first, second = (picture_bytes(workload_overview(jobs, nodes=128, title=kind), ".svg") for _ in range(2))
    assert first == second


def test_a_single_job_and_jobs_without_length_are_drawn():
    picture_bytes(workload_overview(JOBS.head(1), nodes=4), ".png")
    picture_bytes(workload_overview(JOBS.head(1).with_columns(runtime_s=pl.lit(0.0)), nodes=4), ".png")
