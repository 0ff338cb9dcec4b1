"""Power budgeting that knows how unlike processors are, from two test runs of each application."""

from __future__ import annotations

import numpy as np

from hetsched.roles import Running, View
from hetsched.strategies.shares import LOWEST_SPEED_W, SLACK_RATIO, Floats, by_job, by_node, mixed


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
