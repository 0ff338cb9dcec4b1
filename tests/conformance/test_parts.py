"""Every part and every preset of the registry, known by its name alone: whoever adds one is held to all of this."""

from __future__ import annotations

import json
import re
from functools import cache

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import hetsched as hs
from hetsched.policy import PRESETS, parts
from hetsched.policy.parts import value_text
from hetsched.testing import check_schedule, conformance, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning", "ignore::hetsched.errors.ReplayWarning")
FEW = settings(max_examples=settings().max_examples // 2)
"""For each of so many parts."""
PARTS = sorted(parts())
ROLES = ("order", "backfill", "placement", "power", "sleep")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

part_of_the_registry = pytest.mark.parametrize(("role", "name"), PARTS, ids=[f"{role}-{name}" for role, name in PARTS])
COUNTING = [
    (role, name)
    for role, name in PARTS
    if role != "sleep" and (role != "backfill" or not parts()[role, name]["chooses_nodes"])
]
part_that_counts_watts = pytest.mark.parametrize(
    ("role", "name"), COUNTING, ids=[f"{role}-{name}" for role, name in COUNTING]
)
preset = pytest.mark.parametrize("name", PRESETS)


def composed(role: str, name: str, other: str = "reservations") -> hs.Policy:
    """A policy with this part, and backfilling next to it so that it has something to do."""
    return hs.Policy(**{"backfill": other, role: name})


def under_a_budget(policy: hs.Policy, **budget: float) -> hs.Policy:
    """The policy under a system budget; what parameters it has there give way."""
    return hs.Policy.from_dict({**policy.to_dict(), "power": {"name": "system-budget", **budget}})


@cache
def crowd(jobs: int = 300, nodes: int = 16) -> tuple[hs.Workload, hs.Platform]:
    """More work than the machine can do at first, then silence: whoever is forgotten is seen.

    A log says when each job started, which is sooner than this machine can start most of them.
    """
    rng = np.random.default_rng(3)
    runtime = rng.integers(0, 500, jobs).astype(np.float64)
    submit = np.sort(rng.integers(0, 2_000, jobs)).astype(np.float64)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": submit,
            "observed_start_s": submit + np.random.default_rng(4).integers(0, 100, jobs),
            "runtime_s": runtime,
            "node_count": rng.integers(1, nodes + 1, jobs),
            "walltime_s": np.where(rng.random(jobs) < 0.7, runtime * 1.5 + 1, 0.0),
            "app": rng.choice(["heat", "flow"], jobs),
            "user": np.random.default_rng(5).choice(["ann", "bo", "cy"], jobs),
        }
    )
    table = hs.VariationTable(["heat", "flow"], power_w=rng.uniform(90.0, 300.0, (2, nodes)))
    platform = hs.Platform.homogeneous(
        nodes=nodes, idle_w=80.0, tdp_w=300.0, off_w=0.0, boot_s=0.0, shutdown_s=0.0
    ).with_tables(actual=table)
    return hs.Workload.from_polars(frame), platform


def test_every_role_has_parts_and_no_two_share_a_name() -> None:
    assert {role for role, _ in PARTS} == set(ROLES)
    assert len(set(PARTS)) == len(PARTS)


@part_of_the_registry
def test_a_part_says_what_it_is_and_what_it_takes(role: str, name: str) -> None:
    part = parts()[role, name]
    assert NAME.fullmatch(name)
    assert len(part["doc"]) > 10
    given_defaults = composed(role, name).parts[role]
    assert given_defaults is not None
    assert set(given_defaults) == {"name", *(parameter["name"] for parameter in part["parameters"])}
    for parameter in part["parameters"]:
        assert set(parameter) >= {"name", "unit", "default", "range", "doc"}
        assert len(parameter["doc"]) > 10
        assert parameter["range"]
        assert value_text(given_defaults[parameter["name"]]) == value_text(json.loads(parameter["default"]))


@part_of_the_registry
def test_a_part_refuses_a_parameter_it_has_not(role: str, name: str) -> None:
    with pytest.raises(hs.ConfigError, match=rf"policy\.{role}\.colour"):
        hs.Policy(**{role: {"name": name, "colour": "red"}})


@part_of_the_registry
def test_a_composition_survives_its_dictionary(role: str, name: str) -> None:
    policy = composed(role, name)
    assert hs.Policy.from_dict(policy.to_dict()) == policy


@part_of_the_registry
def test_a_part_schedules_everyone_and_does_so_again(role: str, name: str) -> None:
    workload, platform = crowd()
    result = hs.simulate(workload, platform, composed(role, name), seed=1)
    check_schedule(result, workload, platform)
    assert set(result.jobs["state"]) <= {"completed", "timeout"}
    assert result == hs.simulate(workload, platform, composed(role, name), seed=1)


@part_of_the_registry
@FEW
@given(data=st.data())
def test_a_part_keeps_the_laws_on_any_machine(role: str, name: str, data: st.DataObject) -> None:
    # Where nodes are counted they sleep only if jobs get whole ones; Slurm's scheduler knows no others.
    slots = 1 if role == "sleep" or name == "slurm" else data.draw(st.sampled_from([1, 3]))
    workload = data.draw(workloads(max_slots=slots, max_nodes=4, observed=True))
    platform = data.draw(platforms(max_slots=slots, max_nodes=4))
    other = data.draw(st.sampled_from(["none", "first-fit", "reservations"]))
    check_schedule(hs.simulate(workload, platform, composed(role, name, other)), workload, platform)


@part_of_the_registry
def test_a_part_conforms(role: str, name: str) -> None:
    conformance(f"{role}={name}", examples=FEW.max_examples // 2)


@preset
def test_a_preset_conforms(name: str) -> None:
    conformance(name, examples=FEW.max_examples // 2)


@preset
def test_a_preset_is_listed_with_its_parts_and_its_source(name: str) -> None:
    rows = hs.presets().filter(pl.col("name") == name)
    assert len(rows) == 1
    row = rows.row(0, named=True)
    own = hs.Policy.preset(name).parts
    for role in ROLES:
        part = own[role]
        assert part is not None or role in ("power", "sleep")
        assert row[role] == (part and part["name"])
    assert len(row["source"]) > 5


@preset
def test_a_preset_survives_its_dictionary(name: str) -> None:
    policy = hs.Policy.preset(name)
    assert hs.Policy.from_dict(policy.to_dict()) == policy
    assert policy.name == name


@preset
def test_a_preset_schedules_everyone_and_does_so_again(name: str) -> None:
    workload, platform = crowd()
    result = hs.simulate(workload, platform, name, seed=1)
    check_schedule(result, workload, platform)
    assert set(result.jobs["state"]) <= {"completed", "timeout"}
    assert result == hs.simulate(workload, platform, name, seed=1)


@part_that_counts_watts
@pytest.mark.parametrize("pcr", [0.5, 0.7])
def test_a_part_schedules_everyone_under_a_budget_that_binds(role: str, name: str, pcr: float) -> None:
    """Idle nodes draw 80 of 300 W: of 16, at most 6 and 10 can be at work at once on the hungriest."""
    workload, platform = crowd()
    policy = under_a_budget(composed(role, name), pcr=pcr)
    result = hs.simulate(workload, platform, policy, seed=1)
    check_schedule(result, workload, platform)
    assert result == hs.simulate(workload, platform, policy, seed=1)
    summary = result.summary()
    assert summary["budget_w"] == pytest.approx(pcr * 16 * 300.0)
    assert summary["peak_power_w"] <= summary["budget_w"] * (1 + 1e-9)
    free = hs.simulate(workload, platform, composed(role, name), seed=1)
    assert not free.jobs["start_s"].equals(result.jobs["start_s"])
    assert summary["completed"] + summary["timeout"] + summary["rejected"] == len(workload)


@part_that_counts_watts
@FEW
@given(data=st.data())
def test_a_part_keeps_the_laws_under_a_budget_on_any_machine(role: str, name: str, data: st.DataObject) -> None:
    slots = data.draw(st.sampled_from([1, 3]))
    workload = data.draw(workloads(max_slots=slots, max_nodes=4, observed=True))
    platform = data.draw(platforms(max_slots=slots, max_nodes=4))
    other = data.draw(st.sampled_from(["none", "first-fit", "reservations"]))
    policy = under_a_budget(composed(role, name, other), pcr=data.draw(st.sampled_from([0.45, 0.6, 0.75])))
    check_schedule(hs.simulate(workload, platform, policy), workload, platform)


def counts_watts(name: str) -> bool:
    """True of a preset that neither sleeps nor names nodes by itself."""
    own = hs.Policy.preset(name)
    return own.parts["sleep"] is None and not own._part_flag("backfill", "chooses_nodes")


@pytest.mark.parametrize("name", [name for name in PRESETS if counts_watts(name)])
@pytest.mark.parametrize("pcr", [0.5, 0.7])
def test_a_preset_keeps_a_budget_that_binds(name: str, pcr: float) -> None:
    workload, platform = crowd()
    result = hs.simulate(workload, platform, under_a_budget(hs.Policy.preset(name), pcr=pcr), seed=1)
    check_schedule(result, workload, platform)
    assert result.summary()["over_budget_s"] == 0
    assert result.summary()["peak_power_w"] > 0.9 * result.summary()["budget_w"]


def test_the_presets_of_the_contract_are_there() -> None:
    named = {"fcfs", "easy", "conservative", "sjf", "ljf", "random", "sequence", "naive", "paa", "coa", "swa", "pool"}
    named |= {"vu-fcfs", "vu-fcfs-b", "cva-fcfs", "cva-fcfs-b", "cgva-fcfs", "cgva-fcfs-b", "vahrm", "replay"}
    assert named <= set(hs.presets()["name"])
