"""Agents of a line, and an episode from its first decision to its last."""

import numpy as np

PRESENT, CAN_START, DELAYS_HEAD = 0, 6, 7


def first_that_fits(observation, mask):
    """The first job that fits; nothing if none does."""
    return int(mask.argmax())


def head_or_nothing(observation, mask):
    """The first job of the queue, or nothing."""
    return 0 if mask[0] else len(mask) - 1


def first_that_delays_nobody(observation, mask):
    """The first job that fits and does not delay the first that does not; nothing if there is none."""
    queue = observation["queue"]
    suits = np.flatnonzero((queue[:, CAN_START] == 1) & (queue[:, DELAYS_HEAD] == 0))
    return int(suits[0]) if len(suits) else len(mask) - 1


def random_agent(seed):
    """Any legal action."""
    chance = np.random.default_rng(seed)
    return lambda observation, mask: int(chance.choice(np.flatnonzero(mask)))


def episode(env, agent, *, seed=None, options=None):
    """Every decision of an episode is the agent's; returns the actions, the rewards and the last info."""
    observation, info = env.reset(seed=seed, options=options)
    actions, rewards, done = [], [], False
    while not done:
        assert observation in env.observation_space
        actions.append(agent(observation, info["action_mask"]))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        rewards.append(reward)
        done = terminated or truncated
    return actions, rewards, info
