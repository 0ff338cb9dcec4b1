"""Numbers that were written with a unit, where a parameter's name has the unit already."""

from __future__ import annotations

import re
from decimal import Decimal

from hetsched.checks import shown

__all__ = ["plain_number", "unit_hint"]

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([a-zA-Z]+)")
# Not `mw` and `m`: they may be thousandths or millions, minutes or months.
_UNITS: dict[str, dict[str, int | Decimal]] = {
    "_w": {"W": 1, "w": 1, "kW": 10**3, "KW": 10**3, "kw": 10**3, "MW": 10**6, "GW": 10**9, "gw": 10**9},
    "_s": {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
        **dict.fromkeys(("min", "mins", "minute", "minutes"), 60),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
        **dict.fromkeys(("d", "day", "days"), 86400),
        "ms": Decimal("0.001"),
    },
}


def plain_number(parameter: str, value: object) -> str | None:
    """What `value` is in the unit that the parameter's name ends in; None if it is no number with a unit of that kind.

    Examples
    --------
    >>> plain_number("budget_w", "1.1MW"), plain_number("policy.order.starvation_limit_s", "1h")
    ('1100000', '3600')
    >>> plain_number("depth", "4MW"), plain_number("budget_w", "4")
    (None, None)
    """
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    factor = None if match is None else _UNITS.get(parameter[-2:], {}).get(match[2])
    if match is None or factor is None:
        return None
    text = f"{Decimal(match[1]) * factor:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_hint(parameter: str, value: object) -> str:
    """The same, ready to be put behind a message; empty if there is nothing to say.

    Examples
    --------
    >>> unit_hint("budget_w", "1.1MW")
    '; `1.1MW` is 1100000'
    """
    number = plain_number(parameter, value)
    return "" if number is None else f"; {shown(value)} is {number}"
