"""Laws of the meter: a PUE of 1 changes nothing, tables are integrated exactly, and prices are of metered energy."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import METRICS

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning", "ignore::hetsched.errors.ResultWarning")

NODES = 12
CONTRACT = hs.Contract(
    limits=[{"limit_w": 2500, "from": "08:00", "until": "20:00", "excess_price_per_kwh": 1.5}],
    prices=[{"price_per_kwh": 0.3, "from": "08:00", "until": "20:00"}],
    price_per_kwh=0.1,
    carbon_g_per_kwh=list(range(200, 440, 10)),
    starts="2024-03-30T06:00",
    timezone="Europe/Berlin",
)
POLICIES = ("easy", "fcfs", "easy:power=system-budget", "easy:sleep=timeout:sleep.min_idle_s=60")


def platform(**facility: Any) -> hs.Platform:
    nodes = {"off_w": 5, "boot_s": 30, "boot_w": 150, "shutdown_s": 10, "shutdown_w": 90, "boot_cost": 0.01}
    return hs.Platform.homogeneous(NODES, idle_w=95.3, tdp_w=301.7, **nodes, **facility)


def log(seed: int, jobs: int = 120) -> hs.Workload:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.uniform(0, 200_000, jobs)).round(3),
            "runtime_s": np.exp(rng.normal(7, 1.5, jobs)).round(3),
            "node_count": rng.integers(1, NODES, jobs),
            "power_w": rng.uniform(120, 300, jobs).round(2),
        }
    )
    return hs.Workload.from_polars(frame)


def run(policy: str = "easy", seed: int = 0, contract: hs.Contract | None = CONTRACT, **facility: Any) -> hs.Result:
    return hs.simulate(log(seed), platform(**facility), policy, contract=contract)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("one", [1, 1.0, {"load_ratio": [0, 1], "pue": [1, 1]}, {"time_s": [0], "pue": [1]}])
def test_a_pue_of_one_changes_nothing_to_the_byte(tmp_path: Path, policy: str, one: Any) -> None:
    without, metered = run(policy), run(policy, pue=one)
    for name, result in (("without", without), ("metered", metered)):
        result.write(tmp_path / name)
    for file in ("jobs", "timeline", "nodes"):
        here, there = (tmp_path / name / f"{file}.parquet" for name in ("without", "metered"))
        assert here.read_bytes() == there.read_bytes()
    own = metered.summary()
    assert own.pop("meter_energy_j") == own["energy_j"]
    assert own == without.summary()


def at_the_meter(timeline: pl.DataFrame, pue: Any, peak_w: float) -> Fraction:
    """The energy at the meter by rational numbers, row by row."""
    rows = timeline.select("time_s", "power_w").rows()
    total = Fraction(0)
    for (time_s, power_w), (until_s, _) in pairwise(rows):
        if not isinstance(pue, dict):
            total += Fraction(power_w) * Fraction(pue) * (Fraction(until_s) - Fraction(time_s))
            continue
        axis = next(name for name in pue if name != "pue")
        at, values = [Fraction(one) for one in pue[axis]], [Fraction(one) for one in pue["pue"]]
        if axis == "load_ratio":
            lasts = [(Fraction(until_s) - Fraction(time_s), _linear(Fraction(power_w) / Fraction(peak_w), at, values))]
        else:
            cuts = [Fraction(time_s), *(one for one in at if time_s < one < until_s), Fraction(until_s)]
            holding = [max((k for k, one in enumerate(at) if one <= cut), default=0) for cut in cuts[:-1]]
            lasts = [(b - a, values[k]) for (a, b), k in zip(pairwise(cuts), holding, strict=True)]
        total += sum(Fraction(power_w) * length * value for length, value in lasts)
    return total


def _linear(x: Fraction, at: list[Fraction], values: list[Fraction]) -> Fraction:
    if x <= at[0]:
        return values[0]
    for k in range(1, len(at)):
        if x <= at[k]:
            return values[k - 1] + (values[k] - values[k - 1]) * (x - at[k - 1]) / (at[k] - at[k - 1])
    return values[-1]


TABLES = (
    1.37,
    {"load_ratio": [0.0, 0.35, 0.4, 1.0], "pue": [2.1, 1.7, 1.45, 1.3]},
    {"load_ratio": [0.5], "pue": [1.6]},
    {"load_ratio": [0.4, 0.6], "pue": [1.1, 1.9]},
    {"time_s": [0, 3600.5, 50_000.25, 150_000, 1e9], "pue": [1.2, 1.9, 1.3, 1.7, 9]},
    {"time_s": [-5, 100_000], "pue": [1.5, 1.25]},
    {"time_s": [70_000, 100_000], "pue": [1.5, 1.25]},
)


@pytest.mark.parametrize("pue", TABLES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_table_is_integrated_as_a_plain_program_does(policy: str, pue: Any) -> None:
    for seed in range(3):
        result = run(policy, seed, pue=pue)
        twin = at_the_meter(result.timeline, pue, float(platform().tdp_w.sum()))
        assert result.summary()["meter_energy_j"] == pytest.approx(float(twin), rel=1e-13)
        assert result.timeline.equals(run(policy, seed).timeline), "schedules do not see the meter"


def test_where_nothing_is_rounded_it_is_exact() -> None:
    """Watts, seconds and tables of binary fractions: equal to the last bit."""
    jobs = pl.DataFrame(
        {"job_id": range(3), "submit_s": [0, 64, 512], "runtime_s": [256, 128, 64], "node_count": [1, 2, 4]}
    )
    machine = hs.Platform.homogeneous(4, idle_w=64, tdp_w=256)
    for pue in ({"load_ratio": [0, 1], "pue": [2, 1.5]}, {"time_s": [0, 32, 400], "pue": [1.5, 1.25, 2]}, 1.75):
        result = hs.simulate(hs.Workload.from_polars(jobs), machine.with_facility(pue=pue), "fcfs")
        assert Fraction(result.summary()["meter_energy_j"]) == at_the_meter(result.timeline, pue, 1024.0)


@pytest.mark.parametrize("policy", POLICIES)
def test_prices_and_carbon_are_of_energy_at_the_meter_and_limits_of_the_nodes(policy: str) -> None:
    without, double = run(policy).summary(), run(policy, pue=2).summary()
    bill = without["cost"] - without["penalty"] - without.get("boot_cost", 0.0)
    assert double["cost"] - double["penalty"] - double.get("boot_cost", 0.0) == pytest.approx(2 * bill)
    assert double["carbon_kg"] == pytest.approx(2 * without["carbon_kg"])
    assert double["meter_energy_j"] == pytest.approx(2 * without["energy_j"], rel=1e-14)
    same = ("energy_j", "penalty", "over_budget_kwh", "over_budget_s", "over_budget_peak_w", "over_budget_count")
    assert {name: double[name] for name in same} == {name: without[name] for name in same}


def test_a_price_over_a_change_of_the_table_by_time() -> None:
    """Dear energy at a poor PUE and cheap energy at a good one, by hand."""
    jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [7200], "node_count": [1]})
    machine = hs.Platform.homogeneous(1, idle_w=0, tdp_w=1000, pue={"time_s": [0, 1800], "pue": [2, 1.5]})
    prices = [{"price_per_kwh": 1.0, "from": "00:00", "until": "01:00"}]
    contract = hs.Contract(prices=prices, price_per_kwh=0.1, starts="2024-01-01T00:00")
    found = hs.simulate(hs.Workload.from_polars(jobs), machine, contract=contract).summary()
    assert found["cost"] == pytest.approx(1.0 * (0.5 * 2 + 0.5 * 1.5) + 0.1 * 1.5)
    events = hs.Events.from_polars(pl.DataFrame({"time_s": [0.0, 3600.0], "kind": "price", "value": [1.0, 0.1]}))
    assert hs.simulate(hs.Workload.from_polars(jobs), machine, events=events).summary()["cost"] == found["cost"]


def test_without_a_pue_there_is_no_meter() -> None:
    own = run()
    assert "meter_energy_j" not in own.summary()
    assert not {"pue", "currency"} & {*own.provenance, *own.provenance["platform"]}
    assert platform().sha256 != platform(pue=1).sha256
    assert (platform().pue, platform().currency, platform().to_dict().keys() & {"pue", "currency"}) == (
        None,
        None,
        set(),
    )


@pytest.mark.parametrize("pue", TABLES)
def test_a_facility_is_read_as_it_was_written(tmp_path: Path, pue: Any) -> None:
    own = platform(pue=pue, currency="EUR")
    assert own.pue == pytest.approx(pue) if not isinstance(pue, dict) else own.pue == pue
    assert own == hs.Platform.from_dict(own.to_dict()) == pickle.loads(pickle.dumps(own))
    assert hash(own) == hash(hs.Platform.from_dict(own.to_dict()))
    result = hs.simulate(log(0), own)
    result.write(tmp_path)
    said = json.loads((tmp_path / "summary.json").read_text())
    assert (said["platform"]["pue"], said["platform"]["currency"], said["currency"]) == (own.pue, "EUR", "EUR")
    again = hs.what_if(hs.read_result(tmp_path), settings={"nodes": [NODES]}, metrics=["meter_energy_j"], workers=1)
    assert again.table["meter_energy_j"][0] == result.summary()["meter_energy_j"]


def test_a_file_says_it(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(
        'nodes = 4\nidle_w = 100\ntdp_w = 300\ncurrency = "CHF"\n[pue]\nload_ratio = [0.2, 1.0]\npue = [1.8, 1.3]\n'
    )
    machine = hs.read_platform(path)
    assert machine.pue == {"load_ratio": [0.2, 1.0], "pue": [1.8, 1.3]}
    assert machine.currency == "CHF"
    assert machine.with_facility(pue=1.5).pue == 1.5
    assert machine.with_facility(pue=1.5).currency == "CHF"


@pytest.mark.parametrize(
    ("pue", "message"),
    [
        (0.99, "pue: found `0.99`, expected a number between 1 and 10"),
        (math.nan, "pue: found `NaN`, expected a number between 1 and 10"),
        (math.inf, "pue: found"),
        (True, "pue: found"),
        ("1.4", "pue: found"),
        ([1.4], "pue: found"),
        ({}, "pue: found an empty table, expected a number, or a table of pue by load_ratio or by time_s"),
        ({"pue": [1.4]}, "pue: found a table of pue, expected"),
        ({"load_ratio": [0], "time_s": [0], "pue": [1.4]}, "pue: found a table of load_ratio, time_s, pue, expected"),
        ({"load": [0], "pue": [1.4]}, "pue: found a table of load, pue, expected"),
        ({"load_ratio": [0, 1], "pue": [1.4]}, "pue.pue: found 1 numbers, expected 2 of them"),
        ({"load_ratio": [], "pue": []}, r"pue.load_ratio: found"),
        ({"load_ratio": 0.5, "pue": 1.5}, r"pue.load_ratio: found `0.5`, expected a list of numbers"),
        ({"load_ratio": [0, 1], "pue": [1.4, 0.9]}, r"pue.pue\[1\]: found `0.9`, expected a number between 1 and 10"),
        ({"load_ratio": [0, math.nan], "pue": [1.4, 1.5]}, r"pue.load_ratio\[1\]: found `NaN`"),
        ({"load_ratio": [-0.1, 1], "pue": [1.4, 1.5]}, r"pue.load_ratio\[0\]: found `-0.1`"),
        (
            {"load_ratio": [0, 1, 1], "pue": [1.4, 1.5, 2]},
            r"pue.load_ratio\[2\]: found `1` after `1`, expected numbers in",
        ),
        ({"time_s": [5, 1], "pue": [1.4, 1.5]}, r"pue.time_s\[1\]: found `1` after `5`, expected numbers in ascending"),
    ],
)
def test_a_pue_that_cannot_be_is_refused(pue: Any, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        platform(pue=pue)


@pytest.mark.parametrize("currency", ["", "two words", "a\nb", 3, "x" * 13])
def test_a_currency_that_is_no_word_is_refused(currency: Any) -> None:
    for make in (lambda: platform(currency=currency), lambda: hs.Contract(price_per_kwh=1, currency=currency)):
        with pytest.raises(hs.ConfigError, match="currency: found"):
            make()


def test_costs_have_their_currency() -> None:
    own = hs.Contract.from_dict({**CONTRACT.to_dict(), "currency": "EUR"})
    assert run(contract=own).provenance["currency"] == "EUR"
    assert run(currency="EUR").provenance["currency"] == "EUR"
    assert run(contract=own, currency="EUR").provenance["currency"] == "EUR"
    with pytest.raises(hs.ConfigError, match=r"contract\.currency: found `EUR`, expected CHF"):
        run(contract=own, currency="CHF")
    table = str(hs.compare(log(0), platform(pue=1.5), ["fcfs", "easy"], contract=own, progress=None))
    assert table.count("EUR") == 2, "penalty and cost"
    assert "meter" in table, "energy at the meter stands beside that of the nodes"
    assert METRICS["energy_j"].in_currency("EUR") is METRICS["energy_j"]
    assert METRICS["cost"].in_currency(None) is METRICS["cost"]


def test_a_metric_of_the_meter_needs_a_pue() -> None:
    with pytest.raises(hs.ConfigError, match="a platform with a pue"):
        hs.what_if(log(0), platform(), "easy", {"nodes": [10]}, metrics=["meter_energy_j"], workers=1)
