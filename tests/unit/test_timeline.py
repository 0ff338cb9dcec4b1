"""A timeline in bins, and the jobs' part of its power: by hand, and against the plain sums."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.analysis import binned, run_bins, waiting_curve, with_job_power

STEPS = pl.DataFrame({"time_s": [0.0, 4.0, 5.0, 10.0], "power_w": [100.0, 900.0, 200.0, 0.0]})


def plain_bins(times, values, bins):
    """Mean, lowest and highest over each bin, one stretch of constant value after the other."""
    edges = np.linspace(times[0], times[-1], bins + 1)
    rows = []
    for begin, end in pairwise(edges):
        overlaps = [min(b, end) - max(a, begin) for a, b in pairwise(times)]
        seen = [(value, span) for value, span in zip(values, overlaps, strict=False) if span > 0]
        mean = sum(value * span for value, span in seen) / (end - begin)
        rows.append((mean, min(value for value, _ in seen), max(value for value, _ in seen)))
    return rows


def test_a_peak_of_a_second_stays_visible_and_means_are_weighted_by_time():
    # 4 s at 100 and 1 s at 900: mean 260; then 5 s at 200. The last row is the end and holds no time.
    assert binned(STEPS, ["power_w"], bins=2).rows() == [
        (0.0, 5.0, 260.0, 100.0, 900.0),
        (5.0, 10.0, 200.0, 200.0, 200.0),
    ]


@given(
    gaps=st.lists(st.integers(1, 50), min_size=1, max_size=30),
    values=st.lists(st.integers(0, 1000), min_size=31, max_size=31),
    bins=st.sampled_from([1, 2, 3, 8, 64]),
)
def test_bins_hold_what_the_plain_sums_say(gaps, values, bins):
    times = np.append(0.0, np.cumsum(gaps)) * bins
    heights = np.array(values[: len(times)], dtype=np.float64)
    frame = binned(pl.DataFrame({"time_s": times, "power_w": heights}), ["power_w"], bins=bins)
    expected = plain_bins(times, heights, bins)
    found = frame.select("power_w_mean", "power_w_min", "power_w_max").to_numpy()
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


def test_the_mean_over_all_bins_is_the_integral_over_the_window():
    frame = binned(STEPS, ["power_w"], bins=7)
    assert frame["power_w_mean"].mean() * 10.0 == pytest.approx(4 * 100 + 900 + 5 * 200)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_window_without_length_has_no_bins(rows):
    frame = binned(STEPS.head(rows), ["power_w"])
    assert len(frame) == 0
    assert frame.columns == ["start_s", "end_s", "power_w_mean", "power_w_min", "power_w_max"]


def test_two_million_rows_are_binned_in_a_moment():
    times = np.arange(2_000_001, dtype=np.float64)
    frame = pl.DataFrame({"time_s": times, "power_w": np.where(times == 777_777, 1e6, times % 2)})
    bins = binned(frame, ["power_w"], bins=600)
    assert bins["power_w_max"].max() == 1e6
    assert bins["power_w_mean"].median() == pytest.approx(0.5, abs=1e-3)


def test_the_jobs_power_is_what_their_energy_says_and_the_rest_is_idle():
    jobs = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": [0, 10, 90], "runtime_s": [60, 30, 15], "node_count": [1, 2, 1]}
    )
    result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=5, idle_w=100, tdp_w=300), "fcfs")
    timeline = with_job_power(result.timeline, result.jobs)
    idle_w = 100.0 * timeline["idle_nodes"]
    assert (timeline["power_w"] - timeline["job_power_w"]).to_list() == pytest.approx(idle_w.to_list())
    whole = run_bins(result.jobs, result.timeline, bins=1).row(0, named=True)
    summary = result.summary()
    assert whole["job_power_w_mean"] * summary["makespan_s"] == pytest.approx(summary["job_energy_j"])
    assert whole["power_w_mean"] * summary["makespan_s"] == pytest.approx(summary["energy_j"])


def test_jobs_that_still_run_count_up_to_the_end():
    jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 500], "runtime_s": [90, 1], "node_count": [1, 1]})
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    result = hs.simulate(hs.Workload.from_polars(jobs), platform, "fcfs", until_s=40.0)
    assert result.jobs["state"].to_list() == ["running", "pending"]
    assert with_job_power(result.timeline, result.jobs)["job_power_w"].to_list()[0] == pytest.approx(300.0)


def test_waiting_curve_by_hand():
    # Of four jobs that started, two waited longer than 0 s, one longer than a minute, none longer than ten.
    waits = pl.Series([600.0, 0.0, None, 60.0, 0.0])
    assert waiting_curve(waits).rows() == [(0.0, 0.5), (60.0, 0.25), (600.0, 0.0)]
    assert len(waiting_curve(pl.Series([None, None], dtype=pl.Float64))) == 0
    assert waiting_curve(pl.Series([0.0, 0.0])).rows() == [(0.0, 0.0)]


def test_a_long_waiting_curve_is_exact_at_the_times_it_keeps():
    waits = np.random.default_rng(0).exponential(1000.0, 50_000)
    waits[:20_000] = 0.0
    curve = waiting_curve(pl.Series(waits), points=100)
    assert len(curve) == 100
    assert curve["longer_ratio"][0] == 0.6
    assert curve.row(-1) == (waits.max(), 0.0)
    for wait_s, longer in curve.rows():
        assert longer == pytest.approx((waits > wait_s).mean())
