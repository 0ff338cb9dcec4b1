"""Schedules of an operated machine, worked out by hand (operations page on machines: its examples and rules)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from worked_examples import column, jobs, starts
from worked_examples import run as run_of

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def events(*rows: dict[str, Any]) -> hs.Events:
    return hs.Events.from_polars(pl.DataFrame(list(rows), infer_schema_length=None))


def fails(time_s: float, node: int = 0) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "node_failed", "node": node}


def repaired(time_s: float, node: int = 0) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "node_repaired", "node": node}


def maintenance(time_s: float, until_s: float, node: int = 0, announced_s: float | None = None) -> dict[str, Any]:
    row = {"time_s": time_s, "kind": "maintenance", "node": node, "until_s": until_s}
    return row if announced_s is None else {**row, "announced_s": announced_s}


def cancel(time_s: float, job_id: int) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "cancel", "job_id": job_id}


def run(workload: hs.Workload, nodes: int, backfill: str = "none", **options: Any) -> hs.Result:
    return run_of(workload, hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=400.0), backfill, **options)


TWO = ((0, 100, 100, 2), (10, 10, 10, 1))
OUTAGE = (fails(50.0), repaired(80.0))


def test_the_example_of_a_node_that_fails_under_fail() -> None:
    result = run(jobs(*TWO), 2, events=events(*OUTAGE))
    assert result.jobs.select("state", "start_s", "end_s").rows() == [("failed", 0.0, 50.0), ("completed", 50.0, 60.0)]
    assert column(result, "lost_energy_j") == [40e3, 0.0]
    assert column(result, "reason")[0] == "a node failed"
    assert result.jobs["nodes"][1].to_list() == [1]
    # Rule 36: the repair at 80 comes after the last end.
    assert result.summary()["makespan_s"] == 60.0
    assert result.nodes["down_s"].to_list() == [10.0, 0.0]


def test_the_example_of_a_node_that_fails_under_requeue() -> None:
    result = run(jobs(*TWO), 2, events=events(*OUTAGE), on_failure="requeue")
    assert result.jobs.select("start_s", "end_s").rows() == [(80.0, 180.0), (180.0, 190.0)]
    assert column(result, "lost_energy_j") == [40e3, 0.0]
    assert column(result, "attempts") == [2, 1]
    assert column(result, "energy_j") == [120e3, 4e3]
    assert column(result, "mean_power_w") == [800.0, 400.0]
    segments = result.segments.select("job_id", "attempt", "start_s", "end_s", "power_w", "energy_j", "state")
    assert segments.rows() == [
        (1, 1, 0.0, 50.0, 800.0, 40e3, "running"),
        (1, 2, 80.0, 180.0, 800.0, 80e3, "running"),
        (2, 1, 180.0, 190.0, 400.0, 4e3, "running"),
    ]
    told = result.events.select("time_s", "kind", "node", "job_id").rows()
    assert told == [(50.0, "failed", 0, None), (50.0, "requeue", None, 1), (80.0, "repaired", 0, None)]


def test_the_example_of_jobs_that_depend_on_one_that_is_killed() -> None:
    rows = [(0, 100, 50, 1), *[(0, 10, None, 1)] * 3, (0, 10, None, 1)]
    result = run(
        jobs(
            *rows,
            depends_on=[None, 1, 1, 1, 3],
            depends_how=[None, "any", "ok", "not_ok", "any"],
            think_s=[None, None, None, 7.0, None],
        ),
        3,
    )
    assert column(result, "state") == ["timeout", "completed", "cancelled", "completed", "completed"]
    assert column(result, "end_s")[0] == 50.0
    assert starts(result)[1:] == [50.0, None, 57.0, 50.0]
    assert column(result, "eligible_s") == [0.0, 50.0, None, 57.0, 50.0]
    assert column(result, "wait_s")[3] == 57.0, "waits count from the submission"
    assert column(result, "started_by") == ["immediate", "immediate", None, "immediate", "immediate"]


@pytest.mark.parametrize("announced_s", [None, 0.0])
def test_the_example_of_maintenance_that_is_known(announced_s: float | None) -> None:
    workload = jobs((0, 60, 150, 1), (10, 50, 100, 1), (20, 90, 90, 1))
    result = run(workload, 1, "plan", events=events(maintenance(100.0, 200.0, announced_s=announced_s)))
    assert starts(result) == [200.0, 260.0, 310.0]
    assert result.events.select("time_s", "kind", "node").rows() == [(100.0, "out", 0), (200.0, "back", 0)]


def test_rule_3_and_28_jobs_of_a_full_array_are_passed_over() -> None:
    # Of array 7 one may run at once: job 2 is as if not queued, so that it blocks nobody, and job 3 starts at once.
    workload = jobs((0, 50, 50, 1), (0, 50, 50, 1), (0, 30, 30, 1), array_id=[7, 7, None], array_limit=[1, 1, None])
    result = run(workload, 2)
    assert starts(result) == [0.0, 50.0, 0.0]
    assert column(result, "started_by") == [
        "immediate",
        "reservation",
        "immediate",
    ]
    # Job 2 is blocked by its size before the array is full: it holds its reservation, and job 3 of the array waits for
    # both ends.
    wide = jobs((0, 50, 50, 1), (0, 10, 10, 2), (0, 40, 40, 1), array_id=[None, 7, 7], array_limit=[None, 1, 1])
    assert starts(run(wide, 2, "reservations")) == [0.0, 50.0, 0.0]


def test_rule_4_waits_in_orders_count_from_becoming_eligible() -> None:
    # Job 1 was submitted first and is eligible last.
    workload = jobs((0, 10, 10, 1), (1, 10, 10, 1), (2, 10, 10, 1), (3, 10, 10, 1), start_at_s=[5.0, None, None, None])
    assert starts(run(workload, 1)) == [31.0, 1.0, 11.0, 21.0]


def test_rule_7_maintenance_that_is_known_before_it_begins_needs_plan() -> None:
    window = events(maintenance(100.0, 200.0))
    with pytest.raises(hs.ConfigError, match=r"events\.announced_s, row 0.*only the backfill `plan`"):
        run(jobs((0, 60, 150, 1)), 1, events=window)
    late = events(maintenance(100.0, 200.0, announced_s=100.0))
    result = run(jobs((0, 60, 150, 1), (10, 50, 100, 1)), 1, events=late)
    assert starts(result) == [0.0, 60.0]
    assert column(result, "state") == ["completed", "failed"]
    assert column(result, "reason")[1] == "a node went into maintenance"


def test_rule_7_a_power_part_takes_no_events_but_budgets() -> None:
    policy = hs.Policy(power={"name": "system-budget", "budget_w": 1000})
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100.0, tdp_w=400.0)
    with pytest.raises(hs.ConfigError, match=r"events\.kind, row 0: found `node_failed` at 5 s, expected only budgets"):
        hs.simulate(jobs((0, 60, 150, 1)), platform, policy, events=events(fails(5.0)))


def test_rule_8_plans_count_on_the_end_of_maintenance_not_on_repairs() -> None:
    workload = jobs((0, 20, 20, 1), (1, 10, 10, 2), (2, 60, 60, 1), (3, 8, 8, 1))
    out = events(maintenance(0.0, 30.0, 1, announced_s=0.0))
    # Job 2 is planned at 30, when node 1 is back; job 4 alone is done by then.
    for backfill in ("plan", "reservations"):
        assert starts(run(workload, 2, backfill, events=out)) == [0.0, 30.0, 40.0, 20.0]
    broken = events(fails(0.0, 1))
    result = run(workload, 2, "plan", events=broken)
    assert starts(result) == [0.0, None, 20.0, 80.0]
    assert column(result, "state")[1] == "pending"
    assert column(result, "reason")[1] == "could not start, and nothing was to come that would have let it"


def test_rule_12_returning_nodes_have_a_pass_at_once_and_cancellations_wait() -> None:
    plan = {"name": "plan", "interval_s": 30}
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=400.0)

    def at(*rows: dict[str, Any]) -> list[float | None]:
        workload = jobs((0, 100, 100, 1), (1, 10, 10, 2), (2, 200, 200, 1))
        return starts(hs.simulate(workload, platform, hs.Policy("fcfs", plan), events=events(*rows)))

    assert at(cancel(40.0, 2)) == [0.0, None, 60.0]
    assert at(cancel(40.0, 2), fails(45.0), repaired(50.0)) == [0.0, None, 45.0], "node 0 was taken, node 1 is free"
    assert at(fails(5.0, 1), repaired(7.0, 1)) == [0.0, 100.0, 110.0]


def test_rule_24_a_job_is_eligible_at_the_latest_of_what_it_waits_for() -> None:
    workload = jobs(
        *[(0, 10, 10, 1)] * 4,
        start_at_s=[None, 40.0, 5.0, None],
        depends_on=[None, 1, 1, 1],
        think_s=[None, 7.0, 7.0, None],
    )
    assert column(run(workload, 4), "eligible_s") == [0.0, 40.0, 17.0, 10.0]


def test_rule_25_ends_and_what_they_are() -> None:
    # 1 is rejected at its submission at 30, and 2 waits for that; 3 is withdrawn at 20, and 4 with it, wanting an ok
    # end; 5 takes every end of 4. Job 6 is hopeless before its submission, at which it is cancelled.
    workload = jobs(
        (30, 10, 10, 9),
        *[(0, 10, 10, 1)] * 4,
        (50, 10, 10, 1),
        depends_on=[None] * 6,
    ).to_polars()
    ids = workload["job_id"].to_list()
    wanted = {2: (1, "not_ok"), 4: (3, "ok"), 5: (4, "any"), 6: (3, "ok")}
    workload = workload.with_columns(
        depends_on=pl.Series([wanted.get(i, (None, None))[0] for i in ids], dtype=pl.Int64),
        depends_how=pl.Series([wanted.get(i, (None, None))[1] for i in ids], dtype=pl.String),
        cancel_s=pl.Series([20.0 if i == 3 else None for i in ids]),
        start_at_s=pl.Series([25.0 if i == 3 else None for i in ids]),
    )
    result = run(hs.Workload.from_polars(workload), 2)
    found = {row["job_id"]: row for row in result.jobs.iter_rows(named=True)}
    assert {i: found[i]["state"] for i in found} == {
        1: "rejected",
        2: "completed",
        3: "cancelled",
        4: "cancelled",
        5: "completed",
        6: "cancelled",
    }
    assert (found[2]["start_s"], found[5]["start_s"]) == (30.0, 20.0)
    cancelled = result.events.filter(pl.col("kind") == "cancel").select("time_s", "job_id").rows()
    assert cancelled == [(20.0, 3), (20.0, 4), (50.0, 6)]
    assert found[4]["reason"] == "the job that it depends on did not end as it asks"


def test_rule_26_who_runs_or_has_ended_is_not_cancelled() -> None:
    workload = jobs((0, 10, 10, 1), (0, 10, 10, 1), (5, 10, 10, 1), cancel_s=[5.0, None, 1.0])
    result = run(workload, 1, events=events(cancel(4.0, 2), cancel(4.5, 2)))
    assert column(result, "state") == ["completed", "cancelled", "cancelled"]
    assert starts(result) == [0.0, None, None]
    assert column(result, "nodes")[1] is None
    assert result.events.select("time_s", "job_id").rows() == [(4.0, 2), (5.0, 3)]


def test_rule_27_who_is_withdrawn_as_its_nodes_free_does_not_start() -> None:
    workload = jobs((0, 10, 10, 1), (0, 10, 10, 1), cancel_s=[None, 10.0])
    assert starts(run(workload, 1)) == [0.0, None]


def test_rule_29_outages_nest() -> None:
    # Of a failure and two windows each is over by itself; node 0 is down from 10 to 60.
    told = [
        maintenance(10.0, 40.0, announced_s=10.0),
        fails(20.0),
        fails(25.0),
        maintenance(30.0, 60.0, announced_s=30.0),
        repaired(50.0),
        repaired(55.0),
    ]
    result = run(jobs((0, 5, 5, 1), (6, 1, 1, 1), (15, 10, 10, 1)), 1, events=events(*told))
    assert starts(result) == [0.0, 6.0, 60.0]
    assert result.nodes["down_s"].to_list() == [50.0]
    kinds = result.events["kind"].to_list()
    assert kinds == ["out", "failed", "out", "back", "repaired", "back"], "what changes nothing is no event"


def test_rule_29_a_repair_comes_before_a_failure_of_its_instant() -> None:
    result = run(jobs((0, 10, 10, 1), (20, 10, 10, 1)), 1, events=events(fails(15.0), repaired(15.0)))
    assert starts(result) == [0.0, None]


def test_what_comes_before_the_first_submit_happens_at_it() -> None:
    workload = jobs((100, 10, 10, 1))
    assert starts(run(workload, 1, events=events(fails(5.0), repaired(6.0)))) == [100.0]
    assert starts(run(workload, 1, events=events(maintenance(5.0, 90.0, announced_s=5.0)))) == [100.0]
    assert starts(run(workload, 1, events=events(maintenance(5.0, 130.0, announced_s=5.0)))) == [130.0]


def test_rule_30_a_requeued_job_keeps_its_place() -> None:
    workload = jobs((0, 100, 100, 1), (1, 100, 100, 2), (2, 5, 5, 1))
    result = run(workload, 3, events=events(fails(50.0)), on_failure="requeue")
    assert starts(result)[:2] == [101.0, 1.0]
    assert column(result, "attempts") == [2, 1, 1]
    free = run(jobs((0, 100, 100, 1)), 2, events=events(fails(50.0)), on_failure="requeue")
    assert starts(free) == [50.0]
    assert free.jobs["nodes"][0].to_list() == [1]
    assert column(free, "started_by") == ["reservation"]


def test_rule_31_a_job_that_waits_for_another_attempt_has_no_times() -> None:
    result = run(jobs((0, 100, 100, 1)), 1, events=events(fails(50.0)), on_failure="requeue")
    row = result.jobs.row(0, named=True)
    assert (row["state"], row["start_s"], row["nodes"], row["attempts"]) == ("pending", None, None, 1)
    assert (row["energy_j"], row["lost_energy_j"]) == (20e3, 20e3)
    assert result.summary()["makespan_s"] == 50.0, "rule 36: ends of lost attempts count"


def test_rule_36_what_happens_after_the_last_end_draws_nothing() -> None:
    # Job 2 waits for a node that never comes back, and is cancelled at 500; node 1 fails at 200.
    workload = jobs((0, 10, 10, 1), (0, 10, 10, 3), cancel_s=[None, 500.0])
    result = run(workload, 3, events=events(fails(0.0, 2), fails(200.0, 1)))
    assert column(result, "state") == ["completed", "cancelled"]
    assert result.summary()["makespan_s"] == 10.0
    assert result.summary()["energy_j"] == 10 * (400 + 100)
    assert result.timeline["time_s"].to_list() == [0.0, 10.0]
    assert result.events["time_s"].to_list() == [0.0, 200.0, 500.0]


def test_rule_36_a_run_in_which_nothing_starts_has_no_length() -> None:
    workload = jobs(
        (5, 10, 10, 1), (6, 10, 10, 1), cancel_s=[50.0, None], depends_on=[None, 1], depends_how=[None, "ok"]
    )
    result = run(workload, 1, events=events(fails(0.0)))
    assert column(result, "state") == ["cancelled", "cancelled"]
    assert result.summary()["energy_j"] == 0.0
    assert result.events["time_s"].to_list() == [5.0, 50.0, 50.0]


def test_rule_37_columns_are_there_only_where_they_say_something() -> None:
    plain = run(jobs((0, 10, 10, 1)), 1)
    assert not {"eligible_s", "attempts", "lost_energy_j"} & set(plain.jobs.columns)
    waits = run(jobs((0, 10, 10, 1), start_at_s=[3.0]), 1)
    assert "eligible_s" in waits.jobs.columns
    assert "attempts" not in waits.jobs.columns
    assert not plain.has_segments
    assert plain.events.is_empty()
