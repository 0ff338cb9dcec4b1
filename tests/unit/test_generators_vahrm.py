"""The workloads of the VAHRM experiments: laws of their distributions, exact loads, and what their mixes share."""

import numpy as np
import pytest
from scipy import integrate, stats

import hetsched as hs
from hetsched.platform.device_sampling import sample_devices
from hetsched.platform.devices import TSUBAME3_JOBS_W, tsubame3
from hetsched.workload.generators import LogNormal, generate, overloaded, overloaded_large, steady
from hetsched.workload.generators.cpu_gpu_log import (
    MIXES,
    geometric_sizes,
    limited_lognormal,
    mean_up_to,
    power_law_sizes,
)

ALL = pytest.mark.parametrize("make", [overloaded, overloaded_large, steady])
MACHINE = tsubame3().platform()


def column(workload, name):
    return workload.to_polars()[name].to_numpy()


def test_geometric_sizes_are_powers_of_two_with_a_constant_ratio():
    shares = geometric_sizes(0.69, 64)
    assert list(shares) == [1, 2, 4, 8, 16, 32, 64]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert np.diff(np.log(list(shares.values()))) == pytest.approx(np.log(0.69))
    # Two geometric sums: of 0.69^k and of 1.38^k, k from 0 to 6.
    mean = ((1.38**7 - 1) / 0.38) / ((1 - 0.69**7) / 0.31)
    assert sum(size * share for size, share in shares.items()) == pytest.approx(mean)
    assert list(geometric_sizes(0.69, 63)) == [1, 2, 4, 8, 16, 32]
    assert geometric_sizes(0.69, 1) == {1: 1.0}


@pytest.mark.parametrize(("mean", "largest"), [(10.0, 128), (1.5, 128), (60.0, 128), (64.5, 128), (1.999, 3)])
def test_power_law_sizes_are_one_power_and_have_the_mean(mean, largest):
    shares = power_law_sizes(mean, largest)
    assert list(shares) == list(range(1, largest + 1))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert sum(size * share for size, share in shares.items()) == pytest.approx(mean, rel=1e-9)
    slopes = np.log(np.array(list(shares.values()))[1:] / shares[1]) / np.log(np.arange(2, largest + 1))
    assert slopes == pytest.approx(slopes[0], abs=1e-9)
    assert slopes[0] <= 1e-12


@pytest.mark.parametrize(("mean_s", "sigma", "longest_s"), [(3600, 1.8, 86_400), (18_000, 1.4, 86_400), (60, 0.5, 1e6)])
def test_cut_lengths_have_the_mean_that_was_asked_for(mean_s, sigma, longest_s):
    lengths = limited_lognormal(mean_s, sigma, longest_s)
    assert mean_up_to(lengths, longest_s) == pytest.approx(mean_s, rel=1e-9)
    # The mean of what is never negative is the integral of 1 - F, here up to the limit.
    tail = stats.lognorm(sigma, scale=lengths.mean_s * np.exp(-(sigma**2) / 2)).sf
    integral = integrate.quad(lambda y: tail(np.exp(y)) * np.exp(y), -30, np.log(longest_s), limit=200)[0]
    assert integral == pytest.approx(mean_s, rel=1e-6)


def test_a_limit_far_away_changes_nothing():
    assert mean_up_to(LogNormal(60.0, 0.5), 1e9) == pytest.approx(60.0)
    assert limited_lognormal(60.0, 0.5, 1e9).mean_s == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("make", "mean_s", "sigma", "shares"),
    [
        (overloaded, 3600.0, 1.8, geometric_sizes(0.31, 64)),
        (overloaded_large, 3600.0, 1.8, geometric_sizes(0.69, 64)),
        (steady, 18_000.0, 1.4, power_law_sizes(10.0, 128)),
    ],
)
def test_sizes_and_run_lengths_are_drawn_from_what_is_said(make, mean_s, sigma, shares):
    count, longest_s = 40_000, 86_400.0
    workload = make(jobs=count, seed=11)
    runtime_s, size = column(workload, "runtime_s"), column(workload, "node_count")
    underlying = stats.lognorm(
        sigma, scale=limited_lognormal(mean_s, sigma, longest_s).mean_s * np.exp(-(sigma**2) / 2)
    )
    # Mean and standard deviation by their integrals, the cut jobs apart; four standard errors.
    cut = underlying.sf(longest_s)
    second = integrate.quad(lambda y: np.exp(2 * y) * underlying.pdf(np.exp(y)) * np.exp(y), -30, np.log(longest_s))[0]
    variance = second + cut * longest_s**2 - mean_s**2
    assert runtime_s.mean() == pytest.approx(mean_s, abs=4 * np.sqrt(variance / count))
    assert (runtime_s == longest_s).mean() == pytest.approx(cut, abs=4 * np.sqrt(cut * (1 - cut) / count))
    below = runtime_s[runtime_s < longest_s]
    assert runtime_s.max() == longest_s
    assert stats.kstest(below, lambda x: underlying.cdf(x) / underlying.cdf(longest_s)).pvalue > 0.001
    # Every size with its share; the rarest are expected some 50 times.
    found = np.array([(size == one).sum() for one in shares])
    expected = count * np.array(list(shares.values()))
    assert found.sum() == count
    assert expected.min() > 10
    assert stats.chisquare(found, expected).pvalue > 0.001
    assert abs(stats.spearmanr(size, runtime_s).statistic) < 4 / np.sqrt(count)


@ALL
@pytest.mark.parametrize(
    "options", [{}, {"load": 0.4, "nodes": 200}, {"load": 2.0, "sr": 1.5, "jobs": 300}, {"sr": 0.5}]
)
def test_the_offered_load_is_the_one_asked_for_times_sr(make, options):
    workload = make(seed=2, **options)
    platform = hs.Platform.homogeneous(nodes=options.get("nodes", 540), idle_w=1, tdp_w=2)
    load = options.get("load", {"steady": 0.85}.get(make.__name__, 1.2)) * options.get("sr", 1.0)
    # But for microseconds, to which submissions and run lengths are rounded.
    assert workload.offered_load(platform) == pytest.approx(load, rel=1e-9)


@ALL
def test_submissions_are_those_of_a_poisson_process(make):
    submit_s = column(make(jobs=20_000, seed=3), "submit_s")
    assert submit_s[0] == 0.0
    # Given its first and last job, the others of a Poisson process are uniform between them.
    inner = submit_s[1:-1] / submit_s[-1]
    assert stats.kstest(inner, "uniform").pvalue > 0.001
    gaps = np.diff(submit_s)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=4 * np.sqrt(2 / 20_000))
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 4 / np.sqrt(20_000)


@ALL
def test_sr_divides_submissions_and_nothing_else(make):
    plain, shrunk = make(jobs=500, seed=4), make(jobs=500, sr=2.5, seed=4)
    assert column(shrunk, "submit_s") == pytest.approx(column(plain, "submit_s") / 2.5, abs=1e-6)
    assert shrunk.to_polars().drop("submit_s").equals(plain.to_polars().drop("submit_s"))
    scaled = plain.scale_arrivals(2.5)
    assert column(scaled, "submit_s") == pytest.approx(column(shrunk, "submit_s"), abs=2e-6)
    assert column(make(jobs=500, load=make.__kwdefaults__["load"] * 2.5, seed=4), "submit_s") == pytest.approx(
        column(shrunk, "submit_s"), abs=2e-6
    )


def test_69_percent_of_overloaded_jobs_ask_for_one_node():
    # A geometric distribution with 0.69; sizes above 64 are left out, which moves the share by less than 0.001.
    assert geometric_sizes(0.31, 64)[1] == pytest.approx(0.69, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "work_h", "load"), [(overloaded, 1.80, 1.2), (overloaded_large, 7.501, 1.2), (steady, 50.0, 0.85)]
)
def test_each_reading_lasts_as_long_as_it_says(make, work_h, load):
    spans_h = [column(make(seed=seed), "submit_s")[-1] / 3600 for seed in range(12)]
    # Mean work of 10,000 jobs over capacity: 1.80 and 7.50 nodes x 1 h, 10 nodes x 5 h; means of 12 seeds.
    assert np.mean(spans_h) == pytest.approx(10_000 * work_h / (540 * load), rel=0.05)


def test_two_months_of_the_log_are_13_440_jobs():
    day_s = 86_400
    two_months = [column(steady(jobs=13_440, seed=seed), "submit_s")[-1] / day_s for seed in range(12)]
    assert np.mean(two_months) == pytest.approx(61, rel=0.05)


@ALL
def test_the_nine_mixes_share_everything_but_devices(make):
    workloads = [make(jobs=1000, mix=number, seed=5) for number in range(9)]
    frames = [workload.to_polars() for workload in workloads]
    assert all(frame.drop("app", "device").equals(frames[0].drop("app", "device")) for frame in frames)
    for number, frame in enumerate(frames):
        # Table III: three ratios, and of each small, medium and large.
        cpu, power = (900, 500, 100)[number // 3], ("small", "medium", "large")[number % 3]
        assert sorted(frame.group_by("app", "device").len().rows()) == [
            (f"cpu-{power}", "cpu", cpu),
            (f"gpu-{power}", "gpu", 1000 - cpu),
        ]
        assert make(jobs=1000, mix=MIXES[number], seed=5) == workloads[number]
        assert make(jobs=1000, mix=str(number), seed=5) == workloads[number]
    on_cpu = [column(workload, "device") == "cpu" for workload in workloads]
    # Nested: a CPU job of 1:9 is one of 5:5, and that one of 9:1; power changes no device.
    for few, more in ((on_cpu[6], on_cpu[3]), (on_cpu[3], on_cpu[0])):
        assert not (few & ~more).any()
    for number in range(9):
        assert np.array_equal(on_cpu[number], on_cpu[number // 3 * 3])


@ALL
def test_cpu_jobs_are_like_gpu_jobs_in_all_else(make):
    jobs = make(jobs=20_000, seed=6).to_polars()
    on_cpu = (jobs["device"] == "cpu").to_numpy()
    for name in ("runtime_s", "node_count", "submit_s"):
        values = jobs[name].to_numpy()
        assert abs(stats.spearmanr(values, on_cpu).statistic) < 4 / np.sqrt(20_000)


def test_without_a_mix_neither_application_nor_device_is_known():
    plain, mixed = overloaded(jobs=200, mix=None, seed=1), overloaded(jobs=200, seed=1)
    assert plain.to_polars().equals(mixed.to_polars().drop("app", "device"))


def test_odd_numbers_of_jobs_are_shared_out_to_the_nearest():
    # 9:1 of 15 is 13.5 and 1.5, 1:9 of 14 is 1.4.
    assert (column(overloaded(jobs=15, mix="9:1-small"), "device") == "cpu").sum() == 14
    assert (column(overloaded(jobs=14, mix="1:9-small"), "device") == "cpu").sum() == 1


@ALL
def test_one_parameter_changes_no_other_streams_draws(make):
    plain = make(jobs=500, seed=1).to_polars()
    timed = make(jobs=500, walltime_factor=1.05, seed=1).to_polars()
    assert "walltime_s" not in plain.columns
    assert timed.drop("walltime_s").equals(plain)
    assert (timed["walltime_s"] >= 1.05 * timed["runtime_s"] - 1e-6).all()
    fewer = make(jobs=500, largest_nodes=16, **({"mean_nodes": 4} if make is steady else {}), seed=1).to_polars()
    assert fewer.select("runtime_s", "app").equals(plain.select("runtime_s", "app"))


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_a_workload_of_the_paper_charges_what_table_iv_says():
    workload = overloaded(jobs=400, mix="1:9-large", seed=3)
    machine = tsubame3()
    flat = sample_devices(machine, TSUBAME3_JOBS_W, sd_ratio=0.0, seed=1)
    jobs = workload.to_polars()
    # Without spread the draw of a job's nodes is the table's, whoever places it: 245 + 240 and 1,095 + 80 W.
    watts = np.where(jobs["device"] == "cpu", 485.0, 1175.0)
    expected_j = float((jobs["node_count"].to_numpy() * jobs["runtime_s"].to_numpy() * watts).sum())
    for policy in ("fcfs", "easy"):
        summary = hs.simulate(workload, machine.platform(actual=flat.table), policy).summary()
        assert summary["completed"] == 400
        assert summary["job_energy_j"] == pytest.approx(expected_j, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (
            lambda: overloaded(mix="9:1-smal"),
            [(f"mix: found `9:1-smal`, expected 0 to 8, or one of {', '.join(MIXES)}; did you mean `9:1-small`?")],
        ),
        (lambda: steady(mix=9), [f"mix: found `9`, expected 0 to 8, or one of {', '.join(MIXES)}"]),
        (lambda: steady(mix=True), [f"mix: found `True`, expected 0 to 8, or one of {', '.join(MIXES)}"]),
        (
            lambda: overloaded(jobs=0, load=0.0, sr=-1, sigma=9, longest_s="day"),
            [
                "jobs: found `0`, expected a whole number between 1 and 100000000",
                "load: found `0`, expected a number between 1e-06 and 1000",
                "sr: found `-1`, expected a number between 1e-06 and 1e+06",
                "sigma: found `9`, expected a number between 0.001 and 5",
                "longest_s: found `day`, expected a number between 0.001 and 1e+09",
            ],
        ),
        (
            lambda: overloaded(jobs=1, nodes=32, mean_runtime_s=90_000),
            [
                "jobs: found `1`, expected at least 2: a load needs a first and a last submission",
                "largest_nodes: found `64`, expected at most the 32 nodes there are",
                "mean_runtime_s: found `90000`, expected well below longest_s=86400",
            ],
        ),
        (
            lambda: steady(mean_nodes=65),
            ["mean_nodes: found `65`, expected at most 64.5, the mean of 1 to 128"],
        ),
        (
            lambda: generate("steady", size_ratio=0.5),
            [
                (
                    "size_ratio: found `0.5`, expected one of nodes, jobs, load, sr, mix, mean_nodes, largest_nodes, "
                    "mean_runtime_s, sigma, longest_s, walltime_factor, seed"
                )
            ],
        ),
    ],
)
def test_faults_are_reported_at_once_with_value_and_range(make, lines):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    assert str(caught.value).splitlines() == lines


def test_times_that_no_workload_holds_are_the_parameters_fault():
    with pytest.raises(hs.ConfigError) as caught:
        overloaded(nodes=64, load=1e-6, mean_runtime_s=1e6, longest_s=None)
    ((name, _, expected),) = caught.value.faults
    assert name == "load"
    assert expected.startswith("more: the last job would be submitted after")
