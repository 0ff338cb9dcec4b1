"""Machine and jobs as Slurm's scheduler sees them, in plain Python: inputs, and the state that its loops share.

Numbers in brackets are rules of the page on Slurm's scheduler. Events have microseconds, decisions whole seconds (1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SECOND = 1_000_000
AWAKE, POWERING_DOWN, ASLEEP, BOOTING, DOWN = "awake", "powering down", "asleep", "booting", "down"
NEW, PENDING, RUNNING, COMPLETING, DONE = "new", "pending", "running", "completing", "done"


def micros(seconds: float) -> int:
    return round(seconds * SECOND)


@dataclass(frozen=True)
class Node:
    name: str
    cpus: int = 4
    weight: int = 1
    line: int = 0
    """Number of its NodeName line."""


@dataclass(frozen=True)
class Partition:
    name: str
    nodes: tuple[int, ...]
    tier: int = 1
    max_time_min: int | None = None


@dataclass(frozen=True)
class Job:
    id: int
    submit_s: float
    nodes: int
    run_s: float
    limit_s: float
    partition: str | None = None
    """First one of the machine where none is named."""
    licences: Mapping[str, int] = field(default_factory=dict)
    cpus: int | None = None
    """Tasks asked, one a node where none are."""
    nice: int = 0
    after: tuple[int, ...] = ()
    """Jobs that must have ended."""
    clean_up_s: float | None = None
    """Time its nodes take to answer after its end; the machine's where there is none."""

    @property
    def limit(self) -> int:
        """Seconds: whole minutes, rounded up (2)."""
        return -(-micros(self.limit_s) // (60 * SECOND)) * 60


@dataclass(frozen=True)
class Options:
    """slurm.conf by its own names, units and defaults, and what a preset takes with it."""

    SchedulerType: str = "sched/backfill"
    batch_sched_delay: int = 3
    sched_interval: int = 60
    default_queue_depth: int = 100
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    defer: bool = False
    bf_interval: int = 30
    bf_window: int = 1440
    """Minutes."""
    bf_resolution: int = 60
    bf_window_linear: int = 0
    bf_max_job_test: int = 500
    bf_max_job_start: int = 0
    bf_max_job_part: int = 0
    bf_max_job_user: int = 0
    bf_node_space_size: int | None = None
    bf_min_prio_reserve: int = 0
    bf_min_age_reserve: int = 0
    bf_job_part_count_reserve: int = 0
    bf_licenses: bool = False
    bf_running_job_reserve: bool = False
    KillWait: int = 30
    Licenses: Mapping[str, int] = field(default_factory=dict)
    PriorityType: str | None = None
    PriorityWeightAge: int = 0
    PriorityWeightJobSize: int = 0
    PriorityMaxAge: int = 7 * 86400
    """Seconds, as all times of a priority."""
    PriorityCalcPeriod: int = 300
    PriorityFavorSmall: bool = False
    ACCRUE_ALWAYS: bool = False
    SuspendTime: int | None = None
    SuspendTimeout: int = 30
    ResumeTimeout: int = 60
    SuspendRate: int = 60
    ResumeRate: int = 300
    SuspendExcNodes: tuple[str, ...] = ()
    power_save_interval: int = 10
    power_save_min_interval: int = 0
    PrologSlurmctld: bool = False
    wait_all_nodes: bool = True
    """47: whether all nodes of a job must have registered, or its first: all, where the user has not said it."""
    Epilog: bool = False
    # Not in slurm.conf.
    release: str = "22.05"
    changes_as_recorded: bool = True
    """10 as recordings have it. A cycle is a change where it, or the one before, planned a node that is not allocated;
    a main run where it skipped a job of a failed partition, found a licence short, or the reason of a job became
    another one; of what happens to the power of a node only a registration. Otherwise as written."""
    accounting: bool = True
    """A slurmdbd runs: without it there is no age (41), and no recomputation."""
    epoch_s: float = 0.0
    started_s: float = 0.0
    main_period_s: float | None = None
    first_main_s: float | None = None
    first_backfill_s: float | None = None
    first_scan_s: float | None = None
    first_recompute_s: float | None = None
    beats: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Runs at these times and no others: main, backfill, recompute, epilog, scan, grid."""
    cycle_s: float = 0.0004
    test_s: float = 0.00006
    clean_up_s: float = 0.012
    boot_s: float = 0.0
    start_s: float = 0.0
    idle_since_s: float = 0.0
    boots: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Seconds that the first, second, ... boot of a node takes, where it is known."""

    def since(self, release: str) -> bool:
        return [int(part) for part in self.release.split(".")] >= [int(part) for part in release.split(".")]

    @property
    def is_multifactor(self) -> bool:
        """40: the default since 23.11."""
        default = "priority/multifactor" if self.since("23.11") else "priority/basic"
        return (self.PriorityType or default) == "priority/multifactor"


@dataclass
class Run:
    """A job on its way."""

    job: Job
    partition: Partition
    state: str = NEW
    begin: int = 0
    """Second from which it may start."""
    priority: int = 0
    attempt: int = 0
    nodes: tuple[int, ...] = ()
    allocated: int | None = None
    started: int | None = None
    """Microsecond in which the script starts."""
    ended: int | None = None
    planned_end: int = 0
    is_configuring: bool = False
    is_requeued: bool = False
    reason: str = ""
    """Reason to wait, as the main loop has found."""
    tested: tuple[int, ...] = ()
    """Nodes of its last will-run test that succeeded in backfill (42)."""
    starts: list[int] = field(default_factory=list)
    """All allocations, in microseconds."""


@dataclass
class Place:
    """State of one node."""

    power: str = AWAKE
    owner: int | None = None
    """Job that holds it, or whose clean-up it waits for."""
    asked: int = 0
    """Second of the last power request."""
    last_busy: int = 0
    weight: tuple[int, int] = (0, 0)
    """Scheduling weight as it is stored (28)."""
    boots: int = 0


@dataclass
class State:
    nodes: list[Node]
    partitions: dict[str, Partition]
    options: Options
    runs: dict[int, Run]
    places: list[Place]

    def second(self, time: int) -> int:
        """1."""
        return (micros(self.options.epoch_s) + time) // SECOND

    def is_available(self, node: int) -> bool:
        return self.places[node].power not in (POWERING_DOWN, DOWN)

    def is_idle(self, node: int) -> bool:
        place = self.places[node]
        return place.owner is None and place.power in (AWAKE, ASLEEP)

    def running(self) -> list[Run]:
        return [run for run in self.runs.values() if run.state == RUNNING]

    def completing_nodes(self) -> set[int]:
        return {node for run in self.runs.values() if run.state == COMPLETING for node in run.nodes}

    def licences_left(self) -> dict[str, int]:
        left = dict(self.options.Licenses)
        for run in self.running():
            for name, count in run.job.licences.items():
                left[name] -= count
        return left

    def lacks_licences(self, job: Job) -> bool:
        left = self.licences_left()
        return any(left.get(name, 0) < count for name, count in job.licences.items())

    def store_weights(self, partition: Partition) -> None:
        """28: sleepers after all that is awake, those of a line that sleeps as a whole before the others."""
        sleeping = {n for n in partition.nodes if self.places[n].power in (ASLEEP, POWERING_DOWN)}
        partly = {self.nodes[n].line for n in partition.nodes if n not in sleeping}
        for n in partition.nodes:
            is_partly = self.nodes[n].line in partly
            self.places[n].weight = (1, int(is_partly)) if n in sleeping else (0, self.nodes[n].weight)

    def choose(self, usable: set[int], count: int) -> tuple[int, ...] | None:
        """27: best fit over runs of neighbours of one weight."""
        runs: list[list[int]] = []
        for n in sorted(usable):
            follows = runs and runs[-1][-1] == n - 1 and self.places[n].weight == self.places[n - 1].weight
            if follows:
                runs[-1].append(n)
            else:
                runs.append([n])
        chosen: list[int] = []
        while (missing := count - len(chosen)) > 0:
            if not runs:
                return None
            lowest = min(self.places[run[0]].weight for run in runs)
            lightest = [run for run in runs if self.places[run[0]].weight == lowest]
            enough = [run for run in lightest if len(run) >= missing]
            best = min(enough, key=len) if enough else max(lightest, key=len)
            chosen += best[:missing]
            runs.remove(best)
        return tuple(sorted(chosen))

    def waited(self, run: Run, now: int) -> int:
        return now - run.begin
