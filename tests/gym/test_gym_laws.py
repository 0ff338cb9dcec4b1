"""An environment is the run that a preset makes, if it is driven by what the preset would do."""

import numpy as np
import polars as pl
import pytest
from helpers import episode, first_that_delays_nobody, first_that_fits, head_or_nothing, random_agent
from hypothesis import assume, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.gym import SchedulingEnv
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

AGENTS = {
    "none": head_or_nothing,
    "first-fit": first_that_fits,
}


def begun(workload, platform, policy, **more):
    """The environment of a policy's parts; none where nothing is ever to be decided."""
    parts = policy.parts
    env = SchedulingEnv(
        workload, platform, order=parts["order"], placements=parts["placement"], power=parts["power"], queue=16, **more
    )
    try:
        env.reset(seed=0)
    except hs.ConfigError as error:
        assume("nothing can be decided" not in str(error))
        raise
    return env


def same(env, result):
    """The whole schedule is the same: starts, nodes, reasons, ends, watts."""
    own = env.result()
    assert own.jobs.equals(result.jobs)
    assert own.timeline.equals(result.timeline)
    assert own.nodes.equals(result.nodes)


@given(workloads(min_jobs=1, max_jobs=14), platforms(), st.sampled_from(sorted(AGENTS)), st.data())
def test_the_first_that_fits_is_first_fit_and_the_head_or_nothing_is_none(workload, platform, backfill, data):
    policy = data.draw(policies(backfill=backfill, placement="lowest-id"))
    order = policy.parts["order"]
    assume("first_runs" not in policy.needs)
    assume(order.get("starvation_limit_s", "none") == "none")
    env = begun(workload, platform, policy)
    episode(env, AGENTS[backfill], seed=0)
    same(env, hs.simulate(workload, platform, policy))


@given(workloads(min_jobs=1, max_jobs=14), platforms(), st.sampled_from(["fcfs", "shortest", "largest"]))
def test_the_first_that_delays_no_job_is_easy(workload, platform, order):
    policy = hs.Policy(order, {"name": "reservations", "depth": 1})
    env = begun(workload, platform, policy)
    episode(env, first_that_delays_nobody, seed=0)
    same(env, hs.simulate(workload, platform, policy))


@given(workloads(min_jobs=1, max_jobs=14), platforms(), policies(), st.integers(0, 99))
def test_whatever_an_agent_does_is_a_lawful_schedule(workload, platform, policy, seed):
    placements = ["lowest-id", "lowest-power", "random"]
    assume("first_runs" not in policy.needs)
    parts = policy.parts
    env = SchedulingEnv(workload, platform, order=parts["order"], placements=placements, power=parts["power"], queue=3)
    try:
        env.reset(seed=seed)
    except hs.ConfigError as error:
        assume("nothing can be decided" not in str(error))
        raise
    _, _, info = episode(env, random_agent(seed), seed=seed)
    assert info["summary"]["pending"] == info["summary"]["running"] == 0
    check_schedule(env.result(), workload, platform)


@given(workloads(min_jobs=1, max_jobs=14), platforms(), st.integers(0, 99))
def test_what_an_agent_earns_adds_up_to_what_the_run_says(workload, platform, seed):
    names = ("wait", "bounded_slowdown", "energy")
    runs = []
    for name in names:
        env = begun(workload, platform, hs.Policy(), reward=name)
        _, rewards, info = episode(env, random_agent(seed), seed=seed)
        runs.append((sum(rewards), env.result().jobs, info["summary"]))
    (waited, jobs, summary), (slowed, _, _), (energy, _, _) = runs
    queued = jobs.filter(pl.col("state") != "rejected")
    waits_s, lengths_s = queued["wait_s"].to_numpy(), queued["nominal_runtime_s"].to_numpy()
    assert waited == pytest.approx(-waits_s.sum() / 3600 / len(workload), rel=1e-9, abs=1e-12)
    assert slowed == pytest.approx(-(waits_s / np.maximum(lengths_s, 10)).sum() / len(workload), rel=1e-9, abs=1e-9)
    assert energy == pytest.approx(-summary["energy_j"] / 3600 / platform.tdp_w.sum(), rel=1e-9, abs=1e-9)
