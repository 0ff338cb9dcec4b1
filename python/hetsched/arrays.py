"""Arrays as users give them: numbers, and nothing that would only turn into numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

__all__ = ["numbers_of"]


def numbers_of(name: str, given: npt.ArrayLike, expected: str, faults: Faults) -> npt.NDArray[Any] | None:
    """What was given as an array of real numbers; notes what is none and gives None.

    Parameters
    ----------
    name
        What it is called in messages.
    given
        An array, lists, a frame, or a number.
    expected
        What would be right, for messages.
    faults
        Where to note a fault.

    Examples
    --------
    >>> faults = Faults()
    >>> numbers_of("cost", [[1, 2.5]], "numbers", faults).tolist()
    [[1.0, 2.5]]
    >>> numbers_of("cost", ["1", "2"], "numbers", faults)
    >>> print(faults.found[0])
    cost: found `['1', '2']`, expected numbers
    """
    try:
        found = np.asarray(given)
    except ValueError:  # rows of unequal length
        faults.add(name, given, expected)
        return None
    # Text and objects would convert where they can, complex numbers lose a part.
    if found.dtype.kind not in "biuf":
        faults.add(name, given if isinstance(given, list | tuple) else f"an array of {found.dtype}", expected)
        return None
    return found
