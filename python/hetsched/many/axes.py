"""Axes of a sweep: workloads, platforms, policies and seeds, each under a name of its own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import polars as pl

from hetsched.checks import Faults, whole_text
from hetsched.errors import ConfigError, Fault, SimulationError
from hetsched.features.feature import Setting
from hetsched.features.queues import naming_nodes
from hetsched.many.many import within
from hetsched.platform import Platform
from hetsched.policy.parts import ROLES
from hetsched.policy.policy import Policy, policy_like
from hetsched.roles import Scheduler
from hetsched.run.concerns import Concern
from hetsched.run.options import RunOptions, check_bound
from hetsched.run.simulation import A_POLICY, Run, settled
from hetsched.workload import Workload
from hetsched.workload.clock import unix_zero

PolicyLike = str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler]
DrawWorkload = Callable[[int], Workload]
WorkloadLike = Workload | DrawWorkload
Workloads = WorkloadLike | Sequence[WorkloadLike] | Mapping[str, WorkloadLike]
Platforms = Platform | Sequence[Platform] | Mapping[str, Platform]
Policies = PolicyLike | Sequence[PolicyLike]
Seeds = int | Iterable[int]
Options = Mapping[str, RunOptions]
"""Options of the runs on each platform, by its name."""

_Thing = TypeVar("_Thing")
_MOST_SEEDS = 10_000_000


@dataclass(frozen=True)
class Axes:
    """The four axes of a sweep, checked."""

    workloads: Mapping[str, Mapping[int, Workload]]
    """By name and seed; one that is no function of the seed is the same under each."""
    platforms: Mapping[str, Platform]
    policies: Mapping[str, Policy]
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.workloads) * len(self.platforms) * len(self.policies) * len(self.seeds)

    @cached_property
    def distinct_workloads(self) -> Mapping[tuple[str, int | None], Workload]:
        """Every workload once, by name and the seed it was drawn from; None: it was not drawn."""
        found: dict[tuple[str, int | None], Workload] = {}
        for name, by_seed in self.workloads.items():
            is_one = len({id(workload) for workload in by_seed.values()}) == 1
            found |= {(name, None if is_one else seed): workload for seed, workload in by_seed.items()}
        return found

    def check(self, options: Options) -> list[Concern]:
        """Set up every workload and every policy on every platform and stop before the first job; gives the concerns.

        Raises what is wrong with any pair, such as an application that a platform's table lacks, or a bound on a
        platform that has none.
        """
        faults, found = Faults(), list[Concern]()
        said: dict[int, set[Concern]] = {}
        for platform_name, platform in self.platforms.items():
            setup = replace(options[platform_name], bound=False)
            if options[platform_name].bound:
                with noted_within(f"platform `{platform_name}`", faults):
                    own = Faults()
                    check_bound(options[platform_name].bound, platform, own)
                    own.check()
            # A platform has several names where runs on it have several options.
            found += self._check_workloads(platform_name, setup, faults, said.setdefault(id(platform), set()))
            first = next(iter(self.distinct_workloads.values()))
            dated = on_clock_of(replace(setup, predictor=None), first, platform)
            for name, policy in self.policies.items():
                with noted_within(f"platform `{platform_name}`, policy `{name}`", faults):
                    Run(_one_job(_first_queue(platform)), platform, policy, dated).stop_before()
                if not policy.needs:
                    continue
                for (workload_name, seed), workload in self.distinct_workloads.items():
                    place = f"{_workload_place(workload_name, seed)}, platform `{platform_name}`, policy `{name}`"
                    with noted_within(place, faults):
                        Setting(workload, platform, policy, dated).check_log()
        faults.check()
        return found

    def _check_workloads(
        self, platform_name: str, setup: RunOptions, faults: Faults, before: set[Concern]
    ) -> Iterator[Concern]:
        """Set every workload up on a platform; gives new concerns, of draws of one function each matter once."""
        said: set[tuple[str, type]] = set()
        platform = self.platforms[platform_name]
        usual = _usual(platform)
        for (name, seed), workload in self.distinct_workloads.items():
            place = f"{_workload_place(name, seed)}, platform `{platform_name}`"
            run = Run(workload, platform, usual, replace(setup, events=None))
            with noted_within(place, faults):
                run.stop_before()
            for one in run.concerns:
                told = replace(one, about=f"{_workload_place(name, seed)}: {one.about}")
                if told not in before and (seed is None or (name, one.category) not in said):
                    yield replace(one, about=f"{place}: {one.about}")
                said.add((name, one.category))
                before.add(told)


def _usual(platform: Platform) -> Policy:
    """A policy under which any workload can be set up on the platform."""
    usual = _policy("fcfs")
    return usual if platform.queues is None else naming_nodes(usual, platform) or usual


def on_clock_of(options: RunOptions, workload: Workload, platform: Platform) -> RunOptions:
    """The same options for runs on jobs of this workload that do not say themselves when their clock began."""
    options = settled(options, workload, platform)
    if options.contract is None:
        return options
    return replace(options, contract=options.contract.starting(unix_zero(workload)))


def _workload_place(name: str, seed: int | None) -> str:
    return f"workload `{name}`" + ("" if seed is None else f" of seed {seed}")


@contextmanager
def noted_within(place: str, faults: Faults) -> Iterator[None]:
    """Note what is wrong in the block with its place; any other error is raised with it."""
    try:
        yield
    except ConfigError as error:
        faults.extend(error, lambda fault: fault.under(place, ": "))
    except SimulationError as error:
        # Not enough memory.
        raise within(place, error) from None


def check_portable(policies: Mapping[str, Policy]) -> None:
    """Refuse policies, by name, that cannot be given to other processes."""
    faults = Faults()
    for name, policy in policies.items():
        with noted_within(f"policy `{name}`", faults):
            policy._check_portable()
    faults.check()


def summary_names(options: RunOptions) -> Collection[str]:
    """Keys of the summaries of a sweep's runs."""
    one_node = Platform.homogeneous(nodes=1, idle_w=0, tdp_w=1)
    return Run(_one_job(), one_node, Policy(), replace(options, predictor=None, events=None)).execute().summary().keys()


@cache
def _one_job(queue: str | None = None) -> Workload:
    job = {"job_id": [0], "submit_s": [0], "runtime_s": [1], "node_count": [1], "observed_start_s": [0]}
    return Workload.from_polars(pl.DataFrame(job if queue is None else {**job, "queue": [queue]}))


def _first_queue(platform: Platform) -> str | None:
    return platform.queues[0].name if platform.queues else None


def axes_of(workloads: object, platforms: object, policies: object, seeds: object, faults: Faults) -> Axes:
    """The axes as users give them; see `hetsched.sweep`."""
    named = _named(workloads, "workloads", _workload, _workload_name, faults)
    machines = _named(platforms, "platforms", _platform, lambda made: f"{made.nodes} nodes", faults)
    known = named_policies(policies, faults)
    checked = _seeds(seeds, faults)
    return Axes({} if faults.found else _drawn(named, checked, faults), machines, known, checked)


def named_policies(policies: object, faults: Faults) -> dict[str, Policy]:
    """The policies by name; see `hetsched.sweep`."""
    return _named(_without_riddle(policies, faults), "policies", _policy, lambda made: made.name, faults)


def _named(
    given: object,
    axis: str,
    made_of: Callable[[object], _Thing],
    name_of: Callable[[_Thing], str],
    faults: Faults,
) -> dict[str, _Thing]:
    """The things on an axis by their names: a dictionary's own, or the things', made unique by a number."""
    found: dict[str, _Thing] = {}
    several = given if isinstance(given, Mapping | list | tuple) else [given]
    if not several:
        faults.add(axis, "none", "at least one")
    for key, thing in several.items() if isinstance(several, Mapping) else enumerate(several):
        try:
            made = made_of(thing)
        except ConfigError as error:
            place = axis if several is not given else f"{axis}[{key!r}]"
            faults.extend(error, partial(Fault.under, place=place))
            continue
        if isinstance(several, Mapping) and (not isinstance(key, str) or not key):
            faults.add(axis, key, "names as the dictionary's keys")
        found[whole_text(str(key)) if isinstance(several, Mapping) else unique_name(name_of(made), found)] = made
    return found


def unique_name(name: str, taken: Collection[str]) -> str:
    """The name, or ``name #2``, ``name #3`` and so on if things of that name stand before."""
    number, own = 1, name
    while own in taken:
        number += 1
        own = f"{name} #{number}"
    return own


def _workload(given: object) -> WorkloadLike:
    if not isinstance(given, Workload) and not callable(given):
        raise ConfigError([("", type(given).__name__, f"{_A_WORKLOAD}, or a function of the seed that gives one")])
    return given


_A_WORKLOAD = "a Workload, as read_swf or Workload.from_polars makes it"


def _workload_name(given: WorkloadLike) -> str:
    """A workload's file's name; of a function of the seed its own."""
    if isinstance(given, Workload):
        return os.path.basename(given.source)
    return str(getattr(given, "__name__", type(given).__name__)).strip("<>")


def _drawn(
    named: Mapping[str, WorkloadLike], seeds: Sequence[int], faults: Faults
) -> dict[str, Mapping[int, Workload]]:
    """Each workload under each seed: what functions of the seed give, the others as they are."""
    found: dict[str, Mapping[int, Workload]] = {}
    for name, given in named.items():
        if isinstance(given, Workload):
            found[name] = dict.fromkeys(seeds, given)
            continue
        own: dict[int, Workload] = {}
        for seed in seeds:
            made = _called(given, seed)
            if not isinstance(made, Workload):
                faults.add(f"workloads[{name!r}], seed {seed}", type(made).__name__, _A_WORKLOAD)
                break
            own[seed] = made
        found[name] = own
    return found


def _called(function: DrawWorkload, seed: int) -> object:
    """Calls the function with a seed; a generator takes it by name only."""
    try:
        seed_given = inspect.signature(function).parameters.get("seed")
    except (TypeError, ValueError):
        seed_given = None
    takes_by_name = seed_given is not None and seed_given.kind is inspect.Parameter.KEYWORD_ONLY
    return function(seed=seed) if takes_by_name else function(seed)  # type: ignore[call-arg]


def _platform(given: object) -> Platform:
    if not isinstance(given, Platform):
        raise ConfigError([("", type(given).__name__, "a Platform, as Platform.homogeneous makes it")])
    return given


def _policy(given: object) -> Policy:
    try:
        policy = policy_like(given)
    except ConfigError as error:
        # `policy.order` becomes `policies[0].order`.
        raise error.mapped(lambda fault: fault.moved("policy", "")) from None
    if policy is None:
        raise ConfigError([("", type(given).__name__, A_POLICY)])
    return policy


def _without_riddle(policies: object, faults: Faults) -> object:
    """Refuses a dictionary that may be one policy or several by name."""
    if isinstance(policies, Mapping) and (riddles := {"preset", *ROLES} & set(policies)):
        expected = "names of policies as keys; a policy's own dictionary goes into a list"
        faults.add("policies", f"key {min(riddles)}", expected)
        return "fcfs"
    return policies


def _seeds(given: object, faults: Faults) -> Sequence[int]:
    expected = "how many (a whole number from 1), or whole numbers between 0 and 18446744073709551615"
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        faults.whole("seeds", given, low=1, high=_MOST_SEEDS)
        return range(int(given))
    if isinstance(given, str) or not isinstance(given, Iterable):
        faults.add("seeds", given, expected)
        return []
    seeds = list(given)
    if not seeds:
        faults.add("seeds", "none", expected)
    first: set[object] = set()
    for position, seed in enumerate(seeds):
        before = len(faults.found)
        faults.whole(f"seeds[{position}]", seed, low=0, high=2**64 - 1)
        if len(faults.found) > before:
            continue
        if seed in first:
            faults.add(f"seeds[{position}]", seed, "each seed once")
        first.add(seed)
    return [int(seed) for seed in seeds] if not faults.found else seeds
