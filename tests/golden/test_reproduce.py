"""No run and no row of an experiment changes unnoticed.

The first repetition of every quick run is held to the known runs, and the rows that are made of all known runs to the
table. At length all repetitions are run.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import known_runs
import polars as pl
import pytest

from hetsched.experiments import EXPERIMENTS, Report

# The folders of tests are no packages.
_spec = importlib.util.spec_from_file_location("golden_reproduce", Path(__file__).with_name("reproduce.py"))
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


# They change one setting each of what `vahrm` runs.
LIKE_VAHRM = ("vahrm-beta", "vahrm-congestion", "vahrm-first-run", "vahrm-pcr")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.at_length_only] * (one in LIKE_VAHRM)) for one in EXPERIMENTS]
)
def test_every_run_of_the_first_repetition_is_what_it_was(name: str) -> None:
    known = known_runs.read(name).filter(repetition=0)
    changed = list(known_runs.differences(known, known_runs.first_repetition(name)))
    assert not changed, "\n".join(changed)


@pytest.mark.at_length
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_is_what_it_was(name: str, quick_report: Callable[[str], Report]) -> None:
    changed = list(golden.differences(golden.known()[name], golden.rows_of(quick_report(name).to_dict())))
    assert not changed, "\n".join(changed)


def test_differences_are_reported_by_quantity_and_column() -> None:
    old = [
        ["a, %", None, 1.0, 0.5, 1.5, "yes"],
        ["b, %", 2.0, 1.0, 0.5, 1.5, "no"],
        ["c, %", None, 1.0, 1.0, 1.0, None],
    ]
    new = [
        ["a, %", None, 1.0000001, 0.5, 1.5, "yes"],
        ["b, %", 2.0, 1.0, 0.5, 1.51, "shape"],
        ["d, %", None, 0, 0, 0, None],
    ]
    assert list(golden.differences(old, new)) == [
        "b, %: high 1.5 -> 1.51, reproduced 'no' -> 'shape'",
        "c, %: gone",
        "d, %: new",
    ]
    assert list(golden.differences(old, old[::-1])) == ["the same rows in another order"]


def test_differences_of_runs_are_reported_by_run_and_column() -> None:
    old = pl.DataFrame({"scenario": ["a", "b"], "policy": "easy", "jobs": [3, 4], "energy_j": [1.0, None]})
    new = old.with_columns(jobs=pl.Series([3, 5]), energy_j=pl.Series([1.0000001, None]))
    assert list(known_runs.differences(old, new)) == ["run 1 (b, easy): jobs 4 -> 5"]
    assert list(known_runs.differences(old.head(1), new.head(1))) == []
    assert list(known_runs.differences(old, new.head(1))) == ["2 runs -> 1, columns in one alone: none"]
    assert list(known_runs.differences(old, new.with_columns(jobs=pl.lit(3.0)))) == [
        "2 runs -> 2, columns in one alone: jobs: Float64, jobs: Int64"
    ]
    unknown = old.with_columns(energy_j=pl.Series([None, None]))
    assert list(known_runs.differences(old, unknown)) == ["run 0 (a, easy): energy_j 1.0 -> None"]
