"""`conformance`: a part of a policy, or a whole one, over many small and awkward runs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import listed
from hetsched.errors import ConfigError, RunWarning
from hetsched.platform import Platform, VariationTable
from hetsched.policy import Policy, parse_policy, parts
from hetsched.policy.objects import METHODS, instance_of, roles_of
from hetsched.run.result import Result
from hetsched.run.session import Session
from hetsched.run.simulation import simulate
from hetsched.testing.schedule import check_schedule
from hetsched.testing.strategies import APPS, platforms, workloads
from hetsched.workload import Workload

try:
    import hypothesis.strategies as st
    from hypothesis import HealthCheck, Phase, given, settings
except ImportError as error:
    raise ImportError("hetsched.testing.conformance needs hypothesis: pip install 'hetsched[testing]'") from error

_BACKFILLS = ("none", "first-fit", "reservations")
_BUDGETS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"name": "system-budget", "pcr": 0.6},
    {"name": "system-budget", "pcr": 0.45},
)
_SEED, *_OTHER_SEEDS = (1, 2, 3)
_MOST_TRIES = 60
"""Smaller inputs that are tried once some have shown a fault."""


def conformance(part: Any, *, examples: int = 25) -> None:
    """Run a part over small generated workloads and platforms, and check all that every part has to keep.

    Parameters
    ----------
    part
        An object or class with the method of a role (`hetsched.roles`); a named part as ``ROLE=NAME``, such as
        ``"placement=lowest-power"``; or a whole policy: a preset's name or a `Policy`. A part of a role is put together
        with several others, with and without a power budget.
    examples
        How many runs' inputs to try, the same in every call.

    Raises
    ------
    AssertionError
        If a run breaks a law of schedules (`check_schedule`), is another one when it is repeated, forked half-way or
        (without chance) given another seed, or raises anything; with the smallest inputs found that show it.
    ConfigError
        If it is no part.

    Examples
    --------
    >>> class ShortestFirst:
    ...     def rank(self, jobs, view):
    ...         return jobs.planned_s
    >>> conformance(ShortestFirst(), examples=5)
    >>> class Unlike(ShortestFirst):
    ...     def rank(self, jobs, view):
    ...         return jobs.planned_s[:1]
    >>> try:
    ...     conformance(Unlike())
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Unlike: raised SimulationError: policy.order: `rank` of Unlike gave 1 number for 2 jobs at 0 s
    """
    name, compositions = _compositions(part)
    found: list[AssertionError] = []
    tries = 0

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(compositions))
    def try_out(case: _Case) -> None:
        nonlocal tries
        tries += bool(found)
        if tries > _MOST_TRIES:
            raise _Enough
        try:
            case.check()
        except AssertionError as error:
            found.append(AssertionError(f"{name}: {error}\n{case}"))
            raise

    try:
        try_out()
    except BaseException as error:
        if not found or isinstance(error, KeyboardInterrupt):
            raise
    # The last is the smallest. Hypothesis' own word does not count: what is not the same twice confuses it.
    if found:
        raise found[-1] from None


class _Enough(BaseException):
    """Ends the search for smaller inputs: hypothesis lets through what is no `Exception`."""


@dataclass(frozen=True)
class _Case:
    """Inputs of a run."""

    workload: Workload
    platform: Platform
    policy: Policy

    def __str__(self) -> str:
        jobs = self.workload.to_polars()
        return f"policy {self.policy.name}\non {self.platform!r}\nwith {jobs}"

    def check(self) -> None:
        """All that is checked of one run."""
        result = self._run()
        check_schedule(result, self.workload, self.platform)
        assert self._run() == result, "the same run is another one when it is repeated"
        if not self.policy.uses_chance:
            others = [self._run(seed) for seed in _OTHER_SEEDS]
            is_same = all(other.jobs.equals(result.jobs) for other in others)
            assert is_same, "another seed makes another schedule; `uses_chance` says none can"
        self._check_fork(result)

    def _run(self, seed: int = _SEED) -> Result:
        result: Result = self._tried(lambda: simulate(self.workload, self.platform, self.policy, seed=seed))
        return result

    def _check_fork(self, whole: Result) -> None:
        """A run that is forked half-way goes on as it would have, and so does its fork."""
        instants = whole.timeline["time_s"]

        def stepped() -> tuple[Result, Result]:
            session = Session(self.workload, self.platform, self.policy, seed=_SEED)
            if len(instants):
                session.step_until(instants[len(instants) // 2])
            fork = session.fork()
            return session.run(), fork.run()

        parent, fork = self._tried(stepped)
        assert parent == whole, "a run in steps is another one than the run at once"
        assert fork == whole, "a fork made half-way is another run than its parent"

    def _tried(self, work: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RunWarning)
                return work()
        except Exception as error:
            notes = "; ".join(getattr(error, "__notes__", []))
            raise AssertionError(f"raised {type(error).__name__}: {error}{f' ({notes})' if notes else ''}") from error


def _compositions(part: Any) -> tuple[str, st.SearchStrategy[Policy]]:
    """The part's name, and policies with it."""
    if isinstance(part, Policy):
        return part.name, st.just(part)
    if isinstance(part, str):
        role, equals, name = part.partition("=")
        if not equals or ":" in role:
            return part, st.just(parse_policy(part))
        if (role, name) not in parts():
            known = listed(f"{role}={name}" for role, name in parts())
            raise ConfigError([("part", f"`{part}`", f"a preset, or one of {known}")])
        return part, _policies_with({role: name})
    roles = roles_of(part)
    if not roles:
        name = part.__name__ if isinstance(part, type) else type(part).__name__
        methods = listed(f"`{method}`" for method in METHODS.values())
        expected = f"a part's or policy's name, or an object with a role's method, one of {methods}"
        raise ConfigError([("part", f"`{name}`", expected)])
    part = instance_of(part, "part")
    if "scheduler" in roles:
        return type(part).__name__, st.just(Policy(scheduler=part))
    return type(part).__name__, _policies_with(dict.fromkeys(roles, part))


def _policies_with(own: dict[str, Any]) -> st.SearchStrategy[Policy]:
    others = {
        "order": st.sampled_from(["fcfs", "wfp3"]),
        "backfill": st.sampled_from(_BACKFILLS),
        "placement": st.sampled_from(["lowest-id", "lowest-power"]),
        "power": st.sampled_from(_BUDGETS),
    }
    if isinstance(name := own.get("backfill"), str) and parts()["backfill", name]["chooses_nodes"]:
        # It leaves nothing to choose to a placement.
        others = {"order": others["order"]} | ({"power": others["power"]} if name == "plan" else {})
    if (sizing := own.pop("sizing", None)) is not None:
        others["backfill"] = st.sampled_from([{"name": one, "sizing": sizing} for one in _BACKFILLS])
    if "sleep" in own:
        # With one there are no emergencies and no allocators.
        del others["power"]
    inside = {role: own.pop(role) for role in ("allocator", "monitor") if role in own}
    if inside:
        steps = {"on_excess": ["suspend", "kill"]} if "monitor" in inside else {}
        budgets = [{**budget, **steps, **inside} for budget in _BUDGETS if budget is not None]
        others["power"] = st.sampled_from(budgets)
    return st.builds(lambda **drawn: Policy(**{**drawn, **own}), **others)


@st.composite
def _capped(draw: st.DrawFn, least_w: float) -> tuple[Workload, Platform]:
    """Jobs of known applications on a machine with tables by cap, the lowest of which is `least_w`."""
    nodes, slots = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 3]))
    row = st.lists(st.sampled_from([least_w, 1.7 * least_w, 2 * least_w]), min_size=nodes, max_size=nodes)
    full_w = np.array([draw(row) for _ in APPS])
    slower = {least_w: draw(st.sampled_from([1.0, 2.0])), 1.5 * least_w: 1.0, math.inf: 1.0}
    tables = {
        cap_w: VariationTable(APPS, power_w=np.minimum(full_w, cap_w), time_ratio=np.full_like(full_w, factor))
        for cap_w, factor in slower.items()
    }
    plain = Platform.homogeneous(nodes, least_w / 2, 2 * least_w, slots=slots, exclusive=slots == 1)
    platform = plain.with_tables(actual=tables)
    jobs = draw(workloads(max_slots=slots, max_nodes=4)).to_polars()
    # Whole seconds: the mean draw of a stretch of a microsecond is as inexact as its length.
    jobs = jobs.with_columns(pl.col("app").fill_null(APPS[0]), pl.col("^(submit|runtime|walltime|comm)_s$").ceil())
    return Workload.from_polars(jobs), platform


@st.composite
def _cases(draw: st.DrawFn, compositions: st.SearchStrategy[Policy]) -> _Case:
    policy = draw(compositions)
    if "allocator" in policy.own:
        return _Case(*draw(_capped(getattr(policy.own["allocator"], "least_cap_w", None) or 100.0)), policy)
    # Counted nodes that sleep need to be whole, and so do those of Slurm's scheduler.
    backfill = (policy.parts["backfill"] or {}).get("name", "none")
    counts = "backfill" in policy.own or not parts()["backfill", backfill]["chooses_nodes"]
    is_whole = backfill == "slurm" or (policy._puts_to_sleep and counts)
    slots = 1 if is_whole else draw(st.sampled_from([1, 3]))
    workload = draw(workloads(max_slots=slots, max_nodes=4, observed="observed_starts" in policy.needs))
    return _Case(workload, draw(platforms(max_slots=slots, max_nodes=4)), policy)
