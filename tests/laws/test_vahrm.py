"""VAHRM's order, its starvation limit, first runs and power budgets: what they promise on any trace and machine."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import hetsched as hs
from hetsched.policy import parts
from hetsched.testing import APPS, check_schedule, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
WHAT_HAPPENS = ("start_s", "end_s", "nodes", "started_by", "state")
BACKFILLS = st.sampled_from(["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}])
ORDERS = st.sampled_from([name for role, name in parts() if role == "order" and name != "observed"])
PLACEMENTS = st.sampled_from([name for role, name in parts() if role == "placement"])
TDP_W = 300.0


def jobs_of(workload: hs.Workload, platform: hs.Platform, policy: Any, **options: Any) -> pl.DataFrame:
    return hs.simulate(workload, platform, policy, **options).jobs


def same(here: pl.DataFrame, there: pl.DataFrame, names: tuple[str, ...] = WHAT_HAPPENS) -> bool:
    return all(here[name].equals(there[name], null_equal=True) for name in names)


def under(pcr: float | None = None, **parts_of_it: Any) -> hs.Policy:
    """A composition under a share of the machine's TDP, or without a budget."""
    return hs.Policy(**parts_of_it, power=None if pcr is None else {"name": "system-budget", "pcr": pcr})


@st.composite
def within_tdp(draw: st.DrawFn, *, exact: bool = True, min_nodes: int = 1) -> hs.Platform:
    """Machines on which no application draws more than the TDP; predictions are exact, or another table."""
    nodes = draw(st.integers(min_nodes, 6))
    watts = st.sampled_from([60.0, 90.0, 150.0, 180.0, 180.5, 240.0, TDP_W])
    row = st.lists(watts, min_size=nodes, max_size=nodes)

    def table() -> hs.VariationTable:
        rows = draw(st.lists(row, min_size=len(APPS), max_size=len(APPS)))
        return hs.VariationTable(list(APPS), power_w=np.array(rows))

    idle_w = draw(st.sampled_from([0.0, 90.0]) | st.lists(st.sampled_from([0.0, 90.0]), min_size=nodes, max_size=nodes))
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=idle_w, tdp_w=TDP_W)
    return platform.with_tables(actual=table(), predicted=None if exact else table())


def without_measured_draws(workload: hs.Workload) -> hs.Workload:
    """The measured draw of a job without application may lie above the TDP; tables say all then."""
    frame = workload.to_polars()
    return hs.Workload.from_polars(frame.drop("power_w", strict=False))


# The order.


@given(workloads(), platforms(), BACKFILLS)
def test_with_no_weight_on_energy_the_order_is_that_of_submits(
    workload: hs.Workload, platform: hs.Platform, backfill: Any
) -> None:
    by_priority, by_submit = (
        jobs_of(workload, platform, under(order=order, backfill=backfill, placement="lowest-power"))
        for order in ({"name": "vahrm", "beta": 0.0, "starvation_limit_s": "none"}, "fcfs")
    )
    assert same(by_priority, by_submit)


@given(workloads(), platforms(), st.sampled_from(["lowest-id", "lowest-power"]))
def test_the_preset_with_no_weight_on_energy_is_greedy_in_the_order_of_submits(
    workload: hs.Workload, platform: hs.Platform, placement: str
) -> None:
    policy = hs.Policy.preset("vahrm", beta=0.0, power=None, placement=placement)
    assert same(
        jobs_of(workload, platform, policy),
        jobs_of(workload, platform, under(order="fcfs", backfill="first-fit", placement=placement)),
    )


def energies_j(workload: hs.Workload, platform: hs.Platform) -> np.ndarray:
    """Mean over nodes of the tabled watts × nodes × runtime, of jobs that all have an application."""
    table, frame = platform.predicted or platform.actual, workload.to_polars()
    assert table is not None
    mean_w = dict(zip(table.apps, table.power_w.mean(axis=1), strict=True))
    watts = np.array([mean_w[app] for app in frame["app"]])
    return watts * frame["node_count"].to_numpy() * frame["runtime_s"].to_numpy()


@given(workloads(min_jobs=2), within_tdp(exact=False), st.sampled_from(["none", "first-fit"]))
def test_with_all_weight_on_energy_the_most_energy_is_first(
    workload: hs.Workload, platform: hs.Platform, backfill: str
) -> None:
    workload = hs.Workload.from_polars(workload.to_polars().filter(pl.col("app").is_not_null()))
    assume(len(workload) >= 2)
    order = {"name": "vahrm", "beta": 1.0, "starvation_limit_s": "none"}
    jobs = jobs_of(workload, platform, under(order=order, backfill=backfill, placement="lowest-power"))
    energy = energies_j(workload, platform)
    rows = [row for row in range(len(jobs)) if jobs["start_s"][row] is not None]
    start, submit, count = (jobs[name].to_list() for name in ("start_s", "submit_s", "node_count"))
    for first in rows:
        for second in rows:
            hungrier = energy[first] > energy[second] * (1 + 1e-9)
            # Both are queued when the second starts; greedily, only a job that needs less room may pass.
            if hungrier and submit[first] <= start[second] and (backfill == "none" or count[first] <= count[second]):
                assert start[first] <= start[second], f"row {second} starts before row {first}"


@given(workloads(max_jobs=14), within_tdp(), st.sampled_from([0.0, 2.0, 5.5]), st.sampled_from([0.0, 1.0]))
def test_while_a_job_starves_no_other_starts(
    workload: hs.Workload, platform: hs.Platform, limit_s: float, beta: float
) -> None:
    """A start at which an earlier submit has waited beyond the limit, and goes on waiting, is none that may be."""
    order = {"name": "vahrm", "beta": beta, "starvation_limit_s": limit_s}
    jobs = jobs_of(workload, platform, under(order=order, backfill="first-fit", placement="lowest-power"))
    started = jobs.filter(pl.col("start_s").is_not_null()).with_columns(
        (pl.col("submit_s", "start_s") * 1e6).round().cast(pl.Int64)
    )
    rows = list(enumerate(started.select("submit_s", "start_s").rows()))
    for starving, (submit, start) in rows:
        for other, (other_submit, other_start) in rows:
            is_over = other_start - submit > limit_s * 1e6 and start > other_start
            ahead = other_start - other_submit > limit_s * 1e6 and (other_submit, other) < (submit, starving)
            assert not is_over or ahead, f"row {other} of the started starts at {other_start} us before row {starving}"


@given(workloads(min_jobs=1, max_jobs=14, walltimes=False), st.integers(1, 6), st.sampled_from([1.0, 4.0]))
def test_a_job_that_fits_the_idle_machine_waits_no_longer_than_the_limit(
    workload: hs.Workload, nodes: int, limit_s: float
) -> None:
    """Once past the limit a job waits for those that run, and for who was submitted before it: each at most once."""
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=90.0, tdp_w=TDP_W)
    policy = hs.Policy.preset("vahrm", beta=1.0, starvation_limit_s=limit_s)
    frame = workload.to_polars().drop("app", "power_w", strict=False)
    jobs = jobs_of(hs.Workload.from_polars(frame), platform, policy).filter(pl.col("start_s").is_not_null())
    longest_s = jobs["runtime_s"].max() or 0.0
    for row, (submit_s, wait_s) in enumerate(jobs.select("submit_s", "wait_s").rows()):
        before = jobs.with_row_index("row").filter(
            (pl.col("submit_s") < submit_s) | ((pl.col("submit_s") == submit_s) & (pl.col("row") < row))
        )
        # The limit is noticed at a pass: at an end, no later than the longest run after it.
        most_s = limit_s + 2 * longest_s + float(before["runtime_s"].sum())
        assert wait_s <= most_s * (1 + 1e-12)


# Budgets.


@given(workloads(), within_tdp(), ORDERS, BACKFILLS, PLACEMENTS)
def test_a_budget_of_all_tdp_never_binds_where_predictions_are_exact(
    workload: hs.Workload, platform: hs.Platform, order: str, backfill: Any, placement: str
) -> None:
    workload = without_measured_draws(workload)
    free, held = (
        hs.simulate(workload, platform, under(pcr, order=order, backfill=backfill, placement=placement), seed=3)
        for pcr in (None, 1.0)
    )
    assert same(free.jobs, held.jobs)
    assert held.summary()["budget_w"] == pytest.approx(TDP_W * platform.nodes)
    assert (free.summary()["budget_w"], held.summary()["over_budget_count"]) == (None, 0)


@given(workloads(), platforms(time_ratios=False), st.sampled_from(["", "-b"]), st.none() | st.just(1.5))
def test_where_nodes_are_equally_fast_and_no_budget_binds_the_rivals_start_alike(
    workload: hs.Workload, platform: hs.Platform, backfilling: str, pcr: float | None
) -> None:
    """1.5 times the TDP is above the highest draw there is."""
    settings_of = {} if pcr is None else {"pcr": pcr}
    runs = [
        jobs_of(workload, platform, hs.Policy.preset(f"{name}-fcfs{backfilling}", **settings_of))
        for name in ("vu", "cva", "cgva")
    ]
    for other in runs[1:]:
        assert same(runs[0], other, ("start_s", "end_s", "started_by", "state"))


@given(
    workloads(),
    within_tdp(),
    st.floats(0.0, 1.0),
    ORDERS,
    BACKFILLS,
    PLACEMENTS,
)
def test_where_predictions_are_exact_no_budget_is_ever_exceeded(
    workload: hs.Workload, platform: hs.Platform, share: float, order: str, backfill: Any, placement: str
) -> None:
    idle_w, tdp_w = float(platform.idle_w.sum()), float(platform.tdp_w.sum())
    budget_w = max(idle_w + share * (tdp_w - idle_w), 1.0)
    power = {"name": "system-budget", "budget_w": budget_w}
    policy = hs.Policy(order=order, backfill=backfill, placement=placement, power=power)
    result = hs.simulate(workload, platform, policy)
    assert result.timeline["power_w"].max() is None or result.timeline["power_w"].max() <= budget_w * (1 + 1e-9)
    assert (result.summary()["over_budget_count"], result.summary()["over_budget_s"]) == (0, 0.0)


@given(workloads(), within_tdp(exact=False), st.sampled_from([0.4, 0.5, 0.6, 0.8]), BACKFILLS, st.booleans())
def test_what_goes_beyond_a_budget_is_what_the_timeline_says(
    workload: hs.Workload, platform: hs.Platform, pcr: float, backfill: Any, first_run: bool
) -> None:
    order = {"name": "vahrm", "first_run": first_run}
    result = hs.simulate(workload, platform, under(pcr, order=order, backfill=backfill, placement="lowest-power"))
    budget_w, spells, beyond_s, most_w, above = pcr * TDP_W * platform.nodes, 0, 0.0, 0.0, False
    rows = result.timeline.select("time_s", "power_w").rows()
    for (time_s, power_w), (until_s, _) in pairwise(rows):
        is_beyond = power_w > budget_w * (1 + 1e-9)
        spells += is_beyond and not above
        beyond_s += (until_s - time_s) * is_beyond
        most_w = max(most_w, (power_w - budget_w) * is_beyond)
        above = is_beyond
    summary = result.summary()
    assert summary["budget_w"] == pytest.approx(budget_w)
    assert summary["over_budget_count"] == spells
    assert summary["over_budget_s"] == pytest.approx(beyond_s)
    assert summary["over_budget_peak_w"] == pytest.approx(most_w)


def test_predictions_that_are_too_low_exceed_the_budget_and_are_counted() -> None:
    # Two nodes, idle 100 W each, believed to draw 150 W: both jobs fit 300 W. They draw 200 W, from 10 to 20 both.
    frame = {
        "job_id": [1, 2],
        "submit_s": [0.0, 10.0],
        "runtime_s": [20.0, 30.0],
        "node_count": [1, 1],
        "app": ["a", "a"],
    }
    tables = {
        name: hs.VariationTable(["a"], power_w=np.full((1, 2), w))
        for name, w in (("actual", 200.0), ("predicted", 150.0))
    }
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(**tables)
    summary = hs.simulate(hs.Workload.from_polars(pl.DataFrame(frame)), platform, "vahrm:pcr=0.5").summary()
    assert summary["budget_w"] == 300.0
    # 300 W alone is no more than the budget; 400 W from 10 s to 20 s is.
    assert [summary[f"over_budget_{what}"] for what in ("count", "s", "peak_w")] == [1, 10.0, 100.0]


def test_a_job_that_exceeds_the_budget_on_any_nodes_is_rejected_and_only_it() -> None:
    # Idle 400 W, budget 660 W: 260 W to add. On the two cheapest nodes job 1 adds 120 + 130 W, job 2 all of 120 to 150.
    frame = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 0.0, 0.0],
        "runtime_s": [10.0, 10.0, 10.0],
        "node_count": [2, 3, 1],
        "app": ["a", "a", "a"],
    }
    table = hs.VariationTable(["a"], power_w=np.array([[220.0, 230.0, 240.0, 250.0]]))
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    jobs = jobs_of(hs.Workload.from_polars(pl.DataFrame(frame)), platform, "cgva-fcfs:budget_w=660")
    assert jobs["state"].to_list() == ["completed", "rejected", "completed"]
    assert jobs["reason"].to_list() == [None, "would exceed the power budget on any nodes", None]
    assert jobs["start_s"].to_list() == [0.0, None, 10.0]


def test_the_ceiling_may_be_met_but_for_a_rounding() -> None:
    # Three nodes at 0.1 W beyond 0.2 W idle: 0.9 W in all, which no sum of floats has to hit.
    frame = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0] * 3,
        "runtime_s": [5.0] * 3,
        "node_count": [1] * 3,
        "app": ["a"] * 3,
    }
    table = hs.VariationTable(["a"], power_w=np.full((1, 3), 0.3))
    platform = hs.Platform.homogeneous(nodes=3, idle_w=0.2, tdp_w=1.0).with_tables(actual=table)
    for budget_w, last_start in ((0.9, 0.0), (0.3 * 3, 0.0), (0.9 * (1 - 1e-6), 5.0)):
        jobs = jobs_of(hs.Workload.from_polars(pl.DataFrame(frame)), platform, f"vu-fcfs:budget_w={budget_w!r}")
        assert jobs["start_s"].max() == last_start


THREE_NODES = hs.Platform.homogeneous(nodes=3, idle_w=100.0, tdp_w=300.0, busy_w=200.0)
"""Each draws 100 W more when busy."""


def test_where_watts_are_short_the_head_waits_until_both_suffice() -> None:
    # Budget 500 W: two busy nodes. At 10 s two nodes are free, but 100 W; job 3 needs 200, which are free at 20 s, its
    # shadow time. Job 4 would end at 21 s and leave it 100 W short. Job 5 ends at 20 s, and overtakes at 10 s.
    frame = {
        "job_id": [1, 2, 3, 4, 5],
        "submit_s": [0.0] * 5,
        "runtime_s": [10.0, 20.0, 10.0, 11.0, 10.0],
        "node_count": [1, 1, 2, 1, 1],
    }
    policy = under(order="fcfs", backfill="reservations", placement="lowest-id")
    policy = hs.Policy.from_dict({**policy.to_dict(), "power": {"name": "system-budget", "budget_w": 500.0}})
    jobs = jobs_of(hs.Workload.from_polars(pl.DataFrame(frame)), THREE_NODES, policy)
    assert jobs["start_s"].to_list() == [0.0, 0.0, 20.0, 30.0, 10.0]


def test_a_job_that_overtakes_under_a_budget_is_marked() -> None:
    # Budget 600 W is all three nodes busy, and binds none of these; but it could, at TDP. Job 2 waits for nodes, job 3
    # passes it.
    frame = {"job_id": [1, 2, 3], "submit_s": [0.0] * 3, "runtime_s": [10.0, 10.0, 5.0], "node_count": [2, 3, 1]}
    table = hs.VariationTable(["*"], power_w=np.full((1, 3), 200.0))
    hungry = hs.Platform.homogeneous(nodes=3, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    workload = hs.Workload.from_polars(pl.DataFrame(frame).with_columns(app=pl.lit("a")))
    for backfill in ("first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}):
        power = {"name": "system-budget", "budget_w": 600.0}
        jobs = jobs_of(workload, hungry, hs.Policy(order="fcfs", backfill=backfill, power=power))
        assert jobs["start_s"].to_list() == [0.0, 10.0, 0.0]
        assert jobs["started_by"].to_list() == ["immediate", "reservation", "backfill"], backfill


@given(workloads(), within_tdp(), st.sampled_from([0.35, 0.5, 0.7]), BACKFILLS, PLACEMENTS)
def test_no_job_is_left_waiting_at_the_end(
    workload: hs.Workload, platform: hs.Platform, pcr: float, backfill: Any, placement: str
) -> None:
    """A job that is not rejected can run on some nodes of the idle machine, and does in the end."""
    jobs = jobs_of(workload, platform, under(pcr, order="fcfs", backfill=backfill, placement=placement))
    assert "pending" not in jobs["state"].to_list()


@given(
    workloads(min_jobs=1),
    within_tdp(),
    st.sampled_from([0.35, 0.5, 0.7]),
    BACKFILLS,
    PLACEMENTS,
    st.sampled_from(["none", 3.0]),
)
def test_first_runs_leave_no_job_waiting_and_look_at_nothing_submitted_later(
    workload: hs.Workload, platform: hs.Platform, pcr: float, backfill: Any, placement: str, limit: Any
) -> None:
    """A job without a profile is held, rejected or run; which of them, jobs that come later do not decide."""
    order = {"name": "vahrm", "first_run": True, "starvation_limit_s": limit}
    policy = under(pcr, order=order, backfill=backfill, placement=placement)
    jobs = jobs_of(workload, platform, policy)
    assert "pending" not in jobs["state"].to_list()
    frame = workload.to_polars()
    last_s = frame["submit_s"].max()
    sooner = frame.filter(pl.col("submit_s") < last_s)
    if not sooner.is_empty():
        before = jobs_of(hs.Workload.from_polars(sooner), platform, policy)
        after = jobs.filter(pl.col("submit_s") < last_s)
        assert (before["state"] == "rejected").to_list() == (after["state"] == "rejected").to_list()


# First runs.


def first_runs(**others: Any) -> hs.Policy:
    return hs.Policy.preset("vahrm", first_run=True, **others)


def micros(seconds: pl.Series) -> list[int | None]:
    return [None if value is None else round(value * 1e6) for value in seconds]


@given(workloads(walltimes=False), platforms(time_ratios=False), BACKFILLS, st.data())
def test_exactly_the_flagged_runs_are_profiled_and_take_longer(
    workload: hs.Workload, platform: hs.Platform, backfill: Any, data: st.DataObject
) -> None:
    frame = workload.to_polars().drop("comm_s", strict=False)
    flag = data.draw(st.lists(st.booleans(), min_size=len(frame), max_size=len(frame)))
    flagged = hs.Workload.from_polars(frame.with_columns(pl.Series("first_run", flag, dtype=pl.Boolean)))
    result = hs.simulate(flagged, platform, first_runs(backfill=backfill, pcr=1.5))
    check_schedule(result, flagged, platform)
    jobs = result.jobs.filter(pl.col("start_s").is_not_null())
    assert jobs["profiled"].to_list() == jobs["first_run"].to_list()
    assert result.summary()["profiled_jobs"] == jobs["first_run"].sum()
    for is_first, ran, nominal in zip(
        *(jobs["first_run"], micros(jobs["runtime_s"]), micros(jobs["nominal_runtime_s"])), strict=True
    ):
        assert ran == (math.ceil(nominal * 1.05) if is_first else nominal)


@given(workloads(walltimes=False), platforms(), BACKFILLS)
def test_without_flags_the_jobs_of_an_applications_first_pass_are_profiled(
    workload: hs.Workload, platform: hs.Platform, backfill: Any
) -> None:
    frame = workload.to_polars().drop("first_run", strict=False).filter(pl.col("app").is_not_null())
    # Of jobs of length zero several may start at one instant, in passes of their own.
    jobs = jobs_of(
        hs.Workload.from_polars(frame.filter(pl.col("runtime_s") > 0)), platform, first_runs(backfill=backfill, pcr=1.5)
    ).filter(pl.col("start_s").is_not_null())
    expected = jobs["start_s"] == jobs.select(pl.col("start_s").min().over("app"))["start_s"]
    assert jobs["profiled"].to_list() == expected.to_list()


@given(workloads(), platforms(), BACKFILLS, st.booleans())
def test_where_nothing_is_profiled_flags_change_nothing(
    workload: hs.Workload, platform: hs.Platform, backfill: Any, all_first: bool
) -> None:
    plain = workload.to_polars().drop("first_run", strict=False)
    flagged = plain.with_columns(first_run=pl.lit(all_first))
    policy = hs.Policy.preset("vahrm", backfill=backfill, pcr=0.8)
    runs = [hs.simulate(hs.Workload.from_polars(frame), platform, policy) for frame in (plain, flagged)]
    assert same(runs[0].jobs, runs[1].jobs)
    assert runs[1].summary()["profiled_jobs"] == 0
    assert "profiled" not in runs[1].jobs.columns


def test_a_profile_is_known_after_the_pass_in_which_it_was_made() -> None:
    # Idle 200 W, budget 450 W. Two first runs at TDP would add 400 W: one starts. Then it counts with the 120 W it is
    # known to add, and at the next pass, when job 3 comes, job 2 fits with as much.
    frame = {"job_id": [1, 2, 3], "submit_s": [0.0, 0.0, 4.0], "runtime_s": [10.0, 10.0, 1.0], "node_count": [1, 1, 2]}
    table = hs.VariationTable(["a"], power_w=np.full((1, 2), 220.0))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    workload = hs.Workload.from_polars(pl.DataFrame(frame).with_columns(app=pl.lit("a")))
    jobs = jobs_of(workload, platform, first_runs(budget_w=450.0, beta=0.0))
    assert jobs["start_s"].to_list() == [0.0, 4.0, 14.0]
    assert jobs["end_s"].to_list() == [10.5, 14.0, 15.0]
    assert jobs["profiled"].to_list() == [True, False, False]


def test_a_flagged_run_counts_with_tdp_until_it_ends() -> None:
    # As above, but the flag says that job 1 is a first run whatever is known: its 200 W are taken until it ends.
    frame = {"job_id": [1, 2, 3], "submit_s": [0.0, 0.0, 4.0], "runtime_s": [10.0, 10.0, 1.0], "node_count": [1, 1, 2]}
    table = hs.VariationTable(["a"], power_w=np.full((1, 2), 220.0))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    flags = pl.Series("first_run", [True, False, False])
    workload = hs.Workload.from_polars(pl.DataFrame(frame).with_columns(flags, app=pl.lit("a")))
    jobs = jobs_of(workload, platform, first_runs(budget_w=450.0, beta=0.0))
    assert jobs["start_s"].to_list() == [0.0, 10.5, 20.5]


def test_a_first_run_without_cost_is_a_first_run_all_the_same() -> None:
    frame = {"job_id": [1], "submit_s": [0.0], "runtime_s": [10.0], "node_count": [1]}
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(frame)), platform, first_runs(profiling_ratio=1.0))
    assert result.jobs["profiled"].to_list() == [True]
    assert result.summary()["profiled_jobs"] == 1


@pytest.mark.parametrize("app", ["a", None])
def test_a_first_run_that_never_fits_with_tdp_does_not_wait_for_ever(app: str | None) -> None:
    # 50 W to add: the application takes them, but nobody knows it before its first run, which counts with 200 W.
    frame = {
        "job_id": [1],
        "submit_s": [0.0],
        "runtime_s": [10.0],
        "node_count": [1],
        "app": pl.Series([app], dtype=pl.String),
    }
    table = hs.VariationTable(["a"], power_w=np.full((1, 2), 150.0))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    jobs = jobs_of(hs.Workload.from_polars(pl.DataFrame(frame)), platform, first_runs(budget_w=250.0))
    assert jobs["state"].to_list() != ["pending"]


def test_of_two_jobs_alike_the_later_may_find_cheaper_watts() -> None:
    # 45 W to add, of which job 0 takes 5 on node 2. Job 1 would take node 0, its lowest draw of those left, where it
    # adds 90 W. Job 2 takes node 0 at 10 W more. Job 3, like job 1, is left node 1, which idles at 90 W of its 100 W.
    frame = {
        "job_id": [0, 1, 2, 3],
        "submit_s": [0.0] * 4,
        "runtime_s": [10.0] * 4,
        "node_count": [1] * 4,
        "app": ["z", "x", "y", "x"],
    }
    power_w = np.array([[90.0, 100.0, 200.0], [10.0, 200.0, 200.0], [300.0, 300.0, 5.0]])
    table = hs.VariationTable(["x", "y", "z"], power_w=power_w)
    platform = hs.Platform.homogeneous(nodes=3, idle_w=[0.0, 90.0, 0.0], tdp_w=300.0).with_tables(actual=table)
    policy = hs.Policy(
        order="fcfs",
        backfill="first-fit",
        placement="lowest-power",
        power={"name": "system-budget", "budget_w": 135.0},
    )
    jobs = jobs_of(hs.Workload.from_polars(pl.DataFrame(frame)), platform, policy)
    assert jobs["start_s"].to_list() == [0.0, 10.0, 0.0, 0.0]
    assert jobs["nodes"].to_list()[2:] == [[0], [1]]
