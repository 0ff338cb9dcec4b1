"""Laws that every run keeps, whatever the jobs, the machine and the policy; new parts and presets are drawn, too."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import hetsched as hs
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LAW = settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@LAW
@given(workloads(), platforms(), policies(), st.booleans())
def test_every_schedule_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, kill: bool
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, kill_at_walltime=kill), workload, platform)


@LAW
@given(workloads(max_slots=4, max_nodes=3), platforms(max_slots=4, max_nodes=3), policies(), st.booleans())
def test_every_schedule_on_shared_nodes_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, kill: bool
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, kill_at_walltime=kill), workload, platform)


@LAW
@given(workloads(), platforms(), policies(), st.integers(0, 30))
def test_a_run_that_is_stopped_keeps_the_laws(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, until_s: int
) -> None:
    check_schedule(hs.simulate(workload, platform, policy, until_s=float(until_s)), workload, platform)
