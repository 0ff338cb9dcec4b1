"""Verdicts on quantities: one rule for every row of every experiment.

What is judged is the 95 % interval of our mean over the repetitions; they are paired: both sides of a difference ran on
the same draws. Where the interval holds values of more than one verdict, it is too wide to say:
``uncertain``. So more repetitions decide more, and fewer never reproduce more.

A *value* that a paper prints is reproduced (``yes``) if it lies in the interval, or our mean is within `TOLERANCE` of
it, and all of the interval has its sign and lies within `SHAPE_FACTOR` of it. It is reproduced in ``shape`` if all of
the interval does, and the paper does not disclose what the magnitude hangs on, which the row then names. It is not
(``no``) if none of the interval comes as near: within `SHAPE_FACTOR` where something is not disclosed, within
`TOLERANCE` where all is.

A *statement* without a number (more than, sooner than) is ``yes`` if the interval of the difference lies on its side of
0, and ``no`` if it lies on the other. That two things are *alike* is ``yes`` if the interval of their difference keeps
within `TOLERANCE` of the first, ``no`` if none of it does; likewise a *limit*. A limit of 0 is broken by a single
repetition. Where two things are the same to the last digit in every repetition the claim is ``not tested``: these runs
give it nothing that could differ.

Rows of a user's own policies are *numbers* of which nothing is claimed: they have no verdict.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from hetsched.analysis import mean_and_half_width
from hetsched.experiments.experiment import Row
from hetsched.typing import Verdict

TOLERANCE = 0.10
"""Distance from a printed value, as a share of it, up to which a mean agrees with it."""

SHAPE_FACTOR = 2.0
"""Times a printed value, or part of it, that our value may be and still have its shape."""

Floats = npt.NDArray[np.float64]


def value(quantity: str, values: npt.ArrayLike, *, paper: float, undisclosed: str = "") -> Row:
    """A value that the paper prints, not 0; `undisclosed`: what its magnitude hangs on and the paper does not say."""
    mean, (low, high) = _estimate(values)
    least, most = sorted((low / paper, high / paper))
    has_shape = least >= 1.0 / SHAPE_FACTOR and most <= SHAPE_FACTOR
    verdict: Verdict
    if has_shape and low <= paper <= high:
        verdict, why = "yes", "the paper's value lies in our interval"
    elif has_shape and abs(mean - paper) <= TOLERANCE * abs(paper):
        verdict, why = "yes", f"within {TOLERANCE:.0%} of the paper's value"
    elif has_shape and undisclosed:
        verdict, why = "shape", f"{mean / paper:.2g} times the paper"
    elif _is_outside(least, most, *_accepted(undisclosed)):
        verdict, why = "no", "of the other sign" if most < 0 else f"{mean / paper:.2g} times the paper"
    else:
        verdict, why = "uncertain", f"{least:.2g} to {most:.2g} times the paper"
    return Row(quantity, paper, mean, (low, high), verdict, why + ("" if verdict == "yes" else _hint(undisclosed)))


def _accepted(undisclosed: str) -> tuple[float, float]:
    """Range that reproduces a printed value at least in part, in multiples of it."""
    return (1.0 / SHAPE_FACTOR, SHAPE_FACTOR) if undisclosed else (1.0 - TOLERANCE, 1.0 + TOLERANCE)


def _is_outside(low: float, high: float, least: float, most: float) -> bool:
    """True if two intervals are disjoint."""
    return high < least or low > most


def number(quantity: str, values: npt.ArrayLike, *, reason: str = "a number: nothing is claimed of it") -> Row:
    """A measure of which nothing is claimed, as in rows of a user's policies: no verdict, but a `reason`."""
    mean, interval = _estimate(values)
    return Row(quantity, None, mean, interval, None, reason)


def statement(
    quantity: str,
    values: npt.ArrayLike,
    *,
    claim: str,
    side: Literal[1, -1] = 1,
    tested: tuple[str, npt.ArrayLike] | None = None,
    why: str = "",
) -> Row:
    """Something that is said to be larger than 0, or (`side` -1) smaller, without a number.

    What lies on that side may be something else that is `tested`: its name, and a value a repetition. `why` explains
    it where it is not so.
    """
    mean, interval = _estimate(values)
    name, (low, high) = ("", interval) if tested is None else (f"{tested[0]} is ", _estimate(tested[1])[1])
    if low == high == 0:
        return Row(quantity, None, mean, interval, "not tested", _untested(claim))
    said, other = (low > 0, high < 0) if side == 1 else (high < 0, low > 0)
    if said:
        return Row(quantity, None, mean, interval, "yes", claim)
    how = "the opposite" if other else "not certain"
    reason = f"{claim}: {how}, {name}from {low:.3g} to {high:.3g}{_explained(why)}"
    return Row(quantity, None, mean, interval, "uncertain" if how == "not certain" else "no", reason)


def alike(quantity: str, values: npt.ArrayLike, *, of: npt.ArrayLike = 100.0, claim: str, why: str = "") -> Row:
    """The difference of two things that are said to be about the same; `of` is the first of them, or a percentage."""
    mean, interval = _estimate(values)
    if interval == (0.0, 0.0):
        return Row(quantity, None, mean, interval, "not tested", _untested(claim))
    whole = float(np.mean(np.asarray(of, dtype=np.float64)))
    nearest, farthest = (far / abs(whole) if whole else np.inf for far in _reach(interval))
    verdict = _kept(nearest, farthest, TOLERANCE)
    apart = {
        "yes": f"at most {farthest:.1%}",
        "no": f"at least {nearest:.1%}",
        "uncertain": f"{nearest:.1%} to {farthest:.1%}",
    }[verdict]
    reason = f"{claim}: apart by {apart} of the first"
    return Row(quantity, None, mean, interval, verdict, reason if verdict == "yes" else reason + _explained(why))


def limit(quantity: str, values: npt.ArrayLike, *, most: float, claim: str, printed: bool = True, why: str = "") -> Row:
    """Something that is said to stay below a limit, whatever its sign; `printed`: whether the limit is the paper's."""
    mean, interval = _estimate(values)
    nearest, farthest = _reach(interval)
    # What is never to happen has happened where it did once.
    verdict = _kept(nearest if most else farthest, farthest, most)
    reason = claim if verdict == "yes" else f"{claim}: up to {farthest:.3g}{_explained(why)}"
    return Row(quantity, most if printed else None, mean, interval, verdict, reason)


def _untested(claim: str) -> str:
    return f"{claim}: nothing differs in any repetition"


def _reach(interval: tuple[float, float]) -> tuple[float, float]:
    """Distances of an interval's nearest and farthest points from 0."""
    low, high = interval
    return max(low, -high, 0.0), max(-low, high)


def _kept(nearest: float, farthest: float, most: float) -> Verdict:
    """The verdict on a range of distances from 0 under the most allowed."""
    return "yes" if farthest <= most else "no" if nearest > most else "uncertain"


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
