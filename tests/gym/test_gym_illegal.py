"""Illegal actions under ``illegal="noop"``, for agents without masks."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import episode

import hetsched as hs
from hetsched.gym import SchedulingEnv, SchedulingVectorEnv


def lenient(workload, platform, **options):
    return SchedulingEnv(workload, platform, jobs=50, queue=4, illegal="noop", **options)


def nothing_or_first(mask):
    return len(mask) - 1 if mask[-1] else int(mask.argmax())


def test_an_illegal_action_is_that_of_nothing_more(workload, platform):
    actions, rewards, info = episode(
        lenient(workload, platform), lambda seen, mask: int(mask.argmin()) if not mask.all() else 0, seed=3
    )
    assert info["was_illegal"]
    env = SchedulingEnv(workload, platform, jobs=50, queue=4)
    legal, expected, other = episode(env, lambda seen, mask: nothing_or_first(mask) if not mask.all() else 0, seed=3)
    assert actions != legal
    assert rewards == expected
    assert info["summary"] == other["summary"]


def test_an_agent_that_knows_no_masks_comes_to_the_end(workload, platform):
    chance = np.random.default_rng(0)
    _, _, info = episode(lenient(workload, platform), lambda seen, mask: int(chance.integers(len(mask))), seed=3)
    assert info["summary"]["completed"] == 50
    _, _, info = episode(lenient(workload, platform), lambda seen, mask: 3, seed=3)
    assert info["summary"]["completed"] == 50, "one action for ever ends as well"


def test_legal_actions_are_not_called_illegal(workload, platform):
    env = lenient(workload, platform)
    _, info = env.reset(seed=3)
    assert "was_illegal" not in info
    assert not env.step(int(info["action_mask"].argmax()))[4]["was_illegal"]


def test_many_runs_do_the_same_as_each(workload, platform):
    envs = SchedulingVectorEnv(workload, platform, num_envs=3, jobs=50, queue=4, illegal="noop")
    singles = [lenient(workload, platform) for _ in range(3)]
    envs.reset(seed=5)
    for place, env in enumerate(singles):
        env.reset(seed=5 + place)
    chance = np.random.default_rng(1)
    for _ in range(30):
        actions = chance.integers(5, size=3)
        _, rewards, _, _, infos = envs.step(actions)
        steps = [env.step(int(action)) for env, action in zip(singles, actions, strict=True)]
        assert rewards.tolist() == [step[1] for step in steps]
        assert infos["was_illegal"].tolist() == [step[4]["was_illegal"] for step in steps]
        assert infos["now_s"].tolist() == [step[4]["now_s"] for step in steps]


def test_numbers_that_are_no_actions_are_still_errors(workload, platform):
    env = lenient(workload, platform)
    env.reset(seed=0)
    with pytest.raises(hs.ConfigError, match=r"^action: found 5, expected a legal one"):
        env.step(5)
    envs = SchedulingVectorEnv(workload, platform, num_envs=2, jobs=50, queue=4, illegal="noop")
    envs.reset(seed=0)
    with pytest.raises(hs.ConfigError, match=r"^actions\[1\]: found -1, expected a legal one"):
        envs.step(np.array([0, -1]))


def test_the_error_names_the_option(workload, platform):
    env = SchedulingEnv(workload, platform, jobs=50, queue=4)
    env.reset(seed=5)
    with pytest.raises(hs.ConfigError, match='agents without masks: illegal="noop"'):
        env.step(3)


def test_gymnasium_has_no_complaint(workload, platform):
    made = gymnasium.make("hetsched/Scheduling-v0", workload=workload, platform=platform, jobs=50, illegal="noop")
    check_env(made.unwrapped)


def test_an_unknown_way_is_an_error(workload, platform):
    with pytest.raises(hs.ConfigError, match="illegal: found `skip`, expected one of error, noop"):
        SchedulingEnv(workload, platform, illegal="skip")
