"""Watts split between jobs, and again between the processors of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.roles import Job, Running, View
from hetsched.strategies.shares import LOWEST_SPEED_W, SLACK_RATIO, Floats, by_job, by_node, mixed, spread


class TwoLevel:
    """Watts split between jobs by what they can use, and within each so that its nodes run at the same speed.

    Gholkar, Mueller, Rountree, Power Tuning HPC Jobs on Power-Constrained Systems, PACT 2016. The upper level
    partitions the machine's watts over the jobs that run; the lower tunes each job: which processors it has and how
    its watts are split over them, so that an efficient processor does not wait for an inefficient one.

    Here the upper level gives each job its lowest watts and, of the rest, the same to each node, but no more than it
    draws at full speed; what one cannot use goes to the others. The lower level takes the nodes that draw least under
    the job's application (role placement), and splits the job's watts at the same share of the way between each
    node's draw at its lowest speed and at full speed (role allocator). Give the same object to both roles.

    Parameters
    ----------
    least_cap_w
        The lowest cap, W a node, with which jobs count when they start.

    Examples
    --------
    >>> import hetsched as hs
    >>> both = TwoLevel(least_cap_w=110.0)
    >>> power = {"name": "system-budget", "budget_w": 1000.0, "allocator": both}
    >>> sorted(hs.Policy.preset("easy", placement=both, power=power).own)
    ['allocator', 'placement']
    """

    def __init__(self, *, least_cap_w: float) -> None:
        self.least_cap_w = least_cap_w

    def choose(self, job: Job, free: npt.NDArray[np.int64], view: View) -> npt.NDArray[np.int64]:
        """The free nodes with the least predicted draw for the job's application, ties to the lowest numbers."""
        draws_w = view.predicted_w(job.app, own_w=job.power_w)[free]
        return free[np.argsort(draws_w, kind="stable")[: job.node_count]]

    def allot(self, runs: Running, watts: float, view: View) -> Floats:
        """A cap for each node of what runs."""
        idle_w = view.idle_w[runs.nodes]
        low_w, high_w = runs.node_draw_w(LOWEST_SPEED_W), runs.node_draw_w(np.inf)
        least_w, most_w = (
            by_job(runs, np.maximum(np.maximum(draws, self.least_cap_w) - idle_w, 0.0)) for draws in (low_w, high_w)
        )
        given_w = spread(watts * (1.0 - SLACK_RATIO), least_w, most_w, runs.node_count.astype(np.float64))
        caps_w, share = mixed(runs, low_w, high_w, self.least_cap_w, given_w + by_job(runs, idle_w))
        return np.where(by_node(runs, share) == 1.0, np.inf, caps_w)
