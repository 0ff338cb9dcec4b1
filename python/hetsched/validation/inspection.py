"""`inspect`: what a log says of the machine and the rules that made it, and `Inspection`, the answer."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from hetsched.checks import Faults, many
from hetsched.files import write_files
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.events import Events
from hetsched.validation.finding import Finding, frame_of, settings_of
from hetsched.validation.limits import ceiling_findings, partition_findings
from hetsched.validation.machine import Machine, header_size, room_findings
from hetsched.validation.observed import Observed
from hetsched.validation.outages import Gaps, size_findings
from hetsched.validation.priority import priority_findings
from hetsched.validation.rhythm import latency_findings, rhythm_findings
from hetsched.validation.run_files import EVENTS, run_files
from hetsched.validation.suggested import Given, Suggested, machine_of, suggested
from hetsched.validation.windows import window_findings
from hetsched.workload import Workload
from hetsched.workload.clock import WallClock, wall_clock

_LATEST_S = 1e12


@named_in("hetsched")
@dataclass(frozen=True, repr=False)
class Inspection:
    """Findings of a log about its machine. Made by `hetsched.inspect`.

    Parameters
    ----------
    findings
        A row a subject: ``finding, subject, value, unit, from_s, until_s`` (on the log's clock; null: no time)
        ``, evidence`` (how many) ``, evidence_ratio, suggestion``. Without a suggestion a row is a number that the
        others rest on, or a finding that is below its threshold.
    settings
        What is suggested, by name: ``nodes`` and, where found, ``start_latency_s, interval_s, phase_s``.
    notes
        Remarks that a reader needs before the numbers.
    """

    findings: pl.DataFrame
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    _outages: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Rows of the events, with ranges of nodes."""
    _inspected: Given | None = None

    @cached_property
    def events(self) -> Events:
        """Maintenance, of all nodes in outages or of some in weeks with fewer of them; and holds."""
        return Events.from_polars(self._outages)

    @property
    def workload(self) -> Workload:
        """The log, with columns that settings change: ``start_at_s, array_id, array_limit, queue``."""
        return self._suggested.run.workload

    @property
    def platform(self) -> Platform:
        """The machine with the settings that a platform can have; equal nodes with assumed watts if none was given."""
        return self._suggested.run.platform

    @property
    def policy(self) -> Policy:
        """The policy to begin with: ``easy``, with the backfill ``plan`` where queues share some nodes and not all."""
        return self._suggested.run.policy

    @cached_property
    def _suggested(self) -> Suggested:
        given = self._inspected
        assert given is not None, "an inspection is made by `inspect`"
        return suggested(given, self.findings, self.settings, self.events)

    def to_dict(self) -> dict[str, Any]:
        """Values as JSON holds them: ``summary`` (the settings) ``, findings, events, notes``."""
        return {
            "summary": dict(self.settings),
            "findings": self.findings.to_dicts(),
            "events": self._outages.to_dicts(),
            "notes": list(self.notes),
        }

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the findings, and the files of a run with what they suggest; gives the names of the files.

        ``findings.csv, inspection.json``; and for the next command ``platform.toml, policy.toml``, in which comments
        name the evidence of each setting and say which could not be set, ``events.csv`` and ``trace.parquet``, the log
        with the columns that settings change.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        said = {"settings": dict(self.settings), "notes": list(self.notes)}
        files = {
            "findings.csv": self.findings.write_csv().encode(),
            "inspection.json": (json.dumps(said, indent=2) + "\n").encode(),
            **run_files(self.workload, self.platform, self.policy, self._suggested.comments),
            EVENTS: self._outages.write_csv().encode(),
        }
        return write_files(folder, files)

    def _repr_html_(self) -> str:
        suggested = self.findings.filter(pl.col("suggestion").is_not_null())
        return card(repr(self).strip("<>"), None, suggested._repr_html_(), notes=self.notes)

    def __repr__(self) -> str:
        suggested = self.findings["suggestion"].count()
        return f"<Inspection: {many(len(self.findings), 'finding')}, {many(suggested, 'suggestion')}>"


def inspect(workload: Workload, platform: Platform | None = None, *, until_s: float | None = None) -> Inspection:
    """Find what a log says of its machine, by the starts that it observed.

    Parameters
    ----------
    workload
        A log with observed starts. Jobs count that started at or after their submit and ran.
    platform
        The machine, if it is known; None: the log's header says its size, or else its use does.
    until_s
        Nothing after this instant of the log's clock is used, seconds; None: the whole log.

    Returns
    -------
    Inspection
        The findings, each with its evidence, and what they suggest.

    Raises
    ------
    ConfigError
        If the log has no observed starts, no job counts, or `until_s` is invalid.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 10, 20], "runtime_s": [600, 600, 600],
    ...                      "node_count": [4, 2, 2], "observed_start_s": [0, 600, 600]})
    >>> found = hs.inspect(hs.Workload.from_polars(jobs))
    >>> found.settings["nodes"], found.findings.filter(finding="use_max")["value"].to_list()
    (4, [4.0])
    """
    faults = Faults()
    if until_s is not None:
        faults.number("until_s", until_s, low=-_LATEST_S, high=_LATEST_S)
    faults.check()
    jobs = Observed.of(workload, platform, until_s)
    machine = Machine.of(jobs, header_size(workload, platform, jobs.whole))
    return _Inspected(jobs, machine, Given(workload, platform, wall_clock(workload))).answer()


@dataclass
class _Inspected:
    """The answer as it is made."""

    jobs: Observed
    machine: Machine
    given: Given

    def answer(self) -> Inspection:
        gaps = Gaps.of(self.jobs, self.machine.size)
        findings = list(self._findings(gaps))
        settings = settings_of(findings)
        # A machine that cannot have as many nodes as the log suggests has no events of those beyond.
        events = _events(findings, machine_of(self.given.platform, settings["nodes"]).nodes)
        return Inspection(frame_of(findings), settings, tuple(self._notes(findings, gaps)), events, self.given)

    def _findings(self, gaps: Gaps) -> Iterator[Finding]:
        jobs, machine = self.jobs, self.machine
        yield from machine.findings(jobs)
        yield from room_findings(jobs, machine)
        yield from rhythm_findings(jobs)
        yield from latency_findings(jobs, machine.size)
        yield from size_findings(jobs, machine.size)
        yield from gaps.findings()
        yield from ceiling_findings(jobs, machine.size)
        yield from partition_findings(jobs, machine.size)
        yield from window_findings(jobs, self.given.clock)
        yield from priority_findings(jobs)

    def _notes(self, findings: list[Finding], gaps: Gaps) -> Iterator[str]:
        yield from self._left_out()
        yield from self.machine.notes()
        others = {"in which a job waited for nodes": gaps.count("drain"), "that may be chance": gaps.count("chance")}
        if any(others.values()):
            counts = ", ".join(f"{count:,} {words}" for words, count in others.items() if count)
            yield f"no outages: times without a start {counts}"
        if any(one.finding == "window" for one in findings):
            yield f"hours and weekdays of windows are of {_zone_text(self.given.clock)}"

    def _left_out(self) -> Iterator[str]:
        words = {
            "no_observed_start": "without an observed start",
            "no_run": "that did not run",
            "observed_before_submit": "that started before their submit",
        }
        counts = [f"{count:,} {words[name]}" for name, count in self.jobs.left_out.items() if count]
        if counts:
            yield f"left out: {', '.join(counts)}"


def _zone_text(clock: WallClock | None) -> str:
    own = "the log's clock, taken as UTC, with its second 0 as 1 January 1970: it has no zone, or no date"
    return own if clock is None else f"{clock.zone}, the zone that the log has"


def _events(findings: list[Finding], nodes: int) -> pl.DataFrame:
    """Rows of maintenance, with ranges of nodes, and of holds."""
    rows: list[tuple[Any, ...]] = []
    for one in findings:
        if one.suggestion is not None and (one.finding == "size over time" or one.subject == "down"):
            first = math.ceil(one.value or 0.0) if one.finding == "size over time" else 0
            if first >= nodes:
                continue
            # Known when it begins: only some policies plan for what is known before.
            rows.append((one.from_s, "maintenance", f"{first}-{nodes - 1}", one.until_s, one.from_s))
        elif one.finding == "outage" and one.subject == "hold":
            rows.append((one.from_s, "hold", None, one.until_s, None))
    time, text = pl.Float64, pl.String
    schema = {"time_s": time, "kind": text, "nodes": text, "until_s": time, "announced_s": time}
    return pl.DataFrame(rows, schema, orient="row").sort("time_s", maintain_order=True)
