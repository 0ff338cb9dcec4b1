"""Frames of the engine's columns: the same whether a column that holds one value is made or left out."""

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.resources import counts_of

MANY = 40_000
"""More rows than from which on such columns are left out."""


def log_of(jobs: int, more: str = "") -> hs.Workload:
    line = "{} {} -1 60 1 -1 -1 1 90 -1 1 3 -1 7 2 -1 -1 -1\n"
    return hs.read_swf(("".join(line.format(job, job) for job in range(1, jobs + 1)) + more).encode())


def test_a_large_log_has_the_columns_of_a_small_one():
    large, small = log_of(MANY).to_polars(), log_of(3).to_polars()
    assert large.head(3).equals(small)
    assert large.schema == small.schema
    for name in ("depends_on", "observed_start_s"):
        assert large[name].null_count() == MANY


def test_what_one_job_of_a_large_log_says_is_in_its_row():
    last = f"{MANY + 1} {MANY + 1} 5 60 1 -1 -1 1 90 -1 1 3 -1 7 2 -1 7 4\n"
    read = log_of(MANY, last).to_polars().select("depends_on", "think_s", "observed_start_s")
    assert read.row(MANY) == (7, 4.0, MANY + 6.0)
    assert read.head(MANY).null_count().row(0) == (MANY, MANY, MANY)


@pytest.mark.parametrize("longest", [999_999_999_999, 1_000_000_000_000, 2**62])
def test_numbers_of_users_are_words_of_their_digits(longest):
    numbers = [0, 7, 10, longest, -1, 1_234]
    line = "{} {} -1 60 1 -1 -1 1 90 -1 1 {} -1 -1 2 -1 -1 -1\n"
    read = hs.read_swf("".join(line.format(row, row, user) for row, user in enumerate(numbers, 1)).encode())
    assert read.to_polars()["user"].to_list() == [None if user == -1 else str(user) for user in numbers]
    assert read.to_polars()["app"].to_list() == [None] * len(numbers)


@pytest.fixture(scope="module")
def large() -> hs.Result:
    return hs.simulate(log_of(MANY), hs.Platform.homogeneous(nodes=200, idle_w=100, tdp_w=300))


def test_a_large_run_has_the_columns_of_a_small_one(large: hs.Result):
    small = hs.simulate(log_of(3), hs.Platform.homogeneous(nodes=200, idle_w=100, tdp_w=300))
    assert large.jobs.schema == small.jobs.schema
    assert large.timeline.schema == small.timeline.schema
    assert large.jobs.head(3).equals(small.jobs)
    assert large.jobs["reason"].null_count() == MANY
    zeros = large.timeline.select("sleeping_nodes", "transition_nodes", "down_nodes")
    assert not np.any(zeros.to_numpy())


def test_columns_that_are_left_out_are_written_and_read_like_others(large: hs.Result, tmp_path):
    large.write(tmp_path)
    again = hs.read_result(tmp_path)
    assert again.jobs.equals(large.jobs)
    assert again.timeline.equals(large.timeline)
    assert again == large


def test_a_reason_of_one_job_is_in_its_row():
    too_large = f"{MANY + 1} {MANY + 1} -1 60 9 -1 -1 900 90 -1 1 3 -1 7 2 -1 -1 -1\n"
    with pytest.warns(hs.errors.ResultWarning):
        run = hs.simulate(log_of(MANY, too_large), hs.Platform.homogeneous(nodes=200, idle_w=100, tdp_w=300))
    reasons = run.jobs["reason"]
    assert (reasons.null_count(), reasons[MANY] is None) == (MANY, False)


@pytest.mark.parametrize("rows", [0, 5, 70_000, 2**17])
def test_words_are_counted_as_by_value_counts(rows):
    words = pl.Series("state", ["a", None, "b", "b", "a longer word than fits in twelve bytes"]).sample(
        rows, with_replacement=True, seed=1
    )
    assert counts_of(words) == dict(words.value_counts().rows())
