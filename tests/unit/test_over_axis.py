"""A metric over an axis of a sweep: the numbers of its table, and refusals to draw it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import ratios_to_baseline

pytest.importorskip("matplotlib")

from hetsched.report.over_axis import over_axis

RUNS = pl.DataFrame(
    {
        "workload": ["high", "low"] * 6,
        "policy": (["fcfs"] * 2 + ["easy"] * 2) * 3,
        "seed": [0] * 4 + [1] * 4 + [2] * 4,
        "mean_wait_s": [200.0, 20.0, 100.0, 5.0, 300.0, 30.0, 140.0, 6.0, 400.0, 10.0, 210.0, 4.0],
    }
)
TABLE = ratios_to_baseline(RUNS, baseline="fcfs", metrics=["mean_wait_s"], by="workload")
AT = {"high": 0.9, "low": 0.5}


def drawn(figure: Any) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Points of each policy, and the lengths of their intervals."""
    (axes,) = figure.axes
    found = {}
    for container in axes.containers:
        line, _, (bars,) = container.lines
        lengths = [float(path.vertices[1, 1] - path.vertices[0, 1]) for path in bars.get_paths()]
        found[container.get_label()] = (line.get_xdata().tolist(), line.get_ydata().tolist(), lengths)
    return found


@pytest.mark.parametrize("show", ["ratio", "mean"])
def test_points_and_intervals_are_those_of_the_table_in_the_order_of_the_axis(show: str) -> None:
    x, y, lengths = drawn(over_axis(TABLE, "mean_wait_s", axis="workload", at=AT, show=show))["easy"]
    rows = {row["workload"]: row for row in TABLE.filter(policy="easy").iter_rows(named=True)}
    reach = {"ratio": "ratio_half_width_95", "mean": "half_width_95"}[show]
    scale = 1.0 if show == "ratio" else 60.0
    assert x == [0.5, 0.9]
    assert y == pytest.approx([rows[name][show] / scale for name in ("low", "high")])
    assert lengths == pytest.approx([2 * rows[name][reach] / scale for name in ("low", "high")])


def test_names_without_places_stand_side_by_side() -> None:
    figure = over_axis(TABLE, "mean_wait_s", axis="workload")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["high", "low"]
    assert drawn(figure)["easy"][0] == [0.0, 1.0]
    numbers = TABLE.with_columns(workload=pl.col("workload").replace_strict(AT))
    assert drawn(over_axis(numbers, "mean_wait_s", axis="workload"))["easy"][0] == [0.5, 0.9]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "energy_j"}, "metric: found `energy_j`, expected one of mean_wait_s"),
        (
            {"axis": "load"},
            "axis: found `load`, expected a column of the table, which ratios_to_baseline(..., by='load') makes",
        ),
        ({"show": "half"}, "show: found `half`, expected one of ratio, mean"),
        ({"at": {"high": 1.0}}, "at: found no `low`, expected a place for each value of the axis"),
        (
            {"axis": "metric"},
            "table: found several rows of a policy and value, expected one; filter the table by workload",
        ),
    ],
)
def test_what_cannot_be_drawn_is_reported(options: dict[str, Any], message: str) -> None:
    given = {"metric": "mean_wait_s", "axis": "workload", **options}
    with pytest.raises(hs.ConfigError) as caught:
        over_axis(TABLE, given.pop("metric"), **given)
    assert str(caught.value).startswith(message)
