"""A calibrated run against those that it has to be better than, on both halves of a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from hetsched.calibration.halves import Cut
from hetsched.calibration.scoring import SCHEMA, Half, broken, difference
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.events import Events
from hetsched.validation.changes import changed
from hetsched.validation.inspection import inspect
from hetsched.workload import Workload

OURS = "calibrated"
FIRST, SECOND = "first", "second"
_SEEN = "with seen events"


@dataclass(frozen=True)
class Contest:
    """A log's halves, the policy as it is, and what was found to change."""

    first: Workload
    """The first half as it was known at its end."""
    whole: Workload
    cut: Cut
    platform: Platform
    policy: Policy
    changes: Mapping[str, Any]
    events: Events
    """Events of the first half."""
    seed: int
    known_events: bool

    @property
    def base(self) -> str:
        """The policy as it is, by its name in tables."""
        return as_it_is(self.policy)

    @cached_property
    def halves(self) -> dict[str, dict[str, Half]]:
        """Each run, by half and name. The second half is that of a run of the whole log."""
        spans = {
            FIRST: (self.first, (self.cut.from_s, self.cut.at_s)),
            SECOND: (self.whole, (self.cut.at_s, self.cut.until_s)),
        }
        return {half: dict(self._runs(half, log, span)) for half, (log, span) in spans.items()}

    def _runs(self, half: str, log: Workload, span: tuple[float, float]) -> Iterator[tuple[str, Half]]:
        for name, policy, changes, events in (
            *self._fcfs(),
            (self.base, self.policy, {}, None),
            (OURS, self.policy, self.changes, self.events),
            *self._seen(half),
        ):
            result = changed(log, self.platform, policy, changes, events).run(self.seed).execute()
            yield name, Half.of(half, result, log, span, is_first=half == FIRST)

    def _fcfs(self) -> Iterator[tuple[str, Policy, Mapping[str, Any], None]]:
        """Jobs in the order of their submits; not where queues share nodes, which takes a backfill that names nodes."""
        if (self.policy.parts["backfill"] or {}).get("name") != "plan":
            fcfs = Policy.from_dict({**self.policy.parts, "order": "fcfs", "backfill": "none"})
            yield "fcfs", fcfs, {}, None

    def _seen(self, half: str) -> Iterator[tuple[str, Policy, Mapping[str, Any], Events]]:
        """The run that knows the events of the second half, if it is asked for."""
        if self.known_events and half == SECOND:
            events = inspect(self.whole, self.platform).events
            yield _SEEN, self.policy, {**self.changes, "outages": True, "holds": True}, events

    @cached_property
    def scores(self) -> pl.DataFrame:
        """A row a half and rival, then a row a half and run."""
        rows = []
        for runs in self.halves.values():
            rows += runs[OURS].rivals()
            rows += [half.row(name) for name, half in runs.items()]
        return pl.DataFrame(rows, SCHEMA, orient="row")

    @property
    def change(self) -> tuple[float | None, float | None]:
        """Log error of the second half minus that of the policy as it is, and the half width of its interval."""
        runs = self.halves[SECOND]
        return difference(runs[OURS], runs[self.base])

    @cached_property
    def guards(self) -> dict[str, Any]:
        """Numbers of the second half that guards are about."""
        return self.halves[SECOND][OURS].guards()

    def notes(self) -> Iterator[str]:
        """The guards that the second half breaks: said, and nothing else."""
        runs = self.halves[SECOND]
        unstarted = runs[self.base].counted["start_s"].null_count()
        for one in broken(self.guards, len(runs[OURS].counted), unstarted):
            yield f"the second half breaks a guard: {one}"


def as_it_is(policy: Policy) -> str:
    """A policy as it is, by its name in tables."""
    return f"{policy.name}, as it is"
