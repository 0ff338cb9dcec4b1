"""A contract on a log's clock and a machine: limits in watts over seconds, and what a run's draw comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from hetsched.contract.bill import Bill, Drawn, bill_of
from hetsched.contract.calendar import month_starts
from hetsched.contract.contract import Contract
from hetsched.contract.windows import NONE, Floats, Series
from hetsched.errors import ConfigError

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

    def beside(self, timeline: pl.DataFrame) -> pl.DataFrame:
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
        """Bill of a run that drew ``power_w`` from each ``time_s`` until the next."""
        time_s, power_w = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
        if len(time_s) < 2 or time_s[0] == time_s[-1]:
            return Bill.of_nothing(self.contract)
        ends = float(time_s[0]), float(time_s[-1])
        contract, limits = self.contract, self.limits(*ends)
        rates = [self._rates(of, ends) for of in (contract.prices, contract.carbon)]
        cuts = [limits.at_s, *(series.at_s for series in rates), self._months(*ends)]
        at_s = np.unique(np.concatenate([time_s, *cuts]))
        since_s = at_s[:-1]
        drawn = Drawn(
            since_s=since_s,
            lasts_s=np.diff(at_s),
            power_w=power_w[np.searchsorted(time_s, since_s, side="right") - 1],
            limit=limits.at(since_s),
            price=rates[0].at(since_s),
            carbon=rates[1].at(since_s),
            month=np.searchsorted(cuts[-1], since_s, side="right"),
        )
        return bill_of(contract, self.limits_w, drawn)

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
