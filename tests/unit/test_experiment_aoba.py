"""The experiments on AOBA: machines and settings as the paper has them, and what is measured of each run."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.experiments.aoba import lending, system, validation
from hetsched.experiments.experiment import Repetition
from hetsched.policy.policy import parse_policy
from hetsched.testing import check_schedule
from hetsched.workload import aoba

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


@pytest.fixture(scope="module")
def busy() -> hs.Workload:
    return aoba(period="busy", seed=4)


@pytest.fixture(scope="module")
def operated(busy: hs.Workload) -> hs.Result:
    return hs.simulate(busy, system.machine(), system.PRESET)


def test_settings_are_those_of_table_3():
    policies = {label: parse_policy(text) for label, text in system.SETTINGS.items() if label != "A"}
    own = {label: policy.parts["sleep"] for label, policy in policies.items()}
    table = {
        label: (part["min_idle_s"], part["off_limit_per_day"], part["estimated_off_s"]) for label, part in own.items()
    }
    assert table == {
        "AOBA": (7200, 5, 3600), "B": (3600, 5, 3600), "C": (10_800, 5, 3600), "D": (7200, 200, 3600),
        "E": (7200, 5, 1800), "F": (7200, 5, 7200),
    }  # fmt: skip
    assert {(part["stop_margin_s"], part["start_margin_s"]) for part in own.values()} == {(600, 1200)}


def test_the_machine_has_the_queues_of_the_study():
    queues = system.machine().queues
    assert queues is not None
    assert tuple(queue.name for queue in queues) == system.QUEUES
    assert {node for queue in queues for node in queue.nodes} == set(range(system.USED))


@pytest.mark.parametrize(
    ("allocation", "single", "others", "both"),
    [
        (lending.OWN, 4, 58, 0),
        (lending.MOVE_2, 2, 60, 0),
        (lending.MOVE_3, 1, 61, 0),
        (lending.SHARE_2, 4, 60, 2),
        (lending.SHARE_3, 4, 61, 3),
        (lending.SHARE_ALL, 62, 62, 62),
    ],
)
def test_allocations_are_those_of_table_4(allocation, single, others, both):
    queues = {queue.name: set(queue.nodes) for queue in lending._machine(allocation).queues or ()}
    assert {len(queues[name]) for name in system.SINGLE} == {single}
    assert {len(queues[name]) for name in system.PARALLEL} == {others}
    assert len(queues["sxf"] & queues["sx_m"]) == both
    assert set().union(*queues.values()) == set(range(system.USED))


def test_what_is_measured_adds_up(operated, busy):
    check_schedule(operated, busy, system.machine())
    found = system.measured(operated)
    whole_j = operated.summary()["energy_j"]
    assert found["used_energy_j"] + found["spare_energy_j"] == pytest.approx(whole_j, rel=1e-12)
    # Nodes in no queue: idle for two hours, two minutes of stopping, then off.
    assert found["spare_energy_j"] == pytest.approx(10 * 600 * (7200 + 120))
    jobs = operated.jobs.group_by("queue").agg(pl.col("wait_s").sum())
    assert jobs["wait_s"].sum() == pytest.approx(
        sum(found[f"wait_{queue}"] * len(busy.to_polars().filter(queue=queue)) for queue in system.QUEUES)
    )
    usual = system.measured(hs.simulate(busy, system.machine(), system.SETTINGS["A"]))
    assert (usual["boots_a_day"], usual["attained_percent"]) == (0.0, pytest.approx(0.0, abs=1e-9))
    assert usual["spare_energy_j"] > found["spare_energy_j"]


def test_the_share_attained_is_what_a_plain_loop_finds(operated):
    idle_s = least_s = drawn_s = 0.0
    end_s = float(operated.timeline["time_s"][-1])
    first_s = float(operated.timeline["time_s"][0])
    by_node: dict[int, list[tuple[float, float]]] = {node: [] for node in range(system.USED)}
    for start, end, nodes in operated.jobs.select("start_s", "end_s", "nodes").iter_rows():
        for node in nodes:
            by_node[node].append((start, end))
    for held in by_node.values():
        free_from = first_s
        for start, end in [*sorted(held), (end_s, end_s)]:
            gap = start - free_from
            if gap > 1e-6:
                idle_s += gap
                through = 180.0 if start < end_s and gap >= 180 else min(gap, 120.0) if start == end_s else gap
                least_s += min(gap, through)
            free_from = max(free_from, end)
    own = operated.nodes.filter(pl.col("node") < system.USED)
    drawn_s = float(own["idle_s"].sum() + own["transition_s"].sum())
    expected = 100.0 * (idle_s - drawn_s) / (idle_s - least_s)
    assert system.attained_percent(operated) == pytest.approx(expected, rel=1e-9)
    assert 0 < expected < 100


def test_policies_that_count_nodes_are_left_out_where_queues_share_some():
    own = {"yours: easy": hs.Policy.preset("easy"), "yours: plan": hs.Policy("fcfs", "plan")}
    assert set(lending._fitting(own, lending.SHARE_2)) == {"yours: plan"}
    assert set(lending._fitting(own, lending.SHARE_ALL)) == set(own)


def test_held_jobs_are_of_paid_queues_and_as_many_as_said():
    jobs = aoba(seed=2).to_polars()
    held = validation._held(jobs, 2).filter(pl.col("start_at_s").is_not_null())
    assert set(held["queue"]) <= set(system.PARALLEL)
    assert len(held) / len(jobs) == pytest.approx(validation.HELD_RATIO, abs=0.01)
    hours = (held["start_at_s"] - held["submit_s"]).to_numpy() / 3600
    assert hours.min() >= 12
    assert hours.max() <= 60


def test_the_machine_that_is_played_boots_at_other_paces():
    own = validation._played_machine(3)
    boots = np.array([one.boot_s for one in own.classes])
    assert own.nodes == 72
    assert len(set(boots)) > 60
    assert boots.min() >= 45
    assert boots.max() <= 90


def test_a_simulator_that_knows_all_repeats_the_run_and_the_correction_helps():
    rows = pl.DataFrame(validation._repeat(Repetition(seed=5, is_quick=True)), infer_schema_length=None)
    played = {row["policy"]: row for row in rows.filter(scenario=validation.PLAYED).to_dicts()}
    assert played[validation.KNOWN]["class 0"] == 100.0
    assert played[validation.KNOWN]["apart_points"] == pytest.approx(0.0, abs=1e-9)
    assert played[validation.RECORDED]["held_percent"] > 4.0
    assert played[validation.CORRECTED]["held_percent"] < 1.0
    assert played[validation.RECORDED]["near_percent"] < played[validation.CORRECTED]["near_percent"]
