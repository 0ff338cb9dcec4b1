"""The oracle of the benches, and the seeds that nothing may be tuned on."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.bound import energy_bound_starts

BENCHES = Path(__file__).parents[2] / "benches" / "python"
SHOWING = re.compile(r"\b(?:100[1-8]|200[1-8])\b")

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


@pytest.fixture(scope="module")
def oracle():
    """The script as a module."""
    sys.path.insert(0, str(BENCHES))
    try:
        import oracle  # noqa: PLC0415 - found only now

        yield oracle
    finally:
        sys.path.remove(str(BENCHES))


def test_no_script_that_may_tune_names_a_seed_of_the_showing_set(oracle):
    scripts = sorted(BENCHES.glob("*.py"))
    assert len(scripts) > 20
    named = {path.name: SHOWING.findall(path.read_text(encoding="utf-8")) for path in scripts}
    assert {name: seeds for name, seeds in named.items() if seeds} == {}
    assert SHOWING.findall("seeds=range(1001, 1009)") == ["1001"]
    assert not set(oracle.TUNING_SEEDS) & {*range(1001, 1009), *range(2001, 2009)}


def test_other_seeds_are_refused(oracle, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["oracle.py", "--seeds", "3,1001"])
    with pytest.raises(SystemExit):
        oracle.main()
    assert "seeds [1001]: expected some of 1 to 20" in capsys.readouterr().err


def test_a_case_has_its_shares_in_order_and_repeats(oracle):
    one = oracle.case("overloaded", 4, 1, nodes=60, jobs=300)
    assert one["hetsched"] < one["hindsight"] <= one["at_most"] <= 100.0
    assert one["prices"] <= one["at_most"]
    assert one["timing"] < 100.0
    assert one == oracle.case("overloaded", 4, 1, nodes=60, jobs=300)


def test_prices_are_those_of_the_bound(oracle):
    """What a kind of jobs must bring in is its label; what nodes bring in more is their price."""
    platform = oracle.system.drawn_machine(3, nodes=12).ideal
    (workload,) = [
        one.workload
        for one in oracle.system.cases(3, jobs=60, nodes=12, presets=("overloaded",))
        if one.number == oracle.TUNED[1]
    ]
    bound, _, search = oracle._bounded(hs.simulate(workload, platform, "easy"))
    names = sorted(workload.to_polars()["app"].unique().to_list())
    cost = np.stack([platform.actual.power_w[platform.actual.apps.index(name)] for name in names])
    prices = oracle.Prices(bound, cost)
    # With these prices the dual is the bound: labels of all jobs less prices of all nodes, over all of time.
    end_s = np.full(1, search.intervals[3].max() / 1e6)
    row, _, start, end = search.intervals
    of_row = [names.index(workload.to_polars()["app"][int(np.flatnonzero(row == own)[0])]) for own in np.unique(row)]
    label = prices.apps(end / 1e6) - prices.apps(start / 1e6)
    worth = label[np.arange(len(row)), np.array(of_row)[row]]
    least_j = (worth * search.given.size).sum() - prices.nodes(end_s).sum()
    assert least_j == pytest.approx(bound.energy_j, rel=1e-9)
    assert energy_bound_starts(search.given, search.closed).energy_j == bound.energy_j
