"""Every model of device power, held to what an estimator promises: whoever joins the registry is held to it, too."""

import copy
import pickle

import numpy as np
import polars as pl
import pytest

from hetsched import read_model
from hetsched.errors import ConfigError
from hetsched.platform import Platform, VariationTable
from hetsched.power import PowerRatio, SingleStage, TwoStage
from hetsched.power.models.model import KINDS

# One line a model: every kind in the registry with its defaults, and the others that have learners to choose from.
VARIANTS = [
    *(model() for model in KINDS.values()),
    TwoStage("linear", "linear"),
    TwoStage("linear", "random_forest"),
    TwoStage("lightgbm", "lightgbm"),
    SingleStage("linear"),
    SingleStage("lightgbm"),
    PowerRatio("linear"),
]
N_DEVICES, N_APPS, N_FEATURES = 5, 14, 3


@pytest.fixture(params=VARIANTS, ids=repr)
def model(request):
    if "lightgbm" in repr(request.param):
        pytest.importorskip("lightgbm")
    return request.param.unfitted()


def measured(n_devices=N_DEVICES, n_apps=N_APPS, n_features=N_FEATURES, seed=0):
    """Features, and watts that grow with them; devices differ in level and gain."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(0.1, 1.0, (n_apps, n_features))
    base_w = 80.0 + features @ np.linspace(100.0, 40.0, n_features) + 30.0 * features[:, 0] * features[:, 1]
    gain, level = rng.normal(1.0, 0.06, (n_devices, 1)), rng.normal(0.0, 5.0, (n_devices, 1))
    return features, base_w * gain + level + rng.normal(0.0, 1.0, (n_devices, n_apps))


def with_gaps(power_w, seed=1, share=0.3):
    """The same with cells that were not measured; a device keeps four, an application one."""
    rng = np.random.default_rng(seed)
    is_gap = rng.random(power_w.shape) < share
    is_gap[:, :4] = False
    is_gap[0, 4:] = False
    return np.where(is_gap, np.nan, power_w)


def message(function, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        function(*arguments, **options)
    return str(caught.value)


# --- What scikit-learn asks of an estimator --------------------------------------------------------------------------


def test_making_one_does_no_work_and_keeps_the_parameters_as_they_are(model):
    params = model.get_params(deep=False)
    assert vars(model) == params
    assert type(model)(**params).get_params() == model.get_params()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_parameters_that_cannot_be_are_found_when_fitting(model):
    for name in model.get_params(deep=False):
        wrong = model.unfitted().set_params(**{name: "xyz"})
        assert name in message(wrong.fit, *measured())
    known = next(iter(model.get_params(deep=False)))
    assert f"did you mean `{known}`" in message(model.set_params, **{known + "x": 1})


def test_scikit_learn_clones_it(model):
    clone = pytest.importorskip("sklearn.base").clone
    model.fit(*measured())
    copied = clone(model)
    assert copied is not model
    assert copied.get_params() == model.get_params()
    assert "not fitted" in message(copied.predict, measured()[0])


def test_fit_returns_the_model_and_learned_names_end_in_an_underscore(model):
    before = set(vars(model))
    assert model.fit(*measured()) is model
    learned = set(vars(model)) - before
    assert learned
    assert all(name.endswith("_") for name in learned)
    assert (model.n_features_in_, model.n_devices_) == (N_FEATURES, N_DEVICES)


def test_fitting_leaves_parameters_and_input_as_they_were(model):
    params = model.get_params()
    features, power_w = measured()
    power_w = with_gaps(power_w)
    for array in (features, power_w):
        array.flags.writeable = False
    kept = features.copy(), power_w.copy()
    model.fit(features, power_w).predict(features)
    assert model.get_params() == params
    assert np.array_equal(features, kept[0])
    assert np.array_equal(power_w, kept[1], equal_nan=True)


def test_predictions_are_watts_of_every_device_under_every_application(model):
    features, power_w = measured()
    watts = model.fit(features, power_w).predict(features[:4])
    assert watts.shape == (N_DEVICES, 4)
    assert watts.dtype == np.float64
    assert np.isfinite(watts).all()
    # What it has seen it tells better than the mean over everything does.
    error = np.abs(model.predict(features) - power_w).mean()
    assert error < 0.8 * np.abs(power_w.mean() - power_w).mean()


def test_each_application_is_predicted_by_itself(model):
    features, power_w = measured()
    model.fit(features, with_gaps(power_w))
    together = model.predict(features)
    for app in range(N_APPS):
        assert np.array_equal(model.predict(features[app : app + 1])[:, 0], together[:, app])
    assert np.array_equal(model.predict(np.tile(features, (40, 1))), np.tile(together, (1, 40)))


def test_a_second_fit_forgets_the_first(model):
    features, power_w = measured()
    fresh = model.unfitted().fit(features, with_gaps(power_w))
    model.fit(*measured(n_devices=7, n_apps=20, n_features=4, seed=9))
    model.fit(features, with_gaps(power_w))
    assert set(vars(model)) == set(vars(fresh))
    assert np.array_equal(model.predict(features), fresh.predict(features))


def test_input_that_is_refused_leaves_the_model_as_it_was(model):
    features, power_w = measured()
    model.fit(features, power_w)
    power_w[2, 3] = -1.0
    before = model.predict(features)
    message(model.fit, features, power_w)
    assert np.array_equal(model.predict(features), before)


def test_equal_seeds_give_equal_bits(model):
    features, power_w = measured()
    power_w = with_gaps(power_w)
    again = model.unfitted()
    assert np.array_equal(
        model.fit(features, power_w).predict(features), again.fit(features, power_w).predict(features)
    )


def test_the_number_of_threads_changes_no_bit(model, monkeypatch):
    # Many devices, so that there are several portions.
    features, power_w = measured(n_devices=40)
    power_w = with_gaps(power_w, share=0.02)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr("hetsched.resources._cores", lambda cores=cores: cores)
        found.append(model.unfitted().fit(features, power_w).predict(features))
    assert np.array_equal(*found)


def test_lists_frames_and_other_floats_are_taken(model):
    features, power_w = measured()
    features = features.astype(np.float32)
    wanted = model.fit(features.astype(np.float64), power_w).predict(features)
    for same in (features, features.tolist(), pl.DataFrame(features), np.asfortranarray(features)):
        other = model.unfitted().fit(same, power_w.tolist())
        assert np.array_equal(other.predict(same), wanted)


def test_the_order_of_devices_is_the_order_of_predictions(model):
    features, power_w = measured(n_devices=30)
    power_w = with_gaps(power_w)
    order = np.random.default_rng(2).permutation(30)
    params = model.get_params(deep=False)
    moved = model.unfitted()
    if "reference_device" in params:
        moved.set_params(reference_device=int(np.flatnonzero(order == params["reference_device"])[0]))
    wanted = model.fit(features, power_w).predict(features)[order]
    np.testing.assert_allclose(moved.fit(features, power_w[order]).predict(features), wanted, rtol=1e-6)


def test_units_of_features_do_not_matter(model):
    features, power_w = measured()
    wanted = model.fit(features, power_w).predict(features)
    scale = 2.0 ** np.array([40, -30, 7])
    found = model.unfitted().fit(features * scale, power_w).predict(features * scale)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_it_can_be_copied_and_pickled(model):
    features, power_w = measured()
    wanted = model.fit(features, power_w).predict(features)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(features), wanted)


# --- What is missing, and what cannot be ---------------------------------------------------------------------------


def test_what_was_not_measured_is_left_out(model):
    features, power_w = measured()
    gaps = with_gaps(power_w)
    assert np.isnan(gaps).sum() > 5
    watts = model.fit(features, gaps).predict(features)
    assert np.isfinite(watts).all()
    assert np.abs(watts - power_w).mean() < 0.8 * np.abs(power_w.mean() - power_w).mean()


def test_an_application_that_never_ran_is_left_out_and_reported(model):
    features, power_w = measured()
    wanted = model.unfitted().fit(np.delete(features, 6, axis=0), np.delete(power_w, 6, axis=1)).predict(features)
    power_w[:, 6] = np.nan
    assert np.array_equal(model.fit(features, power_w).predict(features), wanted)
    assert model.unmeasured_apps_.tolist() == [6]


def test_a_device_that_was_never_measured_is_an_error(model):
    features, power_w = measured()
    power_w[[1, 3]] = np.nan
    said = message(model.fit, features, power_w).splitlines()
    assert [line.partition(":")[0] for line in said] == ["power_w[device 1]", "power_w[device 3]"]


def test_every_cell_that_cannot_be_is_named_at_once(model):
    features, power_w = measured()
    features[2, 1], features[3, 0], power_w[1, 4], power_w[0, 0] = np.nan, -np.inf, -3.0, np.inf
    said = message(model.fit, features, power_w).splitlines()
    assert [line.partition(":")[0] for line in said] == [
        "features[row 2, column 1]",
        "features[row 3, column 0]",
        "power_w[device 0, application 0]",
        "power_w[device 1, application 4]",
    ]
    features, power_w = measured()
    model.fit(features, power_w)
    features[5, 2] = np.inf
    assert "features[row 5, column 2]: found `inf`" in message(model.predict, features)


@pytest.mark.parametrize(
    ("features", "power_w", "what"),
    [
        (np.ones(4), np.ones((2, 4)), "features: found `shape (4,)`"),
        (np.ones((0, 3)), np.ones((2, 0)), "features: found `shape (0, 3)`"),
        ([["a", "b"]], [[1.0]], "features: found `[['a', 'b']]`"),
        ([[1.0], [2.0, 3.0]], [[1.0, 2.0]], "features: found"),
        (np.arange(8.0).reshape(4, 2), np.ones(4), "power_w: found `shape (4,)`"),
        (
            np.arange(8.0).reshape(4, 2),
            np.ones((4, 7)),
            "expected 4, one for every application (row) of `features`; it",
        ),
        (np.arange(8.0).reshape(4, 2), np.ones((3, 7)), "power_w: found `7 columns`, expected 4"),
        (np.ones((4, 2)), np.arange(8.0).reshape(2, 4), "features: found the same values for all 4 measured"),
    ],
)
def test_other_shapes_are_refused(model, features, power_w, what):
    assert what in message(model.fit, features, power_w)


def test_before_a_fit_there_is_nothing_to_predict_or_save(model, tmp_path):
    name = type(model).__name__
    assert f"{name} that is not fitted, expected a call of `fit` before" in message(model.predict, [[1.0]])
    assert "not fitted" in message(model.write, tmp_path / "a.npz")
    assert "not fitted" in message(model.table, [[1.0]], apps=["a"])


def test_as_many_features_as_it_was_fitted_with(model):
    model.fit(*measured())
    assert "found `2 columns`, expected 3, as the model was fitted with" in message(model.predict, [[1.0, 2.0]])


def test_a_constant_feature_changes_nothing(model):
    features, power_w = measured()
    wide = np.column_stack([features, np.full(N_APPS, 3.7e9)])
    watts = model.fit(wide, power_w).predict(wide)
    error = np.abs(watts - power_w).mean()
    assert error < 0.8 * np.abs(power_w.mean() - power_w).mean()


def test_fewer_applications_than_features(model):
    features, power_w = measured(n_apps=5, n_features=9)
    watts = model.fit(features, power_w).predict(features)
    assert np.abs(watts - power_w).mean() < np.abs(power_w.mean() - power_w).mean()


def test_a_single_application(model):
    features, power_w = measured(n_apps=1)
    watts = model.fit(features, power_w).predict(features)
    np.testing.assert_allclose(watts, power_w, rtol=1e-6)


def test_a_single_device(model):
    features, power_w = measured(n_devices=1)
    watts = model.fit(features, power_w).predict(features)
    assert watts.shape == (1, N_APPS)
    assert np.abs(watts - power_w).mean() < 0.8 * np.abs(power_w.mean() - power_w).mean()


def test_equal_watts_everywhere_are_learned(model):
    features, _ = measured()
    watts = model.fit(features, np.full((3, N_APPS), 150.0)).predict(features)
    np.testing.assert_allclose(watts, 150.0, rtol=1e-9)


def test_predictions_below_zero_are_set_to_zero_and_counted(model):
    features, power_w = measured()
    model.fit(features, power_w)
    far = np.concatenate([features, np.full((1, N_FEATURES), -1e6)])
    watts = model.predict(far)
    assert (watts >= 0).all()
    assert model.clipped_ == (watts == 0).sum()
    if "linear" in repr(model) and "random_forest" not in repr(model):
        # A plane goes as low as one likes.
        assert watts[:, -1].tolist() == [0.0] * N_DEVICES
        assert model.clipped_ == N_DEVICES
    model.predict(features)
    assert model.clipped_ == 0


# --- Tables for platforms ------------------------------------------------------------------------------------------


def test_the_table_holds_the_predictions(model):
    features, power_w = measured()
    table = model.fit(features, power_w).table(features[:2], apps=["hpcg", "stream"])
    assert isinstance(table, VariationTable)
    assert (table.apps, table.nodes) == (("hpcg", "stream"), N_DEVICES)
    assert np.array_equal(table.power_w, model.predict(features[:2]).T)
    platform = Platform.homogeneous(nodes=N_DEVICES, idle_w=50.0, tdp_w=400.0)
    assert model.table(features[:2], apps=["hpcg", "stream"], nodes=platform) == table


def test_a_model_of_other_devices_than_the_platforms_is_refused(model):
    features, power_w = measured()
    model.fit(features, power_w)
    platform = Platform.homogeneous(nodes=8, idle_w=50.0, tdp_w=400.0)
    expected = "nodes: found `8`, expected 5, the number of devices that the model was fitted for"
    for nodes in (8, np.int64(8), platform):
        assert message(model.table, features[:1], apps=["hpcg"], nodes=nodes) == expected
    assert "apps: found 1 names, expected 2" in message(model.table, features[:2], apps=["hpcg"])


# --- Files ---------------------------------------------------------------------------------------------------------


def test_a_file_brings_back_every_bit(model, tmp_path):
    features, power_w = measured()
    power_w = with_gaps(power_w)
    power_w[:, 6] = np.nan
    model.set_params(seed=7) if "seed" in model.get_params() else None
    wanted = model.fit(features, power_w).predict(features)
    model.write(tmp_path / "model.npz")
    again = read_model(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert set(vars(again)) == set(vars(model))
    assert again.unmeasured_apps_.tolist() == [6]
    assert np.array_equal(again.predict(features), wanted)
    again.write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
