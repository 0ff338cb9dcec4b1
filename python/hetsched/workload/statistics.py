"""Numbers about a job table: distributions and offered load."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["described", "offered_load"]


def described(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a quantity of the job table; see `Workload.describe`."""
    submit = frame["submit_s"]
    names = [name for name in frame.columns if name in ("runtime_s", "walltime_s", "node_count")]
    quantities = {name: frame[name] for name in names}
    quantities["area_node_s"] = frame["node_count"] * pl.Series(_nominal_s(frame))
    quantities["interarrival_s"] = submit.diff()
    if "power_w" in frame.columns:
        quantities["power_w"] = frame["power_w"].filter(frame["power_w"] > 0)
    quantities["span_s"] = (submit.tail(1) - submit.first()) if len(submit) else submit
    return pl.DataFrame([_row(name, values) for name, values in quantities.items()], schema=_SCHEMA, orient="row")


_SCHEMA: dict[str, type[pl.DataType]] = {
    "quantity": pl.String,
    "count": pl.Int64,
    "mean": pl.Float64,
    "p5": pl.Float64,
    "median": pl.Float64,
    "p95": pl.Float64,
    "max": pl.Float64,
}


def _row(name: str, series: pl.Series) -> tuple[str | int | float | None, ...]:
    values = series.drop_nulls().cast(pl.Float64).to_numpy()
    if not len(values):
        return name, 0, None, None, None, None, None
    p5, median, p95 = np.quantile(values, [0.05, 0.5, 0.95])
    return name, len(values), float(values.mean()), float(p5), float(median), float(p95), float(values.max())


def offered_load(frame: pl.DataFrame, nodes: int, slots: npt.NDArray[np.int64] | None) -> float | None:
    """Work submitted a second over what can be done; see `Workload.offered_load`.

    Parameters
    ----------
    frame
        The job table.
    nodes
        How many there are.
    slots
        Of each node, where jobs share nodes; None where they do not.
    """
    if not len(frame):
        return 0.0
    submit = frame["submit_s"]
    span_s = submit[-1] - submit[0]
    if span_s <= 0:
        return None
    # Summed by numpy: its order of addition does not depend on the number of threads.
    area = frame["node_count"].to_numpy() * _nominal_s(frame)
    if slots is None:
        return float(area.sum() / (nodes * span_s))
    wanted = frame["slots"].fill_null(slots.mean()) if "slots" in frame.columns else pl.Series([float(slots.mean())])
    return float((area * wanted.to_numpy()).sum() / (slots.sum() * span_s))


def _nominal_s(frame: pl.DataFrame) -> npt.NDArray[np.float64]:
    """How long each job runs on nominal nodes, communication and all."""
    runtime_s = frame["runtime_s"].to_numpy()
    return runtime_s + frame["comm_s"].fill_null(0.0).to_numpy() if "comm_s" in frame.columns else runtime_s
