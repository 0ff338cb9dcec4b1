"""What features and measured watts must be, for every model of the package alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults

__all__ = ["Floats", "checked_features", "checked_power", "matrix_of", "same_features"]

Floats = npt.NDArray[np.float64]

_SHOWN = 10
_MOST_FEATURE = 1e100
"""So that squares of features stay finite."""
_MOST_W = 1e6


def matrix_of(name: str, given: npt.ArrayLike, layout: str, faults: Faults) -> Floats | None:
    """A new matrix of float64, whatever kind of numbers was given; notes what is none and gives None.

    Parameters
    ----------
    name
        What it is called in messages.
    given
        An array, lists, or a frame of numbers.
    layout
        What its rows and columns are, for messages.
    faults
        Where to note a fault.

    Examples
    --------
    >>> faults = Faults()
    >>> matrix_of("features", [[1, 2], [3, 4]], "one row an application", faults).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> matrix_of("features", [1, 2], "one row an application", faults)
    >>> print(faults.found[0])
    features: found `shape (2,)`, expected a matrix of numbers: one row an application
    """
    expected = f"a matrix of numbers: {layout}"
    found = faults.array(name, given, expected)
    if found is None:
        return None
    if found.ndim != 2 or 0 in found.shape:
        faults.add(name, f"shape {found.shape}", expected)
        return None
    return np.array(found, dtype=np.float64, order="C")


def checked_features(features: npt.ArrayLike, faults: Faults, *, n_features: int | None = None) -> Floats | None:
    """Features as a matrix (n_apps, n_features); notes another shape, NaN and infinite values.

    Parameters
    ----------
    features
        One row an application.
    faults
        Where to note a fault.
    n_features
        How many there must be. None: any number.

    Examples
    --------
    >>> faults = Faults()
    >>> found = checked_features([[1.0, 2.0], [3.0, float("nan")]], faults, n_features=2)
    >>> print(faults.found[0])
    features[row 1, column 1]: found `NaN`, expected a finite number, at most 1e+100 in size
    """
    found = matrix_of("features", features, "one row an application, one column a feature", faults)
    if found is None:
        return None
    if n_features is not None and found.shape[1] != n_features:
        faults.add("features", f"{found.shape[1]} columns", f"{n_features}, as the model was fitted with")
        return None
    expected = f"a finite number, at most {_MOST_FEATURE:g} in size"
    _note_cells(faults, "features[row {}, column {}]", found, ~(np.abs(found) <= _MOST_FEATURE), expected)
    return found


def checked_power(power_w: npt.ArrayLike, faults: Faults, *, n_apps: int | None = None) -> Floats | None:
    """Measured watts as a matrix (n_devices, n_apps), NaN where nothing was measured; notes all that cannot be.

    Parameters
    ----------
    power_w
        One row a device, one column an application.
    faults
        Where to note a fault: another shape, negative or infinite watts, a device without a measurement.
    n_apps
        How many applications the features hold. None: any number.

    Examples
    --------
    >>> faults = Faults()
    >>> found = checked_power([[200.0, -1.0], [float("nan"), float("nan")]], faults)
    >>> for fault in faults.found:
    ...     print(fault)
    power_w[device 0, application 1]: found `-1`, expected watts between 0 and 1e+06; NaN = not measured
    power_w[device 1]: found `NaN for every application`, expected at least one measured application for every device
    """
    found = matrix_of("power_w", power_w, "one row a device, one column an application", faults)
    if found is None:
        return None
    if n_apps is not None and found.shape[1] != n_apps:
        hint = "; it has as many rows: transposed?" if len(found) == n_apps else ""
        expected = f"{n_apps}, one for every application (row) of `features`{hint}"
        faults.add("power_w", f"{found.shape[1]} columns", expected)
        return None
    is_wrong = (found < 0) | (found > _MOST_W)
    expected = f"watts between 0 and {_MOST_W:g}; NaN = not measured"
    _note_cells(faults, "power_w[device {}, application {}]", found, is_wrong, expected)
    bare = np.flatnonzero(np.isnan(found).all(axis=1))
    for position, device in enumerate(bare[:_SHOWN]):
        expected = "at least one measured application for every device" + _more(position, len(bare))
        faults.add(f"power_w[device {device}]", "NaN for every application", expected)
    return found


def same_features(features: Floats) -> bool:
    """Whether nothing tells the applications apart."""
    return bool((features == features[0]).all())


def _note_cells(faults: Faults, place: str, values: Floats, is_wrong: npt.NDArray[np.bool_], expected: str) -> None:
    cells = np.argwhere(is_wrong)
    for position, (row, column) in enumerate(cells[:_SHOWN]):
        faults.add(place.format(row, column), float(values[row, column]), expected + _more(position, len(cells)))


def _more(position: int, count: int) -> str:
    """Behind the last fault that is shown: how many are not."""
    return f" (and {count - _SHOWN:,} more)" if position == _SHOWN - 1 and count > _SHOWN else ""
