"""`SharedResponse` and its parts: what follows from the model by hand, and that it is nearer than two stages are."""

import os
import signal

import numpy as np
import pytest

from hetsched.analysis import mean_and_half_width
from hetsched.chance import stream
from hetsched.errors import ConfigError
from hetsched.power import SharedResponse, TwoStage, evaluate
from hetsched.power.models.curves import KERNELS, Applications, Scaling, kernel_matrices, model_weights
from hetsched.power.models.shared_response import fit_device_factors, posterior_factors
from hetsched.power.models.trust import factors_without, kept_share
from hetsched.power.synthetic import synthetic_profiles


def percent_off(found, actual):
    return 100.0 * np.abs(found / actual - 1.0)


def products(n_devices=30, n_apps=14, seed=0):
    """Watts that are an application's times a device's, without noise; features tell the first."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(0.2, 1.0, (n_apps, 3))
    level = 60.0 + features @ [100.0, 60.0, 30.0]
    return features, np.outer(np.exp(rng.normal(0.0, 0.05, n_devices)), level)


# --- Devices


def test_without_noise_one_run_determines_a_device():
    features, power_w = products()
    known = power_w.copy()
    known[3, 1:] = np.nan
    known[4, :-1] = np.nan
    found = SharedResponse(factors=1).fit(features, known).predict(features)
    assert percent_off(found, power_w).max() < 0.1


def test_without_factors_all_devices_are_alike():
    features, power_w = products()
    found = SharedResponse(factors=0).fit(features, power_w).predict(features)
    assert np.ptp(found, axis=0).max() == 0
    np.testing.assert_allclose(found[0], np.exp(np.log(power_w).mean(axis=0)), rtol=1e-9)


def test_a_device_with_few_runs_is_drawn_towards_the_mean_device():
    """One factor, loadings 1, variance of the noise v: n measurements d above the level make n d / (n + v)."""
    rng = np.random.default_rng(1)
    n_devices, n_apps, noise = 4000, 8, 0.5
    factors = rng.normal(0.0, 1.0, (n_devices, 1))
    log_w = 5.0 + factors + rng.normal(0.0, np.sqrt(noise), (n_devices, n_apps))
    model = fit_device_factors(log_w, factors=1)
    np.testing.assert_allclose(np.abs(model.loadings), 1.0, atol=0.05)
    np.testing.assert_allclose(model.noise, noise, rtol=0.1)
    for count in (1, 3, 8):
        row = np.full((1, n_apps), np.nan)
        row[0, :count] = 5.0 + 0.7
        own = model.level + posterior_factors(row, model) @ model.loadings.T
        assert own.mean() - 5.0 == pytest.approx(count * 0.7 / (count + noise), abs=0.04)


def test_an_application_run_on_high_power_devices_is_not_a_high_power_one():
    features, power_w = products(n_devices=40)
    hungry = np.argsort(-power_w[:, 0])
    known = power_w.copy()
    known[hungry[6:], 5] = np.nan
    found = SharedResponse().fit(features, known).predict(features)
    assert percent_off(found[:, 5], power_w[:, 5]).max() < 0.5


def test_devices_may_stand_in_any_order():
    drawn = synthetic_profiles("xeon", devices=20, seed=3)
    order = np.random.default_rng(0).permutation(20)
    first = SharedResponse().fit(drawn.features, drawn.power_w).predict(drawn.features * 1.01)
    second = SharedResponse().fit(drawn.features, drawn.power_w[order]).predict(drawn.features * 1.01)
    np.testing.assert_allclose(second, first[order], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_do_not_matter(factor):
    drawn = synthetic_profiles("p100", devices=12, apps=15, seed=4)
    asked = drawn.features[:3] * 1.05
    plain = SharedResponse().fit(drawn.features, drawn.power_w).predict(asked)
    scaled = SharedResponse().fit(drawn.features, drawn.power_w * factor).predict(asked)
    np.testing.assert_allclose(scaled / factor, plain, rtol=1e-6)
    scaled = SharedResponse().fit(drawn.features * factor, drawn.power_w).predict(asked * factor)
    np.testing.assert_allclose(scaled, plain, rtol=1e-6)


def test_more_than_two_thousand_devices_are_each_judged_by_their_own_runs():
    features, power_w = products(n_devices=2500)
    found = SharedResponse(factors=1).fit(features, power_w).predict(features)
    assert percent_off(found, power_w).max() < 0.1


# --- Applications


def test_applications_with_the_same_features_are_one():
    features, power_w = products()
    features, power_w = np.vstack([features, features[:1]]), np.hstack([power_w, 1.21 * power_w[:, :1]])
    found = SharedResponse(factors=1).fit(features, power_w).predict(features)
    # In logarithms the mean of 1 and 1.21 times the watts is 1.1 times.
    np.testing.assert_allclose(found[:, 0], 1.1 * power_w[:, 0], rtol=1e-3)
    np.testing.assert_array_equal(found[:, 0], found[:, -1])


def test_watts_that_are_linear_in_a_rate_are_found_between_the_applications():
    rates = np.linspace(0.0, 1.0, 15)[:, None]
    watts = 80.0 + 100.0 * rates.T
    asked = np.array([[0.33], [0.71]])
    found = SharedResponse().fit(rates, watts).predict(asked)
    np.testing.assert_allclose(found[0], 80.0 + 100.0 * asked[:, 0], rtol=2e-3)


def test_far_from_all_applications_watts_stay_within_bounds():
    drawn = synthetic_profiles("p100", devices=6, apps=20, seed=1)
    model = SharedResponse().fit(drawn.features, drawn.power_w)
    found = model.predict(np.concatenate([drawn.features * 1e6, drawn.features * 0.0]))
    level = np.exp(model.level_)
    assert (found > 0.2 * level.min()).all()
    assert (found < 3.0 * level.max()).all()


def test_leaving_out_is_exact():
    """Prediction of the shortcut for an application without it, and of a fit to all others."""
    rng = np.random.default_rng(2)
    features, values = rng.uniform(0.0, 1.0, (9, 2)), rng.normal(0.0, 1.0, 9)
    apps = Applications(features, values)
    trials = apps.tried(values)
    for number in (0, 57, 200, len(trials.left_out) - 1):
        noise = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0])[number % 9]
        kernel = kernel_matrices(apps.scaling, features, features, [number // 9])[0] + 25.0
        relative = (values - values.mean()) / values.std()
        for app in range(9):
            others = np.arange(9) != app
            solved = np.linalg.solve(kernel[np.ix_(others, others)] + noise * np.eye(8), relative[others])
            expected = kernel[app, others] @ solved * values.std() + values.mean()
            assert trials.left_out[number, app] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_many_applications_are_fitted_all_though_some_are_judged():
    rng = np.random.default_rng(3)
    features = rng.uniform(0.0, 1.0, (400, 2))
    watts = (100.0 + 40.0 * features[:, 0] + 30.0 * np.sin(3.0 * features[:, 1]))[None]
    asked = rng.uniform(0.1, 0.9, (50, 2))
    found = SharedResponse().fit(features, watts).predict(asked)[0]
    expected = 100.0 + 40.0 * asked[:, 0] + 30.0 * np.sin(3.0 * asked[:, 1])
    assert percent_off(found, expected).max() < 0.5


def test_weights_fall_with_errors_and_the_best_counts_one():
    weights = model_weights(np.array([[1.0, -1.0], [2.0, 2.0], [1e9, 1e9]]))
    # Errors twice as large, two applications: 1 / sqrt(4) of the weight; what is hopeless is left out.
    np.testing.assert_allclose(weights, [1.0, 0.5, 0.0])


def test_kernels_are_positive_semidefinite_and_ignore_constant_features():
    rng = np.random.default_rng(4)
    features = rng.uniform(0.0, 1.0, (12, 3))
    every = range(len(KERNELS))
    matrices = kernel_matrices(Scaling.of(features), features, features, every)
    assert np.linalg.eigvalsh(matrices).min() > -1e-8
    moved = np.column_stack([features, np.full(12, 7.0)])
    asked = np.column_stack([features[:2], [7.0, 900.0]])
    found = kernel_matrices(Scaling.of(moved), asked, moved, [0])[0]
    same = kernel_matrices(Scaling.of(moved), np.column_stack([features[:2], [7.0, 7.0]]), moved, [0])[0]
    np.testing.assert_array_equal(found, same)


# --- Faults


def test_zero_watts_are_refused_with_device_and_application():
    features, power_w = products()
    power_w[2, 3] = 0.0
    with pytest.raises(ConfigError, match=r"power_w\[device 2, application 3\]: found `0`, expected more than 0 W"):
        SharedResponse().fit(features, power_w)


@pytest.mark.parametrize("factors", [-1, 33, 1.5, None])
def test_a_number_of_factors_that_cannot_be_is_refused(factors):
    with pytest.raises(ConfigError, match="factors"):
        SharedResponse(factors=factors).fit(*products())


# --- Nearer than two stages


def test_it_is_nearer_than_two_forests_on_applications_that_neither_has_seen():
    """Mean over devices for each of 30 kernels that are left out in turn, paired: the 95 % interval leaves out 0."""
    drawn = synthetic_profiles("p100", devices=4, apps=30, seed=20)
    ours, theirs = (
        evaluate(model, drawn.features, drawn.power_w, split="leave_one_app_out")["mape_mean_percent"].to_numpy()
        for model in (SharedResponse(), TwoStage())
    )
    gain, half_width = mean_and_half_width(theirs - ours)
    assert gain > half_width
    assert ours.mean() < 0.7 * theirs.mean()


@pytest.mark.parametrize("runs", [1, 3, 10])
def test_a_new_device_is_known_better_after_a_few_runs_than_by_two_forests(runs):
    drawn = synthetic_profiles("p100", devices=40, seed=21)
    rng = stream(0, "test.new")
    known = drawn.power_w.copy()
    for device in range(12):
        known[device, rng.permutation(48)[runs:]] = np.nan
    errors = []
    for model in (SharedResponse(), TwoStage()):
        off = percent_off(model.fit(drawn.features, known).predict(drawn.features), drawn.power_w)
        errors.append(np.where(np.isnan(known), off, np.nan)[:12])
    gain, half_width = mean_and_half_width(np.nanmean(errors[1] - errors[0], axis=1))
    assert gain > half_width


def test_more_runs_of_a_device_bring_it_nearer():
    drawn = synthetic_profiles("v100", devices=64, seed=22)
    order = np.array([np.random.default_rng(device).permutation(48) for device in range(32)])
    errors = []
    for runs in (1, 3, 10, 40):
        known = drawn.power_w.copy()
        np.put_along_axis(known[:32], order[:, runs:], np.nan, axis=1)
        found = SharedResponse().fit(drawn.features, known).predict(drawn.features)
        # Against what is to be expected, on the kernels that none of them has run.
        last = order[:, 40:]
        off = percent_off(np.take_along_axis(found[:32], last, 1), np.take_along_axis(drawn.expected_w[:32], last, 1))
        errors.append(off.mean())
    assert errors == sorted(errors, reverse=True)


def test_ctrl_c_is_heeded_between_two_kernels(monkeypatch):
    done = []

    def with_ctrl_c(matrix):
        done.append(matrix.shape)
        found = eigh(matrix)
        os.kill(os.getpid(), signal.SIGINT)
        return found

    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", with_ctrl_c)
    features, power_w = products(n_devices=5, n_apps=200)
    with pytest.raises(KeyboardInterrupt):
        SharedResponse().fit(features, power_w)
    assert done == [(128, 128)]


# --- No variation


def test_where_applications_do_not_correlate_devices_that_have_not_run_one_are_predicted_alike():
    rng = np.random.default_rng(5)
    features = rng.uniform(0.2, 1.0, (6, 2))
    power_w = np.exp(5.0 + features.sum(axis=1) + rng.normal(0.0, 0.05, (120, 6)))
    known = power_w.copy()
    hidden = rng.random(known.shape) < 0.3
    hidden[hidden.all(axis=1)] = False
    known[hidden] = np.nan
    model = SharedResponse().fit(features, known)
    assert model.trust_.mean() < 0.2
    rival = np.broadcast_to(np.nanmean(known, axis=0), known.shape)
    own, flat = (percent_off(one, power_w)[hidden].mean() for one in (model.predict(features), rival))
    # What is left is chance: without shrinking it was 5 % farther off than one number an application.
    assert own <= 1.005 * flat
    # What an application was measured to draw on a device is remembered all the same.
    seen = percent_off(model.predict(features), power_w)[~hidden].mean()
    assert seen < percent_off(rival, power_w)[~hidden].mean()


def test_where_they_do_correlate_nothing_changes():
    features, power_w = products()
    model = SharedResponse(factors=1).fit(features, power_w)
    assert (model.trust_ == 1.0).all()
    assert model.new_trust_ == 1.0


def test_a_share_that_is_kept_has_to_gain_more_than_chance():
    gains = np.array([[1.0], [0.75], [0.5], [0.25], [0.0]])
    certain = 1.0 - gains * np.array([[0.9, 1.0, 1.1, 1.0]])
    chance = 1.0 - gains * np.array([[3.0, -3.0, 2.5, -2.4]])
    assert (kept_share(certain), kept_share(chance)) == (1.0, 0.0)
    # All of it errs as much as none, half of it less.
    bent = 1.0 - np.array([[0.0], [0.2], [0.3], [0.2], [0.0]]) * np.array([[0.2, 1.0, 1.8, 1.0]])
    assert 0.4 < kept_share(bent) < 0.5


def test_factors_without_an_application_are_those_of_a_fit_that_has_not_seen_it():
    rng = np.random.default_rng(3)
    log_w, loadings, noise = rng.normal(0.0, 1.0, (7, 5)), rng.normal(0.0, 1.0, (5, 2)), rng.uniform(0.1, 0.5, 5)
    log_w[rng.random(log_w.shape) < 0.2] = np.nan
    level = np.nanmean(log_w, axis=0)
    masked = log_w.copy()
    masked[:, 3] = np.nan
    model = fit_device_factors(np.abs(log_w), factors=1)
    whole = posterior_factors(masked, type(model)(level, loadings, noise))
    np.testing.assert_allclose(factors_without(log_w, level, loadings, noise, 3), whole, rtol=1e-9)
