"""`Snapshot`: the state of a machine and its jobs, from which a controller can begin again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hetsched.errors import ConfigError, LiveError
from hetsched.live.notices import Budget, notice_of
from hetsched.live.records import Record
from hetsched.naming import named_in

__all__ = ["Over", "Running", "Snapshot", "Waiting"]

State: TypeAlias = tuple[
    list[tuple[tuple[int, int], int]],
    list[tuple[tuple[int, int], list[int], int]],
    list[tuple[tuple[int, int], bool, int | None]],
    list[int],
    list[tuple[int, str]],
    list[tuple[float, int, int, int]],
]
"""Waiting jobs, runs, jobs that are over, jobs held, nodes and budgets, as the engine has them."""

_NEVER = 2**63 - 1


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Waiting(Record):
    """A job in the queue: since when it is eligible, and how many of its attempts are over."""

    job: int
    since_us: int
    attempts: int = 0


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Running(Record):
    """A run: its attempt from 1, its nodes, and its begin."""

    job: int
    attempt: int
    nodes: tuple[int, ...]
    since_us: int


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Over(Record):
    """A job that is over: how many attempts it had before its last, the state of that, such as ``completed``, its end.

    The end is known where jobs may wait for others, or None.
    """

    job: int
    attempts: int
    state: str
    ended_us: int | None = None


@named_in("hetsched.live")
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a machine and its jobs at an instant.

    Jobs in none of the lists have not been submitted; nodes in none of them serve. Instants are microseconds of the
    run's clock, and may lie in the past.

    Examples
    --------
    >>> import polars as pl, hetsched as hs
    >>> from hetsched.live import Ended
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "walltime_s": [60, 60], "node_count": [2, 2]})
    >>> controller = hs.Controller(hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300), "easy")
    >>> controller.add_jobs(jobs)
    >>> found = Snapshot(waiting=(Waiting(2, since_us=0),), running=(Running(1, 1, (0, 1), since_us=0),), down=(3,))
    >>> controller.rebuild(10_000_000, found)
    >>> controller.step(12_000_000, [Ended(1, 1, "completed")])
    [Start(number=1, job=2, attempt=1, nodes=(0, 1), cap_w=None, granted_w=None)]
    """

    waiting: tuple[Waiting, ...] = ()
    running: tuple[Running, ...] = ()
    over: tuple[Over, ...] = ()
    held: tuple[int, ...] = ()
    """Jobs that were submitted and wait for others or for an instant."""
    off: tuple[int, ...] = ()
    booting: tuple[int, ...] = ()
    stopping: tuple[int, ...] = ()
    down: tuple[int, ...] = ()
    budgets: tuple[Budget, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Object of the snapshot in JSON."""
        records = {name: [one.to_json() for one in getattr(self, name)] for name in (*_OF_JOBS, "budgets")}
        return records | {name: list(getattr(self, name)) for name in ("held", *_OF_NODES)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Snapshot:
        """Snapshot of a JSON object; raises LiveError if it is none."""
        try:
            jobs: dict[str, Any] = {name: tuple(map(kind.from_json, values[name])) for name, kind in _OF_JOBS.items()}
            nodes: dict[str, Any] = {name: tuple(values[name]) for name in _OF_NODES}
            held = tuple(values.get("held", ()))
            return cls(**jobs, held=held, **nodes, budgets=tuple(map(_budget, values["budgets"])))
        except (KeyError, TypeError, AttributeError) as error:
            raise LiveError(f"found no snapshot: {error}") from None


_OF_JOBS: Mapping[str, type[Record]] = {"waiting": Waiting, "running": Running, "over": Over}
_OF_NODES = ("off", "booting", "stopping", "down")


def _budget(values: object) -> Budget:
    budget = notice_of(values)
    if not isinstance(budget, Budget):
        raise LiveError(f"found `{values!r}`, expected a budget")
    return budget


def state_of(snapshot: Snapshot, rows: Mapping[int, int], now_us: int) -> State:
    """State as the engine has it; raises ConfigError for jobs that have not been added."""

    def row(job: int) -> int:
        if job not in rows:
            raise ConfigError([("snapshot", f"job {job}", "a job that has been added")])
        return rows[job]

    budgets = [
        (one.watts, from_us := now_us if one.from_us is None else one.from_us, _end(one), min(now_us, from_us))
        for one in snapshot.budgets
    ]
    return (
        [((row(one.job), one.attempts), one.since_us) for one in snapshot.waiting],
        [((row(one.job), one.attempt), sorted(one.nodes), one.since_us) for one in snapshot.running],
        [((row(one.job), one.attempts), one.state == "completed", one.ended_us) for one in snapshot.over],
        [row(job) for job in snapshot.held],
        [(node, name) for name in _OF_NODES for node in getattr(snapshot, name)],
        budgets,
    )


def _end(budget: Budget) -> int:
    return _NEVER if budget.until_us is None else budget.until_us


def snapshot_of(state: State, ids: Sequence[int]) -> Snapshot:
    """Snapshot of the engine's state."""
    waiting, running, over, held, nodes, budgets = state
    standing = {name: tuple(node for node, word in nodes if word == name) for name in _OF_NODES}
    told = (Budget(watts, None if until_us == _NEVER else until_us, from_us) for watts, from_us, until_us, _ in budgets)
    return Snapshot(
        tuple(Waiting(ids[row], since_us, attempts) for (row, attempts), since_us in waiting),
        tuple(Running(ids[row], attempt, tuple(own), since_us) for (row, attempt), own, since_us in running),
        tuple(Over(ids[row], attempts, "completed" if ok else "failed", at) for (row, attempts), ok, at in over),
        tuple(ids[row] for row in held),
        **standing,
        budgets=tuple(told),
    )
