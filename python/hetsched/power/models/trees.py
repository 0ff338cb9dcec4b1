"""Regression trees as arrays: scikit-learn and LightGBM grow them, numpy looks them up, and files hold them.

Neither library's own objects are kept: theirs can only be pickled, or are read back without a look at where children,
features and sizes lead. So what is loaded predicts bit for bit what was fitted, with numpy alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.errors import ConfigError
from hetsched.power.checks import Floats
from hetsched.power.models.archive import Saved
from hetsched.resources import side_by_side

Whole = npt.NDArray[np.int64]

_MOST_CELLS = 50_000
"""Pairs of tree and application that are looked up side by side: they should stay in the processor's cache."""

_STRIDE = 3
"""Steps down a tree between two looks for those that have arrived."""

_PORTIONS, _PORTION = 4, 25
"""A forest has 100 trees, as scikit-learn's `RandomForestRegressor`; each portion has draws of its own."""

_MANY = 128

_BITS = 30
"""Bits of a target that trees are grown on."""

_ROUNDS, _FEW, _TARGETS = 40, 8, 16
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
"""LightGBM's defaults are made for thousands of rows: a table of 39 applications or fewer they cannot split at all."""

_INSTALLED_BY = {"sklearn": ("scikit-learn", "hetsched"), "lightgbm": ("lightgbm", "hetsched[models]")}
"""Names of libraries by their modules, and of what to install for them."""


def library(module: str) -> Any:
    """A module of a library that takes long to load, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        name, package = _INSTALLED_BY[module.partition(".")[0]]
        # A library that is there but lacks one of its own (such as libgomp) says so itself.
        found = "no such library" if isinstance(error, ModuleNotFoundError) else f"one that does not load ({error})"
        raise ConfigError([(name, found, f'it installed: pip install "{package}"')]) from None


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees as columns, one row a node; a tree answers for one target or several at once.

    `feature` is -1 in a leaf; values up to `threshold` go `left`, others to the row behind it; a leaf's `left` is its
    own row and its threshold infinite. `value` has a column a target, `roots` a row for each set of trees that has
    targets of its own.
    """

    feature: npt.NDArray[np.int32]
    threshold: Floats
    left: Whole
    value: Floats
    roots: Whole

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self.roots) * int(self.value.shape[1])

    def sums(self, features: Floats) -> Floats:
        """Sums over the trees of each target, in their order, shape (n_targets, n_apps)."""
        apps = max(1, _MOST_CELLS // self.roots.shape[1])
        step = max(1, apps // len(features))
        columns = [features[first : first + apps] for first in range(0, len(features), apps)]
        rows = [self.roots[first : first + step] for first in range(0, len(self.roots), step)]
        found = side_by_side(partial(_looked_up, self), [(roots, asked) for roots in rows for asked in columns])
        return np.block([found[first : first + len(columns)] for first in range(0, len(found), len(columns))])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """State for files."""
        return {**vars(self), "value": self.value.ravel()}

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> Trees:
        """From what `state` gave; ValueError if some way down ends in no leaf, or a feature or a value is none."""
        roots, left = arrays.whole("roots", None, None), arrays.whole("left", None)
        feature, threshold = arrays.whole("feature", len(left)), arrays.floats("threshold", len(left), finite=False)
        row, is_leaf = np.arange(len(left)), feature == -1
        # Children behind their parents: whatever starts at a root ends in a leaf.
        if not np.where(is_leaf, left == row, (left > row) & (left < len(row) - 1)).all():
            raise ValueError("nodes without children")
        if not (is_leaf | ((feature >= 0) & (feature < n_features))).all():
            raise ValueError("splits by features that applications do not have")
        # Nothing goes on to the right of a leaf: no number is above its threshold.
        if not np.where(is_leaf, threshold == np.inf, np.isfinite(threshold)).all():
            raise ValueError("invalid thresholds")
        if not ((roots >= 0) & (roots < len(row))).all() or 0 in roots.shape:
            raise ValueError("roots without nodes")
        value = arrays.floats("value", None)
        if not len(value) or len(value) % len(left):
            raise ValueError("leaves without values")
        return cls(feature.astype(np.int32), threshold, left, value.reshape(len(left), -1), roots)


@dataclass(frozen=True, eq=False)
class TreesFit:
    """Trees of a forest or of boosters, and which of their targets is the n-th."""

    kind: str
    parts: tuple[Trees, ...]
    places: npt.NDArray[np.intp]

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        sums: Floats = np.concatenate([trees.sums(features) for trees in self.parts])[self.places]
        return sums / self.parts[0].roots.shape[1] if self.kind == "random_forest" else sums

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """State for files."""
        arrays = {f"{n}.{name}": array for n, trees in enumerate(self.parts) for name, array in trees.state().items()}
        return {**arrays, "places": self.places}

    @classmethod
    def restored(cls, arrays: Saved, n_features: int, *, kind: str) -> TreesFit:
        """From what `state` gave."""
        parts: list[Trees] = []
        while f"{len(parts)}.roots" in arrays:
            parts.append(Trees.restored(arrays.inside(str(len(parts))), n_features))
        places = arrays.places("places", count := sum(trees.n_targets for trees in parts))
        if len(places) != count or len(np.unique(places)) != count:
            raise ValueError("trees of another number of targets")
        return cls(kind, tuple(parts), places)


def fit_forest(features: Floats, targets: Floats, *, seed: int, purpose: str) -> TreesFit:
    """A random forest of scikit-learn's trees, of default settings, for all targets that have the same applications.

    Such targets (rows; NaN = unknown) share their trees: a tree splits where the squared error summed over them falls
    most, and a leaf holds a value of each. Neither the order of targets nor the number of threads changes a bit.
    """
    library("sklearn.tree")
    patterns, pattern_of = np.unique(~np.isnan(targets), axis=0, return_inverse=True)
    groups = np.split(np.argsort(pattern_of.ravel(), kind="stable"), np.cumsum(np.bincount(pattern_of.ravel()))[:-1])
    groups = [rows[np.lexsort(targets[np.ix_(rows, known)].T)] for rows, known in zip(groups, patterns, strict=True)]
    # Many groups are small ones, which keep the interpreter busier than the library: no work for threads.
    is_many = len(groups) > _PORTIONS
    portions = [range(_PORTIONS)] if is_many else [range(n, n + 1) for n in range(_PORTIONS)]
    works = [
        (features[known], targets[np.ix_(rows, known)], f"{purpose}.{known.sum()}", numbers)
        for rows, known in zip(groups, patterns, strict=True)
        for numbers in portions
    ]
    grow = partial(_bagged, seed)
    grown = [grow(work) for work in works] if is_many else side_by_side(grow, works)
    by_size = sorted(range(len(groups)), key=lambda group: len(groups[group]))
    parts = [
        _joined([_joined(grown[n * len(portions) : (n + 1) * len(portions)], axis=1) for n in same], axis=0)
        for _, same in groupby(by_size, key=lambda group: len(groups[group]))
    ]
    return TreesFit("random_forest", tuple(parts), np.argsort(np.concatenate([groups[group] for group in by_size])))


def _bagged(seed: int, work: tuple[Floats, Floats, str, range]) -> Trees:
    """Some trees of a forest, each grown on as many applications as there are, drawn with replacement."""
    features, targets, purpose, portions = work
    count = len(features)
    # Trees of scikit-learn see float32: in shares of the range, neither offset nor size costs a digit.
    low, reach = features.min(axis=0), np.ptp(features, axis=0)
    scaled = np.divide(features - low, reach, out=np.zeros_like(features), where=reach > 0).astype(np.float32)
    # Rounded, so that equally good splits are not distinguished by the last bits of what was subtracted before.
    step = np.ldexp(1.0, np.frexp(np.abs(targets).max(axis=1))[1] - _BITS)
    wanted = np.ascontiguousarray((np.rint(targets / step[:, None]) * step[:, None]).T)
    grow, trees = library("sklearn.tree").DecisionTreeRegressor, []
    with library("sklearn").config_context(assume_finite=True, skip_parameter_validation=True):
        for portion in portions:
            chance = stream(seed, f"{purpose}.{portion}")
            grower = grow(random_state=np.random.RandomState(chance.integers(2**32, dtype=np.uint32)))
            trees += [_grown(grower, scaled, wanted, own) for own in chance.integers(0, count, (_PORTION, count))]
    sizes = np.array([tree.node_count for tree in trees])
    left, right, feature, threshold, value = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("children_left", "children_right", "feature", "threshold", "value")
    )
    for place in range(features.shape[1]):
        at = np.flatnonzero(feature == place)
        threshold[at] = _between(features[:, place], scaled[:, place], threshold[at], low[place], reach[place])
    # Inner nodes' values are never read.
    return _linked(sizes, left, right, (feature, threshold, np.where(left[:, None] < 0, value[:, :, 0], 0.0)), axis=1)


def _grown(grower: Any, features: npt.NDArray[np.float32], targets: Floats, drawn: npt.NDArray[np.int64]) -> Any:
    """One tree of the applications that were drawn."""
    if len(features) < _MANY:
        # For few of them a check of their weights would take longer than all else.
        return grower.fit(features[drawn], targets[drawn], check_input=False).tree_
    weight = np.bincount(drawn, minlength=len(features)).astype(np.float64)
    return grower.fit(features, targets, sample_weight=weight, check_input=False).tree_


def _between(values: Floats, scaled: npt.NDArray[np.float32], threshold: Floats, low: float, reach: float) -> Floats:
    """Thresholds in units of the feature, between the same two of its values as those that were found."""
    order = np.argsort(values, kind="stable")
    above = np.searchsorted(scaled[order].astype(np.float64), threshold, side="right")
    ascending = values[order]
    return np.clip(low + threshold * reach, ascending[above - 1], np.nextafter(ascending[above], -np.inf))


def fit_boosted(features: Floats, targets: Floats, *, seed: int) -> TreesFit:
    """Boosters of LightGBM, one for each target (row; NaN = unknown), set up for tables of a few applications.

    A leaf may hold two applications (one, where fewer than eight are known) and a bin one. Nothing is drawn.
    """
    library("lightgbm")
    patterns, pattern_of = np.unique(~np.isnan(targets), axis=0, return_inverse=True)
    rows = [np.flatnonzero(pattern_of.ravel() == pattern) for pattern in range(len(patterns))]
    # Portions of targets that are known for the same applications.
    parts = [some[first : first + _TARGETS] for some in rows for first in range(0, len(some), _TARGETS)]
    grown = _joined(side_by_side(partial(_boosted, features, targets, seed), parts), axis=0)
    return TreesFit("lightgbm", (grown,), np.argsort(np.concatenate(parts)))


def _boosted(features: Floats, targets: Floats, seed: int, rows: npt.NDArray[np.intp]) -> Trees:
    lightgbm = library("lightgbm")
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
    """The trees of boosters, one set a text as ``Booster.model_to_string`` has just given it; at most so many each.

    Splits are by numbers alone and send to the left what is not above the threshold: of words and of missing values,
    which LightGBM knows as well, there are none.
    """
    counts = np.array([text.count("\nTree=") for text in texts])
    text = "".join(texts)
    # At the end a tree that adds nothing, for boosters that stopped early.
    leaves = np.append(_column(text, "num_leaves", np.int64), 1)
    sizes, splits = 2 * leaves - 1, leaves - 1
    start = np.cumsum(sizes) - sizes
    # LightGBM counts splits and leaves apart: child c is split c, or leaf -1 - c. Here leaves stand behind the splits.
    is_split = np.arange(sizes.sum()) - np.repeat(start, sizes) < np.repeat(splits, sizes)
    left, right = np.full((2, len(is_split)), -1)
    feature, threshold, value = np.full(len(is_split), -1), np.zeros(len(is_split)), np.zeros((len(is_split), 1))
    for side, name in ((left, "left_child"), (right, "right_child")):
        child = _column(text, name, np.int64)
        side[is_split] = np.where(child >= 0, child, np.repeat(splits, splits) - 1 - child)
    feature[is_split] = _column(text, "split_feature", np.int64)
    threshold[is_split] = _column(text, "threshold", np.float64)
    value[~is_split, 0] = np.append(_column(text, "leaf_value", np.float64), 0.0)
    trees = _linked(sizes, left, right, (feature, threshold, value), axis=0)
    roots = np.full((len(texts), n_trees), trees.roots[-1, 0])
    roots[np.arange(n_trees) < counts[:, None]] = trees.roots[:-1, 0]
    return Trees(trees.feature, trees.threshold, trees.left, trees.value, roots)


def _column(text: str, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The numbers behind a name in every tree, one after the other."""
    return np.array(" ".join(re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)).split(), dtype=dtype)


def _linked(sizes: Whole, left: Whole, right: Whole, columns: tuple[Whole, Floats, Floats], *, axis: int) -> Trees:
    """Trees, one after the other, whose parents stand before their children, with the children side by side.

    Children are counted from each tree's root; below 0 there are none. The columns are feature, threshold and value;
    the roots are a row (`axis` 1) or a column.
    """
    feature, threshold, value = columns
    start = np.cumsum(sizes) - sizes
    own, is_split = np.repeat(start, sizes), left >= 0
    rank: Whole = np.cumsum(is_split) - is_split
    first = own + 2 * (rank - rank[own]) + 1
    row = np.empty(len(left), dtype=np.int64)
    row[start] = start
    row[(own + left)[is_split]] = first[is_split]
    row[(own + right)[is_split]] = first[is_split] + 1
    back = np.argsort(row)
    return Trees(
        np.where(is_split, feature, -1)[back].astype(np.int32),
        np.where(is_split, threshold, np.inf)[back],
        np.where(is_split, first, row)[back],
        value[back],
        np.expand_dims(start, 1 - axis),
    )


def _joined(parts: Sequence[Trees], *, axis: int) -> Trees:
    """The trees of some targets and then those of others (`axis` 0), or more trees of the same ones (1)."""
    shifts = np.cumsum([0, *(len(part.left) for part in parts)])[:-1].tolist()
    left = np.concatenate([part.left + shift for part, shift in zip(parts, shifts, strict=True)])
    feature, threshold, value = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("feature", "threshold", "value")
    )
    roots = np.concatenate([part.roots + shift for part, shift in zip(parts, shifts, strict=True)], axis=axis)
    return Trees(feature, threshold, left, value, roots)


def _looked_up(trees: Trees, asked: tuple[Whole, Floats]) -> Floats:
    """Sums over the trees from some roots, shape (n_targets, n_apps)."""
    roots, features = asked
    n_apps = len(features)
    # Tree by tree, so that the trees of a target are summed in one order.
    row = np.repeat(roots.T.ravel(), n_apps)
    app = np.tile(np.arange(n_apps), roots.size)
    total = np.zeros((len(roots) * n_apps, trees.value.shape[1]))
    for leaf in _leaves(trees, features, row, app).reshape(roots.shape[1], -1):
        total += trees.value[leaf]
    return total.reshape(len(roots), n_apps, -1).transpose(0, 2, 1).reshape(-1, n_apps)


def _leaves(trees: Trees, features: Floats, row: Whole, app: npt.NDArray[np.intp]) -> Whole:
    """The leaf that each application reaches from its row."""
    by_app = features.ravel()
    first = app * features.shape[1]
    found, place = row, np.arange(len(row))
    while len(place):
        for _ in range(_STRIDE):
            # In a leaf the feature is -1, whatever that reads: no number is above the threshold, so all stay there.
            value = by_app.take(first + trees.feature.take(row), mode="wrap")
            row = trees.left.take(row) + (value > trees.threshold.take(row))
        found[place] = row
        going = np.flatnonzero(trees.feature.take(row) >= 0)
        place, row, first = place[going], row[going], first[going]
    return found
