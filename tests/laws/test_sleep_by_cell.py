"""Laws of nodes that sleep where they are counted by cell."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, settings

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

BACKFILLS = st.sampled_from(["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}])
KINDS = 3
#: ``(submit, runtime, walltime, nodes, kind)``
Job = tuple[int, int, int, int, int]


@st.composite
def jobs(draw: st.DrawFn, nodes: int) -> list[Job]:
    submit, found = 0, []
    for _ in range(draw(st.integers(1, 24))):
        submit += draw(st.sampled_from([0, 0, 1, 10, 100, 700]))
        runtime = draw(st.sampled_from([0, 1, 10, 60, 600]))
        length = runtime + draw(st.sampled_from([0, 0, 30, 600]))
        found.append((submit, runtime, length, draw(st.integers(1, nodes)), draw(st.integers(0, KINDS - 1))))
    return found


@st.composite
def sleeps(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["timeout", "planned", "newsvendor"]))
    margins = st.sampled_from(["actual", 0, 5, 200])
    return {
        "name": name,
        "min_idle_s": draw(st.sampled_from([0, 0, 30])),
        "stop_margin_s": draw(margins),
        "start_margin_s": draw(margins),
        "estimated_off_s": draw(st.sampled_from([0, 400, "break-even"])),
        "min_on_nodes": draw(st.sampled_from([0, 0, 1, 3])),
    }


def workload(rows: list[Job], **columns: list[Any]) -> hs.Workload:
    names = ("submit_s", "runtime_s", "walltime_s", "node_count")
    types = dict.fromkeys(names[:3], pl.Float64) | {"node_count": pl.Int64}
    frame = pl.DataFrame([row[:4] for row in rows], types, orient="row").with_row_index("job_id")
    return hs.Workload.from_polars(frame.with_columns(*(pl.Series(name, values) for name, values in columns.items())))


def platform(
    counts: list[int], boots_s: list[float], shutdown_s: float, licences: dict[str, int] | None
) -> hs.Platform:
    watts = {"idle_w": 100.0, "tdp_w": 300.0, "off_w": 0.0, "boot_w": 150.0, "shutdown_w": 50.0}
    classes = [
        {"name": f"k{kind}", "count": count, "boot_s": boot_s, "shutdown_s": shutdown_s, "features": [f"k{kind}"]}
        | watts
        for kind, (count, boot_s) in enumerate(zip(counts, boots_s, strict=True))
    ]
    return hs.Platform(classes, licences=licences)


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
