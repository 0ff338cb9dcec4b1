"""Axes of a sweep: workloads, platforms, policies and seeds, each under a name of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
import polars as pl

from hetsched.bound import check_bound
from hetsched.checks import Faults
from hetsched.errors import ConfigError, Fault, SimulationError
from hetsched.platform import Platform
from hetsched.policy import Policy, policy_like
from hetsched.policy.parts import ROLES
from hetsched.roles import Scheduler
from hetsched.run.concerns import Concern, check_observed
from hetsched.run.many import within
from hetsched.run.options import RunOptions
from hetsched.run.simulation import A_POLICY, Run
from hetsched.workload import Workload

PolicyLike = str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler]
Workloads = Workload | Sequence[Workload] | Mapping[str, Workload]
Platforms = Platform | Sequence[Platform] | Mapping[str, Platform]
Policies = PolicyLike | Sequence[PolicyLike]
Seeds = int | Iterable[int]

_Thing = TypeVar("_Thing")
_MOST_SEEDS = 10_000_000


@dataclass(frozen=True)
class Axes:
    """The four axes of a sweep, checked."""

    workloads: Mapping[str, Workload]
    platforms: Mapping[str, Platform]
    policies: Mapping[str, Policy]
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.workloads) * len(self.platforms) * len(self.policies) * len(self.seeds)

    def check(self, options: RunOptions) -> list[Concern]:
        """Set up every workload and every policy on every platform and stop before the first job; gives the concerns.

        Raises what is wrong with any pair, such as an application that a platform's table lacks, or a bound on a
        platform that has none.
        """
        faults, found = Faults(), list[Concern]()
        for platform_name, platform in self.platforms.items():
            if options.bound:
                with noted_within(f"platform `{platform_name}`", faults):
                    own = Faults()
                    check_bound(platform, own)
                    own.check()
            setup = replace(options, bound=False)
            for name, workload in self.workloads.items():
                place = f"workload `{name}`, platform `{platform_name}`"
                run = Run(workload, platform, Policy(), replace(setup, events=None))
                with noted_within(place, faults):
                    run.check()
                found += [replace(one, about=f"{place}: {one.about}") for one in run.concerns]
            for name, policy in self.policies.items():
                with noted_within(f"platform `{platform_name}`, policy `{name}`", faults):
                    Run(_one_job(), platform, policy, replace(setup, predictor=None)).check()
                for workload_name, workload in self.workloads.items():
                    place = f"workload `{workload_name}`, platform `{platform_name}`, policy `{name}`"
                    with noted_within(place, faults):
                        check_observed(policy, workload, platform)
        faults.check()
        return found


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


def summary_names(options: RunOptions) -> Collection[str]:
    """Keys of the summaries of a sweep's runs."""
    one_node = Platform.homogeneous(nodes=1, idle_w=0, tdp_w=1)
    return Run(_one_job(), one_node, Policy(), replace(options, predictor=None, events=None)).execute().summary().keys()


@cache
def _one_job() -> Workload:
    job = {"job_id": [0], "submit_s": [0], "runtime_s": [1], "node_count": [1], "observed_start_s": [0]}
    return Workload.from_polars(pl.DataFrame(job))


def axes_of(workloads: object, platforms: object, policies: object, seeds: object, faults: Faults) -> Axes:
    """The axes as users give them; see `hetsched.sweep`."""
    return Axes(
        _named(workloads, "workloads", _workload, lambda made: os.path.basename(made.source), faults),
        _named(platforms, "platforms", _platform, lambda made: f"{made.nodes} nodes", faults),
        named_policies(policies, faults),
        _seeds(seeds, faults),
    )


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
    """The things on an axis by their names: a dictionary's own, or the things', made unlike by a number."""
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
        found[str(key) if isinstance(several, Mapping) else _unlike(name_of(made), found)] = made
    return found


def _unlike(name: str, taken: Mapping[str, object]) -> str:
    """The name, or ``name #2``, ``name #3`` and so on if things of that name stand before."""
    number, own = 1, name
    while own in taken:
        number += 1
        own = f"{name} #{number}"
    return own


def _workload(given: object) -> Workload:
    if not isinstance(given, Workload):
        expected = "a Workload, as read_swf or Workload.from_polars makes it"
        raise ConfigError([("", type(given).__name__, expected)])
    return given


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
        expected = "names of policies as keys; a policy's own dictionary stands in a list"
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
