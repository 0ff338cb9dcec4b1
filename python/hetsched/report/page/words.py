"""Numbers with their units, as they stand in the sentences of a page."""

from __future__ import annotations

import re

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
