"""Moldable and malleable jobs: the sizes each can have, and how its speed follows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import did_you_mean, listed
from hetsched.workload.convert import Origin

Floats = npt.NDArray[np.float64]

MODELS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "amdahl": ("serial_ratio",),
    "downey": ("downey_a", "downey_sigma"),
    "table": ("speedup_table",),
}
"""Models of speed by their names, with the columns of their parameters."""


def amdahl(nodes: Floats, serial_ratio: float) -> Floats:
    """Speed on so many nodes where a share of the work stays serial (Amdahl, AFIPS 1967); 1 on one node.

    Examples
    --------
    >>> amdahl(np.array([1.0, 2.0, 4.0]), 0.5).round(3).tolist()
    [1.0, 1.333, 1.6]
    """
    speed: Floats = 1.0 / (serial_ratio + (1.0 - serial_ratio) / nodes)
    return speed


def downey(nodes: Floats, a: float, sigma: float) -> Floats:
    """Speed on so many nodes of a program of mean parallelism A with spread sigma; 1 on one node.

    Downey, A Model for Speedup of Parallel Programs, technical report CSD-97-933, Berkeley, 1997: of low variance up
    to sigma = 1, of high variance beyond.

    Examples
    --------
    >>> downey(np.array([1.0, 4.0, 7.0, 9.0]), 4.0, 0.0).tolist()
    [1.0, 4.0, 4.0, 4.0]
    >>> downey(np.array([1.0, 4.0, 7.0, 9.0]), 4.0, 1.0).round(3).tolist()
    [1.0, 2.909, 4.0, 4.0]
    """
    if sigma <= 1.0:
        below = a * nodes / (a + sigma * (nodes - 1.0) / 2.0)
        between = a * nodes / (sigma * (a - 0.5) + nodes * (1.0 - sigma / 2.0))
        speed = np.where(nodes <= a, below, np.where(nodes <= 2.0 * a - 1.0, between, a))
    else:
        rising = nodes * a * (sigma + 1.0) / (sigma * (nodes + a - 1.0) + a)
        speed = np.where(nodes <= a + a * sigma - sigma, rising, a)
    return np.asarray(speed, dtype=np.float64)


def size_columns(frame: pl.DataFrame) -> dict[str, Any]:
    """The jobs' sizes as the engine takes them; nothing where each has but one."""
    if "min_nodes" not in frame.columns and "max_nodes" not in frame.columns:
        return {}
    asked, low, high = _ranges({name: frame[name] for name in frame.columns})
    if (low == high).all():
        return {}
    rows = frame.select(pl.col("^(speedup|serial_ratio|downey_a|downey_sigma|speedup_table)$")).to_dicts()
    offsets = np.concatenate(([0], np.cumsum(high - low + 1)))
    ratios = np.ones(offsets[-1])
    for row in np.flatnonzero(low < high).tolist():
        speed = _speeds(rows[row], np.arange(low[row], high[row] + 1, dtype=np.float64))
        ratios[offsets[row] : offsets[row + 1]] = speed[asked[row] - low[row]] / speed
    return {"min_nodes": low, "size_offsets": offsets, "time_ratios": ratios, **_changes(frame)}


def _changes(frame: pl.DataFrame) -> dict[str, Any]:
    """Columns of changes while jobs run; none where no job changes its size."""
    if "malleable" not in frame.columns or not frame["malleable"].any():
        return {}
    columns = {"malleable": frame["malleable"].fill_null(value=False).cast(pl.Int64).to_numpy()}
    return columns | ({"resize_s": frame["resize_s"].fill_null(0.0).to_numpy()} if "resize_s" in frame.columns else {})


def _ranges(known: Mapping[str, pl.Series]) -> tuple[npt.NDArray[np.int64], ...]:
    """Nodes asked for, fewest and most nodes of each job."""
    asked = known["node_count"].cast(pl.Int64)
    low, high = (known[name].cast(pl.Int64) if name in known else asked for name in ("min_nodes", "max_nodes"))
    low, high = (pl.select(pl.coalesce(own, asked)).to_series() for own in (low, high))
    return asked.to_numpy(), low.to_numpy(), high.to_numpy()


def _speeds(row: Mapping[str, Any], nodes: Floats) -> Floats:
    model = row["speedup"]
    if model == "amdahl":
        return amdahl(nodes, row["serial_ratio"])
    if model == "downey":
        return downey(nodes, row["downey_a"], row["downey_sigma"])
    return nodes if model == "linear" else np.array(row["speedup_table"].split(), dtype=np.float64)


def refuse_sizes(known: Mapping[str, pl.Series], origin: Origin) -> None:
    """Raise at the first job whose sizes, or what is said of its speed at them, are invalid."""
    given = [name for name in ("min_nodes", "max_nodes", "speedup", "malleable") if name in known]
    if not given:
        return
    asked, low, high = _ranges(known)
    if "malleable" in known:
        rigid = known["malleable"].fill_null(value=False) & pl.Series(low == high)
        origin.refuse(
            known["malleable"], rigid, "false for a job of one size: give it a range, `min_nodes` to `max_nodes`"
        )
    count = pl.Series("node_count", asked)
    for name, bad, expected in (
        ("min_nodes", low > asked, "at most `node_count`"),
        ("max_nodes", high < asked, "at least `node_count`"),
    ):
        if name in known:
            origin.refuse(known[name], pl.Series(bad), expected)
    model = known.get("speedup", pl.Series("speedup", [None] * len(count), dtype=pl.String))
    named = f"one of {listed(MODELS)}, or nothing"
    unknown = [name for name in model.drop_nulls().unique().to_list() if name not in MODELS]
    hint = did_you_mean(unknown[0], MODELS) if unknown else ""
    origin.refuse(model, ~model.is_in(list(MODELS)).fill_null(value=True), named + hint)
    ranged = pl.Series(low < high)
    origin.refuse(model, ranged & model.is_null(), f"one of {listed(MODELS)}, for a job of several sizes")
    for name, parameters in MODELS.items():
        for parameter in parameters:
            values = known.get(parameter, pl.Series(parameter, [None] * len(count), dtype=pl.Float64))
            needed = ranged & (model == name).fill_null(value=False)
            origin.refuse(values, needed & values.is_null(), f"a value, for the speedup `{name}`")
    _refuse_tables(known, model, high - low + 1, origin)


def _refuse_tables(known: Mapping[str, pl.Series], model: pl.Series, sizes: Any, origin: Origin) -> None:
    tables = known.get("speedup_table")
    if tables is None:
        return
    wrong: Callable[[str, int], bool] = lambda text, count: not _is_table(text, count)  # noqa: E731
    bad = [
        name == "table" and count > 1 and text is not None and wrong(text, count)
        for name, text, count in zip(model.to_list(), tables.to_list(), sizes.tolist(), strict=True)
    ]
    origin.refuse(tables, pl.Series(bad, dtype=pl.Boolean), "a number above 0 for each size, with blanks between")


def _is_table(text: str, count: int) -> bool:
    try:
        speeds = np.array(text.split(), dtype=np.float64)
    except ValueError:
        return False
    return len(speeds) == count and bool((np.isfinite(speeds) & (speeds > 0)).all())
