"""``--contract``: limits and prices by the wall clock, on the command line of simulate and compare."""

import json

import pytest

import hetsched as hs

WATTS = ("--nodes", 16, "--idle-w", 100, "--tdp-w", 400)
# The five jobs of small.swf are submitted within 70 s of second 1,000, and the last ends at 1,150.
CONTRACT = """
timezone = "Europe/Berlin"
starts = "2007-02-01T16:42"
price_per_kwh = 0.25

[[limits]]
limit_w = 1700
from = "17:00"
until = "20:00"
days = "mon-fri"
excess_price_per_kwh = 2
"""
POLICIES = ("--policies", "easy,easy:power=system-budget,power-slurm:power.on_excess=suspend")


@pytest.fixture
def contract(folder):
    (folder / "c.toml").write_text(CONTRACT)
    return hs.Contract.from_toml("c.toml")


def results(hetsched, *arguments):
    said = hetsched("compare", "small.swf", *WATTS, *POLICIES, *arguments, "--json")
    assert said.code == 0, said.err
    return {run["policy"]: run["summary"] for run in json.loads(said.out)["runs"]}


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_doing_nothing_is_a_row_of_the_same_table(hetsched, contract):
    found = results(hetsched, "--contract", "c.toml")
    machine = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=400)
    for policy, summary in found.items():
        result = hs.simulate(hs.read_swf("small.swf"), machine, policy, contract=contract)
        assert summary == result.summary()
    assert found["easy"]["over_budget_s"] > 0
    assert found["easy"]["penalty"] == 2 * found["easy"]["over_budget_kwh"]
    assert found["power-slurm:power.on_excess=suspend"]["over_budget_s"] == 0
    said = hetsched("compare", "small.swf", *WATTS, *POLICIES, "--contract", "c.toml")
    words = said.out.split()
    assert all(word in words for word in ("beyond", "penalty", "cost", "easy:power=system-budget"))


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_a_contract_and_events_in_one_file(hetsched, contract, folder):
    table = CONTRACT.replace("[[limits]]", "[[contract.limits]]")
    (folder / "both.toml").write_text("[contract]" + table + '[[events]]\ntime_s = 0\nkind = "carbon"\nvalue = 400\n')
    found = results(hetsched, "--events", "both.toml")
    alone = results(hetsched, "--contract", "c.toml")
    assert all(one.pop("carbon_kg") > 0 for one in found.values())
    assert found == alone
    (folder / "only.toml").write_text("[contract]" + table)
    assert results(hetsched, "--events", "only.toml") == alone


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
def test_simulate_shows_the_bill(hetsched, contract):
    said = hetsched("simulate", "small.swf", *WATTS, "--contract", "c.toml")
    shown = {line.split()[0] for line in said.out.splitlines() if line.split()}
    assert {"cost", "penalty"} <= shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limits = 3", "error: c.toml: limits: found `3`, expected a list of tables"),
        (
            CONTRACT.replace("mon-fri", "mo-fr"),
            "error: c.toml: limits[0].days: found `mo-fr`, expected some of mon, tue",
        ),
        (
            CONTRACT.replace("starts", "#"),
            "error: c.toml: starts: found nothing, expected a date such as 2007-02-01T00:00: ",
        ),
        (
            CONTRACT.replace("1700", "1500"),
            "error: --policies: easy:power=system-budget: contract.limits[0]: found 1,500 W, expected at least 1,600 W",
        ),
        ("x", "error: c.toml: found no valid TOML"),
    ],
)
def test_what_is_wrong_with_a_contract_is_reported_with_its_file(hetsched, folder, text, message):
    (folder / "c.toml").write_text(text)
    said = hetsched("compare", "small.swf", *WATTS, *POLICIES, "--contract", "c.toml")
    assert said.code == 2
    assert message in said.err


def test_faults_of_options(hetsched, contract):
    said = hetsched("simulate", "small.swf", *WATTS, "--contract", "c.csv")
    assert said.err == "error: --contract: found `c.csv`, expected a contract's file, whose name ends in .toml"
    said = hetsched("compare", "small.swf", *WATTS, *POLICIES, "--metrics", "penalty")
    assert said.err == "error: --metrics: found `penalty`, expected --contract as well, with limits"
    said = hetsched("simulate", "small.swf", *WATTS, "--contract", "c.toml", "--warm-up-s", 10)
    assert said.err == "error: --contract: found it, expected nothing with a measuring window: a bill is of a whole run"
    said = hetsched("simulate", "small.swf", *WATTS, "--events", "none.toml")
    assert said.err == "error: none.toml: found no such file, expected a TOML file"
    said = hetsched("simulate", "small.swf", *WATTS, "--contract", "none.toml")
    assert said.err == "error: none.toml: found no such file, expected a TOML file"


def test_costs_are_of_the_energy_at_the_meter_and_in_the_currency(hetsched, contract, folder):
    (folder / "c.toml").write_text('currency = "EUR"\n' + CONTRACT)
    plain = json.loads(hetsched("simulate", "small.swf", *WATTS, "--contract", "c.toml", "--json").out)["summary"]
    metered = ("simulate", "small.swf", *WATTS, "--contract", "c.toml", "--pue", "1.5")
    own = json.loads(hetsched(*metered, "--json").out)["summary"]
    assert own["meter_energy_j"] == pytest.approx(1.5 * plain["energy_j"])
    assert own["cost"] - own["penalty"] == pytest.approx(1.5 * (plain["cost"] - plain["penalty"]))
    lines = [line.split() for line in hetsched(*metered).out.splitlines()]
    assert any(line[:4] == ["energy", "at", "the", "meter"] for line in lines)
    assert any(line[:1] == ["cost"] and line[-1] == "EUR" for line in lines)
    said = hetsched("compare", "small.swf", *WATTS, "--contract", "c.toml", "--pue", 1.5, "--policies", "fcfs,easy")
    assert "EUR" in said.out.split()
    for wrong in ("0.9", "nan", "11"):
        said = hetsched("simulate", "small.swf", *WATTS, "--pue", wrong)
        assert (said.code, "--pue: found" in said.err) == (2, True)
