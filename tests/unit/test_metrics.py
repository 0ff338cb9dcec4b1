"""The registry of metrics: complete, and readable at every size."""

import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import DEFAULT_METRICS, METRICS
from hetsched.run.metrics import OF_BOUND, metrics_named


def test_every_key_of_a_summary_has_its_row_and_no_row_is_left_over():
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1]})
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100, tdp_w=300)
    summary = hs.simulate(hs.Workload.from_polars(jobs), platform, "fcfs", bound=True).summary()
    always = [key for key, row in METRICS.items() if not row.is_optional]
    assert [*always, *OF_BOUND] == list(summary)


def test_units_rise_from_one():
    for metric in METRICS.values():
        scales = [unit.scale for unit in metric.units]
        assert scales == sorted(scales)
        assert metric.units[0].scale == (0.01 if metric.units[0].name == "%" else 1.0)


def test_the_defaults_are_metrics():
    assert [metric.key for metric in metrics_named(DEFAULT_METRICS)] == list(DEFAULT_METRICS)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("energy_j", 0.0, "0 J"),
        ("energy_j", 3.6e6, "1.000 kWh"),
        ("energy_j", 283_557_076_342.0, "78.77 MWh"),
        ("energy_j", 3.798e16, "10.55 TWh"),
        ("mean_wait_s", 59.994, "59.99 s"),
        ("mean_wait_s", 60.0, "1.000 min"),
        ("mean_wait_s", 1e6, "277.8 h"),
        ("mean_wait_s", 1e-9, "0.000000 s"),
        ("mean_bounded_slowdown", 1.0, "1.000"),
        ("mean_bounded_slowdown", 26_804.4, "26,804"),
        ("utilization_ratio", 1.0, "100.0 %"),
        ("peak_power_w", 760_800.0, "760.8 kW"),
        ("jobs", 447_794, "447,794"),
        ("budget_w", 388_800.0, "388.8 kW"),
        ("budget_w", None, "–"),
        ("over_budget_count", 3, "3"),
        ("over_budget_s", 90.0, "1.500 min"),
        ("offered_load_ratio", None, "–"),
    ],
)
def test_a_value_is_shown_in_the_largest_unit_it_fills(key, value, text):
    assert METRICS[key].text(value) == text


@pytest.mark.parametrize("power", range(-3, 25))
def test_no_unit_is_written_twice_at_any_size(power):
    value = 3.6 * 10.0**power
    for metric in METRICS.values():
        name = metric.unit_for([value]).name
        assert metric.text(value).endswith(f" {name}" if name else "")
        times = [word for word in name.replace("/", " ").split() if word in ("s", "min", "h")]
        # Watt-hours hold a time already.
        assert len(times) + name.count("Wh") <= 1, name


def test_values_below_each_other_share_a_unit_and_their_decimals():
    assert METRICS["mean_wait_s"].texts([7200.0, 36.0, None]) == ["2.0000", "0.0100", "–"]
    # The largest has four digits, the smallest three, if that takes no more than two decimals more.
    assert METRICS["mean_bounded_slowdown"].texts([3664.2, 48.93]) == ["3,664.2", "48.9"]
    assert METRICS["mean_bounded_slowdown"].texts([3664.2, 0.0123]) == ["3,664.20", "0.01"]
    assert METRICS["energy_j"].texts([0.07e9], like=[283.6e9]) == ["0.02"]
    assert METRICS["mean_wait_s"].texts([]) == []


def test_a_title_stands_alone_and_a_parts_title_below_its_whole():
    for key in ("job_energy_j", "idle_energy_j", "transition_energy_j", "off_energy_j", "down_energy_j"):
        assert METRICS[key].title == f"energy {METRICS[key].short_title}"
        assert METRICS[key].short_title.startswith("of ")
    assert METRICS["energy_j"].short_title == METRICS["energy_j"].title == "energy"
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)


def test_a_metric_that_is_like_no_other_comes_with_the_list():
    with pytest.raises(hs.ConfigError) as caught:
        metrics_named(["foo"])
    assert str(caught.value) == f"metrics: found `foo`, expected one of {', '.join(METRICS)}"


def test_an_unknown_metric_is_named_with_the_one_that_was_meant():
    with pytest.raises(hs.ConfigError) as caught:
        metrics_named(["energy", "mean_wait"])
    assert str(caught.value).splitlines() == [
        "metrics: found `energy`, expected a metric; did you mean `energy_j`?",
        "metrics: found `mean_wait`, expected a metric; did you mean `mean_wait_s`?",
    ]
    with pytest.raises(hs.ConfigError, match="metrics: found none, expected some of jobs, "):
        metrics_named([])


@pytest.mark.parametrize(
    ("unknown", "meant"), [("killed", "timeout"), ("mean-wait", "mean_wait_s"), ("energy_kj", "energy_j")]
)
def test_an_unknown_metric_is_looked_for_in_titles_then_by_its_letters(unknown, meant):
    with pytest.raises(hs.ConfigError) as error:
        metrics_named([unknown])
    assert str(error.value) == f"metrics: found `{unknown}`, expected a metric; did you mean `{meant}`?"
