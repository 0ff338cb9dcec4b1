"""Rules that rows of a frame are held to, and their faults: the first of them in words, the others counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from hetsched.errors import ConfigError

__all__ = ["Fault", "Rule", "raise_faults", "refuse"]

Fault = tuple[str, str, str]
"""Which parameter, what was found, what is expected."""

_MOST_FAULTS = 20


@dataclass(frozen=True)
class Rule:
    """What must not be.

    Parameters
    ----------
    broken
        One truth a row: whether it breaks the rule. A null does not.
    told
        From such a row's number to its fault.
    """

    broken: pl.Series
    told: Callable[[int], Fault]


def refuse(rules: Sequence[Rule]) -> None:
    """Raise if any row breaks a rule: the first twenty faults in the order of rows, and how many more there are.

    Examples
    --------
    >>> ages = pl.Series([3, -1, 4] + 20 * [-2])
    >>> refuse([Rule(ages < 0, lambda row: (f"row {row}", f"{ages[row]}", "0 or more"))])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.ConfigError: row 1: found -1, expected 0 or more
    row 3: found -2, expected 0 or more
    ...
    starts: found 1 more faults, expected none
    """
    broken = sorted((row, place) for place, rule in enumerate(rules) for row in rule.broken.arg_true().to_list())
    faults = [rules[place].told(row) for row, place in broken[:_MOST_FAULTS]]
    more = len(broken) - _MOST_FAULTS
    raise_faults([*faults, *([("starts", f"{more:,} more faults", "none")] if more > 0 else [])])


def raise_faults(faults: list[Fault]) -> None:
    """Raise what was found, if anything was."""
    if faults:
        raise ConfigError(faults)
