"""Runs of every experiment's quick run, as they were found, a file each, and reports that are made of them.

A report takes seconds, nearly all of them in its runs. So tests of what is made of runs (rows, figures, files) take the
known ones, and `test_reproduce` holds the first repetition of each experiment to what is known of it.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hetsched.errors import RunWarning
from hetsched.experiments import Report, reproduce, reproduction
from hetsched.experiments.experiment import Repetition
from hetsched.experiments.registry import experiment_named
from hetsched.experiments.reproduction import repetition_seeds
from hetsched.experiments.runs import MARK
from hetsched.policy import parse_policy

RUNS = Path(__file__).with_name("runs")
BESIDE = "sjf:placement=lowest-power"
"""The policy that runs next to the paper's in every quick run."""
WITHOUT_POLICIES = "tsmva"
"""The one experiment that runs no policies."""
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Numbers may differ by this: the former of their size, the latter where they are rounding errors around 0."""


def policies_beside(name: str) -> list[str]:
    """The policies that run next to the paper's."""
    return [] if name == WITHOUT_POLICIES else [BESIDE]


def run(name: str) -> Report:
    """The quick run with `BESIDE`, run now."""
    return reproduce(name, quick=True, policies=policies_beside(name))


def read(name: str) -> pl.DataFrame:
    """The known runs, as `Report.runs` has them."""
    return pl.read_parquet(RUNS / f"{name}.parquet")


def write(report: Report) -> None:
    """Make a report's runs the known ones."""
    report.runs.write_parquet(RUNS / f"{report.name}.parquet", compression="zstd", compression_level=19)


def report_of(name: str) -> Report:
    """The report of the known runs: what `run` returns as long as runs are what they were."""
    parts = read(name).drop("seed").partition_by("repetition", include_key=False, as_dict=True)
    known = {number: own.to_dicts() for (number,), own in parts.items()}
    experiment = dataclasses.replace(experiment_named(name), repeat=lambda one: known[one.number])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "experiment_named", lambda _: experiment)
        return run(name)


def first_repetition(name: str) -> pl.DataFrame:
    """The runs of the first repetition, run now."""
    (seed,) = repetition_seeds(name, 0, 1)
    own = {MARK + policy: parse_policy(policy) for policy in policies_beside(name)}
    with warnings.catch_warnings():
        # As `reproduce` does: an experiment says itself what is unusual about its load.
        warnings.simplefilter("ignore", RunWarning)
        rows = experiment_named(name).repeat(Repetition(seed, is_quick=True, policies=own))
    return pl.DataFrame([{"repetition": 0, "seed": seed, **row} for row in rows], infer_schema_length=None)


def differences(known: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    """A line for each run that differs, or one for all where their number or their columns do."""
    # A column of nulls is of any type.
    found = found.with_columns(
        pl.col(name).cast(known.schema.get(name, pl.Null)) for name in found.select(pl.col(pl.Null)).columns
    )
    if known.schema != found.schema or len(known) != len(found):
        columns = [f"{name}: {kind}" for name, kind in known.schema.items() ^ found.schema.items()]
        yield f"{len(known)} runs -> {len(found)}, columns in one alone: {', '.join(sorted(columns)) or 'none'}"
        return
    for number, (old, new) in enumerate(zip(known.iter_rows(named=True), found.iter_rows(named=True), strict=True)):
        changed = [f"{name} {old[name]!r} -> {new[name]!r}" for name in old if not alike(old[name], new[name])]
        if changed:
            yield f"run {number} ({old['scenario']}, {old['policy']}): {', '.join(changed)}"


def alike(old: Any, new: Any) -> bool:
    """True if two values are the same, numbers but for the last digits."""
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(old) and math.isnan(new))
    return bool(old == new)


def without_beside(report: Report) -> Report:
    """The same report without what is said of `BESIDE`."""
    if report.name == WITHOUT_POLICIES:
        return report
    label = f"yours: {BESIDE}"
    return dataclasses.replace(
        report,
        rows=[row for row in report.rows if not row.quantity.startswith(f"{label}: ")],
        parameters=[one for one in report.parameters if one.name != "your_policies"],
        runs=report.runs.filter(pl.col("policy") != label),
        savings=report.savings.filter(pl.col("label") != label),
        shares=report.shares.filter(pl.col("policy") != label),
    )
