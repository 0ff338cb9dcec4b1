"""The Lublin-Feitelson model against the closed forms of its distributions."""

import math
import re

import numpy as np
import pytest

import hetsched as hs
from hetsched.workload.generators import lublin_feitelson
from hetsched.workload.generators.lublin_feitelson import DailyCycle, gamma_cdf

COUNT = 60_000
NODES = 128


def gamma_density(x, shape, scale):
    return np.exp((shape - 1) * np.log(x) - x / scale - math.lgamma(shape) - shape * math.log(scale))


def integral(y, x):
    return float(np.sum((y[1:] + y[:-1]) / 2 * np.diff(x)))


def gamma_cdf_by_integration(ends, shape, scale):
    """Trapezoid rule, independently of the generator's series."""
    grid = np.linspace(1e-9, max(ends), 400_001)
    density = gamma_density(grid, shape, scale)
    running = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid)))
    return np.interp(ends, grid, running)


@pytest.fixture(scope="module")
def workload():
    return lublin_feitelson(nodes=NODES, jobs=COUNT, seed=2)


@pytest.fixture(scope="module")
def jobs(workload):
    return workload.to_polars()


@pytest.mark.parametrize(("shape", "scale"), [(8.1737, 3.9631), (4.2, 0.94), (312.0, 0.03), (1.0, 2.0)])
def test_the_incomplete_gamma_series_agrees_with_integration(shape, scale):
    mean, spread = shape * scale, math.sqrt(shape) * scale
    ends = np.maximum(mean + spread * np.linspace(-3, 5, 17), 0.01)
    assert gamma_cdf(ends, shape, scale) == pytest.approx(gamma_cdf_by_integration(ends, shape, scale), abs=2e-6)


def test_the_cycle_is_the_published_one():
    cycle = DailyCycle.gamma(8.1737, 3.9631)
    assert cycle.weights.mean() == pytest.approx(1.0)
    assert cycle.weights.min() > 0
    # The gamma's mode, (shape - 1) × scale = 28.4, is half hour 28, numbered from 1: 13:30 to 14:00.
    assert int(np.argmax(cycle.weights)) == 27
    # The quietest is where the cycle begins, half hour 11 from 1, or ends, half hour 58 - 48 = 10: 4:30 to 5:30.
    assert int(np.argmin(cycle.weights)) in (9, 10)
    # Going through the points of a day takes a day, and the clock is monotonous.
    times = cycle.time_s(np.linspace(0, 2 * 86400, 5000))
    assert times[-1] == pytest.approx(2 * 86400)
    assert (np.diff(times) > 0).all()


def share_is(values, expected):
    """True if a share of jobs is as expected, to four standard errors."""
    assert np.mean(values) == pytest.approx(
        expected, abs=4 * math.sqrt(expected * (1 - expected) / len(values)) + 1e-12
    )


def test_sizes_have_the_models_shares(jobs):
    sizes = jobs["node_count"].to_numpy()
    share_is(sizes == 1, 0.244)
    # Powers of two: 2^round(x), x uniform on 0.8..4.5 with probability 0.86, on 4.5..7 otherwise.
    low, high = 0.86 / 3.7, 0.14 / 2.5
    exponent_shares = {1: 0.7 * low, 2: low, 3: low, 4: low, 5: high, 6: high, 7: 0.5 * high}
    # Others: round(2^x) is 2^k where x is in log2(2^k ± 1/2).
    other = 1 - 0.244 - 0.576
    for k, share in exponent_shares.items():
        ends = np.clip(np.log2([2**k - 0.5, 2**k + 0.5]), 0.8, 7.0)
        density = low if ends[1] <= 4.5 else high
        share_is(sizes == 2**k, 0.576 * share + other * density * (ends[1] - ends[0]))
    assert sizes.max() <= NODES


def runtime_cdf(sizes, ends):
    """P(log run length <= end), averaged over the sizes, truncation by drawing again included."""
    first, second = (gamma_cdf_by_integration(np.append(ends, 12.0), *of) for of in ((4.2, 0.94), (312.0, 0.03)))
    share = np.clip(-0.0054 * sizes + 0.78, 0, 1)[:, np.newaxis]
    mixed = share * first + (1 - share) * second
    return (mixed[:, :-1] / mixed[:, -1:]).mean(axis=0)


def test_run_lengths_are_hyper_gamma_with_a_share_that_depends_on_the_size(jobs):
    runtimes, sizes = jobs["runtime_s"].to_numpy(), jobs["node_count"].to_numpy()
    assert (runtimes % 1 == 0).all()
    # floor(e^x) < k exactly where x < ln k, so that whole seconds change nothing at these ends.
    seconds = np.array([2, 5, 20, 60, 300, 1800, 7200, 14400, 43200, 86400])
    for chosen in (sizes == 1, (sizes > 1) & (sizes <= 32), sizes > 32):
        expected = runtime_cdf(sizes[chosen], np.log(seconds))
        found = (runtimes[chosen, np.newaxis] < seconds).mean(axis=0)
        # 1.95 / sqrt(n): the critical value of Kolmogorov and Smirnov at one in a thousand.
        assert np.abs(found - expected).max() < 1.95 / math.sqrt(chosen.sum())
    assert runtimes.max() <= math.exp(12)
    assert np.corrcoef(sizes, np.log(runtimes))[0, 1] > 0.1


def test_mean_log_run_length_of_serial_jobs_is_the_mixtures(jobs):
    """Closed form: p a1 b1 + (1 - p) a2 b2 = 0.7746 × 3.948 + 0.2254 × 9.36, before truncation and whole seconds."""
    logs = np.log(jobs.filter(jobs["node_count"] == 1)["runtime_s"].to_numpy() + 0.5)
    # Means of the two gammas below 12, by integration; the first loses 0.1 % of its mass above.
    grid = np.linspace(1e-9, 12, 200_001)
    densities = [gamma_density(grid, *of) for of in ((4.2, 0.94), (312.0, 0.03))]
    weights = np.array([0.7746, 0.2254])
    masses = np.array([integral(density, grid) for density in densities])
    firsts = np.array([integral(density * grid, grid) for density in densities])
    expected = (weights * firsts).sum() / (weights * masses).sum()
    assert pytest.approx(expected, rel=0.003) == 0.7746 * 3.948 + 0.2254 * 9.36
    # Half a second added to whole seconds: right on average but for the shortest runs, some 0.02 in the logarithm.
    assert logs.mean() == pytest.approx(expected, abs=4 * logs.std() / math.sqrt(len(logs)) + 0.02)


def test_gaps_have_the_models_mean(jobs):
    """The clock runs at its mean rate over days, so the mean gap is that of the points: E[e^g | g <= 13]."""
    grid = np.linspace(1e-9, 13, 400_001)
    density = gamma_density(grid, 10.2303 * 1.0225, 0.4871)
    mass = integral(density, grid)
    mean, square = (integral(density * np.exp(power * grid), grid) / mass for power in (1, 2))
    span = float(jobs["submit_s"][-1])
    error = math.sqrt((square - mean**2) * COUNT)
    assert span == pytest.approx(mean * COUNT, abs=4 * error + 86400)


def test_submissions_follow_the_day(jobs):
    """Over many days, the k-th half hour gets its weight's share of the points, and so of the jobs."""
    half_hours = (jobs["submit_s"].to_numpy() % 86400 // 1800).astype(int)
    found = np.bincount(half_hours, minlength=48) / len(half_hours)
    expected = DailyCycle.gamma(8.1737, 3.9631).weights / 48
    # Jobs come in bursts, so a half hour's count varies more than a Poisson count: by a factor of some 3 in all.
    assert np.abs(found - expected).max() < 4 * 3 * math.sqrt(expected.max() / len(half_hours))
    assert np.corrcoef(found, expected)[0, 1] > 0.97


@pytest.mark.parametrize("load", [0.1, 0.7, 20.0])
@pytest.mark.parametrize("count", [2, 3, 50, 2000])
def test_a_load_is_reached_but_for_the_whole_seconds_of_both_ends(count, load):
    jobs = lublin_feitelson(nodes=NODES, jobs=count, load=load, seed=2).to_polars()
    area_node_s = float((jobs["node_count"] * jobs["runtime_s"]).sum())
    span_s = float(jobs["submit_s"][-1] - jobs["submit_s"][0])
    # Each end is cut to the second before it.
    assert abs(span_s - area_node_s / (NODES * load)) < 1.0 + 1e-6


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_a_load_is_reached_and_changes_nothing_but_submissions(workload, load):
    packed = lublin_feitelson(nodes=NODES, jobs=COUNT, load=load, seed=2)
    platform = hs.Platform.homogeneous(nodes=NODES, idle_w=1, tdp_w=2)
    # Up to the whole seconds of the first and the last submission.
    assert packed.offered_load(platform) == pytest.approx(load, rel=1e-6)
    columns = ["runtime_s", "node_count"]
    assert packed.to_polars().select(columns).equals(workload.to_polars().select(columns))


def test_a_machine_that_is_no_power_of_two_gets_no_job_above_its_size():
    sizes = lublin_feitelson(nodes=100, jobs=COUNT, seed=1).to_polars()["node_count"]
    assert sizes.max() <= 100
    # The largest power of two below takes what would be 128.
    assert (sizes == 64).sum() > (sizes == 63).sum() + (sizes == 65).sum()


def test_contradictions_are_refused():
    with pytest.raises(hs.ConfigError) as caught:
        lublin_feitelson(serial_share=0.6, power_of_two_share=0.6, u_med=9.0, load=0.5, jobs=1)
    assert str(caught.value).splitlines() == [
        "power_of_two_share: found `0.6`, expected at most 0.4",
        "u_med: found `9`, expected from u_low=0.8 to log2(nodes)=7",
        "load: found `0.5`, expected none for a single job",
    ]


@pytest.mark.parametrize(
    ("given", "named", "mean"),
    [
        (
            {"a1": 9000.0, "a2": 9000.0, "b1": 50.0, "b2": 50.0},
            "a1, b1, a2, b2: found `9000`, `50`, `9000`, `50`",
            4.5e5,
        ),
        # Its factor makes the gamma's mean 1000 times that of the times between submissions, 10.2303 × 0.4871.
        ({"arar": 1000.0}, "a_arr, b_arr, arar: found `10.2303`, `0.4871`, `1000`", 4983),
    ],
)
def test_times_that_are_rarely_short_enough_are_reported_with_their_parts(given, named, mean):
    with pytest.raises(hs.ConfigError) as caught:
        lublin_feitelson(jobs=10, **given)
    said, numbers = str(caught.value).split(", expected gamma distributions with logarithms of seconds that often are ")
    assert said == named
    highest, least, draws = re.fullmatch(r"below (\d+), not (\S+) or more in (10 of 10) draws", numbers).groups()
    assert float(highest) == (12 if "a1" in given else 13)
    assert float(least) == pytest.approx(mean, rel=0.1)
    assert draws == "10 of 10"
