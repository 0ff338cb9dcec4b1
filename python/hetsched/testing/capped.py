"""Watts and speed of jobs' nodes under power caps, worked out again from the platform's tables or its cap model."""

from __future__ import annotations

import numpy as np

from hetsched.platform import VariationTable
from hetsched.testing.facts import Facts, Floats, Ints


def draws_and_factors(run: Facts, job: Ints, node: Ints, cap_w: Floats) -> tuple[Floats, Floats]:
    """Watts and time factor of each pair of job and node under a cap each; NaN: none."""
    by_cap = run.platform.actual_by_cap
    if by_cap is None:
        return _by_model(run, job, node, cap_w)
    keys = np.array(list(by_cap))
    served = np.where(np.isnan(cap_w), len(keys) - 1, np.searchsorted(keys, cap_w, side="right") - 1)
    assert (served >= 0).all(), "a cap below the lowest that there is a table of"
    watts, factors = np.empty(len(job)), np.empty(len(job))
    for place, table in enumerate(by_cap.values()):
        here = served == place
        watts[here] = run.draw_w(table, job[here], node[here])
        factors[here] = _factors(run, table, job[here], node[here])
    return watts, factors


def _factors(run: Facts, table: VariationTable | None, job: Ints, node: Ints) -> Floats:
    if table is None or table.time_ratio is None:
        return np.ones(len(job))
    row = run.row_of_jobs(table)[job]
    return np.where(row >= 0, table.time_ratio[row, node], 1.0)


def _by_model(run: Facts, job: Ints, node: Ints, cap_w: Floats) -> tuple[Floats, Floats]:
    table, model = run.platform.actual, run.platform.cap_model
    full_w, factor = run.draw_w(table, job, node), _factors(run, table, job, node)
    if model is None:
        assert np.isnan(cap_w).all(), "a cap on a platform that knows of none"
        return full_w, factor
    static_w = full_w * model["static_ratio"] if "static_ratio" in model else _per_node(run, model["static_w"])[node]
    static_w = np.minimum(static_w, full_w)
    least, exponent = model["least_speed_ratio"], model["exponent"]
    binds = cap_w < full_w
    dynamic_w = np.where(binds, full_w - static_w, 1.0)
    left_w = np.where(binds, np.maximum(cap_w - static_w, 0.0), 1.0)
    # A node with static watts only runs at its lowest speed.
    share = np.where(dynamic_w > 0, left_w / np.where(dynamic_w > 0, dynamic_w, 1.0), 0.0)
    speed = np.maximum(share ** (1.0 / exponent), least)
    least_w = static_w + (full_w - static_w) * least**exponent
    slowed = factor * (1.0 + _bounds(run, model["bound_ratio"])[job] * (1.0 / speed - 1.0))
    return np.where(binds, np.maximum(cap_w, least_w), full_w), np.where(binds, slowed, factor)


def _per_node(run: Facts, static_w: float | list[float]) -> Floats:
    return np.array(np.broadcast_to(np.asarray(static_w, dtype=np.float64), (run.platform.nodes,)))


def _bounds(run: Facts, bound_ratio: float | dict[str, float]) -> Floats:
    """The share of each job's time that stretches; 1 where nothing is said of it."""
    if not isinstance(bound_ratio, dict):
        return np.full(len(run.asked), bound_ratio)
    return np.array([bound_ratio.get(app, bound_ratio.get("*", 1.0)) for app in run.asked_for("app").to_list()])
