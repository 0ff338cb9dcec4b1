"""The run that an inspection suggests: its findings as a log, a platform, a policy and events, and a place for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import shown
from hetsched.errors import ConfigError
from hetsched.features.queues import naming_nodes
from hetsched.params import ASSUMED_W
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.inspections import evidence
from hetsched.run.event_rows import HOLD, MAINTENANCE
from hetsched.run.events import Events
from hetsched.validation.changes import NO_QUEUE, Changed, changed, is_scalable, machine, queue_of, ranks
from hetsched.validation.run_files import EVENTS, PLATFORM, POLICY, TRACE, Comments
from hetsched.workload import Workload
from hetsched.workload.clock import WallClock

_POLICY_NAME = "easy"
_ALL_USERS = "all users"
_OF_SUBJECTS = ("window", "size over time")
"""Findings whose suggestion does not name its subject."""
_MOST_REMARKS = 10
"""Remarks of one place in a file; the table of findings has all."""

Row = Mapping[str, Any]
Changes = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """The things that were inspected, and the clock on the wall of the log."""

    workload: Workload
    platform: Platform | None
    clock: WallClock | None


@dataclass(frozen=True)
class Suggested:
    """The run, and comments for its files by their names."""

    run: Changed
    comments: Mapping[str, Comments]


def machine_of(platform: Platform | None, nodes: int) -> Platform:
    """The machine with so many nodes, if it may have another number of them; None: equal ones with assumed watts."""
    if platform is None:
        return Platform.homogeneous(nodes, idle_w=ASSUMED_W["idle_w"], tdp_w=ASSUMED_W["tdp_w"])
    if platform.nodes == nodes or not is_scalable(platform):
        return platform
    return machine(pl.DataFrame(), platform, {"nodes": nodes})


def suggested(given: Given, findings: pl.DataFrame, settings: Mapping[str, Any], events: Events) -> Suggested:
    """The run with all findings that it can have."""
    rows = findings.drop_nulls("suggestion")
    draft = _Draft(given.workload, machine_of(given.platform, settings["nodes"]))
    _say_machine(draft, settings["nodes"], _of(rows, "machine"), is_assumed=given.platform is None)
    _take_queues(draft, rows, settings)
    _take_users(draft, rows, settings)
    _take_delays(draft, rows, settings, given.clock)
    _take_events(draft, rows, events)
    for row in _of(rows, "inversion_ratio"):
        draft.leave(POLICY, row, "the log does not say which; hetsched validate --calibrate tries some")
    return draft.made(events)


def _of(rows: pl.DataFrame, finding: str) -> Sequence[Row]:
    return rows.filter(finding=finding).to_dicts()


@dataclass
class _Draft:
    """The run as it is made: changes so far, and remarks by file and queue (none: at the top)."""

    workload: Workload
    platform: Platform
    changes: Changes = field(default_factory=dict)
    remarks: dict[tuple[str, str | None], list[str]] = field(default_factory=dict)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The log."""
        return self.workload.to_polars()

    @cached_property
    def most_nodes(self) -> dict[str, int]:
        """Nodes of each queue's largest job that fits the machine."""
        sizes = pl.DataFrame({"queue": queue_of(self.jobs), "nodes": self.jobs["node_count"]})
        fitting = sizes.filter(pl.col("nodes") <= self.platform.nodes)
        return dict(fitting.group_by("queue").agg(pl.col("nodes").max()).iter_rows())

    def has(self, column: str) -> bool:
        """True if any job has a value there."""
        return column in self.jobs.columns and self.jobs[column].null_count() < len(self.jobs)

    def say(self, file: str, text: str, queue: str | None = None) -> None:
        """Put a remark at the top of a file, or above a queue."""
        self.remarks.setdefault((file, queue), []).append(text)

    def leave(self, file: str, row: Row, why: str) -> None:
        """Say that a finding changes nothing, and why."""
        self.say(file, f"not set ({why}): {_text(row)}")

    def try_queue(self, row: Row, queue: str, changes: Changes) -> None:
        """Take changes of a queue, if the machine can have them with those so far, and its jobs still fit."""
        both = {**self.changes, **changes}
        try:
            made = machine(self.jobs, self.platform, both)
        except ConfigError as error:
            self.leave(PLATFORM, row, str(error.faults[0]))
            return
        for one in made.queues or ():
            if len(one.numbers) < self.most_nodes.get(one.name, 0) <= self.platform.nodes:
                most, left = self.most_nodes[one.name], len(one.numbers)
                self.leave(PLATFORM, row, f"queue {shown(one.name)} would have {left} nodes, and has a job of {most}")
                return
        self.changes = both
        self.say(PLATFORM, _text(row), queue)

    def made(self, events: Events) -> Suggested:
        """The run with all that was taken."""
        easy = Policy.preset(_POLICY_NAME)
        run = changed(self.workload, self.platform, easy, self.changes, events)
        policy = naming_nodes(run.policy, run.platform) or easy
        first = [f"The policy to begin with is {policy.name}: no finding says how a scheduler backfills."]
        if policy is not run.policy:
            first.append("Queues share some nodes and not all, so that the backfill has to name nodes.")
        comments: dict[str, Comments] = {PLATFORM: self._lines(PLATFORM, run.platform)}
        comments[POLICY] = self._lines(POLICY, run.platform, first)
        return Suggested(Changed(run.workload, run.platform, policy, run.events), comments)

    def _lines(self, file: str, platform: Platform, first: Sequence[str] = ()) -> Comments:
        """Remarks by place: a queue's stand above it."""
        names = [queue.name for queue in platform.queues or ()]
        lines: dict[str, list[str]] = {"": [f"Made by hetsched inspect of {Path(self.workload.source).name}.", *first]}
        for (own, queue), texts in self.remarks.items():
            if own == file:
                more = len(texts) - _MOST_REMARKS
                rest = [f"and {more:,} more: see findings.csv"] if more > 0 else []
                place = f"queue[{names.index(queue)}]" if queue in names else ""
                lines.setdefault(place, []).extend([*texts[:_MOST_REMARKS], *rest])
        return lines


def _text(row: Row) -> str:
    subject = f"{row['subject']}: " if row["finding"] in _OF_SUBJECTS else ""
    return f"{subject}{row['suggestion']}: {evidence(row)}"


def _say_machine(draft: _Draft, nodes: int, rows: Sequence[Row], *, is_assumed: bool) -> None:
    own = draft.platform.nodes
    for row in rows:
        if own == nodes:
            draft.say(PLATFORM, _text(row))
        else:
            draft.leave(PLATFORM, row, f"the nodes of this machine have names, or differ: they stay {own:,}")
    if is_assumed:
        draft.say(PLATFORM, "idle_w and tdp_w are assumed: no log says them")


def _take_queues(draft: _Draft, rows: pl.DataFrame, settings: Mapping[str, Any]) -> None:
    """Nodes, priorities and limits of queues; a machine that has queues keeps their nodes and priorities."""
    ceilings = [row for row in _of(rows, "ceiling") if row["subject"] != _ALL_USERS]
    partitions: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for row, one in zip(_of(rows, "partition"), settings.get("partitions", ()), strict=True):
        if draft.platform.queues is not None:
            draft.leave(PLATFORM, row, "this machine has queues of its own")
            continue
        draft.try_queue(row, one["queue"], {"partitions": [*partitions, one]})
        partitions = draft.changes.get("partitions", [])
    for row, one in zip(_of(rows, "priority"), settings.get("priorities", ()), strict=True):
        if draft.platform.queues is not None:
            draft.leave(PLATFORM, row, "this machine has queues of its own")
            continue
        draft.try_queue(row, one["queue"] or NO_QUEUE, {"priorities": ranks([*pairs, one])})
        pairs.append(one)
    for row, one in zip(ceilings, settings.get("ceilings", ()), strict=True):
        if "user" not in one:
            draft.try_queue(row, one["queue"], {"ceilings": [*draft.changes.get("ceilings", ()), one]})


def _take_users(draft: _Draft, rows: pl.DataFrame, settings: Mapping[str, Any]) -> None:
    """Limits of users: of all in the machine's queues, of one as an array of all of its jobs."""
    own = [row for row in _of(rows, "ceiling") if row["subject"] != _ALL_USERS]
    found = [(row, one) for row, one in zip(own, settings.get("ceilings", ()), strict=True) if "user" in one]
    all_users = [row for row in _of(rows, "ceiling") if row["subject"] == _ALL_USERS]
    if all_users and draft.platform.queues is not None:
        draft.changes["user_running"] = settings["user_running"]
        draft.say(PLATFORM, f"max_running_per_user of every queue: {_text(all_users[0])}")
        all_users = []
    if draft.has("array_id"):
        for row in (*all_users, *(row for row, _ in found)):
            draft.leave(POLICY, row, "such limits are set as those of arrays, and the log has arrays")
        return
    for row in all_users:
        draft.changes["user_running"] = settings["user_running"]
        draft.say(POLICY, _in_trace("array_id, array_limit", row))
    for row, one in found:
        draft.changes["ceilings"] = [*draft.changes.get("ceilings", ()), one]
        draft.say(POLICY, _in_trace("array_id, array_limit", row))


def _in_trace(columns: str, row: Row) -> str:
    return f"{columns} in {TRACE}: {_text(row)}"


def _take_delays(draft: _Draft, rows: pl.DataFrame, settings: Mapping[str, Any], clock: WallClock | None) -> None:
    """Latency, beat and windows: instants at which jobs may join the queue."""
    for name, changes in _delays(settings, clock):
        for row in _of(rows, name):
            draft.changes |= changes
            draft.say(POLICY, _in_trace("start_at_s", row))


def _delays(settings: Mapping[str, Any], clock: WallClock | None) -> Iterator[tuple[str, Changes]]:
    if "start_latency_s" in settings:
        yield "start_latency_s", {"latency_s": settings["start_latency_s"]}
    if "interval_s" in settings:
        yield "beat", {"interval_s": float(settings["interval_s"]), "phase_s": float(settings["phase_s"])}
    if "windows" in settings:
        own = None if clock is None else asdict(clock)
        yield "window", {"windows": settings["windows"], "clock": own}


def _take_events(draft: _Draft, rows: pl.DataFrame, events: Events) -> None:
    draft.changes |= {"outages": events.has(MAINTENANCE), "holds": events.has(HOLD)}
    for name in ("size over time", "outage"):
        for row in _of(rows, name):
            draft.say(PLATFORM, f"{EVENTS}, from {row['from_s']:.0f} to {row['until_s']:.0f} s: {_text(row)}")
