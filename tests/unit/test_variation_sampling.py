"""Drawn tables: what their moments and correlations must be, what a seed fixes, and what cannot be drawn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.checks import Faults
from hetsched.platform import Normal, resample_table, sample_components, sample_table
from hetsched.variation.correlation import lower_factor

APPS = {"hpcg": (220.0, 8.0), "stream": (190.0, 3.0)}
MEASURED = hs.VariationTable(
    ["hpcg", "stream"],
    power_w=[[200.0, 220.0, 240.0, 260.0], [180.0, 170.0, 165.0, 150.0]],
    time_ratio=[[1.0, 0.99, 1.01, 1.05], [1.0, 1.0, 1.02, 1.04]],
)
COMPONENTS = {
    ("hpcg", "pkg"): Normal.of_range(107, 124),
    ("hpcg", "dram"): Normal.of_range(30, 40),
    ("stream", "pkg"): Normal.of_range(119, 123),
    ("stream", "dram"): Normal.of_range(60, 78),
}


def messages_of(make):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    return str(caught.value).splitlines()


def five_sd(value, *, of, sd):
    """Five standard errors of an average: a true statement fails once in two million seeds."""
    return pytest.approx(value, abs=5 * sd / math.sqrt(of))


def fisher(values):
    """Fisher's transform of a sample correlation: normal with sd 1 / sqrt(n - 3)."""
    return np.arctanh(values)


# --- moments


@pytest.mark.parametrize("seed", range(3))
def test_means_spreads_and_correlation_are_those_asked_for(seed):
    n = 20_000
    power_w = sample_table(APPS, nodes=n, seed=seed, correlation=0.6).table.power_w
    for row, (mean, sd) in zip(power_w, APPS.values(), strict=True):
        assert row.mean() == five_sd(mean, of=n, sd=sd)
        assert row.std(ddof=1) == five_sd(sd, of=2 * n, sd=sd)
        # Third and fourth moments of a normal: 0 +- sqrt(6/n), 3 +- sqrt(24/n).
        z = (row - mean) / sd
        assert (z**3).mean() == pytest.approx(0, abs=5 * math.sqrt(15 / n))
        assert (z**4).mean() == pytest.approx(3, abs=5 * math.sqrt(96 / n))
    assert fisher(np.corrcoef(power_w)[0, 1]) == five_sd(fisher(0.6), of=n, sd=1)


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9, [[1.0, 0.3], [0.3, 1.0]]])
def test_times_correlate_with_watts_and_with_each_other(correlation):
    n = 20_000
    times = {"stream": (1.0, 0.01), "hpcg": Normal(1.02, 0.03)}
    table = sample_table(APPS, nodes=n, seed=5, correlation=correlation, time_ratio=times, time_correlation=-0.7).table
    rho = correlation[0][1] if isinstance(correlation, list) else correlation
    found = np.corrcoef(np.concatenate([table.power_w, table.time_ratio]))
    expected = np.kron([[1, -0.7], [-0.7, 1]], [[1, rho], [rho, 1]])
    above = np.triu_indices(4, k=1)
    assert fisher(found[above]) == five_sd(fisher(expected[above]), of=n, sd=1)
    assert table.time_ratio[0].mean() == five_sd(1.02, of=n, sd=0.03)
    assert table.time_ratio[1].std() == five_sd(0.01, of=2 * n, sd=0.01)


def test_components_add_up_and_correlate_as_stated():
    n = 20_000
    sample = sample_components(COMPONENTS, nodes=n, seed=2, between_apps={"pkg": 0.2, "dram": 0.9})
    pkg, dram = sample.components["pkg"], sample.components["dram"]
    assert pkg + dram == pytest.approx(sample.table.power_w)
    for one, other, rho in (
        (pkg[0], pkg[1], 0.2),
        (dram[0], dram[1], 0.9),
        (pkg[0], dram[0], 0.0),
        (pkg[0], dram[1], 0),
    ):
        assert fisher(np.corrcoef(one, other)[0, 1]) == five_sd(fisher(rho), of=n, sd=1)
    # Means halfway between the ends, sd = range / 6.8; variances of independent components add up.
    assert sample.table.power_w[1].mean() == five_sd(121 + 69, of=n, sd=3)
    sd = math.hypot(4 / 6.8, 18 / 6.8)
    assert sample.table.power_w[1].std() == five_sd(sd, of=2 * n, sd=sd)


def test_a_component_that_an_application_lacks_is_nothing():
    sample = sample_components({("a", "cpu"): (100, 5), ("b", "gpu"): (300, 9)}, nodes=50, seed=1)
    assert sample.components["cpu"][1].tolist() == [0.0] * 50
    assert sample.table.power_w.tolist() == (sample.components["cpu"] + sample.components["gpu"]).tolist()


def test_within_an_application_components_correlate_in_either_order():
    n = 20_000
    for pair in (("pkg", "dram"), ("dram", "pkg")):
        sample = sample_components(COMPONENTS, nodes=n, seed=2, between_apps=0.5, within_app={pair: 0.8})
        pkg, dram = sample.components["pkg"], sample.components["dram"]
        assert fisher(np.corrcoef(pkg[0], dram[0])[0, 1]) == five_sd(fisher(0.8), of=n, sd=1)
        # Across applications as well: 0.8 times the mean of 0.5 and 0.5.
        assert fisher(np.corrcoef(pkg[0], dram[1])[0, 1]) == five_sd(fisher(0.4), of=n, sd=1)


def test_ways_to_say_a_spread():
    assert Normal.relative(200.0, 0.04) == Normal(200.0, sd=8.0)
    assert Normal.of_range(10, 20, width_sd=5) == Normal(15.0, 2.0)
    same = [sample_table({"a": spread}, nodes=9, seed=1).table for spread in ((15.0, 2.0), Normal(15.0, 2.0))]
    assert same[0] == same[1]


# --- what a seed fixes


def test_the_same_seed_gives_the_same_table_and_another_another():
    one, again, other = (sample_table(APPS, nodes=100, seed=seed, correlation=0.5).table for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_the_largest_seed_is_that_of_everything_else_and_one_of_its_own():
    largest = 2**64 - 1
    makes = (
        lambda seed: sample_table(APPS, nodes=5, seed=seed),
        lambda seed: resample_table(MEASURED, nodes=50, seed=seed),
    )
    for make in makes:
        assert make(largest).table == make(largest).table
        # No other seed stands for it: neither half of it, nor what would be left of it in fewer bits.
        assert all(make(largest).table != make(other).table for other in (2**63 - 1, 2**32 - 1, 2**53))
        (found,) = messages_of(lambda make=make: make(largest + 1))
        assert found == f"seed: found `{largest + 1}`, expected a whole number between 0 and {largest}"


def test_more_nodes_leave_those_before_them_as_they_were():
    few, many = (sample_table(APPS, nodes=n, seed=1, correlation=0.5).table.power_w for n in (63, 2048))
    assert (many[:, :63] == few).all()
    few, many = (resample_table(MEASURED, nodes=n, seed=1).table.power_w for n in (63, 2048))
    assert (many[:, :63] == few).all()


def test_one_more_application_leaves_those_before_it_as_they_were():
    two = sample_table(APPS, nodes=64, seed=1, correlation=0.5).table.power_w
    three = sample_table({**APPS, "fft": (200, 5)}, nodes=64, seed=1, correlation=0.5).table.power_w
    assert (three[:2] == two).all()


def test_no_spread_is_the_mean_everywhere():
    table = sample_table({"a": (200.0, 0.0)}, nodes=5, seed=1, time_ratio={"a": (1.0, 0.0)}).table
    assert table.power_w.tolist() == [[200.0] * 5]
    assert table.time_ratio.tolist() == [[1.0] * 5]


def test_full_correlation_is_one_draw_seen_twice():
    power_w = sample_table(APPS, nodes=100, seed=1, correlation=1.0).table.power_w
    assert (power_w[0] - 220) / 8 == pytest.approx((power_w[1] - 190) / 3)
    power_w = sample_table(APPS, nodes=100, seed=1, correlation=-1.0).table.power_w
    assert (power_w[0] - 220) / 8 == pytest.approx(-(power_w[1] - 190) / 3)


# --- floors


def test_draws_below_a_floor_are_set_to_it_and_counted():
    n = 4_000
    free = sample_table({"a": (100, 10), "b": (200, 1)}, nodes=n, seed=3)
    held = sample_table({"a": (100, 10), "b": (200, 1)}, nodes=n, seed=3, floor_w=100.0)
    below = int((free.table.power_w[0] < 100).sum())
    assert free.clipped_count == 0
    assert held.clipped.rows() == [("a", "power_w", n, below), ("b", "power_w", n, 0)]
    assert (held.table.power_w == np.maximum(free.table.power_w, 100)).all()
    assert below == pytest.approx(n / 2, abs=5 * math.sqrt(n / 4))
    assert repr(held).endswith(f"{below:,} of 8,000 draws set to a floor: a power_w {below:,}>")


def test_each_node_may_have_its_floor_and_times_have_theirs():
    floors = np.where(np.arange(1000) % 2, 100.0, 0.0)
    sample = sample_table(
        {"a": (100, 10)}, nodes=1000, seed=3, floor_w=floors, time_ratio={"a": (1, 0.1)}, floor_time_ratio=1.0
    )
    assert (sample.table.power_w[0, 1::2] >= 100).all()
    assert (sample.table.power_w[0, ::2] < 100).any()
    assert (sample.table.time_ratio >= 1).all()
    assert sample.clipped["quantity"].to_list() == ["power_w", "time_ratio"]
    assert (sample.clipped["clipped"] > 0).all()


# --- factors


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_factor_of_a_correlation_gives_it_back_singular_or_not(size, rank, seed):
    vectors = np.random.default_rng(seed).standard_normal((size, rank))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    correlation = vectors @ vectors.T
    np.fill_diagonal(correlation, 1.0)
    faults = Faults()
    factor = lower_factor(correlation, faults)
    assert not faults.found
    assert factor @ factor.T == pytest.approx(correlation, abs=1e-4)
    assert (np.triu(factor, k=1) == 0).all()


def test_a_correlation_that_no_draws_can_have_is_refused():
    apart = dict.fromkeys("abc", (100.0, 1.0))
    # Three draws cannot all be opposites: the least eigenvalue of 1 and -0.9 is 1 - 2 * 0.9.
    assert messages_of(lambda: sample_table(apart, nodes=5, seed=1, correlation=-0.9)) == [
        (
            "correlation: found `a matrix with eigenvalue -0.8`, "
            "expected a correlation that draws can have: no eigenvalue below 0"
        )
    ]
    assert sample_table(apart, nodes=5, seed=1, correlation=-0.5).table.nodes == 5


# --- faults


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"nodes": 0}, "nodes: found `0`, expected a whole number between 1 and"),
        ({"seed": -1}, "seed: found `-1`, expected a whole number between 0 and"),
        ({"seed": 1.5}, "seed: found `1.5`, expected a whole number"),
        ({"correlation": 1.5}, "correlation: found `1.5`, expected a number between -1 and 1"),
        ({"correlation": math.nan}, "correlation: found `NaN`, expected a number between -1 and 1"),
        ({"correlation": "high"}, "correlation: found `high`, expected"),
        ({"correlation": [[1.0]]}, "correlation: found `shape (1, 1)`, expected shape (2, 2)"),
        ({"correlation": [[1, 2], [2, 1]]}, "correlation: found `2`, expected numbers between -1 and 1"),
        (
            {"correlation": [[1, 0.5], [0.4, 1]]},
            "correlation: found `another matrix`, expected a symmetric matrix with",
        ),
        (
            {"correlation": [[1, math.nan], [math.nan, 1]]},
            "correlation: found `NaN`, expected numbers between -1 and 1",
        ),
        ({"time_correlation": 2}, "time_correlation: found `2`, expected a number between -1 and 1"),
        (
            {"time_ratio": {"hpcg": (1, 0.1)}},
            "time_ratio: found `hpcg`, expected the applications of the watts: hpcg, ",
        ),
        ({"floor_w": -1}, "floor_w: found `-1`, expected watts >= 0"),
        ({"floor_w": [1.0, math.nan] * 5}, "floor_w: found `NaN`, expected watts >= 0"),
        ({"floor_w": [1.0, 2.0]}, "floor_w: found `shape (2,)`, expected one number, or one for each of the 10 nodes"),
        ({"power_w": {}}, "components: found `none`, expected mean and standard deviation"),
        ({"power_w": {"a": 200.0}}, "power_w[a]: found `200`, expected mean and standard deviation"),
        ({"power_w": {"a": (200.0, -1.0)}}, "power_w[a].sd: found `-1`, expected a number between 0 and"),
        ({"power_w": {"a": ("x", 1.0)}}, "power_w[a].mean: found `x`, expected a number between 0 and"),
        ({"power_w": {"a": (math.nan, 1.0)}}, "power_w[a].mean: found `NaN`, expected a number between 0 and"),
    ],
)
def test_faults_of_a_drawn_table(more, message):
    found = messages_of(lambda: sample_table(**{"power_w": APPS, "nodes": 10, "seed": 1, **more}))
    assert found[0].startswith(message)
    assert len(found) == 1


def test_faults_of_components_come_at_once():
    found = messages_of(
        lambda: sample_components(
            COMPONENTS, nodes=0, seed=1, between_apps={"pgk": 0.1, "dram": 3}, within_app={("pkg", "pkg"): 0.5}
        )
    )
    assert [line.split(", expected")[0] for line in found] == [
        "nodes: found `0`",
        "between_apps[pgk]: found `0.1`",
        "between_apps[dram]: found `3`",
        "within_app[pkg, pkg]: found `0.5`",
    ]
    assert found[1].endswith("expected a component: pkg, dram; did you mean `pkg`?")


@pytest.mark.parametrize("key", ["ab", ("a",), ("a", 1), ("a", "pkg", "0")])
def test_a_component_is_named_by_application_and_component(key):
    (found,) = messages_of(lambda: sample_components({key: (1, 1)}, nodes=5, seed=1))
    assert found.startswith("components: found `")
    assert "expected names of application and component" in found


def test_time_factors_are_no_component():
    (found,) = messages_of(lambda: sample_components({("a", "time_ratio"): (1, 0.1)}, nodes=5, seed=1))
    assert found.startswith("components[a, time_ratio]: found `(1, 0.1)`, expected watts")


# --- measured devices


def test_each_node_is_a_measured_device_with_all_it_has():
    sample = resample_table(MEASURED, nodes=5_000, seed=9)
    assert sample.drawn.shape == (5_000,)
    assert (sample.table.power_w == MEASURED.power_w[:, sample.drawn]).all()
    assert (sample.table.time_ratio == MEASURED.time_ratio[:, sample.drawn]).all()
    counts = np.bincount(sample.drawn, minlength=4)
    # Binomial(5000, 1/4): sd 30.6.
    assert counts == pytest.approx(1250, abs=5 * 30.7)
    assert sample.clipped_count == 0


def test_factors_are_drawn_like_watts_and_the_cap_stays():
    ratios = hs.VariationTable(["a"], power_ratio=[[0.9, 1.1]], cap_w=40)
    drawn = resample_table(ratios, nodes=10, seed=1).table
    assert set(drawn.power_ratio[0]) == {0.9, 1.1}
    assert drawn.cap_w == 40


def test_jitter_distinguishes_copies_of_a_device():
    n = 20_000
    plain, jittered = (resample_table(MEASURED, nodes=n, seed=9, jitter_ratio=sd) for sd in (0.0, 0.02))
    assert (plain.drawn == jittered.drawn).all()
    error = jittered.table.power_w / plain.table.power_w - 1
    assert error.std() == five_sd(0.02, of=4 * n, sd=0.02)
    assert len(np.unique(jittered.table.power_w[0])) == n


def test_faults_of_a_resampled_table():
    found = messages_of(lambda: resample_table(MEASURED, nodes=0, seed=1, jitter_ratio=-1))
    assert [line.split(":")[0] for line in found] == ["nodes", "jitter_ratio"]


SPREADS = "expected a dictionary of mean and standard deviation"
A_TABLE = "expected a VariationTable, as read_table reads it from a file"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sample_table("hpcg", nodes=2, seed=0), [f"power_w: found `hpcg`, {SPREADS} of each application"]),
        (
            lambda: sample_table(None, nodes=2, seed=0, time_ratio=[1.0]),
            [f"power_w: found `None`, {SPREADS}", f"time_ratio: found `[1.0]`, {SPREADS}"],
        ),
        (lambda: sample_components(3, nodes=2, seed=0), [f"components: found `3`, {SPREADS} by application and"]),
        (
            lambda: sample_components({("a", "pkg"): (9, 1)}, nodes=2, seed=0, time_ratio="a"),
            [f"time_ratio: found `a`, {SPREADS} of each application"],
        ),
        (lambda: resample_table("nodes.csv", nodes=2, seed=0), [f"measured: found `nodes.csv`, {A_TABLE}"]),
        (
            lambda: resample_table(None, nodes=0, seed=0),
            [f"measured: found a NoneType, {A_TABLE}", "nodes: found `0`, expected a whole number between 1 and"],
        ),
    ],
)
def test_what_is_of_another_kind_is_reported(make, said):
    found = messages_of(make)
    assert len(found) == len(said)
    assert all(line.startswith(start) for line, start in zip(found, said, strict=True))
