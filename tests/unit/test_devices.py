"""Nodes of several devices: what they draw together, and devices drawn from normal distributions."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hetsched as hs
from hetsched.platform.device_sampling import sample_devices
from hetsched.platform.devices import TSUBAME3_JOBS_W, DeviceClass, DeviceNodes, tsubame3

CPU, GPU = DeviceClass("cpu", 2, 40.0, 120.0), DeviceClass("gpu", 4, 60.0, 300.0)


def test_the_machine_of_table_ii_draws_what_the_paper_says():
    machine = tsubame3()
    platform = machine.platform()
    assert (machine.nodes, machine.count("cpu"), machine.count("gpu")) == (540, 1080, 2160)
    # 540 x (2 x 40 + 4 x 60) and 540 x (2 x 120 + 4 x 300) W.
    assert platform.idle_w.sum() == 172_800.0
    assert platform.tdp_w.sum() == 777_600.0
    assert platform.nodes == 540


def test_devices_that_a_job_leaves_alone_draw_idle():
    machine = DeviceNodes(2, [CPU, GPU])
    table = machine.table(
        {
            "hpl": ("cpu", [80.0, 90.0, 100.0, 110.0]),
            "train": ("gpu", [[200.0, 210.0, 220.0, 230.0], [100.0, 100.0, 100.0, 101.0]]),
            "both": {"gpu": [300.0] * 8, "cpu": [120.0] * 4},
        }
    )
    assert table.apps == ("hpl", "train", "both")
    # 80 + 90 + 4 x 60 and 100 + 110 + 4 x 60; 860 + 2 x 40 and 401 + 2 x 40; 4 x 300 + 2 x 120.
    assert table.power_w.tolist() == [[410.0, 450.0], [940.0, 481.0], [1440.0, 1440.0]]


@given(data=st.data(), nodes=st.integers(1, 5), cpus=st.integers(1, 3), gpus=st.integers(1, 4))
def test_a_node_draws_the_sum_over_its_devices(data, nodes, cpus, gpus):
    devices = [DeviceClass("cpu", cpus, 40.0, 120.0), DeviceClass("gpu", gpus, 60.0, 300.0)]
    used = data.draw(st.sampled_from(devices))
    watts = data.draw(st.lists(st.floats(0, 1000), min_size=nodes * used.per_node, max_size=nodes * used.per_node))
    drawn = DeviceNodes(nodes, devices).table({"a": (used.name, watts)}).power_w[0]
    rest_w = sum(one.per_node * one.idle_w for one in devices if one is not used)
    for node in range(nodes):
        own = sum(watts[node * used.per_node + place] for place in range(used.per_node))
        assert drawn[node] == pytest.approx(own + rest_w, rel=1e-12)


def test_a_run_charges_idle_devices_with_the_job():
    machine = tsubame3(nodes=1)
    flat = sample_devices(machine, TSUBAME3_JOBS_W, sd_ratio=0.0, seed=0)
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [100, 100], "node_count": [1, 1]}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, "app": ["cpu-small", "gpu-small"]}))
    result = hs.simulate(workload, machine.platform(actual=flat.table), "fcfs")
    # 169 + 4 x 60 W and 251 + 2 x 40 W, 100 s each: above the idle node's 320 W, both.
    assert result.jobs["energy_j"].to_list() == [40_900.0, 33_100.0]


def test_watts_below_idle_are_kept_or_clipped_and_counted():
    machine = DeviceNodes(1, [CPU, GPU])
    predicted = {"a": ("cpu", [39.0, 50.0]), "b": ("gpu", [-5.0, 60.0, 59.9, 100.0])}
    assert machine.low_draws(predicted).rows() == [("a", "cpu", 2, 1), ("b", "gpu", 4, 2)]
    assert machine.table({"a": predicted["a"]}).power_w.tolist() == [[39.0 + 50.0 + 240.0]]
    # 40 + 50 + 240 and 60 + 60 + 60 + 100 + 80.
    assert machine.table(predicted, below_idle="clip").power_w.tolist() == [[330.0], [360.0]]
    with pytest.raises(hs.ConfigError) as caught:
        machine.table(predicted)
    assert str(caught.value) == "power_w[b, gpu 0]: found `-5`, expected watts between 0 and 1e+06"


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (
            lambda: DeviceClass("", 0, -1.0, float("nan")),
            [
                "name: found ``, expected a name",
                "per_node: found `0`, expected a whole number between 1 and 1024",
                "idle_w: found `-1`, expected a number between 0 and 1e+06",
                "tdp_w: found `NaN`, expected a number between 0 and 1e+06",
            ],
        ),
        (lambda: DeviceClass("gpu", 4, 60, 50), ["tdp_w: found `50`, expected at least the idle draw, 60 W"]),
        (
            lambda: DeviceNodes(0, [CPU, CPU, "gpu"]),
            [
                "nodes: found `0`, expected a whole number between 1 and 2147483647",
                "devices[1]: found `cpu`, expected each name once",
                "devices[2]: found `gpu`, expected a DeviceClass",
            ],
        ),
        (lambda: DeviceNodes(1, []), ["devices: found `[]`, expected a list of DeviceClass, at least one"]),
        (
            lambda: tsubame3(2).count("gup"),
            ["device: found `gup`, expected a class of device that the nodes have: cpu, gpu; did you mean `gpu`?"],
        ),
        (
            lambda: tsubame3(2).table(
                {
                    "a": ("gpus", [1.0]),
                    "b": ("gpu", [1.0] * 7),
                    "c": ("cpu", [[80.0, 80.0, 80.0, 80.0]]),
                    "d": ("cpu", [80.0, float("nan"), float("inf"), 80.0]),
                    "e": [80.0, 80.0, 80.0],
                    "f": ("cpu", ["x", 1.0, 2.0, 3.0]),
                }
            ),
            [
                (
                    "power_w[a]: found `gpus`, expected a class of device that the nodes have: cpu, gpu; "
                    "did you mean `gpu`?"
                ),
                "power_w[b]: found `7 watts`, expected 8 of gpu: 2 nodes with 4 each",
                "power_w[c]: found `shape (1, 4)`, expected 4 of cpu: 2 nodes with 2 each",
                "power_w[d, cpu 1]: found `NaN`, expected watts between 0 and 1e+06 (and 1 more)",
                (
                    "power_w[e]: found `[80.0, 80.0, 80.0]`, expected the class of device and the watts of each, "
                    'as in ("gpu", watts)'
                ),
                "power_w[f]: found `['x', 1.0, 2.0, 3.0]`, expected watts of each cpu",
            ],
        ),
        (
            lambda: tsubame3(1).table({}, below_idle="clipp"),
            [
                "below_idle: found `clipp`, expected one of keep, clip; did you mean `clip`?",
                (
                    "power_w: found `{}`, expected for each application the class of device and the watts of each, "
                    'as in ("gpu", watts)'
                ),
            ],
        ),
        (
            lambda: sample_devices(None, {}, node_share=1.5, seed=-1),
            [
                "machine: found `None`, expected a DeviceNodes, such as tsubame3()",
                "node_share: found `1.5`, expected a number between 0 and 1",
                "seed: found `-1`, expected a whole number between 0 and 18446744073709551615",
            ],
        ),
        (
            lambda: sample_devices(
                tsubame3(), {"a": ("gpu", 239.0), "b": ("tpu", 300.0), "c": 5.0}, sd_ratio={"a": 2.0}, seed=1
            ),
            [
                "means_w[a]: found `239`, expected at least what 4 idle gpu draw, 240 W",
                (
                    "means_w[b]: found `tpu`, expected a class of device that the nodes have: cpu, gpu; "
                    "did you mean `gpu`?"
                ),
                'means_w[c]: found `5`, expected the class of device and watts, as in ("gpu", 597.0)',
                "sd_ratio: found `a`, expected the applications of the means: a, b, c",
                "sd_ratio[a]: found `2`, expected a number between 0 and 1",
            ],
        ),
        (
            lambda: sample_devices(tsubame3(), {"a": ("gpu", 300.0)}, seed=1).matrix("cpu"),
            ["device: found `cpu`, expected a class that an application uses: gpu"],
        ),
    ],
)
def test_faults_are_reported_at_once_with_value_and_range(make, lines):
    with pytest.raises(hs.ConfigError) as caught:
        make()
    assert str(caught.value).splitlines() == lines


@pytest.mark.parametrize("app", ["cpu-small", "cpu-large", "gpu-medium", "gpu-large"])
def test_devices_are_normal_around_an_equal_share(app):
    # None of these comes near to idle: 169 W is 84.5 W a CPU, 13 standard deviations above 40 W.
    machine, (name, node_w) = tsubame3(20_000), TSUBAME3_JOBS_W[app]
    sample = sample_devices(machine, {app: (name, node_w)}, sd_ratio=0.04, seed=5)
    watts, per_node = sample.power_w[app][1], {"cpu": 2, "gpu": 4}[name]
    mean_w = node_w / per_node
    assert len(watts) == 20_000 * per_node
    assert stats.kstest(watts, stats.norm(mean_w, 0.04 * mean_w).cdf).pvalue > 0.001
    # Independent devices: the variance of a node's sum is that of its devices, added up.
    nodes_w = sample.table.power_w[0]
    idle_w = {"cpu": 4 * 60.0, "gpu": 2 * 40.0}[name]
    sd_w = 0.04 * mean_w * np.sqrt(per_node)
    assert nodes_w.mean() == pytest.approx(node_w + idle_w, abs=4 * sd_w / np.sqrt(20_000))
    assert nodes_w.std() == pytest.approx(sd_w, rel=4 / np.sqrt(2 * 20_000))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_a_nodes_devices_have_in_common_is_their_correlation(share):
    count = 20_000
    sample = sample_devices(tsubame3(count), {"a": ("gpu", 800.0)}, sd_ratio=0.05, node_share=share, seed=2)
    watts = sample.power_w["a"][1].reshape(count, 4)
    # The variance of a device stays; two of a node correlate by the share, two of neighbouring nodes do not.
    assert watts.std() == pytest.approx(10.0, rel=4 * np.sqrt((1 + 3 * share**2) / (2 * 4 * count)))
    correlation = np.corrcoef(watts[:, 0], watts[:, 3])[0, 1]
    assert correlation == pytest.approx(share, abs=4 * (1 - share**2) / np.sqrt(count) + 1e-9)
    assert abs(np.corrcoef(watts[1:, 0], watts[:-1, 3])[0, 1]) < 4 / np.sqrt(count)


def test_applications_vary_independently():
    sample = sample_devices(tsubame3(5000), TSUBAME3_JOBS_W, node_share=0.5, seed=3)
    matrix = sample.matrix("gpu")[:, 1:]
    assert abs(np.corrcoef(matrix.T)[0, 1]) < 4 / np.sqrt(5000 / 2)


def test_the_light_gpu_job_is_clipped_at_idle_as_often_as_the_normal_says():
    machine = tsubame3(20_000)
    sample = sample_devices(machine, TSUBAME3_JOBS_W, sd_ratio=0.04, seed=4)
    row = sample.clipped.row(by_predicate=pl.col("app") == "gpu-small", named=True)
    # A GPU has 62.75 W and sd 2.51 W; 60 W are 1.0956 sd below the mean: 13.66 % of a normal lie there.
    share = stats.norm.cdf(-(62.75 - 60) / 2.51)
    assert share == pytest.approx(0.1366, abs=5e-5)
    assert row["draws"] == 80_000
    assert row["clipped_ratio"] == row["clipped"] / 80_000
    assert row["clipped_ratio"] == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 80_000))
    # The mean of a normal cut off below: 60 + 2.75 x P(above) + 2.51 x density.
    watts = sample.power_w["gpu-small"][1]
    expected_w = 60 + 2.75 * (1 - share) + 2.51 * stats.norm.pdf(2.75 / 2.51)
    assert watts.min() == 60.0
    assert watts.mean() == pytest.approx(expected_w, abs=4 * 2.51 / np.sqrt(80_000))
    assert sample.clipped.filter(pl.col("app") != "gpu-small")["clipped"].sum() == 0


def test_draws_are_not_clipped_at_tdp():
    # 245 W are 122.5 W a CPU, above its 120 W: at 2 % spread 2.5 / 2.45 sd above, and 84.6 % of the draws.
    watts = sample_devices(tsubame3(5000), TSUBAME3_JOBS_W, sd_ratio=0.02, seed=4).power_w["cpu-large"][1]
    share = stats.norm.cdf(2.5 / 2.45)
    assert (watts > 120.0).mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 10_000))


def test_tables_of_one_seed_differ_in_scale_alone():
    jobs = {"a": ("gpu", 1095.0), "b": ("cpu", 245.0)}
    machine = tsubame3(300)
    flat = sample_devices(machine, jobs, sd_ratio=0.0, seed=9).table.power_w
    assert flat.tolist() == [[1095.0 + 80.0] * 300, [245.0 + 240.0] * 300]
    one = sample_devices(machine, jobs, sd_ratio=0.02, seed=9).table.power_w - flat
    for ratio in (0.04, 0.08, 0.12):
        assert sample_devices(machine, jobs, sd_ratio=ratio, seed=9).table.power_w - flat == pytest.approx(
            one * ratio / 0.02, abs=1e-9
        )
    # By application: one keeps its draws whatever another's spread is.
    apart = sample_devices(machine, jobs, sd_ratio={"a": 0.02, "b": 0.0}, seed=9).table.power_w - flat
    assert np.array_equal(apart, [one[0], np.zeros(300)])
    assert not np.array_equal(sample_devices(machine, jobs, sd_ratio=0.02, seed=10).table.power_w - flat, one)


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_more_nodes_and_other_applications_leave_draws_as_they_were(share):
    few = sample_devices(tsubame3(50), {"a": ("gpu", 600.0)}, node_share=share, seed=6)
    many = sample_devices(tsubame3(80), {"b": ("gpu", 900.0), "a": ("gpu", 600.0)}, node_share=share, seed=6)
    assert np.array_equal(many.power_w["a"][1][:200], few.power_w["a"][1])


def test_predictions_by_device_become_a_table_as_draws_do():
    machine = tsubame3(40)
    sample = sample_devices(machine, TSUBAME3_JOBS_W, seed=8)
    columns = {
        app: (name, sample.matrix(name)[:, place])
        for name in ("cpu", "gpu")
        for place, app in enumerate(sample.apps(name))
    }
    assert machine.table(columns) == sample.table
    off = {app: (name, watts * 1.1) for app, (name, watts) in columns.items()}
    platform = machine.platform(actual=sample.table, predicted=machine.table(off))
    # A tenth more of what is used, nothing more of what is not.
    more_w = platform.predicted.power_w - platform.actual.power_w
    assert more_w[:3] == pytest.approx(0.1 * (platform.actual.power_w[:3] - 240.0))
    assert more_w[3:] == pytest.approx(0.1 * (platform.actual.power_w[3:] - 80.0))
