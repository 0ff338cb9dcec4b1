"""The price of boots besides their energy, which is metered: how many there were, and what they wore off."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from hetsched.platform import Platform
from hetsched.policy import Policy


def with_boots(
    metrics: Mapping[str, int | float | None], policy: Policy, platform: Platform, nodes: Callable[[], pl.DataFrame]
) -> dict[str, int | float | None]:
    """The optional metrics of a run, with those of boots where its policy puts nodes to sleep.

    `boot_cost` is there where a class of nodes has one, and a part of the `cost` where energy has a price.
    """
    if policy.parts["sleep"] is None:
        return dict(metrics)
    boots = nodes()["boots"].to_numpy()
    found: dict[str, int | float | None] = {**metrics, "boots": int(boots.sum())}
    if all(node_class.boot_cost is None for node_class in platform.classes):
        return found
    worn = boots * np.concatenate([node_class.per_node("boot_cost") for node_class in platform.classes])
    wear = math.fsum(worn.tolist())
    found["boot_cost"] = wear
    if (cost := metrics.get("cost")) is not None:
        found["cost"] = cost + wear
    return found
