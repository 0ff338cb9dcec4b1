"""Gradient boosting by LightGBM: a booster of its own for each target, configured for tables of a few applications.

LightGBM's defaults are made for thousands of rows: with ``min_data_in_leaf=20`` a table of 48 applications cannot be
split in a useful way, one of 39 or fewer not at all, and every model comes out constant without a word. Here a leaf
may hold two applications (one, where fewer than eight are known) and a bin one.

LightGBM grows the trees; what is kept of them are arrays. Its own text it reads back without looking where children,
features and sizes lead, so a file that holds such text could make it read, and end, anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hetsched.power.checks import Floats
from hetsched.power.extras import needed
from hetsched.power.growth import Nodes
from hetsched.power.saved import Saved
from hetsched.power.threads import side_by_side
from hetsched.power.trees import Trees, joined

__all__ = ["BoostedFit", "fit_boosted", "trees_of"]

_ROUNDS = 40
_FEW = 8
_PORTION = 16
_PARAMETERS = {
    "objective": "regression",
    "learning_rate": 0.15,
    "num_leaves": 4,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


@dataclass(frozen=True, eq=False)
class BoostedFit:
    """A booster for each target.

    Parameters
    ----------
    trees
        Of all targets.
    """

    kind: ClassVar[str] = "lightgbm"

    trees: Trees

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        return self.trees.sums(features)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """For files."""
        return self.trees.state()

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> BoostedFit:
        """From what `state` gave."""
        return cls(Trees.restored(arrays, n_features))


def fit_boosted(features: Floats, targets: Floats, *, seed: int) -> BoostedFit:
    """Fit a booster for every target on the applications that it has.

    Parameters
    ----------
    features
        Shape (n_apps, n_features).
    targets
        Shape (n_targets, n_apps), NaN = unknown; at least one known in each row.
    seed
        Handed on, though nothing here is drawn.
    """
    needed("lightgbm")
    is_known = ~np.isnan(targets)
    patterns, pattern_of = np.unique(is_known, axis=0, return_inverse=True)
    rows = [np.flatnonzero(pattern_of.ravel() == pattern) for pattern in range(len(patterns))]
    # Portions of targets that are known for the same applications.
    parts = [some[first : first + _PORTION] for some in rows for first in range(0, len(some), _PORTION)]
    grown = joined(side_by_side(partial(_boosted, features, targets, seed), parts))
    by_target = np.empty_like(grown.roots)
    by_target[np.concatenate(parts)] = grown.roots
    return BoostedFit(Trees(grown.nodes, by_target))


def _boosted(features: Floats, targets: Floats, seed: int, rows: npt.NDArray[np.intp]) -> Trees:
    lightgbm = needed("lightgbm")
    is_known = ~np.isnan(targets[rows[0]])
    parameters = {**_PARAMETERS, "seed": seed % 2**31, "min_data_in_leaf": 2 if is_known.sum() >= _FEW else 1}
    # Bins come from the features alone, so that one set serves all targets.
    data = lightgbm.Dataset(features[is_known], targets[rows[0], is_known], params=parameters, free_raw_data=False)
    data.construct()
    texts = []
    for row in rows.tolist():
        data.set_label(targets[row, is_known])
        booster = lightgbm.Booster(parameters, data)
        for _ in range(_ROUNDS):
            booster.update()
        texts.append(booster.model_to_string())
    return trees_of(texts, n_trees=_ROUNDS)


def trees_of(texts: Sequence[str], *, n_trees: int) -> Trees:
    """The trees of boosters, from what LightGBM has just written of them.

    Splits are by numbers alone and send to the left what is not above the threshold: of words and of missing values,
    which LightGBM knows as well, there are none.

    Parameters
    ----------
    texts
        As ``Booster.model_to_string`` gives it, one a target.
    n_trees
        How many trees each has at most.
    """
    counts = np.array([text.count("\nTree=") for text in texts])
    text = "".join(texts)
    # At the end a tree that adds nothing, for boosters that stopped early.
    nodes, roots = _linked(text, np.append(_column(text, "num_leaves", np.int64), 1))
    by_target = np.full((len(texts), n_trees), roots[-1])
    by_target[np.arange(n_trees) < counts[:, None]] = roots[:-1]
    return Trees(nodes, by_target)


def _linked(text: str, leaves: npt.NDArray[np.int64]) -> tuple[Nodes, npt.NDArray[np.int64]]:
    """All nodes, tree after tree, and the rows of the roots; the children of a tree's split k are its nodes 2k+1, 2k+2.

    LightGBM counts the splits and the leaves of a tree apart: child c is split c, or leaf -1 - c where it is negative.
    """
    splits = leaves - 1
    roots, first_split, first_leaf = (np.cumsum(sizes) - sizes for sizes in (leaves + splits, splits, leaves))
    tree = np.repeat(np.arange(len(leaves)), splits)
    left = roots[tree] + 1 + 2 * (np.arange(len(tree)) - first_split[tree])
    row_of_split, row_of_leaf = np.empty(splits.sum(), dtype=np.int64), np.empty(leaves.sum(), dtype=np.int64)
    row_of_split[first_split[splits > 0]] = roots[splits > 0]
    row_of_leaf[first_leaf[splits == 0]] = roots[splits == 0]
    for side, name in enumerate(("left_child", "right_child")):
        child = _column(text, name, np.int64)
        row_of_split[(first_split[tree] + child)[child >= 0]] = (left + side)[child >= 0]
        row_of_leaf[(first_leaf[tree] - 1 - child)[child < 0]] = (left + side)[child < 0]
    count = int((leaves + splits).sum())
    nodes = Nodes(np.full(count, -1, np.int32), np.full(count, np.inf), np.arange(count), np.zeros(count))
    nodes.feature[row_of_split] = _column(text, "split_feature", np.int32)
    nodes.threshold[row_of_split] = _column(text, "threshold", np.float64)
    nodes.left[row_of_split] = left
    nodes.value[row_of_leaf[:-1]] = _column(text, "leaf_value", np.float64)
    return nodes, roots


def _column(text: str, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The numbers behind a name in every tree, one after the other."""
    return np.array(" ".join(re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)).split(), dtype=dtype)
