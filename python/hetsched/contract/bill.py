"""A contract on a log's clock and a machine: limits in watts over seconds, and the bill of a run's draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.contract.contract import Contract
from hetsched.contract.windows import NONE, Floats, Ints, Series, month_starts
from hetsched.errors import ConfigError

_J_PER_KWH = 3.6e6
_BILLIONTH = 1e-9


@dataclass(frozen=True)
class Drawn:
    """Stretches in which nothing changes: the watts that nodes draw, and the clause of each kind that is in force."""

    since_s: Floats
    lasts_s: Floats
    power_w: Floats
    meter_w: Floats
    """The draw at the meter, to which prices and carbon intensities belong."""
    limit: Ints
    price: Ints
    carbon: Ints
    month: Ints
    """The calendar month, counted from the run's first."""

    @property
    def energy_j(self) -> Floats:
        """Energy of each stretch at the meter."""
        return self.meter_w * self.lasts_s


@dataclass(frozen=True)
class _Charged:
    """Energy times its rates, in kWh times rate, and the energy that no rate covers."""

    amount: float
    energy_j: float
    bare_j: float
    bare_s: float


@dataclass(frozen=True)
class Bill:
    """Bill of a run under a contract: its draw beyond the limits, and what its energy costs and emits.

    Parameters
    ----------
    over_budget_count, over_budget_s, over_budget_kwh, over_budget_peak_w
        How often the draw rose beyond the limit in force, by more than a billionth of it; for how long in all; the
        energy beyond it; and the highest excess.
    penalty
        The price of that.
    energy, carbon
        What energy costs and emits; None where the contract does not say.
    """

    over_budget_count: int
    over_budget_s: float
    over_budget_kwh: float
    over_budget_peak_w: float
    penalty: float
    energy: _Charged | None
    carbon: _Charged | None

    @staticmethod
    def of_nothing(contract: Contract) -> Bill:
        """Bill of a run of length zero."""
        nothing = _Charged(0.0, 0.0, 0.0, 0.0)
        return Bill(0, 0.0, 0.0, 0.0, 0.0, nothing if contract.prices else None, nothing if contract.carbon else None)


def _bill_of(contract: Contract, limits_w: Floats, drawn: Drawn) -> Bill:
    """The bill of what was drawn."""
    limit_w = np.append(limits_w, np.inf)[drawn.limit]
    beyond = drawn.power_w > limit_w * (1 + _BILLIONTH)
    excess_w = np.where(beyond, drawn.power_w - np.where(beyond, limit_w, 0.0), 0.0)
    excess_j = excess_w * drawn.lasts_s
    return Bill(
        over_budget_count=int(np.count_nonzero(beyond & ~np.append(False, beyond[:-1]))),
        over_budget_s=_sum(drawn.lasts_s[beyond]),
        over_budget_kwh=_sum(excess_j) / _J_PER_KWH,
        over_budget_peak_w=float(excess_w.max(initial=0.0)),
        penalty=_penalty(contract, drawn, excess_w, excess_j),
        energy=_charged(drawn, drawn.price, [rate.value for rate in contract.prices]),
        carbon=_charged(drawn, drawn.carbon, [rate.value for rate in contract.carbon]),
    )


def _penalty(contract: Contract, drawn: Drawn, excess_w: Floats, excess_j: Floats) -> float:
    """Each limit's price of its excess: by kWh, and by the kW of the highest one of each month."""
    parts = []
    for place, limit in enumerate(contract.limits):
        own = drawn.limit == place
        parts.append(limit.excess_price_per_kwh * _sum(excess_j[own]) / _J_PER_KWH)
        highest_w = np.zeros(int(drawn.month.max(initial=0)) + 1)
        np.maximum.at(highest_w, drawn.month[own], excess_w[own])
        parts.append(limit.excess_price_per_kw * _sum(highest_w) / 1e3)
    return math.fsum(parts)


def _charged(drawn: Drawn, clause: Ints, values: list[float]) -> _Charged | None:
    if not values:
        return None
    energy_j, bare = drawn.energy_j, clause == NONE
    rate = np.append(values, 0.0)[clause]
    return _Charged(
        amount=_sum(energy_j * rate) / _J_PER_KWH,
        energy_j=_sum(energy_j),
        bare_j=_sum(energy_j[bare]),
        bare_s=_sum(drawn.lasts_s[bare]),
    )


def _sum(values: npt.NDArray[np.float64]) -> float:
    return math.fsum(values.tolist())


LATEST_S = 2.4e11
"""The last instant that the calendar holds, in the year 9575."""


@dataclass(frozen=True)
class Terms:
    """The contract of a run: its clock begins at `zero_s`, in seconds since 1970, and shares are of `peak_w`."""

    contract: Contract
    zero_s: float
    peak_w: float

    @staticmethod
    def of(contract: Contract, zero_s: float | None, *, last_s: float, peak_w: float, log: str) -> Terms:
        """The terms of a run whose clock begins at `zero_s` (None: unknown) and whose last submit is at `last_s`.

        Raises a ConfigError if nothing says when the log begins, or its dates are beyond the calendar's.
        """
        zero_s = contract.starts_s if contract.starts_s is not None else zero_s
        if zero_s is None:
            expected = f"a date such as 2007-02-01T00:00: {log} does not say the date of its second 0"
            raise ConfigError([("contract.starts", "nothing", expected)])
        if not 0 <= zero_s + last_s <= LATEST_S:
            found = f"a last submit {zero_s + last_s:g} s after 1970"
            raise ConfigError([("contract.starts", found, "dates from 1970 to 9500")])
        return Terms(contract, zero_s, contract.peak_w if contract.peak_w is not None else peak_w)

    @property
    def limits_w(self) -> Floats:
        """Watts of each limit."""
        return np.array([limit.watts(self.peak_w) for limit in self.contract.limits])

    def limits(self, from_s: float, until_s: float) -> Series:
        """The limit in force over time, seconds on the log's clock: of those that hold the lowest, else none."""
        return self._series(self.contract.limits, np.argsort(self.limits_w, kind="stable").tolist(), from_s, until_s)

    def rows(self, from_s: float, until_s: float) -> pl.DataFrame:
        """Limits as budgets: ``time_s, until_s, value``, a row for each stretch of time in which one is in force."""
        series = self.limits(from_s, until_s)
        held = series.clause != NONE
        return pl.DataFrame(
            {
                "time_s": series.at_s[:-1][held],
                "until_s": series.at_s[1:][held],
                "value": self.limits_w[series.clause[held]] if held.any() else np.empty(0),
            }
        )

    def with_limits(self, timeline: pl.DataFrame) -> pl.DataFrame:
        """A timeline with the limit in force as ``budget_w``: ``time_s, power_w``; without a limit the peak."""
        times = timeline["time_s"]
        if len(times) < 2:
            return timeline.select("time_s", "power_w", budget_w=pl.lit(self.peak_w))
        rows = self.rows(float(times[0]), float(times[-1]))
        free_w = max(self.peak_w, float(timeline["power_w"].max()))  # type: ignore[arg-type]
        ends = rows.select(time_s="until_s", budget_w=pl.lit(free_w))
        begins = rows.select("time_s", budget_w=pl.col("value").cast(pl.Float64))
        steps = pl.concat([ends, begins]).unique("time_s", keep="last").sort("time_s")
        at_s = pl.concat([times, steps["time_s"]]).unique().sort().to_frame()
        both = at_s.join_asof(timeline.select("time_s", "power_w"), on="time_s").join_asof(steps, on="time_s")
        return both.with_columns(pl.col("budget_w").fill_null(free_w))

    def bill(self, timeline: pl.DataFrame) -> Bill:
        """Bill of a run that drew ``power_w``, and ``meter_w`` at the meter, from each ``time_s`` until the next."""
        time_s, power_w, meter_w = (timeline[name].to_numpy() for name in ("time_s", "power_w", "meter_w"))
        if len(time_s) < 2 or time_s[0] == time_s[-1]:
            return Bill.of_nothing(self.contract)
        ends = float(time_s[0]), float(time_s[-1])
        contract, limits = self.contract, self.limits(*ends)
        rates = [self._rates(of, ends) for of in (contract.prices, contract.carbon)]
        cuts = [limits.at_s, *(series.at_s for series in rates), self._months(*ends)]
        at_s = np.unique(np.concatenate([time_s, *cuts]))
        since_s = at_s[:-1]
        row = np.searchsorted(time_s, since_s, side="right") - 1
        drawn = Drawn(
            since_s=since_s,
            lasts_s=np.diff(at_s),
            power_w=power_w[row],
            meter_w=meter_w[row],
            limit=limits.at(since_s),
            price=rates[0].at(since_s),
            carbon=rates[1].at(since_s),
            month=np.searchsorted(cuts[-1], since_s, side="right"),
        )
        return _bill_of(contract, self.limits_w, drawn)

    def _rates(self, rates: tuple[object, ...], ends: tuple[float, float]) -> Series:
        return self._series(rates, list(range(len(rates))), *ends)

    def _series(self, clauses: tuple[object, ...], rank: list[int], from_s: float, until_s: float) -> Series:
        windows = [clause.window for clause in clauses]  # type: ignore[attr-defined]
        span = self._unix(from_s), self._unix(until_s)
        series = Series.of(windows, rank, *span)
        # Back on the log's clock its own ends must be what they were, whatever was rounded.
        at_s = series.at_s - self.zero_s
        at_s[0], at_s[-1] = from_s, until_s
        return Series(at_s, series.clause)

    def _months(self, from_s: float, until_s: float) -> Floats:
        """Starts of calendar months, by the clock of the contract."""
        return month_starts(self.contract.zone, self._unix(from_s), self._unix(until_s)) - self.zero_s

    def _unix(self, seconds: float) -> float:
        if not math.isfinite(seconds) or self.zero_s + seconds > LATEST_S:
            found = f"a run up to {seconds:g} s on the log's clock"
            raise ConfigError([("contract", found, "a run that ends before the year 9500")])
        return self.zero_s + seconds
