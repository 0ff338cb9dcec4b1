"""The order `fair-share` on logs small enough to be counted by hand: who has used how much when each choice is made."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def log(*rows: tuple[float, float, int, str | None], column: str = "user") -> hs.Workload:
    names = ["submit_s", "runtime_s", "node_count", column]
    frame = pl.DataFrame(rows, names, orient="row", schema_overrides={column: pl.String})
    return hs.Workload.from_polars(frame.with_row_index("job_id"))


def starts(workload: hs.Workload, nodes: int = 1, backfill: Any = "none", **order: Any) -> list[float]:
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300)
    policy = hs.Policy({"name": "fair-share", **order}, backfill)
    return hs.simulate(workload, platform, policy).jobs["start_s"].to_list()


ALONE = ((0, 1000, 1, "ann"), (5000, 100, 1, "cy"), (5000, 100, 1, "ann"), (5000, 100, 1, "bo"))


def test_a_user_who_ran_while_no_job_waited_goes_last() -> None:
    # At 5000 cy and bo have used nothing, and cy's job is the earlier row. At 5100 cy has used 100, bo nothing.
    assert starts(log(*ALONE)) == [0, 5000, 5200, 5100]
    assert starts(log(*ALONE, column="account"), by="account") == [0, 5000, 5200, 5100]
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    for policy in ("fair-share", "easy:order=fair-share", "easy:order=fair-share:order.half_life_s=5000"):
        assert hs.simulate(log(*ALONE), platform, policy).jobs["start_s"].to_list() == [0, 5000, 5200, 5100]
    assert hs.simulate(log(*ALONE), platform, "easy").jobs["start_s"].to_list() == [0, 5000, 5100, 5200]


def test_what_was_used_long_ago_counts_less_than_what_was_used_just_now() -> None:
    # ann used 1000 node-s until 1000, bo 100 until 5000, and each has a job at 5000. With a half-life of 1000 s
    # ann's count 1000 / ln 2 x (2^-4 - 2^-5) = 45 node-s, bo's 1000 / ln 2 x (1 - 2^-0.1) = 97: ann is next.
    jobs = log((0, 1000, 1, "ann"), (4900, 100, 1, "bo"), (4950, 10, 1, "bo"), (4960, 10, 1, "ann"))
    assert starts(jobs, half_life_s=1000) == [0, 4900, 5010, 5000]
    # With one of 2000 s ann's count 2000 / ln 2 x (2^-2 - 2^-2.5) = 211, bo's 2000 / ln 2 x (1 - 2^-0.05) = 98.
    assert starts(jobs, half_life_s=2000) == [0, 4900, 5000, 5010]
    assert starts(jobs, half_life_s="none") == [0, 4900, 5000, 5010]


def test_what_runs_counts_as_far_as_it_has_run_and_no_further() -> None:
    # ann holds 2 of 3 nodes from 0 on, for 1000 s. bo has used 1 node for 150 s when the third is free at 150, and ann
    # 2 x 150: bo's next job goes first. Had ann used what its job will, or nothing yet, would not matter; at 160 bo has
    # used 160 and ann 320; cy, who has used nothing, goes before both.
    rows = ((0, 1000, 2, "ann"), (0, 150, 1, "bo"), (10, 10, 1, "ann"), (11, 10, 1, "bo"), (155, 10, 1, "cy"))
    assert starts(log(*rows), nodes=3) == [0, 0, 170, 150, 160]


def test_a_start_counts_nothing_in_its_own_pass() -> None:
    # No user has used anything at 0: all of ann's jobs start by their place in the log, and bo's after them.
    rows = tuple((0, 10, 1, user) for user in ("ann", "ann", "ann", "bo"))
    assert starts(log(*rows), nodes=3) == [0, 0, 0, 10]


def test_nodes_count_as_often_as_a_job_has_them() -> None:
    # Two nodes for 30 s are 60 node-s, one node for 50 s is 50: bo is next at 50, though both ran until now.
    rows = ((0, 30, 2, "ann"), (30, 50, 1, "bo"), (40, 5, 2, "ann"), (41, 5, 2, "bo"))
    assert starts(log(*rows), nodes=2) == [0, 30, 85, 80]


def test_jobs_of_unknown_users_share_one_share() -> None:
    rows = ((0, 100, 1, None), (10, 10, 1, None), (20, 10, 1, "ann"), (30, 10, 1, None))
    assert starts(log(*rows)) == [0, 110, 100, 120]


def test_attempts_that_were_lost_have_used_the_machine_too() -> None:
    # ann's job is lost at 50 and begins again when its node is back, at 60. At 160 ann has used 50 + 100, bo nothing.
    workload = log((0, 100, 1, "ann"), (1, 10, 1, "ann"), (2, 10, 1, "bo"))
    rows = pl.DataFrame({"time_s": [50, 60], "kind": ["node_failed", "node_repaired"], "node": [0, 0]})
    events, platform = hs.Events.from_polars(rows), hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    policy = hs.Policy({"name": "fair-share", "half_life_s": "none"})
    result = hs.simulate(workload, platform, policy, events=events, on_failure="requeue")
    assert result.jobs["start_s"].to_list() == [70, 170, 60]


def test_shares_are_those_of_the_whole_machine_whatever_the_queues() -> None:
    # Each queue has a node of its own. bo has used the other's node for 100 s, ann nothing: ann is next on this one.
    rows = ((0, 100, 1, "bo"), (0, 50, 1, "cy"), (10, 10, 1, "bo"), (11, 10, 1, "ann"))
    workload = hs.Workload.from_polars(log(*rows).to_polars().with_columns(queue=pl.Series(["b", "a", "a", "a"])))
    queues = [hs.Queue("a", "0"), hs.Queue("b", "1")]
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300, queues=queues)
    assert hs.simulate(workload, platform, "fair-share").jobs["start_s"].to_list() == [0, 0, 60, 50]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ({"half_life_s": 0}, 'policy.order.half_life_s: found 0, expected seconds from 1e-6 to 1e12, or "none"'),
        ({"half_life_s": "week"}, "policy.order.half_life_s: found `week`, expected seconds from 1e-6"),
        ({"by": "queue"}, "policy.order.by: found `queue`, expected one of user, account"),
        ({"half_life": 3}, "policy.order.half_life: found `3`, expected a parameter of `fair-share`: half_life_s, by"),
    ],
)
def test_what_it_does_not_take_is_refused(order: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError) as raised:
        hs.Policy({"name": "fair-share", **order})
    assert str(raised.value).startswith(message)


def test_a_log_that_says_nothing_of_whose_jobs_are_is_warned_of() -> None:
    workload = log(*ALONE)
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    with pytest.warns(hs.errors.ResultWarning, match="order fair-share by account: no job names its account"):
        jobs = hs.simulate(workload, platform, "fair-share:by=account").jobs
    assert jobs["start_s"].to_list() == [0, 5000, 5100, 5200]
