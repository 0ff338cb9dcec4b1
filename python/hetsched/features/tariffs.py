"""Prices and carbon intensities over time: what a run's energy costs under them, and budgets that follow them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, plain
from hetsched.params import Declared, Parameter, number
from hetsched.run.event_rows import BUDGET, CARBON, PRICE

_J_PER_KWH = 3.6e6

CHARGES = {PRICE: ("cost", 1.0), CARBON: ("carbon_kg", 1e-3)}
"""By kind of event, the key of the summary that it makes, and the factor from kWh times value to it."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """A step series: each value holds from its begin to its end; nothing holds in the gaps."""

    begin_s: _Floats
    end_s: _Floats
    value: _Floats

    @staticmethod
    def of(rows: pl.DataFrame, kind: str) -> Steps:
        """The series of a kind among events in order: a row ends at the next one's begin or its own end."""
        own = rows.filter(pl.col("kind") == kind)
        begin_s = own["time_s"].to_numpy()
        until_s = own["until_s"].fill_null(math.inf).to_numpy()
        end_s = np.minimum(until_s, np.append(begin_s[1:], math.inf))
        lasting = end_s > begin_s
        return Steps(begin_s[lasting], end_s[lasting], own["value"].to_numpy()[lasting])

    def at(self, time_s: _Floats) -> _Floats:
        """The value that holds at each instant; NaN where none does."""
        place = np.searchsorted(self.begin_s, time_s, side="right") - 1
        here = np.maximum(place, 0)
        holds = (place >= 0) & (time_s < self.end_s[here]) if len(self.begin_s) else np.zeros(len(time_s), np.bool_)
        return np.where(holds, self.value[here] if len(self.value) else np.nan, np.nan)


@dataclass(frozen=True)
class Charge:
    """Amount of a run's energy under a series, and the part of it that no row has a value for."""

    key: str
    amount: float
    energy_j: float
    bare_j: float
    bare_s: float


def charges(rows: pl.DataFrame, timeline: pl.DataFrame) -> list[Charge]:
    """Amounts of the energy of a timeline, for each kind of series among the events."""
    kinds = set(rows["kind"])
    return [_charge(Steps.of(rows, kind), timeline, *CHARGES[kind]) for kind in CHARGES if kind in kinds]


def _charge(steps: Steps, timeline: pl.DataFrame, key: str, factor: float) -> Charge:
    time_s, power_w = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
    if len(time_s) < 2:
        return Charge(key, 0.0, 0.0, 0.0, 0.0)
    at = np.unique(np.concatenate([time_s, np.clip([*steps.begin_s, *steps.end_s], time_s[0], time_s[-1])]))
    lasts_s, since_s = np.diff(at), at[:-1]
    drawn_j = power_w[np.searchsorted(time_s, since_s, side="right") - 1] * lasts_s
    value = steps.at(since_s)
    bare = np.isnan(value)
    amount = math.fsum((drawn_j * np.where(bare, 0.0, value)).tolist()) / _J_PER_KWH * factor
    return Charge(
        key, amount, math.fsum(drawn_j.tolist()), math.fsum(drawn_j[bare].tolist()), float(lasts_s[bare].sum())
    )


def _between(value: Any, name: str, faults: Faults) -> tuple[float, float] | None:
    expected = "two prices, the lower first"
    if not isinstance(value, list | tuple) or len(value) != 2:
        faults.add(name, value, expected)
        return None
    low, high = (plain(one) for one in value)
    for place, price in enumerate((low, high)):
        faults.number(f"{name}[{place}]", price, low=-1e12, high=1e12)
    if not faults.has(name) and not low < high:
        faults.add(name, value, expected)
    return None if faults.has(name) else (float(low), float(high))


_WATTS = number(0.0, 1e12, unit="W")


@dataclass(frozen=True)
class Rule(Declared):
    """Rule by which a budget follows a price; `hetsched.Events.budget_from_price` says what each means."""

    low_w: float = field(metadata=_WATTS)
    high_w: float = field(metadata=_WATTS)
    threshold: float | None = field(default=None, metadata=number(-1e12, 1e12))
    quantile: float | None = field(default=None, metadata=number(0.0, 1.0))
    between: Sequence[float] | None = field(default=None, metadata=Parameter(take=_between))
    ahead_s: float | None = field(default=None, metadata=number(0.0, 1e12, unit="seconds"))

    def _check(self, values: dict[str, Any], faults: Faults) -> None:
        if not faults.has("low_w", "high_w") and values["low_w"] > values["high_w"]:
            faults.add("low_w", self.low_w, f"at most high_w, {values['high_w']:g} W")
        ways = ("threshold", "quantile", "between")
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) != 1:
            faults.note(", ".join(ways), " and ".join(given) or "none of them", "exactly one of the three")

    def budgets(self, steps: Steps) -> pl.DataFrame:
        """The budgets as rows of events: a row a stretch of one budget."""
        budget_w = self._watts(steps.value)
        # Where a row goes on with the budget of the one before, there is nothing to report.
        begins = np.append(True, (budget_w[1:] != budget_w[:-1]) | (steps.begin_s[1:] != steps.end_s[:-1]))
        begin_s, end_s = steps.begin_s[begins], steps.end_s[np.append(begins[1:], True)]
        frame = pl.DataFrame({"time_s": begin_s, "value": budget_w[begins], "until_s": end_s})
        ends = pl.when(pl.col("until_s").is_finite()).then("until_s")
        known = pl.lit(None, pl.Float64) if self.ahead_s is None else pl.col("time_s") - self.ahead_s
        return frame.with_columns(ends, kind=pl.lit(BUDGET), announced_s=known)

    def _watts(self, price: _Floats) -> _Floats:
        if self.between is not None:
            cheap, dear = self.between
            return np.interp(price, [cheap, dear], [self.high_w, self.low_w])
        limit = self.threshold
        if limit is None:
            limit = float(np.quantile(price, self.quantile or 0.0, method="inverted_cdf"))
        return np.where(price <= limit, self.high_w, self.low_w).astype(np.float64)
