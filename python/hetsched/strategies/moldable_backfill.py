"""Backfilling of moldable jobs by the nodes and the watts that are left."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.roles import Jobs, Running, View
from hetsched.strategies.curves import Curve, Curves
from hetsched.strategies.shares import SLACK_RATIO, Floats, by_job, spread

_Sizes = npt.NDArray[np.int64]


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

    def sizes(self, queue: Jobs, watts: float, view: View) -> _Sizes:
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

    def _caps(self, curve: Curve, idle_w: float, bound_w: float, sizes: _Sizes) -> Floats:
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
    """How many times as long each job takes at each of its sizes as at the one it asks for."""
    low, high = queue.min_nodes, queue.max_nodes
    found = [np.empty(count) for count in (high - low + 1)]
    for more in range(int((high - low).max()) + 1):
        at = np.minimum(low + more, high)
        for own, ratio in zip(found, queue.size_time_ratio(at).tolist(), strict=True):
            if more < len(own):
                own[more] = ratio
    return found
