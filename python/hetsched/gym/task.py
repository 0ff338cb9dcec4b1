"""A task: the machine, what an agent decides on it, and how it is rewarded; checked once, begun for each episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hetsched.checks import Faults, listed, plain, shown
from hetsched.errors import ConfigError
from hetsched.gym.episodes import Episodes
from hetsched.gym.observation import Shape
from hetsched.gym.rendering import MODES
from hetsched.gym.rewards import Reward
from hetsched.params import Declared, choice, flag, whole
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.policy.policy import Part
from hetsched.run.options import RunKeywords, RunOptions
from hetsched.run.simulation import Begun, run_of
from hetsched.typing import Illegal, RenderMode
from hetsched.workload import Workload


@dataclass(frozen=True)
class TaskOptions(Declared):
    """Options of an environment besides those of its runs; `SchedulingEnv` says what each means."""

    jobs: int | None = None
    queue: int = field(default=16, metadata=whole(1, 4096))
    order: Part = "fcfs"
    placements: Part | Sequence[Part] = "lowest-id"
    power: Part | None = None
    caps: bool = field(default=False, metadata=flag())
    sleep: Part | None = None
    reward: str | Mapping[str, float] = "wait"
    max_decisions: int | None = field(default=None, metadata=whole(1, 10**12))
    illegal: Illegal = field(default="error", metadata=choice(Illegal))
    render_mode: RenderMode | None = field(
        default=None, metadata=choice(RenderMode, form=f"one of {listed(MODES)}, or None")
    )


class TaskKeywords(RunKeywords, total=False):
    """The fields of `TaskOptions` as keywords, for type checkers; a test holds the two equal."""

    jobs: int | None
    queue: int
    order: Part
    placements: Part | Sequence[Part]
    power: Part | None
    caps: bool
    sleep: Part | None
    reward: str | Mapping[str, float]
    max_decisions: int | None
    illegal: Illegal
    render_mode: RenderMode | None


class Task:
    """Settings that every episode of an environment shares."""

    def __init__(
        self, workload: Workload | Callable[[int], Workload], platform: Any, asked: TaskOptions, options: RunOptions
    ) -> None:
        faults = Faults()
        if not isinstance(platform, Platform):
            faults.add("platform", type(platform).__name__, "a Platform, as Platform.homogeneous makes it")
        asked, options = asked.checked(faults), options.checked(faults)
        faults.check()
        self.platform: Platform = platform
        self.max_decisions, self.options, self.render_mode = asked.max_decisions, options, asked.render_mode
        self.is_lenient = asked.illegal == "noop"
        self.placements = _placements(asked)
        self.policy = self.placements[0]
        self.levels_w = _levels(self.policy, platform) if asked.caps else None
        self.shape = Shape(asked.queue, len(self.placements), len(self.levels_w or ()))
        self.tdp_w = float(np.sum(platform.tdp_w))
        self.reward = Reward(asked.reward, platform)
        self.episodes = Episodes(workload, asked.jobs)

    def begin(self, workload: Workload, seed: int) -> Begun:
        """An episode of these jobs: nothing has happened in it yet."""
        run = run_of(workload, self.platform, self.policy, replace(self.options, seed=seed))
        return replace(run, agent=self.agent).begin()

    def draw(self, chance: np.random.Generator) -> tuple[Workload, int]:
        """The jobs of an episode and the seed of its run."""
        return self.episodes.draw(chance), int(chance.integers(2**32))

    @property
    def agent(self) -> dict[str, Any]:
        """Keywords of the engine for the agent."""
        placements = [policy.parts["placement"] for policy in self.placements]
        return {"rows": self.shape.queue, "placements": placements, "caps": self.levels_w is not None}

    def described(self, action: int) -> str:
        """An action in words."""
        row, rule = divmod(action, len(self.placements))
        if row < self.shape.queue:
            part = self.placements[rule].parts["placement"] or {}
            return f"start job {row} of the queue, {part['name']}"
        level = action - self.shape.queue * len(self.placements)
        if self.levels_w is None or level >= len(self.levels_w):
            return "nothing more now"
        cap_w = self.levels_w[level]
        return "no cap" if cap_w is None else f"no cap above {cap_w:g} W"


def _placements(asked: TaskOptions) -> list[Policy]:
    """A policy for each placement; raises if one is unknown or needs what an agent cannot give."""
    order, power, sleep = asked.order, asked.power, asked.sleep
    given = [asked.placements] if isinstance(asked.placements, str | Mapping) else list(asked.placements)
    if not given:
        raise ConfigError([("placements", "no placement", "at least one")])
    faults = Faults()
    for name, part in [("order", order), *(("placements", one) for one in given), ("power", power or {})]:
        values = part.values() if isinstance(part, Mapping) else [part]
        if any(not isinstance(plain(value), str | int | float | bool | list | tuple | None) for value in values):
            faults.note(name, "a Python object", "a part's name or a dictionary: an agent takes no parts of your own")
    if sleep is not None:
        faults.note("sleep", shown(sleep), "nothing: an agent neither sees nor wakes nodes that sleep")
    faults.check()
    policies = [Policy(order, "none", part, power, sleep, name="agent") for part in given]
    for policy in policies:
        # Groups of users are there in every log.
        for need, roles in {name: roles for name, roles in policy.needs.items() if name != "groups"}.items():
            faults.note(
                roles[0], f"a part that needs {need.replace('_', ' ')}", "one that needs no run before or besides it"
            )
    faults.check()
    return policies


def _levels(policy: Policy, platform: Platform) -> list[float | None]:
    """Levels of the cap: none, then the caps from the highest."""
    part = policy.parts["power"] or {}
    if part.get("allocator") != "uniform":
        found = "no part" if not part else f"the allocator {part.get('allocator')}"
        raise ConfigError([("power", found, "one with `allocator` uniform and caps_w, whose levels the agent sets")])
    caps_w = part.get("caps_w") or [cap_w for cap_w in platform.actual_by_cap or {} if np.isfinite(cap_w)]
    return [None, *sorted(map(float, caps_w), reverse=True)]
