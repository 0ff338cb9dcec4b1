"""Observed against simulated starts: classes and their edges, the correction of held jobs, and use over time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import (
    START_CLASSES,
    held_jobs_resubmitted,
    start_differences,
    start_histogram,
    use_difference,
)

MICRO = 1e-6


@pytest.mark.parametrize(
    ("difference_s", "name"),
    [
        (0.0, "0"), (0.999, "0"), (-0.999, "0"), (1.0, "1m"), (-1.0, "-1m"), (60.0, "1m"), (60.0 + MICRO, "10m"),
        (-600.0, "-10m"), (-600.0 - MICRO, "-1h"), (3600.0, "1h"), (3601.0, "12h"), (43_200.0, "12h"),
        (-43_201.0, "-1d"), (86_400.0, "1d"), (86_401.0, ">1d"), (-1e9, "<-1d"),
    ],
)  # fmt: skip
def test_a_difference_falls_into_its_class(difference_s, name):
    found = start_histogram(pl.Series([difference_s]))
    assert found.filter(pl.col("jobs") > 0)["class"].to_list() == [name]
    row = found.row(by_predicate=pl.col("jobs") > 0, named=True)
    assert row["low_s"] <= abs(difference_s) <= row["high_s"]


def test_shares_add_up_and_nulls_count_nowhere():
    found = start_histogram(pl.Series([None, 5.0, -5.0, 0.0, 1e7]))
    assert found["class"].to_list() == list(START_CLASSES)
    assert (found["jobs"].sum(), found["share_ratio"].sum()) == (4, 1.0)
    empty = start_histogram(pl.Series([], dtype=pl.Float64))
    assert (empty["jobs"].sum(), empty["share_ratio"].sum(), len(empty)) == (0, 0.0, 13)


def log(**columns: list[float | None]) -> hs.Workload:
    count = len(next(iter(columns.values())))
    frame = {"job_id": range(count), "submit_s": [0.0] * count, "runtime_s": [100.0] * count, "node_count": [1] * count}
    return hs.Workload.from_polars(pl.DataFrame({**frame, **columns}, strict=False))


def test_a_replay_of_observed_starts_is_nowhere_apart():
    own = log(observed_start_s=[3.0, 500.0, 90_000.0])
    machine = hs.Platform.homogeneous(nodes=1, idle_w=1, tdp_w=2)
    result = hs.simulate(own, machine, "replay")
    found = start_histogram(start_differences(result.jobs))
    assert found.filter(pl.col("class") == "0")["jobs"].item() == 3
    assert use_difference(result.jobs, slots=1)["difference_ratio"].abs().max() < 1e-9


def test_held_jobs_are_submitted_when_they_started():
    own = log(observed_start_s=[43_200.0, 43_201.0, None])
    frame = held_jobs_resubmitted(own).to_polars().sort("job_id")
    assert frame["submit_s"].to_list() == [0.0, 43_201.0, 0.0]
    assert held_jobs_resubmitted(own, longest_s=1e9).to_polars().equals(own.to_polars())


def test_use_over_time_is_of_slots():
    jobs = pl.DataFrame(
        {
            "start_s": [0.0, 0.0, 50.0, None],
            "end_s": [100.0, 50.0, 100.0, None],
            "observed_start_s": [0.0, 50.0, 100.0, 0.0],
            "node_count": [1, 2, 1, 1],
            "slots": [2, None, 4, 4],
        }
    )
    found = use_difference(jobs, slots=8, slots_per_node=4, bins=3)
    np.testing.assert_allclose(found["simulated_ratio"], [10 / 8, 6 / 8, 0.0])
    np.testing.assert_allclose(found["observed_ratio"], [2 / 8, 10 / 8, 4 / 8])
    np.testing.assert_allclose(found["difference_ratio"], [-1.0, 0.5, 0.5])


def test_a_log_without_observed_starts_is_refused():
    own = log(runtime_s=[5.0])
    result = hs.simulate(own, hs.Platform.homogeneous(nodes=1, idle_w=1, tdp_w=2))
    with pytest.raises(hs.ConfigError, match="observed_start_s: found nothing"):
        start_differences(result.jobs)
    with pytest.raises(hs.ConfigError, match="workload: found no observed starts"):
        held_jobs_resubmitted(own)
