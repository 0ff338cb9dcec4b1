"""Rendering of environments, as text and as pictures."""

from __future__ import annotations

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.utils.env_checker import check_env

import hetsched as hs
from hetsched.gym import SchedulingEnv, SchedulingVectorEnv

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

JOBS = pl.DataFrame(
    {
        "job_id": [11, 12, 13],
        "submit_s": [0.0, 0.0, 30.0],
        "runtime_s": [100.0, 50.0, 10.0],
        "walltime_s": [100.0, 50.0, 10.0],
        "node_count": [3, 2, 1],
    }
)


def env(mode: str | None, **changes: object) -> SchedulingEnv:
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    return SchedulingEnv(hs.Workload.from_polars(JOBS), platform, queue=3, render_mode=mode, **changes)  # type: ignore[arg-type]


def test_a_text_says_what_stands_on_the_machine() -> None:
    run = env("ansi")
    assert run.render() is None
    run.reset(seed=1)
    assert run.render() == (
        "at 0 s: 0 running, 2 waiting, 0 over\n"
        "4 nodes: 4 idle; 400 W\n"
        "first in the queue: job 11, 3 nodes, waiting 0 s\n"
    )
    run.step(0)  # Job 11 starts; job 12 has to wait, and 13 is the next to be decided on.
    assert run.render() == (
        "at 30 s: 1 running, 2 waiting, 0 over\n"
        "4 nodes: 3 busy, 1 idle; 1,000 W\n"
        "first in the queue: job 12, 2 nodes, waiting 30 s\n"
    )
    over = False
    while not over:
        _, _, over, _, info = run.step(int(run.action_masks().argmax()))
    assert info["summary"]["completed"] == 3
    assert run.render().splitlines()[0] == "at 150 s: 0 running, 0 waiting, 3 over"


def test_a_budget_is_reported_next_to_the_draw() -> None:
    run = env("ansi", power={"name": "system-budget", "budget_w": 1100})
    run.reset(seed=1)
    assert "4 nodes: 4 idle; 400 W of 1,100 W allowed" in run.render()


def test_a_picture_has_a_square_a_node_and_a_bar_for_jobs_and_draw() -> None:
    run = env("rgb_array")
    run.reset(seed=1)
    idle = run.render()
    assert (idle.dtype, idle.shape) == (np.uint8, (2 * 9 + 2 * 10, 240, 3))
    run.step(0)
    busy = run.render()
    blue = (busy == np.array([0, 114, 178])).all(axis=2)
    assert blue.sum() == 3 * 8 * 8
    draw = (busy[-10:] == np.array([0, 158, 115])).all(axis=2)
    assert draw.any(axis=0).sum() == round(240 * 1000 / 1200)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_gymnasium_finds_nothing_wrong(mode: str) -> None:
    check_env(
        gymnasium.make(
            "hetsched/Scheduling-v0",
            workload=hs.Workload.from_polars(JOBS),
            platform=hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300),
            render_mode=mode,
        ).unwrapped
    )


def test_many_runs_are_shown_one_by_one() -> None:
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    runs = SchedulingVectorEnv(hs.Workload.from_polars(JOBS), platform, num_envs=2, render_mode="ansi")
    runs.reset(seed=1)
    single = env("ansi")
    single.reset(seed=1)
    assert runs.render() == (single.render(), single.render())
    assert SchedulingVectorEnv(hs.Workload.from_polars(JOBS), platform).render() is None
    assert env(None).render() is None


def test_another_mode_is_refused() -> None:
    with pytest.raises(hs.ConfigError, match="render_mode: found `human`, expected one of ansi, rgb_array, or None"):
        env("human")
