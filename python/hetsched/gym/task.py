"""The task of an agent: its options, the jobs of each episode, and the reward between two decisions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, plain, shown
from hetsched.errors import ConfigError
from hetsched.gym.rendering import MODES
from hetsched.gym.spaces import Shape
from hetsched.params import Declared, choice, flag, whole
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.policy.policy import Part
from hetsched.run.options import RunKeywords, RunOptions
from hetsched.run.simulation import Begun, run_of
from hetsched.typing import Illegal, RenderMode
from hetsched.workload import Workload

_KEPT = 256


class Episodes:
    """The jobs of each episode: all of a workload, a random window of it, or what a function makes of a seed."""

    def __init__(self, source: Any, jobs: int | None) -> None:
        faults = Faults()
        if not isinstance(source, Workload) and not callable(source):
            faults.add("workload", type(source).__name__, "a Workload, or a function that makes one of a seed")
        elif jobs is not None and not isinstance(source, Workload):
            faults.add("jobs", jobs, "None: a function makes workloads of whatever length it likes")
        elif jobs is not None:
            faults.whole("jobs", jobs, low=1, high=len(source) if isinstance(source, Workload) else 1)
        faults.check()
        self._whole = source if isinstance(source, Workload) else None
        self._make: Callable[[int], Any] = source
        self._jobs = jobs
        self._kept: OrderedDict[int, Workload] = OrderedDict()

    def draw(self, chance: np.random.Generator) -> Workload:
        """The jobs of an episode."""
        if self._whole is None:
            return self._made(int(chance.integers(2**32)))
        if self._jobs is None:
            return self._whole
        return self._window(self._whole, int(chance.integers(len(self._whole) - self._jobs + 1)), self._jobs)

    def _made(self, seed: int) -> Workload:
        made = self._make(seed)
        if not isinstance(made, Workload):
            raise ConfigError(
                [("workload", f"a function that returns {type(made).__name__}", "one that returns a Workload")]
            )
        return made

    def _window(self, whole: Workload, first: int, jobs: int) -> Workload:
        """So many jobs that were submitted one after the other; the windows drawn last are kept."""
        if first not in self._kept:
            order = np.argsort(whole.to_polars()["submit_s"].to_numpy(), kind="stable")
            inside = np.zeros(len(order), np.bool_)
            inside[order[first : first + jobs]] = True
            self._kept[first] = whole.filter(pl.lit(pl.Series(inside)))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(first)
        return self._kept[first]


REWARDS = {
    "wait": "- ∫ (queued jobs) dt / (3600 s × N)",
    "bounded_slowdown": "- ∫ Σ over queued jobs of 1 / max(runtime, 10 s) dt / N",
    "energy": "- ∫ (system power) dt / (TDP of the machine × 3600 s)",
}
"""Each reward by its name; the integrals run from one decision to the next, and N is the number of the episode's jobs.

Over a whole episode they add up to: ``wait``, minus the mean wait in hours; ``bounded_slowdown``, 1 minus the mean
bounded slowdown, where jobs are no shorter than 10 s and run as long as the workload says; ``energy``, minus the energy
of the run, in hours of the machine's TDP.
"""


class Reward:
    """A weighted sum of the rewards."""

    def __init__(self, given: object, platform: Platform) -> None:
        self.weights = _weights(given)
        self._weights = np.array([self.weights.get(name, 0.0) for name in REWARDS])
        self._full_j = float(sum(platform.tdp_w)) * 3600.0

    def scale(self, jobs: int) -> npt.NDArray[np.float64]:
        """Factor of the engine's sums in an episode of so many jobs."""
        count = max(jobs, 1)
        scale: npt.NDArray[np.float64] = -self._weights / np.array([3600.0 * count, count, self._full_j])
        return scale


def _weights(given: object) -> dict[str, float]:
    """Weights by name, from a name or a mapping."""
    if isinstance(given, str):
        given = {given: 1.0}
    expected = f"one of {listed(REWARDS)}, or a dictionary of these names and weights"
    if not isinstance(given, Mapping) or not given:
        raise ConfigError([("reward", repr(given), expected)])
    faults, weights = Faults(), {name: plain(weight) for name, weight in given.items()}
    for name, weight in weights.items():
        if name not in REWARDS:
            faults.add("reward", name, f"{expected}{did_you_mean(str(name), REWARDS)}")
        else:
            faults.number(f"reward.{name}", weight, low=0.0, high=1e12)
    faults.check()
    return {str(name): float(weight) for name, weight in weights.items()}


def described(weights: Mapping[str, Any]) -> str:
    """The weights in words: ``wait``, or ``1·wait + 0.1·energy``."""
    if list(weights.values()) == [1.0]:
        return next(iter(weights))
    return " + ".join(f"{weight:g}·{name}" for name, weight in weights.items())


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
