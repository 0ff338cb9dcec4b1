"""Nodes sleep only where the platform says how long they boot and shut down, and what they draw while off."""

from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.platform.node_class import SLEEP_KEYS
from hetsched.platform.reading import machine_names

SAID: dict[str, Any] = {"boot_s": 0, "shutdown_s": 0, "off_w": 0}
JOBS = hs.Workload.from_polars(
    pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 9000], "runtime_s": [60, 60], "node_count": [1, 1]})
)


class Never:
    """A sleep part of a user's own."""

    def rest(self, view: Any) -> tuple[list[int], list[int]]:
        return [], []


def machine(**values: Any) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300, **values)


@pytest.mark.parametrize("policy", ["easy:sleep=timeout", "nqsv", hs.Policy.preset("easy", sleep=Never())])
@pytest.mark.parametrize("unsaid", [SLEEP_KEYS, *((name,) for name in SLEEP_KEYS)])
def test_a_policy_that_sleeps_is_refused_where_its_cost_is_unsaid(policy: Any, unsaid: tuple[str, ...]) -> None:
    values = {name: value for name, value in SAID.items() if name not in unsaid}
    with pytest.raises(hs.ConfigError) as refused:
        hs.simulate(JOBS, machine(**values), policy)
    ((place, found, expected),) = refused.value.faults
    assert (place, found) == ("platform", f"no {', '.join(unsaid)}")
    assert "boot_s 120 to 600 (2 to 10 minutes)" in expected
    assert "off_w 5 to 15" in expected


def test_each_class_says_it_for_itself() -> None:
    kinds = [hs.NodeClass("a", 1, 100, 300, **SAID), hs.NodeClass("b", 1, 100, 300, boot_s=60)]
    with pytest.raises(hs.ConfigError, match=r"^platform\.classes\[1\]: found no shutdown_s, off_w, expected"):
        hs.Session(JOBS, hs.Platform(kinds), "easy:sleep=planned")


def test_nought_that_is_said_is_meant_and_silence_is_fine_where_no_node_sleeps() -> None:
    assert hs.simulate(JOBS, machine(**SAID), "easy:sleep=timeout").summary()["off_energy_j"] == 0.0
    silent = hs.simulate(JOBS, machine(), "nqsv:sleep=none").summary()
    assert silent["energy_j"] == hs.simulate(JOBS, machine(**SAID), "nqsv:sleep=none").summary()["energy_j"]


def test_silence_is_kept_and_identifies_a_platform_as_nought_does() -> None:
    assert not set(SLEEP_KEYS) & set(machine().to_dict()["classes"][0])
    assert hs.Platform.from_dict(machine().to_dict()) == machine()
    assert machine().sha256 == machine(**SAID).sha256 != machine(**SAID | {"boot_s": 1}).sha256


@pytest.mark.parametrize("name", machine_names())
def test_nodes_of_every_machine_that_comes_with_the_package_may_sleep(name: str) -> None:
    for one in hs.Platform.shipped(name).classes:
        assert all(getattr(one, name) is not None for name in SLEEP_KEYS)
