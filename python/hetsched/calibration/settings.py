"""Settings that a calibration may change, in order, each with its values, of which the first is "off" (rule 36).

A setting is a function of this module and a row of `SETTINGS`. A value gives *changes*: plain entries by name, which
`changes.py` makes a run of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.event_rows import HOLD, MAINTENANCE
from hetsched.validation.changes import is_scalable, ranks
from hetsched.validation.groups import Groups
from hetsched.validation.inspection import Inspection
from hetsched.validation.limits import MOST_ABOVE
from hetsched.validation.observed import Observed
from hetsched.workload import Workload
from hetsched.workload.clock import wall_clock

Changes = Mapping[str, Any]

_LARGER = (1.0, 1.05, 1.15, 1.3)
_SHARES = (2, 4, 8, 16)
_DEPTHS: tuple[int | str, ...] = (1, 4, 16, "unbounded")


@dataclass(frozen=True)
class Value:
    """A value of a setting: its name, and what it changes."""

    label: str
    changes: Changes = field(default_factory=dict)


OFF = Value("off")


@dataclass(frozen=True)
class Setting:
    """A setting with its values; the first of them changes nothing."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Evidence:
    """The things that a log's first half says, and what is calibrated."""

    workload: Workload
    """The first half."""
    platform: Platform
    policy: Policy
    found: Inspection
    until_s: float

    def of(self, finding: str, subject: str | None = None) -> float | None:
        """The value of a finding that has one subject."""
        rows = self.found.findings.filter(pl.col("finding") == finding)
        rows = rows if subject is None else rows.filter(pl.col("subject") == subject)
        return rows["value"][0] if len(rows) else None

    def has(self, column: str) -> bool:
        """True if any job has a value there."""
        jobs = self.workload.to_polars()
        return column in jobs.columns and jobs[column].null_count() < len(jobs)


Values = Iterator[Value]


def _machine_size(log: Evidence) -> Values:
    if not is_scalable(log.platform):
        return
    sizes = {"as given": float(log.platform.nodes)}
    sizes |= {name: size for name in ("use_p99", "use_p999", "use_max") if (size := log.of(name)) is not None}
    known = {log.platform.nodes}
    for factor in _LARGER:
        for name, size in sizes.items():
            nodes = max(1, math.ceil(size * factor - 1e-9))
            if nodes not in known:
                known.add(nodes)
                times = "" if factor == 1.0 else f" × {factor:g}"
                yield Value(f"{nodes:,} nodes ({name}{times})", {"nodes": nodes})


def _backfill(log: Evidence) -> Values:
    own = log.policy.parts["backfill"]
    # A machine whose queues share some nodes needs a backfill that names nodes, and has it already.
    names_nodes = own is not None and own["name"] == "plan"
    parts: dict[str, dict[str, Any]] = (
        {} if names_nodes else {"none": {"name": "none"}, "first fit": {"name": "first-fit"}}
    )
    reserving = {**own} if own is not None and names_nodes else {"name": "reservations"}
    parts |= {f"depth {depth}": {**reserving, "depth": depth} for depth in _DEPTHS}
    for label, part in parts.items():
        if not _is_same(part, own):
            yield Value(label, {"backfill": part})


def _order(log: Evidence) -> Values:
    own = log.policy.parts["order"]
    for name in ("fcfs", "smallest", "shortest", "wfp3"):
        if not _is_same({"name": name}, own):
            yield Value(name, {"order": {"name": name}})
    pairs = log.found.settings.get("priorities", ())
    if pairs and log.platform.queues is None:
        yield Value("queue priority", {"priorities": ranks(pairs)})
    if log.has("user") and not _is_same({"name": "fair-share"}, own):
        yield Value("fair share", {"order": {"name": "fair-share"}})


def _is_same(part: Mapping[str, Any], own: Mapping[str, Any] | None) -> bool:
    """True if a policy has this part already, whatever else is said of it."""
    return own is not None and all(own.get(name) == value for name, value in part.items())


def _partitions(log: Evidence) -> Values:
    if (found := log.found.settings.get("partitions")) and log.platform.queues is None:
        yield Value("as found", {"partitions": found})


def _ceilings(log: Evidence) -> Values:
    found = {name: log.found.settings[name] for name in ("ceilings", "user_running") if name in log.found.settings}
    if not found or log.has("array_id"):
        return
    for times, label in ((1, "as found"), (2, "twice as found")):
        limits = [{**one, "running": one["running"] * times} for one in found.get("ceilings", ())]
        own = {"user_running": found["user_running"] * times} if "user_running" in found else {}
        yield Value(label, {"ceilings": limits, **own})


def _windows(log: Evidence) -> Values:
    if found := log.found.settings.get("windows"):
        clock = wall_clock(log.workload)
        yield Value("as found", {"windows": found, "clock": None if clock is None else asdict(clock)})


def _start_latency(log: Evidence) -> Values:
    if "start_latency_s" not in log.found.settings:
        return
    shortest, median = (log.of("start_latency_s", subject) for subject in ("p10", "median"))
    for latency_s in sorted({shortest, median} - {None, 0.0}):  # type: ignore[type-var]
        yield Value(f"{latency_s:g} s", {"latency_s": latency_s})


def _beat(log: Evidence) -> Values:
    found = log.found.settings
    if "interval_s" in found:
        label = f"every {found['interval_s']:g} s"
        yield Value(label, {"interval_s": float(found["interval_s"]), "phase_s": float(found["phase_s"])})


def _user_jobs(log: Evidence) -> Values:
    if not log.has("user") or (log.has("array_id") and log.platform.queues is None):
        return
    users = Groups.of(Observed.of(log.workload, log.platform, log.until_s), "user")
    most = int(users.most(users.running(users.start)).max(initial=0))
    # A limit that the log does not obey makes less of the machine than it was seen to be: a user's jobs then queue
    # without end as soon as they come as fast as they once ran, which the load of one half may hide.
    limit = next((limit for limit in range(1, most + 1) if users.above(limit).max() <= MOST_ABOVE), most + 1)
    while limit <= most:
        yield Value(f"{limit:,}", {"user_running": limit})
        limit *= 2


def _holds(log: Evidence) -> Values:
    if log.found.events.has(HOLD):
        yield Value("as found", {"holds": True})


def _outages(log: Evidence) -> Values:
    if log.found.events.has(MAINTENANCE):
        yield Value("as found", {"outages": True})


SETTINGS: dict[str, Callable[[Evidence], Values]] = {
    "machine size": _machine_size,
    "backfill": _backfill,
    "order": _order,
    "partitions": _partitions,
    "ceilings": _ceilings,
    "windows": _windows,
    "start latency": _start_latency,
    "beat": _beat,
    "jobs a user may hold": _user_jobs,
    "holds": _holds,
    "outages": _outages,
}
"""Functions that give the values of each setting but "off", in the order in which settings come."""


def settings_of(log: Evidence, names: tuple[str, ...]) -> list[Setting]:
    """The settings of these names that a log has values for."""
    found = [Setting(name, (OFF, *SETTINGS[name](log))) for name in SETTINGS if name in names]
    return [one for one in found if len(one.values) > 1]
