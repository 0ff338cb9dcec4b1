"""Predictions in place of the platform's: a predictor's tables, and what it says of the jobs' own draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hetsched.features.feature import AnySetting, Setting
from hetsched.power.forecast import believed


def settle(run: AnySetting) -> AnySetting:
    """The platform with predicted tables, and a forecast of the jobs' own draws."""
    platform, forecast = believed(run.workload, run.platform, run.options.predictor)
    return replace(run, platform=platform, forecast=forecast)


def engine(run: Setting) -> Mapping[str, Any]:
    """Draws that decisions know."""
    return {} if run.forecast is None else {"known_w": run.forecast.known_w}
