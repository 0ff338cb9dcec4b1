"""Users, accounts and queues of the jobs: groups that share the machine, and labels that objects in roles read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.errors import ResultWarning
from hetsched.features.feature import Setting
from hetsched.run.concerns import Concern


def engine(run: Setting) -> Mapping[str, Any]:
    """Groups that share the machine, where the order goes by them, and labels that objects read."""
    frame = run.workload.to_polars()
    groups = {"groups": _groups(frame, _column(run))} if run.needs("groups") else {}
    return {**groups, **(_labels(frame) if run.policy.own else {})}


def before(run: Setting) -> Iterator[Concern]:
    """Concern that no job names the group it belongs to."""
    if not run.needs("groups"):
        return
    column = _column(run)
    if not run.asks(column) and len(run.workload):
        found = f"no job names its {column}, so all have one share and stand in order of submission"
        advice = "give the column, or share by something else (order.by)"
        yield Concern(ResultWarning, f"order {(run.policy.parts['order'] or {})['name']} by {column}", found, advice)


def _groups(frame: pl.DataFrame, column: str) -> npt.NDArray[np.uint32]:
    """The number of each job's group, 0 where it is unknown.

    Groups are numbered as they come, so that jobs that are added to a session leave the others their numbers.
    """
    if column not in frame.columns:
        return np.zeros(len(frame), dtype=np.uint32)
    names = frame.select(column).drop_nulls().unique(maintain_order=True).with_row_index("group", offset=1)
    groups = frame.select(column).join(names, on=column, how="left", maintain_order="left")["group"]
    return groups.fill_null(0).cast(pl.UInt32).to_numpy()


def groups_of(frame: pl.DataFrame, run: Setting) -> list[str | None]:
    """Names of the groups by which the policy shares the machine, in the order of their numbers."""
    if not run.needs("groups") or (column := _column(run)) not in frame.columns:
        return [None]
    return [None, *frame[column].drop_nulls().unique(maintain_order=True).to_list()]


def _column(run: Setting) -> str:
    """Column of the jobs by which the policy's order shares the machine."""
    return str((run.policy.parts["order"] or {})["by"])


def _labels(frame: pl.DataFrame) -> Mapping[str, Any]:
    """Codes and names of the labels there are."""
    columns = {"users": "user", "accounts": "account", "queues": "queue"}
    return {name: _codes(frame[column]) for name, column in columns.items() if column in frame.columns}


def _codes(column: pl.Series) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Labels as codes, -1 where there is none, and their names."""
    names = column.drop_nulls().unique().sort()
    codes = column.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
    return codes.to_numpy(), names.to_list()
