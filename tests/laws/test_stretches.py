"""Runs whose jobs do not run in one stretch: the worked examples by hand, broken in every way, and by the engine."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched import _core
from hetsched.policy.parts import parameters_of
from hetsched.run.metric import Facts
from hetsched.run.metrics import summarised
from hetsched.run.outcome import jobs_frame
from hetsched.run.result import Parts, Result
from hetsched.run.result_files import OPTIONAL_FRAMES
from hetsched.testing import check_schedule

LACKS = [
    name
    for name, there in {
        "budgets in time": "budgets" in inspect.signature(_core.RunSetup).parameters,
        "tables by cap": "cap_tables" in inspect.signature(_core.Machine).parameters,
        "segments": hasattr(_core.Records, "take_segments"),
        "emergencies": "on_excess" in parameters_of("power", "system-budget"),
    }.items()
    if not there
]
needs_engine = pytest.mark.skipif(bool(LACKS), reason=f"the engine lacks {', '.join(LACKS)}")

IDLE_W, NODES, FREE = 50.0, 4, math.inf
WATTS = {FREE: 200.0, 150.0: 150.0, 100.0: 100.0}
FACTORS = {"cpu": {FREE: 1.0, 150.0: 1.25, 100.0: 2.0}, "mem": {FREE: 1.0, 150.0: 1.0, 100.0: 1.25}}
TABLES = {
    cap: hs.VariationTable(
        ["cpu", "mem"],
        power_w=[[watts] * NODES] * 2,
        time_ratio=[[FACTORS[app][cap]] * NODES for app in ("cpu", "mem")],
        cap_w=cap,
    )
    for cap, watts in WATTS.items()
}
PLATFORM = hs.Platform.homogeneous(NODES, IDLE_W, 250.0).with_tables(actual=TABLES)

Budget = tuple[float, float | None, float]
Stretch = tuple[int, int, float, float, list[int], float | None]


@dataclass(frozen=True)
class Case:
    """Jobs (app, submit, runtime, walltime, nodes, cap), budgets (from, until, W), and what comes of them."""

    jobs: list[tuple[str, float, float, float | None, int, float | None]]
    stretches: list[Stretch]
    budgets: list[Budget] = field(default_factory=list)
    states: tuple[str, ...] = ()
    energy_j: tuple[float, ...] = ()
    part: dict[str, Any] = field(default_factory=dict)
    suspended: list[tuple[int, float, float]] = field(default_factory=list)
    happened: list[tuple[float, str, int | None, float | None, float, float]] | None = None
    over_budget_s: float = 0.0

    @property
    def workload(self) -> hs.Workload:
        names = ["app", "submit_s", "runtime_s", "walltime_s", "node_count", "cap_w"]
        schema = dict.fromkeys(names, pl.Float64) | {"app": pl.String, "node_count": pl.Int32}
        frame = pl.DataFrame(self.jobs, schema=schema, orient="row")
        return hs.Workload.from_polars(frame.with_columns(job_id=pl.int_range(1, len(self.jobs) + 1)))

    @property
    def events(self) -> hs.Events | None:
        if not self.budgets:
            return None
        schema = {"time_s": pl.Float64, "until_s": pl.Float64, "value": pl.Float64}
        frame = pl.DataFrame(self.budgets, schema=schema, orient="row")
        return hs.Events.from_polars(frame.with_columns(kind=pl.lit("budget")))

    @property
    def power(self) -> dict[str, Any]:
        return {"name": "system-budget", "budget_w": 1000, **self.part}


LOWER = {"on_excess": ["lower-caps"]}
TWO = [("cpu", 0.0, 100.0, 100.0, 2, None), ("cpu", 10.0, 50.0, 50.0, 1, None)]

CASES = {
    "own cap": Case(
        [("cpu", 0.0, 100.0, 250.0, 1, 100.0)],
        [(1, 1, 0.0, 200.0, [0], 100.0)],
        energy_j=(20_000.0,),
        states=("completed",),
    ),
    "own cap, too short a walltime": Case(
        [("cpu", 0.0, 100.0, 150.0, 1, 100.0)],
        [(1, 1, 0.0, 150.0, [0], 100.0)],
        energy_j=(15_000.0,),
        states=("timeout",),
    ),
    "caps are lowered": Case(
        [("cpu", 0.0, 100.0, 120.0, 2, None)],
        [(1, 1, 0.0, 40.0, [0, 1], None), (1, 1, 40.0, 115.0, [0, 1], 150.0)],
        [(40.0, None, 400.0)],
        ("completed",),
        (38_500.0,),
        LOWER,
        happened=[
            (40.0, "budget", None, 400.0, 500.0, 500.0),
            (40.0, "alert", None, 400.0, 500.0, 500.0),
            (40.0, "lower-cap", 1, 150.0, 500.0, 400.0),
        ],
    ),
    "caps are raised again": Case(
        [("cpu", 0.0, 100.0, 120.0, 2, None)],
        [
            (1, 1, 0.0, 40.0, [0, 1], None),
            (1, 1, 40.0, 80.0, [0, 1], 150.0),
            (1, 1, 80.0, 108.0, [0, 1], None),
        ],
        [(40.0, 80.0, 400.0)],
        ("completed",),
        (39_200.0,),
        LOWER,
        happened=[
            (40.0, "budget", None, 400.0, 500.0, 500.0),
            (40.0, "alert", None, 400.0, 500.0, 500.0),
            (40.0, "lower-cap", 1, 150.0, 500.0, 400.0),
            (80.0, "budget", None, 1000.0, 400.0, 400.0),
            (80.0, "raise-cap", 1, None, 400.0, 500.0),
        ],
    ),
    "jobs are suspended": Case(
        TWO,
        [
            (1, 1, 0.0, 20.0, [0, 1], None),
            (1, 1, 20.0, 60.0, [0, 1], None),
            (1, 1, 60.0, 140.0, [0, 1], None),
            (2, 1, 10.0, 20.0, [2], None),
            (2, 1, 20.0, 60.0, [2], None),
            (2, 1, 60.0, 100.0, [2], None),
        ],
        [(20.0, 60.0, 450.0)],
        ("completed", "completed"),
        (40_000.0, 10_000.0),
        {"on_excess": ["suspend"]},
        suspended=[(1, 20.0, 60.0), (2, 20.0, 60.0)],
        happened=[
            (20.0, "budget", None, 450.0, 650.0, 650.0),
            (20.0, "alert", None, 450.0, 650.0, 650.0),
            (20.0, "suspend", 2, None, 650.0, 500.0),
            (20.0, "suspend", 1, None, 500.0, 200.0),
            (60.0, "budget", None, 1000.0, 200.0, 200.0),
            (60.0, "resume", 1, None, 200.0, 500.0),
            (60.0, "resume", 2, None, 500.0, 650.0),
        ],
    ),
    "one is requeued, one killed": Case(
        TWO,
        [
            (1, 1, 0.0, 20.0, [0, 1], None),
            (2, 1, 10.0, 20.0, [2], None),
            (2, 2, 20.0, 70.0, [0], None),
        ],
        [(20.0, None, 450.0)],
        ("failed", "completed"),
        (8_000.0, 12_000.0),
        {"on_excess": ["requeue"]},
        happened=[
            (20.0, "budget", None, 450.0, 650.0, 650.0),
            (20.0, "alert", None, 450.0, 650.0, 650.0),
            (20.0, "requeue", 2, None, 650.0, 500.0),
            (20.0, "kill", 1, None, 500.0, 200.0),
        ],
    ),
    "one cap for all": Case(
        [("cpu", 0.0, 40.0, 40.0, 1, None), *[("cpu", 0.0, 100.0, 100.0, 1, None)] * 3],
        [
            (1, 1, 0.0, 50.0, [0], 150.0),
            *[
                stretch
                for job in (2, 3, 4)
                for stretch in [(job, 1, 0.0, 50.0, [job - 1], 150.0), (job, 1, 50.0, 110.0, [job - 1], None)]
            ],
        ],
        states=("completed",) * 4,
        energy_j=(7_500.0, *[19_500.0] * 3),
        part={"allocator": "uniform", "budget_w": 650},
    ),
    "one slowdown for all": Case(
        [("cpu", 0.0, 100.0, 100.0, 1, None), ("mem", 0.0, 100.0, 100.0, 1, None)],
        [(1, 1, 0.0, 125.0, [0], 150.0), (2, 1, 0.0, 125.0, [1], 100.0)],
        states=("completed",) * 2,
        energy_j=(18_750.0, 12_500.0),
        part={"allocator": "equal-slowdown", "budget_w": 350},
    ),
    "the monitor looks now and then": Case(
        [("cpu", 0.0, 100.0, 100.0, 2, None)],
        [(1, 1, 0.0, 45.0, [0, 1], None), (1, 1, 45.0, 113.75, [0, 1], 150.0)],
        [(40.0, None, 400.0)],
        ("completed",),
        (38_625.0,),
        {**LOWER, "monitor_interval_s": 15},
        happened=[
            (40.0, "budget", None, 400.0, 500.0, 500.0),
            (45.0, "alert", None, 400.0, 500.0, 500.0),
            (45.0, "lower-cap", 1, 150.0, 500.0, 400.0),
        ],
        over_budget_s=5.0,
    ),
}


def segments_of(case: Case) -> pl.DataFrame:
    rows = []
    for job, attempt, start, end, nodes, cap in case.stretches:
        stands = (job, start, end) in case.suspended
        key = FREE if cap is None else cap
        power = 0.0 if stands else WATTS[key] * len(nodes)
        speed = 0.0 if stands else 1 / FACTORS[case.jobs[job - 1][0]][key]
        state = "suspended" if stands else "running"
        rows.append((job, attempt, start, end, nodes, cap, speed, power, power * (end - start), state))
    return pl.DataFrame(rows, schema=OPTIONAL_FRAMES["segments"], orient="row")


def budget_at(case: Case, time_s: float) -> float:
    holding = [row for row in case.budgets if row[0] <= time_s < (FREE if row[1] is None else row[1])]
    return max(holding, key=lambda row: row[0])[2] if holding else float(case.power["budget_w"])


def by_hand(case: Case) -> Result:
    """The result that the rules ask for, put together from the stretches alone."""
    segments = segments_of(case)
    rows = segments.rows(named=True)
    ends = [time_s for begin, until, _ in case.budgets for time_s in (begin, until) if time_s is not None]
    window = 0.0, max(row["end_s"] for row in rows)
    instants = sorted({row[name] for row in rows for name in ("start_s", "end_s")} | {t for t in ends if t < window[1]})

    def running(node: int, time_s: float) -> dict[str, Any] | None:
        here = [row for row in rows if node in row["nodes"] and row["start_s"] <= time_s < row["end_s"]]
        return next((row for row in here if row["state"] == "running"), None)

    timeline, busy_s = [], [0.0] * NODES
    for place, time_s in enumerate(instants):
        lasts_s = instants[place + 1] - time_s if place + 1 < len(instants) else 0.0
        on = [running(node, time_s) for node in range(NODES)]
        power = sum(IDLE_W if row is None else row["power_w"] / len(row["nodes"]) for row in on)
        busy = sum(row is not None for row in on)
        busy_s = [spent + (lasts_s if row is not None else 0.0) for spent, row in zip(busy_s, on, strict=True)]
        there = {row["job_id"] for row in rows if row["start_s"] <= time_s < row["end_s"] and row["state"] == "running"}
        stand = {row["job_id"] for row in rows if row["start_s"] <= time_s < row["end_s"]} - there
        timeline.append(
            (time_s, power, busy, NODES - busy, 0, 0, 0, 0, len(there), budget_at(case, time_s), len(stand), lasts_s)
        )
    columns = "time_s power_w busy_nodes idle_nodes sleeping_nodes transition_nodes down_nodes queued_jobs running_jobs"
    names = [*columns.split(), "budget_w", "suspended_jobs", "lasts_s"]
    frame = pl.DataFrame(timeline, schema=names, orient="row")
    over = frame.filter(pl.col("power_w") > pl.col("budget_w") * (1 + 1e-9), pl.col("lasts_s") > 0)
    window_s = window[1] - window[0]
    node_j = [
        sum(row["energy_j"] / len(row["nodes"]) for row in rows if node in row["nodes"])
        + IDLE_W * (window_s - busy_s[node])
        for node in range(NODES)
    ]
    nothing = [0.0] * NODES
    nodes = pl.DataFrame(
        {
            "node": range(NODES),
            "busy_s": busy_s,
            "idle_s": [window_s - spent for spent in busy_s],
            **dict.fromkeys(("off_s", "transition_s", "down_s"), nothing),
            "energy_j": node_j,
            **dict.fromkeys(("boots", "shutdowns"), [0] * NODES),
        }
    )
    last = {job: [row for row in rows if row["job_id"] == job] for job in range(1, len(case.jobs) + 1)}
    recorded = pl.DataFrame(
        [
            {
                "start_s": min(row["start_s"] for row in own if row["attempt"] == own[-1]["attempt"]),
                "end_s": own[-1]["end_s"],
                "nodes": own[-1]["nodes"],
                "energy_j": sum(row["energy_j"] for row in own),
                "started_by": "immediate",
                "state": state,
                "reason": "killed" if state == "failed" else None,
                "attempts": own[-1]["attempt"],
                "suspended_s": sum(row["end_s"] - row["start_s"] for row in own if row["state"] == "suspended"),
                "lost_energy_j": sum(
                    row["energy_j"] for row in own if state == "failed" or row["attempt"] < own[-1]["attempt"]
                ),
                "lowest_cap_w": min((row["cap_w"] for row in own if row["cap_w"] is not None), default=None),
            }
            for own, state in zip(last.values(), case.states, strict=True)
        ],
        schema_overrides={"nodes": pl.List(pl.UInt32), "reason": pl.String},
    )
    jobs = jobs_frame(case.workload.to_polars(), recorded)
    made = jobs.with_columns(mean_power_w=_mean_w(rows, jobs))
    happened = pl.DataFrame(
        [(at, kind, job, None, value, before, after) for at, kind, job, value, before, after in case.happened or []],
        schema=OPTIONAL_FRAMES["events"],
        orient="row",
    )
    job_j = sum(row["energy_j"] for row in rows)
    totals: dict[str, Any] = {
        "window_start_s": window[0],
        "window_end_s": window[1],
        "energy_j": sum(node_j),
        "job_energy_j": job_j,
        "idle_energy_j": sum(node_j) - job_j,
        **dict.fromkeys(("transition_energy_j", "off_energy_j", "down_energy_j"), 0.0),
        "work_lost_node_s": 0.0,
        "work_started_node_s": 1.0,
        "work_completed_node_s": 1.0,
        "busy_node_s": sum(busy_s),
        "peak_power_w": frame["power_w"].max(),
        "budget_w": float(case.power["budget_w"]),
        "over_budget_count": int(len(over) > 0),
        "over_budget_s": over["lasts_s"].sum(),
        "over_budget_peak_w": (over["power_w"] - over["budget_w"]).max() or 0.0,
        "profiled_jobs": 0,
    }
    extras = {"alerts": happened["kind"].to_list().count("alert"), "lost_energy_j": recorded["lost_energy_j"].sum()}
    summary = summarised(Facts(made, totals, NODES, 0.5, extras=extras if "on_excess" in case.power else {}))
    options = {"predictor": None, "until_s": None, "walltimes": "fixed", "kill_at_walltime": True, "kill_grace_s": 0.0}
    policy = {"name": "made", "order": {"name": "fcfs"}, "backfill": {"name": "none"}, "power": case.power}
    provenance = {"policy": policy, "options": options, "platform": {"nodes": NODES}}
    return Result(
        Parts(
            jobs=lambda: made,
            timeline=lambda: frame.drop("lasts_s").cast(_TIMELINE),
            nodes=lambda: nodes.cast({"node": pl.Int32, "boots": pl.Int32, "shutdowns": pl.Int32}),
            summary=lambda _: summary,
            provenance=lambda: provenance,
            timing={"wall_s": 0.0, "jobs_per_s": 0.0},
            segments=lambda: segments,
            events=lambda: happened,
        )
    )


_TIMELINE: dict[Any, Any] = dict.fromkeys(
    ["busy_nodes", "idle_nodes", "sleeping_nodes", "transition_nodes", "down_nodes", "queued_jobs", "running_jobs"],
    pl.Int32,
)


def _mean_w(rows: list[dict[str, Any]], jobs: pl.DataFrame) -> pl.Series:
    drawn = [
        sum(row["energy_j"] for row in rows if row["job_id"] == job and row["start_s"] >= start) / (end - start)
        for job, start, end in jobs.select("job_id", "start_s", "end_s").rows()
    ]
    return pl.Series(drawn)


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


@needs_engine
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


@needs_engine
def test_power_slurm_is_a_preset_and_runs() -> None:
    case = CASES["caps are lowered"]
    assert hs.Policy.preset("power-slurm").parts["power"]["on_excess"] == ["lower-caps", "kill"]  # type: ignore[index]
    policy = hs.Policy.preset("power-slurm", budget_w=1000)
    result = hs.simulate(case.workload, PLATFORM, policy, events=case.events)
    assert result.jobs["end_s"].to_list() == [115.0]
