"""A run with changes: what values of settings make of a log, a platform and a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from hetsched.errors import ConfigError
from hetsched.platform import Platform, Queue
from hetsched.policy import Policy
from hetsched.run.event_rows import HOLD, MAINTENANCE
from hetsched.run.events import Events
from hetsched.run.options import RunOptions
from hetsched.run.simulation import Run, run_of
from hetsched.units import TICKS_S, micros
from hetsched.validation.windows import after_windows
from hetsched.workload import Workload
from hetsched.workload.clock import WallClock
from hetsched.workload.schema import COLUMNS

NO_QUEUE = "none"
"""Name of the queue of jobs that name none."""


@dataclass(frozen=True)
class Changed:
    """A log, a platform and a policy with changes."""

    workload: Workload
    platform: Platform
    policy: Policy
    events: Events | None

    def run(self, seed: int) -> Run:
        """The run; what the log ran, runs."""
        return run_of(
            self.workload, self.platform, self.policy, RunOptions(seed=seed, kill_at_walltime=False, events=self.events)
        )


def changed(
    workload: Workload, platform: Platform, policy: Policy, changes: Mapping[str, Any], events: Events | None
) -> Changed:
    """These three with changes; raises ConfigError where they do not go together."""
    # Where the machine has queues of its own, they limit the jobs of a user.
    limits = changes if platform.queues is None else {**changes, "user_running": None}
    jobs, had_queues = workload.to_polars(), platform.queues is not None
    platform = machine(jobs, platform, changes)
    if platform.queues is not None and not had_queues:
        jobs = jobs.with_columns(queue_of(jobs).alias("queue"))
    jobs = _with_limits(jobs, limits)
    jobs = _with_delays(jobs, changes)
    if jobs is not workload.to_polars():
        workload = Workload(jobs, source=workload.source, report=workload.report, history=workload.history)
    return Changed(workload, platform, _policy(policy, changes), _events(events, changes))


def is_scalable(platform: Platform) -> bool:
    """True if a platform may have another number of nodes: one class, without tables or queues that name nodes."""
    nodes = platform.to_dict()
    own = nodes["classes"][0]
    has_lists = any(isinstance(value, list) for name, value in own.items() if name != "features")
    plain = {"classes", "exclusive", "known_draws", "licences", "pue", "currency"}
    is_plain = all(value is None for name, value in nodes.items() if name not in plain)
    return len(nodes["classes"]) == 1 and is_plain and not has_lists and not own.get("node_names")


def ranks(pairs: Any) -> list[tuple[str | None, int]]:
    """A priority for each queue of pairs of which one goes before the other: the longest chain below it.

    Queues that go before each other in a circle get one and the same.
    """
    below: dict[str | None, set[str | None]] = {}
    for pair in pairs:
        below.setdefault(pair["queue"], set()).add(pair["over"])
        below.setdefault(pair["over"], set())
    found: dict[str | None, int] = {}
    rank = 0
    while below:
        lowest = [queue for queue, others in below.items() if not others] or list(below)
        found |= dict.fromkeys(lowest, rank)
        below = {queue: others.difference(lowest) for queue, others in below.items() if queue not in lowest}
        rank += 1
    return sorted(found.items(), key=lambda item: (item[0] is not None, item[0] or ""))


def _events(events: Events | None, changes: Mapping[str, Any]) -> Events | None:
    """Those of the events that the changes ask for: outages, holds or both; None if they ask for none."""
    kinds = [kind for name, kind in (("outages", MAINTENANCE), ("holds", HOLD)) if changes.get(name)]
    if events is None or not kinds:
        return None
    return events.of_kinds(*kinds)


def machine(jobs: pl.DataFrame, platform: Platform, changes: Mapping[str, Any]) -> Platform:
    """The platform with changes, whose queues are those that the jobs name; raises as `changed`."""
    if platform.queues is not None:
        platform = _with_limits_of_queues(platform, platform.queues, changes)
    if "nodes" in changes:
        content = platform._content()
        platform = Platform.from_dict({**content, "classes": [{**content["classes"][0], "count": changes["nodes"]}]})
    if platform.queues is None and (queues := _queues(jobs, platform, changes)):
        platform = Platform.from_dict({**platform._content(), "queue": queues})
    return platform


def _with_limits_of_queues(platform: Platform, queues: Sequence[Queue], changes: Mapping[str, Any]) -> Platform:
    """The same queues, with the limits of jobs that run that are of queues, or of each user."""
    running = {one["queue"]: one["running"] for one in changes.get("ceilings", ()) if "user" not in one}
    each = {"max_running_per_user": changes["user_running"]} if "user_running" in changes else {}
    limited = [
        {**queue.to_dict(), **each, **({"max_running": running[queue.name]} if queue.name in running else {})}
        for queue in queues
    ]
    return Platform.from_dict({**platform._content(), "queue": limited}) if running or each else platform


def _policy(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    parts = {role: changes[role] for role in ("order", "backfill") if role in changes}
    return Policy.from_dict({**policy.parts, **parts}) if parts else policy


def queue_of(jobs: pl.DataFrame) -> pl.Series:
    """The queue of each job, by a name where it has none."""
    if "queue" not in jobs.columns:
        return pl.Series("queue", [NO_QUEUE] * len(jobs), pl.String)
    return jobs["queue"].cast(pl.String).fill_null(NO_QUEUE)


def _queues(jobs: pl.DataFrame, platform: Platform, changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The queues that the changes need, a name each that occurs; none if they need none."""
    of_queues = [one for one in changes.get("ceilings", ()) if "user" not in one]
    if not (changes.get("priorities") or changes.get("partitions") or of_queues):
        return []
    names = queue_of(jobs).unique().sort().to_list()
    priorities = {NO_QUEUE if name is None else name: rank for name, rank in changes.get("priorities", ())}
    limits = {one["queue"]: one["running"] for one in of_queues}
    nodes = _nodes_of(names, platform.nodes, changes.get("partitions", ()))
    return [
        Queue(name, nodes[name], priority=priorities.get(name, 0), max_running=limits.get(name)).to_dict()
        for name in names
    ]


def _nodes_of(names: list[str], nodes: int, partitions: Any) -> dict[str, str]:
    """Nodes of each queue: its own, from the highest number down where only their number is known; or the rest."""
    own: dict[str, str] = {}
    taken: set[int] = set()
    for one in partitions:
        if one["queue"] not in names:
            continue
        if "nodes" in one:
            own[one["queue"]] = one["nodes"].replace(" ", ",")
        else:
            first = nodes - len(taken) - round(one["size"])
            own[one["queue"]] = f"{first}-{nodes - len(taken) - 1}" if first >= 0 else ""
        taken.update(Queue(one["queue"], own[one["queue"]]).numbers)
    rest = [node for node in range(nodes) if node not in taken]
    text = f"0-{nodes - 1}" if not taken else ",".join(map(str, rest))
    missing = [name for name in names if name not in own]
    if missing and not rest:
        raise ConfigError(
            [("partitions", f"{len(taken)} nodes in them", f"fewer than all {nodes}: queues have to share")]
        )
    return {name: own.get(name, text) for name in names}


def _with_limits(jobs: pl.DataFrame, changes: Mapping[str, Any]) -> pl.DataFrame:
    """Jobs as arrays of which so many run at once: of a user, or of a user in a queue."""
    own = [one for one in changes.get("ceilings", ()) if "user" in one]
    everybody = changes.get("user_running")
    if (not own and everybody is None) or "user" not in jobs.columns:
        return jobs
    user, queue = pl.col("user").cast(pl.String), queue_of(jobs)
    limit, group = pl.lit(everybody, pl.Int32), user
    # The narrower group counts: a user in a queue before the user.
    for keys in (("user",), ("user", "queue")):
        rows = [(*(one[key] for key in keys), one["running"]) for one in own if len(keys) == len(one) - 1]
        if not rows:
            continue
        table = pl.DataFrame(rows, [*keys, "own_limit"], orient="row")
        with_keys = jobs.select(user.alias("user")).with_columns(queue.alias("queue"))
        found = with_keys.join(table, on=list(keys), how="left", maintain_order="left")["own_limit"].cast(pl.Int32)
        limit = pl.coalesce(pl.lit(found), limit)
        if keys[-1] == "queue":
            group = pl.when(pl.lit(found).is_not_null()).then(user + "\n" + pl.lit(queue)).otherwise(user)
    limited = jobs.select(group.alias("group"), limit.alias("array_limit"))
    limited = limited.with_columns(pl.when(pl.col("array_limit").is_not_null()).then("group").alias("group"))
    names = limited["group"].drop_nulls().unique(maintain_order=True)
    number = limited["group"].cast(pl.Enum(names)).to_physical().cast(pl.Int64)
    limit_of = pl.when(pl.lit(number).is_not_null()).then("array_limit")
    return jobs.with_columns(number.alias("array_id"), limited.select(limit_of.alias("array_limit")).to_series())


def _with_delays(jobs: pl.DataFrame, changes: Mapping[str, Any]) -> pl.DataFrame:
    """Jobs that may join the queue later than they are submitted: after a latency, after a window, at a beat."""
    if changes.keys().isdisjoint(("latency_s", "windows", "interval_s")):
        return jobs
    at = pl.col("submit_s") + changes.get("latency_s", 0.0)
    planned = pl.coalesce("walltime_s", "runtime_s") if "walltime_s" in jobs.columns else pl.col("runtime_s")
    if changes.get("windows"):
        both = jobs.select(at.alias("at"), planned.alias("planned"))
        clock = None if changes["clock"] is None else WallClock(**changes["clock"])
        later = after_windows(micros(both["at"]), micros(both["planned"]), changes["windows"], clock)
        at = pl.lit(pl.Series(later / TICKS_S))
    if "interval_s" in changes:
        every, phase = changes["interval_s"], changes["phase_s"]
        at = ((at - phase) / every).ceil() * every + phase
    own = [pl.col("start_at_s")] if "start_at_s" in jobs.columns else []
    return jobs.with_columns(pl.max_horizontal(at, *own).cast(COLUMNS["start_at_s"].dtype).alias("start_at_s"))
