"""`Ideal`, `Noisy`, `mape` and `evaluate`."""

import numpy as np
import pytest

from hetsched.errors import ConfigError
from hetsched.platform import VariationTable
from hetsched.power import Ideal, Noisy, SingleStage, TwoStage, evaluate, mape

NAN = np.nan


def message(function, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    return str(caught.value)


# --- Ideal and Noisy -----------------------------------------------------------------------------------------------


def actual(nodes=20_000, apps=("hpcg", "stream", "*")):
    power_w = np.linspace(150.0, 250.0, nodes) * np.linspace(0.8, 1.2, len(apps))[:, None]
    return VariationTable(apps, power_w=power_w, time_ratio=np.full_like(power_w, 1.1), cap_w=300.0)


def test_ideal_predictions_are_the_actual_watts():
    assert Ideal().table(actual(50)) == actual(50)


@pytest.mark.parametrize("error_ratio", [0.05, 0.2])
def test_errors_have_the_mean_and_spread_that_were_asked_for(error_ratio):
    error = Noisy(error_ratio, seed=3).table(actual()).power_w / actual().power_w - 1
    # Five standard errors of the mean and of the standard deviation of 60,000 normal draws.
    assert abs(error.mean()) < 5 * error_ratio / np.sqrt(error.size)
    assert abs(error.std() - error_ratio) < 5 * error_ratio / np.sqrt(2 * error.size)
    # Normal: 4.55 % lie beyond two standard deviations.
    assert abs((np.abs(error) > 2 * error_ratio).mean() - 0.0455) < 0.005


def test_errors_of_applications_and_nodes_are_unrelated():
    error = Noisy(0.1, seed=3).table(actual()).power_w / actual().power_w - 1
    assert np.abs(np.corrcoef(error)[np.triu_indices(3, 1)]).max() < 5 / np.sqrt(20_000)
    assert abs(np.corrcoef(error[:, 1:].ravel(), error[:, :-1].ravel())[0, 1]) < 5 / np.sqrt(60_000)


def test_no_prediction_is_below_zero():
    predicted = Noisy(1.0, seed=1).table(actual()).power_w
    assert predicted.min() == 0.0
    # P(1 + e < 0) = P(z < -1) = 15.87 %.
    assert abs((predicted == 0).mean() - 0.1587) < 0.01


def test_only_the_watts_are_wrong():
    noisy = Noisy(0.1).table(actual(50))
    assert (noisy.apps, noisy.nodes, noisy.cap_w) == (actual(50).apps, 50, 300.0)
    assert np.array_equal(noisy.time_ratio, actual(50).time_ratio)
    assert Noisy(0.0).table(actual(50)) == actual(50)


def test_factors_are_wrong_as_watts_are():
    ratio = VariationTable(["hpcg"], power_ratio=np.full((1, 50), 0.5))
    watts = VariationTable(["hpcg"], power_w=np.full((1, 50), 0.5))
    assert np.array_equal(Noisy(0.1).table(ratio).power_ratio, Noisy(0.1).table(watts).power_w)


def test_an_applications_errors_are_its_own():
    alone = Noisy(0.1, seed=5).table(VariationTable(["stream"], power_w=np.full((1, 30), 200.0))).power_w[0]
    beside = Noisy(0.1, seed=5).table(VariationTable(["hpcg", "stream"], power_w=np.full((2, 40), 200.0))).power_w[1]
    assert np.array_equal(alone, beside[:30])
    other = Noisy(0.1, seed=6).table(VariationTable(["stream"], power_w=np.full((1, 30), 200.0))).power_w[0]
    assert not np.array_equal(alone, other)


def test_a_spread_that_cannot_be_is_refused():
    said = message(Noisy(-0.1, seed=-1).table, actual(2)).splitlines()
    assert [line.partition(":")[0] for line in said] == ["error_ratio", "seed"]
    assert "a number >= 0" in message(Noisy("0.1").table, actual(2))


# --- MAPE ----------------------------------------------------------------------------------------------------------


def test_mape_by_hand():
    # 10 % over, 5 % under, exact: 15 % in three cells. What was not measured does not count.
    assert mape([[100.0, 200.0], [50.0, NAN]], [[110.0, 190.0], [50.0, 7.0]]) == pytest.approx(5.0)
    assert mape([80.0], [60.0]) == 25.0


def test_mape_of_what_has_none_is_an_error():
    assert "actual_w[0, 1]: found `0`, expected watts above 0" in message(mape, [[1.0, 0.0]], [[1.0, 1.0]])
    assert "predicted_w[1]: found `NaN`, expected a prediction" in message(mape, [1.0, 2.0], [1.0, NAN])
    assert "actual_w: found nothing measured" in message(mape, [NAN], [1.0])
    assert "predicted_w: found `shape (1, 2)`, expected (2, 1)" in message(mape, [[1.0], [2.0]], [[1.0, 2.0]])
    assert "expected watts as an array of numbers" in message(mape, ["a"], [1.0])


LINE = np.array([[1.0], [2.0], [4.0]])


def test_evaluation_by_hand():
    # Device 0: the best line through (1, 100), (2, 130), (3, 100) is flat at 110. Device 1 lies on a line where it was
    # measured.
    power_w = np.array([[100.0, 130.0, 100.0], [NAN, 220.0, 260.0]])
    frame = evaluate(SingleStage("linear"), [[1], [2], [3]], power_w, split="in_sample", apps=["a", "b", "c"])
    assert frame["app"].to_list() == ["a", "b", "c"]
    assert frame["devices"].to_list() == [1, 2, 2]
    assert frame["mape_max_percent"].to_list() == pytest.approx([10.0, 2000 / 130, 10.0])
    assert frame["mape_mean_percent"].to_list() == pytest.approx([10.0, 1000 / 130, 5.0])
    assert set(frame["split"]) == {"in_sample"}


def test_left_out_applications_were_not_seen():
    # Of two applications the other's watts are all that is known: 100 for 110, 110 for 100; device 1 is 200, 200.
    power_w = np.array([[100.0, 110.0], [200.0, 200.0]])
    frame = evaluate(SingleStage("linear"), LINE[:2], power_w, split="leave_one_app_out")
    assert frame["mape_max_percent"].to_list() == pytest.approx([10.0, 100 * 10 / 110])
    assert frame["mape_mean_percent"].to_list() == pytest.approx([5.0, 50 * 10 / 110])
    assert set(frame["split"]) == {"leave_one_app_out"}


def test_evaluation_neither_uses_nor_changes_what_a_model_has_learned():
    rng = np.random.default_rng(0)
    features, power_w = rng.random((8, 2)), 100.0 + 50.0 * rng.random((3, 8))
    model = TwoStage("linear", "linear").fit(features, power_w * 2)
    before = model.predict(features)
    frame = evaluate(model, features, power_w, split="in_sample")
    assert frame.equals(evaluate(model.unfitted(), features, power_w, split="in_sample"))
    assert np.array_equal(model.predict(features), before)


def test_an_application_without_measurements_has_no_error():
    power_w = np.array([[100.0, NAN, 130.0], [200.0, NAN, 260.0]])
    for split in ("in_sample", "leave_one_app_out"):
        frame = evaluate(SingleStage("linear"), LINE, power_w, split=split)
        assert frame["mape_mean_percent"].is_null().to_list() == [False, True, False]
        assert frame["devices"].to_list() == [2, 0, 2]


def test_what_cannot_be_evaluated_is_refused():
    power_w = np.array([[100.0, 110.0, 130.0], [NAN, NAN, 260.0]])
    model = SingleStage("linear")
    said = message(evaluate, model, LINE, power_w, split="leave_one_app_out")
    assert said.startswith("power_w: found a single measured application on device 1, expected two or more")
    said = message(evaluate, model, LINE, power_w, split="loo", apps=["a"]).splitlines()
    assert said[0] == "split: found `loo`, expected one of in_sample, leave_one_app_out, new_device"
    assert said[1].startswith("apps: found `1 names`, expected 3")
