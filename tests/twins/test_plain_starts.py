"""The bound given a run's starts against exact fractions, from nothing at every stretch."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_starts import plain_starts

import hetsched as hs
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LIMITS = st.fixed_dictionaries(
    {
        "kill_at_walltime": st.booleans(),
        "kill_grace_s": st.sampled_from([0.0, 0.0, 2.5]),
        "walltimes": st.sampled_from(["fixed", "stretch"]),
        "until_s": st.none() | st.none() | st.integers(0, 30).map(float),
    }
)


def agree(result: hs.Result, workload: hs.Workload, platform: hs.Platform, **limits: Any) -> None:
    """Rule 8: never above the exact bound, and below it by no more than 1e-12."""
    summary, plain = result.summary(), plain_starts(result, workload, platform, **limits)
    assert summary["bound_left_out_jobs"] == len(plain.left_out)
    left_out = pl.col("job_id").is_in(plain.left_out)
    assert summary["bound_left_out_energy_j"] == pytest.approx(
        result.jobs.filter(left_out)["energy_j"].sum(), rel=1e-12
    )
    assert summary["energy_bound_starts_j"] <= plain.bound_j
    assert summary["energy_bound_starts_j"] >= plain.bound_j * (1 - 1e-12)
    assert summary["energy_blind_j"] == pytest.approx(float(plain.blind_j), rel=1e-12)


@given(workloads(max_jobs=12, max_nodes=5), platforms(max_nodes=5), policies(), LIMITS)
def test_as_exact_fractions(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any]
) -> None:
    result = hs.simulate(workload, platform, policy, bound="starts", **limits)
    agree(result, workload, platform, **limits)
