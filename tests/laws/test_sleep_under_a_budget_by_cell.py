"""Laws of nodes that sleep under a budget where they are counted by cell: rule 11 of docs/background."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import assume, given, settings
from sleepy_kinds import BACKFILLS, KINDS, Job, jobs, platform, sleeps, workload

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

ENDLESS = {"name": "system-budget", "budget_w": 1e6}
BOOTS = st.lists(st.sampled_from([0.0, 20.0, 90.0]), min_size=KINDS, max_size=KINDS)


def run(log: hs.Workload, machine: hs.Platform, backfill: Any, sleep: Any, power: Any) -> hs.Result:
    result = hs.simulate(log, machine, hs.Policy("fcfs", backfill, power=power, sleep=sleep))
    check_schedule(result, log, machine)
    return result


def same(one: hs.Result, other: hs.Result) -> None:
    columns = ["job_id", "state", "start_s", "end_s", "nodes", "started_by", "energy_j"]
    assert one.jobs.select(columns).equals(other.jobs.select(columns))
    assert one.nodes.equals(other.nodes)
    kept = [[] if each.events is None else each.events.select("time_s", "kind", "node").rows() for each in (one, other)]
    assert kept[0] == kept[1]


def budget(nodes: int, share: float) -> dict[str, Any]:
    """So that a share of the nodes can serve while the others idle; at least enough to boot one."""
    return {"name": "system-budget", "budget_w": nodes * 100.0 + max(share * nodes * 200.0, 50.0)}


@settings(max_examples=4 * settings().max_examples)
@given(
    jobs(6), BACKFILLS, sleeps(), st.sampled_from([0.0, 20.0, 90.0]), st.sampled_from([0.0, 45.0]), st.floats(0.0, 1.0)
)
def test_one_cell_is_as_if_nodes_were_alike(
    rows: list[Job], backfill: Any, sleep: dict[str, Any], boot_s: float, shutdown_s: float, share: float
) -> None:
    """Licences that never run short make the engine count by cell, of which there is one."""
    power = budget(6, share)
    alike = run(workload(rows), platform([6], [boot_s], shutdown_s, None), backfill, sleep, power)
    licensed = workload(rows, licences=["m:1"] * len(rows))
    counted = run(licensed, platform([6], [boot_s], shutdown_s, {"m": len(rows)}), backfill, sleep, power)
    same(counted, alike)


@st.composite
def one_by_one(draw: st.DrawFn) -> list[Job]:
    """Jobs so far apart that mostly none waits for anything but nodes that boot."""
    submit, found = 0, []
    for _ in range(draw(st.integers(1, 24))):
        submit += draw(st.sampled_from([300, 300, 400, 1000]))
        runtime = draw(st.sampled_from([0, 1, 100, 600]))
        length = runtime + draw(st.sampled_from([0, 0, 30]))
        found.append((submit, runtime, length, draw(st.integers(1, 3)), draw(st.integers(0, KINDS))))
    return found


@settings(max_examples=4 * settings().max_examples)
@given(one_by_one(), BACKFILLS, sleeps(), BOOTS, st.sampled_from([0.0, 45.0]))
def test_where_jobs_wait_one_at_a_time_an_endless_budget_is_none(
    rows: list[Job], backfill: Any, sleep: dict[str, Any], boots_s: list[float], shutdown_s: float
) -> None:
    """Rule 7, which keeps nodes for one that waits, has nobody to keep them from: what is left is rule 20."""
    sleep = sleep | {"name": "timeout"}
    log = workload(rows, constraint=[f"k{row[4]}" if row[4] < KINDS else None for row in rows])
    machine = platform([3] * KINDS, boots_s, shutdown_s, None)
    free = run(log, machine, backfill, sleep, None)
    waits = free.jobs.select("submit_s", "start_s").drop_nulls().rows()
    assume(all(start < submit for (_, start), (submit, _) in pairwise(waits)))
    same(run(log, machine, backfill, sleep, ENDLESS), free)


@settings(max_examples=4 * settings().max_examples)
@given(jobs(3), sleeps(), BOOTS)
def test_a_kind_sleeps_under_an_endless_budget_as_if_it_were_the_machine(
    rows: list[Job], sleep: dict[str, Any], boots_s: list[float]
) -> None:
    """Jobs may use one kind each, and all hold reservations: no kind has anything to do with another."""
    # A reserve, and nodes that stay on, are those of the whole machine; what is late is planned again at each pass.
    sleep = sleep | {"name": "planned", "min_on_nodes": 0, "start_margin_s": "actual", "stop_margin_s": "actual"}
    conservative = {"name": "reservations", "depth": "unbounded"}
    log = workload(rows, constraint=[f"k{row[4]}" for row in rows])
    together = run(log, platform([3] * KINDS, boots_s, 45.0, None), conservative, sleep, ENDLESS)
    chosen = rows[0][4]
    own = [row for row in rows if row[4] == chosen]
    alone = run(workload(own), platform([3], [boots_s[chosen]], 45.0, None), conservative, sleep, ENDLESS)
    starts = zip(together.jobs["start_s"].to_list(), rows, strict=True)
    assert [start for start, row in starts if row[4] == chosen] == alone.jobs["start_s"].to_list()


QUEUES = {
    "all": None,
    "some": [("a", "0-5"), ("b", "0-5"), ("c", "0-5")],
    "apart": [("a", "0-3"), ("b", "4-6"), ("c", "7-8")],
    "shared": [("a", "0-5"), ("b", "3-8"), ("c", "2-4")],
}


@st.composite
def settings_of(draw: st.DrawFn) -> tuple[hs.Workload, hs.Platform, dict[str, Any]]:
    """A log on kinds of nodes, queues or both, and a budget."""
    rows, sets, unlike = draw(jobs(2)), draw(st.sampled_from(sorted(QUEUES))), draw(st.booleans())
    queues = QUEUES[sets] and [hs.Queue(name, nodes) for name, nodes in QUEUES[sets] or []]
    columns: dict[str, list[Any]] = {"queue": ["abc"[row[4]] for row in rows]} if queues else {}
    if unlike and sets in ("all", "shared"):
        kinds = {0: "k0 | k1", 1: "k1", 2: None} if queues else {0: "k0", 1: "k1", 2: None}
        columns["constraint"] = [kinds[row[4]] for row in rows]
    machine = platform([3] * KINDS, draw(BOOTS), 45.0, None, queues)
    return workload(rows, **columns), machine, budget(3 * KINDS, draw(st.floats(0.0, 1.0)))


@settings(max_examples=4 * settings().max_examples)
@given(settings_of(), BACKFILLS, sleeps())
def test_no_budget_is_exceeded_and_who_could_run_awake_runs(
    setting: tuple[hs.Workload, hs.Platform, dict[str, Any]], backfill: Any, sleep: dict[str, Any]
) -> None:
    log, machine, power = setting
    asleep = run(log, machine, backfill, sleep, power)
    assert asleep.summary()["over_budget_s"] == 0.0
    assert asleep.timeline["power_w"].max() <= power["budget_w"] * (1 + 1e-9)
    awake = run(log, machine, backfill, None, power)
    assert asleep.jobs["state"].to_list() == awake.jobs["state"].to_list()


@given(settings_of(), BACKFILLS, sleeps())
def test_a_live_controller_decides_what_the_simulation_has(
    setting: tuple[hs.Workload, hs.Platform, dict[str, Any]], backfill: Any, sleep: dict[str, Any]
) -> None:
    log, machine, power = setting
    # No run is planned by what only a log knows.
    log = hs.Workload.from_polars(log.to_polars().with_columns(pl.col("walltime_s").fill_null(1.0).clip(1.0)))
    with tempfile.TemporaryDirectory() as folder:
        result = hs.simulate(log, machine, hs.Policy("fcfs", backfill, power=power, sleep=sleep), journal=folder)
        journal = hs.read_journal(folder)
        assert len(journal.decisions.filter(pl.col("kind") == "start")) == result.jobs["start_s"].count()
        journal.replay()
