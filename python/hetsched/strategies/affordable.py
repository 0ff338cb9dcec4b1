"""Sizes of running jobs that there are nodes and watts for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.roles import Running, View
from hetsched.strategies.shares import SLACK_RATIO

_Whole = npt.NDArray[np.int64]


def affordable(runs: Running, wanted: _Whole, watts: float, least_cap_w: float, view: View) -> _Whole:
    """Sizes as wanted, those that grow less so where nodes or watts are short; jobs count under the least cap.

    Which nodes a job gets is not known here, so each counts with the most that any would draw.
    """
    had, sizes = runs.node_count, wanted.copy()
    idle_w, ends = view.idle_w, runs.node_offsets[1:]
    beyond_w = np.maximum(runs.node_draw_w(least_cap_w) - idle_w[runs.nodes], 0.0)
    room_w, free = watts, len(view.free)
    for place in np.flatnonzero(sizes < had).tolist():
        given = int(had[place] - sizes[place])
        room_w, free = room_w + float(beyond_w[ends[place] - given : ends[place]].sum()), free + given
    room_w *= 1.0 - SLACK_RATIO
    for place in np.flatnonzero(sizes > had).tolist():
        app = int(runs.app[place])
        own_w = float(beyond_w[ends[place] - had[place] : ends[place]].max())
        each_w = max(float((view.predicted_w(app, cap_w=least_cap_w) - idle_w).max()), own_w)
        more = min(int(sizes[place] - had[place]), free)
        more = more if each_w <= 0.0 or np.isinf(room_w) else min(more, int(max(room_w, 0.0) // each_w))
        sizes[place] = had[place] + more
        room_w, free = room_w - more * each_w, free - more
    return sizes
