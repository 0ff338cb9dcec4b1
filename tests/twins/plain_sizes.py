"""Jobs whose nodes change while they run: section "Malleable jobs" of the page on rules."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from plain_draws import WATT
from plain_paces import Settled, tell_end

if TYPE_CHECKING:
    from plain_jobs import Job
    from plain_machine import Machine


@dataclass(frozen=True)
class Sizes:
    """Fewest and most nodes of a job, and how its speed follows them."""

    least: int
    most: int
    model: str = "linear"
    """One of `linear`, `amdahl`, `downey` and `table`."""
    serial_ratio: float = 0.0
    parallelism: float = 1.0
    sigma: float = 0.0
    table: tuple[float, ...] = ()
    malleable: bool = True
    pause: int = 0
    """For how long a job makes no progress after its nodes have changed."""

    def speed(self, nodes: int) -> float:
        """S(n): 1 on one node, but for tables."""
        if self.model == "table":
            return self.table[nodes - self.least]
        if self.model == "amdahl":
            return 1.0 / (self.serial_ratio + (1.0 - self.serial_ratio) / nodes)
        return _downey(nodes, self.parallelism, self.sigma) if self.model == "downey" else float(nodes)

    def ratio(self, nodes: int, asked: int) -> float:
        """Time on so many nodes over that on those asked for."""
        return self.speed(asked) / self.speed(nodes)


def _downey(nodes: float, a: float, sigma: float) -> float:
    """Downey 1997, of low variance up to sigma = 1 and of high variance beyond."""
    if sigma > 1.0:
        return nodes * a * (sigma + 1.0) / (sigma * (nodes + a - 1.0) + a) if nodes <= a + a * sigma - sigma else a
    if nodes <= a:
        return a * nodes / (a + sigma * (nodes - 1.0) / 2.0)
    return a * nodes / (sigma * (a - 0.5) + nodes * (1.0 - sigma / 2.0)) if nodes <= 2.0 * a - 1.0 else a


class Run(NamedTuple):
    """A malleable job that runs, as a sizing sees it."""

    row: int
    nodes: int
    least: int
    most: int


@dataclass
class Sizing:
    """A part that gives jobs any sizes: by the instant and the job alone, as far as there are nodes and watts."""

    seed: int
    chance: float = 0.6
    """Chance that a job is given another size."""
    resizes: list[tuple[int, str, int, int]] = field(default_factory=list)
    """Log of the reference machine: instant, kind, row, and the number of nodes from then on."""

    def wanted(self, now: int, runs: list[Run], free: int, growth: float) -> list[int]:
        """Sizes of jobs, of which no more than `growth` nodes are gained in all."""
        sizes = []
        for run in runs:
            chance = random.Random(f"{self.seed} {now} {run.row} {run.nodes}")
            sizes.append(chance.randint(run.least, run.most) if chance.random() < self.chance else run.nodes)
        free += sum(max(run.nodes - own, 0) for run, own in zip(runs, sizes, strict=True))
        left = min(free, growth)
        for place, run in enumerate(runs):
            more = int(min(max(sizes[place] - run.nodes, 0), left))
            left -= more
            sizes[place] = min(sizes[place], run.nodes + more)
        return sizes


def growth_within(watts: float, hungriest_w: float) -> float:
    """Number of nodes that may be gained for so many watts, whatever runs on them; a microwatt is left for rounding."""
    return inf if watts == inf or hungriest_w <= 0.0 else max((watts - 1e-6) // hungriest_w, 0.0)


def hungriest_w(machine: Machine) -> float:
    """The most that any job may be predicted to draw beyond idle on any node, under any cap."""
    draws, nodes = machine.draws, range(machine.nodes)
    each = [
        draws.predicted_w(app, node, cap) for cap, rows in draws.predicted.items() for app in rows for node in nodes
    ]
    each += [draws.tdp_w] if machine.vahrm is not None and machine.vahrm.profiling_ratio is not None else []
    return max(each) - min(draws.idle_w)


def resize(machine: Machine, room: int | None = None) -> bool:
    """Asks the sizing, at the beginning of a pass; whether any job has other nodes. `room`: picowatts of a budget."""
    able = [job for job in machine.running if job.sizes is not None and job.sizes.malleable]
    able.sort(key=lambda job: (job.start, job.row))
    if machine.sizing is None or not able:
        return False
    runs = [Run(job.row, len(job.nodes), job.sizes.least, min(job.sizes.most, machine.nodes)) for job in able]
    growth = growth_within(inf if room is None else room / WATT, hungriest_w(machine))
    wanted = machine.sizing.wanted(machine.now, runs, len(_free(machine)), growth)
    for job, size in zip(able, wanted, strict=True):
        if size < len(job.nodes):
            _move(machine, job, job.nodes[:size], "shrink")
    grows = [(job, size - len(job.nodes)) for job, size in zip(able, wanted, strict=True)]
    for job, missing in [(job, missing) for job, missing in grows if missing > 0]:
        more = sorted(_free(machine), key=lambda number: (machine.rank(job, number), number))[:missing]
        _move(machine, job, sorted([*job.nodes, *more]), "grow")
    return wanted != [run.nodes for run in runs]


def _free(machine: Machine) -> list[int]:
    return [number for number in range(machine.nodes) if machine.free(number)]


def _move(machine: Machine, job: Job, nodes: list[int], kind: str) -> None:
    """It goes on on other nodes, by what was settled before this instant."""
    assert machine.sizing is not None
    run = job.run
    if run.settled is None or run.settled.at != machine.now:
        run.settled = Settled.of(machine.now, job)
    machine.occupy(job, job.nodes, -1)
    for number in set(job.nodes) - set(nodes):
        machine.state[number].since = machine.now
    machine.occupy(job, nodes, 1)
    job.nodes, job.node_count = nodes, len(nodes)
    job.planned = machine.planned_length(job)
    tell_end(machine, job)
    machine.sizing.resizes.append((machine.now, kind, job.row, len(nodes)))
