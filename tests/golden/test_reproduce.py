"""No row of an experiment changes unnoticed: every quick run beside the table of what was found before."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from hetsched.experiments import EXPERIMENTS, Report

# The folders of tests are no packages.
_spec = importlib.util.spec_from_file_location("golden_reproduce", Path(__file__).with_name("reproduce.py"))
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


@pytest.mark.slow
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
