"""Strategies for heterogeneous nodes: watts within a job, and the choice of its nodes."""

from __future__ import annotations

import numpy as np

from hetsched.roles import Job, Running, View
from hetsched.strategies.shares import LOWEST_SPEED_W, SLACK_RATIO, Floats, Whole, by_job, by_node, mixed, spread


class VariationAware:
    """Caps under which all nodes of a job run at the same speed, fitted from two test runs of its application.

    Inadomi, Patki, Inoue, Aoyagi, Rountree, Schulz, Lowenthal, Wada, Fukazawa, Ueda, Kondo, Miyoshi, Analyzing and
    Mitigating the Impact of Manufacturing Variability in Power-Constrained Supercomputing, SC 2015. A micro-benchmark
    is run once on every node, at full speed and at the lowest: the table of variation. An application is run twice on
    one node, at the same two speeds; the table scales its watts to all others. Watts are linear in the speed between
    the two, so one coefficient from 0 to 1 places every node of a job at the same speed, and it is the largest that
    keeps within the job's watts: cap = lowest + coefficient × (highest - lowest), node by node.

    The paper budgets one application at a time. Here each running job has its lowest watts and, of what is left, the
    share of its nodes; what it cannot use stays unused.

    Parameters
    ----------
    least_cap_w
        The lowest cap, W a node, with which jobs count when they start. Nodes that it keeps above the speed of the
        others run faster than these.
    reference
        The application that stands for the micro-benchmark. None: the mean of all.
    test_node
        The node on which applications are tested.

    Examples
    --------
    >>> VariationAware(least_cap_w=110.0).reference is None
    True
    """

    def __init__(self, *, least_cap_w: float, reference: str | None = None, test_node: int = 0) -> None:
        self.least_cap_w = least_cap_w
        self.reference = reference
        self.test_node = test_node
        self._fitted: dict[int, tuple[Floats, Floats]] = {}
        self._table: tuple[Floats, Floats] | None = None

    def allot(self, runs: Running, watts: float, view: View) -> Floats:
        """A cap for each node of what runs."""
        nodes, idle_w = runs.nodes, view.idle_w[runs.nodes]
        low_w, high_w = np.empty(len(nodes)), np.empty(len(nodes))
        for place, (first, last) in enumerate(zip(runs.node_offsets[:-1], runs.node_offsets[1:], strict=True)):
            lowest, highest = self._draws(int(runs.app[place]), view)
            low_w[first:last], high_w[first:last] = lowest[nodes[first:last]], highest[nodes[first:last]]
        least_w = by_job(runs, np.maximum(np.maximum(low_w, self.least_cap_w) - idle_w, 0.0))
        left_w = watts * (1.0 - 2.0 * SLACK_RATIO) - least_w.sum()
        given_w = least_w + left_w * runs.node_count / runs.node_count.sum() + by_job(runs, idle_w)
        caps_w, share = mixed(runs, low_w, high_w, self.least_cap_w, given_w)
        # A cap that is the draw itself must not cut a rounding off it.
        return np.where(by_node(runs, share) == 1.0, caps_w * (1.0 + SLACK_RATIO), caps_w)

    def _draws(self, app: int, view: View) -> tuple[Floats, Floats]:
        """Each node's draw under the application at the lowest speed and at full speed, from two test runs."""
        if app not in self._fitted:
            if self._table is None:
                self._table = self._benchmarked(view)
            tested = self._measured(app, view)
            at, slow, fast = self.test_node, *self._table
            self._fitted[app] = tested[0][at] * slow / slow[at], tested[1][at] * fast / fast[at]
        return self._fitted[app]

    def _benchmarked(self, view: View) -> tuple[Floats, Floats]:
        """The table of variation: what the micro-benchmark draws on each node at either speed."""
        if self.reference is not None:
            return self._measured(view.apps.index(self.reference), view)
        each = [self._measured(app, view) for app in range(len(view.apps))] or [self._measured(-1, view)]
        return np.mean([low for low, _ in each], axis=0), np.mean([high for _, high in each], axis=0)

    def _measured(self, app: int, view: View) -> tuple[Floats, Floats]:
        return view.predicted_w(app, cap_w=LOWEST_SPEED_W), view.predicted_w(app)


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

    def choose(self, job: Job, free: Whole, view: View) -> Whole:
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


class VariationPlacement:
    """The free nodes that do the job's work for the least energy, no further apart than a window.

    Totoni, Langer, Torrellas, Kale, Scheduling for HPC Systems with Process Variation Heterogeneity, technical report,
    University of Illinois, 2015. Cores of a chip differ in watts and speed; the scheduler chooses which of them serve
    an application under a limit on the watts, and keeps them close together, as threads that are far apart pay for it.

    Cores stand for nodes here, and the layout for their numbers: of all windows of ``spread`` × the job's size
    consecutive free nodes, the one whose best nodes take the least predicted watts × time, ties to the lowest numbers.

    Parameters
    ----------
    spread
        Free nodes in a window, as a multiple of the job's size, from 1: consecutive free nodes.

    Examples
    --------
    >>> VariationPlacement().spread
    2.0
    """

    def __init__(self, *, spread: float = 2.0) -> None:
        self.spread = spread

    def choose(self, job: Job, free: Whole, view: View) -> Whole:
        """The nodes of a job that is about to start."""
        cost = (view.predicted_w(job.app, own_w=job.power_w) * view.predicted_time_ratio(job.app))[free]
        width = min(len(free), int(np.ceil(self.spread * job.node_count)))
        windows = np.lib.stride_tricks.sliding_window_view(cost, width)
        best = np.sort(windows, axis=1)[:, : job.node_count].sum(axis=1)
        first = int(np.argmin(best))
        inside = np.argsort(windows[first], kind="stable")[: job.node_count]
        return free[first + np.sort(inside)]
