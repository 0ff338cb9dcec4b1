"""The oracle of the benches, and the seeds that nothing may be tuned on."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
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


def test_one_script_names_the_seeds_of_the_showing_set(oracle):
    scripts = sorted(BENCHES.glob("*.py"))
    assert len(scripts) > 20
    named = {path.name: SHOWING.findall(path.read_text(encoding="utf-8")) for path in scripts}
    assert {name: seeds for name, seeds in named.items() if seeds} == {"showing.py": ["1001"]}
    assert SHOWING.findall("seeds=range(1001, 1009)") == ["1001"]
    assert not set(oracle.TUNING_SEEDS) & {*range(1001, 1009), *range(2001, 2009)}


def modules_named_in(path):
    """Modules that a script imports, and texts in it that are a name of one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_script_reads_the_seeds_of_the_showing_set(tmp_path):
    others = {path: set(modules_named_in(path)) for path in BENCHES.glob("*.py")}
    assert [path.name for path, names in others.items() if {"showing", "showing.py"} & names] == []
    assert "oracle" in others[BENCHES / "showing.py"]
    (tmp_path / "tunes.py").write_text("from showing import SEEDS\n", encoding="utf-8")
    assert set(modules_named_in(tmp_path / "tunes.py")) == {"showing"}


def test_other_seeds_are_refused(oracle, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["oracle.py", "--seeds", "3,1001"])
    with pytest.raises(SystemExit):
        oracle.main()
    assert "seeds [1001]: expected some of 1 to 20" in capsys.readouterr().err


def test_an_estimate_knows_nothing_of_what_comes(oracle):
    """Jobs that are submitted after an instant are others; what was decided before stays."""
    import estimate  # noqa: PLC0415 - found only now

    platform, workload = oracle.drawn_case("overloaded", 4, 1, nodes=36, jobs=200)
    frame = workload.to_polars()
    at_s = frame["submit_s"][120]
    is_later = pl.col("submit_s") > at_s
    others = frame.with_columns(
        runtime_s=pl.when(is_later).then(pl.col("runtime_s") * 3.0 + 7.0).otherwise(pl.col("runtime_s")),
        app=pl.when(is_later).then(pl.col("app").reverse()).otherwise(pl.col("app")),
        submit_s=pl.when(is_later).then(pl.col("submit_s") + 5.0).otherwise(pl.col("submit_s")),
    )
    names, cost = oracle.costs(workload, platform)
    before = []
    for one in (workload, hs.Workload.from_polars(others)):
        jobs = hs.simulate(one, platform, estimate.Estimate(cost, names)).jobs
        before.append(jobs.filter(pl.col("start_s") <= at_s).select("job_id", "start_s", "nodes"))
    assert len(before[0]) > 60
    assert before[0].equals(before[1])


def test_a_case_has_its_shares_in_order_and_repeats(oracle):
    one = oracle.case("overloaded", 4, 1, nodes=60, jobs=300)
    assert one["hetsched"] < one["hindsight"] <= one["at_most"] <= 100.0
    assert one["prices"] <= one["at_most"]
    assert one["timing"] < 100.0
    assert one == oracle.case("overloaded", 4, 1, nodes=60, jobs=300)


def test_prices_are_those_of_the_bound(oracle):
    """Labels are what a kind of jobs must bring in; prices, what nodes bring in more."""
    platform, workload = oracle.drawn_case("overloaded", oracle.TUNED[1], 3, nodes=12, jobs=60)
    bound, _, search = oracle.bounded(hs.simulate(workload, platform, "easy"))
    names, cost = oracle.costs(workload, platform)
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
