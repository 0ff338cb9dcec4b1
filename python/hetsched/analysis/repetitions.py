"""Repetitions in a frame of runs: what may be averaged, what one independent draw is, and which runs make pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import listed, shown
from hetsched.errors import ConfigError, Fault

CELL = ("workload", "platform")
"""Columns that identify the input of a run, besides its seed."""

_ALIKE_RATIO = 1.1
"""Highest ratio of two offered loads, or numbers of jobs, among repetitions of one workload."""
_NATURE = {"offered_load_ratio": "offered loads of", "jobs": "numbers of jobs of"}
"""Numbers of a run that its policy has no part in."""

_ADVICE = (
    'workloads alike in load: runs.filter(workload="...") takes one, and by="workload" compares on each by itself; '
    "repetitions of one generator are a function of the seed, sweep(workloads={name: function})"
)

Pairs = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def check_alike(runs: pl.DataFrame) -> None:
    """Raise if the runs of a policy are on workloads, or platforms, that are no repetitions of each other.

    Workloads differ if their offered loads do, or their numbers of jobs, by more than a tenth. Where each has a seed
    of its own they are draws of one generator.
    """
    cell = cell_of(runs)
    if not cell or _is_by_seed(runs, cell):
        return
    faults = [
        fault for own in _by_policy(runs) for name in _NATURE if (fault := _difference(own, cell, name)) is not None
    ]
    if faults:
        raise ConfigError(faults[:1])


def cell_of(runs: pl.DataFrame) -> list[str]:
    """The columns of `CELL` in which runs of one policy differ."""
    names = [name for name in CELL if name in runs.columns]
    kinds = runs.group_by("policy").agg(pl.col(names).n_unique())
    return [name for name in names if (kinds[name] > 1).any()]


def independent(runs: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The runs as independent repetitions, a row a policy and repetition, and the columns that distinguish them.

    On several workloads that are the same under every seed, seeds are no repetitions of the workloads: a row is the
    mean over them. On draws of a function of the seed, each seed is a repetition.
    """
    cell = cell_of(runs)
    if not cell or "seed" not in runs.columns:
        return runs, cell or [name for name in ("seed",) if name in runs.columns]
    if _is_by_seed(runs, cell):
        return runs, ["seed"]
    if _is_drawn(runs, cell):
        return runs, [*cell, "seed"]
    numbers = [name for name, kind in runs.schema.items() if kind.is_numeric() and name not in (*cell, "seed")]
    rows = runs.group_by(["policy", *cell], maintain_order=True).agg(pl.col(numbers).cast(pl.Float64).mean())
    return rows, cell


def paired(own: pl.DataFrame, base: pl.DataFrame, units: Sequence[str], key: str) -> Pairs | None:
    """Values of two policies on the same repetitions, in the same order; None where they have others, or one only."""
    if len(own) < 2 or not units:
        return None
    names = list(units)
    one, other = (runs.sort(names).select(*names, pl.col(key).cast(pl.Float64)) for runs in (own, base))
    if one.select(names).null_count().sum_horizontal().item() or one.select(names).is_duplicated().any():
        return None
    if not one.select(names).equals(other.select(names)) or one[key].has_nulls() or other[key].has_nulls():
        return None
    return one[key].to_numpy(), other[key].to_numpy()


def groups(runs: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[object, ...], pl.DataFrame]]:
    """The runs by the values of some columns, in the order in which these first come."""
    if not by:
        yield (), runs
        return
    yield from runs.group_by(list(by), maintain_order=True)


def _by_policy(runs: pl.DataFrame) -> list[pl.DataFrame]:
    return runs.partition_by("policy", maintain_order=True)


def _is_by_seed(runs: pl.DataFrame, cell: Sequence[str]) -> bool:
    """True if each cell has one seed, and each seed one cell."""
    if "seed" not in runs.columns or runs["seed"].n_unique() < 2:
        return False
    pairs = runs.select(*cell, "seed").unique()
    return pairs["seed"].n_unique() == len(pairs) == pairs.select(cell).n_unique()


def _is_drawn(runs: pl.DataFrame, cell: Sequence[str]) -> bool:
    """True if the load of a cell differs with every seed, or nearly so."""
    if "offered_load_ratio" not in runs.columns:
        return False
    loads = runs.group_by(cell).agg(pl.col("offered_load_ratio").n_unique())
    return bool((loads["offered_load_ratio"] > 1).any())


def _difference(own: pl.DataFrame, cell: Sequence[str], name: str) -> Fault | None:
    """A fault if cells differ in a number by more than repetitions do."""
    if name not in own.columns or own.select(cell).n_unique() < 2:
        return None
    means = own.group_by(cell, maintain_order=True).agg(pl.col(name).cast(pl.Float64).mean()).drop_nulls(name)
    in_order = means.sort(name, maintain_order=True)
    if len(in_order) < 2 or in_order[name][-1] <= _ALIKE_RATIO * in_order[name][0]:
        return None
    ends = [f"{row[name]:.3g} ({', '.join(shown(row[one]) for one in cell)})" for row in _ends(in_order)]
    found = f"{_NATURE[name]} {' to '.join(ends)} under policy {own['policy'][0]}"
    return Fault("results", found, _ADVICE if "workload" in cell else _ADVICE.replace("workload", "platform"))


def _ends(rows: pl.DataFrame) -> list[dict[str, object]]:
    return [rows.row(0, named=True), rows.row(-1, named=True)]


def by_columns(by: str | Sequence[str], runs: pl.DataFrame) -> list[str]:
    """The columns to group by; raises ConfigError if one is none of the frame's."""
    names = [by] if isinstance(by, str) else list(by)
    known = [name for name in runs.columns if name != "policy"]
    if faults := [
        Fault("by", shown(name), f"one of the columns {listed(known)}") for name in names if name not in known
    ]:
        raise ConfigError(faults)
    return names
