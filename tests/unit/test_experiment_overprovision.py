"""The experiments of the paper on power-aware Slurm: its jobs and nodes, what is measured, and the guideline."""

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.experiments.experiment import Repetition
from hetsched.experiments.overprovision import allocators as allocators_module
from hetsched.experiments.overprovision.ha8000 import (
    BIN_S,
    DRAWN,
    FIRST,
    LABEL,
    MIXES,
    WINDOWS,
    Setting,
    arrivals,
    binned_means,
    caps_of_jobs,
    counts,
    power_slurm,
    runs_of,
    slowed,
    steady_state,
    steady_window,
)
from hetsched.experiments.overprovision.sweeps import processors
from hetsched.experiments.runs import under_budget

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NAMES = ("overprovision-budget", "overprovision-arrivals", "overprovision-nodes", "overprovision-mix")


class TestJobs:
    def test_the_head_of_the_log_is_rounded_up_to_nodes_of_eight(self):
        head = arrivals(0, 400.0)
        # 80 and 128 processors at 0 and 1,136 s.
        assert head["node_count"].head(2).to_list() == [10, 16]
        assert head["submit_s"].head(2).to_list() == pytest.approx([0.0, 1136 / 400])
        assert (len(head), head["node_count"].sum(), head["node_count"].max()) == (600, 3259, 64)
        assert head["submit_s"][-1] == pytest.approx(563.35)

    @pytest.mark.parametrize("window", range(1, WINDOWS + 1))
    def test_every_drawn_window_asks_for_as_much_a_second_as_the_head(self, window):
        own, head = arrivals(window, 400.0), arrivals(0, 400.0)
        assert len(own) == 600
        assert own["submit_s"].is_sorted()
        assert own["node_count"].max() <= 400
        assert own["node_count"].sum() >= 3 * 965
        load = [part["node_count"].sum() / part["submit_s"][-1] for part in (own, head)]
        assert load[0] == pytest.approx(load[1])

    def test_windows_have_no_job_in_common(self):
        numbers = pl.concat(arrivals(window, 400.0)["job_id"] for window in range(WINDOWS + 1))
        assert numbers.n_unique() == 600 * (WINDOWS + 1)

    @pytest.mark.parametrize(
        ("mix", "expected"), [("3:2:1", [300, 200, 100]), ("1:1:1", [200] * 3), ("0:0:1", [0, 0, 600])]
    )
    def test_mixes_are_exact(self, mix, expected):
        assert counts(mix) == expected
        found = caps_of_jobs(mix, 5)
        assert [int((found == cap).sum()) for cap in (85.0, 70.0, 55.0)] == expected

    def test_the_seed_decides_who_gets_which_cap(self):
        assert (caps_of_jobs("1:1:1", 5) == caps_of_jobs("1:1:1", 5)).all()
        assert (caps_of_jobs("1:1:1", 5) != caps_of_jobs("1:1:1", 6)).any()
        # The same order for all mixes: who asks for 55 W where a sixth does, does where a third does.
        assert (caps_of_jobs("1:1:1", 5)[caps_of_jobs("3:2:1", 5) == 55.0] == 55.0).all()

    def test_caps_slow_as_the_paper_says_and_walltimes_are_rounded_up(self):
        assert slowed(np.array([85.0, 70.0, 55.0])).tolist() == pytest.approx([1.0, 4 / 3, 2.0])
        workload = Setting(400, 100.0).workload(Repetition(5)).to_polars()
        pairs = workload.select("cap_w", "walltime_s").unique().sort("cap_w").rows()
        assert pairs == [(110.0, 200.0), (140.0, 134.0), (170.0, 100.0)]


def test_a_run_draws_the_caps_and_takes_their_time():
    setting = Setting(400, 100.0)
    result = hs.simulate(setting.workload(Repetition(5)), setting.platform, power_slurm(100.0))
    assert (result.jobs["state"] == "completed").all()
    jobs = result.jobs.with_columns(
        run_s=(pl.col("end_s") - pl.col("start_s")).round(3),
        node_w=(pl.col("energy_j") / (pl.col("end_s") - pl.col("start_s")) / pl.col("node_count")).round(3),
    )
    found = jobs.select("cap_w", "run_s", "node_w").unique().sort("cap_w").rows()
    assert found == [(110.0, 200.0, 110.0), (140.0, 133.333, 140.0), (170.0, 100.0, 170.0)]


class TestSteadyState:
    @pytest.fixture
    def result(self):
        """Three jobs of one of two nodes, one after another, 100 s each at 170 W; the other node idles at 50 W."""
        jobs = pl.DataFrame(
            {"job_id": [1, 2, 3], "submit_s": [0.0] * 3, "runtime_s": [100.0] * 3, "node_count": [1] * 3}
        )
        platform = hs.Platform.homogeneous(nodes=2, idle_w=50.0, busy_w=170.0, tdp_w=250.0)
        return hs.simulate(hs.Workload.from_polars(jobs), platform, "vu-fcfs:budget_w=300")

    def test_it_is_from_the_end_of_the_first_third_to_that_of_the_second(self, result):
        # 300 W feed one job next to an idle node, not two.
        assert result.jobs["end_s"].to_list() == [100.0, 200.0, 300.0]
        assert steady_window(result.jobs) == (100.0, 200.0, 1)

    def test_what_is_measured_in_it(self, result):
        found = steady_state(result, 50.0, 300.0)
        assert found == pytest.approx(
            {
                "window_s": 100.0,
                "power_used_percent": 100 * 170 / 300,
                "draw_percent": 100 * 220 / 300,
                "nodes_used_percent": 50.0,
                "jobs_per_minute": 0.6,
                "job_mj": 0.017,
                "wasted_mj": 0.005,
                "queued": 1.0,
            }
        )


def test_bins_lie_around_multiples_and_are_whole():
    assert BIN_S == 30.0
    # 60 W for 45 s, then 90 W: bins 0-15, 15-45, 45-75 s; the last 15 s fill none.
    assert binned_means(np.array([0.0, 45.0, 90.0]), np.array([60.0, 90.0, 0.0])) == pytest.approx([60.0, 60.0, 90.0])


def test_processors_at_work_are_those_of_the_papers_example():
    assert processors("1:1:1", "effective_cpus")[680] == pytest.approx(66_000 / 70)
    # The steady state feeds 1,589: all that are installed.
    assert processors("1:1:1", "steady_effective_cpus")[680] == 1360
    # No more than are installed, and a cap that no job has counts nothing.
    assert processors("0:0:1", "effective_cpus")[400] == 800


class TestRuns:
    def test_settings_name_all_that_differs(self):
        settings = [Setting(400, 100.0, mix, log=log) for mix in MIXES for log in (FIRST, DRAWN)]
        assert len({one.named["scenario"] for one in settings}) == 2 * len(MIXES)

    def test_a_users_policy_runs_under_the_budget_on_the_logs_head_alone(self):
        policies = {"yours: easy": hs.Policy.preset("easy")}
        rows = runs_of(Repetition(5, policies=policies), [Setting(400, 100.0, log=log) for log in (FIRST, DRAWN)])
        assert [(row["policy"], row["log"]) for row in rows] == [(LABEL, FIRST), ("yours: easy", FIRST), (LABEL, DRAWN)]
        assert [row["budget_w"] for row in rows] == [100_000.0] * 3
        assert all(row["completed"] == 600 and row["over_budget_s"] == 0 for row in rows)

    def test_what_else_a_users_budget_says_stays(self):
        own = under_budget(
            hs.Policy.preset("power-slurm", budget_w=5.0, allocator="uniform", caps_w=[110.0]), budget_w=100_000.0
        )
        assert own.parts["power"]["allocator"] == "uniform"
        assert own.parts["power"]["budget_w"] == 100_000.0
        assert under_budget(hs.Policy.preset("easy"), budget_w=100_000.0).parts["power"]["allocator"] == "static"

    def test_drawn_windows_differ_from_repetition_to_repetition(self):
        first, second, again = (
            Setting(400, 100.0, log=DRAWN).workload(Repetition(5, number=number)) for number in (0, 1, WINDOWS)
        )
        assert first.sha256 != second.sha256
        assert first.sha256 == again.sha256


@pytest.fixture(scope="module")
def rows():
    """The runs of all allocators on one draw."""
    return {row["policy"]: row for row in allocators_module.allocator_runs(Repetition(5))}


class TestAllocators:
    def test_none_draws_more_than_the_budget_or_does_more_than_the_bound(self, rows):
        assert list(rows) == list(allocators_module.ALLOCATORS)
        for row in rows.values():
            assert row["over_budget_s"] == 0
            assert row["completed"] == 600
            assert 50 < row["bound_share_percent"] <= 100
            assert row["attainable_per_minute"] == pytest.approx(
                100 * row["jobs_per_minute"] / row["bound_share_percent"]
            )

    def test_the_bound_on_all_jobs_hangs_on_no_allocator(self, rows):
        found = [row["bound_jobs_per_minute"] for row in rows.values()]
        assert found == pytest.approx([found[0]] * len(found))

    def test_nodes_are_those_of_a_measured_machine(self):
        watts = allocators_module.node_watts(5)
        assert len(watts) == 680
        assert set(np.round(watts / 170.0, 4)) <= set(np.round(allocators_module._ratios(), 4))
        assert np.std(watts) / 170.0 == pytest.approx(0.063, abs=0.006)


@pytest.fixture(scope="module", params=NAMES)
def report(request, quick_report):
    return quick_report(request.param)


@pytest.mark.slow
class TestReports:
    def test_the_budget_is_never_exceeded(self, report):
        assert (report.runs["over_budget_s"] == 0).all()
        assert (report.runs["alerts"] == 0).all()

    def test_it_credits_the_log(self, report):
        (credit,) = (one.value for one in report.parameters if one.name == "log_credit")
        assert "Kurokawa" in credit

    def test_both_parts_of_the_log_are_there(self, report):
        assert set(report.runs["log"].drop_nulls()) == {FIRST, DRAWN}
