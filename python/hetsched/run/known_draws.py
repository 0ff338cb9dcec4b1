"""What a run's decisions knew of jobs' own draws before these had run, for its record and for its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.text import many

CHANGE = 'known_draws ("table" or "tdp") or a predictor changes that'


def draws_record(
    policy: Policy, platform: Platform, *, jobs: int, forecast: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a result's record says of it."""
    table = platform.actual if platform.predicted is None else platform.predicted
    readers = policy.reading_draws(factors=table is not None and table.power_ratio is not None)
    record = {"rule": platform.known_draws, "jobs": jobs, "read_by": readers, "forecast": forecast}
    return {**record, "note": draws_note(record)}


def draws_note(record: Mapping[str, Any], *, change: str = CHANGE) -> str | None:
    """A sentence on what decisions know of draws, if they depend on it and that is not what the platform asks for."""
    forecast = record["forecast"]
    if not record["read_by"] or not record["jobs"]:
        return None
    if forecast is not None:
        return _forecast_note(record, forecast) if forecast["jobs"] else None
    if record["rule"] != "measured":
        return None
    return f"decisions know the measured draw of {many(record['jobs'], 'job')} before they have run; {change}"


def _forecast_note(record: Mapping[str, Any], forecast: Mapping[str, Any]) -> str:
    text = f"{forecast['predictor']} predicts the draw of {many(forecast['predicted'], 'job')}"
    if forecast["levels"]:
        text += f" ({', '.join(f'{level} {count:,}' for level, count in forecast['levels'].items())})"
    if forecast["mape_percent"] is not None:
        text += f", off by {forecast['mape_percent']:.1f} % on average"
    if forecast["unknown"]:
        stand_in = "busy draw" if record["rule"] == "table" else "TDP"
        text += f"; of {many(forecast['unknown'], 'job')} nothing is known, taken for the nodes' {stand_in}"
    return text
