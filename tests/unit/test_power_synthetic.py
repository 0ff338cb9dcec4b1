"""Drawn devices and kernels: repeatable, in the ranges that their type states, and as different as asked for."""

import dataclasses

import numpy as np
import pytest

from hetsched.errors import ConfigError
from hetsched.power.synthetic import DEVICE_TYPES, Spread, synthetic_profiles

ALIKE = Spread(static=0.0, gain=0.0, component=0.0, app=0.0, noise=0.0, hidden=0.0, counters=0.0)


@pytest.fixture(params=sorted(DEVICE_TYPES))
def kind(request):
    return request.param


def test_there_are_as_many_as_the_paper_measured():
    shapes = {kind: synthetic_profiles(kind).power_w.shape for kind in DEVICE_TYPES}
    assert shapes == {"p100": (256, 48), "v100": (256, 48), "xeon": (128, 11)}


def test_features_are_the_papers_six(kind):
    drawn = synthetic_profiles(kind, devices=2, apps=5)
    assert drawn.features.shape == (5, 6)
    assert len(set(drawn.components)) == 6
    assert len(set(drawn.apps)) == 5


def test_the_same_seed_draws_the_same_and_another_seed_another(kind):
    one, again, other = (synthetic_profiles(kind, devices=4, apps=5, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.power_w, again.power_w)
    assert np.array_equal(one.features, again.features)
    assert not np.isin(one.power_w, other.power_w).any()


def test_more_devices_are_the_same_ones_and_more(kind):
    few, many = (synthetic_profiles(kind, devices=count, apps=6, seed=5) for count in (3, 10))
    assert np.array_equal(few.features, many.features)
    assert np.array_equal(few.power_w, many.power_w[:3])


def test_without_spread_devices_are_alike_and_draw_what_the_formula_says(kind):
    own = DEVICE_TYPES[kind]
    drawn = synthetic_profiles(kind, devices=3, apps=40, spread=ALIKE, seed=1)
    use = drawn.features / own.peak_per_s
    room = own.tdp_w - own.static_w
    expected = own.static_w + room * (1 - np.exp(-(use * own.peak_w).sum(axis=1) / room))
    np.testing.assert_allclose(drawn.power_w, np.tile(expected, (3, 1)), rtol=1e-12)
    # Some component is at 30 to 100 % of its peak, none beyond; so nothing exceeds the TDP.
    assert use.min() >= 0
    assert ((use.max(axis=1) >= 0.3) & (use.max(axis=1) <= 1.0)).all()
    assert drawn.power_w.max() < own.tdp_w


@pytest.mark.parametrize("name", ["gain", "static", "app", "noise"])
def test_a_spread_is_as_wide_as_asked_for(name):
    # Factors are lognormal, and their logarithms are asked. Of 4,000 draws: 5 % are 4.5 standard errors.
    drawn = synthetic_profiles("p100", devices=4000, apps=1, spread=dataclasses.replace(ALIKE, **{name: 0.1}), seed=2)
    static_w = DEVICE_TYPES["p100"].static_w
    if name == "static":
        dynamic = synthetic_profiles("p100", devices=1, apps=1, spread=ALIKE, seed=2).power_w[0, 0] - static_w
        factor = (drawn.power_w[:, 0] - dynamic) / static_w
    else:
        factor = drawn.power_w[:, 0] if name == "noise" else drawn.power_w[:, 0] - static_w
    assert np.log(factor).std() == pytest.approx(0.1, rel=0.05)


def test_noise_is_in_what_was_measured_only():
    drawn = synthetic_profiles("v100", devices=50, apps=40, seed=6)
    error = np.log(drawn.power_w / drawn.expected_w)
    assert error.std() == pytest.approx(Spread().noise, rel=0.1)
    still = synthetic_profiles("v100", devices=50, apps=40, spread=dataclasses.replace(Spread(), noise=0.0), seed=6)
    assert np.array_equal(still.power_w, drawn.expected_w)


def test_what_cannot_be_drawn_is_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        synthetic_profiles("p10", devices=0, apps=-1, spread=Spread(noise=2.0), seed=-1)
    assert [parameter for parameter, _, _ in caught.value.faults] == ["kind", "devices", "apps", "seed", "spread.noise"]
    assert "did you mean `p100`?" in str(caught.value)
    with pytest.raises(ConfigError, match=r"spread: found `0\.1`, expected a Spread"):
        synthetic_profiles(spread=0.1)
