"""The bound given a run's starts and the energy of nodes chosen blindly, in exact fractions and by plain counting.

Every stretch between two changes is a transportation problem of its own, solved from nothing by shortest paths; every
set of nodes that a job may have is looked at for the blind choice. Nothing here is the library's, but for the frames of
a result and the words of the platform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

import hetsched as hs

SECOND, WATT = 10**6, 10**12
FAILED, BACK = ("failed", "out"), ("repaired", "back")


@dataclass
class PlainJob:
    """A job of the bound: microseconds, picowatts by node, and the nodes that it may use."""

    name: int
    start: int
    size: int
    lengths: dict[int, int]
    draws: dict[int, int]

    @property
    def least(self) -> int:
        return sorted(self.lengths.values())[self.size - 1]

    def watts(self, node: int) -> Fraction:
        """Rule 3: draw times how much longer the node makes the run."""
        return Fraction(self.draws[node] * max(self.least, self.lengths[node]), self.least * WATT)


@dataclass
class PlainStarts:
    """Findings of the twin on a run."""

    bound_j: Fraction
    blind_j: Fraction
    jobs: list[PlainJob]
    left_out: list[int]


def plain_starts(result: hs.Result, workload: hs.Workload, platform: hs.Platform, **limits: Any) -> PlainStarts:
    """The bound of a run that was begun with these limits."""
    asked = {row["job_id"]: row for row in workload.to_polars().iter_rows(named=True)}
    until = stopped_at(result, limits.get("until_s"))
    jobs, left_out = [], []
    for row in result.jobs.iter_rows(named=True):
        if row["start_s"] is None:
            continue
        one = plain_job({**row, "profiling": profiling(row, result)}, asked[row["job_id"]], platform, limits, until)
        if is_whole(row, result) and abs(drawn(one, row, until) - row["energy_j"]) <= 1e-9 * row["energy_j"]:
            jobs.append(one)
        else:
            left_out.append(row["job_id"])
    down = outages(result)
    return PlainStarts(integral(jobs, down, platform.nodes), sum(map(blind, jobs), Fraction(0)), jobs, left_out)


def profiling(row: Mapping[str, Any], result: hs.Result) -> float:
    """Time by which a first run is longer than others."""
    return float(result.provenance["policy"]["order"]["profiling_ratio"]) if row.get("profiled") else 1.0


def stopped_at(result: hs.Result, until_s: float | None) -> int | None:
    is_stopped = result.jobs["state"].is_in(["running", "pending"]).any()
    return round(until_s * SECOND) if until_s is not None and is_stopped else None


def is_whole(row: Mapping[str, Any], result: hs.Result) -> bool:
    """Rule 1: one attempt in one stretch, of jobs that ended by themselves or still run."""
    own = result.segments.filter(pl.col("job_id") == row["job_id"])
    stretches = own.select("attempt", "nodes", "state").unique()
    is_plain = len(stretches) == 1 and own["state"][0] == "running" and own["attempt"][0] == 1
    return is_plain and row["state"] in ("completed", "timeout", "running")


def drawn(job: PlainJob, row: Mapping[str, Any], until: int | None) -> float:
    end = until if row["end_s"] is None else round(row["end_s"] * SECOND)
    return sum(job.draws[node] for node in row["nodes"]) * (end - job.start) / (SECOND * WATT)


def plain_job(
    row: Mapping[str, Any],
    asked: Mapping[str, Any],
    platform: hs.Platform,
    limits: Mapping[str, Any],
    until: int | None,
) -> PlainJob:
    start = round(row["start_s"] * SECOND)
    usable = may_use(row, asked, platform)
    if not set(row["nodes"]) <= set(usable):
        usable = list(range(platform.nodes))
    given_s = limits.get("given_s", {}).get(row["job_id"])
    longer = asked["node_count"] / len(row["nodes"]) if asked.get("speedup") == "linear" else 1.0
    lengths = {node: length(row, asked, (factor(row, platform, node), longer), limits) for node in usable}
    ran = None if row["end_s"] is None else round(row["end_s"] * SECOND) - start
    slowest = max(lengths[node] for node in row["nodes"])
    if given_s is None and ran not in (None, slowest):
        # Slurm's main loop looks now and then for jobs that are beyond their limits: until then they run.
        unlimited = {**limits, "kill_at_walltime": False}
        paces = {node: (factor(row, platform, node), longer) for node in usable}
        lengths = {node: min(length(row, asked, paces[node], unlimited), ran) for node in usable}
    if given_s is not None:
        lengths = dict.fromkeys(usable, round(given_s * SECOND))
    if until is not None:
        lengths = {node: min(own, until - start) for node, own in lengths.items()}
    draws = {node: draw(row, asked, platform, node) for node in range(platform.nodes)}
    return PlainJob(row["job_id"], start, len(row["nodes"]), lengths, draws)


def may_use(row: Mapping[str, Any], asked: Mapping[str, Any], platform: hs.Platform) -> list[int]:
    nodes, first = [], 0
    queue = next((one for one in platform.queues or () if one.name == row["queue"]), None)
    for node_class in platform.classes:
        own = range(first, first + node_class.count)
        first += node_class.count
        has = [
            asked.get("constraint") is None
            or node_class.features is None
            or asked["constraint"] in node_class.features,
            not asked.get("gpus") or node_class.gpus is None or node_class.gpus >= asked["gpus"],
            not asked.get("memory_gb") or node_class.memory_gb is None or node_class.memory_gb >= asked["memory_gb"],
        ]
        nodes += [node for node in own if all(has) and (queue is None or node in queue.numbers)]
    return nodes


def table_row(row: Mapping[str, Any], platform: hs.Platform) -> int | None:
    table = platform.actual
    if table is None or row["app"] is None:
        return None
    return next((table.apps.index(name) for name in (row["app"], "*") if name in table.apps), None)


def factor(row: Mapping[str, Any], platform: hs.Platform, node: int) -> float:
    place, table = table_row(row, platform), platform.actual
    return 1.0 if place is None or table.time_ratio is None else float(table.time_ratio[place, node])


def length(
    row: Mapping[str, Any], asked: Mapping[str, Any], paces: tuple[float, float], limits: Mapping[str, Any]
) -> int:
    """Rule 2, in the engine's whole microseconds; paces of the node and of the job's size."""
    comm, (pace, longer) = round((asked.get("comm_s") or 0.0) * SECOND), paces
    runs = math.ceil(round(row["nominal_runtime_s"] * SECOND) * (pace * longer * row["profiling"])) + comm
    if not limits.get("kill_at_walltime", True) or row["walltime_s"] is None:
        return runs
    walltime_pace = pace * longer if limits.get("walltimes") == "stretch" else longer
    grace = round(limits.get("kill_grace_s", 0.0) * SECOND)
    return min(runs, math.ceil(round(row["walltime_s"] * SECOND) * walltime_pace) + grace)


def draw(row: Mapping[str, Any], asked: Mapping[str, Any], platform: hs.Platform, node: int) -> int:
    """Whole picowatts, each product rounded to the nearest."""
    busy_w = [float(watts) for one in platform.classes for watts in one.per_node("busy_w")]
    own_w, place, table = asked.get("power_w") or 0.0, table_row(row, platform), platform.actual
    nominal = nearest((own_w if own_w > 0 else busy_w[node]) * WATT)
    if place is None:
        return nominal
    if table.power_w is not None:
        return nearest(float(table.power_w[place, node]) * WATT)
    return nearest(nominal * float(table.power_ratio[place, node]))


def nearest(number: float) -> int:
    return math.floor(number + 0.5)


def outages(result: hs.Result) -> list[tuple[int, int, int]]:
    """Node, first instant and instant after the last of each time out of service."""
    end = round(result.timeline["time_s"].max() * SECOND) if len(result.timeline) else 0
    found, since, depth = [], {}, {}
    for row in result.events.filter(pl.col("kind").is_in([*FAILED, *BACK])).iter_rows(named=True):
        node, at = row["node"], round(row["time_s"] * SECOND)
        step = 1 if row["kind"] in FAILED else -1
        depth[node] = depth.get(node, 0) + step
        if step == 1 and depth[node] == 1:
            since[node] = at
        elif depth[node] == 0:
            found.append((node, since.pop(node), at))
    return found + [(node, at, max(end, at)) for node, at in since.items()]


def integral(jobs: Sequence[PlainJob], down: Sequence[tuple[int, int, int]], nodes: int) -> Fraction:
    """Rule 4: the least draw of what must run, from change to change."""
    running = [one for one in jobs if one.least > 0]
    instants = {one.start for one in running} | {one.start + one.least for one in running}
    instants |= {at for _, since, until in down for at in (since, until)}
    total = Fraction(0)
    for since, until in itertools.pairwise(sorted(instants)):
        here = [one for one in running if one.start <= since < one.start + one.least]
        out = {node for node, first, last in down if first <= since < last}
        total += least_draw(here, [node for node in range(nodes) if node not in out]) * (until - since)
    return total / SECOND


def least_draw(jobs: Sequence[PlainJob], nodes: Sequence[int]) -> Fraction:
    """Least watts of jobs on nodes of their own: one node after another along a cheapest chain of exchanges."""
    holder: dict[int, int | None] = dict.fromkeys(nodes)
    for place, job in enumerate(jobs):
        for _ in range(job.size):
            give_one(place, jobs, holder)
    return sum((jobs[place].watts(node) for node, place in holder.items() if place is not None), Fraction(0))


def give_one(place: int, jobs: Sequence[PlainJob], holder: dict[int, int | None]) -> None:
    """Bellman-Ford over nodes: a chain ends where a free node is taken."""
    costs: dict[int, Fraction] = {}
    before: dict[int, int | None] = {}
    for node, owner in holder.items():
        if node in jobs[place].lengths and owner != place:
            costs[node], before[node] = jobs[place].watts(node), None
    changed = True
    while changed:
        changed = False
        for node, own in list(costs.items()):
            owner = holder[node]
            if owner is None:
                continue
            for other, its_owner in holder.items():
                if other in jobs[owner].lengths and its_owner != owner:
                    cost = own - jobs[owner].watts(node) + jobs[owner].watts(other)
                    if other not in costs or cost < costs[other]:
                        costs[other], before[other] = cost, node
                        changed = True
    end = min((node for node in costs if holder[node] is None), key=lambda node: costs[node])
    node: int | None = end
    while node is not None:
        earlier = before[node]
        holder[node] = place if earlier is None else holder[earlier]
        node = earlier


def blind(job: PlainJob) -> Fraction:
    """Rule 20 by its definition: the mean over all sets of nodes."""
    sets = list(itertools.combinations(sorted(job.lengths), job.size))
    energies = [max(job.lengths[node] for node in own) * sum(job.draws[node] for node in own) for own in sets]
    return Fraction(sum(energies), len(sets) * SECOND * WATT)
