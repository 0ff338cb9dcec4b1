"""Rows left out when models are evaluated: folds, groups and devices; how far outside; and `score`."""

import time
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.power import PowerRatio, SharedResponse, SingleStage, TwoStage, evaluate, synthetic_profiles
from hetsched.power.left_out import FOLDS, MOST_ALONE, Split, predicted, units_of
from hetsched.power.models.model import PowerModel
from hetsched.resources import watched

NAN = float("nan")
LINE = np.array([[1.0], [2.0], [4.0]])


class Spy(PowerModel):
    """Answers with 1 W, and remembers what it was fitted on."""

    kind = "spy"
    seen: ClassVar[list] = []

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, features, power_w):
        self.seen.append((np.array(features), np.array(power_w)))
        return super().fit(features, power_w)

    def _learn(self, features, power_w):
        self.devices_ = len(power_w)

    def _watts(self, features):
        return np.ones((self.devices_, len(features)))

    def _state(self):
        return {}, {}

    def _restore(self, header, arrays):
        pass


@pytest.fixture
def spy():
    Spy.seen.clear()
    return Spy()


def message(call, *given, **named):
    with pytest.raises(hs.ConfigError) as caught:
        call(*given, **named)
    return str(caught.value)


class TestFolds:
    @given(st.integers(2, 40), st.integers(2, 12), st.integers(0, 3))
    def test_each_application_is_left_out_once_in_folds_of_alike_size(self, count, folds, seed):
        split = Split("leave_one_app_out", folds=min(folds, count), seed=seed)
        found = split.folds_of(units_of(np.arange(count), None), what="applications")
        assert sorted(np.concatenate(found).tolist()) == list(range(count))
        assert len(found) == split.folds
        assert max(map(len, found)) - min(map(len, found)) <= 1

    @given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(2, 7))
    def test_no_group_is_ever_on_both_sides(self, groups, folds):
        kinds = len(set(groups))
        assume(kinds > 1)
        split = Split("leave_one_app_out", min(folds, kinds), groups)
        found = split.folds_of(units_of(np.arange(len(groups)), groups), what="groups")
        fold_of = {app: number for number, fold in enumerate(found) for app in fold.tolist()}
        assert sorted(fold_of) == list(range(len(groups)))
        for kind in set(groups):
            assert len({fold_of[app] for app, own in enumerate(groups) if own == kind}) == 1

    def test_few_are_left_out_one_at_a_time_and_many_in_folds(self):
        split = Split("leave_one_app_out")
        for count, expected in ((MOST_ALONE, MOST_ALONE), (MOST_ALONE + 1, FOLDS)):
            assert len(split.folds_of(units_of(np.arange(count), None), what="")) == expected

    def test_the_lot_is_the_seeds(self):
        units = units_of(np.arange(30), None)

        def fold(seed):
            return [one.tolist() for one in Split("leave_one_app_out", 3, seed=seed).folds_of(units, what="")]

        assert fold(0) == fold(0) != fold(1)
        assert fold(0)[0] != list(range(0, 30, 3))


class TestEvaluate:
    def test_the_model_never_sees_what_it_is_asked(self, spy):
        features, power_w = np.arange(7.0)[:, None], 100.0 + np.arange(7.0)[None, :]
        frame = evaluate(spy, features, power_w, split="leave_one_app_out", folds=3)
        assert len(spy.seen) == 3
        assert frame["folds"].to_list() == [3] * 7
        left_out = [set(range(7)) - set(seen[:, 0].astype(int).tolist()) for seen, _ in spy.seen]
        assert sorted(app for one in left_out for app in one) == list(range(7))

    def test_as_many_folds_as_applications_are_one_at_a_time(self):
        drawn = synthetic_profiles("xeon", devices=3, apps=8, seed=2)
        model = TwoStage("linear", "linear")
        one, other = (
            evaluate(model, drawn.features, drawn.power_w, split="leave_one_app_out", folds=folds)
            for folds in (None, 8)
        )
        assert one.equals(other)

    def test_groups_are_left_out_together(self, spy):
        features, power_w = np.arange(4.0)[:, None], np.full((1, 4), 100.0)
        labels = pl.Series(["fft", "hpl", "fft", "stream"])
        evaluate(spy, features, power_w, split="leave_one_app_out", groups=labels)
        assert sorted(seen[:, 0].tolist() for seen, _ in spy.seen) == [[0.0, 1.0, 2.0], [0.0, 2.0, 3.0], [1.0, 3.0]]

    def test_how_far_outside_by_hand(self):
        # b lies inside. a lies 1 below 2, 4 in x (sd 1) and is in y the one that differs; d lies 4 above 1, 2, 4.
        features = pl.DataFrame({"x": [1.0, 2.0, 4.0, 8.0], "y": [5.0, 0.0, 0.0, 0.0]})
        power_w = [[100.0, 110.0, 130.0, NAN]]
        frame = evaluate(SingleStage("linear"), features, power_w, split="leave_one_app_out", apps=list("abcd"))
        # 0 has no spread without a: all three measured and unmeasured ones give it, sqrt(25 × 3 / 16).
        assert frame["farthest_features"].to_list() == [["y", "x"], [], ["x"], []]
        assert frame["farthest_sd"][0].to_list() == pytest.approx([5 / np.sqrt(25 * 3 / 16), -1.0])
        assert frame["farthest_sd"][2].to_list() == pytest.approx([2 / 0.5])
        seen = evaluate(SingleStage("linear"), features, power_w, split="in_sample")
        assert seen["farthest_features"].to_list() == [[]] * 4
        assert seen["folds"].to_list() == [None] * 4

    def test_at_most_three_features_are_named_and_the_farthest_first(self):
        rng = np.random.default_rng(1)
        features = np.vstack([rng.random((9, 6)), [[2, 9, 3, 1.5, 5, 0.5]]])
        frame = evaluate(
            SingleStage("linear"),
            features,
            100 + rng.random((1, 10)),
            split="leave_one_app_out",
            feature_names=list("abcdef"),
        )
        assert frame["farthest_features"][9].to_list() == ["b", "e", "c"]
        far = frame["farthest_sd"][9].to_list()
        assert far == sorted(far, reverse=True)

    def test_505_applications_take_ten_fits(self, spy):
        # One at a time it would be 505 of them.
        features = np.random.default_rng(0).lognormal(size=(505, 8))
        frame = evaluate(spy, features, 60 + 20 * features[:, :4].sum(axis=1)[None, :], split="leave_one_app_out")
        assert frame["folds"].to_list() == [10] * 505
        assert len(Spy.seen) == 10

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"folds": 1}, "folds: found `1`, expected a whole number between 2 and 1000000"),
            ({"folds": 4}, "folds: found `4`, expected at most 3, the number of measured applications"),
            (
                {"folds": 2, "split": "in_sample"},
                "folds: found `2`, expected none for in_sample, which leaves nothing out",
            ),
            ({"groups": ["a", "a", "a"]}, "groups: found one group, expected two or more groups"),
            ({"groups": ["a", "b"]}, "groups: found `2 labels`, expected 3, one for every application"),
            ({"groups": ["a", None, "b"]}, "groups[1]: found `None`, expected a label"),
            ({"groups": "abc"}, "groups: found `abc`, expected a label for every application"),
            ({"groups": list("aab"), "split": "new_device"}, "groups: found `groups`, expected none for new_device"),
            ({"test_runs": -1}, "test_runs: found `-1`, expected a whole number between 0"),
            ({"test_runs": 3, "split": "new_device"}, "power_w: found no device measured besides its test runs (3)"),
            ({"feature_names": ["a", "b"]}, "feature_names: found `2 names`, expected 1, one for every column"),
            ({"seed": 1.5}, "seed: found `1.5`, expected a whole number"),
        ],
    )
    def test_what_cannot_be_left_out_is_refused(self, given, said):
        power_w = [[100.0, 110.0, 130.0], [100.0, 120.0, 160.0]]
        asked = {"split": "leave_one_app_out", **given}
        assert message(evaluate, SingleStage("linear"), LINE, power_w, **asked).startswith(said)

    def test_a_device_that_knows_nothing_without_a_group_is_named(self):
        power_w = [[100.0, 110.0, 130.0, 140.0], [100.0, 120.0, NAN, NAN]]
        said = message(
            evaluate,
            SingleStage("linear"),
            np.arange(4.0)[:, None],
            power_w,
            split="leave_one_app_out",
            groups=list("aabc"),
        )
        assert said.startswith("power_w: found all measured applications of device 1 in one group, expected some in")


class TestNewDevice:
    def test_others_are_whole_and_the_new_one_has_its_test_runs_alone(self, spy):
        power_w = np.array([[100.0, 110.0, 130.0, NAN], [100.0, 120.0, 160.0, 170.0], [90.0, NAN, NAN, NAN]])
        frame = evaluate(spy, np.arange(4.0)[:, None], power_w, split="new_device", test_runs=2)
        # The third device has run no more than its test runs: it is never asked.
        assert len(spy.seen) == 2
        for _, fitted in spy.seen:
            hidden = np.isnan(fitted) & ~np.isnan(power_w)
            (new,) = np.flatnonzero(hidden.any(axis=1))
            assert new in (0, 1)
            assert (~np.isnan(fitted[new])).sum() == 2
        assert frame["devices"].sum() == 1 + 2
        assert set(frame["folds"]) == {2}

    def test_more_test_runs_keep_the_first_ones(self):
        power_w = np.random.default_rng(0).random((4, 9)) + 100
        features = np.arange(9.0)[:, None]
        asked = [
            predicted(SharedResponse(), features, power_w, Split("new_device", test_runs=runs)).is_asked
            for runs in (1, 2, 5)
        ]
        assert [one.sum() for one in asked] == [4 * 8, 4 * 7, 4 * 4]
        assert (asked[2] <= asked[1]).all()
        assert (asked[1] <= asked[0]).all()

    def test_one_test_run_is_enough_for_a_scaled_device(self):
        # Every device draws the first one's watts times a factor: one run says which.
        first = np.array([100.0, 140.0, 180.0])
        power_w = np.outer([1.0, 1.1, 0.8], first)
        frame = evaluate(PowerRatio("linear"), [[1.0], [2.0], [3.0]], power_w, split="new_device")
        assert frame["mape_max_percent"].to_list() == pytest.approx([0.0] * 3, abs=1e-9)
        # The reference is never new.
        assert set(frame["folds"]) == {2}

    def test_without_a_test_run_a_new_device_is_the_mean_of_the_others(self):
        power_w = np.outer([1.0, 1.2, 0.8], [100.0, 140.0, 180.0])
        features = [[1.0], [2.0], [3.0]]
        found = predicted(SingleStage("linear"), np.array(features), power_w, Split("new_device", test_runs=0))
        expected = np.outer([1.0, 0.9, 1.1], [100.0, 140.0, 180.0])
        np.testing.assert_allclose(found.predicted_w, expected)
        assert found.is_asked.all()
        ratio = predicted(
            PowerRatio("linear", reference_device=2), np.array(features), power_w, Split("new_device", test_runs=0)
        )
        assert ratio.is_asked.sum(axis=1).tolist() == [3, 3, 0]
        np.testing.assert_allclose(ratio.predicted_w[:2], expected[:2])

    def test_a_single_device_cannot_be_new(self):
        said = message(evaluate, SingleStage("linear"), LINE, [[100.0, 110.0, 130.0]], split="new_device")
        assert said.startswith("power_w: found a single device, expected two or more devices")


class TestScore:
    def test_by_hand_with_what_was_not_measured_left_out(self):
        model = SingleStage("linear").fit(LINE, [[100.0, 110.0, 130.0], [200.0, 200.0, 200.0]])
        # 10 off in one of five cells, whose mean is 148.
        power_w = [[100.0, 110.0, 140.0], [200.0, NAN, 190.0]]
        own = np.array([100.0, 110.0, 140.0, 200.0, 190.0])
        expected = 1 - (100 + 100) / ((own - own.mean()) ** 2).sum()
        assert model.score(LINE, power_w) == pytest.approx(expected)
        sklearn = pytest.importorskip("sklearn.metrics")
        assert model.score(LINE, power_w) == pytest.approx(sklearn.r2_score(own, [100, 110, 130, 200, 200]))

    def test_cells_that_are_all_the_same_are_met_or_not(self):
        model = SingleStage("linear").fit(LINE, [[100.0, 100.0, 100.0]])
        assert model.score(LINE, [[100.0, NAN, 100.0]]) == 1.0
        assert model.score(LINE, [[90.0, 90.0, NAN]]) == 0.0

    def test_what_cannot_be_scored_is_refused(self):
        model = SingleStage("linear")
        assert "not fitted" in message(model.score, LINE, [[1.0, 2.0, 3.0]])
        model.fit(LINE, [[100.0, 110.0, 130.0]])
        assert message(model.score, LINE, [[1.0], [2.0], [3.0]]).startswith("power_w: found `shape (3, 1)`")
        assert message(model.score, LINE, [[NAN] * 3]).startswith("power_w: found `nothing measured`")
        assert message(model.score, LINE, [[np.inf, 1.0, 1.0]]).startswith("power_w: found `infinite watts`")

    def test_estimators_stay_estimators(self):
        base = pytest.importorskip("sklearn.base")
        model = TwoStage("linear", "linear").fit(LINE, [[100.0, 110.0, 130.0]])
        assert base.clone(model).get_params() == model.get_params()


class TestWatched:
    def test_what_is_raised_ends_the_rest(self):
        begun = []

        def work(part):
            begun.append(part)
            if part == 0:
                raise ValueError("no")
            time.sleep(0.05)

        with pytest.raises(ValueError, match="no"):
            watched(work, range(500), lambda done, total: None)
        assert len(begun) < 500

    def test_a_given_end_ends_it_too(self):
        def tell(done, total):
            if done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            watched(lambda part: time.sleep(0.02), range(500), tell)

    def test_progress_goes_from_none_to_all(self):
        told = []
        assert watched(str, [1, 2, 3], lambda done, total: told.append((done, total))) == ["1", "2", "3"]
        assert told[0] == (0, 3)
        assert told[-1] == (3, 3)
        assert told == sorted(told)
