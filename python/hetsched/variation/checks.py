"""What the parts of a variation table must be: names of applications, matrices, and a cap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hetsched.arrays import numbers_of
from hetsched.checks import Faults

__all__ = ["QUANTITIES", "Matrix", "check_caps", "checked_apps", "checked_cap", "checked_matrix"]

Matrix = npt.NDArray[np.float64]

QUANTITIES = ("power_w", "power_ratio", "time_ratio")
_RANGES = {
    "power_w": (0.0, 1e6, "watts between 0 and 1e+06"),
    "power_ratio": (0.0, 1e3, "a factor between 0 and 1000"),
    "time_ratio": (1e-3, 1e3, "a factor between 0.001 and 1000, 1 = nominal"),
}


def checked_apps(apps: Sequence[str], faults: Faults) -> tuple[str, ...]:
    """The names; notes what is no list of them, no name, or repeated."""
    if isinstance(apps, str) or not isinstance(apps, Iterable):
        faults.add("apps", apps, "a list of names")
        return (str(apps),)
    names = tuple(apps)
    if not names:
        faults.add("apps", "none", "at least one name")
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            faults.add(f"apps[{position}]", name, "a name")
        elif name in names[:position]:
            faults.add(f"apps[{position}]", name, "each name once")
    return names


def checked_matrix(name: str, values: npt.ArrayLike, apps: tuple[str, ...], faults: Faults) -> Matrix:
    """The values as a read-only matrix; notes another shape, or the first value that cannot be."""
    found = numbers_of(name, values, "numbers, one row an application and one column a node", faults)
    if found is None:
        return np.empty((0, 0))
    matrix = np.array(found, dtype=np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != len(apps) or matrix.shape[1] == 0:
        faults.add(name, f"shape {matrix.shape}", f"shape ({len(apps)}, nodes): one row an application")
        return matrix
    low, high, expected = _RANGES[name]
    bad = np.argwhere(~((matrix >= low) & (matrix <= high)))
    if len(bad):
        app, node = bad[0]
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        faults.add(f"{name}[{apps[app]}, node {node}]", float(matrix[app, node]), expected + more)
    matrix.flags.writeable = False
    return matrix


def checked_cap(cap_w: object, faults: Faults) -> float | None:
    """The cap as a number; notes what is none. Infinite watts are a cap that binds nobody."""
    if cap_w is None:
        return None
    if isinstance(cap_w, int | float | np.number) and not isinstance(cap_w, bool):
        watts = float(cap_w)
        if watts > 0 and not math.isnan(watts):
            return watts
    faults.add("cap_w", cap_w, "watts above 0, or infinite: without a cap")
    return None


def check_caps(actual_w: float | None, predicted_w: float | None, faults: Faults) -> None:
    """Note a fault where what is predicted holds under another power cap than what is charged.

    Parameters
    ----------
    actual_w, predicted_w
        The caps of the two tables; None: not said, which fits every cap.
    faults
        Where to note it.

    Examples
    --------
    >>> faults = Faults()
    >>> check_caps(280.0, 320.0, faults)
    >>> print(faults.found[0])
    predicted: found `a cap of 320 W`, expected the cap of the actual table, 280 W
    """
    if actual_w is not None and predicted_w is not None and actual_w != predicted_w:
        faults.add("predicted", f"a cap of {predicted_w:g} W", f"the cap of the actual table, {actual_w:g} W")
