"""Clauses of a contract: limits of power, prices and carbon intensities, each with the window in which it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo
from typing import Any

from hetsched.checks import Faults, plain, shown
from hetsched.contract.windows import WINDOW_KEYS, Window, window_of
from hetsched.params import number, parameters_of

_HOURS = 24
_HOUR_S = 3600
MAX_VALUE = 1e12

_PRICE = number(0.0, MAX_VALUE)


@dataclass(frozen=True)
class Limit:
    """The machine may draw so many watts, or that share of its peak; what more costs it."""

    window: Window
    limit_w: float | None = field(default=None, metadata=number(0.0, MAX_VALUE, unit="W"))
    limit_ratio: float | None = field(default=None, metadata=number(0.0, 10.0))
    excess_price_per_kwh: float = field(default=0.0, metadata=_PRICE)
    excess_price_per_kw: float = field(default=0.0, metadata=_PRICE)

    def watts(self, peak_w: float) -> float:
        """The limit on a machine of this peak."""
        return self.limit_w if self.limit_w is not None else peak_w * (self.limit_ratio or 0.0)


@dataclass(frozen=True)
class Rate:
    """Price or carbon intensity of a kWh."""

    window: Window
    value: float


@dataclass(frozen=True)
class Setting:
    """Zone and holidays of all clauses that do not say otherwise."""

    zone: tzinfo
    holidays: frozenset[date]


_OF_A_LIMIT = parameters_of(Limit)


def limits_of(given: object, setting: Setting, faults: Faults) -> tuple[Limit, ...]:
    """The limits; notes what is invalid."""
    return tuple(_limit(one, setting, own) for one, own in _each("limits", given, (*_OF_A_LIMIT, *WINDOW_KEYS), faults))


def rates_of(key: str, tables: tuple[str, object], base: object, setting: Setting, faults: Faults) -> tuple[Rate, ...]:
    """Prices or carbon intensities in the order in which they count, the base last; notes what is invalid."""
    name, given = tables
    low = -MAX_VALUE if name == "prices" else 0.0
    rates: list[Rate] = []
    for one, own in _each(name, given, (key, *WINDOW_KEYS), faults):
        if key not in one:
            own.note(key, "nothing", "a number, or 24 of them: by hour of the day")
        else:
            rates += _by_hour(key, one[key], window_of(one, setting.zone, setting.holidays, own), low, own)
        if _is_list(one.get(key)) and ("from" in one or "until" in one):
            own.note(key, "24 numbers with from or until", "one number, or neither of the two")
    if base is not None:
        always = window_of({}, setting.zone, setting.holidays, faults)
        rates += _by_hour(key, base, always, low, faults)
    return tuple(rates)


def _each(name: str, given: object, keys: Sequence[str], faults: Faults) -> list[tuple[Mapping[str, Any], Faults]]:
    """The tables of a list, each with a collector of its faults, which `faults` takes over at the end."""
    if not isinstance(given, list | tuple):
        faults.add(name, given, "a list of tables")
        return []
    found: list[tuple[Mapping[str, Any], Faults]] = []
    for place, one in enumerate(given):
        if not isinstance(one, Mapping):
            faults.add(f"{name}[{place}]", one, "a table")
            continue
        own = _Inner(f"{name}[{place}]", faults)
        own.unknown_keys(one, keys)
        found.append((one, own))
    return found


class _Inner(Faults):
    """Faults of a part of a contract, noted with those of the whole."""

    def __init__(self, path: str, whole: Faults) -> None:
        super().__init__(path)
        self.found = whole.found


def _limit(given: Mapping[str, Any], setting: Setting, faults: Faults) -> Limit:
    said = [name for name in ("limit_w", "limit_ratio") if name in given]
    if len(said) != 1:
        faults.note("limit_w", " and ".join(said) or "nothing", "limit_w, or limit_ratio, a share of the peak")
    own = {name: one.settle(given.get(name, one.default), faults) for name, one in _OF_A_LIMIT.items()}
    return Limit(window_of(given, setting.zone, setting.holidays, faults), **own)


def _by_hour(key: str, given: object, window: Window, low: float, faults: Faults) -> list[Rate]:
    if not _is_list(given):
        value = plain(given)
        faults.number(key, value, low=low, high=MAX_VALUE)
        return [Rate(window, value)]
    values = [plain(one) for one in given]  # type: ignore[attr-defined]
    if len(values) != _HOURS:
        faults.note(key, f"{len(values)} numbers: {shown(values)}", "one number, or 24 of them: by hour of the day")
    for hour, value in enumerate(values):
        faults.number(f"{key}[{hour}]", value, low=low, high=MAX_VALUE)
    hours = [replace(window, start_s=hour * _HOUR_S, stop_s=(hour + 1) * _HOUR_S) for hour in range(len(values))]
    return [Rate(own, value) for own, value in zip(hours, values, strict=True)]


def _is_list(given: object) -> bool:
    return hasattr(given, "__len__") and not isinstance(given, str | bytes | Mapping)
