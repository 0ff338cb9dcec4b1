"""The difference between the bridge's picture and a reading, as notices for the controller.

A pure function: the picture after it holds only if the controller has taken the notices, and is dropped otherwise.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hetsched.live import (
    Ended,
    NodeDown,
    NodeOff,
    NodeUp,
    Notice,
    Requeued,
    Started,
    StartFailed,
    Submitted,
    Withdrawn,
)
from hetsched.slurm_bridge.nodes import SeenNode
from hetsched.slurm_bridge.picture import Entry, Phase, Picture, Rest
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.standing import JobKey, SeenJob, Site, Standing, standing_of

_IN_QUEUE = (Standing.GATED, Standing.RELEASED)
_STATES = {"COMPLETED": "completed", "TIMEOUT": "timeout", "CANCELLED": "cancelled"}


@dataclass(frozen=True)
class Change:
    """Jobs to be added, notices to be given, and the picture once that is done."""

    added: Sequence[tuple[SeenJob, Entry]]
    notices: Sequence[Notice]
    after: Picture
    unplaced: Sequence[SeenJob]
    """Jobs that share a node with another one: the controller, which gives whole nodes, does not know of them."""


def difference(
    before: Picture,
    reading: Reading,
    site: Site,
    numbers: Mapping[str, int],
    overdue: Container[JobKey] = (),
) -> Change:
    """The change of a picture that a reading makes.

    Parameters
    ----------
    before
        What the controller knows.
    reading
        What Slurm says now.
    site
        The jobs that are the bridge's.
    numbers
        Nodes of the platform by name; others do not count.
    overdue
        Jobs that were let go so long ago that the decision is given up if they have not started.
    """
    runs = _runs(reading.jobs, numbers, {node for node, rest in before.resting.items() if rest is not Rest.WAKING})
    making = _Making(before, site, overdue, runs.of_node)
    seen = {job.key: job for job in reading.jobs}
    for key, entry in before.entries.items():
        if key not in seen:
            making.gone(key, entry, reading.ends.get(key.id, ""))
    for job in reading.jobs:
        making.job(job, runs.nodes.get(job.key, ()))
    making.nodes(reading.nodes, numbers, busy=frozenset(runs.of_node))
    making.rest(runs.of_node)
    making.conflicts()
    after = Picture(making.entries, making.down, making.next_number, making.resting)
    return Change(making.added, making.notices, after, runs.unplaced)


@dataclass
class _Runs:
    """Jobs and the nodes of the platform that each has; a job gets all of its nodes or none."""

    nodes: dict[JobKey, tuple[int, ...]] = field(default_factory=dict)
    of_node: dict[int, SeenJob] = field(default_factory=dict)
    unplaced: list[SeenJob] = field(default_factory=list)


def _runs(jobs: Sequence[SeenJob], numbers: Mapping[str, int], asleep: Container[int]) -> _Runs:
    """The runs; one on a node that is asleep to the controller begins in a later reading."""
    runs = _Runs()
    for job in jobs:
        # A job that waits has no nodes, and neither has one that is over.
        own = tuple(sorted({numbers[name] for name in job.nodes if name in numbers}))
        if not own or not standing_of(job, Site("", needs_gate=True)).holds_nodes:
            continue
        if any(node in runs.of_node for node in own):
            runs.unplaced.append(job)
            continue
        if not any(node in asleep for node in own):
            runs.nodes[job.key] = own
        runs.of_node.update(dict.fromkeys(own, job))
    return runs


class _Making:
    """The change so far."""

    def __init__(self, before: Picture, site: Site, overdue: Container[JobKey], of_node: Mapping[int, SeenJob]) -> None:
        self.site, self.overdue, self.of_node = site, overdue, of_node
        self.entries = dict(before.entries)
        self.down = before.down
        self.next_number = before.next_number
        self.resting = dict(before.resting)
        self.added: list[tuple[SeenJob, Entry]] = []
        self.notices: list[Notice] = []

    def job(self, job: SeenJob, nodes: tuple[int, ...]) -> None:
        """Compare a job with what is known of it."""
        entry, standing = self.entries.get(job.key), standing_of(job, self.site)
        if entry is not None and entry.phase is Phase.REJECTED and nodes:
            # Slurm could start it after all: to the controller it is another job.
            del self.entries[job.key]
            entry = None
        if nodes:
            self._runs(job, entry, nodes)
        elif entry is None:
            if standing in _IN_QUEUE:
                self._submit(job, job.node_count)
        elif entry.phase in (Phase.RUNNING, Phase.ENDED):
            self._has_run(job, entry, is_queued=standing in _IN_QUEUE)
        elif standing not in _IN_QUEUE:
            self._withdraw(job.key, entry, f"Slurm has it wait: {job.reason or job.state}")
        elif (entry.node_count, entry.limit_s) != (job.node_count, job.limit_s):
            self._withdraw(job.key, entry, "its request was changed")
            self._submit(job, job.node_count)
        elif entry.phase is Phase.DECIDED and job.key in self.overdue:
            why = f"not started in time: {job.reason or job.state}"
            self.notices.append(StartFailed(entry.number, entry.attempt, why))
            self.entries[job.key] = entry.fails()

    def _submit(self, job: SeenJob, count: int) -> Entry:
        entry = Entry(self.next_number, count, job.limit_s, job.restarts)
        self.next_number += 1
        self.entries[job.key] = entry
        self.added.append((job, entry))
        self.notices.append(Submitted(entry.number))
        return entry

    def _runs(self, job: SeenJob, entry: Entry | None, nodes: tuple[int, ...]) -> None:
        """Compare a job that has nodes with what is known of it."""
        if entry is not None and entry.phase is Phase.RUNNING:
            if (entry.nodes, entry.restarts) == (nodes, job.restarts):
                return
            self.notices.append(Ended(entry.number, entry.attempt, "requeued"))
            entry = replace(entry, phase=Phase.ENDED, attempt=entry.attempt + 1)
        if entry is not None and entry.node_count != len(nodes):
            # A row asks for a number of nodes for good.
            self._withdraw(job.key, entry, f"it has {len(nodes)} nodes")
            entry = None
        elif entry is not None and entry.phase is Phase.DECIDED:
            # It may run elsewhere, and another job where it was decided: its nodes are free before that one starts.
            entry = self._unless_taken(job.key, entry)
        if entry is None:
            entry = self._submit(job, len(nodes))
        elif entry.phase is Phase.ENDED:
            self.notices.append(Requeued(entry.number))
        self.notices.append(Started(entry.number, entry.attempt, nodes))
        self.entries[job.key] = replace(entry, phase=Phase.RUNNING, nodes=nodes, restarts=job.restarts)

    def _has_run(self, job: SeenJob, entry: Entry, *, is_queued: bool) -> None:
        """A job that has run and has no nodes any more; it may wait for some time before it is queued again."""
        if entry.phase is Phase.RUNNING:
            self.notices.append(Ended(entry.number, entry.attempt, "requeued"))
            entry = replace(entry, phase=Phase.ENDED, attempt=entry.attempt + 1, nodes=())
        if is_queued:
            self.notices.append(Requeued(entry.number))
            entry = replace(entry, phase=Phase.QUEUED, restarts=job.restarts)
        self.entries[job.key] = entry

    def gone(self, key: JobKey, entry: Entry, state: str) -> None:
        """A job that is over."""
        if entry.phase is Phase.RUNNING:
            self.notices.append(
                Ended(entry.number, entry.attempt, _STATES.get(state, "failed" if state else "unknown"))
            )
            del self.entries[key]
        else:
            self._withdraw(key, entry, "it is over")

    def _withdraw(self, key: JobKey, entry: Entry, why: str) -> None:
        if entry.phase is Phase.DECIDED:
            self.notices.append(StartFailed(entry.number, entry.attempt, why))
        if entry.phase in (Phase.QUEUED, Phase.DECIDED):
            self.notices.append(Withdrawn(entry.number))
        del self.entries[key]

    def rest(self, busy: Container[int]) -> None:
        """Answer decisions to put nodes to sleep and to wake them, at once: Slurm may have done neither.

        A node that is off to the controller, and to which Slurm has given a job, is out of service in this reading and
        back in the next one: no other way leads from there to a node that is up.
        """
        if up := tuple(sorted(node for node, rest in self.resting.items() if rest is Rest.WAKING)):
            self.notices.append(NodeUp(up))
        if off := tuple(sorted(node for node, rest in self.resting.items() if rest is Rest.GOING)):
            self.notices.append(NodeOff(off))
        taken = sorted(node for node, rest in self.resting.items() if rest is Rest.OFF and node in busy)
        self.notices += [NodeDown(node, "Slurm has it awake") for node in taken]
        self.down |= frozenset(taken)
        self.resting = {node: Rest.OFF for node in self.resting if node not in {*up, *taken}}

    def nodes(self, nodes: Sequence[SeenNode], numbers: Mapping[str, int], *, busy: frozenset[int]) -> None:
        """Compare the nodes; one that is busy serves until it is free, whatever is to become of it then."""
        states = {numbers[node.name]: node for node in nodes if node.name in numbers}
        is_up = {node: node in busy or (node in states and states[node].serves) for node in numbers.values()}
        if back := tuple(node for node in sorted(self.down) if is_up[node]):
            self.notices.append(NodeUp(back))
        for node, up in sorted(is_up.items()):
            if not up and node not in self.down:
                why = states[node].state if node in states else "not in the partition"
                self._lose(node, why)
                self.resting.pop(node, None)
                self.notices.append(NodeDown(node, why))
        self.down = frozenset(node for node, up in is_up.items() if not up)

    def _lose(self, node: int, why: str) -> None:
        """End decisions about a node."""
        for key, entry in list(self.entries.items()):
            if entry.phase is Phase.DECIDED and node in entry.nodes:
                self.notices.append(StartFailed(entry.number, entry.attempt, f"a node is {why}"))
                self.entries[key] = entry.fails()

    def conflicts(self) -> None:
        """End decisions whose nodes another job has."""
        for key, entry in list(self.entries.items()):
            if entry.phase is Phase.DECIDED:
                self.entries[key] = self._unless_taken(key, entry)

    def _unless_taken(self, key: JobKey, entry: Entry) -> Entry:
        """The entry of a decided start, which has failed if another job has one of its nodes."""
        others = (self.of_node[node].key for node in entry.nodes if node in self.of_node)
        taker = next((other.id for other in others if other != key), None)
        if taker is None:
            return entry
        self.notices.append(StartFailed(entry.number, entry.attempt, f"Slurm gave its nodes to {taker}"))
        return entry.fails()
