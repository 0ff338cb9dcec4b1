"""The list of what hetsched does not do: a limit that is lifted must leave the list."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "background" / "other-simulators.md").read_text(encoding="utf-8")
LIMITS = PAGE.partition("## What hetsched does not do\n")[2]
PLATFORM = hs.Platform.homogeneous(4, 100, 300)


def jobs(**columns: list[object]) -> hs.Workload:
    frame = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [60.0, 30.0], "node_count": [1, 1]}
    return hs.Workload.from_polars(pl.DataFrame({**frame, **columns}))


def sleep_under_a_budget_is_by_counts_alone() -> bool:
    budget = {"name": "system-budget", "pcr": 0.9}
    capped = hs.Platform.homogeneous(4, 100, 300, off_w=5, boot_s=60, shutdown_s=60).with_cap_model(static_w=50)
    with pytest.raises(hs.ConfigError, match="first-fit or reservations with a power part"):
        hs.simulate(jobs(), capped, hs.Policy("fcfs", "plan", power=budget, sleep="timeout"))
    for more in ({"allocator": "equal-slowdown"}, {"on_excess": ["kill"]}):
        policy = hs.Policy("fcfs", "reservations", power=budget | more, sleep="timeout")
        with pytest.raises(hs.ConfigError, match="none with an allocator or steps in on_excess"):
            hs.simulate(jobs(), capped, policy)
    return True


def no_bound_is_known_under_caps() -> bool:
    with pytest.raises(hs.ConfigError, match="no window's bound is known"):
        hs.simulate(jobs(), PLATFORM.with_cap_model(static_w=50), bound=True)
    return True


def queues_preempt_by_plan_on_like_nodes() -> bool:
    queues = [hs.Queue("a", "0"), hs.Queue("u", "0", priority=1, preempts=["a"])]
    platform = hs.Platform.homogeneous(nodes=1, idle_w=1, tdp_w=2, queues=queues)
    workload = jobs(queue=["a", "u"])
    with pytest.raises(hs.ConfigError, match="the backfill plan, which names the nodes on which jobs make way"):
        hs.simulate(workload, platform, "easy")
    kinds = [hs.NodeClass("cpu", 1, 100, 300, gpus=0), hs.NodeClass("gpu", 1, 100, 300, gpus=2)]
    unlike = hs.Platform(kinds, queues=[hs.Queue("a", "0-1"), hs.Queue("u", "0-1", priority=1, preempts=["a"])])
    unclear = "suspended jobs share watts, or what nodes differ in"
    with pytest.raises(hs.ConfigError, match=unclear):
        hs.simulate(jobs(queue=["a", "u"], device=["gpu", "cpu"]), unlike, hs.Policy("fcfs", "plan"))
    with pytest.raises(hs.ConfigError, match=unclear):
        hs.simulate(workload, platform, hs.Policy("fcfs", "plan", power="system-budget"))
    return not hasattr(hs.Queue, "shares")


def a_job_draws_a_constant_power() -> bool:
    capped = PLATFORM.with_cap_model(static_w=100)
    result = hs.simulate(jobs(cap_w=[200.0, None]), capped)
    return result.segments.select("job_id", "power_w").rows() == [(1, 200.0), (2, 300.0)]


def unlike_nodes_share_by_plan() -> bool:
    kinds = [hs.NodeClass("cpu", 2, 100, 300, slots=2, gpus=0), hs.NodeClass("gpu", 2, 100, 300, slots=2, gpus=2)]
    workload = jobs(device=["gpu", "cpu"])
    with pytest.raises(hs.ConfigError, match=r"policy\.backfill: found `reservations`, expected plan"):
        hs.simulate(workload, hs.Platform(kinds, exclusive=False), "easy")
    shared = hs.simulate(workload, hs.Platform(kinds, exclusive=False), hs.Policy("fcfs", "plan"))
    return shared.summary()["completed"] == 2


def it_is_for_linux() -> bool:
    return re.findall(r'"Operating System :: (.*)"', (ROOT / "pyproject.toml").read_text()) == ["POSIX :: Linux"]


HELD = {
    "Under a power budget nodes are switched off only by backfills that count nodes, without allocators and": (
        sleep_under_a_budget_is_by_counts_alone
    ),
    "No bound on savings in a window is known under caps.": no_bound_is_known_under_caps,
    "Queues have limits, priorities and, under `plan` on nodes that offer the same and without a power budget,": (
        queues_preempt_by_plan_on_like_nodes
    ),
    "A job draws a constant power as long as its caps stay as they are,": a_job_draws_a_constant_power,
    "Where jobs ask for features, GPUs, memory or licences that differ by node, shared nodes need the": (
        unlike_nodes_share_by_plan
    ),
    "Linux only.": it_is_for_linux,
}


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize("sentence", HELD)
def test_a_limit_that_is_named_is_one(sentence: str) -> None:
    assert sentence in re.sub(r"\s+", " ", LIMITS)
    assert HELD[sentence]()


def test_every_limit_that_is_named_is_held() -> None:
    items = [re.sub(r"\s+", " ", item) for item in LIMITS.split("\n* ")[1:]]
    assert [item for item in items if not any(sentence in item for sentence in HELD)] == []
