"""That a run of the engine and its plain-Python twin of power in time say the same."""

from __future__ import annotations

from math import isclose
from typing import Any

import polars as pl
from plain_power import Run
from plain_power_machine import SECOND, WATT
from plain_power_records import JOULE

import hetsched as hs


def assert_runs_agree(result: Any, twin: Run) -> None:
    """In jobs and their attempts, events, segments, and energy."""
    assert_jobs_agree(result, twin)
    assert_attempts_agree(result, twin)
    assert_events_agree(result, twin)
    assert_segments_agree(result, twin)
    assert isclose(result.summary()["energy_j"], twin.energy / JOULE, rel_tol=1e-9, abs_tol=1e-9)


def microseconds(column: pl.Series) -> list[int | None]:
    return [None if value is None else round(value * SECOND) for value in column]


def is_same(engine: Any, twin: Any) -> bool:
    """Equal, floats to a billionth."""
    if isinstance(engine, float) and isinstance(twin, float):
        return isclose(engine, twin, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(engine, tuple):
        return len(engine) == len(twin) and all(map(is_same, engine, twin))
    return bool(engine == twin)


def assert_rows_agree(what: str, engine: list[Any], twin: list[Any]) -> None:
    """The first row on which they differ is named with both answers."""
    for k, (theirs, ours) in enumerate(zip(engine, twin, strict=False)):
        assert is_same(theirs, ours), f"{what} {k}: the engine says {theirs}, the twin {ours}"
    assert len(engine) == len(twin), f"{what}: {len(engine)} of the engine, {len(twin)} of the twin"


def assert_jobs_agree(result: hs.Result, twin: Run) -> None:
    jobs = result.jobs.sort("job_id")
    started = ("start_s", "end_s")
    columns = [*(microseconds(jobs[name]) for name in started), jobs["state"], jobs["started_by"]]
    columns += [jobs["nodes"].to_list(), jobs["energy_j"].fill_null(0.0)]
    ours = [(one.start, one.end, one.state, one.started_by, one.nodes, one.energy / JOULE) for one in twin.jobs_done]
    assert_rows_agree("job", list(zip(*columns, strict=True)), ours)


def assert_attempts_agree(result: hs.Result, twin: Run) -> None:
    """The columns that emergencies bring, and that of caps if it is there."""
    jobs = result.jobs.sort("job_id")
    if twin.rules.on_excess:
        columns = [jobs["attempts"], microseconds(jobs["suspended_s"]), jobs["lost_energy_j"]]
        ours = [(one.attempts, one.suspended, one.lost_energy / JOULE) for one in twin.jobs_done]
        assert_rows_agree("attempts of job", list(zip(*columns, strict=True)), ours)
    if "lowest_cap_w" in jobs.columns:
        caps = [(one.lowest_cap_w,) for one in twin.jobs_done]
        assert_rows_agree("lowest cap of job", [(cap,) for cap in jobs["lowest_cap_w"]], caps)
    else:
        assert all(one.lowest_cap_w is None for one in twin.jobs_done)


def assert_events_agree(result: Any, twin: Run) -> None:
    names = ("kind", "job_id", "value", "power_before_w", "power_after_w")
    columns = [microseconds(result.events["time_s"]), *(result.events[name] for name in names)]
    ours = [(row[0], row[1], None if row[2] is None else row[2] + 1, *row[3:]) for row in twin.events]
    assert_rows_agree("event", list(zip(*columns, strict=True)), ours)


def assert_segments_agree(result: Any, twin: Run) -> None:
    frame = result.segments.sort("job_id", maintain_order=True)
    times = [microseconds(frame[name]) for name in ("start_s", "end_s")]
    names = ("cap_w", "speed_ratio", "power_w", "energy_j", "state")
    nodes = [tuple(one) for one in frame["nodes"].to_list()]
    columns = [frame["job_id"], frame["attempt"], *times, nodes, *(frame[name] for name in names)]
    ours = [
        (
            *(row.job + 1, row.attempt, row.start, row.end, row.stretch.nodes, row.stretch.cap_w),
            *(row.stretch.speed_ratio, row.stretch.picowatts / WATT, row.energy_j, row.stretch.state),
        )
        for row in twin.segments
    ]
    assert_rows_agree("segment", list(zip(*columns, strict=True)), ours)
