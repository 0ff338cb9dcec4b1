"""Nodes that are switched off: what the platform has to say of it, and what boots cost besides metered energy."""

from __future__ import annotations

import math

import numpy as np

from hetsched.checks import Faults, listed
from hetsched.features.feature import Ended, Found, Metrics, Setting
from hetsched.platform.node_class import SLEEP_KEYS


def check(run: Setting) -> None:
    """Raise if the policy puts nodes to sleep of which the platform does not say what that costs."""
    faults, classes = Faults(), run.platform.classes
    for position, node_class in enumerate(classes):
        unsaid = [name for name in SLEEP_KEYS if getattr(node_class, name) is None]
        place = "platform" if len(classes) == 1 else f"platform.classes[{position}]"
        if unsaid:
            faults.note(place, f"no {listed(unsaid)}", _NEEDS.format(run.policy.name))
    faults.check()


def after(ended: Ended) -> Found:
    """Boots, and their wear."""
    return Found(metrics=lambda before: _boots(ended, before))


_NEEDS = (
    "boot_s, shutdown_s and off_w, 0 if that is meant: policy {} puts nodes to sleep, and what that saves and how long "
    "jobs wait follow from them; typical are boot_s 120 to 600 (2 to 10 minutes), shutdown_s 120, off_w 5 to 15"
)


def _boots(ended: Ended, before: Metrics) -> Metrics:
    """Number of boots and, where a class of nodes has a price of one, their wear, a part of the cost."""
    boots, classes = ended.nodes()["boots"].to_numpy(), ended.setting.platform.classes
    found: dict[str, int | float | None] = {"boots": int(boots.sum())}
    if any(node_class.boot_cost is not None for node_class in classes):
        worn = boots * np.concatenate([node_class.per_node("boot_cost") for node_class in classes])
        found["boot_cost"] = wear = math.fsum(worn.tolist())
        if (cost := before.get("cost")) is not None:
            found["cost"] = cost + wear
    return found
