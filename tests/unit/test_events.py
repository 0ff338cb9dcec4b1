"""Events: kinds and their columns, every fault with its row, files, budgets out of prices, and what energy costs."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched import _core

HAS_BUDGETS = "budgets" in inspect.signature(_core.RunSetup).parameters
pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
needs_budgets = pytest.mark.skipif(not HAS_BUDGETS, reason="the engine takes no budgets yet")

PLATFORM = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
JOBS = hs.Workload.from_polars(
    pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 1800], "runtime_s": [3600, 3600], "node_count": [1, 1]})
)
SCHEMA = {
    "time_s": pl.Float64,
    "kind": pl.String,
    "node": pl.Int64,
    "value": pl.Float64,
    "until_s": pl.Float64,
    "announced_s": pl.Float64,
}


def events(*rows: dict[str, Any]) -> hs.Events:
    return hs.Events.from_polars(pl.DataFrame(list(rows), schema=SCHEMA))


def budget(time_s: float, value: float, **more: float) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "budget", "value": value, **more}


def price(time_s: float, value: float, **more: float) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "price", "value": value, **more}


def carbon(time_s: float, value: float) -> dict[str, Any]:
    return {"time_s": time_s, "kind": "carbon", "value": value}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (budget(1.0, None), "events.value, row 1: found `None`, expected watts of the whole machine, from 0"),
        (budget(1.0, -5.0), "events.value, row 1: found `-5`, expected watts of the whole machine, from 0"),
        (budget(1.0, float("inf")), "events.value, row 1: found `inf`, expected watts of the whole machine"),
        (budget(9.0, 1.0, announced_s=10.0), "events.announced_s, row 1: found `10`, expected seconds up to time_s"),
        (budget(9.0, 1.0, until_s=9.0), "events.until_s, row 1: found `9`, expected seconds after time_s"),
        (budget(9.0, 1.0, until_s=1e13), "events.until_s, row 1: found `1e+13`, expected seconds up to 1e+12"),
        (budget(9.0, 1.0, node=1), "events.node, row 1: found `1`, expected nothing: an event `budget` has no node"),
        (price(1.0, None), "events.value, row 1: found `None`, expected a price in cost units per kWh"),
        (price(2.0, 1.0, announced_s=1.0), "events.announced_s, row 1: found `1`, expected nothing: an event `price`"),
        (carbon(1.0, -1.0), "events.value, row 1: found `-1`, expected grams of CO2 per kWh, from 0"),
        (
            {"time_s": 1.0, "kind": "node_failed", "node": 0, "value": 3.0},
            "events.value, row 1: found `3`, expected no",
        ),
        ({"time_s": 1.0, "kind": "node_failed"}, "events.node, row 1: found `None`, expected a node's number"),
        (
            {"time_s": 1.0, "kind": "maintenance", "node": 0},
            "events.until_s, row 1: found `None`, expected seconds after time_s, when it is over",
        ),
        ({"time_s": 1.0, "kind": "budgets", "value": 1.0}, "did you mean `budget`?"),
    ],
)
def test_every_fault_is_reported_with_its_row(row: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)) as raised:
        events(budget(0.0, 5.0), row)
    assert len(raised.value.faults) == 1


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(hs.ConfigError) as raised:
        events(budget(0.0, -1.0), budget(5.0, 1.0, until_s=4.0), price(0.0, None), {"time_s": None, "kind": "carbon"})
    assert len(raised.value.faults) == 5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time_s": [0.0], "kind": ["budget"]}, "expected columns time_s, kind and value"),
        ({"kind": ["budget"], "value": [1.0]}, "expected columns time_s, kind and value"),
        ({"time_s": [0.0], "value": [1.0]}, "expected columns time_s, kind and node"),
        ({"time_s": [0.0], "kind": ["budget"], "value": ["many"]}, "events.value: found values of type String"),
        (
            {"time_s": [0.0], "kind": ["budget"], "value": [1.0], "job_id": [3]},
            "events.job_id, row 0: found `3`, expected nothing: an event `budget` has no job_id",
        ),
    ],
)
def test_columns_that_are_not_there_or_of_another_type(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.Events.from_polars(pl.DataFrame(columns))


def test_rows_stand_by_time_and_later_rows_of_one_instant_stay_later() -> None:
    made = events(
        budget(5.0, 1.0), price(5.0, 2.0), {"time_s": 5.0, "kind": "node_failed", "node": 0}, budget(0.0, 9.0)
    )
    assert made.to_polars()["kind"].to_list() == ["budget", "budget", "price", "node_failed"]
    assert made.to_polars().schema == SCHEMA
    same = events(budget(5.0, 1.0), budget(5.0, 7.0))
    assert same.to_polars()["value"].to_list() == [1.0, 7.0]
    assert [values.tolist() for values in same._of_budgets()] == [
        [5.0, 5.0],
        [float("inf")] * 2,
        [-float("inf")] * 2,
        [1.0, 7.0],
    ]


def test_events_from_files_of_every_kind_are_those_of_the_frame(tmp_path: Path) -> None:
    given = events(budget(5.0, 1e3, until_s=7.0, announced_s=1.0), price(0.0, 0.25), carbon(1.0, 300.0))
    given.to_polars().write_csv(tmp_path / "e.csv")
    given.to_polars().write_parquet(tmp_path / "e.parquet")
    (tmp_path / "e.toml").write_text(
        '[[events]]\ntime_s = 5\nkind = "budget"\nvalue = 1000\nuntil_s = 7\nannounced_s = 1\n'
        '[[events]]\ntime_s = 0\nkind = "price"\nvalue = 0.25\n[[events]]\ntime_s = 1\nkind = "carbon"\nvalue = 300\n'
    )
    read = [hs.read_events(tmp_path / f"e.{suffix}") for suffix in ("csv", "parquet", "toml")]
    assert read == [given] * 3
    assert {one.sha256 for one in read} == {given.sha256}
    assert pickle.loads(pickle.dumps(given)) == given
    with pytest.raises(hs.ConfigError, match=r"a file of events whose name ends in \.csv"):
        hs.read_events(tmp_path / "e.xlsx")
    (tmp_path / "bad.csv").write_text("time_s,kind,value\n1,budget,5\n2,budget,\n")
    with pytest.raises(hs.ConfigError, match=r"bad.csv, line 3, value: found `None`"):
        hs.read_events(tmp_path / "bad.csv")


def test_joined_events_are_those_of_one_frame() -> None:
    one, other = events(price(0.0, 1.0), budget(4.0, 5.0)), events(budget(4.0, 6.0), price(2.0, 3.0))
    assert one + other == events(price(0.0, 1.0), price(2.0, 3.0), budget(4.0, 5.0), budget(4.0, 6.0))
    with pytest.raises(TypeError):
        _ = one + 1


HOURS = events(*(price(3600.0 * hour, value) for hour, value in enumerate((0.1, 0.2, 0.5, 0.4, 0.1))))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"threshold": 0.2}, [(0.0, 9.0, 7200.0), (7200.0, 3.0, 14400.0), (14400.0, 9.0, None)]),
        ({"threshold": 0.4}, [(0.0, 9.0, 7200.0), (7200.0, 3.0, 10800.0), (10800.0, 9.0, None)]),
        ({"quantile": 0.6}, [(0.0, 9.0, 7200.0), (7200.0, 3.0, 14400.0), (14400.0, 9.0, None)]),
        ({"quantile": 1.0}, [(0.0, 9.0, None)]),
        (
            {"between": (0.2, 0.4)},
            [(0.0, 9.0, 7200.0), (7200.0, 3.0, 14400.0), (14400.0, 9.0, None)],
        ),
        (
            {"between": (0.0, 0.5)},
            [
                (0.0, 7.8, 3600.0),
                (3600.0, 6.6, 7200.0),
                (7200.0, 3.0, 10800.0),
                (10800.0, 4.2, 14400.0),
                (14400.0, 7.8, None),
            ],
        ),
    ],
)
def test_a_budget_follows_a_price(rule: dict[str, Any], expected: list[Any]) -> None:
    made = hs.Events.budget_from_price(HOURS, low_w=3.0, high_w=9.0, **rule).to_polars()
    rows = [(at, round(value, 9), until) for at, value, until in made.select("time_s", "value", "until_s").rows()]
    assert rows == expected
    assert made["announced_s"].null_count() == len(made)


def test_a_budget_says_nothing_where_no_price_holds_and_may_be_known_late() -> None:
    gap = events(price(0.0, 1.0, until_s=10.0), price(50.0, 1.0, until_s=60.0), carbon(0.0, 5.0))
    made = hs.Events.budget_from_price(gap, low_w=3.0, high_w=9.0, threshold=2.0, ahead_s=30.0).to_polars()
    assert made.select("time_s", "value", "until_s", "announced_s").rows() == [
        (0.0, 9.0, 10.0, -30.0),
        (50.0, 9.0, 60.0, 20.0),
    ]
    green = hs.Events.budget_from_price(gap, low_w=3.0, high_w=9.0, threshold=2.0, kind="carbon").to_polars()
    assert green["value"].to_list() == [3.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "threshold, quantile, between: found none of them, expected exactly one of the three"),
        ({"threshold": 1.0, "quantile": 0.5}, "found threshold and quantile, expected exactly one"),
        ({"quantile": 1.5}, "quantile: found `1.5`, expected a number between 0 and 1"),
        ({"between": (2.0, 1.0)}, "expected two prices, the lower first"),
        ({"between": 3.0}, "expected two prices, the lower first"),
        ({"threshold": 1.0, "low_w": 10.0}, "low_w: found `10`, expected at most high_w, 9 W"),
        ({"threshold": 1.0, "kind": "carbon"}, "prices: found no rows of kind carbon, expected at least one"),
        ({"threshold": 1.0, "prices": pl.DataFrame()}, "prices: found `DataFrame`, expected an Events"),
    ],
)
def test_a_rule_for_budgets_must_be_one(given: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message).replace("`DataFrame`", "`?DataFrame`?")):
        hs.Events.budget_from_price(**{"prices": HOURS, "low_w": 3.0, "high_w": 9.0, **given})


def test_energy_costs_what_each_stretch_of_it_costs() -> None:
    # 400 W until 1800 s, 600 W until 3600 s, 400 W until 5400 s.
    told = events(price(-1e3, 0.1), price(900.0, 0.2), price(2700.0, -0.1), price(3600.0, 1.0), carbon(0.0, 500.0))
    result = hs.simulate(JOBS, PLATFORM, events=told)
    kwh = [0.4 * 0.25, 0.4 * 0.25, 0.6 * 0.25, 0.6 * 0.25, 0.4 * 0.5]
    expected = sum(one * rate for one, rate in zip(kwh, [0.1, 0.2, 0.2, -0.1, 1.0], strict=True))
    summary = result.summary()
    assert summary["cost"] == pytest.approx(expected, rel=1e-12)
    assert summary["carbon_kg"] == pytest.approx(sum(kwh) * 0.5, rel=1e-12)
    assert list(summary)[-2:] == ["cost", "carbon_kg"]


@given(
    rows=st.lists(
        st.tuples(st.integers(-5, 30), st.integers(-3, 9), st.none() | st.integers(1, 9)), min_size=1, max_size=6
    ),
    powers=st.lists(st.integers(0, 500), min_size=1, max_size=6),
)
def test_a_charge_is_the_sum_over_all_seconds(rows: list[Any], powers: list[int]) -> None:
    told = events(*(price(at, rate, **({} if lasts is None else {"until_s": at + lasts})) for at, rate, lasts in rows))
    ends = [4 * place for place in range(len(powers))] + [4 * len(powers)]
    timeline = pl.DataFrame({"time_s": ends, "power_w": [*powers, 0]}, schema_overrides={"time_s": pl.Float64})
    expected, bare = 0.0, 0
    for second in range(4 * len(powers)):
        begun = [row for row in told.to_polars().iter_rows(named=True) if row["time_s"] <= second]
        here = begun[-1] if begun else None
        if here is None or (here["until_s"] is not None and here["until_s"] <= second):
            bare += 1
        else:
            expected += here["value"] * powers[second // 4] / 3.6e6
    (charge,) = told._charges(timeline)
    assert charge.amount == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert charge.bare_s == bare


def test_energy_without_a_price_is_left_out_and_said_so() -> None:
    late = events(price(1800.0, 1.0, until_s=3600.0))
    with pytest.warns(
        hs.errors.ResultWarning, match=r"cost of a part of the run: .* says what 57 % of the energy, drawn in 3,600 s"
    ):
        result = hs.simulate(JOBS, PLATFORM, events=late)
    assert result.summary()["cost"] == pytest.approx(0.6 * 0.5)
    assert "carbon_kg" not in result.summary()


def test_a_run_without_prices_has_the_summary_and_the_record_it_always_had() -> None:
    plain = hs.simulate(JOBS, PLATFORM)
    assert not {"cost", "carbon_kg", "alerts", "lost_energy_j"} & set(plain.summary())
    assert "events" not in plain.provenance["options"]
    failing = events({"time_s": 60.0, "kind": "node_failed", "node": 0})
    failed = hs.simulate(JOBS, PLATFORM, events=failing)
    assert set(failed.summary()) == set(plain.summary())
    assert failed.provenance["options"]["events"] == failing.sha256


def test_events_of_a_run_are_those_injected_before_it() -> None:
    failing = events(
        {"time_s": 60.0, "kind": "node_failed", "node": 0}, {"time_s": 90.0, "kind": "node_repaired", "node": 0}
    )
    session = hs.Session(JOBS, PLATFORM)
    session.inject(failing)
    injected, given = session.run(), hs.simulate(JOBS, PLATFORM, events=failing)
    assert given.jobs.equals(injected.jobs)
    assert given.timeline.equals(injected.timeline)
    assert given.jobs["state"].to_list() == ["failed", "completed"]


def test_prices_may_come_into_a_session_and_stay_with_its_file(tmp_path: Path) -> None:
    session = hs.Session(JOBS, PLATFORM, events=events(price(0.0, 0.5)))
    session.step_until(1800.0)
    session.inject(events(price(3600.0, 1.0)))
    session.save(tmp_path / "s.hetsched")
    loaded = hs.Session.load(tmp_path / "s.hetsched")
    result = session.run()
    assert result.summary()["cost"] == pytest.approx(0.5 * 0.5 + 0.4 * 0.5)
    again = loaded.run()
    assert again.summary() == result.summary()
    assert again.provenance == result.provenance


@pytest.mark.parametrize(
    ("given", "policy", "message"),
    [
        (
            [budget(4.0, 1e3)],
            "easy",
            "events.kind, row 0: found `budget` at 4 s, expected a policy with a part in the role `power`",
        ),
        (
            [price(0.0, 1.0), budget(4.0, 199.0)],
            "vahrm",
            "events.value, row 1: found `199` at 4 s, expected at least 200",
        ),
        (
            [{"time_s": 0.0, "kind": "node_failed", "node": 2}],
            "easy",
            "events.node, row 0: found 2, expected a node of",
        ),
    ],
)
def test_events_that_cannot_happen_in_a_run_are_refused(given: list[Any], policy: str, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.simulate(JOBS, PLATFORM, policy, events=events(*given))
    with pytest.raises(hs.ConfigError, match=re.escape(message)):
        hs.Session(JOBS, PLATFORM, policy).inject(events(*given))


def test_events_are_an_events() -> None:
    with pytest.raises(hs.ConfigError, match=r"events: found .?DataFrame.?, expected an Events"):
        hs.simulate(JOBS, PLATFORM, events=pl.DataFrame())  # type: ignore[arg-type]


def test_a_sweep_is_keyed_by_its_events(tmp_path: Path) -> None:
    cheap, dear = events(price(0.0, 1.0)), events(price(0.0, 2.0))

    def cost(given: hs.Events | None) -> list[float]:
        frame = hs.sweep(JOBS, PLATFORM, ["fcfs", "easy"], events=given, out=tmp_path, workers=1, progress=None)
        return frame["cost"].to_list() if given is not None else [len(frame.columns)]

    once = cost(cheap)
    assert cost(dear) == pytest.approx([2 * one for one in once])
    assert cost(cheap) == once
    assert "cost" not in hs.sweep(JOBS, PLATFORM, "fcfs", out=tmp_path, workers=1, progress=None).columns
    assert len((tmp_path / "sweep.jsonl").read_text().splitlines()) == 5


def test_a_comparison_takes_events_and_what_they_cost() -> None:
    compared = hs.compare(JOBS, PLATFORM, ["fcfs", "easy"], events=events(price(0.0, 1.0)), metrics=["cost"])
    assert compared.runs["cost"].null_count() == 0


@needs_budgets
def test_a_budget_in_time_is_the_one_in_force() -> None:
    low = events(budget(0.0, 450.0, until_s=4000.0))
    result = hs.simulate(JOBS, PLATFORM, hs.Policy(power="system-budget"), events=low)
    # 400 W with one job, 600 W with two: the second waits for the first to end.
    assert result.jobs["start_s"].to_list() == [0.0, 3600.0]
    assert result.summary()["over_budget_count"] == 0
    assert result.events["kind"].to_list() == ["budget", "budget"]
    assert result.timeline["budget_w"].to_list()[0] == 450.0


def refusal(*rows: dict[str, Any], policy: Any = "fcfs") -> list[str]:
    with pytest.raises(hs.ConfigError) as error:
        hs.simulate(JOBS, PLATFORM, policy, events=events(*rows))
    return str(error.value).splitlines()


def test_rows_of_one_fault_are_one_line_with_their_number() -> None:
    said = "expected a policy with a part in the role `power`, such as system-budget; fcfs has none"
    first = "events.kind, row 0: found `budget` at 0 s"
    budgets = [budget(float(row), 1e4) for row in range(32)]
    assert refusal(*budgets) == [f"{first} and in 31 more rows, {said}"]
    assert refusal(*budgets[:2]) == [f"{first} and in 1 more row, {said}"]
    assert refusal(*budgets[:1]) == [f"{first}, {said}"]


def test_a_list_of_faults_that_ends_early_says_how_many_more_there_are() -> None:
    power = hs.Policy("fcfs", "none", "lowest-id", power="system-budget")
    hungry = [budget(float(row), float(row % 25)) for row in range(50)]
    lines = refusal(*hungry, policy=power)
    assert lines[19].startswith("events.value, row 19: found `19` at 19 s and in 1 more row, expected at least 200 W")
    assert lines[20:] == [
        "events.value: found the same fault in 10 more rows, expected at least 200 W, what the idle machine draws"
    ]
    failed = [{"time_s": float(row), "kind": "node_failed", "node": 7} for row in range(23)]
    assert refusal(*failed)[20:] == [
        "events.node: found the same fault in 3 more rows, expected a node of the platform, 0 to 1"
    ]
    with pytest.raises(hs.ConfigError) as error:
        events(*(budget(float(row), -1.0) for row in range(22)))
    assert str(error.value).splitlines()[20].startswith("events.value: found the same fault in 2 more rows, expected")
