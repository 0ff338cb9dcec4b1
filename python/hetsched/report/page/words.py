"""Numbers with their units, as they stand in the sentences of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hetsched.analysis import METRICS


def metric(key: str, value: float | None) -> str:
    """A value of a metric with its unit."""
    return METRICS[key].text(value)


def share(ratio: float) -> str:
    """A ratio as percent."""
    if 0 < ratio < 0.0005:
        return "under 0.1 %"
    return f"{100 * ratio:.1f} %"


def watts(value: float) -> str:
    """A draw."""
    return f"{value:,g} W"


def length(seconds: float) -> str:
    """A length of time, in the largest unit that it fills."""
    for scale, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= (1.5 if unit == "min" else 2.0) * scale:
            return f"{seconds / scale:,.1f} {unit}"
    return f"{seconds:,.3g} s"


_DAYS = ("days", "months", "first_date", "last_date", "timezone")


def window(clause: Mapping[str, Any], limit_w: float) -> str:
    """The name of a contract's limit: its hours and days as the contract says them, and its watts.

    >>> window({"from": "17:00", "until": "20:00", "days": "mon-fri", "limit_w": 360e3}, 360e3)
    '17:00–20:00, mon-fri: 360.0 kW'
    """
    hours = f"{clause.get('from', '00:00')}–{clause.get('until', '24:00')}"
    said = [_said(name, clause[name]) for name in _DAYS if name in clause]
    if "from" in clause or "until" in clause or not said:
        said = [hours if "from" in clause or "until" in clause else "always", *said]
    return f"{', '.join(said)}: {metric('peak_power_w', limit_w)}"


def _said(name: str, value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return {"first_date": f"from {text}", "last_date": f"to {text}"}.get(name, text)


def unit_of(key: str, values: list[float]) -> tuple[float, str]:
    """The unit that the largest of some values of a metric fills: its scale and its name."""
    unit = METRICS[key].unit_for(values)
    return unit.scale, unit.name


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def printable(text: str) -> str:
    """Text without control characters."""
    return _CONTROL.sub("", text)


def plain(text: str) -> str:
    """Text of which plotly.js makes no markup."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
