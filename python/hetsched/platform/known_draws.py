"""What decisions know of a job's own measured draw before it has run."""

from __future__ import annotations

from hetsched.checks import Faults, did_you_mean

__all__ = ["KNOWN_DRAWS", "checked_known_draws"]

KNOWN_DRAWS = ("measured", "table", "tdp")
"""The draw itself; nothing, as if the job brought none; nothing, so that its nodes' TDP stands for it."""


def checked_known_draws(given: object, faults: Faults, *, parameter: str = "known_draws") -> None:
    """Note what is none of them.

    Parameters
    ----------
    given
        As it was given.
    faults
        Where to note it.
    parameter
        What it was given as.

    Examples
    --------
    >>> faults = Faults()
    >>> checked_known_draws("tpd", faults)
    >>> print(faults.found[0])
    known_draws: found `tpd`, expected one of measured, table, tdp; did you mean `tdp`?
    """
    if given not in KNOWN_DRAWS:
        faults.add(parameter, given, f"one of {', '.join(KNOWN_DRAWS)}{did_you_mean(str(given), KNOWN_DRAWS)}")
