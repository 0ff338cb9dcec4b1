"""`plan` under a budget: the reference machine against the engine, start by start and node by node.

Rules 48 to 51 of the page on power in time, with the rules that go together with them.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from machine_agreement import agrees
from machine_cases import cases
from plain_jobs import Job
from plain_machine import Machine
from test_plain_power import is_monotone, keeps_the_laws, keeps_within

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@settings(max_examples=2 * settings().max_examples)
@given(cases(plan=True, shared=False, draws="any", power="static"))
def test_a_plan_under_a_budget_agrees(case: Case) -> None:
    agrees(*case)


@given(
    cases(plan=True, draws="any", power="static", cells=True) | cases(plan=True, draws="any", power="static", wait=True)
)
def test_a_plan_under_a_budget_agrees_where_nodes_are_shared(case: Case) -> None:
    """Jobs take the watts of their slots."""
    agrees(*case)


@settings(max_examples=3 * settings().max_examples)
@given(cases(plan=True, shared=False, draws="any", power="all"))
def test_a_plan_under_budgets_in_time_agrees(case: Case) -> None:
    """Foresight, early ends, own caps, allocators and emergencies; and the laws of such runs hold."""
    agrees(*case)
    keeps_the_laws(case[0])


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=True, shared=False, draws="any", power="all", queues=True, pools=True)
    | cases(plan=True, shared=False, draws="any", power="all", queues=True, pools=True, wait=True, shares=True)
)
def test_a_plan_under_a_budget_over_queues_agrees(case: Case) -> None:
    """Queues of any nodes, which may overlap, with limits and orders of their own."""
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=True, shared=False, draws="any", power="all", cells=True, wait=True)
    | cases(plan=True, shared=False, draws="any", power="all", cells=True, queues=True, pools=True)
)
def test_a_plan_under_a_budget_on_nodes_that_differ_agrees(case: Case) -> None:
    agrees(*case)


@given(
    cases(plan=True, shared=False, draws="analyzed", power="all")
    | cases(plan=True, shared=False, draws="measured", power="all")
)
def test_a_plan_under_a_budget_agrees_where_draws_are_forecast_or_measured(case: Case) -> None:
    agrees(*case)


@given(
    cases(plan=True, shared=False, vahrm=True)
    | cases(plan=True, shared=False, vahrm=True, queues=True, wait=True)
    | cases(plan=True, shared=False, draws="any", power="all", vahrm=True, queues=True, pools=True, wait=True)
)
def test_a_plan_agrees_where_long_waits_go_first(case: Case) -> None:
    """Jobs that starve start on nodes of their queues for their whole length, or no job starts."""
    agrees(*case)


@given(cases(plan=True, shared=False, draws="exact", power="foreseen"))
def test_a_plan_never_exceeds_what_is_known_in_advance(case: Case) -> None:
    if is_monotone(case[0].draws):
        agrees(*case)
        assert keeps_within(case[0])
