"""Times at which an order is asked, and the jobs that it is asked of."""

from __future__ import annotations

from typing import Any

import pytest
from answering_parts import Order, jobs, one_node, starts

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def test_a_static_order_is_asked_once_a_job_for_all_that_join_together() -> None:
    order = Order(lambda jobs, _: -jobs.runtime_s if hasattr(jobs, "runtime_s") else -jobs.planned_s)
    assert starts(hs.Policy(order=order)) == [0, 10, 40, 60]
    # The machine is full from 0 to 10: those that come meanwhile are sorted in when something is free.
    assert order._asked == [(0.0, [11]), (10.0, [12, 13, 14])]


def test_ties_go_by_submit_and_then_by_row() -> None:
    workload = jobs(submit_s=[5, 5, 0, 5])
    result = hs.simulate(workload, one_node(), hs.Policy(order=Order()))
    assert result.jobs.sort("start_s")["job_id"].to_list() == [13, 11, 12, 14]


def test_an_order_that_changes_is_asked_of_all_that_wait_in_each_pass() -> None:
    order = Order(changes="each-pass")
    starts(hs.Policy(order=order))
    assert order._asked == [(0, [11]), (10, [12, 13, 14]), (40, [13, 14]), (60, [14])]


def test_an_order_with_a_period_is_asked_once_a_period() -> None:
    order = Order(changes=2.5)
    starts(hs.Policy(order=order))
    # Passes are at 0, 1, 2, 3, 10, 40, 60 and 65 s. The first after 2.5 is at 3, where all that came join;
    # at 10 and later a new multiple has passed each time.
    assert order._asked == [(0, [11]), (3, [12, 13, 14]), (10, [12, 13, 14]), (40, [13, 14]), (60, [14])]


@pytest.mark.parametrize("changes", ["sometimes", 0, -1.0, float("nan"), [1]])
def test_what_changes_cannot_be_is_refused(changes: Any) -> None:
    with pytest.raises(hs.ConfigError, match=r'policy\.order\.changes: .*"each-pass", or seconds'):
        starts(hs.Policy(order=Order(changes=changes)))


def test_an_order_may_rank_by_what_waits_longest_for_its_length() -> None:
    by_ratio = Order(lambda jobs, view: -(view.now_s - jobs.submit_s) / jobs.planned_s, "each-pass")
    # At 10: 9/30, 8/20, 7/5. At 15: 14/30, 13/20. Then the last.
    assert starts(hs.Policy(order=by_ratio)) == [0, 35, 15, 10]
