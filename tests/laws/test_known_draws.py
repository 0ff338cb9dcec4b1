"""Laws of what decisions know of jobs' own draws: it decides, it charges nothing, and it knows no more than it says."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.power import History
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
DECIDED = ["start_s", "nodes", "started_by", "state", "reason"]
CHARGED = ["energy_j", "mean_power_w"]
WATTS = st.sampled_from([None, 0.0, 40.0, 180.0, 240.0, 300.0])
# These make types of equal draws, and a job's kind of draw decides between nodes that are equally good.
NO_TIES = st.sampled_from(["lowest-id", "random", "lowest-power", "best-rank", "sliding-window", "pools"])


def measured(workload, watts):
    """The workload with these draws."""
    column = pl.Series("power_w", watts, dtype=pl.Float64)
    return hs.Workload.from_polars(workload.to_polars().drop("power_w", strict=False).with_columns(column))


def draws_of(data, workload, watts=WATTS):
    rows = len(workload)
    return data.draw(st.lists(watts, min_size=rows, max_size=rows))


def run(workload, platform, policy, **options):
    return hs.simulate(workload, platform, policy, on_unknown_app="nominal", **options).jobs


LEAVING_NODES = policies().filter(lambda policy: (policy.parts["backfill"] or {})["name"] != "plan")
"""Policies whose backfill leaves nodes to the placement."""


@given(st.data(), workloads(), platforms(known_draws=["table"]), policies())
def test_under_table_decisions_are_those_of_a_log_without_measurements(data, workload, platform, policy):
    there = run(measured(workload, draws_of(data, workload)), platform, policy)
    without = run(measured(workload, [None] * len(workload)), platform, policy)
    assert there.select(DECIDED).equals(without.select(DECIDED))


@given(st.data(), workloads(), platforms(known_draws=["table", "tdp"]), policies(), st.integers(0, 99))
def test_where_measurements_are_not_known_their_values_decide_nothing(data, workload, platform, policy, seed):
    watts = draws_of(data, workload)
    # Others in their place; who brings none still brings none.
    own = [k for k, w in enumerate(watts) if w]
    shuffled = dict(zip(own, np.random.default_rng(seed).permutation([watts[k] * 1.1 for k in own]), strict=True))
    others = [shuffled.get(k, w) for k, w in enumerate(watts)]
    one, other = (run(measured(workload, each), platform, policy) for each in (watts, others))
    assert one.select(DECIDED).equals(other.select(DECIDED))


@given(
    st.data(),
    workloads(),
    platforms(known_draws=["measured"]),
    policies(power=False, order="fcfs", placement="lowest-id"),
)
def test_charges_are_the_same_whatever_was_known(data, workload, platform, policy):
    workload = measured(workload, draws_of(data, workload))
    one, *others = (run(workload, platform.with_known_draws(rule), policy) for rule in ("measured", "table", "tdp"))
    assert all(other.equals(one) for other in others)
    forecast = run(workload, platform, policy, predictor=Told([100.0] * len(workload))) if has_draws(workload) else one
    assert forecast.equals(one)


@given(
    st.data(),
    workloads(max_slots=2),
    platforms(tables=False, max_slots=2, known_draws=["tdp"]),
    policies(power=True),
)
def test_under_tdp_the_budget_is_kept_if_no_job_exceeds_tdp(data, workload, platform, policy):
    workload = measured(workload, draws_of(data, workload))
    summary = hs.simulate(workload, platform, policy).summary()
    assert summary["over_budget_count"] == 0
    assert summary["peak_power_w"] <= summary["budget_w"] * (1 + 1e-8)


def test_the_same_run_exceeds_its_budget_under_busy_draws():
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [9, 9], "node_count": [1, 1], "power_w": [300.0, 300.0]}
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=90, tdp_w=300, busy_w=240)
    policy = "easy:power=system-budget:power.budget_w=500"
    over = {
        rule: hs.simulate(workload, platform.with_known_draws(rule), policy).summary()["over_budget_count"]
        for rule in ("measured", "table", "tdp")
    }
    assert over == {"measured": 0, "table": 1, "tdp": 0}


class Told:
    """A predictor that knows these watts."""

    def __init__(self, known_w):
        self.known_w = known_w

    def draws(self, jobs):
        return pl.DataFrame({"known_w": pl.Series(self.known_w, dtype=pl.Float64)})


def has_draws(workload):
    return bool((workload.to_polars()["power_w"] > 0).any())


def tabled(workload, platform, watts, known_w):
    """Draws by job as tables by application: what is charged, and what is believed."""
    apps = [f"job {k}" if w else None for k, w in enumerate(watts)]
    named = hs.Workload.from_polars(
        workload.to_polars().drop("app", strict=False).with_columns(pl.Series("app", apps, dtype=pl.String))
    )
    rows = [k for k, w in enumerate(watts) if w]
    if not rows:
        return named, platform
    each = [
        hs.VariationTable([f"job {k}" for k in rows], power_w=np.array([[own[k]] * platform.nodes for k in rows]))
        for own in (watts, known_w)
    ]
    return named, platform.with_tables(actual=each[0], predicted=each[1])


@given(st.data(), workloads(apps=()), platforms(tables=False, known_draws=["measured"]), NO_TIES, LEAVING_NODES)
def test_a_measured_draw_is_worth_a_table_row_of_its_own(data, workload, platform, placement, policy):
    watts = draws_of(data, workload)
    policy = hs.Policy.from_dict(policy.to_dict() | {"placement": placement})
    named, with_table = tabled(measured(workload, [None] * len(watts)), platform, watts, watts)
    one, other = run(measured(workload, watts), platform, policy), run(named, with_table, policy)
    assert one.select(DECIDED + CHARGED).equals(other.select(DECIDED + CHARGED))


@given(st.data(), workloads(apps=()), platforms(tables=False, known_draws=["measured"]), NO_TIES, LEAVING_NODES)
def test_a_forecast_is_worth_a_predicted_row_and_charges_none(data, workload, platform, placement, policy):
    watts = draws_of(data, workload)
    known_w = draws_of(data, workload, st.sampled_from([0.0, 90.0, 240.0, 310.5]))
    policy = hs.Policy.from_dict(policy.to_dict() | {"placement": placement})
    jobs = measured(workload, watts)
    named, with_table = tabled(measured(workload, [None] * len(watts)), platform, watts, known_w)
    one = run(jobs, platform, policy, predictor=Told(known_w) if has_draws(jobs) else None)
    other = run(named, with_table, policy)
    assert one.select(DECIDED + CHARGED).equals(other.select(DECIDED + CHARGED))


@given(st.data(), workloads(apps=()), platforms(tables=False, known_draws=["tdp"]), NO_TIES, LEAVING_NODES)
def test_tdp_is_worth_a_predicted_row_of_tdp(data, workload, platform, placement, policy):
    watts = draws_of(data, workload)
    policy = hs.Policy.from_dict(policy.to_dict() | {"placement": placement})
    tdp_w = [platform.tdp_w[0]] * len(watts)
    named, with_table = tabled(measured(workload, [None] * len(watts)), platform, watts, tdp_w)
    one, other = run(measured(workload, watts), platform, policy), run(named, with_table, policy)
    assert one.select(DECIDED + CHARGED).equals(other.select(DECIDED + CHARGED))


@given(st.data(), workloads(min_jobs=1, max_submit_s=30.0))
def test_history_rests_on_nothing_that_had_not_ended(data, workload):
    watts = draws_of(data, workload)
    changed = data.draw(st.integers(0, len(workload) - 1))
    others = [w if k != changed else (w or 0.0) + 55.0 for k, w in enumerate(watts)]
    one, other = (measured(workload, each).to_polars() for each in (watts, others))
    end_s = one["submit_s"][changed] + one["runtime_s"][changed]
    before = one["submit_s"] <= end_s
    assert History().draws(one).filter(before).equals(History().draws(other).filter(before))
