"""A run under a contract: its terms on the log's clock, the budgets that it gives to policies, and the run's bill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hetsched import _core
from hetsched.checks import Faults
from hetsched.contract.bill import Bill, Terms
from hetsched.errors import ResultWarning
from hetsched.features.facility import metered
from hetsched.features.feature import Ended, Found, Setting
from hetsched.features.tariffs import CHARGES, Charge
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.concerns import Concern, percent
from hetsched.run.event_rows import BUDGET, CARBON, PRICE
from hetsched.run.events import least_budget
from hetsched.run.options import RunOptions
from hetsched.workload import Workload

_BILLIONTH = 1e-9
_DAY_S = 86400.0
_YEAR_S = 366 * _DAY_S
_WEEKS_S = 8 * 7 * _DAY_S
"""Least time for which limits are known ahead if they are the same every week: all gaps between them come in each."""

_NO_OWN_W = 1e15
"""In place of the budget of a policy that does not say it in watts."""


def check(run: Setting) -> None:
    """Raise if contract, events and policy do not go together."""
    if run.terms is not None:
        _check_terms(run.terms, run.platform, run.policy, run.options)


def engine(run: Setting) -> Mapping[str, Any]:
    """Limits as budgets of the policy."""
    limits = Budgets.of(run)
    return {} if limits is None else {"budgets": limits.first(), "unfit": limits.terms.contract.unfit}


def drive(run: Setting, session: _core.Session) -> _core.Session | Extended:
    """A session whose budgets have no end; that of an agent is stepped by the engine itself."""
    limits = None if run.agent is not None else Budgets.of(run)
    return session if limits is None else Extended(session, limits)


def after(ended: Ended) -> Found:
    """The bill, and what the energy comes to under prices."""
    events, terms = ended.setting.events, ended.setting.terms
    timeline = metered(ended.setting, ended.timeline)
    charges = [] if events is None else events._charges(timeline.select("time_s", power_w="meter_w"))
    if terms is None:
        return Found(_concerns(charges, of_contract=False), metrics=lambda _before: _amounts(charges))
    bill, charges = _billed(terms, timeline, charges)
    return Found(_concerns(charges, of_contract=True), metrics=lambda _before: _summed(bill, charges))


def _check_terms(terms: Terms, platform: Platform, policy: Policy, options: RunOptions) -> None:
    """Raise if events say what the contract says, or if the policy would have to keep within what idle nodes draw."""
    contract, faults = terms.contract, Faults()
    said = {BUDGET: contract.limits, PRICE: contract.prices, CARBON: contract.carbon}
    for kind, clauses in said.items():
        if clauses and options.events is not None and options.events.has(kind):
            expected = f"no such rows with a contract, which has {'limits' if kind == BUDGET else kind} of its own"
            faults.note("events.kind", f"rows of kind {kind}", expected)
    if contract.currency is not None and platform.currency not in (None, contract.currency):
        faults.add("contract.currency", contract.currency, f"{platform.currency}, the currency of the platform")
    if policy.parts["power"] is not None:
        least_w, expected = least_budget(platform, policy)
        for place, limit in enumerate(contract.limits):
            watts = limit.watts(terms.peak_w)
            if watts * (1 + _BILLIONTH) < least_w:
                kept = f"{expected}: policy {policy.name} keeps to it"
                faults.note(f"contract.limits[{place}]", f"{watts:,.12g} W", kept)
    faults.check()


@dataclass(frozen=True)
class Budgets:
    """Limits as budgets of a policy: the lower of the limit and of the policy's own budget."""

    terms: Terms
    own_w: float
    first_s: float
    span_s: float
    """Limits are given to the engine by spans of this length, of which it always has the one to come."""

    @staticmethod
    def of(run: Setting) -> Budgets | None:
        """The budgets of a run; None if the contract has no limits, or the policy no budget."""
        terms, part = run.terms, run.policy.parts["power"]
        if terms is None or part is None or not terms.contract.limits:
            return None
        submit_s = run.workload.to_polars()["submit_s"]
        first_s = float(submit_s[0]) if len(submit_s) else 0.0
        is_weekly = all(limit.window.is_weekly for limit in terms.contract.limits)
        span_s = max(_WEEKS_S, 2 * _longest_s(run.workload)) if is_weekly else _YEAR_S
        if run.agent is not None:
            # Longer than the run, as far as can be known: none are to be given later.
            last_s = float(submit_s.max() or 0.0)  # type: ignore[arg-type]
            return Budgets(terms, _own_w(part, run.platform), first_s, last_s - first_s + _YEAR_S)
        return Budgets(terms, _own_w(part, run.platform), first_s, min(span_s, _YEAR_S))

    def known_until_s(self, spans: int) -> float:
        """Up to when the limits of so many spans from the first submit on go."""
        return self.first_s + spans * self.span_s

    def first(self) -> tuple[Any, ...]:
        """Budgets of two spans from the first submit on, as the engine takes them."""
        rows = self.terms.rows(self.first_s, self.known_until_s(2))
        return self._columns(rows["time_s"], rows["until_s"], rows["value"], self.known_until_s(2))

    def more(self, spans: int) -> tuple[Any, ...]:
        """Budgets of the span after so many, in place of what has stood for it."""
        limits_w, series = self.terms.limits_w, self.terms.limits(*map(self.known_until_s, (spans, spans + 1)))
        watts = np.append(limits_w, self.own_w)[series.clause]
        begin_s, end_s = (pl.Series(column) for column in (series.at_s[:-1], series.at_s[1:]))
        return self._columns(begin_s, end_s, pl.Series(watts), self.known_until_s(spans + 1))

    def _columns(self, begin_s: pl.Series, end_s: pl.Series, limit_w: pl.Series, known_s: float) -> tuple[Any, ...]:
        """The rows; beyond what is known the lowest limit there is holds: no plan begins where a table ends."""
        lowest_w = float(self.terms.limits_w.min())
        time_s, until_s = np.append(begin_s.to_numpy(), known_s), np.append(end_s.to_numpy(), np.inf)
        watts = np.minimum(np.append(limit_w.to_numpy(), lowest_w), self.own_w)
        return time_s, until_s, np.full(len(time_s), -np.inf), watts


def _longest_s(workload: Workload) -> float:
    """The longest time that any job is planned with."""
    frame = workload.to_polars()
    names = [name for name in ("walltime_s", "runtime_s") if name in frame.columns]
    longest = frame.select(pl.max_horizontal(pl.coalesce(names).max(), pl.lit(0.0))).item()
    return float(longest)


def _own_w(part: Mapping[str, Any], platform: Platform) -> float:
    """The budget that a policy has of its own."""
    if "pcr" not in part:
        return _NO_OWN_W
    own = part["budget_w"]
    return float(part["pcr"] * platform.tdp_w.sum() if own in ("none", None) else own)


class Extended:
    """An engine's run under budgets without an end: more of them are given to it before it comes to the last."""

    def __init__(self, engine: _core.Session, budgets: Budgets, spans: int = 2, done: int = -1) -> None:
        self.core = engine
        self._budgets = budgets
        self._spans = spans
        self._done = done
        """Jobs that were done when the budgets were extended last."""
        self._is_final = False
        """True once no more budgets are given: nothing will change."""

    def step_until(self, time_s: float | None, **how: Any) -> bool:
        """Steps as the engine does, and extends the budgets on the way."""
        while not self._is_final and (time_s is None or time_s >= self._due_s):
            if self.core.step_until(self._due_s, **how):
                return True
            self._extend()
        return self.core.step_until(time_s, **how)

    @property
    def _due_s(self) -> float:
        """Time at which the next span is given: always when a run gets there, whatever the steps."""
        return self._budgets.known_until_s(self._spans - 1)

    def _extend(self) -> None:
        done, is_waiting = self.core.standing
        if is_waiting and done == self._done:
            # In a whole span nothing could start, and nothing else will come: what waits, waits for ever.
            self._is_final = True
            return
        nothing = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        self.core.inject(*nothing, budgets=self._budgets.more(self._spans))
        self._spans, self._done = self._spans + 1, done

    def fork(self) -> Extended:
        """The same run once more, which goes its own way from here."""
        fork = Extended(self.core.fork(), self._budgets, self._spans, self._done)
        fork._is_final = self._is_final
        return fork

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)


def _billed(terms: Terms, timeline: pl.DataFrame, charges: list[Charge]) -> tuple[Bill, list[Charge]]:
    """The bill of a run, and what its energy comes to by kind: as the contract says, or else the events."""
    bill = terms.bill(timeline)
    by_kind = {PRICE: bill.energy, CARBON: bill.carbon}
    own = [
        Charge(CHARGES[kind][0], charged.amount * CHARGES[kind][1], charged.energy_j, charged.bare_j, charged.bare_s)
        for kind, charged in by_kind.items()
        if charged is not None
    ]
    return bill, [*own, *(one for one in charges if one.key not in {other.key for other in own})]


def _amounts(charges: Iterable[Charge]) -> dict[str, float]:
    return {charge.key: charge.amount for charge in charges}


def _summed(bill: Bill, charges: list[Charge]) -> dict[str, float]:
    """Metrics under a contract: excesses over the limit in force; `cost` is all that is to be paid."""
    names = ("over_budget_count", "over_budget_s", "over_budget_peak_w", "over_budget_kwh", "penalty")
    amounts = _amounts(charges)
    cost = amounts.get("cost", 0.0) + bill.penalty
    return {**amounts, **{name: getattr(bill, name) for name in names}, "cost": cost}


def _concerns(charges: Iterable[Charge], *, of_contract: bool) -> list[Concern]:
    """Concern that prices or carbon intensities do not cover the whole run."""
    said = "the contract does not say" if of_contract else "no row of the events says"
    found = []
    for charge in charges:
        if charge.bare_s > 0:
            share = percent(charge.bare_j / charge.energy_j) if charge.energy_j > 0 else "0 %"
            what = f"{said} what {share} of the energy, drawn in {charge.bare_s:,.0f} s, comes to"
            advice = f"it is left out; {_ALL_PRICED[of_contract]} would count it"
            found.append(Concern(ResultWarning, f"{charge.key} of a part of the run", what, advice))
    return found


_ALL_PRICED = {
    True: "price_per_kwh and carbon_g_per_kwh, which hold where no window does,",
    False: "rows from the first submit to the last end",
}
"""Prices that would cover all energy, by whether a contract gives them."""
