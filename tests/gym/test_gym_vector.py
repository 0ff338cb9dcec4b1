"""Many runs as one environment: each is the single environment of its seed."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import hetsched as hs
from hetsched.gym import SchedulingEnv, SchedulingVectorEnv

RUNS = 5
OPTIONS = {"jobs": 20, "queue": 8, "placements": ["lowest-id", "random"], "reward": {"wait": 1.0, "energy": 0.5}}


def test_each_run_is_the_single_environment_of_its_seed(workload, platform):
    envs = SchedulingVectorEnv(workload, platform, num_envs=RUNS, **OPTIONS)
    singles = [SchedulingEnv(workload, platform, **OPTIONS) for _ in range(RUNS)]
    observations, infos = envs.reset(seed=3)
    now = [single.reset(seed=3 + row) for row, single in enumerate(singles)]
    done, ended = [False] * RUNS, 0
    envs.action_space.seed(0)
    for _ in range(120):
        for row, (observation, info) in enumerate(now):
            assert all(np.array_equal(observations[name][row], observation[name]) for name in observation)
            assert np.array_equal(infos["action_mask"][row], info["action_mask"])
        actions = envs.action_space.sample()
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        for row, single in enumerate(singles):
            if done[row]:
                now[row], reward, done[row] = single.reset(), 0.0, False
            else:
                observation, reward, done[row], _, info = single.step(actions[row])
                now[row] = observation, info
            assert (rewards[row], terminations[row], truncations[row]) == (reward, done[row], False)
            if done[row]:
                ended += 1
                assert infos["_summary"][row]
                assert infos["summary"][row] == now[row][1]["summary"]
                assert envs.result(row).jobs.equals(single.result().jobs)
    assert ended > RUNS


def test_one_seed_is_the_same_to_the_last_byte(workload, platform):
    def play():
        envs = SchedulingVectorEnv(workload, platform, num_envs=RUNS, **OPTIONS)
        _, infos = envs.reset(seed=[4, 5, 6, 7, 8])
        bytes_of = []
        for _ in range(60):
            observations, rewards, *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
            bytes_of.append((observations["queue"].tobytes(), observations["machine"].tobytes(), rewards.tobytes()))
        return bytes_of

    assert play() == play()


def test_the_spaces_are_batches_of_the_single_ones(workload, platform):
    envs = gymnasium.make_vec("hetsched/Scheduling-v0", num_envs=RUNS, workload=workload, platform=platform, jobs=20)
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert envs.action_space.sample() in envs.action_space
    assert envs.action_space.shape == (RUNS,)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert envs.single_action_space.n == 17


def test_gymnasium_s_statistics_wrap_it(workload, platform):
    envs = RecordEpisodeStatistics(SchedulingVectorEnv(workload, platform, num_envs=RUNS, jobs=20))
    _, infos = envs.reset(seed=0)
    earned = {}
    for _ in range(40):
        *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
        for row in np.flatnonzero(infos.get("_summary", [])):
            earned[row] = infos["episode"]["r"][row], -infos["summary"][row]["mean_wait_s"] / 3600
    assert len(earned) == RUNS
    assert all(reward == pytest.approx(wait) for reward, wait in earned.values())


def test_arrays_are_reused_where_no_copies_are_asked_for(workload, platform):
    kept, copied = (SchedulingVectorEnv(workload, platform, num_envs=2, jobs=20, copy=copy) for copy in (False, True))
    for envs, same in ((kept, True), (copied, False)):
        first, infos = envs.reset(seed=0)
        second = envs.step(infos["action_mask"].argmax(axis=1))[0]
        assert np.shares_memory(first["queue"], second["queue"]) is same


def test_episodes_without_autoreset_are_reset_by_hand(workload, platform):
    envs = SchedulingVectorEnv(
        workload, platform, num_envs=2, jobs=20, max_decisions=3, autoreset_mode=AutoresetMode.DISABLED
    )
    _, infos = envs.reset(seed=0)
    for _ in range(3):
        _, _, _, truncations, infos = envs.step(infos["action_mask"].argmax(axis=1))
    assert truncations.tolist() == [True, True]
    assert infos["summary"][0]["pending"] > 0
    with pytest.raises(hs.SimulationError, match="the episode of run 0 is over, or none has begun: call reset"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(hs.SimulationError, match="the episode of run 1 is over"):
        envs.step(np.zeros(2, np.int64))
    with pytest.raises(hs.SimulationError, match="run 0 has no result: it is under way"):
        envs.result(0)
    assert envs.result(1).summary() == infos["summary"][1]


def test_an_illegal_action_names_its_run_and_changes_nothing(workload, platform):
    envs, other = (SchedulingVectorEnv(workload, platform, num_envs=3, jobs=20, queue=4) for _ in range(2))
    for one in (envs, other):
        _, infos = one.reset(seed=0)
    with pytest.raises(hs.ConfigError, match=re.escape("actions[1]: found 3 (start job 3 of the queue, lowest-id)")):
        envs.step(np.array([0, 3, 0]))
    with pytest.raises(hs.ConfigError, match=re.escape("actions: found int64 of shape (2,), expected 3 whole numbers")):
        envs.step(np.array([0, 0]))
    with pytest.raises(hs.ConfigError, match=re.escape("actions: found float64 of shape (3,)")):
        envs.step(np.zeros(3))
    actions = infos["action_mask"].argmax(axis=1)
    assert np.array_equal(envs.step(actions)[1], other.step(actions)[1])


FAULTS = {
    "num_envs: found `0`": {"num_envs": 0},
    "copy: found `1`": {"copy": 1},
    "autoreset_mode: found `SameStep`, expected one of NextStep, Disabled": {"autoreset_mode": AutoresetMode.SAME_STEP},
    "queue: found `0`": {"queue": 0},
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_invalid_is_said_at_once(workload, platform, message):
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        SchedulingVectorEnv(workload, platform, **FAULTS[message])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2]}, "seed: found 2 seeds, expected 3, one a run"),
        ({"options": {"reset_mask": np.zeros(3)}}, "options.reset_mask: found float64 of shape (3,)"),
        ({"options": {"workload": 3}}, "options: found workload, expected nothing but `reset_mask`"),
    ],
)
def test_an_invalid_reset_is_said(workload, platform, arguments, message):
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        SchedulingVectorEnv(workload, platform, num_envs=3, jobs=20).reset(**arguments)
