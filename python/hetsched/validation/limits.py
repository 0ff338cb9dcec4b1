"""Limits of users and queues that a log obeys: jobs at once, and nodes of their own (rules 30 and 31)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from hetsched.units import TICKS_S
from hetsched.validation.finding import Finding, part
from hetsched.validation.groups import Groups
from hetsched.validation.observed import Observed

_GROUPS = (("user",), ("queue",), ("user", "queue"))
_FEWEST_HELD = 10
_MOST_OF_THEM = 0.8
_AFTER_AN_END = 120 * TICKS_S
_PROMPT = 0.6
_FEWEST_USERS = 3
MOST_ABOVE = 0.01
"""Part of the time in which a log may be above a limit that it obeys."""
_FEWEST_JOBS = 50
_ELSEWHERE = 0.01
_SMALLER = 0.95


def ceiling_findings(jobs: Observed, machine: int) -> Iterator[Finding]:
    """Rule 30: groups that waited, with room, while as many of their jobs ran as ever did."""
    could = jobs.waited & jobs.room(machine)
    for labels in _GROUPS:
        groups = Groups.of(jobs, *labels)
        if not len(groups):
            continue
        found = list(_ceilings(groups, could))
        yield from found
        if labels == ("user",):
            limits = {one.value for one in found if one.suggestion is not None}
            count = sum(one.suggestion is not None for one in found)
            yield from _for_all(groups, limits, count)


def _ceilings(groups: Groups, could: Any) -> Iterator[Finding]:
    """Ceilings of groups; those that are none are listed if enough of their jobs were held."""
    most = groups.most(groups.running(groups.start))
    waiting = could[groups.rows]
    is_held = waiting & (groups.running(groups.submit) == most[groups.code])
    soon = is_held & (groups.since_end() <= _AFTER_AN_END)
    held, waited, prompt = groups.count(is_held), groups.count(waiting), groups.count(soon)
    is_ceiling = (held >= _FEWEST_HELD) & (held >= _MOST_OF_THEM * waited) & (prompt >= _PROMPT * held)
    for place in np.flatnonzero(held >= _FEWEST_HELD):
        labels, limit = groups.names.row(int(place), named=True), int(most[place])
        name = " in ".join(f"{label} {value}" for label, value in labels.items())
        found = Finding("ceiling", name, limit, "jobs", None, None, int(held[place]), part(held[place], waited[place]))
        if is_ceiling[place]:
            text = f"at most {limit} running of {name}"
            found = found._replace(suggestion=text, setting={"ceilings": [{**labels, "running": limit}]})
        yield found


def _for_all(groups: Groups, limits: set[float | None], users: int) -> Iterator[Finding]:
    """One limit for all users, if those that have one have the same and hardly anybody exceeds it."""
    if users < _FEWEST_USERS or len(limits) != 1:
        return
    limit = int(limits.pop() or 0)
    above = groups.above(limit)
    found = Finding("ceiling", "all users", limit, "jobs", evidence=users, evidence_ratio=float(above.max()))
    if above.max() <= MOST_ABOVE:
        setting = {"user_running": limit}
        found = found._replace(suggestion=f"at most {limit} running of each user", setting=setting)
    yield found


def partition_findings(jobs: Observed, machine: int) -> Iterator[Finding]:
    """Rule 31: queues with nodes of their own."""
    queues = Groups.of(jobs, "queue")
    if not len(queues):
        return
    nodes = jobs.frame.get_column("observed_nodes", default=pl.Series([None], dtype=pl.List(pl.UInt32)))
    yield from _by_nodes(jobs) if nodes.null_count() < len(nodes) else _by_peak(jobs, queues, machine)


def _by_nodes(jobs: Observed) -> Iterator[Finding]:
    """Queues whose jobs hardly ran on nodes that jobs of other queues used."""
    runs = jobs.frame.select("queue", "observed_nodes", pl.Series("lasting", jobs.end - jobs.start))
    each = runs.explode("observed_nodes").drop_nulls("observed_nodes")
    used = each.group_by("queue", "observed_nodes").agg(pl.col("lasting").sum().cast(pl.Float64))
    users = pl.len().over("observed_nodes")
    counts = jobs.frame.group_by("queue").len("jobs")
    own = used.with_columns(is_shared=users > 1).group_by("queue")
    elsewhere = (pl.col("lasting") * pl.col("is_shared")).sum() / pl.col("lasting").sum()
    table = own.agg(elsewhere.alias("ratio"), pl.col("observed_nodes").filter(~pl.col("is_shared")).sort())
    if len(table) < 2:
        return
    for queue, ratio, nodes, count in table.join(counts, on="queue").drop_nulls("queue").sort("queue").iter_rows():
        found = Finding("partition", f"queue {queue}", len(nodes), "nodes", None, None, count, 1 - ratio)
        if count >= _FEWEST_JOBS and ratio <= _ELSEWHERE:
            text = f"nodes = {_ranges(nodes)} of queue {queue}"
            found = found._replace(suggestion=text, setting={"partitions": [{"queue": queue, "nodes": _ranges(nodes)}]})
        if count >= _FEWEST_JOBS:
            yield found


def _ranges(nodes: list[int]) -> str:
    """Node numbers as ranges: ``0-2 7``."""
    numbers = np.array(nodes, dtype=np.int64)
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return " ".join(f"{one[0]}" if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in parts)


def _by_peak(jobs: Observed, queues: Groups, machine: int) -> Iterator[Finding]:
    """Queues whose jobs waited, with room on the machine, when the queue's most nodes did not have it."""
    most = queues.most(queues.in_use(queues.start))
    waiting = (jobs.waited & jobs.room(machine))[queues.rows]
    is_full = waiting & (queues.in_use(queues.submit) + queues.held > most[queues.code])
    waited, full = queues.count(waiting), queues.count(is_full)
    is_part = (most < _SMALLER * machine) & (full >= _FEWEST_JOBS) & (full >= _MOST_OF_THEM * waited)
    for place in np.flatnonzero(full >= _FEWEST_JOBS):
        queue, size = queues.names["queue"][int(place)], jobs.nodes(int(most[place]))
        evidence, ratio = int(full[place]), part(full[place], waited[place])
        found = Finding("partition", f"queue {queue}", size, "nodes", None, None, evidence, ratio)
        if is_part[place]:
            setting = {"partitions": [{"queue": queue, "size": size}]}
            found = found._replace(suggestion=f"{size:g} nodes for queue {queue}", setting=setting)
        yield found
