"""`Queue`: a named set of nodes with limits; and what queues of one platform must agree on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, is_whole_text, listed, plain, run_text, runs_of, shown
from hetsched.naming import named_in
from hetsched.params import Entry, Parameter, choice, entries_of, flag, whole, word
from hetsched.typing import Allocation, QueueOrder
from hetsched.workload.convert import MOST_OF_A_LIST, node_numbers, span_seconds

_MOST_NODES = 2**31 - 1
_MAX_SECONDS = 1e12
_A_SET = f"numbers such as `0-3,7` (ends included), or a list of them, at most {MOST_OF_A_LIST:,}"
_A_SPAN = "seconds, or a span such as 1-02:03:04 or 01:00:00"
_NAMES = "a list of names"


def _numbers(given: Any, name: str, faults: Faults) -> tuple[int, ...] | None:
    nodes = _nodes_of(given)
    if nodes is None:
        faults.add(name, "nothing" if given in ("", [], ()) else given, _A_SET)
    return nodes


def _seconds(given: Any, name: str, faults: Faults) -> float | None:
    """Seconds of a number or of a span in text."""
    value = span_seconds(pl.Series([given.strip()])).item() if isinstance(given, str) else plain(given)
    if value is None:
        faults.add(name, given, _A_SPAN)
        return None
    faults.number(name, value, low=0.0, high=_MAX_SECONDS)
    if not faults.has(name) and value < 1e-6:
        faults.add(name, value, "at least a microsecond")
    return None if faults.has(name) else float(value)


def _names(given: Any, name: str, faults: Faults) -> tuple[str, ...]:
    is_list = isinstance(given, list | tuple | set | frozenset)
    if not is_list or not all(isinstance(one, str) and is_whole_text(one) for one in given):
        faults.add(name, given, _NAMES)
        return ()
    return tuple(dict.fromkeys(given))


def _users(given: Any, name: str, faults: Faults) -> tuple[str, ...]:
    users = _names(given, name, faults)
    if not users and not faults.has(name):
        faults.add(name, "none", "at least one name, or nothing: everybody")
    return tuple(sorted(users))


_WALLTIME = Parameter(unit="seconds", take=_seconds, form=_A_SPAN)
_JOBS = whole(1, _MOST_NODES)


@named_in("hetsched")
@dataclass(frozen=True)
class Queue(Entry):
    """Jobs that name it in their column ``queue`` run on its nodes, within its limits.

    Parameters
    ----------
    name
        What jobs call it.
    nodes
        Its nodes: text such as ``"0-3,7"``, ends included, or a list of numbers. Queues may share nodes.
    priority
        Jobs of a queue with a higher one come before all others.
    max_nodes
        Jobs that ask for more nodes are rejected. None: the queue's nodes.
    max_slots
        Jobs that ask for more slots, all their nodes together, are rejected.
    max_walltime_s
        Jobs that ask for a longer walltime are rejected. Seconds, or a span as logs have it: ``"1-00:00:00"``.
    default_walltime_s
        Walltime of jobs that bring none, in the same forms. None: `max_walltime_s`, if there is one.
    max_running
        Jobs of the queue that run at once; those beyond are passed over in a pass as if they were not queued.
    max_running_per_user
        The same of each user; jobs of unknown users have no limit.
    users
        Jobs of others are rejected. None: everybody's are taken.
    order
        How its jobs are ordered, one of ``fcfs, smallest, largest, shortest, longest, smallest-area``. None: as the
        policy says. Queues of one priority have one order.
    allocation
        Nodes that the backfill ``plan`` takes first for its jobs: those with the fewest free slots (``"concentrate"``)
        or with the most (``"spread"``).
    preempts
        Names of queues whose running jobs make way for its own, under the backfill ``plan``: they are suspended, and
        go on later where they were.
    default
        True if jobs that name no queue are its own; one queue of a platform at most. Without it such jobs are errors.

    Raises
    ------
    ConfigError
        If any value is invalid; lists all of them.

    Examples
    --------
    >>> Queue("debug", "0-3,7", priority=5, max_walltime_s=1800).nodes
    (0, 1, 2, 3, 7)
    >>> Queue("debug", "3-0", allocation="pack")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.ConfigError: nodes: found `3-0`, expected numbers such as `0-3,7` (ends included), or a list ...
    allocation: found `pack`, expected one of concentrate, spread
    """

    _kind: ClassVar[str] = "a queue"

    name: str = field(metadata=word())
    nodes: str | Sequence[int] | npt.NDArray[np.integer[Any]] = field(metadata=Parameter(take=_numbers, form=_A_SET))
    priority: int = field(default=0, metadata=whole(-(10**9), 10**9))
    max_nodes: int | None = None
    max_slots: int | None = field(default=None, metadata=whole(1, 2**62))
    max_walltime_s: float | str | None = field(default=None, metadata=_WALLTIME)
    default_walltime_s: float | str | None = field(default=None, metadata=_WALLTIME)
    max_running: int | None = field(default=None, metadata=_JOBS)
    max_running_per_user: int | None = field(default=None, metadata=_JOBS)
    users: Sequence[str] | None = field(default=None, metadata=Parameter(take=_users, form=_NAMES))
    order: QueueOrder | None = field(default=None, metadata=choice(QueueOrder))
    allocation: Allocation = field(default="concentrate", metadata=choice(Allocation))
    preempts: Sequence[str] = field(default=(), metadata=Parameter(take=_names, form=_NAMES))
    default: bool = field(default=False, metadata=flag())

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        if self.max_nodes is not None:
            values["max_nodes"] = plain(self.max_nodes)
            faults.whole("max_nodes", values["max_nodes"], low=1, high=len(values["nodes"] or ()) or _MOST_NODES)
        most_s, default_s = values["max_walltime_s"], values["default_walltime_s"]
        if most_s is not None and default_s is not None and default_s > most_s:
            faults.add("default_walltime_s", default_s, f"at most max_walltime_s, {most_s:g}")
        if self.name in (values["preempts"] or ()):
            faults.add("preempts", self.name, "names of other queues")

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of its nodes, ascending."""
        nodes = self.nodes
        assert isinstance(nodes, tuple)
        return nodes

    def to_dict(self) -> dict[str, Any]:
        """Every parameter that is set, as `from_dict` takes it.

        Examples
        --------
        >>> Queue("debug", [0, 1, 2, 7]).to_dict()
        {'name': 'debug', 'nodes': '0-2,7'}
        """
        plain: dict[str, Any] = {"nodes": nodes_text(self.numbers), "users": self.users and list(self.users)}
        values = {one.name: plain.get(one.name, getattr(self, one.name)) for one in fields(self)}
        values["preempts"] = list(self.preempts)
        defaults = {one.name: one.default for one in fields(self)} | {"preempts": []}
        return {name: value for name, value in values.items() if name == "name" or value != defaults[name]}


def nodes_text(nodes: Iterable[int]) -> str:
    """Ascending numbers as text, as `Queue` takes it."""
    return ",".join(run_text(*run) for run in runs_of(nodes))


def _nodes_of(given: Any) -> tuple[int, ...] | None:
    """The numbers that text or a list names, ascending; None if it names none."""
    if isinstance(given, str):
        pieces = [re.sub(r"\s*-\s*", "-", piece.strip()) for piece in given.split(",")]
        numbers = node_numbers(",".join(pieces)) if all(pieces) else None
        return None if numbers is None else tuple(sorted(set(numbers)))
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, Sequence | set | frozenset) or isinstance(given, bytes):
        return None
    return tuple(sorted({int(node) for node in given})) if given and all(map(_is_node, given)) else None


def _is_node(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= int(given) < _MOST_NODES


def queue_list(given: Any, path: str, faults: Faults) -> tuple[Queue, ...] | None:
    """The queues of a platform, made of dictionaries where they are such; None if there are none."""
    if not isinstance(given, list | tuple):
        faults.add(path, given, "a list of queues")
        return None
    return tuple(entries_of(Queue, given, path, faults)) or None


def check_queues(queues: Sequence[Queue], nodes: int, path: str, faults: Faults) -> None:
    """Note where queues do not fit the platform or each other."""
    for position, queue in enumerate(queues):
        place = f"{path}[{position}]"
        if queue.numbers[-1] >= nodes:
            found = f"node {queue.numbers[-1]} of queue {shown(queue.name)}"
            faults.note(f"{place}.nodes", found, f"nodes below {nodes}")
        names = [other.name for other in queues]
        if queue.name in names[:position]:
            faults.add(f"{place}.name", queue.name, "another name than that of an earlier queue")
        if queue.default and (first := default_of(queues)) != queue.name:
            expected = f"one default queue; {shown(first)} is"
            faults.note(f"{place}.default", f"true of queue {shown(queue.name)}, too", expected)
        for name in queue.preempts:
            if name not in names:
                hint = did_you_mean(name, names)
                faults.add(f"{place}.preempts", name, f"queues of the platform: {listed(names)}{hint}")
        _check_higher(queue, queues, f"{place}.priority", faults)
    _check_orders(queues, path, faults)


def default_of(queues: Sequence[Queue]) -> str | None:
    """Name of the first queue whose jobs name none; None if there is none such."""
    return next((queue.name for queue in queues if queue.default), None)


def _check_higher(queue: Queue, queues: Sequence[Queue], place: str, faults: Faults) -> None:
    """A queue that preempts comes before those that it preempts, and before those that preempt none."""
    if not queue.preempts:
        return
    lower = [other for other in queues if other.name in queue.preempts or not other.preempts]
    highest = max(lower, key=lambda other: other.priority, default=None)
    if highest is not None and highest is not queue and highest.priority >= queue.priority:
        expected = f"more than {highest.priority}, that of queue {shown(highest.name)}: it preempts"
        faults.note(place, f"{shown(queue.priority)} of queue {shown(queue.name)}", expected)


def _check_orders(queues: Sequence[Queue], path: str, faults: Faults) -> None:
    """Queues of one priority have one order."""
    first: dict[int, Queue] = {}
    for position, queue in enumerate(queues):
        other = first.setdefault(queue.priority, queue)
        if other.order != queue.order:
            orders = [one.order or "none (the policy's)" for one in (queue, other)]
            expected = f"{orders[1]}, as queue {shown(other.name)} of the same priority, {queue.priority}"
            faults.note(f"{path}[{position}].order", f"{orders[0]} of queue {shown(queue.name)}", expected)


def pools_of(queues: Sequence[Queue]) -> tuple[tuple[int, ...], ...]:
    """The distinct sets of nodes, by lowest node."""
    return tuple(sorted({queue.numbers for queue in queues}))


def overlapping(queues: Sequence[Queue]) -> tuple[Queue, Queue] | None:
    """Two queues that share some nodes, and not all; None if there are none such."""
    by_set: dict[tuple[int, ...], Queue] = {}
    for queue in queues:
        by_set.setdefault(queue.numbers, queue)
    owners = np.concatenate([np.asarray(nodes) for nodes in by_set])
    if len(np.unique(owners)) == len(owners):
        return None
    pairs = combinations(by_set.values(), 2)
    return next((one, other) for one, other in pairs if not set(one.numbers).isdisjoint(other.numbers))
