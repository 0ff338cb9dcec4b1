"""A cycle of Slurm's backfill, in plain Python: the will-run test (20 to 26), the table and the cycle (29 to 39)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from plain_slurm_queue import queue
from plain_slurm_state import Run, State

MOST_REMOVALS = 200


def will_run(
    state: State, run: Run, ok: set[int], now: int, *, may_plan: bool, later: int | None
) -> tuple[int, tuple[int, ...]] | None:
    """Second from which the job could run inside `ok`, and on which nodes."""
    count = run.job.nodes
    everything = running = sorted(state.running(), key=lambda other: (other.planned_end, other.job.id))
    busy = {n for other in running for n in other.nodes}
    free_now = state.choose(ok - busy, count)
    if free_now is not None:
        return now, free_now
    if not may_plan:
        return None
    if later is not None and state.options.since("24.11"):
        running = [other for other in running if other.planned_end <= later]
    for removed in groups(running, ok, state.options.bf_window_linear):
        gone = {other.job.id for other in removed}
        still = {n for other in everything if other.job.id not in gone for n in other.nodes}
        chosen = state.choose(ok - still, count)
        if chosen is not None:
            return start_after(state, removed, chosen, now), chosen
    return None


def groups(running: list[Run], ok: set[int], linear: int) -> list[list[Run]]:
    """23 to 25: all that has been taken away each time that a choice is tried."""
    tried: list[list[Run]] = []
    removed: list[Run] = []
    barrier: int | None = None
    window, in_group = 30, 0
    for at, one in enumerate(running):
        if not ok & set(one.nodes):
            continue  # 22, and 24: the next one is taken whatever the bound
        removed.append(one)
        in_group += 1
        if barrier is None:
            barrier = one.planned_end - one.planned_end % 30 + 30
        if at + 1 == len(running):
            break
        following = running[at + 1].planned_end
        if following <= barrier + window and in_group <= MOST_REMOVALS:
            continue
        if in_group <= MOST_REMOVALS:
            tried.append(list(removed))
        in_group = 0
        window = wider(window, linear)
        while following > barrier + window:
            window = wider(window, linear)
    if removed and (not tried or len(tried[-1]) < len(removed)):
        tried.append(list(removed))
    return tried


def wider(window: int, linear: int) -> int:
    return window + linear if linear else 2 * window


def start_after(state: State, removed: list[Run], chosen: tuple[int, ...], now: int) -> int:
    """21, 26."""
    last = removed[-1]
    if state.options.since("25.05"):
        last = [one for one in removed if set(one.nodes) & set(chosen)][-1]
    return last.planned_end if last.planned_end > now else max(last.planned_end + state.options.KillWait, now + 1)


@dataclass
class Record:
    begin: int
    end: int
    nodes: set[int]
    licences: dict[str, int]

    def lacks(self, licences: dict[str, int]) -> bool:
        return bool(licences) and any(self.licences.get(name, 0) < count for name, count in licences.items())


@dataclass
class Table:
    """Nodes and licences that plans have left: 30 and 37."""

    resolution: int
    records: list[Record]
    made: int = 1
    """Records ever made: those merged away count for the table's size, as a recording has it."""

    def cut(self, second: int) -> int:
        return second - second % self.resolution

    def reserve(self, begin: int, end: int, nodes: tuple[int, ...], licences: dict[str, int]) -> None:
        begin = max(self.cut(begin), self.records[0].begin)
        end = max(self.cut(end), begin + self.resolution)
        self._split(begin)
        self._split(end)
        for record in self.records:
            if begin <= record.begin < record.end <= end:
                record.nodes -= set(nodes)
                for name, count in licences.items():
                    record.licences[name] = record.licences.get(name, 0) - count
        self._merge()

    def _split(self, at: int) -> None:
        """The record that begins at the table's begin leaves one of no length there."""
        for i, record in enumerate(self.records):
            if record.end == at:
                return
            if record.begin <= at < record.end:
                before = Record(record.begin, at, set(record.nodes), dict(record.licences))
                self.records.insert(i, before)
                self.made += 1
                record.begin = at
                return

    def _merge(self) -> None:
        """One pair of equal neighbours, the first."""
        for i in range(len(self.records) - 1):
            first, second = self.records[i : i + 2]
            if (first.nodes, first.licences) == (second.nodes, second.licences):
                first.end = second.end
                del self.records[i + 1]
                return

    def usable(
        self, run: Run, ok: set[int], at: int, end: int, licences: dict[str, int]
    ) -> tuple[set[int] | None, int | None]:
        """32: nodes free of plans through the window, None if licences are short, and when to try again."""
        later: int | None = None
        own = set(run.partition.nodes)
        for i, record in enumerate(self.records):
            if record.end <= at:
                continue
            in_window = record.begin <= end
            if in_window and record.lacks(licences):
                return None, record.end
            if later is None and i + 1 < len(self.records):
                coming = self.records[i + 1].nodes & own
                if not coming <= ok & record.nodes:
                    later = record.end
            if not in_window:
                break  # the search for nodes that come back ends here, too, as a recording has it
            ok = ok & record.nodes
        return ok, later

    def overlaps(self, begin: int, end: int, nodes: tuple[int, ...], licences: dict[str, int]) -> bool:
        """36: whether a record lacks a chosen node, or licences."""
        begin, end = self.cut(begin), self.cut(end)
        touched = [record for record in self.records if record.end > begin and record.begin < end]
        return any(not set(nodes) <= record.nodes or record.lacks(licences) for record in touched)


@dataclass
class Cycle:
    """One cycle at a second; `start` starts a job inside a set of nodes and says whether it could."""

    state: State
    now: int
    start: Callable[[Run, set[int]], bool]
    tests: int = 0
    starts: int = 0
    plans: int = 0
    planned_nodes: set[int] = field(default_factory=set)
    looked: Counter[str] = field(default_factory=Counter)
    planned: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        options = self.state.options
        available = {n for n in range(len(self.state.nodes)) if self.state.is_available(n)}
        self.table = Table(options.bf_resolution, [])
        begin, end = self.table.cut(self.now), self.table.cut(self.now + 60 * options.bf_window)
        self.table.records.append(Record(begin, end, available, dict(options.Licenses)))
        self.has_licences = options.bf_licenses
        if options.bf_running_job_reserve or options.bf_licenses:  # 31
            for run in self.state.running():
                self.table.reserve(begin, run.planned_end, run.nodes, self.licences_of(run))

    def licences_of(self, run: Run) -> dict[str, int]:
        return dict(run.job.licences) if self.has_licences else {}

    @property
    def most_records(self) -> float:
        options = self.state.options
        return options.bf_node_space_size or options.bf_max_job_test or inf

    def go(self) -> None:
        for run in queue(self.state, self.now):
            if self.is_skipped(run):
                continue
            if not self.place(run):
                return
            most = self.state.options.bf_max_job_start
            if most and self.starts >= most:
                return

    def is_skipped(self, run: Run) -> bool:
        """29: what is not looked at, though the walk goes on."""
        options, name = self.state.options, run.partition.name
        if options.bf_max_job_part and self.looked[name] >= options.bf_max_job_part:
            return True
        if options.bf_max_job_user and self.looked.total() >= options.bf_max_job_user:
            return True
        self.looked[name] += 1
        return not self.has_licences and self.state.lacks_licences(run.job)

    def may_plan(self, run: Run) -> bool:
        options = self.state.options
        most = options.bf_job_part_count_reserve
        return (
            run.priority >= options.bf_min_prio_reserve
            and self.state.waited(run, self.now) >= options.bf_min_age_reserve
            and not (most and self.planned[run.partition.name] >= most)
        )

    def place(self, run: Run) -> bool:
        """32 to 37 for one job; whether the walk goes on."""
        now, length, may_plan = self.now, run.job.limit, self.may_plan(run)
        licences = self.licences_of(run)
        at: int = now
        is_counted = False
        base = {n for n in run.partition.nodes if self.state.is_available(n)}
        while True:
            ok, later = self.table.usable(run, base, at, max(at, now) + length, licences)
            found = None
            if ok is not None and len(ok) >= run.job.nodes:
                if not is_counted:
                    if self.tests >= self.state.options.bf_max_job_test:
                        return False
                    self.tests += 1
                    is_counted = True
                found = will_run(self.state, run, ok, now, may_plan=may_plan, later=later)
            if found is None:  # 33
                if later is None:
                    return True
                at = later
                continue
            assert ok is not None
            run.tested = found[1]
            start, chosen = max(found[0], at), found[1]
            if start <= now:
                if set(chosen) & self.state.completing_nodes():  # 34
                    start, later = now + 1, None
                elif self.start(run, ok):  # 35
                    self.starts += 1
                    self.table.reserve(self.table.records[0].begin, run.planned_end, run.nodes, licences)
                    return True
            if not may_plan:
                return True
            if later is not None and start > later:  # 36
                at = later
                continue
            if start > now + 60 * self.state.options.bf_window:
                return True
            if self.table.made >= self.most_records:
                return False
            if start > now and self.table.overlaps(start, start + length, chosen, licences):
                assert start > at
                at = start
                continue
            self.table.reserve(start, start + length, chosen, licences)  # 37
            self.planned[run.partition.name] += 1
            self.plans += 1
            self.planned_nodes |= set(chosen)
            return True
