"""What is left out together when a model is evaluated: applications, groups or devices, one at a time or in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched.chance import stream
from hetsched.checks import Faults, listed, shown
from hetsched.errors import ConfigError

__all__ = ["FOLDS", "MOST_ALONE", "SPLITS", "Places", "Split", "folds_of", "units_of"]

SPLITS = ("in_sample", "leave_one_app_out", "new_device")

MOST_ALONE = 100
"""Up to how many applications, groups or devices are left out one at a time, if nothing else is said."""

FOLDS = 10
"""In how many folds more of them are left out, each of which asks for the model anew."""

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """What a model is asked that it was not fitted on; as `hetsched.power.evaluate` takes it.

    Parameters
    ----------
    name
        One of `SPLITS`.
    folds
        In how many folds. None: one at a time, or `FOLDS` of more than `MOST_ALONE`.
    groups
        Of each application; those of one group are left out together.
    test_runs
        How many applications a new device has run.
    seed
        Of what falls into which fold, and of the test runs.
    """

    name: str
    folds: int | None = None
    groups: Sequence[object] | None = None
    test_runs: int = 1
    seed: int = 0

    def check(self, n_apps: int | None, faults: Faults) -> None:
        """Note whatever cannot be.

        Parameters
        ----------
        n_apps
            How many applications there are, if that is known.
        faults
            Where to note it.
        """
        if self.name not in SPLITS:
            faults.add("split", self.name, f"one of {listed(SPLITS)}")
        if self.folds is not None:
            self._check_folds(faults)
        if self.groups is not None:
            self._check_groups(n_apps, faults)
        faults.whole("test_runs", self.test_runs, low=0, high=1_000_000)
        faults.whole("seed", self.seed, low=0, high=2**64 - 1)

    def _check_folds(self, faults: Faults) -> None:
        if self.name == "in_sample":
            faults.add("folds", self.folds, "none for in_sample, which leaves nothing out")
        else:
            faults.whole("folds", self.folds, low=2, high=1_000_000)

    def _check_groups(self, n_apps: int | None, faults: Faults) -> None:
        assert self.groups is not None
        if self.name != "leave_one_app_out":
            faults.add("groups", "groups", f"none for {self.name}: they are of applications that are left out")
        if n_apps is not None and len(self.groups) != n_apps:
            expected = f"{n_apps}, one for every application (row) of `features`"
            faults.add("groups", f"{len(self.groups)} labels", expected)
        for place, label in enumerate(self.groups):
            # Not a number is not equal to itself.
            if label is None or label != label or label == "":  # noqa: PLR0124
                faults.add(f"groups[{place}]", label, "a label: an application of no other's kind has one of its own")
                return


def units_of(apps: Places, groups: Sequence[object] | None) -> list[Places]:
    """What is left out together at least: each application by itself, or those of each group.

    Parameters
    ----------
    apps
        Measured ones.
    groups
        As `Split` has them.

    Raises
    ------
    ConfigError
        If all are of one group.

    Examples
    --------
    >>> [unit.tolist() for unit in units_of(np.array([0, 2, 3]), ["fft", "hpl", "hpl", "fft"])]
    [[0, 3], [2]]
    """
    if groups is None:
        return [apps[place : place + 1] for place in range(len(apps))]
    found: dict[object, list[int]] = {}
    for app in apps.tolist():
        found.setdefault(groups[app], []).append(app)
    if len(found) < 2:
        expected = "two or more groups of measured applications: one is left out in turn"
        raise ConfigError([("groups", "one group" if found else "none", expected)])
    return [np.array(own, dtype=np.intp) for own in found.values()]


def folds_of(units: Sequence[Places], split: Split, *, what: str) -> list[Places]:
    """Units one by one, or shared out by lot: large ones first, each to the fold that has least.

    Parameters
    ----------
    units
        What is left out together at least.
    split
        Says how many folds.
    what
        What the units are, for messages.

    Raises
    ------
    ConfigError
        If there are fewer units than folds.

    Examples
    --------
    >>> units = [np.array([app]) for app in range(5)]
    >>> sorted(len(fold) for fold in folds_of(units, Split("leave_one_app_out", folds=2), what="applications"))
    [2, 3]
    """
    count = split.folds or (len(units) if len(units) <= MOST_ALONE else FOLDS)
    if count > len(units):
        raise ConfigError([("folds", shown(split.folds), f"at most {len(units):,}, the number of {what}")])
    if count == len(units):
        return list(units)
    lot = stream(split.seed, "power.folds").permutation(len(units))
    folds: list[list[Places]] = [[] for _ in range(count)]
    sizes = [0] * count
    for unit in sorted(lot.tolist(), key=lambda unit: -len(units[unit])):
        least = sizes.index(min(sizes))
        folds[least].append(units[unit])
        sizes[least] += len(units[unit])
    return [np.sort(np.concatenate(fold)) for fold in folds]
