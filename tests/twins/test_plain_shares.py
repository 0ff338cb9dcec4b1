"""The order `fair-share` against its twin in plain Python, start by start."""

from __future__ import annotations

from math import inf

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_shares import Job, schedule

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

HALF_LIVES = (inf, 604_800.0, 20.0, 3.0, 0.25)


def workload_of(jobs: list[Job], column: str = "user") -> hs.Workload:
    """No job brings a walltime, so that nothing but use and submits decides."""
    names = ["submit_s", "runtime_s", "node_count", column]
    schema = {"submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64, column: pl.String}
    frame = pl.DataFrame(jobs, names, orient="row", schema_overrides=schema)
    return hs.Workload.from_polars(frame.with_row_index("job_id"))


def starts(jobs: list[Job], nodes: int, half_life: float, backfill: str, by: str = "user") -> list[float | None]:
    order = {"name": "fair-share", "half_life_s": "none" if half_life == inf else half_life, "by": by}
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300)
    found = hs.simulate(workload_of(jobs, by), platform, hs.Policy(order, backfill)).jobs
    return found.sort("job_id")["start_s"].to_list()


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Job], int]:
    nodes = draw(st.integers(1, 5))
    job = st.builds(
        Job,
        st.integers(0, 25),
        st.sampled_from([0, 1, 2, 3, 5, 8, 13]),
        st.integers(1, nodes) | st.integers(1, nodes + 1),
        st.sampled_from(["ann", "bo", "cy", None]),
    )
    return draw(st.lists(job, min_size=1, max_size=14)), nodes


@given(cases(), st.sampled_from(HALF_LIVES), st.booleans(), st.sampled_from(["user", "account"]))
def test_fair_share_agrees(case: tuple[list[Job], int], half_life: float, overtakes: bool, by: str) -> None:
    jobs, nodes = case
    backfill = "first-fit" if overtakes else "none"
    assert starts(jobs, nodes, half_life, backfill, by) == schedule(jobs, nodes, half_life, overtakes=overtakes)


@pytest.mark.parametrize("half_life", HALF_LIVES[:4])
def test_fair_share_agrees_where_many_wait(half_life: float) -> None:
    rng = np.random.default_rng(7)
    count, nodes = 120, 12
    jobs = [
        Job(int(submit), int(runtime), int(size), user)
        for submit, runtime, size, user in zip(
            np.sort(rng.integers(0, 240, count)),
            rng.integers(0, 60, count),
            rng.integers(1, 9, count),
            rng.choice(["ann", "bo", "cy", "dee"], count, p=[0.6, 0.2, 0.15, 0.05]).tolist(),
            strict=True,
        )
    ]
    found = starts(jobs, nodes, half_life, "none")
    assert found == schedule(jobs, nodes, half_life, overtakes=False)
    assert found != starts([job._replace(group="ann") for job in jobs], nodes, half_life, "none")
