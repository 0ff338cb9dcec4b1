"""Sizes and caps of all jobs at once, by an integer linear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from hetsched.files import unheard
from hetsched.roles import Jobs, Running, View
from hetsched.strategies.shares import SLACK_RATIO, Curves, Floats, Whole, affordable

_SCALE, _TOLERANCE = 0.01, 2e-4
"""Rules are held to a millionth. At this scale that is more than integers are rounded by, which HiGHS would report on
the terminal, and less than this share of the watts, which is left, and than a node."""


class Configurations(NamedTuple):
    """Ways in which jobs may run, one a row."""

    job: Whole
    """Place of the job."""
    nodes: Whole
    """Number of free nodes that it takes."""
    watts: Floats
    """Watts beyond idle."""
    worth: Floats
    """The job's weight × its speed."""


_NONE = Configurations(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


def _configurations(rows: Sequence[tuple[int, int, float, float]]) -> Configurations:
    whose, nodes, watts, worth = (np.array(column) for column in zip(*rows, strict=True))
    return Configurations(whose.astype(np.int64), nodes.astype(np.int64), watts, worth)


def _joined(running: Configurations, waiting: Configurations, runs: int) -> Configurations:
    """Both, those that wait numbered behind those that run."""
    behind = waiting._replace(job=waiting.job + runs)
    return Configurations(*(np.concatenate(pair) for pair in zip(running, behind, strict=True)))


class ThroughputIlp:
    """The sizes and caps that promise the most speed of all jobs together.

    Sarood, Langer, Gupta, Kale, Maximizing Throughput of Overprovisioned HPC Data Centers Under a Strict Power Budget,
    SC 2014. Whenever a job arrives or ends, an integer linear program chooses at most one configuration, nodes and
    cap, of each job, so that nodes and watts suffice and the sum of weight × power-aware speed is largest. The weight
    of a job grows as it waits, so that it does not starve.

    A moldable job keeps the size with which it starts, and its cap is chosen again; a malleable one that runs enters
    the program with other sizes, too: its least and most nodes, half and twice those that it has. That a change costs
    time (``resize_s``) is not weighed. The program is solved by HiGHS, through scipy. Where it finds no solution
    within `node_limit` nodes of its search, jobs start in policy order as they ask, at the lowest caps; `notes` counts
    both. Give the same object as backfill (which chooses sizes, too) and as allocator.

    The paper leaves the weight's form open: ((wait + length) / length)^alpha, the length being that at full speed.

    Parameters
    ----------
    caps_w
        The caps that may be set, W a node. With the lowest of them jobs count when they start.
    considered
        How many jobs of the queue, in policy order, enter the program.
    alpha
        Exponent of the weight; 0: waiting does not count.
    node_limit
        Nodes of HiGHS's search.
    gap_ratio
        How far below the bound on it the solution may lie, a share of it.

    Examples
    --------
    >>> import hetsched as hs
    >>> ilp = ThroughputIlp(caps_w=[110.0, 140.0])
    >>> power = {"name": "system-budget", "budget_w": 1000.0, "allocator": ilp}
    >>> sorted(hs.Policy(backfill=ilp, power=power).own)
    ['allocator', 'backfill', 'sizing']
    """

    def __init__(
        self,
        *,
        caps_w: Sequence[float],
        considered: int = 8,
        alpha: float = 1.0,
        node_limit: int = 500,
        gap_ratio: float = 0.02,
    ) -> None:
        self.caps_w = sorted(float(cap) for cap in caps_w)
        self.considered = considered
        self.alpha = alpha
        self.node_limit = node_limit
        self.gap_ratio = gap_ratio
        self.least_cap_w = self.caps_w[0]
        self._curves = Curves(self.least_cap_w)
        self._planned: tuple[float, list[int]] = (-np.inf, [])
        self._sized: tuple[float, dict[int, int]] = (-np.inf, {})
        self._solved, self._fallbacks = 0, 0

    def notes(self) -> dict[str, int]:
        """Programs that were solved, and decisions without a solution."""
        return {"solved": self._solved, "fallbacks": self._fallbacks}

    def sizes(self, queue: Jobs, watts: float, view: View) -> Whole:
        """On how many nodes each job that waits would run; which of them start is kept for `select`."""
        if self._sized[0] == view.now_s:
            # The program has just been solved, with malleable jobs that run in it.
            known = self._sized[1]
            self._planned, self._sized = (view.now_s, list(known)), (-np.inf, {})
            pairs = zip(queue.job_id.tolist(), queue.asked_nodes.tolist(), strict=True)
            return np.array([known.get(job, asked) for job, asked in pairs], dtype=np.int64)
        running = view.running
        own_w, chosen = float(running.draw_w(self.least_cap_w).sum()), queue.asked_nodes.copy()
        waiting = self._waiting(queue, view)
        kept = self._running(running)
        both = _joined(kept, waiting, len(running))
        solution = self._best(both, len(running), len(view.free), watts + own_w)
        if solution is None:
            self._planned = view.now_s, queue.job_id.tolist()
            return chosen
        starts = [place for place in solution if place >= len(kept.job)]
        jobs = [int(both.job[place]) - len(running) for place in starts]
        for place, job in zip(starts, jobs, strict=True):
            chosen[job] = both.nodes[place]
        self._planned = view.now_s, [int(queue.job_id[job]) for job in jobs]
        return chosen

    def resizes(self, runs: Running, watts: float, view: View) -> Whole:
        """On how many nodes each malleable job that runs goes on, next to what else runs and could start."""
        running, queue = view.running, view.queue
        sizes = [_sizes_of_run(*one) for one in _ranges(running)]
        waiting = self._waiting(queue, view) if len(queue) else _NONE
        kept = self._running_at(running, sizes)
        both = _joined(kept, waiting, len(running))
        nodes = len(view.free) + int(running.node_count.sum())
        own_w = float(running.draw_w(self.least_cap_w).sum())
        solution = self._best(both, len(running), nodes, watts + own_w)
        if solution is None:
            return runs.node_count
        ids = [*running.job_id.tolist(), *queue.job_id.tolist()]
        chosen = {ids[both.job[place]]: int(both.nodes[place]) for place in solution}
        waits = {int(job) for job in queue.job_id}
        self._sized = view.now_s, {job: size for job, size in chosen.items() if job in waits}
        wanted = np.array([chosen[job] for job in runs.job_id.tolist()], dtype=np.int64)
        return affordable(runs, wanted, watts, self.least_cap_w, view)

    def _running_at(self, runs: Running, sizes: list[list[int]]) -> Configurations:
        """Each running job at some sizes, under each cap; its nodes there are taken to draw as those that it has."""
        choices_w = [*self.caps_w, np.inf]
        draws_w = np.array([runs.draw_w(cap) for cap in choices_w]).T / runs.node_count[:, np.newaxis]
        speeds = 1.0 / np.array([runs.slowdown(cap) for cap in choices_w]).T
        ratios, asked = _time_ratios(runs, sizes), runs.asked_nodes.tolist()
        rows = [
            (job, size, size * draw_w, asked[job] * speed / ratio)
            for job, own in enumerate(sizes)
            for size, ratio in zip(own, ratios[job], strict=True)
            for draw_w, speed in zip(draws_w[job], speeds[job], strict=True)
        ]
        return _configurations(rows)

    def select(self, queue: Jobs, view: View) -> list[int]:
        """The jobs that the program chose in this pass."""
        waiting = set(queue.job_id.tolist())
        return [job for job in self._planned[1] if job in waiting] if self._planned[0] == view.now_s else []

    def allot(self, runs: Running, watts: float, view: View) -> Floats:  # noqa: ARG002 -- the role's
        """A cap for each job that runs."""
        choices_w = np.array([*self.caps_w, np.inf])
        kept = self._running(runs)
        solution = self._best(kept, len(runs), 0, watts)
        if solution is None:
            return np.full(len(runs), self.least_cap_w)
        caps_w = np.empty(len(runs))
        for place in solution:
            caps_w[kept.job[place]] = choices_w[place % len(choices_w)]
        return caps_w

    def _running(self, runs: Running) -> Configurations:
        """Each running job under each cap."""
        choices_w = [*self.caps_w, np.inf]
        if not len(runs):
            return _NONE
        draws_w = np.array([runs.draw_w(cap) for cap in choices_w]).T
        speed = 1.0 / np.array([runs.slowdown(cap) for cap in choices_w]).T
        job = np.repeat(np.arange(len(runs)), len(choices_w))
        progress = np.where(runs.malleable, runs.asked_nodes / runs.size_time_ratio(runs.node_count), runs.node_count)
        worth = np.repeat(progress, len(choices_w)) * speed.ravel()
        return Configurations(job, np.zeros_like(job), draws_w.ravel(), worth)

    def _waiting(self, queue: Jobs, view: View) -> Configurations:
        """Each of the first jobs that wait at some sizes, under each cap."""
        count = min(len(queue), self.considered)
        low, high, asked = (column[:count].tolist() for column in (queue.min_nodes, queue.max_nodes, queue.asked_nodes))
        sizes = [_sizes(*one) for one in zip(low, high, asked, strict=True)]
        ratios = _time_ratios(queue, sizes)
        weights = self._weights(queue, view)
        rows: list[tuple[int, int, float, float]] = []
        for job, curve in enumerate(self._curves.of(queue, view)[:count]):
            caps_w = np.array([*(cap for cap in self.caps_w if cap < curve.caps_w[-1]), curve.caps_w[-1]])
            draws_w, slowdowns = curve.draw_w(caps_w), curve.slowdown(caps_w)
            for size, ratio in zip(sizes[job], ratios[job], strict=True):
                speed = weights[job] * asked[job] / (ratio * slowdowns)
                rows += [(job, size, size * draw, worth) for draw, worth in zip(draws_w, speed, strict=True)]
        return _configurations(rows)

    def _weights(self, queue: Jobs, view: View) -> Floats:
        length_s = np.maximum(queue.planned_s, 1.0)
        weights: Floats = ((view.now_s - queue.submit_s + length_s) / length_s) ** self.alpha
        return weights

    def _best(self, of: Configurations, running: int, free: int, watts: float) -> list[int] | None:
        """Places of the chosen configurations; None where no solution is found."""
        if not len(of.job) or watts <= 0.0:
            return [] if not len(of.job) else None
        jobs = int(of.job.max()) + 1
        one_each = csr_array((np.ones(len(of.job)), (of.job, np.arange(len(of.job)))), shape=(jobs, len(of.job)))
        must = np.where(np.arange(jobs) < running, 1.0, 0.0)
        rules = [
            LinearConstraint(one_each, must, np.ones(jobs)),
            LinearConstraint(_SCALE * of.nodes[np.newaxis, :] / max(free, 1), -np.inf, _SCALE * min(free, 1)),
            LinearConstraint(_SCALE * of.watts[np.newaxis, :] / watts, -np.inf, _SCALE * (1.0 - _TOLERANCE)),
        ]
        options = {"node_limit": self.node_limit, "mip_rel_gap": self.gap_ratio, "presolve": False}
        with unheard():
            found = milp(
                -of.worth / of.worth.max(),
                integrality=np.ones(len(of.job)),
                bounds=Bounds(0, 1),
                constraints=rules,
                options=options,
            )
        places = [] if found.x is None else np.flatnonzero(found.x > 0.5).tolist()
        if found.x is None or float(of.watts[places].sum()) > watts * (1.0 - SLACK_RATIO):
            self._fallbacks += 1
            return None
        self._solved += 1
        return places


def _sizes(low: int, high: int, asked: int) -> list[int]:
    """Some sizes of a job: the smallest, the largest, the one it asks for, and halves and doubles of that."""
    doubled = {size for step in range(-4, 5) if low <= (size := round(asked * 2.0**step)) <= high}
    return sorted({low, high, min(asked, high)} | doubled)


def _ranges(runs: Running) -> zip[tuple[int, int, int, bool]]:
    columns = (runs.min_nodes, runs.max_nodes, runs.node_count, runs.malleable)
    return zip(*(column.tolist() for column in columns), strict=True)


def _sizes_of_run(low: int, high: int, own: int, is_malleable: bool) -> list[int]:
    """Sizes at which a job that runs could go on."""
    return sorted({low, high, own, max(low, own // 2), min(high, 2 * own)}) if is_malleable else [own]


def _time_ratios(queue: Jobs | Running, sizes: list[list[int]]) -> list[list[float]]:
    """Time of each job at each of these sizes, as a ratio to that at the one it asks for."""
    most, others = max(map(len, sizes)), queue.min_nodes[len(sizes) :].tolist()
    columns = []
    for place in range(most):
        at = [own[min(place, len(own) - 1)] for own in sizes]
        columns.append(queue.size_time_ratio([*at, *others]).tolist())
    return [[columns[place][job] for place in range(len(own))] for job, own in enumerate(sizes)]
