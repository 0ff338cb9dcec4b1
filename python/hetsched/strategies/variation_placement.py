"""Which nodes, and how close together, where they are unlike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.roles import Job, View

_Nodes = npt.NDArray[np.int64]


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

    def choose(self, job: Job, free: _Nodes, view: View) -> _Nodes:
        """The nodes of a job that is about to start."""
        cost = (view.predicted_w(job.app, own_w=job.power_w) * view.predicted_time_ratio(job.app))[free]
        width = min(len(free), int(np.ceil(self.spread * job.node_count)))
        windows = np.lib.stride_tricks.sliding_window_view(cost, width)
        best = np.sort(windows, axis=1)[:, : job.node_count].sum(axis=1)
        first = int(np.argmin(best))
        inside = np.argsort(windows[first], kind="stable")[: job.node_count]
        return free[first + np.sort(inside)]
