"""Claims of experiments: the rule that judges rows, and runs that are compared by repetition."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched.experiments.claims import SHAPE_FACTOR, TOLERANCE, alike, limit, number, statement, value
from hetsched.experiments.runs import Runs

# 1, 2, 3: mean 2, standard deviation 1, and half the interval t(2 degrees) / sqrt(3) = 4.302653 / 1.732 = 2.484.
HALF_WIDTH = 4.302653 / math.sqrt(3)


class TestVerdicts:
    def test_a_printed_value_inside_the_interval_is_reproduced(self):
        row = value("x", [5.0, 6.0, 7.0], paper=7.0)
        assert (row.reproduced, row.paper, row.here) == ("yes", 7.0, 6.0)
        assert row.interval == pytest.approx((6 - HALF_WIDTH, 6 + HALF_WIDTH))
        assert value("x", [5.9, 6.0, 6.1], paper=7.0).reproduced == "no"

    @pytest.mark.parametrize("paper", [2.0, 2.1, 4.4, -0.4])
    def test_an_interval_that_holds_zero_and_the_papers_value_is_too_wide_to_say(self, paper):
        # 2 ± 2.484 holds every one of them.
        row = value("x", [1.0, 2.0, 3.0], paper=paper, undisclosed="watts")
        assert row.interval[0] < 0 < row.interval[1]
        assert row.reproduced == "uncertain"
        assert row.reason.endswith(" times the paper; not disclosed: watts")

    def test_an_interval_around_the_papers_value_that_is_too_wide_says_nothing_either(self):
        # 6 ± 2.484 holds 8.4, and values of less than half of it.
        row = value("x", [5.0, 6.0, 7.0], paper=8.4)
        assert (row.reproduced, row.reason) == ("uncertain", "0.42 to 1 times the paper")

    @pytest.mark.parametrize(
        ("values", "verdict"),
        [
            ([1.0, 1.0], "shape"),  # half of 2
            ([0.99, 1.01], "uncertain"),
            ([0.99, 0.99], "no"),
            ([4.0, 4.0], "shape"),
            ([3.99, 4.01], "uncertain"),
            ([4.01, 4.01], "no"),
            ([-2.0, -2.01], "no"),
            ([-0.001, 0.001], "no"),  # nothing at all where the paper has 2
        ],
    )
    def test_the_shape_reaches_to_half_and_to_twice_the_papers_value(self, values, verdict):
        assert SHAPE_FACTOR == 2.0
        assert value("x", values, paper=2.0, undisclosed="watts").reproduced == verdict

    def test_all_that_counts_where_all_is_disclosed_is_the_tolerance(self):
        assert value("x", [1.7, 1.7001], paper=2.0).reproduced == "no"
        assert value("x", [1.78, 1.79, 1.8], paper=2.0).reproduced == "uncertain"
        assert value("x", [1.81, 1.811], paper=2.0).reproduced == "yes"

    @given(
        middle=st.floats(-10, 10),
        spread=st.floats(0.01, 10),
        paper=st.floats(0.1, 20) | st.floats(-20, -0.1),
        count=st.integers(1, 6),
    )
    def test_more_repetitions_of_the_same_decide_what_was_uncertain_and_nothing_else(
        self, middle, spread, paper, count
    ):
        # Twice as many of the same values: the same mean, a narrower interval.
        def verdict(times):
            values = np.tile([middle - spread, middle, middle + spread], times)
            return value("x", values, paper=paper, undisclosed="watts").reproduced

        few, many = verdict(count), verdict(2 * count)
        is_near = abs(middle - paper) <= TOLERANCE * abs(paper)
        # A narrower interval may leave out the paper's value, so that the mean has to be near it.
        assert many == few or few == "uncertain" or (few == "yes" and not is_near and many == "shape")

    def test_a_printed_value_within_the_tolerance_is_reproduced_and_just_beyond_it_is_not(self):
        ours = np.array([0.999, 1.0, 1.001])
        assert value("x", ours, paper=1 / (1 - TOLERANCE) - 0.001).reproduced == "yes"
        assert value("x", ours, paper=1 / (1 - TOLERANCE) + 0.005).reproduced == "no"

    def test_the_shape_needs_a_certain_sign_and_something_undisclosed(self):
        certain = [1.9, 2.0, 2.1]
        assert value("x", certain, paper=3.0, undisclosed="watts").reproduced == "shape"
        assert value("x", certain, paper=3.0).reproduced == "no"
        assert value("x", [1.0, 2.0, 3.0], paper=9.0, undisclosed="watts").reproduced == "no"
        assert value("x", certain, paper=-3.0, undisclosed="watts").reproduced == "no"

    def test_reasons_say_how_far_off_and_why(self):
        row = value("x", [1.9, 2.0, 2.1], paper=8.0, undisclosed="the watts")
        assert (row.reproduced, row.reason) == ("no", "0.25 times the paper; not disclosed: the watts")
        assert value("x", [-2.0, -2.1, -1.9], paper=8.0).reason == "of the other sign"
        assert value("x", [1.0, 2.0, 3.0], paper=2.0).reason == "-0.24 to 2.2 times the paper"

    def test_a_statement_holds_if_its_interval_leaves_out_zero(self):
        assert statement("x", [1.9, 2.0, 2.1], claim="more").reproduced == "yes"
        assert statement("x", [1.0, 2.0, 3.0], claim="more").reproduced == "uncertain"
        opposite, same = statement("x", [-1.9, -2.0, -2.1], claim="more"), statement("x", [0.0, 0.0], claim="more")
        assert (opposite.reproduced, same.reproduced) == ("no", "not tested")
        assert opposite.reason.startswith("more: the opposite")
        assert same.reason == "more: nothing differs in any repetition"

    def test_a_statement_may_test_something_else_than_it_shows(self):
        row = statement("share", [50.0, 60.0], claim="more than the other's", tested=("the lead", [1.0, 1.1]))
        assert (row.here, row.reproduced, row.reason) == (55.0, "yes", "more than the other's")
        # Two values 1 apart: their mean, and 12.71 (Student's t, one degree of freedom) times half their distance.
        row = statement("share", [50.0, 60.0], claim="more", tested=("the lead", [-0.5, 0.5]))
        assert row.reason == "more: not certain, the lead is from -6.35 to 6.35"

    @pytest.mark.parametrize("side", [1, -1])
    @pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [-1.9, -2.0, -2.1], [1.9, 2.0, 2.1], [-3.0, 1.0, 1.0]])
    def test_the_interval_in_a_reason_is_that_of_the_number_shown(self, values, side):
        row = statement("change, %", values, claim="it changes", side=side)
        low, high = row.interval
        assert row.here == pytest.approx(np.mean(values))
        if min(low * side, high * side) > 0:
            assert row.reproduced == "yes"
        else:
            why = {"no": "the opposite", "uncertain": "not certain"}[row.reproduced]
            assert (row.reproduced == "no") == (max(low * side, high * side) < 0)
            assert row.reason == f"it changes: {why}, from {low:.3g} to {high:.3g}"

    def test_alike_is_judged_by_the_far_end_of_the_interval(self):
        assert alike("x", [0.9, 0.9, 0.9], of=[10.0, 10.0, 10.0], claim="close").reproduced == "yes"
        wide, apart = (alike("x", own, of=[10.0] * 3, claim="close") for own in ([0.8, 0.9, 1.0], [-1.9, -2.0, -2.1]))
        assert (wide.reproduced, wide.reason) == ("uncertain", "close: apart by 6.5% to 11.5% of the first")
        assert (apart.reproduced, apart.reason) == ("no", "close: apart by at least 17.5% of the first")
        assert alike("x", [0.0, 0.0], of=[1.0, 1.0], claim="close").reproduced == "not tested"
        assert alike("x", [0.1, 0.1], of=[0.0, 0.0], claim="close").reproduced == "no"

    def test_a_limit_holds_on_both_sides(self):
        assert limit("x", [-0.02, 0.0, 0.02], most=0.1, claim="small").reproduced == "yes"
        assert limit("x", [-0.2, 0.0, 0.2], most=0.1, claim="small").reproduced == "uncertain"
        assert limit("x", [-0.21, -0.2], most=0.1, claim="small").reproduced == "no"
        # Once is never again never, however wide the interval.
        assert limit("x", [0.0, 0.0, 5.0], most=0.0, claim="never").reproduced == "no"
        assert limit("x", [0.0, 0.0], most=0.1, claim="small", printed=False).paper is None

    def test_a_number_has_no_verdict_and_says_so(self):
        row = number("x", [1.0, 2.0, 3.0])
        assert (row.paper, row.here, row.reproduced) == (None, 2.0, None)
        assert row.interval == pytest.approx((2 - HALF_WIDTH, 2 + HALF_WIDTH))
        assert row.to_dict()["reason"] == "a number: nothing is claimed of it"

    def test_one_repetition_is_not_enough(self):
        with pytest.raises(ValueError, match="single repetition"):
            value("x", [1.0], paper=1.0)


class TestRuns:
    FRAME = pl.DataFrame(
        {
            # Out of order on purpose: what is compared must come from the same repetition.
            "repetition": [1, 0, 0, 1],
            "scenario": ["busy"] * 4,
            "policy": ["naive", "naive", "coa", "coa"],
            "job_energy_j": [400.0, 200.0, 190.0, 360.0],
            "energy_bound_j": [320.0, 180.0, None, None],
        }
    )

    def test_savings_are_paired_by_repetition(self):
        assert Runs(self.FRAME, "naive").saving("coa", scenario="busy").tolist() == [5.0, 10.0]
        assert Runs(self.FRAME, "coa", scenario="busy").saving("naive") == pytest.approx([-100 / 19, -100 / 9])

    def test_the_share_of_what_is_attainable(self):
        runs = Runs(self.FRAME, "naive").where(scenario="busy")
        assert runs.metric("attainable", "coa").tolist() == [10.0, 20.0]
        assert runs.metric("share", "coa").tolist() == [50.0, 50.0]
        assert runs.metric("share", "naive").tolist() == [0.0, 0.0]
