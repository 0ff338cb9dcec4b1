"""Prices of nodes estimated from the past, in the place of the true ones of `oracle.py`: what they bring.

    python benches/python/estimate.py [--workloads 0,4,8] [--seeds 1,2] [--nodes 108] [--jobs 2000]

At every decision the known state is rolled forward: running jobs to their planned ends, the queue in order of
submission into the nodes that come free, and beyond it what the jobs submitted so far would have running if they came
again at the same rate. At some instants of the next day that gives a number of nodes for each application, the cheapest
placement of these has duals, and between the instants the prices are joined by lines. Jobs are then started as by
*prices, timing* of `oracle.py`. Nothing is known of the future: neither a submit nor, where jobs ask for a time, a
length.
"""

from __future__ import annotations

import heapq
import sys
import warnings

import numpy as np
from rich import box
from rich.table import Table

import hetsched as hs
import oracle
from hetsched.workload.generators.cpu_gpu_log import MIXES
from oracle import Floats, Oracle
from table import console

AHEAD_S = np.array([0, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 57_600, 86_400], dtype=np.float64)
"""Instants from now at which a placement is solved."""

FIRST_S = 1800.0
"""Least time over which the rate of submits is taken."""


class Lines:
    """Prices that change by lines between some instants, and stay as they are after the last."""

    def __init__(self, now: float, prices: Floats, labels: Floats) -> None:
        self._at_s = now + AHEAD_S
        self._prices, self._labels = prices, labels

    def nodes(self, time_s: Floats) -> Floats:
        """Price of every node, integrated up to some instants, in joules: shape (instants, nodes)."""
        return self._up_to(time_s, self._prices)

    def apps(self, time_s: Floats) -> Floats:
        """Price of a node's work for every application, integrated alike: shape (instants, applications)."""
        return self._up_to(time_s, self._labels)

    def _up_to(self, time_s: Floats, rate: Floats) -> Floats:
        steps_s = np.diff(self._at_s)[:, np.newaxis]
        whole = np.vstack([np.zeros(rate.shape[1]), np.cumsum((rate[1:] + rate[:-1]) / 2.0 * steps_s, axis=0)])
        place = np.searchsorted(self._at_s, time_s, side="right").clip(1, len(steps_s)) - 1
        into_s = (time_s - self._at_s[place])[:, np.newaxis]
        inside_s = np.minimum(into_s, steps_s[place])
        slope = (rate[place + 1] - rate[place]) / steps_s[place]
        part = rate[place] * inside_s + slope * inside_s**2 / 2.0
        return np.asarray(whole[place] + part + rate[-1] * np.maximum(into_s - steps_s[place], 0.0))


class Estimate(Oracle):
    """Scheduler by prices that it estimates."""

    def __init__(self, cost: Floats, apps: list[str]) -> None:
        super().__init__(Lines(0.0, np.zeros((len(AHEAD_S), cost.shape[1])), cost), cost, apps)
        self._solved: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self._seen: dict[int, tuple[int, int, float]] = {}
        self._begin_s: float | None = None

    def decide(self, view: hs.roles.View) -> list[tuple[int, oracle.Whole]]:
        """The jobs to start now."""
        queue, now = view.queue, view.now_s
        self._begin_s = now if self._begin_s is None else self._begin_s
        of = [self._apps.index(name) for name in view.apps]
        waits = [
            (of[app], size, long_s)
            for app, size, long_s in zip(
                queue.app.tolist(), queue.node_count.tolist(), queue.planned_s.tolist(), strict=True
            )
        ]
        for job, known in zip(queue.job_id.tolist(), waits, strict=True):
            self._seen.setdefault(job, known)
        running = view.running
        runs = [
            (of[app], size, max(end_s - now, 0.0))
            for app, size, end_s in zip(
                running.app.tolist(), running.node_count.tolist(), running.planned_end_s.tolist(), strict=True
            )
        ]
        counts = self._counts(runs, waits, now - self._begin_s)
        solved = [self._solve(tuple(own)) for own in counts.tolist()]
        self._prices = Lines(now, *(np.stack(part) for part in zip(*solved, strict=True)))
        return super().decide(view)

    def _counts(
        self, runs: list[tuple[int, int, float]], waits: list[tuple[int, int, float]], past_s: float
    ) -> oracle.Whole:
        """Nodes of each application at each instant ahead."""
        nodes, spans = self._cost.shape[1], [(0.0, end_s, app, size) for app, size, end_s in runs]
        ends = [(end_s, size) for _, size, end_s in runs]
        heapq.heapify(ends)
        free, now_s = nodes - sum(size for _, size, _ in runs), 0.0
        for app, size, long_s in waits:
            while free < size and ends:
                now_s, back = heapq.heappop(ends)
                free += back
            free -= size
            heapq.heappush(ends, (now_s + long_s, size))
            spans.append((now_s, now_s + long_s, app, size))
        start_s, end_s, app, size = np.array(spans, dtype=np.float64).reshape(-1, 4).T
        there = (start_s <= AHEAD_S[:, np.newaxis]) & (end_s > AHEAD_S[:, np.newaxis])
        known = np.stack([(there & (app == own)) @ size for own in range(len(self._apps))], axis=1)
        seen = np.array(list(self._seen.values()), dtype=np.float64)
        again = seen[:, 1] * np.minimum(seen[:, 2], AHEAD_S[:, np.newaxis]) / max(past_s, FIRST_S)
        more = np.stack([(again * (seen[:, 0] == own)).sum(axis=1) for own in range(len(self._apps))], axis=1)
        room = np.maximum(nodes - known.sum(axis=1), 0.0)
        share = np.minimum(1.0, room / np.maximum(more.sum(axis=1), 1e-9))
        return np.floor(known + more * share[:, np.newaxis] + 1e-9).astype(np.int64)

    def _solve(self, counts: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Prices of nodes and labels of applications where each has so many nodes."""
        if counts not in self._solved:
            prices = -hs.assign_types(self._cost, counts).column_duals
            self._solved[counts] = prices, (self._cost + prices).min(axis=1)
        return self._solved[counts]


def compared(reading: str, number: int, seed: int, *, nodes: int, jobs: int) -> tuple[oracle.Found, oracle.Found]:
    """The preset's run, and that by estimated prices."""
    platform, workload = oracle.drawn_case(reading, number, seed, nodes=nodes, jobs=jobs)
    names, cost = oracle.costs(workload, platform)
    own, ours = (hs.simulate(workload, platform, policy) for policy in ("hetsched", Estimate(cost, names)))
    return oracle.measured(own), oracle.measured(ours)


def main() -> int:
    """Print the table."""
    parser = oracle.arguments(__doc__)
    asked = oracle.checked(parser)
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="share of the bound given the starts, %")
    for name in (
        "reading",
        "workload",
        "hetsched",
        "estimate",
        "job energy, %",
        "turnaround (h)",
        "large: longest (h)",
    ):
        table.add_column(name)
    for reading in oracle.READINGS:
        for number in asked.workloads:
            pairs = [compared(reading, number, seed, nodes=asked.nodes, jobs=asked.jobs) for seed in asked.seeds]
            own, ours = zip(*pairs, strict=True)
            change = np.mean([100.0 * (after.energy_j / before.energy_j - 1.0) for before, after in pairs])
            shares = [f"{np.mean([one.share() for one in side]):.1f}" for side in (own, ours)]
            waits = [
                ", ".join(f"{np.mean([getattr(one, name) for one in side]) / 3600.0:.2f}" for side in (own, ours))
                for name in ("turnaround_s", "large_longest_wait_s")
            ]
            table.add_row(reading, MIXES[number], *shares, f"{change:+.3f}", *waits)
    console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
