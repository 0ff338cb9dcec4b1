"""Regression trees, thousands at once: all of them grow a level at a time.

The rule of growth is that of Breiman's random forests as scikit-learn builds them: every node is split by the feature
and threshold that leave the least squared error, thresholds lie halfway between two applications, equally good
features are drawn from by lot, and a node becomes a leaf when its targets are all alike or nothing tells its
applications apart. What differs is the order of work: numpy does one level of all trees in one go.

Targets are rounded to whole numbers (of steps of 2**-35 of their range, or coarser for thousands of applications), so
that all sums are exact, in whatever order and beside whatever other trees they are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats

__all__ = ["MOST_WEIGHT", "Nodes", "Seedbed", "grown", "seedbed", "steps"]

Whole = npt.NDArray[np.intp]
Keys = npt.NDArray[np.uint64]

MOST_WEIGHT = 2**17
"""Draws in all the trees that grow beside each other, so that their sums stay exact in float64."""

_EXACT_BITS = 53


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trees as columns, one row a node.

    Parameters
    ----------
    feature
        By which feature a node splits; -1 in a leaf.
    threshold
        What goes left: values up to this.
    left
        Row of the left child; the right child is the next row. In a leaf its own row.
    value
        Mean target of a leaf.
    """

    feature: npt.NDArray[np.int32]
    threshold: Floats
    left: npt.NDArray[np.int64]
    value: Floats


@dataclass(frozen=True, eq=False)
class Seedbed:
    """What the trees of a target start from; targets that are known for the same applications share it.

    Parameters
    ----------
    sample
        The application of each entry; entries of a tree stand together.
    weight
        How often the tree drew it.
    sizes
        Entries of each tree.
    order
        Entries sorted by tree and then by a feature, one row a feature.
    """

    sample: Whole
    weight: Floats
    sizes: Whole
    order: Whole


def seedbed(codes: Whole, drawn: Whole) -> Seedbed:
    """Where the trees that drew these applications start from.

    Parameters
    ----------
    codes
        Place of each application's feature among the distinct values of that feature, shape (n_features, n_apps).
    drawn
        How often each tree drew each application, shape (n_trees, n_apps).
    """
    tree, sample = np.nonzero(drawn)
    by_feature = [np.lexsort((of_apps[sample], tree)) for of_apps in codes]
    weight = drawn[tree, sample].astype(np.float64)
    return Seedbed(sample, weight, np.count_nonzero(drawn, axis=1), np.array(by_feature))


def steps(targets: Floats, *, n_trees: int) -> tuple[Floats, float, float]:
    """Targets in whole steps: the steps, the size of one, and where counting starts.

    Parameters
    ----------
    targets
        Of the applications that are known for one device.
    n_trees
        How many trees grow on them.

    Examples
    --------
    >>> whole, size, centre = steps(np.array([100.0, 103.0, 108.0]), n_trees=100)
    >>> (whole * size + centre).tolist(), bool((whole == np.rint(whole)).all())
    ([100.0, 103.0, 108.0], True)
    """
    low = float(targets.min())
    centre = low + (float(targets.max()) - low) / 2
    _, exponent = np.frexp(np.abs(targets - centre).max())
    # The largest numbers: a sum over all draws that grow beside each other, and a node's sum times its weight.
    draws = (MOST_WEIGHT + n_trees * len(targets)).bit_length()
    product = 2 * len(targets).bit_length() + 1
    size = float(np.ldexp(1.0, int(exponent) - _EXACT_BITS + max(draws, product)))
    return np.rint((targets - centre) / size), size, centre


def grown(
    features: Floats, codes: Whole, beds: list[Seedbed], targets: list[Floats], keys: Keys
) -> tuple[Nodes, Whole]:
    """Grow all trees of some targets; the first nodes are the trees' roots, target by target.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    codes
        As for `seedbed`.
    beds
        Where the trees of each target start from.
    targets
        In whole steps, by application: shape (n_apps,) for each target.
    keys
        A number for each tree of a target, from which its lots are drawn.

    Returns
    -------
    tuple of Nodes and numpy.ndarray
        The nodes, values in steps; and which tree each belongs to, counted over all targets.
    """
    shifts = np.cumsum([0, *(len(bed.sample) for bed in beds)])
    sample = np.concatenate([bed.sample for bed in beds])
    weight = np.concatenate([bed.weight for bed in beds])
    target = np.concatenate([of_target[bed.sample] for bed, of_target in zip(beds, targets, strict=True)])
    order = np.concatenate([bed.order + shift for bed, shift in zip(beds, shifts, strict=False)], axis=1)
    sizes = np.concatenate([bed.sizes for bed in beds])
    trees = np.arange(len(sizes))
    level = _Level(order, sizes, trees, np.tile(keys, len(beds)), trees)
    growth = _Growth(features, codes, sample, weight, target)
    while len(level.sizes):
        level = growth.split(level)
    return growth.nodes(), growth.trees()


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one depth.

    Parameters
    ----------
    order
        Entries sorted by node and then by a feature, one row a feature.
    sizes
        Entries of each node.
    rows
        Which row of the level's columns each node gets.
    keys
        A number for each node, from which its lots are drawn.
    trees
        To which tree each node belongs.
    """

    order: Whole
    sizes: Whole
    rows: Whole
    keys: Keys
    trees: Whole

    @property
    def starts(self) -> Whole:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)


@dataclass(frozen=True, eq=False)
class _Cut:
    """Which nodes of a level split, by which feature, and behind which entry of that feature's order."""

    is_split: npt.NDArray[np.bool_]
    feature: Whole
    entry: Whole
    next_entry: Whole


class _Growth:
    def __init__(self, features: Floats, codes: Whole, sample: Whole, weight: Floats, target: Floats) -> None:
        self.features = features
        self.sample = sample
        self.weight = weight
        self.target = target
        self.weighted = weight * target
        self.code_of = codes[:, sample]
        self.levels: list[tuple[npt.NDArray[Any], ...]] = []
        self.count = 0

    def split(self, level: _Level) -> _Level:
        """Make the nodes of this level, and say which ones come next."""
        starts = level.starts
        node = np.repeat(np.arange(len(starts)), level.sizes)
        gain, mean = self._gains(level, starts, node)
        cut = self._cuts(level, starts, node, gain)
        self._keep(level, cut, mean)
        return self._children(level, node, cut)

    def nodes(self) -> Nodes:
        """All nodes, level after level."""
        return Nodes(*self._columns()[:-1])

    def trees(self) -> Whole:
        """To which tree each of them belongs."""
        return np.asarray(self._columns()[-1])

    def _columns(self) -> list[npt.NDArray[Any]]:
        return [np.concatenate(parts) for parts in zip(*self.levels, strict=True)]

    def _gains(self, level: _Level, starts: Whole, node: Whole) -> tuple[Floats, Floats]:
        """What a cut behind each entry is worth (-1: none is possible there), and the nodes' mean targets."""
        order, ends = level.order, starts + level.sizes - 1
        sums, weights = np.cumsum(self.weighted[order], axis=1), np.cumsum(self.weight[order], axis=1)
        before, weight_before = np.zeros(len(starts)), np.zeros(len(starts))
        before[1:], weight_before[1:] = sums[0, ends[:-1]], weights[0, ends[:-1]]
        total, weight = sums[0, ends] - before, weights[0, ends] - weight_before
        sums -= before[node]
        weights -= weight_before[node]
        # With sum s and weight w on the left, of S and W in all, the error falls by (s W - S w)² / (w (W - w) W).
        sums *= weight[node]
        sums -= total[node] * weights
        sums *= sums
        weights *= weight[node] - weights
        codes = np.take_along_axis(self.code_of, order, axis=1)
        is_cut = np.zeros(order.shape, dtype=bool)
        is_cut[:, :-1] = codes[:, 1:] != codes[:, :-1]
        is_cut[:, ends] = False
        return np.divide(sums, weights, out=np.full(order.shape, -1.0), where=is_cut), total / weight

    def _cuts(self, level: _Level, starts: Whole, node: Whole, gain: Floats) -> _Cut:
        """The best cut of each node."""
        best = np.maximum.reduceat(gain, starts, axis=1)
        most = best.max(axis=0)
        target = self.target[level.order[0]]
        is_mixed = np.minimum.reduceat(target, starts) < np.maximum.reduceat(target, starts)
        feature = _by_lot(best == most, level.keys)
        place = np.arange(len(node))
        # Of equally good cuts by one feature the lowest.
        is_best = gain[feature[node], place] == most[node]
        first = np.minimum.reduceat(np.where(is_best, place, len(place)), starts)
        behind = np.minimum(first + 1, len(place) - 1)
        return _Cut((most >= 0) & is_mixed, feature, level.order[feature, first], level.order[feature, behind])

    def _keep(self, level: _Level, cut: _Cut, mean: Floats) -> None:
        """Store this level's nodes, each in its row."""
        below = self.features[self.sample[cut.entry], cut.feature]
        above = self.features[self.sample[cut.next_entry], cut.feature]
        middle = below + (above - below) / 2
        # Between two neighbouring floats there is nothing: the upper one must not go left.
        threshold = np.where(cut.is_split, np.where(middle < above, middle, below), np.inf)
        here = self.count + level.rows
        self.count += len(here)
        left = np.where(cut.is_split, self.count + 2 * (np.cumsum(cut.is_split) - 1), here)
        feature = np.where(cut.is_split, cut.feature, -1).astype(np.int32)
        by_row = np.argsort(level.rows)
        self.levels.append(tuple(column[by_row] for column in (feature, threshold, left, mean, level.trees)))

    def _children(self, level: _Level, node: Whole, cut: _Cut) -> _Level:
        """The next level: first the left children of all nodes that split, then the right ones."""
        entry = level.order[0]
        limit = self.code_of[cut.feature, cut.entry]
        goes_left, goes_on = np.zeros(len(self.sample), dtype=bool), np.zeros(len(self.sample), dtype=bool)
        goes_on[entry] = cut.is_split[node]
        goes_left[entry] = cut.is_split[node] & (self.code_of[cut.feature[node], entry] <= limit[node])
        to_left = goes_left[level.order]
        to_right = goes_on[level.order] & ~to_left
        # Within a child the entries keep their order, so nothing is sorted again.
        sides = [level.order[is_there].reshape(len(level.order), -1) for is_there in (to_left, to_right)]
        n_left = np.add.reduceat(to_left[0], level.starts, dtype=np.intp)[cut.is_split]
        sizes = np.concatenate([n_left, level.sizes[cut.is_split] - n_left])
        rows = 2 * np.arange(len(n_left))
        keys = level.keys[cut.is_split]
        return _Level(
            np.concatenate(sides, axis=1),
            sizes,
            rows=np.concatenate([rows, rows + 1]),
            keys=np.concatenate([_mixed(keys), _mixed(~keys)]),
            trees=np.tile(level.trees[cut.is_split], 2),
        )


def _by_lot(is_best: npt.NDArray[np.bool_], keys: Keys) -> Whole:
    """One of the best features of each node."""
    salt = np.arange(1, len(is_best) + 1, dtype=np.uint64)[:, None]
    lots = _mixed(keys + salt * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    return np.asarray(np.argmax(np.where(is_best, lots, np.uint64(0)), axis=0))


def _mixed(keys: Keys) -> Keys:
    """Numbers that look drawn: the finish of the generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
