"""Laws of nodes that sleep where they are counted by cell."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from sleepy_kinds import BACKFILLS, KINDS, Job, jobs, platform, sleeps, workload

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def run(log: hs.Workload, machine: hs.Platform, backfill: Any, sleep: Any) -> hs.Result:
    result = hs.simulate(log, machine, hs.Policy("fcfs", backfill, sleep=sleep))
    check_schedule(result, log, machine)
    return result


@settings(max_examples=4 * settings().max_examples)
@given(jobs(6), BACKFILLS, sleeps(), st.sampled_from([0.0, 20.0, 90.0]), st.sampled_from([0.0, 45.0]))
def test_one_cell_is_as_if_nodes_were_alike(
    rows: list[Job], backfill: Any, sleep: dict[str, Any], boot_s: float, shutdown_s: float
) -> None:
    """Licences that never run short make the engine count by cell, of which there is one."""
    alike = run(workload(rows), platform([6], [boot_s], shutdown_s, None), backfill, sleep)
    licensed = workload(rows, licences=["m:1"] * len(rows))
    counted = run(licensed, platform([6], [boot_s], shutdown_s, {"m": len(rows)}), backfill, sleep)
    columns = ["job_id", "state", "start_s", "end_s", "nodes", "started_by", "energy_j"]
    assert counted.jobs.select(columns).equals(alike.jobs.select(columns))
    assert counted.nodes.equals(alike.nodes)
    assert (counted.events is None) == (alike.events is None)
    if counted.events is not None and alike.events is not None:
        assert counted.events.rows() == alike.events.rows()


@settings(max_examples=4 * settings().max_examples)
@given(jobs(3), st.sampled_from(["none", "reservations", {"name": "reservations", "depth": "unbounded"}]))
def test_free_wake_ups_in_no_time_move_no_start_of_jobs_of_one_kind(rows: list[Job], backfill: Any) -> None:
    """A job that may choose between kinds takes one that is on: its start may then differ."""
    log = workload(rows, constraint=[f"k{row[4]}" for row in rows])
    machine = platform([3] * KINDS, [0.0] * KINDS, 0.0, None)
    asleep = run(log, machine, backfill, {"name": "timeout", "min_idle_s": 0})
    awake = run(log, machine, backfill, None)
    assert asleep.jobs["start_s"].to_list() == awake.jobs["start_s"].to_list()
    assert asleep.nodes["shutdowns"].sum() > 0


@settings(max_examples=4 * settings().max_examples)
@given(jobs(3), sleeps(), st.lists(st.sampled_from([0.0, 20.0, 90.0]), min_size=KINDS, max_size=KINDS))
def test_a_kind_sleeps_under_first_fit_as_if_it_were_the_machine(
    rows: list[Job], sleep: dict[str, Any], boots_s: list[float]
) -> None:
    """Jobs may use one kind each, and no job waits for another: no kind has anything to do with another."""
    # A reserve, and nodes that stay on, are those of the whole machine.
    sleep = sleep | {"name": "planned", "min_on_nodes": 0}
    log = workload(rows, constraint=[f"k{row[4]}" for row in rows])
    together = run(log, platform([3] * KINDS, boots_s, 45.0, None), "first-fit", sleep)
    chosen = rows[0][4]
    own = [row for row in rows if row[4] == chosen]
    alone = run(workload(own), platform([3], [boots_s[chosen]], 45.0, None), "first-fit", sleep)
    starts = zip(together.jobs["start_s"].to_list(), rows, strict=True)
    assert [start for start, row in starts if row[4] == chosen] == alone.jobs["start_s"].to_list()
