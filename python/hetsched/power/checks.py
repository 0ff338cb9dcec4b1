"""Checks of features and measured watts, the same for every model of the package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hetsched.checks import Faults, did_you_mean, few, more_in_brackets, one_line, shown
from hetsched.params import MAX_NODE_W

Floats = npt.NDArray[np.float64]

SHOWN = 10
"""Most faults of a kind in a message."""
MOST_FEATURE = 1e100
"""So that squares of features stay finite."""


def matrix_of(name: str, given: npt.ArrayLike, layout: str, faults: Faults) -> Floats | None:
    """A new matrix of float64, whatever kind of numbers was given; notes what is none and gives None."""
    expected = f"a matrix of numbers: {layout}"
    found = faults.array(name, given, expected)
    if found is None:
        return None
    if found.ndim != 2 or 0 in found.shape:
        faults.add(name, f"shape {found.shape}", expected)
        return None
    return np.array(found, dtype=np.float64, order="C")


def checked_features(features: npt.ArrayLike, faults: Faults, *, n_features: int | None = None) -> Floats | None:
    """Features as a matrix (n_apps, n_features); notes another shape, NaN and infinite values."""
    found = matrix_of("features", features, "one row an application, one column a feature", faults)
    if found is None:
        return None
    if n_features is not None and found.shape[1] != n_features:
        faults.add("features", f"{found.shape[1]} columns", f"{n_features}, as the model was fitted with")
        return None
    expected = f"a finite number, at most {MOST_FEATURE:g} in size"
    _note_cells(faults, "features[row {}, column {}]", found, ~(np.abs(found) <= MOST_FEATURE), expected)
    return found


def checked_power(power_w: npt.ArrayLike, faults: Faults, *, n_apps: int | None = None) -> Floats | None:
    """Measured watts as a matrix (n_devices, n_apps), NaN where nothing was measured; notes whatever is invalid."""
    found = matrix_of("power_w", power_w, "one row a device, one column an application", faults)
    if found is None:
        return None
    if n_apps is not None and found.shape[1] != n_apps:
        hint = "; it has as many rows: transposed?" if len(found) == n_apps else ""
        expected = f"{n_apps}, one for every application (row) of `features`{hint}"
        faults.add("power_w", f"{found.shape[1]} columns", expected)
        return None
    is_wrong = (found < 0) | (found > MAX_NODE_W)
    expected = f"watts between 0 and {MAX_NODE_W:g}; NaN = not measured"
    _note_cells(faults, "power_w[device {}, application {}]", found, is_wrong, expected)
    bare = np.flatnonzero(np.isnan(found).all(axis=1))
    for position, device in enumerate(bare[:SHOWN]):
        expected = "at least one measured application for every device" + more(position, len(bare))
        faults.add(f"power_w[device {device}]", "NaN for every application", expected)
    return found


def same_features(features: Floats) -> bool:
    """True if nothing distinguishes the applications."""
    return bool((features == features[0]).all())


def names_of(features: object) -> tuple[str, ...] | None:
    """Names of a frame's columns, if all of them are text; None of arrays and lists."""
    columns = getattr(features, "columns", None)
    return None if columns is None or not all(isinstance(name, str) for name in columns) else tuple(columns)


def in_order_of(wanted: Sequence[str], names: Sequence[str], where: str) -> list[int]:
    """Places of the features that a model was fitted with; ConfigError if one is missing, or there is another one."""
    faults = Faults()
    for name in wanted:
        if name not in names:
            expected = "a column of it, as the model was fitted with" + did_you_mean(name, names)
            faults.note(where, f"no feature {shown(name)}", expected)
    for name in names:
        if name not in wanted:
            expected = f"the features that the model was fitted with: {few(wanted)}"
            faults.note(f"{where}, {one_line(name, limit=60)}", "another feature", expected)
    faults.check()
    return [names.index(name) for name in wanted]


def _note_cells(faults: Faults, place: str, values: Floats, is_wrong: npt.NDArray[np.bool_], expected: str) -> None:
    cells = np.argwhere(is_wrong)
    for position, (row, column) in enumerate(cells[:SHOWN]):
        faults.add(place.format(row, column), float(values[row, column]), expected + more(position, len(cells)))


def more(position: int, count: int, what: str = "") -> str:
    """Behind the last fault that is shown: how many are not."""
    return more_in_brackets(count - SHOWN, what) if position == SHOWN - 1 else ""
