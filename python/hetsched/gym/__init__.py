"""Environments for reinforcement learning: an agent decides which job starts next, where, and under which cap.

They follow gymnasium's API, which the extra ``gym`` installs: ``pip install 'hetsched[gym]'``.
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as error:
    raise ImportError("hetsched.gym needs gymnasium: pip install 'hetsched[gym]'") from error

from hetsched.gym.env import SchedulingEnv
from hetsched.gym.spaces import JOB_FEATURES, MACHINE_FEATURES
from hetsched.gym.task import REWARDS
from hetsched.gym.vector import SchedulingVectorEnv

__all__ = ["JOB_FEATURES", "MACHINE_FEATURES", "REWARDS", "SchedulingEnv", "SchedulingVectorEnv"]

gymnasium.register(
    id="hetsched/Scheduling-v0",
    entry_point="hetsched.gym:SchedulingEnv",
    vector_entry_point="hetsched.gym:SchedulingVectorEnv",
)


def __dir__() -> list[str]:
    return sorted(__all__)
