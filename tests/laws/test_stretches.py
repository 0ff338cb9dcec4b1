"""Runs whose jobs do not run in one stretch: the worked examples, broken in every way, and by the engine."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from stretch_examples import CASES, PLATFORM, Case, by_hand

import hetsched as hs
from hetsched.run.result import Parts, Result
from hetsched.run.result_files import OPTIONAL_FRAMES
from hetsched.testing import check_schedule


def edited(result: Result, **frames: Callable[[pl.DataFrame], pl.DataFrame]) -> Result:
    """The result with other frames."""
    held, summary, provenance = result._frames, result.summary(), result.provenance
    made = {name: frames.get(name, lambda frame: frame)(frame) for name, frame in held.items()}
    return Result(
        Parts(
            jobs=lambda: made["jobs"],
            timeline=lambda: made["timeline"],
            nodes=lambda: made["nodes"],
            summary=lambda _: summary,
            provenance=lambda: provenance,
            timing=result.timing,
            segments=lambda: made["segments"],
            events=(lambda: made["events"]) if "events" in made else None,
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_the_worked_examples_keep_the_laws(name: str) -> None:
    case = CASES[name]
    result = by_hand(case)
    assert result.jobs["energy_j"].to_list() == pytest.approx(list(case.energy_j))
    assert result.summary()["over_budget_s"] == case.over_budget_s
    check_schedule(result, case.workload, PLATFORM, events=case.events)


def row(number: int, **values: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Puts other values into a row of a frame."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        here = pl.int_range(pl.len()) == number
        made = [pl.when(here).then(pl.lit(v, frame.schema[n])).otherwise(pl.col(n)).alias(n) for n, v in values.items()]
        return frame.with_columns(made)

    return change


def without(number: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.filter(pl.int_range(pl.len()) != number)


RAISED, STOOD, AGAIN = "caps are raised again", "jobs are suspended", "one is requeued, one killed"

BREAKS: list[tuple[str, dict[str, Any], str]] = [
    (
        RAISED,
        {"segments": row(1, start_s=41.0)},
        "job 1, from 41.0 s: it does not begin where the stretch before it ends",
    ),
    (RAISED, {"segments": without(1)}, "job 1, from 80.0 s: it does not begin where"),
    (RAISED, {"segments": without(2)}, "job 1 on nodes [0, 1] from 0.0 s: its segments end at 80.0 s"),
    (RAISED, {"segments": without(0)}, "its segments begin at 40.0 s"),
    (RAISED, {"segments": row(1, nodes=[0, 2])}, "job 1, from 40.0 s: other nodes than in the stretch before it"),
    (RAISED, {"segments": row(1, cap_w=100.0)}, "job 1, from 40.0 s: its nodes draw other watts"),
    (RAISED, {"segments": row(1, power_w=310.0)}, "job 1, from 40.0 s: its energy is not its power times its length"),
    (RAISED, {"segments": row(1, power_w=310.0, energy_j=12_400.0)}, "job 1, from 40.0 s: its nodes draw other watts"),
    (RAISED, {"segments": row(1, speed_ratio=0.9)}, "job 1, from 40.0 s: its slowest node has another speed"),
    (RAISED, {"segments": row(1, speed_ratio=0.0)}, "job 1, from 40.0 s: running, but it does not get on"),
    (RAISED, {"segments": row(1, attempt=3)}, "segments do not stand by job, attempt and time"),
    (RAISED, {"segments": lambda frame: frame.reverse()}, "segments do not stand by job, attempt and time"),
    (RAISED, {"segments": row(1, job_id=9)}, "a job that the workload has not"),
    (RAISED, {"segments": row(1, state="asleep")}, "neither running nor suspended"),
    (RAISED, {"jobs": row(0, energy_j=1.0)}, "energy_j is 1.0, its segments sum to 39200.0"),
    (RAISED, {"jobs": row(0, attempts=2)}, "job 1: attempts is 2, it has 1"),
    (RAISED, {"timeline": row(1, power_w=401.0)}, "the timeline's integral"),
    (
        RAISED,
        {"timeline": row(1, busy_nodes=3, idle_nodes=1)},
        "at 40.0 s: busy_nodes is 3, the segments make it 2.0",
    ),
    (RAISED, {"timeline": row(1, budget_w=399.0)}, "summary: over_budget_s is 0.0, the timeline makes it 40.0"),
    (RAISED, {"nodes": row(2, busy_s=1.0)}, "node 2: busy_s is 1.0, its segments make it 0.0"),
    (RAISED, {"events": without(1)}, "alerts is 1, events tell 0"),
    (RAISED, {"events": row(2, power_after_w=600.0)}, "at 40.0 s: lower-cap raises the draw"),
    (RAISED, {"events": row(2, time_s=0.0)}, "events do not stand in order of time"),
    (STOOD, {"segments": row(1, power_w=1.0)}, "suspended, but it draws or gets on"),
    (STOOD, {"jobs": row(0, suspended_s=39.0)}, "job 1: suspended_s is 39.0, not 40.0"),
    (STOOD, {"jobs": row(0, state="timeout")}, "summary: throughput_jobs_per_hour"),
    (STOOD, {"events": without(2)}, "events tell suspend [(0, 20000000)], the segments"),
    (STOOD, {"events": without(6)}, "events tell resume"),
    (
        STOOD,
        {"segments": lambda frame: row(5, nodes=[1])(row(4, nodes=[1])(row(3, nodes=[1])(frame)))},
        "other nodes than",
    ),
    (AGAIN, {"jobs": row(1, lost_energy_j=1.0)}, "job 2: lost_energy_j is 1.0, lost attempts drew 2000.0"),
    (AGAIN, {"jobs": row(0, lost_energy_j=4.0)}, "job 1: lost_energy_j is 4.0"),
    (AGAIN, {"events": row(2, job_id=1)}, "job 2: an attempt is lost at 20.0 s, where events tell no requeue"),
    (STOOD, {"events": row(2, kind="requeue")}, "events tell suspend"),
    (AGAIN, {"segments": row(2, attempt=3)}, "attempt 3, from 20.0 s: attempts are not numbered"),
    (AGAIN, {"events": row(3, job_id=2)}, "job 2 was killed at 20.0 s, but is completed"),
    (AGAIN, {"segments": row(2, nodes=[3])}, "other nodes than the job's"),
]


@pytest.mark.parametrize(("name", "changes", "message"), BREAKS, ids=[f"{one[0]}: {one[2]}" for one in BREAKS])
def test_every_law_of_stretches_is_held_to(name: str, changes: dict[str, Any], message: str) -> None:
    case = CASES[name]
    broken = edited(by_hand(case), **changes)
    with pytest.raises(AssertionError) as raised:
        check_schedule(broken, case.workload, PLATFORM, events=case.events)
    assert message in str(raised.value)


def test_no_node_serves_two_attempts() -> None:
    case = CASES["one slowdown for all"]
    twice = [(*stretch[:4], [0], stretch[5]) for stretch in case.stretches]
    broken = Case(case.jobs, twice, states=case.states, part=case.part)
    with pytest.raises(AssertionError, match=r"node 0 at 0.0 s: it serves job 1 and job 2 at once"):
        check_schedule(by_hand(broken), case.workload, PLATFORM)


def test_a_job_that_ends_before_its_work_is_done_is_found() -> None:
    case = CASES["caps are lowered"]
    early = [case.stretches[0], (1, 1, 40.0, 114.0, [0, 1], 150.0)]
    broken = Case(case.jobs, early, case.budgets, case.states, case.energy_j, case.part, happened=case.happened)
    with pytest.raises(AssertionError, match=r"completed after .* us of work, it has"):
        check_schedule(by_hand(broken), case.workload, PLATFORM)


def test_a_draw_above_a_budget_that_never_falls_is_found() -> None:
    case = CASES["one slowdown for all"]
    tight = Case(case.jobs, case.stretches, states=case.states, part={**case.part, "budget_w": 349})
    with pytest.raises(AssertionError, match=r"at 0.0 s the system draws more than its budget, 349.0 W"):
        check_schedule(by_hand(tight), case.workload, PLATFORM)


def test_a_draw_above_a_budget_that_was_known_is_found() -> None:
    case = CASES["the monitor looks now and then"]
    knowing = Case(**{**vars(case), "part": {**case.part, "foresight_s": "all"}})
    check_schedule(by_hand(knowing), case.workload, PLATFORM)
    with pytest.raises(AssertionError, match=r"at 40.0 s the system draws more than its budget, 400.0 W"):
        check_schedule(by_hand(knowing), case.workload, PLATFORM, events=case.events)


def test_results_in_stretches_are_what_they_were_when_they_are_read(tmp_path: Path) -> None:
    result = by_hand(CASES[STOOD])
    again = [pickle.loads(pickle.dumps(result)), (result.write(tmp_path), hs.read_result(tmp_path))[1]]
    for one in again:
        assert one == result
        assert one.segments.equals(result.segments)
        assert one.events.equals(result.events)
        assert one.has_segments
    other = edited(result, segments=row(1, power_w=1.0))
    assert other != result


def plain() -> Result:
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [0.3, 5], "walltime_s": [9, 2], "node_count": [1, 2]}
    workload = hs.Workload.from_polars(pl.DataFrame(jobs, strict=False))
    table = hs.VariationTable(["*"], power_w=[[200.0, 200.0, 200.0]])
    return hs.simulate(workload, hs.Platform.homogeneous(3, 50, 250).with_tables(actual=table), "fcfs")


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_a_plain_run_has_a_segment_a_started_job_and_no_events(tmp_path: Path) -> None:
    result = plain()
    assert result.segments.rows() == [
        (1, 1, 0.0, 0.3, [0], None, 1.0, 250.0, 75.0, "running"),
        (2, 1, 0.0, 2.0, [1, 2], None, 1.0, 500.0, 1000.0, "running"),
    ]
    assert result.events.is_empty()
    assert (result.segments.schema, result.events.schema) == tuple(
        pl.Schema(OPTIONAL_FRAMES[name]) for name in ("segments", "events")
    )
    assert not result.has_segments
    result.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".parquet") == [
        "jobs.parquet",
        "nodes.parquet",
        "timeline.parquet",
    ]
    read = hs.read_result(tmp_path).segments
    assert read.drop("speed_ratio").equals(result.segments.drop("speed_ratio"))
    assert read["speed_ratio"].to_list() == [1.0, None]


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_files_of_an_older_result_go_and_those_of_others_stay(tmp_path: Path) -> None:
    by_hand(CASES[STOOD]).write(tmp_path)
    assert (tmp_path / "segments.parquet").exists()
    plain().write(tmp_path)
    assert not (tmp_path / "segments.parquet").exists()
    assert not (tmp_path / "events.parquet").exists()
    mine = CASES[STOOD].events
    assert mine is not None
    mine.to_polars().write_parquet(tmp_path / "events.parquet")
    plain().write(tmp_path)
    assert hs.Events.read_parquet(tmp_path / "events.parquet") == mine
    assert hs.read_result(tmp_path) == plain()


def test_a_missing_or_foreign_file_of_segments_is_found(tmp_path: Path) -> None:
    by_hand(CASES[STOOD]).write(tmp_path)
    segments = tmp_path / "segments.parquet"
    kept = segments.read_bytes()
    segments.unlink()
    with pytest.raises(hs.TraceError, match=r"segments.parquet: found bytes that summary.json does not name"):
        hs.read_result(tmp_path)
    segments.write_bytes(kept[:-1])
    with pytest.raises(hs.TraceError, match=r"segments.parquet"):
        hs.read_result(tmp_path)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_the_engine_makes_the_worked_examples(name: str) -> None:
    case = CASES[name]
    policy = hs.Policy(backfill={"name": "reservations", "depth": 1}, power=case.power)
    result, expected = hs.simulate(case.workload, PLATFORM, policy, events=case.events), by_hand(case)
    check_schedule(result, case.workload, PLATFORM, events=case.events)
    columns = ["job_id", "attempt", "start_s", "end_s", "nodes", "cap_w", "state"]
    assert result.segments.select(columns).rows() == expected.segments.select(columns).rows()
    assert result.jobs["state"].to_list() == list(case.states)
    assert result.jobs["energy_j"].to_list() == pytest.approx(list(case.energy_j))
    assert result.summary()["over_budget_s"] == case.over_budget_s
    if case.happened is not None:
        assert result.events.drop("node").rows() == expected.events.drop("node").rows()


def test_power_slurm_is_a_preset_and_runs() -> None:
    case = CASES["caps are lowered"]
    assert hs.Policy.preset("power-slurm").parts["power"]["on_excess"] == ["lower-caps", "kill"]  # type: ignore[index]
    policy = hs.Policy.preset("power-slurm", budget_w=1000)
    result = hs.simulate(case.workload, PLATFORM, policy, events=case.events)
    assert result.jobs["end_s"].to_list() == [115.0]
