"""A user's own policies beside an experiment's: what they are called, and rows of which nothing is claimed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.experiments.claims import number
from hetsched.experiments.experiment import Row
from hetsched.policy import Policy
from hetsched.run.axes import Policies, named_policies

__all__ = ["Policies", "asked", "check_started", "labels_in", "under_budget", "your_row"]

_MARK = "yours: "
"""Before their names: an experiment may call another composition the same."""


def asked(policies: Policies, faults: Faults) -> dict[str, Policy]:
    """The policies by the labels of their runs.

    Parameters
    ----------
    policies
        As `hetsched.sweep` takes them.
    faults
        Notes those that cannot be, and those that are there twice.

    Examples
    --------
    >>> list(asked(["easy", "easy:depth=4"], Faults()))
    ['yours: easy', 'yours: easy:backfill.depth=4']
    """
    found: dict[str, Policy] = {}
    for name, policy in named_policies(policies, faults).items():
        if policy in found.values():
            faults.add("policies", policy.name, "each policy once")
        found[_MARK + name] = policy
    return found


def labels_in(frame: pl.DataFrame) -> list[str]:
    """Labels of a user's policies among the runs, in the order of asking.

    Parameters
    ----------
    frame
        All runs.

    Examples
    --------
    >>> labels_in(pl.DataFrame({"policy": ["naive", "yours: easy", "coa", "yours: easy"]}))
    ['yours: easy']
    """
    labels = frame["policy"].unique(maintain_order=True)
    return [label for label in labels if label.startswith(_MARK)]


def under_budget(policy: Policy, pcr: float) -> Policy:
    """The policy under an experiment's budget, in place of its own if it has one.

    Parameters
    ----------
    policy
        Of a user.
    pcr
        The budget as a share of the machine's TDP.

    Examples
    --------
    >>> under_budget(Policy.preset("easy"), 0.5).parts["power"]["pcr"]
    0.5
    """
    return Policy.from_dict({**policy.to_dict(), "power": {"name": "system-budget", "pcr": pcr}})


def your_row(frame: pl.DataFrame, label: str, quantity: str, values: npt.ArrayLike) -> Row:
    """A number of a user's policy; says if jobs never ran, as then it is not of the same jobs as the others'.

    Parameters
    ----------
    frame
        All runs.
    label
        Of the policy.
    quantity, values
        As in `hetsched.experiments.claims.number`.
    """
    own = frame.filter(policy=label)
    missing = 1.0 - float(np.sum(own["completed"].to_numpy()) / np.sum(own["jobs"].to_numpy()))
    if not missing:
        return number(f"{label}: {quantity}", values)
    return number(f"{label}: {quantity}", values, told=f"{missing:.2%} of its jobs never ran: not the others' work")


def check_started(frame: pl.DataFrame, policies: Mapping[str, Policy]) -> None:
    """Refuse a policy that completes no job in some run, which leaves nothing to compare.

    Parameters
    ----------
    frame
        All runs.
    policies
        By label.

    Raises
    ------
    ConfigError
        Naming the policy and the runs.
    """
    for label, policy in policies.items():
        idle = frame.filter(pl.col("completed") == 0, policy=label)
        if len(idle):
            found = f"no job runs to its end ({idle['scenario'][0]})"
            raise ConfigError([(f"policies: {policy.name}", found, "a policy that completes jobs on this machine")])
