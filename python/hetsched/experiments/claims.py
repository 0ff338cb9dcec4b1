"""When a quantity counts as reproduced: one rule for every row of every experiment.

A *value* that a paper prints is reproduced (``yes``) if our sign is certain (the 95 % interval of our mean leaves out
0) and agrees, and the value lies in the interval or our mean within `TOLERANCE` of it. It is reproduced in ``shape`` if
our sign is certain and agrees, and the paper does not disclose what the magnitude hangs on, which the row then names.
All else is ``no``: an interval so wide that it holds everything reproduces nothing.

A *statement* without a number (more than, sooner than) is ``yes`` if the interval of the difference lies on its side of
0, else ``no``; that two things are *alike* if the interval of their difference keeps within `TOLERANCE` of the first; a
*limit* if the interval keeps to it. The repetitions are paired: both sides of a difference ran on the same draws.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from hetsched.analysis import mean_and_half_width
from hetsched.experiments.experiment import Row, Verdict

__all__ = ["TOLERANCE", "alike", "limit", "statement", "value"]

TOLERANCE = 0.10
"""How far from a printed value, as a share of it, a mean still agrees with it."""

Floats = npt.NDArray[np.float64]


def value(quantity: str, values: npt.ArrayLike, *, paper: float, undisclosed: str = "") -> Row:
    """A value that the paper prints.

    Parameters
    ----------
    quantity
        What it is, with its unit.
    values
        Ours, one a repetition.
    paper
        The paper's, not 0.
    undisclosed
        What the magnitude hangs on that the paper does not say; empty if it says all.

    Examples
    --------
    >>> row = value("saving, %", [2.0, 2.2, 2.1], paper=2.92, undisclosed="the joint distribution of watts")
    >>> row.reproduced, row.reason
    ('shape', '0.72 times the paper; not disclosed: the joint distribution of watts')
    """
    mean, (low, high) = _estimate(values)
    is_certain = low * paper > 0 and high * paper > 0
    if is_certain and low <= paper <= high:
        return Row(quantity, paper, mean, (low, high), "yes", "the paper's value lies in our interval")
    if is_certain and abs(mean - paper) <= TOLERANCE * abs(paper):
        return Row(quantity, paper, mean, (low, high), "yes", f"within {TOLERANCE:.0%} of the paper's value")
    verdict: Verdict = "shape" if is_certain and undisclosed else "no"
    if not is_certain:
        why = "the interval does not leave out 0" if low <= 0 <= high else "of the other sign"
    else:
        why = f"{mean / paper:.2g} times the paper"
    return Row(quantity, paper, mean, (low, high), verdict, why + _hint(undisclosed))


def statement(
    quantity: str,
    values: npt.ArrayLike,
    *,
    claim: str,
    side: Literal[1, -1] = 1,
    tested: tuple[str, npt.ArrayLike] | None = None,
    why: str = "",
) -> Row:
    """Something that is said to be larger than 0, or smaller, without a number.

    Parameters
    ----------
    quantity, values
        As in `value`.
    claim
        What is said, by the paper or by us.
    side
        1: larger than 0 is said; -1: smaller.
    tested
        What has to lie on that side of 0 in place of the values: its name, and a value a repetition.
    why
        What explains it where it is not so.

    Examples
    --------
    >>> row = statement("saving, %", [0.1, -0.1, 0.2], claim="it saves")
    >>> row.reproduced, row.reason
    ('no', 'it saves: not certain, from -0.313 to 0.446')
    >>> statement("change, %", [0.1, 0.1, 0.2], claim="it is shorter", side=-1).reason
    'it is shorter: not certain, from -0.0101 to 0.277'
    """
    mean, interval = _estimate(values)
    name, (low, high) = ("", interval) if tested is None else (f"{tested[0]} is ", _estimate(tested[1])[1])
    said, other = (low > 0, high < 0) if side == 1 else (high < 0, low > 0)
    if said:
        return Row(quantity, None, mean, interval, "yes", claim)
    how = "the opposite" if other else "no difference at all" if low == high == 0 else "not certain"
    reason = f"{claim}: {how}, {name}from {low:.3g} to {high:.3g}{_explained(why)}"
    return Row(quantity, None, mean, interval, "no", reason)


def alike(quantity: str, values: npt.ArrayLike, *, of: npt.ArrayLike, claim: str, why: str = "") -> Row:
    """Two things that are said to be about the same.

    Parameters
    ----------
    quantity
        Their difference, with its unit.
    values
        The difference, one a repetition.
    of
        The first of the two, one a repetition.
    claim
        What is said.
    why
        What explains it where it is not so.

    Examples
    --------
    >>> alike("b - a, %", [0.2, 0.3, 0.2], of=[8.0, 8.2, 8.1], claim="a and b save alike").reproduced
    'yes'
    """
    mean, (low, high) = _estimate(values)
    whole, _ = _estimate(of)
    share = max(abs(low), abs(high)) / abs(whole) if whole else np.inf
    verdict: Verdict = "yes" if share <= TOLERANCE else "no"
    reason = f"{claim}: apart by at most {share:.1%} of the first"
    return Row(quantity, None, mean, (low, high), verdict, reason if verdict == "yes" else reason + _explained(why))


def limit(quantity: str, values: npt.ArrayLike, *, most: float, claim: str, printed: bool = True, why: str = "") -> Row:
    """Something that is said to stay below a limit, whatever its sign.

    Parameters
    ----------
    quantity, values
        As in `value`.
    most
        The limit.
    claim
        What is said.
    printed
        Whether the limit is the paper's.
    why
        What explains it where it is not so.

    Examples
    --------
    >>> limit("time, %", [0.01, -0.02, 0.0], most=0.1, claim="less than 0.1 %").reproduced
    'yes'
    """
    mean, (low, high) = _estimate(values)
    farthest = max(abs(low), abs(high))
    verdict: Verdict = "yes" if farthest <= most else "no"
    reason = claim if verdict == "yes" else f"{claim}: up to {farthest:.3g}{_explained(why)}"
    return Row(quantity, most if printed else None, mean, (low, high), verdict, reason)


def _estimate(values: npt.ArrayLike) -> tuple[float, tuple[float, float]]:
    """Mean and 95 % interval over repetitions."""
    mean, half_width = mean_and_half_width(values)
    if half_width is None:
        raise ValueError("a single repetition has no interval")
    return mean, (mean - half_width, mean + half_width)


def _explained(why: str) -> str:
    return f"; {why}" if why else ""


def _hint(undisclosed: str) -> str:
    return f"; not disclosed: {undisclosed}" if undisclosed else ""
