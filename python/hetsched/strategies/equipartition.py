"""Equal shares of the nodes for all malleable jobs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.roles import Jobs, Running, View
from hetsched.strategies.affordable import affordable

_Whole = npt.NDArray[np.int64]


class Equipartition:
    """As many nodes for each malleable job as for any other, within their ranges.

    Equipartition, one of the rules that McCann, Vaswani, Zahorjan, A Dynamic Processor Allocation Policy for
    Multiprogrammed Shared-Memory Multiprocessors, ACM TOCS 1993, compare, with nodes for processors. In every pass the
    free nodes and those of the malleable jobs that run are shared anew: one number of nodes for all of them and for
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

    def resizes(self, runs: Running, watts: float, view: View) -> _Whole:
        """The same number of nodes for all malleable jobs that run, and for those that could start beside them."""
        queue, nodes = view.queue, len(view.free) + int(runs.node_count.sum())
        count = _first_within(queue.min_nodes, nodes - int(runs.min_nodes.sum()))
        low = np.concatenate([runs.min_nodes, queue.min_nodes[:count]])
        high = np.concatenate([runs.max_nodes, queue.max_nodes[:count]])
        wanted = _shares(low, high, nodes)[: len(runs)]
        return affordable(runs, wanted, watts, np.inf if self.least_cap_w is None else self.least_cap_w, view)

    def sizes(self, queue: Jobs, watts: float, view: View) -> _Whole:  # noqa: ARG002 -- the role's
        """The same for the first jobs that wait; the fewest nodes for the others."""
        low, high, free = queue.min_nodes, queue.max_nodes, len(view.free)
        count = _first_within(low, free)
        return np.concatenate([_shares(low[:count], high[:count], free), low[count:]])


def _first_within(low: _Whole, nodes: int) -> int:
    """How many of the first have their fewest nodes together."""
    return int(np.searchsorted(np.cumsum(low), nodes, side="right"))


def _shares(low: _Whole, high: _Whole, nodes: int) -> _Whole:
    """One number within each range, the largest for which there are nodes."""
    level, step = 0, 1 << max(nodes, 1).bit_length()
    while step:
        if np.clip(level + step, low, high).sum() <= nodes and level + step <= nodes:
            level += step
        step >>= 1
    shares: _Whole = np.clip(level, low, high)
    return shares
