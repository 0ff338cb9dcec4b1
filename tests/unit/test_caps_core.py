"""The extension's caps: columns, tables by cap and models on their way into the core, and their faults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hetsched import ConfigError, TraceError, _core

POLICY = {
    "order": {"name": "fcfs"},
    "backfill": {"name": "none"},
    "placement": {"name": "lowest-id"},
}


def jobs(*, app: int = 0, cap_w: float | None = None) -> _core.JobColumns:
    return _core.JobColumns(
        job_id=np.array([7]),
        submit_s=np.zeros(1),
        runtime_s=np.full(1, 100.0),
        node_count=np.ones(1, dtype=np.int64),
        app=np.array([app]),
        app_names=["cpu"],
        cap_w=None if cap_w is None else np.array([cap_w]),
    )


def table(watts: float, factor: float = 1.0, *, app: str = "cpu") -> _core.PowerTable:
    return _core.PowerTable(apps=[app], power_w=np.full((1, 2), watts), time_ratio=np.full((1, 2), factor))


def machine(*, busy_w: float = 200.0, **options: Any) -> _core.Machine:
    columns = {name: np.full(2, 50.0) for name in ("idle_w", "off_w", "down_w", "boot_w", "shutdown_w")}
    spans = {name: np.zeros(2) for name in ("boot_s", "shutdown_s")}
    slots = np.ones(2, dtype=np.int64)
    return _core.Machine(**columns, **spans, busy_w=np.full(2, busy_w), tdp_w=np.full(2, 400.0), slots=slots, **options)


TABLES = [(100.0, table(100.0, 2.0), None), (math.inf, table(200.0), None)]
MODEL: dict[str, Any] = {"static_w": np.array([80.0, 50.0])}


def session(workload: _core.JobColumns, platform: _core.Machine) -> _core.Session:
    return _core.Session(workload, platform, POLICY)


def refusal(of: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        of()
    return str(caught.value)


@pytest.mark.parametrize("cap_w", [0.0, -1.0, 1e6 + 1, math.inf])
def test_a_cap_of_its_own_is_watts(cap_w: float) -> None:
    with pytest.raises(TraceError, match="cap_w: found"):
        jobs(cap_w=cap_w)


@pytest.mark.parametrize(
    "options", [{"cap_tables": TABLES}, {"cap_model": MODEL}, {"cap_model": {"static_ratio": 0.4}}]
)
def test_what_serves_a_cap_is_taken(options: dict[str, Any]) -> None:
    session(jobs(cap_w=110.0), machine(**options))
    session(jobs(cap_w=math.nan), machine())


def test_a_cap_needs_something_that_serves_it() -> None:
    found = refusal(lambda: session(jobs(cap_w=100.0), machine()))
    assert found.startswith("cap_w of job 7: found 100, expected no cap: the platform has neither tables by cap nor")
    found = refusal(lambda: session(jobs(app=-1, cap_w=100.0), machine(cap_tables=TABLES)))
    assert "a row for job 7 (no application)" in found


def test_a_cap_is_not_below_what_serves_it() -> None:
    found = refusal(lambda: session(jobs(cap_w=99.0), machine(cap_tables=TABLES)))
    assert found == "cap_w of job 7: found 99, expected at least 100 W, the lowest cap of the tables"
    found = refusal(lambda: session(jobs(cap_w=99.0), machine(cap_model=MODEL)))
    assert "at least 104 W: job 7 (application `cpu`) draws that on node 0 at the lowest speed, 0.2 of nominal" in found
    session(jobs(cap_w=104.0), machine(cap_model=MODEL))


def test_tables_by_cap_are_ascending_and_one_is_without_a_cap() -> None:
    assert "a table for `inf`" in refusal(lambda: machine(cap_tables=TABLES[:1]))
    assert "a table for `inf`" in refusal(lambda: machine(cap_tables=[]))
    assert "ascending caps" in refusal(lambda: machine(cap_tables=[(150.0, table(150.0), None), *TABLES]))
    assert "watts above 0" in refusal(lambda: machine(cap_tables=[(math.nan, table(150.0), None), *TABLES]))
    half = [(100.0, table(100.0), table(90.0)), TABLES[1]]
    assert "predicted tables for 1 of 2 caps" in refusal(lambda: machine(cap_tables=half))


def test_tables_by_cap_stand_alone_and_hold_the_same_applications() -> None:
    assert "one of the two" in refusal(lambda: machine(cap_tables=TABLES, cap_model=MODEL))
    beside = machine(cap_tables=TABLES, actual=table(200.0))
    assert "a table with tables by cap" in refusal(lambda: session(jobs(), beside))
    other = machine(cap_tables=[(100.0, table(100.0, app="gpu"), None), TABLES[1]])
    found = refusal(lambda: session(jobs(), other))
    assert found.startswith("cap_tables[100], table.apps: found gpu, expected the applications of the table without")
    believed = machine(cap_tables=[(math.inf, table(200.0), table(200.0, app="gpu"))])
    assert "cap_tables[inf], table.apps" in refusal(lambda: session(jobs(), believed))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ({}, "cap_model.static_w, static_ratio: found neither"),
        ({"static_w": np.zeros(2), "static_ratio": 0.3}, "cap_model.static_w, static_ratio: found both"),
        ({"static_w": np.zeros(3)}, "cap_model.static_w: found 3 numbers, expected one number for each of 2 nodes"),
        ({"static_w": np.array([0.0, -1.0])}, "cap_model.static_w[node 1]: found -1"),
        ({"static_ratio": 1.5}, "cap_model.static_ratio: found 1.5"),
        ({"static_ratio": 0.3, "exponent": 0.5}, "cap_model.exponent: found 0.5"),
        ({"static_ratio": 0.3, "bound_ratio": 2.0}, "cap_model.bound_ratio: found 2"),
        ({"static_ratio": 0.3, "bound_ratio": {"cpu": math.nan}}, "cap_model.bound_ratio[cpu]: found NaN"),
        ({"static_ratio": 0.3, "least_speed_ratio": 0.0}, "cap_model.least_speed_ratio: found 0"),
        ({"static_ratio": 0.3, "exponant": 1.0}, "cap_model.exponant"),
    ],
)
def test_parameters_of_a_model_are_checked(model: dict[str, Any], found: str) -> None:
    assert refusal(lambda: machine(cap_model=model)).startswith(found)


def test_bound_ratios_by_application_name_each_or_the_rest() -> None:
    model = {"static_ratio": 0.3, "bound_ratio": {"gpu": 0.5}}
    found = refusal(lambda: session(jobs(), machine(cap_model=model)))
    assert found.startswith("cap_model.bound_ratio: found nothing for application `cpu` of job 7")
    for shares in ({"gpu": 0.5, "cpu": 0.3}, {"gpu": 0.5, "*": 1.0}):
        session(jobs(), machine(cap_model={**model, "bound_ratio": shares}))


def test_where_nothing_is_capped_a_run_is_what_it_was() -> None:
    def totals(platform: _core.Machine) -> dict[str, Any]:
        run = session(jobs(), platform)
        run.step_until(None)
        return run.take_records().totals

    plain = totals(machine(actual=table(180.0, 1.25)))
    assert totals(machine(actual=table(180.0, 1.25), cap_model=MODEL)) == plain
    assert totals(machine(cap_tables=[TABLES[0], (math.inf, table(180.0, 1.25), None)])) == plain
