"""One run as an environment: gymnasium's own checks, masks, episodes, faults."""

import dataclasses
import inspect
import re
import subprocess
import sys

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import episode, first_that_fits, random_agent

import hetsched as hs
from hetsched.gym import JOB_FEATURES, MACHINE_FEATURES, SchedulingEnv, SchedulingVectorEnv
from hetsched.gym.task import TaskKeywords, TaskOptions
from hetsched.workload.generators import poisson

BUDGET = {"name": "system-budget", "budget_w": 64 * 100 + 30 * 200}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"placements": ["lowest-id", "random"], "queue": 4},
        {"power": BUDGET, "reward": {"wait": 1.0, "energy": 0.1}},
        {"max_decisions": 5},
    ],
)
def test_gymnasium_has_no_complaint(workload, platform, options):
    made = gymnasium.make("hetsched/Scheduling-v0", workload=workload, platform=platform, jobs=50, **options)
    check_env(made.unwrapped)


def test_there_is_a_number_for_each_name(workload, platform):
    env = SchedulingEnv(workload, platform, queue=5)
    observation, info = env.reset(seed=0)
    assert observation["queue"].shape == (5, len(JOB_FEATURES))
    assert observation["machine"].shape == (len(MACHINE_FEATURES),)
    assert info["action_mask"].dtype == np.int8
    assert info["action_mask"].shape == (6,)


def test_what_is_seen_at_the_first_decision(platform):
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [600.0, 60.0], "node_count": [16, 64]}
    env = SchedulingEnv(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, queue=3)
    observation, info = env.reset(seed=0)
    planned = np.log1p([600, 60]) / np.log1p(604800)
    # Both fit the idle machine, so no job is the head that cannot start.
    expected = [[1, 0.25, planned[0], 0, 0.25, 0.25, 1, 0], [1, 1, planned[1], 0, 1, 1, 1, 0], [0] * 8]
    assert observation["queue"] == pytest.approx(np.array(expected), rel=1e-6)
    assert info["action_mask"].tolist() == [1, 1, 0, 0], "nothing runs: waiting would never end"
    assert observation["machine"][:6] == pytest.approx([1, np.log1p(2) / np.log1p(1e4), 0, 1 / 3, 1, 0])
    observation, _, terminated, _, info = env.step(1)
    # The large job has started and ended; the other one is left.
    assert not terminated
    assert info["now_s"] == 60
    assert observation["queue"][:, 0].tolist() == [1, 0, 0]
    assert observation["queue"][0, 3] == pytest.approx(planned[1])


def test_running_jobs_are_seen_by_their_planned_ends(platform):
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [600.0, 60.0], "node_count": [16, 8]}
    env = SchedulingEnv(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, queue=3)
    env.reset(seed=0)
    observation, _, _, _, info = env.step(0)
    seen = dict(zip(MACHINE_FEATURES, observation["machine"].tolist(), strict=True))
    assert (seen["free"], seen["draw"]) == pytest.approx((0.75, (64 * 100 + 16 * 200) / (64 * 300)))
    assert [seen["released_300s"], seen["released_900s"], seen["released_3600s"]] == [0, 0.25, 0.25]
    assert info["action_mask"].tolist() == [1, 0, 0, 1], "something runs: the other job may wait"


def test_an_illegal_action_is_a_sentence_and_changes_nothing(workload, platform):
    env, other = (SchedulingEnv(workload, platform, jobs=50, queue=4) for _ in range(2))
    for one in (env, other):
        one.reset(seed=5)
    sentence = (
        "action: found 3 (start job 3 of the queue, lowest-id), expected a legal one, of which info['action_mask']"
    )
    with pytest.raises(hs.ConfigError, match=re.escape(sentence)):
        env.step(3)
    for action in (-1, 5, 0.5, "start"):
        with pytest.raises(hs.ConfigError, match=r"^action: found .*, expected a legal one"):
            env.step(action)
    assert env.step(0)[1:4] == other.step(0)[1:4]


@pytest.mark.parametrize(
    "options", [{}, {"power": BUDGET}, {"placements": [{"name": "sliding-window", "on_miss": "wait"}]}]
)
def test_no_legal_action_is_refused_and_samples_are_legal(workload, platform, options):
    env = SchedulingEnv(workload, platform, jobs=60, queue=8, **options)
    env.reset(seed=1)
    env.action_space.seed(1)
    ended = 0
    for _ in range(600):
        action = env.action_space.sample()
        assert env.action_masks()[action]
        _, _, terminated, _, _ = env.step(action)
        if terminated:
            ended += 1
            env.reset()
    assert ended > 3


def test_one_seed_is_one_episode_to_the_last_byte(workload, platform):
    def run(seed):
        env = SchedulingEnv(workload, platform, jobs=50, placements=["random", "lowest-id"])
        actions, rewards, _ = episode(env, random_agent(3), seed=seed)
        jobs = env.result().jobs
        more, _, _ = episode(env, random_agent(3))
        return actions, np.array(rewards).tobytes(), jobs.drop("user"), more

    first, again, other = run(7), run(7), run(8)
    assert (first[0], first[1], first[3]) == (again[0], again[1], again[3])
    assert first[2].equals(again[2])
    assert first[1] != other[1]


def test_an_episode_that_is_cut_off_has_a_result(workload, platform):
    env = SchedulingEnv(workload, platform, jobs=50, max_decisions=20)
    env.reset(seed=0)
    with pytest.raises(hs.SimulationError, match="the episode is not over"):
        env.result()
    actions, _, info = episode(env, first_that_fits, seed=0)
    assert len(actions) == 20
    assert info["summary"] == env.result().summary()
    assert info["summary"]["pending"] + info["summary"]["running"] > 0
    assert env.result().provenance["options"]["until_s"] == info["now_s"]
    assert env.result().provenance["agent"]["decisions"] == 20
    with pytest.raises(hs.SimulationError, match="the episode is over, or none has begun: call reset"):
        env.step(0)


def test_an_episode_of_named_jobs(workload, platform):
    env = SchedulingEnv(workload, platform, jobs=50)
    _, _, info = episode(env, first_that_fits, seed=0, options={"workload": workload.head(30)})
    assert info["summary"] == hs.simulate(workload.head(30), platform, hs.Policy("fcfs", "first-fit")).summary()
    with pytest.raises(hs.ConfigError, match="options: found nodes, expected nothing but `workload`"):
        env.reset(options={"nodes": 3})


def test_episodes_are_made_of_seeds(platform):
    seeds = []

    def make(seed):
        seeds.append(seed)
        return poisson(nodes=64, jobs=20, seed=seed)

    env = SchedulingEnv(make, platform)
    env.reset(seed=4)
    env.reset()
    env.reset(seed=4)
    assert seeds[0] == seeds[2] != seeds[1]
    with pytest.raises(hs.ConfigError, match="workload: found a function that returns int"):
        SchedulingEnv(lambda seed: seed, platform).reset(seed=0)


def test_the_agent_sets_the_highest_cap(workload):
    platform = hs.Platform.homogeneous(nodes=64, idle_w=100, tdp_w=300).with_cap_model(static_ratio=0.4)
    power = {"name": "system-budget", "pcr": 1.0, "allocator": "uniform", "caps_w": [180, 240]}
    env = SchedulingEnv(workload, platform, jobs=40, queue=4, power=power, caps=True)
    assert [env.describe(action) for action in (4, 5, 6, 7)] == [
        "no cap",
        "no cap above 240 W",
        "no cap above 180 W",
        "nothing more now",
    ]

    def starting(observation, mask):
        return int(mask[:4].argmax()) if mask[:4].any() else 7

    def capping(observation, mask):
        return 6 if mask[6] else starting(observation, mask)

    _, _, capped = episode(env, capping, seed=2)
    assert set(env.result().segments["cap_w"].to_list()) == {180.0}
    _, _, free = episode(env, starting, seed=2)
    assert set(env.result().segments["cap_w"].to_list()) == {None}
    assert capped["summary"]["peak_power_w"] < free["summary"]["peak_power_w"]
    assert capped["summary"]["mean_turnaround_s"] > free["summary"]["mean_turnaround_s"]

    observation, info = env.reset(seed=2)
    assert info["action_mask"][4:].tolist() == [0, 1, 1, 1], "more jobs are to come: waiting is allowed"
    observation, _, _, _, info = env.step(5)
    assert info["action_mask"][4:7].tolist() == [0, 0, 0], "one level a pass"
    assert observation["machine"][MACHINE_FEATURES.index("cap_level")] == 0.5


FAULTS = {
    "queue: found `0`": {"queue": 0},
    "caps: found `1`": {"caps": 1},
    "placements: found no placement": {"placements": []},
    "policy.placement: found `fastest`": {"placements": ["lowest-id", "fastest"]},
    "policy.order: found `fifo`": {"order": "fifo"},
    "power: found no part, expected one with `allocator` uniform": {"caps": True},
    "sleep: found `timeout`, expected nothing: an agent neither sees nor wakes nodes that sleep": {"sleep": "timeout"},
    "reward: found `speed`": {"reward": "speed"},
    "reward.wait: found `-1`": {"reward": {"wait": -1}},
    "jobs: found `601`": {"jobs": 601},
    "max_decisions: found `0`": {"max_decisions": 0},
    "order: found a part that needs first runs": {"order": {"name": "vahrm", "first_run": True}},
    "order: found a Python object": {"order": object()},
    "render_mode: found `human`": {"render_mode": "human"},
    "kill_grace_s: found `-1`": {"kill_grace_s": -1},
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_invalid_is_said_at_once(workload, platform, message):
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        SchedulingEnv(workload, platform, **FAULTS[message])


@pytest.mark.parametrize("environment", [SchedulingEnv, SchedulingVectorEnv])
def test_environments_show_every_option_with_its_default(environment):
    shown = inspect.signature(environment.__init__).parameters
    declared = dataclasses.fields(TaskOptions)
    assert {one.name: (shown[one.name].default, shown[one.name].annotation) for one in declared} == {
        one.name: (one.default, one.type) for one in declared
    }
    assert shown["kill_grace_s"].default == 0.0
    assert not {"seed", "options"} & set(shown)


def test_keywords_of_environments_are_declared_once():
    keywords = {name: getattr(hint, "__forward_arg__", hint) for name, hint in TaskKeywords.__annotations__.items()}
    declared = {one.name: one.type for one in dataclasses.fields(TaskOptions)}
    assert {name: keywords[name] for name in declared} == declared


def test_an_environment_with_parameters_of_its_own_takes_all_options(workload, platform):
    class Small(SchedulingEnv):
        def __init__(self, size):
            super().__init__(workload, platform, queue=size, kill_grace_s=60.0)

    assert Small(3).observation_space["queue"].shape[0] == 3


def test_jobs_of_which_none_can_start_are_no_episode(platform):
    env = SchedulingEnv(poisson(nodes=128, jobs=3, sizes="128"), platform)
    with pytest.raises(hs.ConfigError, match="an episode in which nothing can be decided"):
        env.reset(seed=0)


def test_without_gymnasium_the_extra_is_named():
    code = "import sys; sys.modules['gymnasium'] = None; import hetsched.gym"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == "ImportError: hetsched.gym needs gymnasium: pip install 'hetsched[gym]'"
