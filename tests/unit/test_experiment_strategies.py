"""The experiment on the strategies of Table II: one workload, one budget, and each strategy in its role."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.experiments import table_ii as own
from hetsched.experiments.experiment import Repetition
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def test_all_rows_are_under_the_budget_and_named_once() -> None:
    policies = own._policies()
    assert set(policies) == set(own.LABELS)
    assert len(own.SEVEN) == 7
    assert {policy.parts["power"]["budget_w"] for policy in policies.values()} == {own.BUDGET_W}  # type: ignore[index]


def test_jobs_are_the_allocators_studys_with_ranges_and_queues() -> None:
    jobs = own._workload(Repetition(seed=3), own.WORST_NODES).to_polars()
    assert len(jobs) == 600
    assert jobs["queue"].value_counts()["count"].to_list() == [300, 300]
    asked, low, high = (jobs[name].to_numpy() for name in ("node_count", "min_nodes", "max_nodes"))
    assert (low == np.ceil(asked / 2)).all()
    assert (high == np.maximum(asked, np.minimum(2 * asked, 400))).all()


@pytest.mark.parametrize("label", [label for label in own.LABELS if label != own.SAROOD])
def test_each_strategy_runs_on_the_papers_machine_and_keeps_its_budget(label: str) -> None:
    repetition = Repetition(seed=2, is_quick=True)
    power_w, most = own.node_watts(2), own.WORST_NODES // own.PART
    platform = own.platform_of(power_w[: most if label == own.WORST else own.NODES // own.PART])
    workload, budget_w = own._workload(repetition, most), own.BUDGET_W / own.PART
    result = hs.simulate(workload, platform, own._policies(budget_w)[label])
    check_schedule(result, workload, platform)
    assert result.summary()["completed"] == own.QUICK_JOBS
    assert result.summary()["over_budget_s"] == 0.0
    measured = own._measured(result, budget_w)
    assert (measured["nodes_ratio"] != 1.0) == (label in (own.PATKI, own.MALLEABLE))
    assert (measured["programs"] > 0.0) == (label == own.MALLEABLE)


def test_the_figure_has_a_dot_for_each_row_and_cost() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"repetition": repetition, "policy": label, **{name: rng.uniform(1, 2) for name in own.QUANTITIES}}
        for repetition in range(3)
        for label in own.LABELS
    ]
    drawn = own._drawn(pl.DataFrame(rows))
    assert drawn.select("column", "label").n_unique() == 2 * len(own.LABELS)
