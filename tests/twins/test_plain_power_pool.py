"""A budget where one pool is only some of the nodes, beside the plain-Python twin of power in time: the others idle,
and draw of the same budget (machine page, rules 1, 6 and 7)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, note
from plain_power_machine import Row, Tables
from power_agreement import assert_runs_agree
from power_cases import (
    TDP_W,
    Case,
    budget_rows,
    events_of,
    machines,
    of_one_row,
    policies,
    policy_of,
    table_of,
    traces,
    with_model,
    workload_of,
)

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

# Watts and factor of nodes in no queue: whatever stands there, no job sees it.
ELSEWHERE = (40.0, 3.0)


@st.composite
def pools(draw: st.DrawFn) -> tuple[Case, list[int]]:
    """A scenario, and which nodes of the platform are the pool."""
    beside = draw(st.lists(st.sampled_from([0.0, 50.0, 60.25, 300.0]), min_size=1, max_size=3))
    machine = replace(draw(machines()), beside_w=tuple(beside))
    count = len(machine.idle_w) + len(beside)
    numbers = sorted(draw(st.permutations(range(count)))[: len(machine.idle_w)])
    case = Case(draw(traces(machine)), machine, draw(policies(machine)), draw(budget_rows(machine)))
    return case, numbers


def spread(values: list[float], numbers: list[int], others: list[float]) -> list[float]:
    """One value a node of the platform: the pool's, and those of the others."""
    own, rest = iter(values), iter(others)
    return [next(own) if node in numbers else next(rest) for node in range(len(values) + len(others))]


def tables_of(tables: Tables, numbers: list[int], others: int, *, is_one_row: bool) -> Any:
    def row(own: Row) -> Row:
        return spread(own[0], numbers, [ELSEWHERE[0]] * others), spread(own[1], numbers, [ELSEWHERE[1]] * others)

    whole = {
        cap: table_of({app: row(own) for app, own in by_app.items()}, is_one_row=is_one_row)
        for cap, by_app in sorted(tables.items())
    }
    return whole[inf] if len(whole) == 1 else whole


def simulated(case: Case, numbers: list[int]) -> hs.Result:
    """The engine's answer."""
    machine, others = case.machine, len(case.machine.beside_w)
    platform = hs.Platform.homogeneous(
        nodes=len(machine.idle_w) + others,
        idle_w=spread(machine.idle_w, numbers, list(machine.beside_w)),
        tdp_w=TDP_W,
        queues=[hs.Queue("own", numbers)],
    )
    both = machine.actual, machine.predicted
    is_one_row = all(one == of_one_row(one) for one in both)
    actual, predicted = (tables_of(one, numbers, others, is_one_row=is_one_row) for one in both)
    platform = platform.with_tables(actual=actual, predicted=None if machine.actual == machine.predicted else predicted)
    if machine.model is not None:
        platform = with_model(platform, machine)
    workload = hs.Workload.from_polars(workload_of(case.jobs).to_polars().with_columns(queue=pl.lit("own")))
    events = events_of(case.rows)
    return hs.simulate(workload, platform, policy_of(case.rules), events=events)


def in_pool(frame: pl.DataFrame, numbers: list[int]) -> pl.DataFrame:
    """The nodes as the twin counts them."""
    places = [None if nodes is None else [numbers.index(node) for node in nodes] for nodes in frame["nodes"].to_list()]
    return frame.with_columns(pl.Series("nodes", places, dtype=pl.List(pl.UInt32)))


@given(pools())
def test_a_budget_is_that_of_the_platform_whose_other_nodes_idle(given_pool: tuple[Case, list[int]]) -> None:
    case, numbers = given_pool
    note(repr(given_pool))
    result, twin = simulated(case, numbers), case.twin()
    seen: Any = SimpleNamespace(jobs=in_pool(result.jobs, numbers), events=result.events, summary=result.summary)
    seen.segments = in_pool(result.segments, numbers)
    assert_runs_agree(seen, twin)
    own, others = (result.nodes.filter(pl.col("node").is_in(numbers) == is_own) for is_own in (True, False))
    window_s = own.select(pl.sum_horizontal("busy_s", "idle_s")).item(0, 0)
    assert others["idle_s"].to_list() == pytest.approx([window_s] * len(others))
    expected = [watts * window_s for watts in case.machine.beside_w]
    assert others["energy_j"].to_list() == pytest.approx(expected)
