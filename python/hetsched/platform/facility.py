"""Power usage effectiveness: watts at the meter for each watt of the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, listed, plain, shown

Floats = npt.NDArray[np.float64]

GivenPue: TypeAlias = "float | Mapping[str, Any]"

MAX_PUE = 10.0
_AXES = {"load_ratio": (0.0, 10.0), "time_s": (-1e12, 1e12)}
"""Axes of a table, with the least and the most of each."""
_EXPECTED = "a number, or a table of pue by load_ratio or by time_s"


@dataclass(frozen=True)
class Pue:
    """Power usage effectiveness: one value, or a table by load or by time."""

    values: tuple[float, ...]
    axis: str = ""
    at: tuple[float, ...] = ()

    @classmethod
    def checked(cls, given: Any, faults: Faults) -> Pue | None:
        """The values that a platform was given; notes what is invalid."""
        if given is None or isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            value = plain(given)
            faults.number("pue", value, low=1.0, high=MAX_PUE)
            return None if faults.has("pue") else cls((float(value),))
        axis = [name for name in _AXES if name in given]
        if len(axis) != 1 or set(given) != {"pue", axis[0]}:
            faults.note("pue", f"a table of {listed(map(str, given))}" if given else "an empty table", _EXPECTED)
            return None
        at = _numbers(f"pue.{axis[0]}", given[axis[0]], _AXES[axis[0]], faults)
        values = _numbers("pue.pue", given["pue"], (1.0, MAX_PUE), faults)
        if not at or not values:
            return None
        if len(at) != len(values):
            faults.note("pue.pue", f"{len(values)} numbers", f"{len(at)} of them, as many as of {axis[0]}")
        if (place := next((place for place in range(1, len(at)) if at[place] <= at[place - 1]), 0)) > 0:
            found = f"{shown(at[place])} after {shown(at[place - 1])}"
            faults.note(f"pue.{axis[0]}[{place}]", found, "numbers in ascending order, each once")
        return cls(values, axis[0], at)

    @property
    def plain(self) -> float | dict[str, list[float]]:
        """The same as a platform takes it."""
        return {self.axis: list(self.at), "pue": list(self.values)} if self.axis else self.values[0]

    def metered(self, timeline: pl.DataFrame, peak_w: float) -> pl.DataFrame:
        """A timeline with the draw at the meter: ``time_s, power_w, meter_w``, of nodes that draw `peak_w` at most.

        A table by time makes further rows, at the instants at which the value changes.
        """
        frame = timeline.select("time_s", "power_w")
        if self.axis == "time_s" and len(frame) > 1:
            frame = self._with_changes(frame)
        return frame.with_columns(meter_w=frame["power_w"].to_numpy() * self._at(frame, peak_w))

    def _with_changes(self, frame: pl.DataFrame) -> pl.DataFrame:
        first_s, last_s = frame["time_s"][0], frame["time_s"][-1]
        changes = [at_s for at_s in self.at[1:] if first_s < at_s < last_s]
        cuts = pl.concat([frame["time_s"], pl.Series("time_s", changes, pl.Float64)]).unique().sort()
        return cuts.to_frame().join_asof(frame, on="time_s")

    def _at(self, frame: pl.DataFrame, peak_w: float) -> float | Floats:
        """The value of each row."""
        if not self.axis:
            return self.values[0]
        if self.axis == "time_s":
            place = np.searchsorted(self.at, frame["time_s"].to_numpy(), side="right") - 1
            found: Floats = np.asarray(self.values)[np.maximum(place, 0)]
            return found
        load = frame["power_w"].to_numpy() / peak_w if peak_w > 0 else np.zeros(len(frame))
        return np.interp(load, self.at, self.values)


def _numbers(name: str, given: Any, bounds: tuple[float, float], faults: Faults) -> tuple[float, ...] | None:
    """A list of numbers; None, and notes, if it is none."""
    listing = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(listing, list | tuple) or not listing:
        faults.add(name, given, "a list of numbers, at least one")
        return None
    before = len(faults.found)
    values = [plain(one) for one in listing]
    for place, value in enumerate(values):
        faults.number(f"{name}[{place}]", value, low=bounds[0], high=bounds[1])
    return None if len(faults.found) > before else tuple(float(value) for value in values)
