"""Stretches of jobs that share nodes: slots in use, and what each would draw alone on its nodes."""

from __future__ import annotations

import numpy as np

from hetsched.testing.facts import Books, Floats, Ints
from hetsched.testing.stretches import Stretches
from hetsched.units import TICKS_S

_ROUNDING = 1e-14
"""Relative error of a difference of two running integrals, generously."""


class Shares:
    """Stretches of a run on shared nodes, without what their jobs bear of the idle draw of free slots."""

    def __init__(self, own: Stretches) -> None:
        run, served = own.run, own.by_node()
        place, node = served["place"].to_numpy(), served["node"].to_numpy()
        runs = own.runs[place]
        self._place, self._node = place[runs], node[runs]
        slots = own.slots[self._place]
        start, end = own.start[self._place], own.end[self._place] + own.goes_beyond[self._place]
        self.books = Books.of(run, (self._node, start, end, slots), np.zeros(len(slots)))
        self.run = run
        borne = self._borne(own)
        lasting = own.runs & (own.lasts_s > 0)
        worth_s = np.where(lasting, own.lasts_s * own.part, 1.0)
        # Watts of whole nodes that serve the job alone; zero while it is suspended, and where a stretch has no length.
        self.alone_w: Floats = np.where(lasting, (own.energy_j - borne) / worth_s, 0.0)
        self.blur_w: Floats = np.where(lasting, _ROUNDING * self._scale / worth_s, 0.0)

    def _borne(self, own: Stretches) -> Floats:
        """Energy that each stretch bears of free slots."""
        books = self.books
        by_slot_w = np.where(books.used > 0, books.unused_w / np.maximum(books.used, 1), 0.0)
        so_far = np.concatenate([[0.0], np.cumsum(by_slot_w * books.seconds)])
        self._scale = max(float(so_far[-1]), float(own.energy_j.sum()))
        span = self.run.window[1] + 2
        key = books.node * span + books.since
        first, last = (
            np.searchsorted(key, self._node * span + at[self._place]) for at in (own.start, own.end + own.goes_beyond)
        )
        borne = np.zeros(len(own.job))
        np.add.at(borne, self._place, own.slots[self._place] * (so_far[last] - so_far[first]))
        return borne

    @property
    def busy_s(self) -> Floats:
        """Time for which each node serves some job."""
        busy_s = np.zeros(self.run.platform.nodes)
        np.add.at(busy_s, self.books.node, (self.books.used > 0) * self.books.seconds)
        return busy_s

    def busy_nodes(self, instants: Ints) -> Ints:
        """Nodes that serve some job after each of these instants."""
        books, busy = self.books, (self.books.used > 0).astype(np.int64)
        goes_on = np.append(False, books.node[1:] == books.node[:-1])
        change = busy - np.where(goes_on, np.append(0, busy[:-1]), 0)
        order = np.argsort(books.since, kind="stable")
        until = np.searchsorted(books.since[order], instants, side="right")
        found: Ints = np.concatenate([[0], np.cumsum(change[order])])[until]
        return found


def check_slots(own: Stretches) -> None:
    """No more slots of a node are held at once than it has, by suspended jobs, too."""
    run, served = own.run, own.by_node()
    place, node = served["place"].to_numpy(), served["node"].to_numpy()
    lasting = own.end[place] > own.start[place]
    place, node = place[lasting], node[lasting]
    held = Books.of(run, (node, own.start[place], own.end[place], own.slots[place]), np.zeros(len(place)))
    over = np.flatnonzero((held.used > run.slots_per_node) & (held.until > held.since))
    if len(over):
        first = over[0]
        taken = f"{held.used[first]} slots of {run.slots_per_node} are held"
        raise AssertionError(f"node {held.node[first]} at {held.since[first] / TICKS_S} s: {taken}")
