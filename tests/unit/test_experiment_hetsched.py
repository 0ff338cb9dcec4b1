"""The experiment on our own preset: what its rows are made of, and what its pictures show."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched.experiments import own_preset as module
from hetsched.experiments.experiment import Repetition
from hetsched.experiments.own_preset import OURS, PRESETS, RIVALS, TUNED, Setting
from hetsched.experiments.registry import experiment_named
from hetsched.experiments.reproduction import repetition_seeds
from hetsched.experiments.vahrm.system import HIGH_POWER, relative
from hetsched.policy import parse_policy
from hetsched.report.canvas import picture_bytes
from hetsched.report.comparisons import front, pareto_figure, point
from hetsched.workload.generators.cpu_gpu_log import MIXES

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LABEL = "yours: sjf:placement=lowest-power"


def own(frame, preset, setting):
    """The runs of one reading of the log, under one setting."""
    return relative(frame, preset=preset, **setting.columns)


@pytest.fixture(scope="module")
def report(quick_report):
    """The quick run that all tests share."""
    return quick_report("hetsched", beside=True)


@pytest.fixture(scope="module")
def runs(report):
    """Its runs, and those under half the budget, which quick runs leave out, of two repetitions."""
    halved = [
        {"repetition": number, "seed": seed, **row}
        for number, seed in enumerate(repetition_seeds("hetsched", 0, 2))
        for row in module._halved(Repetition(seed, is_quick=True))
    ]
    return pl.concat([report.runs, pl.DataFrame(halved, infer_schema_length=None)], how="diagonal_relaxed")


@pytest.fixture(scope="module")
def rows(runs):
    """Their rows, judged."""
    return experiment_named("hetsched").rows(runs)


class TestReport:
    def test_every_row_is_judged_and_named_once(self, rows):
        quantities = [row.quantity for row in rows]
        assert len(set(quantities)) == len(quantities)
        assert all(row.reproduced is not None for row in rows)
        assert all(row.paper is None for row in rows)
        # Three promises on each workload of both logs, and with other spreads, errors and budgets.
        promises = [quantity for quantity in quantities if "the better of VAHRM and CGVA-FCFS-B" in quantity]
        assert len(promises) == 2 * 2 * (len(MIXES) + 4)

    def test_placement_and_timing_add_up_to_what_is_saved(self, rows, report):
        for preset in PRESETS:
            runs = own(report.runs, preset, Setting())
            for label in (OURS, *RIVALS):
                parts = runs.metric("placing", label) + runs.metric("timing", label)
                base, drawn = (runs.values("job_energy_j", policy) for policy in (module.BASELINE, label))
                np.testing.assert_allclose(parts, 100.0 * (1.0 - drawn / base), atol=1e-9)
                assert (runs.metric("attained", label) < 100.0).all()
            row = next(row for row in rows if row.quantity == f"share of the bound given its starts, {preset}, %")
            assert row.here == pytest.approx(runs.mean("attained", OURS).mean())

    def test_what_was_tuned_on_is_marked(self, rows, runs):
        marked = {row.quantity for row in rows if "(tuned on)" in row.quantity}
        assert len(marked) == 2 * 3 * len(TUNED)
        for number, mix in enumerate(MIXES):
            assert any(f" {mix} (" in quantity for quantity in marked) == (number in TUNED)
        assert runs.filter("was_tuned_on")["workload"].unique().to_list() == list(TUNED)

    def test_where_devices_do_not_differ_everybody_draws_the_same(self, report):
        for preset in PRESETS:
            equal = own(report.runs, preset, Setting(spread=0.0))
            for label in module.UNDER_ALL:
                np.testing.assert_allclose(equal.metric("placement", label), 0.0, atol=1e-9)

    def test_half_the_budget_is_felt_and_kept(self, runs):
        halved = runs.filter(pcr=0.5)
        assert (halved["over_budget_s"] == 0).all()
        hungry = halved.filter(pl.col("workload").is_in(HIGH_POWER), policy="vu-fcfs")
        free = runs.filter(
            pl.col("workload").is_in(HIGH_POWER) & (pl.col("repetition") < 2),
            policy="vu-fcfs",
            pcr=1.0,
            spread=0.04,
            error=0.0,
        )
        assert hungry["mean_wait_s"].mean() > free["mean_wait_s"].mean()

    def test_a_quick_run_has_no_rows_of_half_the_budget_and_the_rest_alike(self, rows, report):
        unhalved = experiment_named("hetsched").rows(report.runs)
        assert unhalved == [row for row in rows if "PCR" not in row.quantity]
        assert len(rows) - len(unhalved) == 2 * 2 * 3

    def test_a_policy_of_ones_own_has_numbers_a_dot_and_a_curve(self, report):
        rows = [row for row in report.rows if row.quantity.startswith(f"{LABEL}: ")]
        assert len(rows) == 2 * 4
        assert all(row.reproduced is None for row in rows)
        shown = report.savings.filter(label=LABEL)
        assert set(shown["figure"]) == {"pareto", "workloads"}
        turnaround = own(report.runs, "steady", Setting()).mean("turnaround", LABEL).mean()
        assert any(row.here == pytest.approx(turnaround) for row in rows)

    def test_both_figures_come_from_the_runs(self, report):
        drawn = {name: rows for (name,), rows in report.savings.group_by("figure", maintain_order=True)}
        assert list(drawn) == ["pareto", "workloads"]
        runs = own(report.runs, "steady", Setting())
        dot = drawn["pareto"].filter(pl.col("row").str.starts_with("steady"), label="vahrm")
        turnaround = dot.filter(pl.col("column").str.starts_with("turnaround"))
        np.testing.assert_allclose(turnaround["y"], runs.mean("placement", "vahrm"))
        np.testing.assert_allclose(turnaround["x"], 1 + runs.mean("turnaround", "vahrm") / 100)
        assert set(drawn["workloads"]["label"]) == {OURS, *RIVALS, LABEL}
        for picture in drawn.values():
            assert picture_bytes(report.draw(picture, title="x"), ".png")[:4] == b"\x89PNG"


@pytest.mark.parametrize("policy", module.WITHOUT.values())
def test_each_part_is_taken_away_alone(policy):
    whole, parts = (parse_policy(text).parts for text in ("hetsched", policy))
    assert sum(parts[role] != whole[role] for role in whole) == 1


def test_the_share_is_of_what_the_bound_leaves_room_for():
    frame = pl.DataFrame(
        {
            "repetition": [0, 0],
            "preset": "steady",
            "workload": 0,
            "policy": ["vu-fcfs", "hetsched"],
            "job_energy_j": [200.0, 195.0],
            "energy_bound_j": [180.0, None],
            "large_longest_wait_s": [7200.0, 3600.0],
            **Setting().columns,
        }
    )
    runs = own(frame, "steady", Setting())
    assert runs.metric("share", "hetsched").tolist() == [[25.0]]
    assert runs.metric("longest", "hetsched").tolist() == [[1.0]]


class TestFront:
    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
    def test_it_is_all_that_no_other_beats(self, dots):
        x, y = np.array(dots, dtype=float).T
        best = {(x[place], y[place]) for place in front(x, y)}
        for dot in set(zip(x, y, strict=True)):
            beaten = any(other != dot and other[0] <= dot[0] and other[1] >= dot[1] for other in zip(x, y, strict=True))
            assert (dot in best) == (not beaten)

    def test_a_panel_has_a_dot_a_policy_and_the_line_along_the_best(self):
        rng = np.random.default_rng(1)
        dots = {"a": (1.0, 1.0), "b": (2.0, 3.0), "c": (4.0, 2.0)}
        frame = pl.concat(
            point(x + 0.01 * rng.random(3), y + 0.01 * rng.random(3), row="gain", column="cost", label=label)
            for label, (x, y) in dots.items()
        )
        (axes,) = pareto_figure(frame, title="three").axes
        line = next(line for line in axes.get_lines() if line.get_label() == "not beaten in both")
        np.testing.assert_allclose(line.get_xydata(), [dots["a"], dots["b"]], atol=0.02)
        assert axes.get_xlabel() == "cost"
        assert axes.get_ylabel() == "gain"
        assert axes.get_xscale() == "log"
