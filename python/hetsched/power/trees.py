"""Regression trees of many targets, looked up side by side: forests and boosters both end as these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.power.growth import Nodes
from hetsched.power.saved import Saved
from hetsched.power.threads import side_by_side

__all__ = ["Trees", "joined"]

_MOST_CELLS = 50_000
"""Pairs of tree and application that are looked up beside each other: they should stay in the processor's cache."""

_STRIDE = 3
"""Steps down a tree between two looks for those that have arrived."""


@dataclass(frozen=True, eq=False)
class Trees:
    """As many trees for each target as for every other.

    Parameters
    ----------
    nodes
        Of all trees.
    roots
        Row of each tree's root, shape (n_targets, n_trees).
    """

    nodes: Nodes
    roots: npt.NDArray[np.int64]

    def sums(self, features: Floats) -> Floats:
        """What the trees of each target say of each application, summed in their order, shape (n_targets, n_apps)."""
        step = max(1, _MOST_CELLS // (self.roots.shape[1] * len(features)))
        parts = [self.roots[first : first + step] for first in range(0, len(self.roots), step)]
        return np.concatenate(side_by_side(partial(_looked_up, self.nodes, features), parts))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """For files."""
        return {**vars(self.nodes), "roots": self.roots}

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> Trees:
        """From what `state` gave.

        Parameters
        ----------
        arrays
            What it gave.
        n_features
            How many features applications have.

        Raises
        ------
        KeyError, ValueError
            If some way down from a root ends in no leaf, or a feature or a value is none.
        """
        roots = arrays.whole("roots", None, None)
        left = arrays.whole("left", None)
        feature = arrays.whole("feature", len(left))
        threshold = arrays.floats("threshold", len(left), finite=False)
        row, is_leaf = np.arange(len(left)), feature == -1
        # Children behind their parents: whatever starts at a root ends in a leaf.
        if not np.where(is_leaf, left == row, (left > row) & (left < len(row) - 1)).all():
            raise ValueError("nodes without children")
        if not (is_leaf | ((feature >= 0) & (feature < n_features))).all():
            raise ValueError("splits by features that applications do not have")
        # Nothing goes on to the right of a leaf: no number is above its threshold.
        if not np.where(is_leaf, threshold == np.inf, np.isfinite(threshold)).all():
            raise ValueError("thresholds that are none")
        if not ((roots >= 0) & (roots < len(row))).all() or 0 in roots.shape:
            raise ValueError("roots without nodes")
        nodes = Nodes(feature.astype(np.int32), threshold, left, arrays.floats("value", len(left)))
        return cls(nodes, roots)


def joined(parts: Sequence[Trees]) -> Trees:
    """The trees of some targets, then those of others, as one."""
    shifts = np.cumsum([0, *(len(part.nodes.left) for part in parts)])[:-1].tolist()
    left = np.concatenate([part.nodes.left + shift for part, shift in zip(parts, shifts, strict=True)])
    feature, threshold, value = (
        np.concatenate([getattr(part.nodes, name) for part in parts]) for name in ("feature", "threshold", "value")
    )
    roots = np.concatenate([part.roots + shift for part, shift in zip(parts, shifts, strict=True)])
    return Trees(Nodes(feature, threshold, left, value), roots)


def _looked_up(nodes: Nodes, features: Floats, roots: npt.NDArray[np.int64]) -> Floats:
    """Sums over the trees of some targets, shape (n_targets, n_apps)."""
    n_apps = len(features)
    # Tree by tree, so that the trees of a target are summed in one order.
    row = np.repeat(roots.T.ravel(), n_apps)
    app = np.tile(np.arange(n_apps), roots.size)
    values = nodes.value[_leaves(nodes, features, row, app)].reshape(roots.shape[1], -1)
    total = np.zeros(values.shape[1])
    for of_tree in values:
        total += of_tree
    return total.reshape(-1, n_apps)


def _leaves(
    nodes: Nodes, features: Floats, row: npt.NDArray[np.int64], app: npt.NDArray[np.intp]
) -> npt.NDArray[np.int64]:
    """The leaf that each application reaches from its row."""
    by_app = features.ravel()
    first = app * features.shape[1]
    found, place = row, np.arange(len(row))
    while len(place):
        for _ in range(_STRIDE):
            # In a leaf the feature is -1, whatever that reads: no number is above the threshold, so all stay there.
            value = by_app.take(first + nodes.feature.take(row), mode="wrap")
            row = nodes.left.take(row) + (value > nodes.threshold.take(row))
        found[place] = row
        going = np.flatnonzero(nodes.feature.take(row) >= 0)
        place, row, first = place[going], row[going], first[going]
    return found
