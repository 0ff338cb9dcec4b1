"""Queues in a run: whose jobs are rejected, what walltimes they get, and which policies know queues.

Where no jobs name queues, or where the policy repeats a log, queues mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, listed, shown
from hetsched.features.feature import AnySetting, Setting
from hetsched.platform import Platform, Queue
from hetsched.platform.queues import default_of, nodes_text, overlapping, pools_of
from hetsched.policy import Policy
from hetsched.policy.parts import FORESEEING, choosers, names_of
from hetsched.units import floats
from hetsched.workload import Workload

_BARS = ("", "nodes", "max_nodes", "max_slots", "max_walltime", "users")
"""Why a queue takes no job of this kind, as numbers for the engine."""


@dataclass(frozen=True)
class Queueing:
    """Queues of a platform next to the jobs that name them."""

    queues: tuple[Queue, ...]
    of_job: npt.NDArray[np.int64]
    users: npt.NDArray[np.int64]
    bars: npt.NDArray[np.int64]

    def core(self) -> dict[str, Any]:
        """The same as the engine takes it."""
        names = [queue.name for queue in self.queues]
        rows = [
            (
                list(queue.numbers),
                queue.priority,
                queue.order,
                queue.max_running,
                queue.max_running_per_user,
                queue.allocation == "spread",
                [names.index(name) for name in queue.preempts],
            )
            for queue in self.queues
        ]
        return {"queues": rows, "of_job": self.of_job, "users": self.users, "bars": self.bars}

    def may_use(self, job: int, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """True if each of some nodes belongs to a job's queue."""
        return np.isin(np.asarray(nodes), self.queues[self.of_job[job]].numbers)


def check(run: Setting) -> None:
    """Raise if jobs name no queue of the platform, or the policy does not know queues like these."""
    jobs = _filed(run.workload.to_polars(), run.platform)
    _check_column(jobs, run.platform, run.workload.source)
    _check_jobs(jobs, run.platform, run.policy)
    _check_policy(run.platform, run.policy, has_agent=run.agent is not None)


def engine(run: Setting) -> Mapping[str, Any]:
    """Queues and jobs as numbers."""
    return {"queueing": queueing_of(run.workload, run.platform).core()}


def settle(run: AnySetting) -> AnySetting:
    """The same run: jobs without a queue have the default one, jobs without walltime that of their queue."""
    if run.platform.queues is None or run.needs("observed_starts"):
        return run
    return replace(run, workload=settled(run.workload, run.platform), submitted=run.as_submitted)


def queueing_of(workload: Workload, platform: Platform) -> Queueing:
    """Queues and jobs as numbers."""
    frame, queues = workload.to_polars(), platform.queues
    assert queues is not None
    of_job = _places(frame, queues).to_numpy()
    return Queueing(queues=queues, of_job=of_job, users=_users(frame), bars=_bars(frame, platform, of_job))


def settled(workload: Workload, platform: Platform) -> Workload:
    """The same jobs: those without a queue in the default one, those without walltime with its own (rule 2)."""
    before, queues = workload.to_polars(), platform.queues
    frame = _filed(before, platform)
    assert queues is not None
    given = [queue.max_walltime_s if queue.default_walltime_s is None else queue.default_walltime_s for queue in queues]
    own = frame["walltime_s"] if "walltime_s" in frame.columns else pl.Series([None] * len(frame), dtype=pl.Float64)
    if frame is before and (not own.null_count() or all(walltime_s is None for walltime_s in given)):
        return workload
    filled = own.fill_null(_of_queue(frame, queues, given, pl.Float64))
    if frame is before and filled.null_count() == own.null_count():
        return workload
    return Workload(
        frame.with_columns(filled.alias("walltime_s")),
        source=workload.source,
        report=workload.report,
        history=workload.history,
        source_sha256=workload.source_sha256,
    )


def _filed(frame: pl.DataFrame, platform: Platform) -> pl.DataFrame:
    """The same jobs, those that name no queue in the default one, if there is one."""
    name, own = default_of(platform.queues or ()), frame.get_column("queue", default=None)
    if name is None or (own is not None and not own.null_count()):
        return frame
    filed = pl.lit(name) if own is None else own.fill_null(name)
    return frame.with_columns(filed.alias("queue"))


def _places(frame: pl.DataFrame, queues: tuple[Queue, ...]) -> pl.Series:
    if "queue" not in frame.columns:
        return pl.Series([], dtype=pl.Int64)  # There are no jobs.
    names = [queue.name for queue in queues]
    return frame["queue"].replace_strict(names, list(range(len(names))), return_dtype=pl.Int64)


def _of_queue(frame: pl.DataFrame, queues: tuple[Queue, ...], values: list[Any], dtype: Any) -> pl.Series:
    """A value of each job's queue."""
    return pl.Series(values, dtype=dtype).gather(_places(frame, queues))


def _users(frame: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Users as numbers, in order of first jobs, so that further jobs change none; -1 where nothing is known."""
    if "user" not in frame.columns:
        return np.full(len(frame), -1, dtype=np.int64)
    names = frame["user"].drop_nulls().unique(maintain_order=True)
    return frame["user"].cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def _bars(frame: pl.DataFrame, platform: Platform, of_job: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Reason why its queue rejects each job: a place in `_BARS`, the first that holds (rule 2)."""
    queues = platform.queues
    assert queues is not None

    def limit(values: Iterable[Any]) -> npt.NDArray[np.float64]:
        of_queue = np.array([np.inf if value is None else value for value in values], dtype=np.float64)
        return of_queue[of_job]

    def column(name: str, missing: float) -> npt.NDArray[np.float64]:
        return floats(frame[name], missing) if name in frame.columns else np.full(len(frame), missing)

    node_count = frame["node_count"].to_numpy()
    tests = [
        node_count > limit(len(queue.numbers) for queue in queues),
        node_count > limit(queue.max_nodes for queue in queues),
        node_count * column("slots", int(platform.slots.max())) > limit(queue.max_slots for queue in queues),
        column("walltime_s", 0.0) > limit(queue.max_walltime_s for queue in queues),
        ~_are_users(frame, of_job, queues),
    ]
    bars = np.zeros(len(frame), dtype=np.int64)
    for place, test in reversed(list(enumerate(tests, 1))):
        bars[test] = place
    return bars


def _are_users(frame: pl.DataFrame, of_job: npt.NDArray[np.int64], queues: tuple[Queue, ...]) -> npt.NDArray[np.bool_]:
    """True of jobs whose queue takes jobs of their user."""
    taken = np.ones(len(frame), dtype=np.bool_)
    for number, queue in enumerate(queues):
        if queue.users is not None:
            known = frame["user"].is_in(list(queue.users)).fill_null(value=False) if "user" in frame.columns else False
            taken[of_job == number] = np.broadcast_to(known, len(frame))[of_job == number]
    return taken


def _check_column(frame: pl.DataFrame, platform: Platform, source: str) -> None:
    """Every job names a queue (rule 1)."""
    assert platform.queues is not None
    names, faults = [queue.name for queue in platform.queues], Faults("workload")
    expected = f"a queue of the platform: {listed(names)}"
    if "queue" not in frame.columns:
        if len(frame):
            faults.note("queue", "no such column", expected)
        faults.check()
        return
    log = ""
    if platform._files:
        log, expected = f" in {source}", f"a partition of {listed(platform._files)}: {listed(names)}"
    wrong = frame.filter(pl.col("queue").is_null() | ~pl.col("queue").is_in(names)).select("job_id", "queue")
    found = (f"{'null' if queue is None else shown(queue)} of job {job}{log}" for job, queue in wrong.iter_rows())
    faults.some("queue", found, len(wrong), expected)
    faults.check()


def _check_jobs(frame: pl.DataFrame, platform: Platform, policy: Policy) -> None:
    """Raise if jobs ask for what queues do not go with: a choice of sizes; licences that several pools share."""
    assert platform.queues is not None
    faults = Faults("workload")
    for name in ("min_nodes", "max_nodes"):
        if name in frame.columns and (frame[name] != frame["node_count"]).any():
            _check_sizes(frame, platform, name, faults)
    if platform.licences is not None and "licences" in frame.columns and frame["licences"].null_count() < len(frame):
        pools, is_one_by_one = len(pools_of(platform.queues)), _shared_by_sets(platform.queues, policy) is None
        if pools > 1 and is_one_by_one and not policy._part_flag("backfill", "chooses_nodes"):
            expected = f"none, or the backfill {choosers()}: queues have {pools} sets of nodes, which would share them"
            faults.note("licences", "licences", expected)
    faults.check()


def _check_sizes(frame: pl.DataFrame, platform: Platform, name: str, faults: Faults) -> None:
    """Sizes are chosen where every queue has all nodes; a queue's limit holds for each of them."""
    queues = platform.queues
    assert queues is not None
    if any(len(queue.numbers) < platform.nodes for queue in queues):
        expected = "those of node_count: no size is chosen where a queue has some nodes and not all"
        faults.note(name, "sizes to choose from", expected)
        return
    beyond = frame.filter(frame[name] > _of_queue(frame, queues, [queue.max_nodes for queue in queues], pl.Int64))
    found = (f"{count} of job {job}" for job, count in beyond.select("job_id", name).iter_rows())
    faults.some(name, found, len(beyond), "at most the max_nodes of its queue")


def naming_nodes(policy: Policy | None, platform: Platform) -> Policy | None:
    """A policy, with the backfill ``plan`` of the same depth where it counts nodes and queues share some of theirs."""
    own = None if policy is None else policy.parts["backfill"]
    if policy is None or own is None or platform.queues is None or overlapping(platform.queues) is None:
        return policy
    if policy.own or policy._part_flag("backfill", "chooses_nodes"):
        return policy
    plan = {"name": "plan", "depth": own.get("depth", 1)}
    name = f"{policy.name}:backfill=plan:backfill.depth={plan['depth']}"
    return Policy.from_dict({**policy.parts, "backfill": plan, "name": name})


def _check_policy(platform: Platform, policy: Policy, *, has_agent: bool) -> None:
    """Raise unless the policy knows queues like these (rules 6 and 7)."""
    queues, faults, own = platform.queues, Faults("policy"), policy.own
    assert queues is not None
    if "scheduler" in own:
        faults.note("scheduler", shown(policy.name), "a policy of parts: a whole scheduler knows no queues")
        faults.check()
    _check_preemption(queues, policy)
    backfill = policy.parts["backfill"]
    assert backfill is not None
    counts = not policy._part_flag("backfill", "chooses_nodes")
    pools = pools_of(queues)
    is_whole = len(pools) == 1 and len(pools[0]) == platform.nodes
    if has_agent and not is_whole:
        expected = "queues of one and the same set of all nodes: an agent knows no others"
        faults.note("agent", "an agent", expected)
    elif counts and not is_whole:
        for role in own:
            if own[role] is not None:
                known = _pools_text(pools, platform)
                expected = f"a part of hetsched's own: queues have {known}, of which an object knows nothing"
                faults.add(role, type(own[role]).__name__, expected)
        if (why := _shared_by_sets(queues, policy)) is not None:
            _check_shared(why, platform, policy, faults)
    faults.check()


def _shared_by_sets(queues: tuple[Queue, ...], policy: Policy) -> str | None:
    """Return why sets of nodes are not scheduled one by one: two share some nodes, or all share a budget.

    With a sleep part even one set shares it, with the nodes in no queue; it is asked where these are some.
    """
    if (pair := overlapping(queues)) is not None:
        one, other = (f"{shown(queue.name)} (nodes {nodes_text(queue.numbers)})" for queue in pair)
        return f"queues {one} and {other} share some nodes and not all"
    sets = len(pools_of(queues))
    if not policy.parts.get("power"):
        return None
    if sets > 1:
        return f"queues have {sets} sets of nodes and one budget"
    return "nodes in no queue sleep under the same budget" if policy.parts.get("sleep") else None


def _check_shared(why: str, platform: Platform, policy: Policy, faults: Faults) -> None:
    """Note parts that do not count nodes by the queues that have them (rule 7)."""
    parts, own = policy.parts, policy.own
    backfill, placement = parts["backfill"], parts["placement"]
    assert backfill is not None
    assert placement is not None
    if not platform.exclusive:
        faults.add("backfill", backfill["name"], f"{choosers()}, which names nodes: jobs share them, and {why}")
    elif "backfill" not in own and not policy._part_flag("backfill", "knows_cells"):
        faults.add("backfill", backfill["name"], f"one of {listed(names_of('backfill', 'knows_cells'))}: {why}")
    if "placement" not in own and not policy._part_flag("placement", "knows_cells"):
        known = listed(names_of("placement", "knows_cells"))
        faults.add("placement", placement["name"], f"one of {known}, which choose within alike nodes: {why}")


def _pools_text(pools: tuple[tuple[int, ...], ...], platform: Platform) -> str:
    """Number of sets of nodes, or of the nodes of the only one."""
    if len(pools) > 1:
        return f"{len(pools)} sets of nodes"
    return f"{len(pools[0])} of the {platform.nodes} nodes"


def _check_preemption(queues: tuple[Queue, ...], policy: Policy) -> None:
    """Raise if a queue preempts others and the policy does not say which nodes jobs get (rule 7)."""
    faults, own, backfill = Faults("platform"), policy.own, policy.parts["backfill"]
    if (backfill or {}).get("name") in FORESEEING:
        return
    name = type(own["backfill"]).__name__ if "backfill" in own else (backfill or {}).get("name")
    for position, queue in enumerate(queues):
        if queue.preempts:
            found = f"{listed(queue.preempts)} of queue {shown(queue.name)}"
            expected = (
                f"nothing, or the backfill {' or '.join(FORESEEING)}, which names the nodes on which jobs make way: "
                f"it is {name}"
            )
            faults.note(f"queues[{position}].preempts", found, expected)
    faults.check()
