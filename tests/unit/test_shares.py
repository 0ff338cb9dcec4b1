"""Placement and timing apart: they add up exactly, and the waits stand with them."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.analysis import placement_and_timing
from hetsched.experiments.shares import SCHEMA
from hetsched.report.page.runs import page_of
from hetsched.report.shares import MISSING, experiment_grids, shares_grids

PARTS = ("saved", "placement", "timing")
ENERGIES = st.floats(1e-3, 1e15)


def summary(own_j: float, bound_j: float, blind_j: float | None = None, **others: float) -> dict[str, float]:
    plain = {"bound_left_out_jobs": 0, "bound_left_out_energy_j": 0.0, "running": 0, "pending": 0, "mean_wait_s": 1.0}
    energies = {"job_energy_j": own_j, "energy_bound_starts_j": bound_j, "energy_blind_j": blind_j or own_j}
    return {**plain, **energies, **others}


def parts(own: dict[str, float], base: dict[str, float], unit: str) -> list[float]:
    row = placement_and_timing({"base": base, "own": own}, baseline="base").row(1, named=True)
    return [row[f"{part}_{unit}"] for part in PARTS]


@given(ENERGIES, ENERGIES, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_placement_and_timing_add_up_exactly(base_j: float, own_j: float, base_part: float, own_part: float) -> None:
    base, own = summary(base_j, base_j * base_part), summary(own_j, own_j * own_part)
    for unit in ("j", "ratio"):
        saved, placement, timing = parts(own, base, unit)
        assert placement + timing == saved
        assert saved - timing == placement
    largest = max(base_j, own_j)
    saved, _, timing = parts(own, base, "j")
    assert saved == pytest.approx(base_j - own_j, abs=1e-14 * largest)
    assert timing == pytest.approx(base_j * base_part - own_j * own_part, abs=1e-14 * largest)


def test_a_better_placement_of_the_same_starts_is_placement_alone() -> None:
    assert parts(summary(92.0, 90.0), summary(100.0, 90.0), "j") == [8.0, 8.0, 0.0]


def test_other_starts_at_the_same_distance_from_the_bound_are_timing_alone() -> None:
    assert parts(summary(92.0, 82.0), summary(100.0, 90.0), "j") == [8.0, 0.0, 8.0]


def test_shown_percents_add_up() -> None:
    shares = placement_and_timing({"base": summary(3.0, 2.0), "own": summary(2.99, 1.995)}, baseline="base")
    table = next(iter(shares_grids(with_waits(shares))))
    saved, placement, timing = (float(text) for text in table.rows[1][2:5])
    assert round(placement + timing, 2) == saved


def test_tables_of_an_experiment_go_by_scenario_with_dashes_for_what_is_missing() -> None:
    known = {"attained_percent": 44.12, "attained_percent_half": 1.04, "saved_percent": 0.5, "saved_percent_half": 0.25}
    rows = [
        {"scenario": "busy, beta 0.5", "policy": "own", "mean_turnaround_s": 7200.0, **known},
        {"scenario": "busy", "policy": "base", "mean_turnaround_s": 3600.0, "attained_percent": 0.0},
        {"scenario": "free, spread 0.04", "policy": "own", **known},
    ]
    tables = experiment_grids(pl.DataFrame(rows, schema=SCHEMA))
    assert list(tables) == ["busy", "free, spread 0.04"]
    own, base = tables["busy"].rows
    assert own[:4] == ["own, beta 0.5", "44.1\n±1.0", "0.50\n±0.25", MISSING]
    assert base[:3] == ["base", "0.00", MISSING]
    assert [row[5] for row in (own, base)] == ["2.000", "1.000"]
    assert tables["free, spread 0.04"].rows[0][0] == "own"


def with_waits(shares: pl.DataFrame) -> pl.DataFrame:
    return shares.with_columns(pl.col("^.*_s$").fill_null(1.0), left_out_jobs=pl.lit(0.0))


@pytest.mark.parametrize("key", ["bound_left_out_jobs", "running", "pending"])
def test_other_work_is_not_compared(key: str) -> None:
    assert parts(summary(92.0, 90.0, **{key: 1}), summary(100.0, 90.0), "ratio") == [None, None, None]


def test_the_attained_share() -> None:
    shares = placement_and_timing({"a": summary(95.0, 90.0, 110.0), "b": summary(90.0, 90.0, 90.0)}, baseline="a")
    assert shares["attained_ratio"].to_list() == [0.75, None]


def test_without_bounds_there_are_no_shares() -> None:
    assert placement_and_timing({"a": {"job_energy_j": 1.0}}, baseline="a").is_empty()
    with pytest.raises(hs.ConfigError, match="baseline: found `b`, expected one of a"):
        placement_and_timing({"a": summary(1.0, 1.0)}, baseline="b")


def test_a_comparison_has_them_with_the_waits() -> None:
    log = pl.DataFrame(
        {
            "job_id": range(6),
            "submit_s": [0.0] * 6,
            "runtime_s": [10.0, 20.0, 30.0, 10.0, 20.0, 30.0],
            "node_count": [1, 2, 1, 1, 3, 1],
            "app": ["a"] * 6,
        }
    )
    table = hs.VariationTable(["a"], power_w=[[300.0, 200.0, 150.0, 100.0]])
    platform = hs.Platform.homogeneous(nodes=4, idle_w=10.0, tdp_w=500.0, actual=table)
    policies = ["fcfs", "easy:placement=lowest-power"]
    found = hs.compare(hs.Workload.from_polars(log), platform, policies, bound="starts")
    row = found.shares.row(1, named=True)
    assert row["saved_j"] == pytest.approx(found.summaries["fcfs"]["job_energy_j"] - row["energy_j"], rel=1e-12)
    assert row["placement_j"] + row["timing_j"] == row["saved_j"]
    assert row["mean_wait_s"] == found.summaries[policies[1]]["mean_wait_s"]
    assert "Saved by placement and by timing, and the waits" in str(found)
    assert found.to_dict()["shares"] == found.shares.to_dicts()
    assert hs.compare(hs.Workload.from_polars(log), platform, policies).shares.is_empty()


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
@pytest.mark.parametrize("policies", [["fcfs"], ["fcfs", "easy:placement=lowest-power"]])
def test_pages_show_shares_with_whole_words_and_units(tmp_path, policies) -> None:
    log = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 1], "runtime_s": [10, 20], "node_count": [1, 2], "app": "a"})
    table = hs.VariationTable(["a"], power_w=[[300.0, 200.0, 100.0]])
    platform = hs.Platform.homogeneous(nodes=3, idle_w=10.0, tdp_w=500.0, actual=table)
    workload = hs.Workload.from_polars(log)
    if len(policies) == 1:
        of_run = hs.simulate(workload, platform, policies[0], bound="starts")
        text = page_of(of_run).page().html()
    else:
        text = Path(
            hs.compare(workload, platform, policies, bound="starts", progress=None).report(tmp_path / "page.html")
        ).read_text(encoding="utf-8")
    for title in ("attained (%)", "turnaround (s)", "mean wait (s)", "drawn (Wh)", "large: longest (", "jobs left out"):
        assert title in text
    assert ("placement (%)" in text) == (len(policies) > 1)
    assert "Not computed" not in text
    plain = hs.simulate(workload, platform, policies[0])
    assert "Not computed: --bound" in page_of(plain).page().html()
