"""Power contracts: clauses of limits, prices and carbon intensities, their TOML form, and when each is in force."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone, tzinfo
from inspect import signature
from typing import Any, get_args

from hetsched.checks import Faults, many, plain, read_toml, shown
from hetsched.contract.windows import WINDOW_KEYS, Window, date_of, instant_s, window_of
from hetsched.errors import ConfigError
from hetsched.files import json_sha256
from hetsched.naming import named_in
from hetsched.params import number, parameters_of
from hetsched.typing import Unfit
from hetsched.zones import zone_named

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


def _limits_of(given: object, setting: Setting, faults: Faults) -> tuple[Limit, ...]:
    """The limits; notes what is invalid."""
    return tuple(_limit(one, setting, own) for one, own in _each("limits", given, (*_OF_A_LIMIT, *WINDOW_KEYS), faults))


def _rates_of(key: str, tables: tuple[str, object], base: object, setting: Setting, faults: Faults) -> tuple[Rate, ...]:
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


@named_in("hetsched")
class Contract:
    """Windows, limits and prices that a run is metered against, whatever its policy; policies with a budget keep to it.

    It is periodic, and has no end. A *window* holds by the wall clock of its time zone: an hour that the clock shows
    twice is in it twice, one that it leaves out is not. Its keys, all optional: ``from`` and ``until`` (times of day;
    `until` is of the next day if it is not later), ``days`` (``"mon-fri,sun"``; also ``"holidays"``), ``months``
    (``"nov-feb"``), ``first_date`` and ``last_date`` (on which it begins, both included) and ``timezone``. Days, months
    and dates are those on which the window begins. A holiday is no weekday: a window with ``days`` holds on it only if
    these name ``holidays``.

    Parameters
    ----------
    limits
        A table each: ``limit_w`` (watts of the whole machine) or ``limit_ratio`` (of `peak_w`); a window; and the price
        of an excess, ``excess_price_per_kwh`` (of each kWh beyond the limit) and ``excess_price_per_kw`` (of each
        calendar month's highest excess), both 0 by default. Of limits that hold at once the lowest is in force.
    prices
        A table each: ``price_per_kwh``, one number, or 24 of them by hour of the day, and a window. Of prices that hold
        at once the first counts.
    price_per_kwh
        Where none of `prices` holds. Without it, energy drawn then is not priced, which the result says.
    carbon
        A table each: ``carbon_g_per_kwh``, likewise.
    carbon_g_per_kwh
        Where none of `carbon` holds.
    timezone
        Of windows that name none.
    holidays
        Dates, in whatever year.
    starts
        When second 0 of the log's clock was, such as ``"2007-02-01T00:00"`` (by the clock of `timezone`, unless it ends
        in an offset), in place of what the log says. None: as the log says.
    peak_w
        What `limit_ratio` is a share of, watts. None: the sum of the nodes' ``tdp_w``, as for the parameter ``pcr`` of
        budgets.
    unfit
        What becomes of a job that a policy with foresight can start between no two windows. ``"wait"``: it waits, and a
        warning names it. ``"reject"``: it is rejected at its submit.

    Raises
    ------
    ConfigError
        If a key is unknown or a value is invalid; lists all faults.

    Examples
    --------
    >>> evenings = {"limit_w": 360e3, "from": "17:00", "until": "20:00", "days": "mon-fri", "excess_price_per_kwh": 1.5}
    >>> Contract(limits=[evenings], price_per_kwh=0.20, timezone="Europe/Berlin")
    <Contract: 1 limit, 1 price>
    >>> Contract(limits=[{"limit_w": 360e3, "from": "25:00"}])
    Traceback (most recent call last):
    hetsched.errors.ConfigError: limits[0].from: found `25:00`, expected a time of day such as 17:00, up to 24:00
    """

    def __init__(
        self,
        *,
        limits: Sequence[Mapping[str, Any]] = (),
        prices: Sequence[Mapping[str, Any]] = (),
        price_per_kwh: float | Sequence[float] | None = None,
        carbon: Sequence[Mapping[str, Any]] = (),
        carbon_g_per_kwh: float | Sequence[float] | None = None,
        timezone: str = "UTC",
        holidays: Sequence[str | date] = (),
        starts: str | datetime | None = None,
        peak_w: float | None = None,
        unfit: Unfit = "wait",
        currency: str | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._given = {
            name: _in_plain_values(value) for name, value in given.items() if name in _SAID and value != _SAID[name]
        }
        faults = Faults()
        zone = zone_named("timezone", timezone, faults)
        setting = Setting(zone, _dates(holidays, faults))
        self.zone = zone
        self.limits = _limits_of(limits, setting, faults)
        self.prices = _rates_of("price_per_kwh", ("prices", prices), price_per_kwh, setting, faults)
        self.carbon = _rates_of("carbon_g_per_kwh", ("carbon", carbon), carbon_g_per_kwh, setting, faults)
        self.starts_s = None if starts is None else instant_s("starts", starts, zone, faults)
        self.peak_w = plain(peak_w)
        if peak_w is not None:
            faults.number("peak_w", self.peak_w, low=0.0, high=MAX_VALUE)
        faults.choice("unfit", unfit, get_args(Unfit))
        self.unfit = unfit
        faults.word("currency", currency, "EUR")
        self.currency = currency
        if not faults.found and not (self.limits or self.prices or self.carbon):
            faults.note("limits", "no limit, no price and no carbon intensity", "at least one of them")
        faults.check()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Contract:
        """A contract from its parameters as a dictionary; raises as `Contract`.

        Examples
        --------
        >>> contract = Contract.from_dict({"limits": [{"limit_ratio": 0.7}], "peak_w": 5e5})
        >>> Contract.from_dict(contract.to_dict()) == contract
        True
        """
        faults = Faults()
        if not isinstance(data, Mapping):
            raise ConfigError([("contract", type(data).__name__, "a dictionary of a contract's parameters")])
        faults.unknown_keys(data, _SAID)
        if faults.found:
            # What is wrong with the values of the others is reported with it.
            try:
                cls(**{name: value for name, value in data.items() if name in _SAID})
            except ConfigError as error:
                faults.extend(error)
        faults.check()
        return cls(**data)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Contract:
        """A contract from a TOML file: its parameters at the top, or in a table ``[contract]``.

        The table may be in a file of events, the rest of which `Events.from_toml` reads.

        Raises
        ------
        ConfigError
            If the file cannot be read, and as `Contract`.
        """
        data = read_toml(os.fspath(path))
        if "contract" not in data:
            return cls.from_dict(data)
        expected = "it in the table [contract], as all of a contract in a file that has one"
        outside = [(name, "a key at the top", expected) for name in data if name in _SAID]
        if outside:
            raise ConfigError(outside)
        try:
            return cls.from_dict(data["contract"])
        except ConfigError as error:
            raise error.mapped(lambda fault: fault if fault.is_of("contract") else fault.under("contract")) from None

    def to_dict(self) -> dict[str, Any]:
        """Every parameter that is set, as plain values that `from_dict` takes."""
        return dict(self._given)

    @property
    def sha256(self) -> str:
        """Sha256 over the parameters."""
        return json_sha256(self._given)

    def starting(self, unix_s: float | None) -> Contract:
        """The same contract where second 0 of the log's clock was at that instant, unless the contract says when."""
        if self.starts_s is not None or unix_s is None:
            return self
        return Contract(**{**self._given, "starts": datetime.fromtimestamp(unix_s, timezone.utc).isoformat()})

    def __eq__(self, other: object) -> bool:
        return self._given == other._given if isinstance(other, Contract) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        parts = {"limit": self.limits, "price": self.prices, "carbon intensity": self.carbon}
        said = [many(len(of), name).replace("intensitys", "intensities") for name, of in parts.items() if of]
        return f"<Contract: {', '.join(said)}>"


_SAID = {name: one.default for name, one in signature(Contract).parameters.items()}
"""The parameters and their defaults."""


def _in_plain_values(value: Any) -> Any:
    """A value as JSON holds it: dates and times as text."""
    if isinstance(value, Mapping):
        return {str(key): _in_plain_values(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_in_plain_values(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else plain(value)


def _dates(given: object, faults: Faults) -> frozenset[date]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        faults.add("holidays", given, "a list of dates such as 2007-02-19")
        return frozenset()
    found = [date_of(f"holidays[{place}]", one, faults) for place, one in enumerate(given)]
    return frozenset(one for one in found if one is not None)


def check_contract(given: Any, faults: Faults) -> None:
    """Note what is no `Contract`."""
    if given is not None and not isinstance(given, Contract):
        faults.add("contract", type(given).__name__, "a Contract, as Contract.from_toml makes it")


def read_contract(path: str | os.PathLike[str]) -> Contract:
    """Read a contract from a TOML file; as `Contract.from_toml`."""
    return Contract.from_toml(path)
