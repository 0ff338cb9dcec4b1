"""Draws of run times against the rule in plain Python, job by job."""

from __future__ import annotations

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

from hetsched.validation.draws import Draws, Past

pytestmark = pytest.mark.hypothesis

NOW, WORD = 10_000.0, 2**64 - 1

labels = st.sampled_from([None, "ann", "bo"])
walltimes = st.sampled_from([None, 50.0, 100.0, 1000.0, 20_000.0])


@st.composite
def pasts(draw: st.DrawFn) -> pl.DataFrame:
    rows = []
    for job in range(draw(st.integers(1, 90))):
        start = draw(st.sampled_from([None, 0.0, 10.0, 9000.0, 9999.0, 10_001.0]))
        runtime = draw(st.sampled_from([0.0, 0.5, 1.0, 50.0, 100.0, 120.0, 1000.0, 9000.0]))
        end = draw(st.sampled_from([None, None, 9500.0, 10_500.0]))
        rows.append(
            (job, 0.0, runtime, draw(walltimes), draw(labels), draw(labels), start, None if start is None else end)
        )
    names = ["job_id", "submit_s", "runtime_s", "walltime_s", "user", "queue", "observed_start_s", "observed_end_s"]
    types = [pl.Int64, pl.Float64, pl.Float64, pl.Float64, pl.String, pl.String, pl.Float64, pl.Float64]
    return pl.DataFrame(rows, dict(zip(names, types, strict=True)), orient="row")


@st.composite
def states(draw: st.DrawFn) -> pl.DataFrame:
    ids = draw(st.lists(st.integers(0, 10**12), min_size=1, max_size=12, unique=True))
    rows = [
        (
            job,
            draw(walltimes.filter(bool)),
            draw(labels),
            draw(labels),
            draw(st.sampled_from([None, 0.0, 9000.0, 9950.0, NOW])),
        )
        for job in ids
    ]
    types = [pl.Int64, pl.Float64, pl.String, pl.String, pl.Float64]
    names = ["job_id", "walltime_s", "user", "queue", "observed_start_s"]
    return pl.DataFrame(rows, dict(zip(names, types, strict=True)), orient="row")


def mixed(state: int) -> int:
    state = (state + 0x9E3779B97F4A7C15) & WORD
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & WORD
    return state ^ (state >> 31)


def lot(seed: int, fork: int, job: int) -> float:
    return (mixed(mixed(mixed(seed) ^ fork) ^ job) >> 11) / 2**53


def pool(past: pl.DataFrame, job: dict, most: float) -> list[float]:
    """Past values for a job, ascending: ratios if it has a walltime, else run times."""
    ended = []
    for other in past.sort("job_id").iter_rows(named=True):
        start = other["observed_start_s"]
        if start is None or other["runtime_s"] <= 0 or start < other["submit_s"]:
            continue
        end = start + other["runtime_s"] if other["observed_end_s"] is None else other["observed_end_s"]
        if end <= NOW and (job["walltime_s"] is None or other["walltime_s"] is not None):
            ended.append((end, other))
    ended.sort(key=lambda one: one[0])
    users = [one for _, one in ended if job["user"] is not None and one["user"] == job["user"]][-50:]
    queue = [one for _, one in ended if job["queue"] is not None and one["queue"] == job["queue"]]
    alike = users if len(users) >= 10 else queue if len(queue) >= 10 else [one for _, one in ended]
    if job["walltime_s"] is None:
        return sorted(one["runtime_s"] for one in alike)
    return sorted(min(one["runtime_s"] / one["walltime_s"], most) for one in alike)


def drawn(past: pl.DataFrame, job: dict, most: float, seed: int, fork: int) -> float:
    ran = None if job["observed_start_s"] is None else NOW - job["observed_start_s"]
    wall = job["walltime_s"]
    values = [(1.0 if wall is None else wall) * value for value in pool(past, job, most)]
    if ran is not None:
        values = [value for value in values if value > ran]
    if values:
        return max(1.0, values[int(lot(seed, fork, job["job_id"]) * len(values))])
    if ran is not None and (wall is None or wall <= ran):
        return max(1.0, ran + 1.0)
    return max(1.0, wall)


@given(pasts(), states(), st.sampled_from([1.0, float("inf")]), st.integers(0, WORD), st.integers(0, 5))
def test_run_times_are_drawn_by_the_rule(
    past: pl.DataFrame, jobs: pl.DataFrame, most: float, seed: int, fork: int
) -> None:
    draws = Draws.of(Past.of(past, NOW, most_ratio=most), jobs, NOW)
    expected = [drawn(past, job, most, seed, fork) for job in jobs.iter_rows(named=True)]
    assert draws.runtimes(seed, fork).tolist() == expected


@given(pasts(), states(), st.integers(0, 9))
def test_a_job_without_a_walltime_draws_run_times(past: pl.DataFrame, jobs: pl.DataFrame, seed: int) -> None:
    running = jobs.filter(pl.col("observed_start_s").is_not_null()).with_columns(walltime_s=pl.lit(None, pl.Float64))
    draws = Draws.of(Past.of(past, NOW, most_ratio=1.0), running, NOW)
    expected = [drawn(past, job, 1.0, seed, 0) for job in running.iter_rows(named=True)]
    assert draws.runtimes(seed, 0).tolist() == expected
