"""Learners of stages, missing measurements, and the laws of two stages."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from hetsched.errors import ConfigError
from hetsched.power import PowerRatio, SingleStage, TwoStage, mape
from hetsched.power.models.learners import fit_linear
from hetsched.power.models.per_device import app_means
from hetsched.power.models.trees import fit_boosted, fit_forest, trees_of

NAN = np.nan


def message(function, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def gpus(n_devices=24, n_apps=48, seed=0):
    """Six rates, watts that bend with them, and devices that differ in gain, level, and every application."""
    rng = np.random.default_rng(seed)
    features = rng.lognormal(0.0, 0.7, (n_apps, 6))
    busy = 1 - np.exp(-features @ np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05]))
    base_w = 60.0 + 200.0 * busy + 15.0 * np.sqrt(features[:, 0] * features[:, 3])
    gain, level = rng.normal(1.0, 0.05, (n_devices, 1)), rng.normal(0.0, 4.0, (n_devices, 1))
    return features, base_w * gain + level + rng.normal(0.0, 1.5, (n_devices, n_apps))


# --- The laws of two stages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("mean_model", "single"), [("linear", "linear"), ("random_forest", "random_forest")])
def test_two_stages_predict_seen_applications_better_than_one(mean_model, single, seed):
    features, power_w = gpus(seed=seed)
    two = TwoStage(mean_model, "random_forest").fit(features, power_w).predict(features)
    one = SingleStage(single).fit(features, power_w).predict(features)
    assert mape(power_w, two) < mape(power_w, one)


def test_two_linear_stages_are_one():
    # Least squares is linear in its targets: the mean's fit plus the deviation's is the fit of their sum.
    features, power_w = gpus()
    two = TwoStage("linear", "linear").fit(features, power_w).predict(features)
    one = SingleStage("linear").fit(features, power_w).predict(features)
    np.testing.assert_allclose(two, one, rtol=1e-9)


def test_the_ratio_is_exact_where_devices_are_multiples_of_one():
    features, power_w = gpus(n_devices=1)
    factors = np.array([[1.0], [1.3], [0.8]])
    model = PowerRatio("linear", reference_device=1).fit(features, power_w * factors)
    np.testing.assert_allclose(model.ratios_, [1 / 1.3, 1.0, 0.8 / 1.3])
    reference = SingleStage("linear").fit(features, power_w).predict(features)
    np.testing.assert_allclose(model.predict(features), reference * factors)


# --- The mean over devices -----------------------------------------------------------------------------------------


def test_the_mean_of_a_full_table_is_the_simple_one():
    assert app_means(np.array([[100.0, 200.0], [110.0, 240.0], [120.0, 220.0]])).tolist() == [110.0, 220.0]


@pytest.mark.parametrize("shape", [(4, 9), (30, 6), (1, 5), (6, 1)])
def test_the_mean_does_not_follow_who_was_measured(shape):
    # Watts are what an application adds plus what a device adds: any gaps that leave the table connected are made good.
    rng = np.random.default_rng(4)
    of_device, of_app = rng.normal(0.0, 30.0, (shape[0], 1)), rng.uniform(100.0, 300.0, shape[1])
    power_w = of_device + of_app
    gaps = power_w.copy()
    gaps[rng.random(shape) < 0.5] = NAN
    gaps[0], gaps[:, 0] = power_w[0], power_w[:, 0]
    np.testing.assert_allclose(app_means(gaps), of_app + of_device.mean(), rtol=1e-9)


def test_high_power_devices_do_not_raise_their_applications():
    # Device 1 draws 20 W more than device 0, as application 0 says; 150 W on device 0 are 160 W on the mean of both.
    assert app_means(np.array([[100.0, 150.0], [120.0, NAN]])).round(9).tolist() == [110.0, 160.0]


def test_groups_that_share_no_application_are_taken_to_be_alike_on_average():
    # Two pairs of devices; within each, one draws 10 W more on the application that both ran.
    power_w = np.array([[100.0, NAN, NAN], [110.0, NAN, NAN], [NAN, 200.0, 300.0], [NAN, 210.0, NAN]])
    assert app_means(power_w).round(9).tolist() == [105.0, 205.0, 305.0]


# --- Devices with few measurements ---------------------------------------------------------------------------------


def test_a_device_with_few_applications_gets_the_mean_model_and_its_mean_deviation():
    features = np.arange(6.0)[:, None]
    power_w = 100.0 + 10.0 * features[:, 0] + np.array([[-20.0], [0.0], [20.0]])
    power_w[2, [0, 2, 3, 5]] = NAN
    model = TwoStage("linear", "linear").fit(features, power_w)
    assert model.fallback_devices_.tolist() == [2]
    assert model.offsets_w_.round(9).tolist() == [20.0]
    np.testing.assert_allclose(model.predict([[10.0]])[:, 0], [180.0, 200.0, 220.0])
    assert TwoStage("linear", "linear", min_apps=2).fit(features, power_w).fallback_devices_.tolist() == []
    none_left = TwoStage("linear", "linear", min_apps=7).fit(features, power_w)
    assert none_left.device_models_ is None
    assert none_left.fallback_devices_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(none_left.predict([[10.0]])[:, 0], [180.0, 200.0, 220.0])


def test_the_ratio_is_that_of_the_watts_both_were_measured_at():
    # 110 W + 130 W over 100 W + 100 W. The reference model, a line through (1, 100), (2, 300), (3, 100), says 167 W.
    power_w = [[100.0, 300.0, 100.0], [110.0, NAN, 130.0]]
    model = PowerRatio("linear").fit([[1.0], [2.0], [3.0]], power_w)
    assert model.ratios_.tolist() == [1.0, 1.2]
    assert model.fallback_devices_.tolist() == []


def test_a_device_that_shares_no_application_with_the_reference_is_compared_with_its_model():
    features = np.arange(1.0, 6.0)[:, None]
    power_w = 100.0 * features[:, 0] * np.array([[1.0], [1.2], [0.9]])
    power_w[0, 3:], power_w[2, :3] = NAN, NAN
    model = PowerRatio("linear").fit(features, power_w)
    assert model.fallback_devices_.tolist() == [2]
    np.testing.assert_allclose(model.ratios_, [1.0, 1.2, 0.9])


def test_a_reference_that_cannot_be_divided_by_is_an_error():
    assert "expected watts above 0, to be divided by" in message(PowerRatio("linear").fit, [[1.0]], [[0.0], [5.0]])
    said = message(PowerRatio("linear", reference_device=2).fit, [[1.0]], [[3.0], [5.0]])
    assert said == "reference_device: found `2`, expected one of the 2 devices, counted from 0"


# --- Linear regression ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_apps", [1, 2, 4, 7, 30])
def test_least_squares_is_what_numpy_says(n_apps):
    # Fewer applications than features as well: the least coefficients of scaled features.
    rng = np.random.default_rng(n_apps)
    features = rng.lognormal(0.0, 1.0, (n_apps, 6)) * 10.0 ** np.arange(6)
    targets = rng.normal(100.0, 10.0, (3, n_apps))
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    slopes = np.linalg.lstsq(scaled, (targets - targets.mean(axis=1, keepdims=True)).T, rcond=1e-10)[0]
    wanted = targets.mean(axis=1)[:, None] + (scaled @ slopes).T
    np.testing.assert_allclose(fit_linear(features, targets).predict(features), wanted, rtol=1e-9)


def test_each_target_is_fitted_on_what_it_has():
    features, power_w = gpus(n_devices=6)
    gaps = np.where(np.random.default_rng(1).random(power_w.shape) < 0.4, NAN, power_w)
    together = fit_linear(features, gaps)
    for row, target in enumerate(gaps):
        known = ~np.isnan(target)
        plain = np.column_stack([np.ones(known.sum()), features[known]])
        wanted = np.linalg.lstsq(plain, target[known], rcond=None)[0]
        np.testing.assert_allclose(together.predict(np.eye(6))[row], wanted[0] + wanted[1:], rtol=1e-8)


def test_a_feature_that_repeats_another_shares_its_coefficient():
    features = np.column_stack([np.arange(5.0), np.arange(5.0), np.full(5, 2.0)])
    fit = fit_linear(features, 10.0 + 6.0 * features[:, :1].T)
    assert fit.coefficients.round(9).tolist() == [[3.0, 3.0, 0.0]]


@pytest.mark.parametrize("scale", [1e-160, 1e90])
def test_tiny_and_huge_features_are_scaled(scale):
    features = np.arange(5.0)[:, None] * scale
    targets = np.array([[100.0, 110.0, 120.0, 130.0, 140.0]])
    np.testing.assert_allclose(fit_linear(features, targets).predict(features), targets)


# --- Random forests ------------------------------------------------------------------------------------------------


@pytest.fixture
def forests():
    pytest.importorskip("sklearn")


@pytest.mark.usefixtures("forests")
@pytest.mark.parametrize("n_devices", [1, 3])
def test_trees_say_what_scikit_learns_own_say(monkeypatch, n_devices):
    grown = []
    regressor = pytest.importorskip("sklearn.tree").DecisionTreeRegressor
    fit = regressor.fit

    def kept(self, *arguments, **options):
        fitted = fit(self, *arguments, **options)
        grown.append(copy.copy(fitted))
        return fitted

    monkeypatch.setattr(regressor, "fit", kept)
    monkeypatch.setattr("hetsched.resources._cores", lambda: 1)
    rng = np.random.default_rng(n_devices)
    # Rates that are far from 0, and all apart.
    features, power_w = 1e12 + rng.normal(0.0, 1e3, (40, 4)), rng.normal(200.0, 20.0, (n_devices, 40))
    # Targets that share trees are grown in an order of their own.
    power_w = power_w[np.argsort(power_w[:, -1])]
    forest = fit_forest(features, power_w, seed=0, purpose="test")
    scaled = ((features - features.min(axis=0)) / np.ptp(features, axis=0)).astype(np.float32)
    wanted = np.mean([tree.tree_.predict(scaled).reshape(40, n_devices) for tree in grown], axis=0).T
    assert len(grown) == 100
    np.testing.assert_allclose(forest.predict(features), wanted, rtol=1e-12)


@pytest.mark.usefixtures("forests")
def test_neighbouring_floats_are_distinguished():
    features = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    found = fit_forest(features, np.array([[100.0, 200.0]]), seed=0, purpose="test").predict(features)
    # About a half of all trees saw both, the others one of the two.
    assert found[0, 0] < 145 < 155 < found[0, 1]


@pytest.mark.usefixtures("forests")
def test_forests_err_as_those_of_scikit_learn():
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor
    features, power_w = gpus(n_devices=12, n_apps=148)
    seen, unseen = np.arange(48), np.arange(48, 148)
    ours = fit_forest(features[seen], power_w[:, seen], seed=0, purpose="test").predict(features)
    theirs = np.array(
        [forest(random_state=0).fit(features[seen], target).predict(features) for target in power_w[:, seen]]
    )
    for apps, share in ((seen, 0.15), (unseen, 0.05)):
        wanted = mape(power_w[:, apps], theirs[:, apps])
        assert abs(mape(power_w[:, apps], ours[:, apps]) - wanted) < share * wanted


@pytest.mark.usefixtures("forests")
def test_a_forest_says_nothing_beyond_what_it_saw():
    # Leaves hold means of targets, so no answer lies outside their range.
    features, power_w = gpus(n_devices=3)
    found = fit_forest(features, power_w, seed=3, purpose="test").predict(features * 100.0 - 50.0)
    assert (found >= power_w.min(axis=1, keepdims=True) - 1e-6).all()
    assert (found <= power_w.max(axis=1, keepdims=True) + 1e-6).all()


@pytest.mark.usefixtures("forests")
def test_devices_with_other_gaps_have_forests_of_their_own():
    features, power_w = gpus(n_devices=9)
    power_w[4:8, 3] = NAN
    power_w[8, 20:] = NAN
    together = fit_forest(features, power_w, seed=1, purpose="test").predict(features)
    for rows in ([0, 1, 2, 3], [4, 5, 6, 7], [8]):
        alone = fit_forest(features, power_w[rows], seed=1, purpose="test").predict(features)
        assert np.array_equal(alone, together[rows])


@pytest.mark.usefixtures("forests")
def test_the_order_of_devices_changes_no_bit_of_a_forest():
    features, power_w = gpus(n_devices=9)
    power_w[2:5, 7] = NAN
    order = np.random.default_rng(3).permutation(9)
    found = [
        fit_forest(features, watts, seed=1, purpose="test").predict(features) for watts in (power_w, power_w[order])
    ]
    assert np.array_equal(found[0][order], found[1])


@pytest.mark.usefixtures("forests")
def test_seeds_and_purposes_draw_apart():
    features, power_w = gpus(n_devices=2)
    found = [
        fit_forest(features, power_w, seed=seed, purpose=purpose).predict(features)
        for seed, purpose in ((0, "a"), (1, "a"), (0, "b"))
    ]
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


# --- Learners that come out constant -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_apps", [3, 5, 8, 12, 20, 39, 48])
def test_lightgbm_is_set_up_for_small_tables(n_apps):
    pytest.importorskip("lightgbm")
    features, power_w = gpus(n_devices=4, n_apps=n_apps)
    found = fit_boosted(features, power_w, seed=0).predict(features)
    # Not constant, and close to what it saw: the spread that is left is a small part of what there was.
    assert (
        np.abs(found - power_w).mean(axis=1) < 0.25 * np.abs(power_w - power_w.mean(axis=1)[:, None]).mean(axis=1)
    ).all()


@pytest.mark.parametrize("seed", range(4))
def test_boosted_trees_say_what_lightgbm_says(seed):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    n_apps, n_features = int(rng.integers(6, 60)), int(rng.integers(1, 8))
    features = rng.normal(0.0, 10.0 ** rng.integers(-6, 9), (n_apps, n_features)).round(int(rng.integers(0, 9)))
    parameters = {"num_leaves": int(rng.integers(2, 9)), "min_data_in_leaf": 1, "min_data_in_bin": 1, "verbosity": -1}
    # One that stops before it has split anything, and others that have grown for longer or shorter.
    targets = np.array([np.full(n_apps, 150.0), *rng.normal(200.0, 30.0, (4, n_apps))])
    boosters = []
    for target, rounds in zip(targets, (5, 0, 1, 7, 30), strict=True):
        boosters.append(lightgbm.Booster(parameters, lightgbm.Dataset(features, target, params=parameters)))
        for _ in range(rounds):
            boosters[-1].update()
    trees = trees_of([booster.model_to_string() for booster in boosters], n_trees=30)
    # Thresholds lie between what was fitted: asked there, and on them, and far away.
    asked = np.concatenate([features, rng.permuted(features, axis=0) * 1.5, -features, np.zeros((1, n_features))])
    wanted = [booster.predict(asked, num_threads=1) for booster in boosters]
    assert np.array_equal(trees.sums(asked), wanted)


def test_a_booster_of_lightgbms_defaults_is_refused_where_it_cannot_split():
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("sklearn")
    features, power_w = gpus(n_devices=7, n_apps=30)
    plain = lightgbm.LGBMRegressor(verbose=-1, n_jobs=1)
    assert message(SingleStage(plain).fit, features, power_w) == (
        "LGBMRegressor: found a model that is constant for devices 0, 1, 2, 3, 4 and 2 more although the watts are "
        "not, expected a learner set up for few applications (such as a smaller min_data_in_leaf, or less "
        "regularization)"
    )
    assert "constant for the mean over devices" in message(TwoStage(plain, "linear").fit, features, power_w)
    assert "constant for devices 0" in message(TwoStage("linear", plain).fit, features, power_w)
    set_up = plain.set_params(min_child_samples=2, min_data_in_bin=1)
    assert mape(power_w, SingleStage(set_up).fit(features, power_w)._watts(features)) < 5.0


def test_what_rounding_leaves_need_not_be_learned():
    # The mean is a plane and every device follows it: deviations are roundings, of which no booster makes anything.
    pytest.importorskip("lightgbm")
    features, _ = gpus()
    power_w = np.tile(100.0 + features @ np.linspace(3.0, 9.0, 6), (4, 1))
    model = TwoStage("linear", "lightgbm").fit(features, power_w)
    np.testing.assert_allclose(model.predict(features), power_w, rtol=1e-9)


def test_a_stage_that_fails_leaves_no_half_of_a_model():
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("sklearn")
    features, power_w = gpus(n_devices=3, n_apps=30)
    model = TwoStage("linear", "linear").fit(features, power_w)
    model.set_params(device_model=lightgbm.LGBMRegressor(verbose=-1, n_jobs=1))
    message(model.fit, features, power_w)
    assert "not fitted" in message(model.predict, features)


def test_regressors_of_scikit_learn_learn_too():
    linear = pytest.importorskip("sklearn.linear_model")
    features, power_w = gpus()
    power_w[0, :5] = NAN
    model = SingleStage(linear.LinearRegression()).fit(features, power_w)
    wanted = SingleStage("linear").fit(features, power_w)
    np.testing.assert_allclose(model.predict(features), wanted.predict(features), rtol=1e-8)
    assert not hasattr(model.model, "coef_")
    assert model.get_params()["model__fit_intercept"] is True
    assert model.set_params(model__fit_intercept=False).model.fit_intercept is False
    said = message(model.write, "model.npz")
    assert said == (
        "model: found the regressor LinearRegression, "
        "expected a learner that can be saved: linear, random_forest or lightgbm"
    )


def test_a_regressor_without_a_seed_gets_the_models():
    forest = pytest.importorskip("sklearn.ensemble").RandomForestRegressor
    features, power_w = gpus(n_devices=2)
    found = [
        SingleStage(forest(n_estimators=5), seed=seed).fit(features, power_w).predict(features) for seed in (1, 1, 2)
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_what_is_no_learner_is_refused():
    expected = "expected one of linear, random_forest, lightgbm, or a regressor of scikit-learn"
    said = message(TwoStage("lightgmb", 7).fit, *gpus()).splitlines()
    assert said == [
        f"mean_model: found `lightgmb`, {expected}; did you mean `lightgbm`?",
        f"device_model: found `7`, {expected}",
    ]
    tree = pytest.importorskip("sklearn.tree").DecisionTreeRegressor
    said = message(SingleStage(tree).fit, *gpus())
    assert said.endswith("expected one of its objects: DecisionTreeRegressor()")


# --- Without the libraries -----------------------------------------------------------------------------------------

_WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("lightgbm", "sklearn", "threadpoolctl")))
import hetsched
import hetsched.power as power
features, power_w = [[1.0], [2.0], [4.0]], [[100.0, 110.0, 130.0], [100.0, 120.0, 160.0]]
for model in (power.TwoStage("linear", "linear"), power.SharedResponse(), power.PowerRatio("linear")):
    model.fit(features, power_w).predict(features)
    power.evaluate(model, features, power_w, split="leave_one_app_out")
print(power.Ideal(), power.Noisy())
for learner in ("lightgbm", "random_forest"):
    try:
        power.SingleStage(learner).fit(features, power_w)
    except hetsched.ConfigError as error:
        print(error)
"""


def test_linear_models_the_shared_response_and_predictors_need_numpy_alone():
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == [
        "Ideal() Noisy(error_ratio=0.1, seed=0)",
        'lightgbm: found no such library, expected it installed: pip install "hetsched[models]"',
        'scikit-learn: found no such library, expected it installed: pip install "hetsched"',
    ]
