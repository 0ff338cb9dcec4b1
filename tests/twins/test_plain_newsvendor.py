"""The sleep part `newsvendor` beside its twin in plain Python, and the wake plan that it and objects have."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from machine_agreement import agrees
from machine_cases import cases
from plain_jobs import Job
from plain_machine import Machine
from plain_newsvendor import PlainNewsvendor
from plain_nodes import Sleep

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def log(seed: int, jobs: int, nodes: int, mean_s: float) -> hs.Workload:
    rng = np.random.default_rng(seed)
    asked = rng.integers(1, nodes // 2 + 1, jobs)
    runtime = rng.integers(0, 1200, jobs)
    submit = np.cumsum(rng.exponential(mean_s, jobs).round())
    columns = {"job_id": np.arange(jobs), "submit_s": submit, "runtime_s": runtime, "node_count": asked}
    return hs.Workload.from_polars(pl.DataFrame(columns).with_columns(walltime_s=pl.Series(runtime * 2 + 60)))


@pytest.mark.parametrize("backfill", ["plan", "reservations", "first-fit"])
@pytest.mark.parametrize("mean_s", [150.0, 900.0])
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_the_part_agrees_with_its_twin(backfill: str, mean_s: float, ratio: float) -> None:
    workload = log(7, 250, 12, mean_s)
    watts = {"idle_w": 600.0, "tdp_w": 2100.0, "boot_s": 60.0, "shutdown_s": 120.0, "off_w": 0.0}
    platform = hs.Platform.homogeneous(nodes=12, **watts)
    own = hs.Policy(backfill=backfill, sleep={"name": "newsvendor", "reserve_ratio": ratio})
    twin = hs.Policy(backfill=backfill, sleep=PlainNewsvendor(60.0, 120.0, ratio))
    ours, plain = (hs.simulate(workload, platform, policy) for policy in (own, twin))
    assert ours.events.equals(plain.events)
    assert ours.jobs.equals(plain.jobs)
    assert ours.nodes["boots"].sum() > 20


@pytest.mark.parametrize("backfill", ["plan", "reservations"])
def test_nodes_that_boot_in_no_time_need_no_reserve(backfill: str) -> None:
    workload = log(7, 250, 12, 150.0)
    platform = hs.Platform.homogeneous(nodes=12, idle_w=600.0, tdp_w=2100.0, boot_s=0.0, shutdown_s=0.0, off_w=0.0)
    own, twin = (
        hs.simulate(workload, platform, hs.Policy(backfill=backfill, sleep=sleep))
        for sleep in ("newsvendor", PlainNewsvendor(0.0, 0.0))
    )
    assert own.events.equals(twin.events)
    assert own.jobs.equals(twin.jobs)
    assert own.nodes["boots"].sum() > 20


class Planned:
    """The part `planned`, as an object."""

    def __init__(self, both: int) -> None:
        self.both = both

    def rest(self, nodes: Any, view: Any) -> Any:
        away = (nodes.next_start_s - view.now_s) * 1e6
        far = (away > self.both + 0.5) & (away >= nodes.break_even_s * 1e6 - 0.5)
        return nodes.idle[far][::-1]


@given(cases(plan=False, sleep=True))
def test_counted_nodes_are_woken_for_what_the_backfill_would_do(case: tuple[Machine, list[Job]]) -> None:
    machine, jobs = case
    assert machine.sleep is not None
    boot, shutdown = machine.sleep.boot, machine.sleep.shutdown
    machine.sleep = Sleep(boot, shutdown, 0, boot + shutdown, shutdown, boot, as_backfilled=True)
    agrees(machine, jobs, Planned(shutdown + max(1, boot)))
