"""Laws of the order `fair-share`: what it may not depend on."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

BACKFILLS = st.sampled_from(["none", "first-fit", "reservations"])


def jobs_of(workload: hs.Workload, platform: hs.Platform, backfill: str, **order: Any) -> pl.DataFrame:
    return hs.simulate(workload, platform, hs.Policy({"name": "fair-share", **order}, backfill)).jobs


@given(workloads(), platforms(), BACKFILLS, st.sampled_from(["none", 5, 604_800]))
def test_one_share_for_all_is_first_come_first_served(
    workload: hs.Workload, platform: hs.Platform, backfill: str, half_life_s: Any
) -> None:
    workload = hs.Workload.from_polars(workload.to_polars().with_columns(user=pl.lit("ann")))
    expected = hs.simulate(workload, platform, hs.Policy("fcfs", backfill)).jobs
    assert jobs_of(workload, platform, backfill, half_life_s=half_life_s).equals(expected)


@given(workloads(), platforms(), BACKFILLS, st.sampled_from(["none", 2, 604_800]), st.sampled_from([1, 4096, 10**7]))
def test_the_clock_has_no_meaning(
    workload: hs.Workload, platform: hs.Platform, backfill: str, half_life_s: Any, later_s: int
) -> None:
    shifted = hs.Workload.from_polars(workload.to_polars().with_columns(pl.col("submit_s") + later_s))
    one, other = (jobs_of(each, platform, backfill, half_life_s=half_life_s) for each in (workload, shifted))
    micros = ((other["start_s"] - later_s) * 1e6).round(), (one["start_s"] * 1e6).round()
    assert micros[0].equals(micros[1], null_equal=True)


@given(workloads(), platforms(), BACKFILLS, st.permutations(["ada", "grace", "zoe"]))
def test_names_have_no_meaning(workload: hs.Workload, platform: hs.Platform, backfill: str, names: list[str]) -> None:
    users = [("ada", "grace", None)[row % 3] for row in range(len(workload))]
    frame = workload.to_polars()
    renamed = [None if user is None else names[("ada", "grace").index(user)] for user in users]
    one, other = (
        hs.Workload.from_polars(frame.with_columns(user=pl.Series(column, dtype=pl.String)))
        for column in (users, renamed)
    )
    assert jobs_of(one, platform, backfill)["start_s"].equals(jobs_of(other, platform, backfill)["start_s"])
