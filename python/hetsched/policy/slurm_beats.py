"""Instants at which the loops of Slurm's controller ran, as a recording of a cluster gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults, listed, shown
from hetsched.errors import ConfigError
from hetsched.tables import read_table

LOOPS = ("main", "backfill", "recompute", "epilog", "scan", "grid", "clean")
"""Loops whose beats can be given; `grid` are the checks of time limits, `clean` the ends of clean-ups."""

_NEVER = {"main": {"sched_interval": -1}, "backfill": {"bf_interval": -1}, "recompute": {"priority_calc_period": 0}}
"""Settings in place of a list without beats."""

_COLUMNS = ("loop", "time_s")
_EXPECTED = f"a dictionary of ascending seconds by loop ({listed(LOOPS)}), or a table of {' and '.join(_COLUMNS)}"


def beats_of(given: Any, others: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Parameters such as ``main_beats`` out of a dictionary, a table, or a table's file; notes what is wrong."""
    if isinstance(given, str | os.PathLike):
        try:
            given = read_table(given, _EXPECTED, words=["loop"]).frame
        except ConfigError as error:
            faults.extend(error)
            return {}
    if isinstance(given, pl.DataFrame):
        given = _by_loop(given, faults)
    if not isinstance(given, Mapping):
        faults.add("beats", type(given).__name__, _EXPECTED)
        return {}
    inner = Faults("beats")
    inner.unknown_keys(given, LOOPS)
    found: dict[str, Any] = {}
    for loop, times in given.items():
        if loop in LOOPS and (own := _ascending(loop, times, inner)) is not None:
            found |= {f"{loop}_beats": own} if own else _NEVER.get(loop, {})
    for name in found:
        if name in others or f"backfill.{name}" in others:
            inner.note(name.removesuffix("_beats"), "beats", f"nothing with {name}, which says the same")
    faults.extend(inner, lambda fault: fault.under("policy"))
    return found


def _by_loop(frame: pl.DataFrame, faults: Faults) -> dict[str, Any]:
    """A table's times by loop, in its order."""
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        faults.note("beats", f"columns {listed(frame.columns)}", f"columns {listed(_COLUMNS)}")
        return {}
    groups = frame.group_by("loop", maintain_order=True).agg("time_s")
    return {str(loop): times for loop, times in groups.select(_COLUMNS).iter_rows()}


def _ascending(loop: str, times: Any, faults: Faults) -> list[float] | None:
    """The times as plain numbers; None if they are none, or do not ascend, which is noted."""
    array = faults.array(loop, times, "ascending seconds on the log's clock")
    if array is None:
        return None
    if array.ndim != 1 or not np.isfinite(array).all():
        faults.note(loop, "no list of finite numbers", "ascending seconds on the log's clock")
        return None
    wrong = np.flatnonzero(np.diff(array) <= 0)
    if len(wrong):
        before, behind = (shown(float(array[wrong[0] + place])) for place in (0, 1))
        faults.note(loop, f"{behind} behind {before}", "ascending seconds on the log's clock")
        return None
    return [float(one) for one in array]
