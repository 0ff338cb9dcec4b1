"""Energy at the meter: what the nodes draw, and what the facility around them adds to it."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from hetsched.features.feature import Ended, Found, Setting


def after(ended: Ended) -> Found:
    """The energy at the meter, and the unit of costs."""
    run = ended.setting
    currency = currency_of(run)
    record = {} if currency is None else {"currency": currency}
    if run.platform.pue is None:
        return Found(record=record)
    # Energy of the nodes is exact, so only what comes on top is summed: at a PUE of 1 that is nothing.
    energy_j = float(ended.totals["energy_j"]) + _added_j(metered(run, ended.timeline))
    return Found(record=record, metrics=lambda _before: {"meter_energy_j": energy_j})


def currency_of(run: Setting) -> str | None:
    """The currency of the contract, else of the platform."""
    contract = run.options.contract
    own = None if contract is None else contract.currency
    return own if own is not None else run.platform.currency


def metered(run: Setting, timeline: pl.DataFrame) -> pl.DataFrame:
    """The timeline with the draw at the meter, ``meter_w``; that of the nodes where nothing is said of the meter."""
    pue = run.platform._pue
    if pue is None:
        return timeline.with_columns(meter_w="power_w")
    return pue.metered(timeline, float(run.platform.tdp_w.sum()))


def _added_j(metered: pl.DataFrame) -> float:
    """Energy at the meter that is none of the nodes."""
    time_s, power_w, meter_w = (metered[name].to_numpy() for name in ("time_s", "power_w", "meter_w"))
    return math.fsum(((meter_w - power_w)[:-1] * np.diff(time_s)).tolist())
