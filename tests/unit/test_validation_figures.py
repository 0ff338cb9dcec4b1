"""Pictures of a validation: what they show of a log whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import hetsched as hs
from hetsched.report import observed
from hetsched.report.canvas import picture_bytes

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


@pytest.fixture(scope="module")
def found() -> hs.Validation:
    """Jobs of an hour, of which two come every two hours to one node, and really waited for two hours longer."""
    count = 200
    jobs = pl.DataFrame({"job_id": range(count), "submit_s": [7200.0 * (job // 2) for job in range(count)]})
    jobs = jobs.with_columns(runtime_s=3600.0, node_count=1).with_columns(
        observed_start_s=pl.col("submit_s") + 3600.0 * (pl.col("job_id") % 2) + 7200.0
    )
    platform = hs.Platform.homogeneous(1, idle_w=100, tdp_w=300)
    return hs.validate(hs.Workload.from_polars(jobs), platform, warmup_s=0, cooldown_s=0)


PICTURES: dict[str, Callable[[hs.Validation], Any]] = {
    "waits": lambda found: observed.waits(found.jobs, policy="easy"),
    "errors": lambda found: observed.errors(found.histogram, policy="easy", title="two"),
    "over-time": lambda found: observed.over_time(found.series, nodes=1, policy="easy", title="two"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_the_same_picture_has_the_same_bytes(found: hs.Validation, name: str) -> None:
    first, second = (picture_bytes(PICTURES[name](found), ".svg") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", PICTURES)
def test_no_type_is_below_eight_points(found: hs.Validation, name: str) -> None:
    texts = [text for text in PICTURES[name](found).findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8.0


def test_waits_are_those_of_the_log_the_policy_and_the_past(found: hs.Validation) -> None:
    figure = PICTURES["waits"](found)
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert names[0] == "observed: 0 % did not wait"
    assert names[1] == "easy: 50 % did not wait"
    assert names[2].startswith("median of the week before: ")


def test_errors_are_the_histogram(found: hs.Validation) -> None:
    axes = PICTURES["errors"](found).axes[0]
    widths = np.array([bar.get_width() for bar in axes.patches]).reshape(2, 13)
    assert widths[0].tolist() == [100.0 * ratio for ratio in found.histogram["ratio"]]
    assert widths[0].argmax() == 10, "all start two hours too early: from 1 to 12 hours"
    assert [label.get_text() for label in axes.get_yticklabels()] == found.histogram["class"].to_list()


def test_over_time_shows_hours_of_both(found: hs.Validation) -> None:
    busy, queue = PICTURES["over-time"](found).axes
    shown = busy.lines[0].get_ydata()[:-1]
    assert shown.mean() == pytest.approx(100 * found.series["busy_simulated"].mean(), rel=1e-3)
    assert queue.lines[0].get_ydata().max() <= 1.0
    assert busy.get_ylim()[1] >= 100
    assert "the first hour shown" in queue.get_xlabel()


def test_dates_are_shown_where_they_are_known(found: hs.Validation) -> None:
    figure = observed.over_time(found.series, nodes=1, policy="easy", unix_zero_s=1.6e9)
    assert figure.axes[1].get_xlabel().startswith("date")


def test_one_hour_is_enough(found: hs.Validation) -> None:
    figure = observed.over_time(found.series.head(1), nodes=1, policy="easy")
    assert len(figure.axes[0].lines[0].get_xdata()) == 2
