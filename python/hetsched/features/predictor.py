"""Predictions in place of the platform's: a predictor's tables, and what it says of the jobs' own draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hetsched.features.feature import AnySetting, Feature, Setting
from hetsched.power.forecast import believed


class _Predictor(Feature):
    def settle(self, run: AnySetting) -> AnySetting:
        platform, forecast = believed(run.workload, run.platform, run.options.predictor)
        return replace(run, platform=platform, forecast=forecast)

    def engine(self, run: Setting) -> Mapping[str, Any]:
        return {} if run.forecast is None else {"known_w": run.forecast.known_w}


FEATURE = _Predictor()
