"""Logs of machines whose nodes differ: CPU and GPU nodes, cores and accelerators, GPUs of shared nodes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import settings
from unlike_traces import SHARED, curie, eurora, theta_gpu

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.testing.facts import Facts
from hetsched.testing.start_laws import check_eligibility

pytestmark = [
    pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"),
    pytest.mark.skipif(not SHARED.is_dir(), reason="the logs are not here"),
]

PLAN = hs.Policy("fcfs", {"name": "plan", "depth": 1})


def without(workload: hs.Workload, *columns: str) -> hs.Workload:
    return hs.Workload.from_polars(workload.to_polars().drop(columns))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy:placement=random", "conservative"])
def test_curies_jobs_run_in_their_partitions(policy: str) -> None:
    workload, platform = curie(20_000)
    result = hs.simulate(workload, platform, policy)
    check_eligibility(Facts(result, workload, platform))
    jobs = result.jobs.filter(pl.col("nodes").is_not_null())
    partition = {"thin": (0, 5039), "fat": (5040, 5399), "hybrid": (5400, 5543)}
    for (kind,), own in jobs.group_by("constraint"):
        if kind is not None:
            low, high = partition[str(kind)]
            assert own["nodes"].explode().is_between(low, high).all()
    assert jobs["constraint"].n_unique() == 4


@pytest.mark.at_length
@pytest.mark.skipif(settings.get_current_profile_name() != "long", reason="the whole log, in `make fuzz`")
def test_curies_gpu_jobs_wait_for_gpu_nodes() -> None:
    workload, platform = curie()
    asked, anywhere = (hs.simulate(each, platform, "easy") for each in (workload, without(workload, "constraint")))
    assert asked.summary()["mean_wait_s"] > anywhere.summary()["mean_wait_s"]
    assert asked.summary()["rejected"] == 0


def test_euroras_jobs_share_cores_accelerators_and_memory() -> None:
    workload, platform = eurora()
    result = hs.simulate(workload, platform, PLAN)
    check_schedule(result, workload, platform)
    asking = result.jobs.filter(pl.col("constraint") == "gpu")
    assert len(asking) == 512
    assert asking["nodes"].explode().is_between(32, 63).all()
    blind = hs.simulate(without(workload, "constraint", "gpus", "memory_gb"), platform, PLAN)
    with pytest.raises(AssertionError, match=r"does not have what it asks for|there, held by"):
        check_schedule(blind, workload, platform)


def test_eight_gpus_of_a_node_are_shared() -> None:
    workload, platform = theta_gpu(4_000)
    result = hs.simulate(workload, platform, PLAN)
    check_schedule(result, workload, platform)
    blind = hs.simulate(without(workload, "gpus"), platform, PLAN)
    with pytest.raises(AssertionError, match="gpus of node"):
        check_schedule(blind, workload, platform)
