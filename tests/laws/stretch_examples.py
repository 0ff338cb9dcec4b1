"""Worked examples of runs whose jobs do not run in one stretch, and the results that the rules ask for, by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

import hetsched as hs
from hetsched.run.metric import Facts
from hetsched.run.metrics import summarised
from hetsched.run.outcome import jobs_frame
from hetsched.run.result import Parts, Result
from hetsched.run.result_files import OPTIONAL_FRAMES

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


class Course:
    """A case instant by instant, as the rules ask for it: put together from the stretches alone."""

    def __init__(self, case: Case) -> None:
        self.case, self.segments = case, segments_of(case)
        self.rows = self.segments.rows(named=True)
        self.window = 0.0, max(row["end_s"] for row in self.rows)
        turns = [time_s for begin, until, _ in case.budgets for time_s in (begin, until) if time_s is not None]
        instants = {row[name] for row in self.rows for name in ("start_s", "end_s")}
        self.instants = sorted(instants | {time_s for time_s in turns if time_s < self.window[1]})

    def at(self, time_s: float) -> list[dict[str, Any]]:
        """Stretches that last at an instant."""
        return [row for row in self.rows if row["start_s"] <= time_s < row["end_s"]]

    def on(self, time_s: float) -> list[dict[str, Any] | None]:
        """Stretch that runs on each node at an instant; None: none does."""
        running = [row for row in self.at(time_s) if row["state"] == "running"]
        return [next((row for row in running if node in row["nodes"]), None) for node in range(NODES)]

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """A row an instant, with ``lasts_s``: how long it stays so."""
        names = [*_COUNTED, "budget_w", "suspended_jobs", "lasts_s"]
        after = [*self.instants[1:], self.instants[-1]]
        rows = [self._instant(time_s, until_s) for time_s, until_s in zip(self.instants, after, strict=True)]
        return pl.DataFrame(rows, schema=names, orient="row")

    def _instant(self, time_s: float, until_s: float) -> tuple[float, ...]:
        on = self.on(time_s)
        power = sum(IDLE_W if row is None else row["power_w"] / len(row["nodes"]) for row in on)
        busy = sum(row is not None for row in on)
        there = {row["job_id"] for row in self.at(time_s) if row["state"] == "running"}
        stand = {row["job_id"] for row in self.at(time_s)} - there
        nodes = busy, NODES - busy, 0, 0, 0
        return (time_s, power, *nodes, 0, len(there), budget_at(self.case, time_s), len(stand), until_s - time_s)

    @cached_property
    def busy_s(self) -> list[float]:
        """Time for which each node runs a job."""
        lasts_s = dict(zip(self.instants, self.timeline["lasts_s"].to_list(), strict=True))
        on = {time_s: self.on(time_s) for time_s in self.instants}
        return [
            sum((lasts_s[time_s] for time_s in self.instants if on[time_s][node] is not None), 0.0)
            for node in range(NODES)
        ]

    @cached_property
    def node_j(self) -> list[float]:
        """Energy of each node."""
        window_s = self.window[1] - self.window[0]
        return [
            sum(row["energy_j"] / len(row["nodes"]) for row in self.rows if node in row["nodes"])
            + IDLE_W * (window_s - self.busy_s[node])
            for node in range(NODES)
        ]

    @property
    def nodes(self) -> pl.DataFrame:
        window_s, nothing = self.window[1] - self.window[0], [0.0] * NODES
        frame = pl.DataFrame(
            {
                "node": range(NODES),
                "busy_s": self.busy_s,
                "idle_s": [window_s - spent for spent in self.busy_s],
                **dict.fromkeys(("off_s", "transition_s", "down_s"), nothing),
                "energy_j": self.node_j,
                **dict.fromkeys(("boots", "shutdowns"), [0] * NODES),
            }
        )
        return frame.cast({"node": pl.Int32, "boots": pl.Int32, "shutdowns": pl.Int32})

    @cached_property
    def recorded(self) -> pl.DataFrame:
        """Records of the jobs as the engine would have written them down."""
        jobs = range(1, len(self.case.jobs) + 1)
        own = [[row for row in self.rows if row["job_id"] == job] for job in jobs]
        return pl.DataFrame(
            [_record(rows, state) for rows, state in zip(own, self.case.states, strict=True)],
            schema_overrides={"nodes": pl.List(pl.UInt32), "reason": pl.String},
        )

    @property
    def jobs(self) -> pl.DataFrame:
        jobs = jobs_frame(self.case.workload.to_polars(), self.recorded)
        return jobs.with_columns(mean_power_w=_mean_w(self.rows, jobs))

    @cached_property
    def happened(self) -> pl.DataFrame:
        """The case's events."""
        rows = [(at, kind, job, None, value, *watts) for at, kind, job, value, *watts in self.case.happened or []]
        return pl.DataFrame(rows, schema=OPTIONAL_FRAMES["events"], orient="row")

    @property
    def totals(self) -> dict[str, Any]:
        """Totals as the engine would have counted them."""
        over = self.timeline.filter(pl.col("power_w") > pl.col("budget_w") * (1 + 1e-9), pl.col("lasts_s") > 0)
        job_j = sum(row["energy_j"] for row in self.rows)
        return {
            "window_start_s": self.window[0],
            "window_end_s": self.window[1],
            "energy_j": sum(self.node_j),
            "job_energy_j": job_j,
            "idle_energy_j": sum(self.node_j) - job_j,
            **dict.fromkeys(("transition_energy_j", "off_energy_j", "down_energy_j"), 0.0),
            "work_lost_node_s": 0.0,
            "work_started_node_s": 1.0,
            "work_completed_node_s": 1.0,
            "busy_node_s": sum(self.busy_s),
            "peak_power_w": self.timeline["power_w"].max(),
            "budget_w": float(self.case.power["budget_w"]),
            "over_budget_count": int(len(over) > 0),
            "over_budget_s": over["lasts_s"].sum(),
            "over_budget_peak_w": (over["power_w"] - over["budget_w"]).max() or 0.0,
            "profiled_jobs": 0,
        }

    def summary(self, jobs: pl.DataFrame) -> dict[str, Any]:
        alerts, lost_j = self.happened["kind"].to_list().count("alert"), self.recorded["lost_energy_j"].sum()
        extras = {"alerts": alerts, "lost_energy_j": lost_j} if "on_excess" in self.case.power else {}
        return summarised(Facts(jobs, self.totals, NODES, 0.5, extras=extras))

    @property
    def provenance(self) -> dict[str, Any]:
        options = {"predictor": None, "until_s": None, "walltimes": "fixed"}
        options |= {"kill_at_walltime": True, "kill_grace_s": 0.0}
        parts = {"order": {"name": "fcfs"}, "backfill": {"name": "none"}, "power": self.case.power}
        return {"policy": {"name": "made", **parts}, "options": options, "platform": {"nodes": NODES}}


_COUNTED = (
    *("time_s", "power_w", "busy_nodes", "idle_nodes", "sleeping_nodes", "transition_nodes", "down_nodes"),
    *("queued_jobs", "running_jobs"),
)
_WHOLE: dict[Any, Any] = dict.fromkeys(_COUNTED[2:], pl.Int32)


def by_hand(case: Case) -> Result:
    """The result that the rules ask for."""
    course = Course(case)
    jobs = course.jobs
    summary = course.summary(jobs)
    return Result(
        Parts(
            jobs=lambda: jobs,
            timeline=lambda: course.timeline.drop("lasts_s").cast(_WHOLE),
            nodes=lambda: course.nodes,
            summary=lambda _: summary,
            provenance=lambda: course.provenance,
            timing={"wall_s": 0.0, "jobs_per_s": 0.0},
            segments=lambda: course.segments,
            events=lambda: course.happened,
        )
    )


def _record(own: list[dict[str, Any]], state: str) -> dict[str, Any]:
    """Record of a job as the engine would have written it down, from its stretches."""
    last = own[-1]
    lost = [row for row in own if state == "failed" or row["attempt"] < last["attempt"]]
    return {
        "start_s": min(row["start_s"] for row in own if row["attempt"] == last["attempt"]),
        "end_s": last["end_s"],
        "nodes": last["nodes"],
        "energy_j": sum(row["energy_j"] for row in own),
        "started_by": "immediate",
        "state": state,
        "reason": "killed" if state == "failed" else None,
        "attempts": last["attempt"],
        "suspended_s": sum(row["end_s"] - row["start_s"] for row in own if row["state"] == "suspended"),
        "lost_energy_j": sum(row["energy_j"] for row in lost),
        "lowest_cap_w": min((row["cap_w"] for row in own if row["cap_w"] is not None), default=None),
    }


def _mean_w(rows: list[dict[str, Any]], jobs: pl.DataFrame) -> pl.Series:
    drawn = [
        sum(row["energy_j"] for row in rows if row["job_id"] == job and row["start_s"] >= start) / (end - start)
        for job, start, end in jobs.select("job_id", "start_s", "end_s").rows()
    ]
    return pl.Series(drawn)
