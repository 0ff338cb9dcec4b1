"""Random forests for many targets at once: a forest of its own for each.

As scikit-learn's `RandomForestRegressor` of default settings: 100 trees, each fully grown on as many applications as
are known, drawn with replacement, splitting by the best of all features (Breiman, Machine Learning 45, 2001). Targets
that are known for the same applications draw the same ones, so that what differs between two forests comes from their
targets and not from chance. Neither the order of the targets nor the number of threads changes a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.power.checks import Floats
from hetsched.power.growth import Nodes, Seedbed, grown, seedbed, steps
from hetsched.power.threads import side_by_side

__all__ = ["ForestFit", "fit_forest"]

_TREES = 100
_MOST_ENTRIES = 20_000
"""Entries of trees that grow beside each other: what a level works on should stay in the processor's cache."""

_MOST_CELLS = 50_000
"""Pairs of tree and application that are looked up beside each other, for the same reason."""

_STRIDE = 3
"""Steps down a tree between two looks for those that have arrived."""


@dataclass(frozen=True, eq=False)
class ForestFit:
    """A forest for each target.

    Parameters
    ----------
    nodes
        Of all trees.
    roots
        Row of each tree's root, shape (n_targets, n_trees).
    n_features
        How many features applications have.
    """

    kind: ClassVar[str] = "random_forest"

    nodes: Nodes
    roots: npt.NDArray[np.int64]
    n_features: int

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        step = max(1, _MOST_CELLS // (self.roots.shape[1] * len(features)))
        parts = [self.roots[first : first + step] for first in range(0, len(self.roots), step)]
        return np.concatenate(side_by_side(partial(_looked_up, self.nodes, features), parts))

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """For files."""
        return {"n_features": self.n_features}, {**vars(self.nodes), "roots": self.roots}

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> ForestFit:
        """From what `state` gave."""
        nodes = Nodes(
            arrays["feature"].astype(np.int16),
            arrays["threshold"].astype(np.float64),
            arrays["left"].astype(np.int64),
            arrays["value"].astype(np.float64),
        )
        found = cls(nodes, arrays["roots"].astype(np.int64), int(header["n_features"]))
        found._check()
        return found

    def _check(self) -> None:
        nodes, row = self.nodes, np.arange(len(self.nodes.left))
        if self.roots.ndim != 2 or any(column.shape != row.shape for column in vars(nodes).values()):
            raise ValueError("arrays of unequal sizes")
        is_leaf = nodes.feature < 0
        # Children behind their parents: whatever starts at a root ends in a leaf.
        if not (np.where(is_leaf, nodes.left == row, (nodes.left > row) & (nodes.left + 1 < len(row)))).all():
            raise ValueError("nodes without children")
        if nodes.feature.max() >= self.n_features:
            raise ValueError("splits by features that applications do not have")
        if self.roots.min() < 0 or self.roots.max() >= len(row):
            raise ValueError("roots without nodes")


def fit_forest(features: Floats, targets: Floats, *, seed: int, purpose: str) -> ForestFit:
    """Fit a forest for every target on the applications that it has.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.
    seed, purpose
        Of the draws.
    """
    codes = np.array([np.unique(column, return_inverse=True)[1].ravel() for column in features.T])
    is_known = ~np.isnan(targets)
    patterns, pattern_of = np.unique(is_known, axis=0, return_inverse=True)
    beds = [_bed(codes, np.flatnonzero(known), seed, purpose) for known in patterns]
    keys = stream(seed, f"{purpose}.lots").integers(0, 2**64, _TREES, dtype=np.uint64)
    works = _shared_out(targets, [beds[pattern] for pattern in pattern_of.ravel()])
    parts = side_by_side(partial(_grown_part, features, codes, keys), works)
    return _joined(parts, [len(work[0]) for work in works], features.shape[1])


def _bed(codes: npt.NDArray[np.intp], known: npt.NDArray[np.intp], seed: int, purpose: str) -> Seedbed:
    chance = stream(seed, f"{purpose}.draws.{len(known)}")
    drawn = np.zeros((_TREES, codes.shape[1]), dtype=np.intp)
    np.add.at(drawn, (np.arange(_TREES)[:, None], known[chance.integers(0, len(known), (_TREES, len(known)))]), 1)
    return seedbed(codes, drawn)


_Work = tuple[Floats, list[Seedbed]]


def _shared_out(targets: Floats, beds: list[Seedbed]) -> list[_Work]:
    """Targets in portions, in order."""
    entries = np.cumsum([len(bed.sample) for bed in beds])
    portion = (entries - 1) // _MOST_ENTRIES
    borders = [0, *(np.flatnonzero(np.diff(portion)) + 1).tolist(), len(beds)]
    return [(targets[low:high], beds[low:high]) for low, high in pairwise(borders)]


def _grown_part(features: Floats, codes: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64], work: _Work) -> Nodes:
    targets, beds = work
    # Draws in all stay far below `MOST_WEIGHT`: an entry stands for 1.6 draws at most, on average.
    whole, size, centre = np.zeros(targets.shape), np.zeros(len(targets)), np.zeros(len(targets))
    for row, target in enumerate(targets):
        is_known = ~np.isnan(target)
        whole[row, is_known], size[row], centre[row] = steps(target[is_known], n_trees=_TREES)
    nodes, tree = grown(features, codes, beds, list(whole), keys)
    target_of = tree // _TREES
    return Nodes(nodes.feature, nodes.threshold, nodes.left, nodes.value * size[target_of] + centre[target_of])


def _joined(parts: list[Nodes], targets: list[int], n_features: int) -> ForestFit:
    """All portions as one; in each the roots stand first, target by target."""
    shifts = np.cumsum([0, *(len(part.left) for part in parts)])
    left = np.concatenate([part.left + shift for part, shift in zip(parts, shifts, strict=False)])
    feature, threshold, value = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("feature", "threshold", "value")
    )
    roots = [shift + np.arange(count * _TREES) for shift, count in zip(shifts, targets, strict=False)]
    return ForestFit(Nodes(feature, threshold, left, value), np.concatenate(roots).reshape(-1, _TREES), n_features)


def _looked_up(nodes: Nodes, features: Floats, roots: npt.NDArray[np.int64]) -> Floats:
    """Means over the trees of some targets, shape (n_targets, n_apps)."""
    n_apps = len(features)
    # Tree by tree, so that the trees of a target are summed in one order.
    row = np.repeat(roots.T.ravel(), n_apps)
    app = np.tile(np.arange(n_apps), roots.size)
    values = nodes.value[_leaves(nodes, features, row, app)].reshape(roots.shape[1], -1)
    total = np.zeros(values.shape[1])
    for of_tree in values:
        total += of_tree
    return np.asarray(total / roots.shape[1]).reshape(-1, n_apps)


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
