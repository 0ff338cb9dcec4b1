"""A bill: excess over limits, its penalty, and what energy costs and emits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsched.contract.contract import Contract
from hetsched.contract.windows import NONE, Floats, Ints

_J_PER_KWH = 3.6e6
_BILLIONTH = 1e-9


@dataclass(frozen=True)
class Drawn:
    """Stretches in which nothing changes: the watts drawn, and the clause of each kind that is in force."""

    since_s: Floats
    lasts_s: Floats
    power_w: Floats
    limit: Ints
    price: Ints
    carbon: Ints
    month: Ints
    """The calendar month, counted from the run's first."""

    @property
    def energy_j(self) -> Floats:
        """Energy of each stretch."""
        return self.power_w * self.lasts_s


@dataclass(frozen=True)
class Charged:
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
    energy: Charged | None
    carbon: Charged | None

    @staticmethod
    def of_nothing(contract: Contract) -> Bill:
        """Bill of a run of length zero."""
        nothing = Charged(0.0, 0.0, 0.0, 0.0)
        return Bill(0, 0.0, 0.0, 0.0, 0.0, nothing if contract.prices else None, nothing if contract.carbon else None)


def bill_of(contract: Contract, limits_w: Floats, drawn: Drawn) -> Bill:
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


def _charged(drawn: Drawn, clause: Ints, values: list[float]) -> Charged | None:
    if not values:
        return None
    energy_j, bare = drawn.energy_j, clause == NONE
    rate = np.append(values, 0.0)[clause]
    return Charged(
        amount=_sum(energy_j * rate) / _J_PER_KWH,
        energy_j=_sum(energy_j),
        bare_j=_sum(energy_j[bare]),
        bare_s=_sum(drawn.lasts_s[bare]),
    )


def _sum(values: npt.NDArray[np.float64]) -> float:
    return math.fsum(values.tolist())
