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
from hetsched.power.saved import Saved
from hetsched.power.threads import side_by_side
from hetsched.power.trees import Trees, joined

__all__ = ["ForestFit", "fit_forest"]

_TREES = 100
_MOST_ENTRIES = 20_000
"""Entries of trees that grow beside each other: what a level works on should stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class ForestFit:
    """A forest for each target.

    Parameters
    ----------
    trees
        Of all targets.
    """

    kind: ClassVar[str] = "random_forest"

    trees: Trees

    def predict(self, features: Floats) -> Floats:
        """The targets of each application, shape (n_targets, n_apps)."""
        return np.asarray(self.trees.sums(features) / self.trees.roots.shape[1])

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """For files."""
        return self.trees.state()

    @classmethod
    def restored(cls, arrays: Saved, n_features: int) -> ForestFit:
        """From what `state` gave."""
        return cls(Trees.restored(arrays, n_features))


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
    return ForestFit(joined(side_by_side(partial(_grown_part, features, codes, keys), works)))


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


def _grown_part(features: Floats, codes: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64], work: _Work) -> Trees:
    targets, beds = work
    # Draws in all stay far below `MOST_WEIGHT`: an entry stands for 1.6 draws at most, on average.
    whole, size, centre = np.zeros(targets.shape), np.zeros(len(targets)), np.zeros(len(targets))
    for row, target in enumerate(targets):
        is_known = ~np.isnan(target)
        whole[row, is_known], size[row], centre[row] = steps(target[is_known], n_trees=_TREES)
    nodes, tree = grown(features, codes, beds, list(whole), keys)
    target_of = tree // _TREES
    value = nodes.value * size[target_of] + centre[target_of]
    # The roots stand first, target by target.
    roots = np.arange(len(targets) * _TREES, dtype=np.int64).reshape(-1, _TREES)
    return Trees(Nodes(nodes.feature, nodes.threshold, nodes.left, value), roots)
