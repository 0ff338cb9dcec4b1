"""Laws that every run keeps, whatever the jobs, the machine and the policy; new parts and presets are drawn, too."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LIMITS = st.fixed_dictionaries(
    {
        "kill_at_walltime": st.booleans(),
        "kill_grace_s": st.sampled_from([0.0, 0.0, 1e-6, 2.5]),
        "walltimes": st.sampled_from(["fixed", "stretch"]),
    }
)


@given(workloads(), platforms(), policies(), LIMITS)
def test_every_schedule_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any]
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, **limits), workload, platform)


@given(workloads(max_slots=4, max_nodes=3), platforms(max_slots=4, max_nodes=3), policies(), LIMITS)
def test_every_schedule_on_shared_nodes_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any]
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, **limits), workload, platform)


@given(workloads(), platforms(), policies(), st.integers(0, 30))
def test_a_run_that_is_stopped_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, until_s: int
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, until_s=float(until_s)), workload, platform)
