"""Strategies that choose sizes: equal shares of the nodes, and the best size within the watts."""

from __future__ import annotations

import numpy as np

from hetsched.roles import Jobs, Running, View
from hetsched.strategies.shares import SLACK_RATIO, Curve, Curves, Floats, Whole, affordable, by_job, spread


class Equipartition:
    """Equal numbers of nodes for all malleable jobs, within their ranges.

    Equipartition, one of the rules that McCann, Vaswani, Zahorjan, A Dynamic Processor Allocation Policy for
    Multiprogrammed Shared-Memory Multiprocessors, ACM TOCS 1993, compare, with nodes for processors. In every pass the
    free nodes and those of the malleable jobs that run are shared again: one number of nodes for all of them and for
    the first jobs that wait, each within its range, the largest for which there are nodes. Jobs that wait count as
    long as the fewest nodes of all those before them can be had. Give it as the ``sizing`` of a backfill.

    Parameters
    ----------
    least_cap_w
        Under a budget with an allocator: the lowest cap that it sets, W a node, with which jobs count. None: they
        count without caps.

    Examples
    --------
    >>> import polars as pl, hetsched as hs
    >>> columns = {"job_id": [1, 2, 3], "submit_s": [0, 20, 300], "runtime_s": [100] * 3, "node_count": [4] * 3}
    >>> jobs = pl.DataFrame(columns).with_columns(min_nodes=1, max_nodes=8, speedup=pl.lit("linear"), malleable=True)
    >>> platform = hs.Platform.homogeneous(nodes=8, idle_w=100.0, tdp_w=300.0)
    >>> policy = hs.Policy(backfill={"name": "reservations", "sizing": Equipartition()})
    >>> result = hs.simulate(hs.Workload.from_polars(jobs), platform, policy)
    >>> result.segments.select("job_id", "start_s", "end_s", pl.col("nodes").list.len()).rows()
    [(1, 0.0, 20.0, 8), (1, 20.0, 80.0, 4), (2, 20.0, 80.0, 4), (2, 80.0, 100.0, 8), (3, 300.0, 350.0, 8)]
    """

    def __init__(self, *, least_cap_w: float | None = None) -> None:
        self.least_cap_w = least_cap_w

    def resizes(self, runs: Running, watts: float, view: View) -> Whole:
        """The same number of nodes for all malleable jobs that run, and for those that could start next to them."""
        queue, nodes = view.queue, len(view.free) + int(runs.node_count.sum())
        count = _first_within(queue.min_nodes, nodes - int(runs.min_nodes.sum()))
        low = np.concatenate([runs.min_nodes, queue.min_nodes[:count]])
        high = np.concatenate([runs.max_nodes, queue.max_nodes[:count]])
        wanted = _shares(low, high, nodes)[: len(runs)]
        return affordable(runs, wanted, watts, np.inf if self.least_cap_w is None else self.least_cap_w, view)

    def sizes(self, queue: Jobs, watts: float, view: View) -> Whole:  # noqa: ARG002 -- the role's
        """The same for the first jobs that wait; the fewest nodes for the others."""
        low, high, free = queue.min_nodes, queue.max_nodes, len(view.free)
        count = _first_within(low, free)
        return np.concatenate([_shares(low[:count], high[:count], free), low[count:]])


def _first_within(low: Whole, nodes: int) -> int:
    """Number of the first jobs that can all have their fewest nodes."""
    return int(np.searchsorted(np.cumsum(low), nodes, side="right"))


def _shares(low: Whole, high: Whole, nodes: int) -> Whole:
    """One number within each range, the largest for which there are nodes."""
    level, step = 0, 1 << max(nodes, 1).bit_length()
    while step:
        if np.clip(level + step, low, high).sum() <= nodes and level + step <= nodes:
            level += step
        step >>= 1
    shares: Whole = np.clip(level, low, high)
    return shares


class MoldableBackfill:
    """Each job at its best size under its share of the watts, or at a slower one that can start now.

    Patki, Lowenthal, Sasidharan, Maiterth, Rountree, Schulz, de Supinski, Practical Resource Management in
    Power-Constrained, High Performance Computing, HPDC 2015 (RMAP, adaptive policy). A job's watts are the machine's
    by the share of the nodes it asks for. Within them it has many configurations, more nodes with less power each
    among them; the best is the fastest. If that cannot start now, the fastest that can is taken, as long as it is no
    slower than the job's threshold allows; this also lets jobs be backfilled that would not fit as they ask.

    Use it as the ``sizing`` of a backfill and as allocator, with the same object in both. Speeds at other sizes are
    the log's, those under caps the platform's predictions.

    Parameters
    ----------
    least_cap_w
        The lowest cap, W a node, with which jobs count when they start.
    slowdown_limit
        How many times the best time a configuration may take that starts at once, from 1.

    Examples
    --------
    >>> import hetsched as hs
    >>> both = MoldableBackfill(least_cap_w=110.0)
    >>> power = {"name": "system-budget", "budget_w": 1000.0, "allocator": both}
    >>> sorted(hs.Policy(backfill={"name": "reservations", "sizing": both}, power=power).own)
    ['allocator', 'sizing']
    """

    def __init__(self, *, least_cap_w: float, slowdown_limit: float = 1.2) -> None:
        self.least_cap_w = least_cap_w
        self.slowdown_limit = slowdown_limit
        self._curves = Curves(least_cap_w)
        self._bounds_w: dict[int, float] = {}

    def sizes(self, queue: Jobs, watts: float, view: View) -> Whole:
        """On how many nodes each job that waits would run."""
        node_w = (watts + float(view.running.draw_w(self.least_cap_w).sum())) / view.nodes
        idle_w, left, left_w = float(view.idle_w.mean()), len(view.free), watts
        chosen = queue.asked_nodes.copy()
        ranges = zip(queue.min_nodes.tolist(), queue.max_nodes.tolist(), strict=True)
        asked, ids = queue.asked_nodes.tolist(), queue.job_id.tolist()
        ratios = _ratios(queue)
        for place, ((low, high), curve) in enumerate(zip(ranges, self._curves.of(queue, view), strict=True)):
            bound_w = asked[place] * node_w
            self._bounds_w[ids[place]] = bound_w
            sizes = np.arange(low, high + 1)
            times = ratios[place] * curve.slowdown(self._caps(curve, idle_w, bound_w, sizes))
            need_w = sizes * curve.draw_w(self.least_cap_w)
            best = int(np.argmin(times))
            fits = (sizes <= left) & (need_w <= left_w) & (times <= self.slowdown_limit * times[best])
            if fits.any():
                best = int(np.argmin(np.where(fits, times, np.inf)))
                left, left_w = left - int(sizes[best]), left_w - float(need_w[best])
            chosen[place] = sizes[best]
        return chosen

    def _caps(self, curve: Curve, idle_w: float, bound_w: float, sizes: Whole) -> Floats:
        """The cap of each node where so many share the job's watts."""
        return np.clip(idle_w + bound_w / sizes, self.least_cap_w, curve.caps_w[-1])

    def allot(self, runs: Running, watts: float, view: View) -> Floats:
        """A cap for each job that runs: its share of the watts, over its nodes."""
        count = runs.node_count.astype(np.float64)
        idle_w = by_job(runs, view.idle_w[runs.nodes])
        least_w = np.maximum(self.least_cap_w * count - idle_w, 0.0)
        most_w = np.array([self._bounds_w.get(job, np.inf) for job in runs.job_id.tolist()])
        given_w = spread(watts * (1.0 - SLACK_RATIO), least_w, np.maximum(least_w, most_w), count)
        return np.maximum((idle_w + given_w) / count, self.least_cap_w)


def _ratios(queue: Jobs) -> list[Floats]:
    """Time of each job at each of its sizes, as a ratio to that at the one it asks for."""
    low, high = queue.min_nodes, queue.max_nodes
    found = [np.empty(count) for count in (high - low + 1)]
    for more in range(int((high - low).max()) + 1):
        at = np.minimum(low + more, high)
        for own, ratio in zip(found, queue.size_time_ratio(at).tolist(), strict=True):
            if more < len(own):
                own[more] = ratio
    return found
