"""The price of boots: how many there were, and what they wore off, next to the energy that sleep saves."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import hetsched as hs

SLEEPS = "easy:sleep=timeout:min_idle_s=60"
COSTS = {"idle_w": 100.0, "tdp_w": 300.0, "off_w": 10.0, "boot_s": 30.0, "shutdown_s": 10.0}


def log() -> hs.Workload:
    """Two nodes for a minute, at 0 and an hour later: every node sleeps and boots once in between."""
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 3600.0], "runtime_s": [60.0, 60.0], "node_count": [2, 2]}
    return hs.Workload.from_polars(pl.DataFrame(jobs))


def summary(policy: str = SLEEPS, *, events: hs.Events | None = None, **costs: Any) -> dict[str, Any]:
    platform = hs.Platform.homogeneous(nodes=2, **{**COSTS, **costs})
    return hs.simulate(log(), platform, policy, events=events).summary()


def prices() -> hs.Events:
    return hs.Events.from_polars(pl.DataFrame({"time_s": [0.0], "kind": ["price"], "value": [0.5]}))


def test_boots_are_counted_where_nodes_sleep_and_have_no_price_of_themselves() -> None:
    found = summary()
    assert found["boots"] == 2
    assert "boot_cost" not in found
    assert not {"boots", "boot_cost"} & set(summary("easy"))
    assert summary("easy:sleep=timeout:min_idle_s=7200")["boots"] == 0


def test_the_wear_of_boots_is_part_of_the_cost() -> None:
    worn = summary(boot_cost=0.25)
    assert worn["boot_cost"] == 0.5
    assert "cost" not in worn
    energy = summary(events=prices())["cost"]
    assert energy == pytest.approx(0.5 * worn["energy_j"] / 3.6e6)
    assert summary(events=prices(), boot_cost=0.25)["cost"] == pytest.approx(energy + 0.5)
    # A 0 that is given is shown; without sleep there are no boots to pay for.
    assert summary(boot_cost=0.0)["boot_cost"] == 0.0
    assert summary("easy", events=prices(), boot_cost=0.25) == summary("easy", events=prices())


def test_each_class_has_its_own_price() -> None:
    """One node of each: the second boots for half as much."""
    classes = [
        hs.NodeClass("old", 1, **COSTS, boot_cost=1.0),
        hs.NodeClass("new", 1, **COSTS, boot_cost=0.5),
        hs.NodeClass("unpriced", 1, **COSTS),
    ]
    jobs = log().to_polars().with_columns(node_count=pl.lit(3, pl.Int32))
    found = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform(classes), SLEEPS).summary()
    assert (found["boots"], found["boot_cost"]) == (3, 1.5)


def test_a_price_is_a_part_of_the_platform() -> None:
    platform = hs.Platform.homogeneous(nodes=2, **COSTS, boot_cost=0.25)
    again = hs.Platform.from_dict(platform.to_dict())
    assert again.classes[0].boot_cost == 0.25
    assert again.sha256 == platform.sha256 != hs.Platform.homogeneous(nodes=2, **COSTS).sha256
    with pytest.raises(hs.ConfigError, match="boot_cost: found `-1`, expected a number between 0 and 1e"):
        hs.Platform.homogeneous(nodes=2, **COSTS, boot_cost=-1)


def test_a_comparison_shows_boots_behind_the_energy() -> None:
    platform = hs.Platform.homogeneous(nodes=2, **COSTS)
    found = hs.compare(log(), platform, {"easy": "easy", "asleep": SLEEPS}, progress=None)
    assert found.table["metric"].unique(maintain_order=True).to_list()[:2] == ["energy_j", "boots"]
    assert found.value("asleep", "boots") == 2
    awake = hs.compare(log(), platform, ["easy", "fcfs"], progress=None)
    assert "boots" not in awake.table["metric"]
    asked = hs.compare(log(), platform, ["easy", SLEEPS], metrics=["energy_j"], progress=None)
    assert asked.table["metric"].unique().to_list() == ["energy_j"]
