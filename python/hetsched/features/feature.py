"""Features of runs: what a run is made of, as they see it, and which of them are in play.

A feature is a file of this folder and a row of `_IN_PLAY`. One that is not in play is neither called nor imported. It
has those of these functions that it needs:

| function | |
|---|---|
| ``check_log(run)`` | raises if the log does not say what the policy asks of it |
| ``check(run)`` | raises if what is asked of it does not go together |
| ``settle(run)`` | gives the run as decisions see it |
| ``engine(run)`` | gives keywords of the engine |
| ``drive(run, session)`` | gives what steps the engine's session in its place |
| ``before(run)`` | gives concerns about a run that has not begun |
| ``after(ended)`` | gives what it finds in a run that has ended: `Found` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from importlib import import_module
from operator import add
from types import ModuleType
from typing import Any, TypeVar

import polars as pl

from hetsched.contract.bill import Terms
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.power.forecast import Forecast
from hetsched.run.concerns import Concern, concerns_of_draws, concerns_of_load
from hetsched.run.event_rows import CARBON, PRICE
from hetsched.run.events import Events
from hetsched.run.options import RunOptions
from hetsched.workload import Workload
from hetsched.workload.clock import unix_zero

Metrics = Mapping[str, int | float | None]


@dataclass(frozen=True)
class Setting:
    """Ingredients of a run: what a user gave and, once it has begun, the same as decisions saw it."""

    workload: Workload
    platform: Platform
    policy: Policy
    options: RunOptions
    submitted: Workload | None = None
    """The jobs before queues gave walltimes to those without; None: those of `workload`."""
    forecast: Forecast | None = None
    """A predictor's word on the jobs' own draws."""
    agent: dict[str, Any] | None = None
    """Description of an agent in place of the policy's backfill, for the engine."""
    apps: tuple[str, ...] | None = None
    """Applications in the order in which the engine numbers them; None: sorted."""
    injected: Sequence[Events] = ()
    """Events that came on the way, in addition to those of its options."""
    former: Sequence[tuple[Policy, float]] = ()
    """Policies that decided before, each with the instant until which it did, seconds on the log's clock."""
    is_metered: bool = False
    """True if the schedule was made elsewhere."""

    @cached_property
    def features(self) -> list[ModuleType]:
        """Features in play."""
        names = [name for name, is_in_play in _IN_PLAY.items() if is_in_play(self)]
        return [import_module(f"hetsched.features.{name}") for name in names]

    def asked(self, hook: str) -> list[Callable[..., Any]]:
        """Functions of this name of the features in play."""
        return [getattr(feature, hook) for feature in self.features if hasattr(feature, hook)]

    @cached_property
    def events(self) -> Events | None:
        """All events of the run; None if there are none."""
        given = self.options.events
        return reduce(add, [*([] if given is None else [given]), *self.injected]) if given or self.injected else None

    @cached_property
    def terms(self) -> Terms | None:
        """The contract of its options, on its clock and its machine; None if there is none."""
        return terms_of(self.as_submitted, self.platform, self.options)

    @cached_property
    def concerns(self) -> list[Concern]:
        """Concerns about a run that has not begun."""
        found = list(concerns_of_draws(self.workload.to_polars(), self.platform))
        if self.is_metered:
            return found
        before = (concern for before in self.asked("before") for concern in before(self))
        return [*concerns_of_load(self.workload, self.platform), *found, *before]

    def check(self) -> None:
        """Raise if what is asked of a feature does not go together."""
        self.check_log()
        for check in self.asked("check"):
            check(self)

    def check_log(self) -> None:
        """Raise if the log does not say what the policy asks of it."""
        for check in self.asked("check_log"):
            check(self)

    @property
    def zero_s(self) -> float | None:
        """Start of the log's clock by the contract, in seconds since 1970; None where the log says it."""
        return None if self.options.contract is None else self.options.contract.starts_s

    @property
    def as_submitted(self) -> Workload:
        """The jobs before queues gave walltimes to those without."""
        return self.workload if self.submitted is None else self.submitted

    @property
    def policies(self) -> list[Policy]:
        """Policies that have decided, the present one last."""
        return [*(policy for policy, _ in self.former), self.policy]

    def asks(self, *columns: str) -> bool:
        """True if any job has a value in any of these columns."""
        jobs = self.workload.to_polars()
        return any(name in jobs.columns and jobs[name].null_count() < len(jobs) for name in columns)

    def needs(self, *names: str) -> bool:
        """True if the policy needs any of these of a run."""
        return not self.policy.needs.keys().isdisjoint(names)


_IN_PLAY: dict[str, Callable[[Setting], bool]] = {
    "predictor": lambda run: run.options.predictor is not None or run.forecast is not None,
    "replay": lambda run: not run.is_metered and run.needs("observed_starts", "observed_nodes"),
    "unsupported": lambda run: run.asks("cap_w", "cancel_s") or "sizing" in run.policy.own,
    "queues": lambda run: run.platform.queues is not None and not run.needs("observed_starts"),
    "events": lambda run: run.options.events is not None,
    "budgets": lambda run: any(policy.parts["power"] is not None for policy in run.policies),
    "facility": lambda run: (
        bool(run.platform._facility) or (run.options.contract is not None and run.options.contract.currency is not None)
    ),
    "contracts": lambda run: (
        run.options.contract is not None or (run.events is not None and run.events.has(PRICE, CARBON))
    ),
    "sleep": lambda run: run.policy._puts_to_sleep,
    "slurm": lambda run: "node_lines" in (run.policy.parts["backfill"] or {}),
    "eligibility": lambda run: run.asks("constraint", "gpus", "device", "memory_gb", "licences"),
    "labels": lambda run: run.needs("groups") or bool(run.policy.own),
    "bound": lambda run: bool(run.options.bound),
}
"""When each feature is in play, by the name of its file; sleep comes after contracts, to whose cost it adds wear."""

AnySetting = TypeVar("AnySetting", bound=Setting)


@dataclass(frozen=True)
class Ended:
    """A run that has ended, and its frames; some are made when they are asked for."""

    setting: Setting
    totals: Mapping[str, Any]
    recorded: pl.DataFrame
    """The engine's records of each job, in the workload's order."""
    timeline: pl.DataFrame
    between: pl.DataFrame
    """Jobs that fit between no two changes of the budget."""
    jobs: Callable[[], pl.DataFrame]
    nodes: Callable[[], pl.DataFrame]
    segments: Callable[[], pl.DataFrame]
    happened: Callable[[], pl.DataFrame]


@dataclass(frozen=True)
class Found:
    """Findings of a feature in a run: concerns, a part of its provenance, and metrics, given those found before."""

    concerns: Sequence[Concern] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    metrics: Callable[[Metrics], Metrics] = lambda _before: {}


def terms_of(workload: Workload, platform: Platform, options: RunOptions) -> Terms | None:
    """The contract of a run on its clock and its machine; None if there is none."""
    if options.contract is None:
        return None
    submit_s = workload.to_polars()["submit_s"]
    return Terms.of(
        options.contract,
        unix_zero(workload),
        last_s=float(submit_s[-1]) if len(submit_s) else 0.0,
        peak_w=float(platform.tdp_w.sum()),
        log=workload.report.source,
    )
